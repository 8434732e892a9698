"""Tables in the folders where calls are made.

Files are read without knowing where they will lie: their patterns speak of the
project and of the home folder under names of our own (`Dialect.cwd`,
`Dialect.home`). A program that calls tools names real folders, so what decides
its calls has to be put there first (`Folders`), or be read so that it holds for
every folder (`Anywhere`). A host whose files state the folder keeps that one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

import attrs

from policy.chain import Around, Link
from policy.dialect import Dialect
from policy.effect import Effect
from policy.errors import PolicyError
from policy.links import other_names
from policy.patterns.folding import folded, in_any_case
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import Gap, Token
from policy.ruleset import Entry, RuleSet
from policy.table import Ceiling, Part, Table

__all__ = ["Anchored", "Anywhere", "Folders", "folders_here", "is_nameless"]

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
class Folders(_Moved):
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
    if pattern is None or pattern.kind is not Kind.PATH or _speaks_of(pattern, cwd):
        return (pattern,)
    if entry.effect >= granting:
        # What holds below any folder too holds there, whatever the folder is.
        below = Pattern.of(Kind.PATH, [Gap.DEEP, *pattern.tokens])
        inside = Pattern.of(Kind.PATH, [cwd, *pattern.tokens])
        return (inside,) if _is_within(below, pattern) else ()
    home = _folded(dialect.home, dialect)
    ends = [end for each in pattern.spelled_out for end in _ends(each, home)]
    return dict.fromkeys((pattern, *(Pattern.of(Kind.PATH, [cwd, *end]) for end in ends)))


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


def folders_here(project: str | os.PathLike[str], home: str | os.PathLike[str] = "~") -> Folders:
    """Return two folders of this machine; the project under every name that it has."""
    # `Path` follows links, or keeps `..`.
    named = os.path.abspath(project)  # noqa: PTH100
    own = os.path.abspath(os.path.expanduser(home))  # noqa: PTH100, PTH111
    return Folders(named, own, other_names(named))


def _folded(folder: str, dialect: Dialect) -> str:
    return (folded(folder) if dialect.fold else folder).rstrip("/")


def _anchored(
    pattern: Pattern | None, anchors: Mapping[str, str], *, in_any_letters: bool
) -> Pattern | None:
    if pattern is None or pattern.kind is not Kind.PATH or not pattern.tokens:
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

    folders: Folders

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
