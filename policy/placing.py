"""Calls, decided for the folder in which they are made.

Where the folder is known (`Rooted`), its real path stands for the project, and a call is
decided as it names its files and as links lead from there: the stricter answer holds. A link
that a command makes and uses is not there yet when the command is decided.

Where it is not known (`Rootless`), nobody can tell which rules speak of a path that is
absolute or leaves the project, so it is denied. Other paths get what they get in any folder.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Final, cast
from weakref import WeakKeyDictionary

import attrs

from policy.anchors import Anywhere, Folders, folders_here, is_nameless
from policy.calls import Unreadable, argument_text, slashed_path
from policy.decision import Clause, Decision, Reason
from policy.dialect import BLANKS, Argument, ArgumentKind, Dialect
from policy.effect import Effect
from policy.links import beyond, followed
from policy.lookup import Lookup
from policy.shell.commands import is_plain, read_command
from policy.shell.words import in_home
from policy.shells import Shell
from policy.table import Table

__all__ = ["Rooted", "Rootless", "opened", "path_fields", "place_at", "ways"]

_Call = Mapping[str, object]


@attrs.frozen
class _Named:
    """Which arguments of a tool name files.

    Attributes:
        paths: those that rules take for paths.
        trimmed: those of them around which blanks do not count.
        texts: those that rules match as text.
        commands: of a command, how it is read.
        follows: whether some rules speak of a folder that no file states.

    """

    paths: frozenset[str]
    trimmed: frozenset[str]
    texts: frozenset[str]
    commands: tuple[tuple[Argument, Dialect], ...]
    follows: bool

    @property
    def any(self) -> bool:
        """Whether a call may name a file of the project."""
        return self.follows and bool(self.paths or self.texts or self.commands)


# Hosts that match the paths of a call as text take them by these names.
_AS_TEXT: Final = frozenset({ArgumentKind.LENIENT, ArgumentKind.JOINED, ArgumentKind.FILES})
_SEVERAL: Final = "files"
_NAMES: Final = frozenset({"file_path", "path", _SEVERAL})

_KNOWN: Final[WeakKeyDictionary[Lookup, _Named]] = WeakKeyDictionary()


def _named(table: Table, tool: str) -> _Named:
    lookup = table.lookup(tool)
    found = _KNOWN.get(lookup)
    if found is None:
        found = _KNOWN[lookup] = _found_named(table, tool)
    return found


def _found_named(table: Table, tool: str) -> _Named:
    dialects = list(dict.fromkeys(part.rules.dialect for part in table.use.parts))
    read = [(dialect.argument(tool), dialect) for dialect in dialects]
    paths = [each for each, _ in read if each.kind is ArgumentKind.PATH]
    texts = {field for each, _ in read if each.kind in _AS_TEXT for field in each.fields}
    return _Named(
        frozenset(field for each in paths for field in each.fields),
        frozenset(field for each in paths if each.trimmed for field in each.fields),
        _NAMES & texts,
        tuple(each for each in read if each[0].kind is ArgumentKind.COMMAND),
        any(map(is_nameless, dialects)),
    )


def path_fields(table: Table, tool: str) -> frozenset[str]:
    """Return the arguments of *tool* that rules of *table* take for paths."""
    return _named(table, tool).paths


def _respelled(call: _Call, fields: frozenset[str], spell: Callable[[str], str]) -> _Call:
    """Return *call* with each path that rules match as text as *spell* gives it."""
    spelled: dict[str, object] = {}
    for name in fields & call.keys():
        value = call[name]
        if isinstance(value, str) and value:
            spelled[name] = spell(value)
        elif name == _SEVERAL and isinstance(value, (list, tuple)):
            spelled[name] = [_file(file, spell) for file in value]
    return {**call, **spelled}


def _file(file: object, spell: Callable[[str], str]) -> object:
    path = file.get("path") if isinstance(file, Mapping) else None
    return {**cast("_Call", file), "path": spell(path)} if isinstance(path, str) and path else file


def opened(table: Table, tool: str, call: _Call) -> Iterator[str]:
    """Yield the names of files that the command of a call opens."""
    for argument, dialect in _named(table, tool).commands:
        try:
            text = argument_text(argument, dialect, call)
        except Unreadable:
            continue  # which is denied
        if not is_plain(text, dialect.shell):
            read = _targets_known if len(text) <= _SHORT else _targets
            yield from read(text, dialect.shell)


def _targets(text: str, shell: Shell) -> tuple[str, ...]:
    files = (file.target for file in read_command(text, shell).redirections)
    return tuple(
        in_home(name, "~", control=shell.control) for name in files if name and "\0" not in name
    )


# Commands are asked about again, and to take one apart takes long.
_SHORT: Final = 1024
_targets_known = lru_cache(maxsize=4096)(_targets)


def ways(
    own: Table, placed: Table, tool: str, call: _Call, folders: Folders, *, cwd: str = ""
) -> Iterator[tuple[Table, _Call]]:
    """Yield each table and call of which the strictest decision holds.

    Args:
        own: what decides, in no folder yet.
        placed: the same in *folders*.
        tool: the tool.
        call: the arguments.
        folders: of this machine.
        cwd: what relative paths are relative to, if not the project.

    """
    yield placed, call
    named = _named(own, tool)
    if not named.any:
        return
    here = cwd or folders.cwd
    if named.paths:
        real = followed(_trimmed(call, named.trimmed), named.paths, here, folders.home)
        if real is not None and real != call:
            yield placed, real
    for resolve in (os.path.normpath, os.path.realpath) if named.texts else ():
        spell = partial(_from_project, resolve, folders, here)
        spelled = _respelled(call, named.texts, spell)
        if spelled != call:
            yield placed, spelled
    links: dict[str, str] = {}
    for name in dict.fromkeys(opened(placed, tool, call)):
        led = beyond(name, here, folders.home, folders.cwd, folders.also)
        if led is not None:
            links[led[0]] = led[1]
    if links:
        yield attrs.evolve(folders, links=tuple(links.items())).table(own), call


def _from_project(resolve: Callable[[str], str], folders: Folders, here: str, path: str) -> str:
    """Return *path* as it starts from the project, or the root; as it is given where it does."""
    absolute = resolve(os.path.join(here, path))  # noqa: PTH118  # `Path` would keep `..`
    for name in (folders.cwd, *folders.also):
        if f"{absolute}/".startswith(f"{name.rstrip('/')}/"):
            absolute = os.path.relpath(absolute, name)
            break
    is_same = os.path.normpath(path) == absolute and ".." not in path.split("/")
    return path if is_same else absolute


def _trimmed(call: _Call, fields: frozenset[str]) -> _Call:
    """Return *call* without the blanks around its paths, where the host reads it so."""
    paths = {field: path for field in fields if isinstance(path := call.get(field), str)}
    return {**call, **{field: path.strip(BLANKS) for field, path in paths.items()}}


# Tables of which is kept what they are in a folder.
_KEPT: Final = 1024


@attrs.frozen(eq=False)
class _Place:
    """Where calls are made."""

    # By identity, since equal ones have other links to name: tables, and each as it is here;
    # decisions, and each as one of the table that has no folder.
    _known: dict[int, tuple[Table, Table]] = attrs.field(factory=dict, init=False, repr=False)
    _told: dict[tuple[int, int], tuple[Decision, Table, Decision]] = attrs.field(
        factory=dict, init=False, repr=False
    )

    def decide(self, table: Table, tool: str, call: _Call) -> Decision:
        """Return what a call gets of *table* here. Never raises."""
        try:
            decider, meant = self._strictest(table, tool, call)
            return self._judged(table, tool, call, decider.decide(tool, meant))
        except ValueError:  # no system has a file of such a name
            return Decision(Effect.DENY, Reason.MALFORMED, table=table)

    def account(self, table: Table, tool: str, call: _Call) -> tuple[Clause, ...]:
        """Return what a command does, and what each of that gets (see `Table.account`)."""
        try:
            decider, meant = self._strictest(table, tool, call)
        except ValueError:
            return ()
        return tuple(
            attrs.evolve(clause, decision=attrs.evolve(clause.decision, table=table))
            for clause in decider.account(tool, meant)
        )

    def _strictest(self, table: Table, tool: str, call: _Call) -> tuple[Table, _Call]:
        """Return the table and the call that decide here."""
        raise NotImplementedError

    def _judged(self, table: Table, tool: str, call: _Call, decision: Decision) -> Decision:  # noqa: ARG002  # looked at where no folder is known
        """Return what comes of a decision, which names the table that has no folder."""
        key = id(decision), id(table)
        known = self._told.get(key)
        if known is None:
            if len(self._told) >= _KEPT:
                self._told.clear()
            named = attrs.evolve(decision, table=table)
            known = self._told[key] = (decision, table, named)
        return known[2]

    def _placed(self, table: Table, moved: Folders | Anywhere) -> Table:
        found = self._known.get(id(table))
        if found is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            found = self._known[id(table)] = (table, moved.table(table))
        return found[1]


@attrs.frozen(eq=False)
class Rooted(_Place):
    """Calls of a project in known folders, whose links are followed."""

    folders: Folders

    def below(self, root: str) -> Rooted:
        """Return the same for a project in a folder below this one."""
        cwd = posixpath.join(self.folders.cwd, root)
        return Rooted(folders_here(cwd, self.folders.home)) if root else self

    def _strictest(self, table: Table, tool: str, call: _Call) -> tuple[Table, _Call]:
        placed = self._placed(table, self.folders)
        found = ways(table, placed, tool, call, self.folders)
        return min(found, key=lambda way: way[0].decide(tool, way[1]).effect)


@attrs.frozen(eq=False)
class Rootless(_Place):
    """Calls of a project of which nobody knows where it lies."""

    def decide_read(self, table: Table, tool: str, call: _Call) -> Decision:
        """Return what a call gets that its host has read already (see `Table.decide_read`)."""
        decision = self._placed(table, Anywhere()).decide_read(tool, call)
        return self._judged(table, tool, call, decision)

    def below(self, root: str) -> Rootless:  # noqa: ARG002  # nobody knows that one either
        """Return the same for a project in a folder below."""
        return self

    def _strictest(self, table: Table, tool: str, call: _Call) -> tuple[Table, _Call]:  # noqa: ARG002  # the same for every call
        return self._placed(table, Anywhere()), call

    def _judged(self, table: Table, tool: str, call: _Call, decision: Decision) -> Decision:
        if decision.effect is not Effect.DENY and _leaves(table, tool, call):
            return Decision(Effect.DENY, Reason.NO_ROOT, table=table)
        return super()._judged(table, tool, call, decision)


def place_at(root: str | os.PathLike[str] | None) -> Rooted | Rootless:
    """Return the place of a project that lies in the folder *root*, if that is known."""
    return Rootless() if root is None else Rooted(folders_here(root))


def _leaves(table: Table, tool: str, call: _Call) -> bool:
    """Return whether a call names a file by a path that is absolute, or leaves the project."""
    named = _named(table, tool)
    if not named.any:
        return False
    given = (call.get(field) for field in named.paths)
    paths = [path.strip(BLANKS) for path in given if type(path) is str]

    def note(path: str) -> str:
        paths.append(path)
        return path

    _respelled(call, named.texts, note)
    drives = any(part.rules.dialect.drives for part in table.use.parts)
    return any(_is_elsewhere(path, drives=drives) for path in (*paths, *opened(table, tool, call)))


def _is_elsewhere(path: str, *, drives: bool) -> bool:
    path = slashed_path(path) if drives else path
    return path.startswith(("/", "~")) or posixpath.normpath(path).split("/")[0] == ".."
