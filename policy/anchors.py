"""Tables in the folders where calls are made.

Files are read without knowing where they will lie: their patterns speak of the
project and of the home folder under names of our own (`Dialect.cwd`,
`Dialect.home`). A program that calls tools names real folders, so what decides
its calls has to be put there first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import attrs

from policy.chain import Around, Link
from policy.dialect import Dialect
from policy.errors import PolicyError
from policy.patterns.folding import folded
from policy.patterns.pattern import Kind, Pattern
from policy.ruleset import RuleSet
from policy.table import Ceiling, Part, Table

__all__ = ["Anchored", "Folders"]


@attrs.frozen(slots=False)
class Folders:
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

    def table(self, table: Table) -> Table:
        """Return *table* as it decides calls made here."""
        delegate = None if table.delegate is None else self._ceiling(table.delegate)
        return Table(self._ceiling(table.use), delegate, table.bounds)

    @cached_property
    def _sets(self) -> dict[int, tuple[RuleSet, RuleSet]]:
        return {}

    def _ceiling(self, ceiling: Ceiling) -> Ceiling:
        return Ceiling.of(Part(self._rules(part.rules), part.links) for part in ceiling.parts)

    def _rules(self, rules: RuleSet) -> RuleSet:
        # By identity: equal sets may stand at other places.
        known = self._sets.get(id(rules))
        if known is None:
            known = self._sets[id(rules)] = (rules, self._moved(rules))
        return known[1]

    def _moved(self, rules: RuleSet) -> RuleSet:
        dialect = rules.dialect
        anchors = self._anchors(dialect)
        entries = tuple(
            attrs.evolve(entry, pattern=pattern)
            for entry in rules.entries
            for pattern in self._patterns(entry.pattern, dialect)
        )
        current = self._named(self.current, dialect) if self.current else ""
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
        return RuleSet(entries, rules.default, placed, rules.default_reason)

    def _cased(self, dialect: Dialect) -> Iterator[str]:
        """Yield the folders that count in their own letters, under each name of the project."""
        for name in (self.cwd, *self.also):
            folders = {dialect.home: self.home or dialect.home, dialect.cwd: name.rstrip("/")}
            yield from (_under(folder, folders) for folder in dialect.cased)

    def _links(self, dialect: Dialect) -> Iterator[tuple[str, str]]:
        for link, target in self.links:
            named = self._named(link, dialect), self._named(target, dialect)
            if named[0] != named[1]:  # as they are where case is ignored
                yield named

    def _patterns(self, pattern: Pattern | None, dialect: Dialect) -> Iterable[Pattern | None]:
        """Return a pattern under each name of the project; once where it does not speak of it."""
        names = (self.cwd, *self.also)
        return dict.fromkeys(_anchored(pattern, self._anchors(dialect, name)) for name in names)

    def _anchors(self, dialect: Dialect, cwd: str = "") -> Mapping[str, str]:
        folders = {dialect.home: self.home or dialect.home, dialect.cwd: cwd or self.cwd}
        return {name: self._named(folder, dialect) for name, folder in folders.items()}

    @staticmethod
    def _named(folder: str, dialect: Dialect) -> str:
        return (folded(folder) if dialect.fold else folder).rstrip("/")


def _anchored(pattern: Pattern | None, anchors: Mapping[str, str]) -> Pattern | None:
    if pattern is None or pattern.kind is not Kind.PATH or not pattern.tokens:
        return pattern
    first, *rest = pattern.tokens
    if not isinstance(first, str):
        return pattern
    # What follows the folder's name is another token where it is no text.
    moved = _under(first, anchors)
    return pattern if moved == first else Pattern.of(pattern.kind, [moved, *rest])


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
