"""Calls decided for the folder in which they are made, links followed."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from typing import Final, cast
from weakref import WeakKeyDictionary

import attrs

from policy.commands.knowledge import Shell
from policy.commands.read import is_plain, read_command
from policy.commands.words import in_home
from policy.core.decision import Clause, Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.symlinks import beyond, followed, other_names
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Gap, Token, folded, in_any_case
from policy.tables.calls import Unreadable, argument_text, slashed_path
from policy.tables.chain import Around, Link
from policy.tables.dialect import BLANKS, Argument, ArgumentKind, Dialect
from policy.tables.lookup import Lookup
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Ceiling, Part, Table

__all__ = [
    "Anchored",
    "Anywhere",
    "ProjectFolders",
    "Rooted",
    "Rootless",
    "folders_here",
    "is_nameless",
    "opened",
    "path_fields",
    "place_at",
    "ways",
]


# What stands for the folder of a project, and for the home folder, until they are known.
_NAMELESS: Final = frozenset({"/@project", "/@home"})


def is_nameless(dialect: Dialect) -> bool:
    """Return whether no file states the folder that relative paths start from."""
    return dialect.cwd in _NAMELESS


class _Moved:
    """Tables whose rule sets are replaced, each set once."""

    def table(self, table: Table) -> Table:
        """Return *table* as it decides calls made here."""
        delegate = None if table.delegate is None else self._ceiling(table.delegate)
        return Table(self._ceiling(table.use), delegate, table.bounds)

    @cached_property
    def _sets(self) -> dict[int, tuple[RuleSet, tuple[RuleSet, ...]]]:
        return {}

    def _ceiling(self, ceiling: Ceiling) -> Ceiling:
        return Ceiling.of(
            Part(rules, part.links) for part in ceiling.parts for rules in self._rules(part.rules)
        )

    def _rules(self, rules: RuleSet) -> tuple[RuleSet, ...]:
        # By identity: equal sets may stand at other places.
        known = self._sets.get(id(rules))
        if known is None:
            moved = self._moved(rules) if is_nameless(rules.dialect) else (rules,)
            known = self._sets[id(rules)] = (rules, moved)
        return known[1]

    def _moved(self, rules: RuleSet) -> tuple[RuleSet, ...]:
        """Return the sets of which the strictest answer holds here."""
        raise NotImplementedError


@attrs.frozen(slots=False)
class ProjectFolders(_Moved):
    """Where a project lies, and the home folder of whoever works in it.

    Attributes:
        cwd: the folder of the project, absolute.
        home: the home folder, absolute; "" where none is known, so that what
            rules say of it holds for no call but those that write ``~``.
        also: other names of the project, e.g. where links lead.
        current: the folder that calls are made in, which relative names start from;
            "" is that of the project.
        links: names of files that are links, absolute, and where each leads.

    """

    cwd: str
    home: str = ""
    also: tuple[str, ...] = ()
    current: str = ""
    links: tuple[tuple[str, str], ...] = ()

    def __attrs_post_init__(self) -> None:
        for folder in (self.cwd, *filter(None, [self.home, self.current]), *self.also):
            if not folder.startswith("/") or "\0" in folder:
                msg = f"expected an absolute path, found `{folder}`"
                raise PolicyError(msg, help="write the folder from the root, e.g. `/srv/app`")

    def _moved(self, rules: RuleSet) -> tuple[RuleSet, ...]:
        dialect = rules.dialect
        anchors = self._anchors(dialect)
        entries = tuple(
            attrs.evolve(entry, pattern=pattern)
            for entry in rules.entries
            for pattern in self._patterns(entry, dialect)
        )
        current = _folded(self.current, dialect) if self.current else ""
        shell_cwd = current or _under(dialect.shell.cwd, anchors)
        placed = attrs.evolve(
            dialect,
            cwd=current or anchors[dialect.cwd],
            home=anchors[dialect.home],
            cased=tuple(dict.fromkeys(self._cased(dialect))),
            links=(
                *((_under(one, anchors), _under(two, anchors)) for one, two in dialect.links),
                *self._links(dialect),
            ),
            shell=attrs.evolve(dialect.shell, cwd=shell_cwd if dialect.shell.cwd else ""),
        )
        return (RuleSet(entries, rules.default, placed, rules.default_reason),)

    def _cased(self, dialect: Dialect) -> Iterator[str]:
        """Yield the folders that count in their own letters, under each name of the project."""
        for name in (self.cwd, *self.also):
            folders = {dialect.home: self.home or dialect.home, dialect.cwd: name.rstrip("/")}
            yield from (_under(folder, folders) for folder in dialect.cased)

    def _links(self, dialect: Dialect) -> Iterator[tuple[str, str]]:
        for link, target in self.links:
            named = _folded(link, dialect), _folded(target, dialect)
            if named[0] != named[1]:  # as they are where case is ignored
                yield named

    def _patterns(self, entry: Entry, dialect: Dialect) -> Iterable[Pattern | None]:
        """Return a pattern under each name of the project; once where it does not speak of it."""
        # On some systems the folders have their names in any letters.
        guards = entry.effect is not Effect.ALLOW and not dialect.fold
        return dict.fromkeys(
            _anchored(entry.pattern, self._anchors(dialect, name), in_any_letters=guards)
            for name in (self.cwd, *self.also)
        )

    def _anchors(self, dialect: Dialect, cwd: str = "") -> Mapping[str, str]:
        folders = {dialect.home: self.home or dialect.home, dialect.cwd: cwd or self.cwd}
        return {name: _folded(folder, dialect) for name, folder in folders.items()}


class Anywhere(_Moved):
    """Tables that decide relative paths of a project that may lie in any folder.

    A rule about paths from the root or the home folder that denies holds for a file of the
    project where it does in some folder, and one that allows where it does in every folder; one
    that asks is taken both ways. A folder that it names itself, or one below, is not looked at.
    """

    def _moved(self, rules: RuleSet) -> tuple[RuleSet, ...]:
        return tuple(self._read(rules, granting) for granting in (Effect.ALLOW, Effect.ASK))

    @staticmethod
    def _read(rules: RuleSet, granting: Effect) -> RuleSet:
        """Return *rules* where an effect from *granting* on must hold in every folder."""
        entries = tuple(
            attrs.evolve(entry, pattern=pattern)
            for entry in rules.entries
            for pattern in _everywhere(entry, rules.dialect, granting)
        )
        return RuleSet(entries, rules.default, rules.dialect, rules.default_reason)


def _everywhere(entry: Entry, dialect: Dialect, granting: Effect) -> Iterable[Pattern | None]:
    """Return the patterns of an entry, for a project in any folder."""
    pattern, cwd = entry.pattern, _folded(dialect.cwd, dialect)
    if pattern is None or pattern.kind is not PatternKind.PATH or _speaks_of(pattern, cwd):
        return (pattern,)
    if entry.effect >= granting:
        # What holds below any folder too holds there, whatever the folder is.
        below = Pattern.of(PatternKind.PATH, [Gap.DEEP, *pattern.tokens])
        inside = Pattern.of(PatternKind.PATH, [cwd, *pattern.tokens])
        return (inside,) if _is_within(below, pattern) else ()
    home = _folded(dialect.home, dialect)
    ends = [end for each in pattern.spelled_out for end in _ends(each, home)]
    return dict.fromkeys((pattern, *(Pattern.of(PatternKind.PATH, [cwd, *end]) for end in ends)))


def _is_within(one: Pattern, other: Pattern) -> bool:
    try:
        return one <= other
    except OverflowError:
        return False


def _speaks_of(pattern: Pattern, folder: str) -> bool:
    first = pattern.tokens[0] if pattern.tokens else ""
    return isinstance(first, str) and f"{first}/".startswith(f"{folder}/")


def _ends(pattern: Pattern, home: str) -> Iterator[list[Token]]:
    """Yield what is left of *pattern* below each folder on its way, as long as it names a file."""
    tokens = list(pattern.tokens)
    begun: list[Token] = []
    if _speaks_of(pattern, home):
        # Which folders lead to the home folder is not known.
        tokens[0], begun = str(tokens[0])[len(home) :], [Gap.DEEP]
    for index, token in enumerate(tokens):
        rest = tokens[index + 1 :]
        if token is Gap.DEEP:
            ends = [[token, *rest]]
        elif isinstance(token, str):
            ends = [[token[at:], *rest] for at, letter in enumerate(token) if letter == "/"]
        else:
            continue
        yield from ([*begun, *end] for end in ends if end not in _ANY_FILE)


# What names no file by itself: all that is in a folder.
_ANY_FILE: Final[tuple[list[Token], ...]] = (
    ["/", Gap.PART],
    ["/", Gap.PART, Gap.DEEP],
    [Gap.DEEP],
    [Gap.DEEP, "/", Gap.PART],
)


def folders_here(
    project: str | os.PathLike[str], home: str | os.PathLike[str] = "~"
) -> ProjectFolders:
    """Return two folders of this machine; the project under every name that it has."""
    # `Path` follows links, or keeps `..`.
    named = os.path.abspath(project)  # noqa: PTH100
    own = os.path.abspath(os.path.expanduser(home))  # noqa: PTH100, PTH111
    return ProjectFolders(named, own, other_names(named))


def _folded(folder: str, dialect: Dialect) -> str:
    return (folded(folder) if dialect.fold else folder).rstrip("/")


def _anchored(
    pattern: Pattern | None, anchors: Mapping[str, str], *, in_any_letters: bool
) -> Pattern | None:
    if pattern is None or pattern.kind is not PatternKind.PATH or not pattern.tokens:
        return pattern
    first, *rest = pattern.tokens
    if not isinstance(first, str):
        return pattern
    # What follows the folder's name is another token where it is no text.
    for name, folder in anchors.items():
        if first == name or first.startswith(name + "/"):
            moved = in_any_case([folder]) if in_any_letters else (folder,)
            return Pattern.of(pattern.kind, [*moved, first[len(name) :], *rest])
    return pattern


def _under(path: str, anchors: Mapping[str, str]) -> str:
    for name, folder in anchors.items():
        if path == name or path.startswith(name + "/"):
            return folder + path[len(name) :]
    return path


@attrs.frozen
class Anchored(Around):
    """A reading whose chains decide calls made in some folders."""

    folders: ProjectFolders

    def start(self, agent: str) -> Link:
        """Return the first link. Raises KeyError for an unknown agent."""
        return self._link(self.reading.start(agent))

    def step(self, parent: Link, agent: str) -> Link:
        """Return the link behind *parent*. Raises KeyError for an unknown agent."""
        inner = parent.state
        assert isinstance(inner, Link)  # noqa: S101  # every link here is of `_link`
        return self._link(self.reading.step(attrs.evolve(inner, confirm=parent.confirm), agent))

    def _link(self, link: Link) -> Link:
        return attrs.evolve(link, table=self.folders.table(link.table), state=link)


# Calls, decided for the folder in which they are made.
#
# Where the folder is known (`Rooted`), its real path stands for the project, and a call is
# decided as it names its files and as links lead from there: the stricter answer holds. A link
# that a command makes and uses is not there yet when the command is decided.
#
# Where it is not known (`Rootless`), nobody can tell which rules speak of a path that is
# absolute or leaves the project, so it is denied. Other paths get what they get in any folder.


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
    own: Table, placed: Table, tool: str, call: _Call, folders: ProjectFolders, *, cwd: str = ""
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


def _from_project(
    resolve: Callable[[str], str], folders: ProjectFolders, here: str, path: str
) -> str:
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

    def _placed(self, table: Table, moved: ProjectFolders | Anywhere) -> Table:
        found = self._known.get(id(table))
        if found is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            found = self._known[id(table)] = (table, moved.table(table))
        return found[1]


@attrs.frozen(eq=False)
class Rooted(_Place):
    """Calls of a project in known folders, whose links are followed."""

    folders: ProjectFolders

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
