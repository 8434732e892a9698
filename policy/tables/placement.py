"""Calls decided for the folder in which they are made, symbolic links followed.

Rules name the project and the home folder by placeholders (`/@project`, `/@home`).
`ProjectFolders` puts real folders in their place. `Rooted` and `Rootless` are the places in which
chains decide calls: a project in known folders, and one that may lie in any folder.
"""

from __future__ import annotations

import os
import posixpath
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache, partial

from policy.core import limits
from policy.core.decision import Clause, Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.memory import Memo
from policy.core.symlinks import other_names, resolved
from policy.core.values import Final, evolve, frozen
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Gap, Token, folded, in_any_case
from policy.tables.calls import Unreadable, argument_text, rooted_path
from policy.tables.dialect import BLANKS, Argument, ArgumentKind, Dialect
from policy.tables.row import NO_FIELD, strictness
from policy.tables.ruleset import EntriesOnDemand, Entry, RuleSet
from policy.tables.table import NO_CALL, Ceiling, LinkedRules, Table, no_arguments

# What a place keeps at most: tables with links, texts without a file.
_LINKED: Final = 64
_TEXTS: Final = 16 * 1024

# Placeholders for the project and the home folder in dialects.
_NAMELESS: Final = frozenset({"/@project", "/@home"})


class _Moved:
    """Tables whose rule sets are replaced, each set once."""

    def table(self, table: Table) -> Table:
        """Return *table* as it decides calls made here."""
        delegate = None if table.delegate is None else self._ceiling(table.delegate)
        return Table(self._ceiling(table.use), delegate, table.bounds, table)

    def _ceiling(self, ceiling: Ceiling) -> Ceiling:
        moved = [
            LinkedRules(rules, part.links)
            for part in ceiling.parts
            for rules in self._replaced(part.rules)
        ]
        # One set for each stays a meet; finding equal ones would need all of their rules.
        one_each = len(moved) == len(ceiling.parts)
        return Ceiling(tuple(moved)) if one_each else Ceiling.of(moved)

    def _replaced(self, rules: RuleSet) -> tuple[RuleSet, ...]:
        # By identity: equal sets may stand at other places.
        known = self._sets.get(id(rules))
        if known is None:
            moved = self._moved(rules) if rules.dialect.cwd in _NAMELESS else (rules,)
            known = self._sets[id(rules)] = (rules, moved)
        return known[1]

    @cached_property
    def _sets(self) -> dict[int, tuple[RuleSet, tuple[RuleSet, ...]]]:
        return {}

    @abstractmethod
    def _moved(self, rules: RuleSet) -> tuple[RuleSet, ...]:
        """Return the rule sets that replace *rules* here; the strictest of them decides."""


@frozen
class ProjectFolders(_Moved):
    """The folder of a project, and the home folder of the user."""

    cwd: str  # the folder of the project, absolute
    # The home folder, absolute; "" if it is unknown: then rules about it match only calls that
    # write ``~``.
    home: str = ""
    also: tuple[str, ...] = ()  # other names of the project, e.g. where symbolic links lead
    # The folder that calls are made in, which relative names start from; "" is that of the project.
    current: str = ""
    # Names of files that are symbolic links, absolute, and where each leads.
    links: tuple[tuple[str, str], ...] = ()

    def __attrs_post_init__(self) -> None:
        for folder in (self.cwd, *filter(None, [self.home, self.current]), *self.also):
            if not folder.startswith("/") or "\0" in folder:
                msg = f"expected an absolute path, found `{folder}`"
                raise PolicyError(msg, help="write the folder from the root, e.g. `/srv/app`")

    @cached_property
    def _real(self) -> str:
        return os.path.realpath(self.cwd)

    def resolve(self, path: str) -> str:
        """Return where symbolic links lead from an absolute path; the folder is resolved once."""
        return resolved(path, self.cwd, self._real)

    def beyond(self, name: str, cwd: str) -> tuple[str, str] | None:
        """Return a file's absolute and real path; None if no symbolic link leads elsewhere."""
        path = rooted_path(name, cwd, self.home)
        real, path = self.resolve(path), "/" + os.path.normpath(path).lstrip("/")
        inside = path.removeprefix(self.cwd)
        # Under each name of the project there are the same files.
        same = [path, *(other + inside for other in self.also)]
        return None if real in same else (path, real)

    # As a place of chains, in which no symbolic link is followed.
    decider = _Moved.table

    @cached_property
    def _linked(self) -> Memo[object, tuple[Table, Table]]:
        return Memo(_LINKED)

    def linked(self, table: Table, links: tuple[tuple[str, str], ...]) -> Table:
        """Return *table* as it decides calls made here, where these *links* are."""
        key = id(table), links
        found = self._linked.get(key)
        if found is None:
            placed = evolve(self, links=links).table(table)
            found = self._linked.keep(key, (table, placed))
        return found[1]

    def _moved(self, rules: RuleSet) -> tuple[RuleSet, ...]:
        dialect = rules.dialect
        anchors = self._anchors(dialect)
        current = _folded(self.current, dialect) if self.current else ""
        shell_cwd = current or _under(dialect.shell.cwd, anchors)
        home = {dialect.home: self.home or dialect.home}
        cased = [
            _under(folder, {**home, dialect.cwd: name.rstrip("/")})
            for name in (self.cwd, *self.also)
            for folder in dialect.cased
        ]
        ours = ((_folded(link, dialect), _folded(target, dialect)) for link, target in self.links)
        links = ((_under(link, anchors), _under(target, anchors)) for link, target in dialect.links)
        placed = evolve(
            dialect,
            cwd=current or anchors[dialect.cwd],
            home=anchors[dialect.home],
            cased=tuple(dict.fromkeys(cased)),
            # Where case is ignored two names may be one.
            links=(*links, *(pair for pair in ours if pair[0] != pair[1])),
            shell=evolve(dialect.shell, cwd=shell_cwd if dialect.shell.cwd else ""),
        )
        return (RuleSet(self._entries(rules), rules.default, placed, rules.default_reason),)

    def _entries(self, rules: RuleSet) -> tuple[Entry, ...]:
        """Return each entry with each name of the project in its place, built on first use."""
        names = (self.cwd, *self.also)
        anchors = {name: self._anchors(rules.dialect, name) for name in names}

        def placed(number: int) -> Entry:
            entry, name = rules.entries[number // len(names)], names[number % len(names)]
            # On some systems the folders have their names in any letters.
            guards = entry.effect is not Effect.ALLOW and not rules.dialect.fold
            if entry.pattern is not None and entry.pattern.kind is PatternKind.TEXT:
                guards, name = False, names[-1]  # a host puts the real folder into commands
            pattern = _anchored(entry.pattern, anchors[name], in_any_letters=guards)
            return entry if pattern is entry.pattern else evolve(entry, pattern=pattern)

        tools = [tool for tool in rules.written_tools for _ in names]
        return EntriesOnDemand(tools, placed)  # type: ignore[return-value]  # as good as a tuple

    def _anchors(self, dialect: Dialect, cwd: str = "") -> Mapping[str, str]:
        folders = {dialect.home: self.home or dialect.home, dialect.cwd: cwd or self.cwd}
        return {name: _folded(folder, dialect) for name, folder in folders.items()}


# Rules in a folder that is not known.


def _in_any_folder(rules: RuleSet, granting: Effect) -> RuleSet:
    """Return *rules* for files of a project that may lie in any folder.

    A rule about paths from the root or the home folder, whose effect is at least *granting*,
    matches a file of the project if it matches it wherever the project lies; any other rule, if
    it does so somewhere. Folders that the rule itself names are left out.
    """
    dialect = rules.dialect
    cwd, home = _folded(dialect.cwd, dialect), _folded(dialect.home, dialect)
    entries: list[Entry] = []
    for entry in rules.entries:
        pattern = entry.pattern
        if pattern is None or pattern.kind is not PatternKind.PATH or _names_folder(pattern, cwd):
            entries.append(entry)
        elif entry.effect < granting:
            found = _somewhere(pattern, cwd, home)
            entries += (entry if each is pattern else evolve(entry, pattern=each) for each in found)
        elif _is_everywhere(pattern):
            below = Pattern.of(PatternKind.PATH, [cwd, *pattern.tokens])
            entries.append(evolve(entry, pattern=below))
    return RuleSet(tuple(entries), rules.default, dialect, rules.default_reason)


@lru_cache(maxsize=1024)  # tools share most patterns of their host
def _is_everywhere(pattern: Pattern) -> bool:
    """Return whether a pattern also matches itself below any folder."""
    try:
        return Pattern.of(PatternKind.PATH, [Gap.DEEP, *pattern.tokens]) <= pattern
    except OverflowError:
        return False


@lru_cache(maxsize=1024)  # as above
def _somewhere(pattern: Pattern, cwd: str, home: str) -> Iterable[Pattern]:
    """Return patterns of the files that *pattern* matches if a project lies in some folder."""
    ends = [end for each in pattern.spelled_out for end in _ends(each, home)]
    return dict.fromkeys((pattern, *(Pattern.of(PatternKind.PATH, [cwd, *end]) for end in ends)))


def _names_folder(pattern: Pattern, folder: str) -> bool:
    first = pattern.tokens[0] if pattern.tokens else ""
    return isinstance(first, str) and f"{first}/".startswith(f"{folder}/")


def _ends(pattern: Pattern, home: str) -> Iterator[list[Token]]:
    """Yield what is left of *pattern* below each folder on its way, as long as it names a file."""
    tokens = list(pattern.tokens)
    begun: list[Token] = []
    if _names_folder(pattern, home):
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


# Patterns of everything in a folder, which name no file themselves.
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
    if pattern is None or not pattern.tokens or pattern.kind is PatternKind.HOST:
        return pattern
    # What follows the folder's name is another token where it is no text.
    for name, folder in anchors.items():
        if _names_folder(pattern, name):
            moved = in_any_case([folder]) if in_any_letters else (folder,)
            below = str(pattern.tokens[0])[len(name) :]
            return Pattern.of(pattern.kind, [*moved, below, *pattern.tokens[1:]])
    return pattern


def _under(path: str, anchors: Mapping[str, str]) -> str:
    for name, folder in anchors.items():
        if path == name or path.startswith(name + "/"):
            return folder + path[len(name) :]
    return path


# Which files a call names.


_Call = Mapping[str, object]

# Hosts that match the paths of a call as text take them by these names.
_AS_TEXT: Final = frozenset({ArgumentKind.LENIENT, ArgumentKind.JOINED, ArgumentKind.FILES})
_SEVERAL: Final = "files"
_NAMES: Final = frozenset({"file_path", "path", _SEVERAL})


class _Tool:
    """How calls of one tool may name files.

    Attributes:
        lookup: of the moved table.
        paths: arguments that rules match as paths, and whether blanks around each are ignored.
        texts: arguments that name files, and that rules match as text.
        commands: for a tool that runs commands, the argument and the dialect that read them.
        names_files: whether calls may name files of the project.
        by_text: whether only the text that decides alone may name files.
        decided: decisions by the text that decides alone, where that names no file.
    """

    def __init__(self, own: Table, moved: Table, tool: str) -> None:
        self.lookup = moved.lookup(tool)
        self.paths: dict[str, bool] = {}
        texts: set[str] = set()
        self.commands: list[tuple[Argument, Dialect]] = []
        for dialect in dict.fromkeys(part.rules.dialect for part in moved.use.parts):
            argument = dialect.argument(tool)
            if argument.kind is ArgumentKind.COMMAND:
                self.commands.append((argument, dialect))
            elif argument.kind in _AS_TEXT:
                texts.update(argument.fields)
            elif argument.kind is ArgumentKind.PATH:
                for field in argument.fields:
                    self.paths[field] = argument.trimmed or self.paths.get(field, False)
        self.texts = _NAMES & texts
        follows = any(part.rules.dialect.cwd in _NAMELESS for part in own.use.parts)
        self.names_files = follows and bool(self.paths or self.texts or self.commands)
        alone = {self.lookup.field, self.lookup.alias}
        self.by_text = not (self.paths or self.texts) and all(
            alone.issuperset(argument.fields) for argument, _ in self.commands
        )
        self.field: str = self.lookup.field if self.by_text and self.names_files else NO_FIELD
        self.decided: Memo[str, Decision] = Memo(_TEXTS)

    def given(self, call: _Call) -> Iterator[tuple[str, str]]:
        """Yield the arguments of a call that rules match as paths, each with its path."""
        for field, trimmed in self.paths.items():
            path = call.get(field)
            if isinstance(path, str):
                yield field, path.strip(BLANKS) if trimmed else path

    def opened(self, call: _Call) -> Iterator[str]:
        """Yield the names of files that the command of a call opens."""
        for argument, dialect in self.commands:
            try:
                text = argument_text(argument, dialect, call)
            except Unreadable:
                continue  # which is denied
            from policy.commands.reader import in_home, is_plain, read_command  # noqa: PLC0415

            if not is_plain(text, dialect.shell):
                files = (file.target for file in read_command(text, dialect.shell).redirections)
                yield from (in_home(name, "~") for name in files if name and "\0" not in name)


def _with_paths(call: _Call, fields: frozenset[str], spell: Callable[[str], str]) -> _Call:
    """Return *call* with *spell* applied to each path that rules match as text."""
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
    return {**file, "path": spell(path)} if isinstance(path, str) and path else file  # type: ignore[dict-item]


# Tables in a place.


# A table, and the call that it decides.
_Way = tuple[Table, _Call]


class ProjectPlace:
    """Where the calls of a project are made."""

    def __init__(self) -> None:
        self._tables: Memo[int, PlacedTable] = Memo(limits.CACHED_NAMES)

    def decider(self, table: Table) -> PlacedTable:
        """Return *table* with this place, so that it decides calls that are made here."""
        return self._tables.get(id(table)) or self._tables.keep(id(table), PlacedTable(table, self))

    @abstractmethod
    def table(self, table: Table) -> Table:
        """Return *table* as it decides calls made here."""

    @abstractmethod
    def below(self, root: str) -> ProjectPlace:
        """Return the place of a project in a folder *root* below this one."""

    @abstractmethod
    def others(self, own: Table, tool: _Tool, call: _Call, files: Iterable[str]) -> Iterator[_Way]:
        """Yield further tables and calls to decide; of these and the call the strictest counts.

        Args:
            own: the table, without a place.
            tool: what is known of the tool.
            call: the arguments.
            files: the names of files that its command opens.
        """


class Rooted(ProjectPlace):
    """Calls of a project in known folders, whose symbolic links are followed.

    The real path of the folder is that of the project. A call is decided by the names that it
    gives, and by the real paths of its files: the stricter answer holds. A symbolic link that a
    command makes and uses is not there yet when the command is decided.
    """

    def __init__(self, folders: ProjectFolders) -> None:
        super().__init__()
        self.folders = folders
        self._here = folders.current or folders.cwd

    def below(self, root: str) -> Rooted:
        """Return the place of a project in a folder below this one."""
        cwd = posixpath.join(self.folders.cwd, root)
        return Rooted(folders_here(cwd, self.folders.home)) if root else self

    def table(self, table: Table) -> Table:
        """Return *table* as it decides calls made here."""
        return self.folders.table(table)

    def others(self, own: Table, tool: _Tool, call: _Call, files: Iterable[str]) -> Iterator[_Way]:
        """Yield the calls with the real paths of their files."""
        for each in self._respelled(tool, call):
            yield self.decider(own).moved, each
        led = (self.folders.beyond(name, self._here) for name in dict.fromkeys(files))
        links = dict(each for each in led if each is not None)
        if links:
            yield self.folders.linked(own, tuple(links.items())), call

    def _respelled(self, tool: _Tool, call: _Call) -> Iterator[_Call]:
        """Yield *call* with other names of the same files, if there are any."""
        real = {
            field: self.folders.resolve(rooted_path(path, self._here, self.folders.home))
            for field, path in tool.given(call)
            if path and "\0" not in path
        }
        if {**call, **real} != call:
            yield {**call, **real}
        for resolve in (os.path.normpath, self.folders.resolve) if tool.texts else ():
            spelled = _with_paths(call, tool.texts, partial(self._from_project, resolve))
            if spelled != call:
                yield spelled

    def _from_project(self, resolve: Callable[[str], str], path: str) -> str:
        """Return *path* relative to the project, or absolute outside; unchanged if it is that."""
        absolute = resolve(os.path.join(self._here, path))  # noqa: PTH118  # `Path` would keep `..`
        for name in (self.folders.cwd, *self.folders.also):
            if f"{absolute}/".startswith(f"{name.rstrip('/')}/"):
                absolute = os.path.relpath(absolute, name)
                break
        is_same = os.path.normpath(path) == absolute and ".." not in path.split("/")
        return path if is_same else absolute


class Rootless(_Moved, ProjectPlace):
    """Calls of a project in a folder that is not known.

    Which rules apply to a path that is absolute or leaves the project is not known either, so
    such a call is denied. Other paths get what they get in any folder.
    """

    def below(self, root: str) -> Rootless:  # noqa: ARG002  # that folder is not known either
        """Return the place of a project in a folder below this one."""
        return self

    def _moved(self, rules: RuleSet) -> tuple[RuleSet, ...]:
        # A rule that asks may grant or restrict: it is read both ways, and the stricter counts.
        return tuple(_in_any_folder(rules, granting) for granting in (Effect.ALLOW, Effect.ASK))

    def others(self, own: Table, tool: _Tool, call: _Call, files: Iterable[str]) -> Iterator[_Way]:
        """Yield what denies a call that may leave the project."""
        paths = [*files, *(path for _, path in tool.given(call))]

        def note(path: str) -> str:
            paths.append(path)
            return path

        _with_paths(call, tool.texts, note)
        if any(
            path.startswith(("/", "~")) or posixpath.normpath(path).split("/")[0] == ".."
            for path in paths
        ):
            yield evolve(_NO_ROOT, origin=own), call


_NO_ROOT: Final = Table.of(RuleSet((), Effect.DENY, Dialect(""), Reason.NO_ROOT))


def place_at(root: str | os.PathLike[str] | None) -> ProjectPlace:
    """Return the place of a project that lies in the folder *root*, if that is known."""
    return Rootless() if root is None else Rooted(folders_here(root))


class PlacedTable:
    """A table whose calls are made in one place. Its decisions name the table itself, *own*."""

    def __init__(self, own: Table, place: ProjectPlace) -> None:
        self.own = own
        self._place = place
        self._tools: Memo[str, _Tool] = Memo(limits.CACHED_NAMES)

    @cached_property
    def moved(self) -> Table:
        """The table for calls made here, which decides by the names that calls give to files."""
        return self._place.table(self.own)

    def _tool(self, tool: str) -> _Tool:
        return self._tools.get(tool) or self._tools.keep(tool, _Tool(self.own, self.moved, tool))

    def decide(self, tool: str, call: _Call = NO_CALL, *, checked: bool = False) -> Decision:
        """Return the decision for a call made here; raises as `Table.decide` does."""
        try:
            known = self._tools.get(tool) or self._tool(tool)
        except TypeError:
            raise TypeError(f"expected the name of a tool, found {tool!r}") from None
        if not hasattr(call, "get"):
            raise no_arguments(call, known.lookup.field)
        text = call.get(known.field)
        seen = known.decided.get(text) if type(text) is str else None
        if seen is not None and len(call) == 1:
            return seen
        decision = self.moved.decide(tool, call, checked)
        if seen is not None or decision.effect is Effect.DENY or not known.names_files:
            return decision
        try:
            files = tuple(known.opened(call))
            if files or not known.by_text:
                others = self._place.others(self.own, known, call, files)
                each = [table.decide(tool, meant, checked) for table, meant in others]
                return min((decision, *each), key=strictness)
        except ValueError:  # no system has a file of such a name
            return Decision(Effect.DENY, Reason.MALFORMED, table=self.own)
        if type(text) is str and text in known.lookup.remembered:
            known.decided.keep(text, decision)
        return decision

    def account(self, tool: str, call: _Call) -> tuple[Clause, ...]:
        """Return what a command does here, and what each of that gets (see `Table.account`)."""
        found = [(self.moved, call)]
        known = self._tool(tool)
        try:
            if known.names_files:
                found += self._place.others(self.own, known, call, known.opened(call))
            table, meant = min(found, key=lambda way: strictness(way[0].decide(tool, way[1])))
        except ValueError:
            return ()
        return table.account(tool, meant)
