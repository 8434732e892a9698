"""Which rules of a table matter, found out once for all tables that say the same.

A project has a table for each agent, and most of what they say is the same: the
rules of one tool, written anew in each file.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import lru_cache

import attrs

from policy.comparison.compare import Known
from policy.decision import Because
from policy.dialect import ArgumentKind, Dialect
from policy.patterns.notations import is_glob
from policy.redundancy.rules import Effort, Standing, shadowing
from policy.ruleset import Entry
from policy.source import Place
from policy.table import Ceiling, Part, Table

__all__ = ["Standings", "separated"]

_Mark = tuple[Place | None, str]


def separated(table: Table) -> Iterator[Table]:
    """Yield tables of rules that speak of the same tools: what others say does not matter to them.

    Agents often differ in the rules for a single tool, so that of many agents few such
    tables are left. Rules about files that commands open are of one table with commands.
    """
    parts = table.use.parts
    if any(is_glob(entry.tool) for part in parts for entry in part.rules.entries):
        yield table
        return
    groups = _Groups()
    numbered = [
        [groups.number(together.get(tool, tool), _mark(entry)) for entry, tool in named]
        for part in parts
        for together in [_together(part.rules.dialect)]
        for named in [[(e, part.rules.dialect.key(e.tool)) for e in part.rules.entries]]
    ]
    said: dict[int, list[list[Entry]]] = {}
    last: dict[int, tuple[int, int]] = {}
    for at, part in enumerate(parts):
        for line, (entry, number) in enumerate(zip(part.rules.entries, numbered[at], strict=True)):
            group = groups.first(number)
            said.setdefault(group, [[] for _ in parts])[at].append(entry)
            last[group] = at, line
    if len(said) < 2:
        yield table
        return
    for group in sorted(said, key=last.__getitem__):
        some = tuple(
            Part(attrs.evolve(part.rules, entries=tuple(entries)), part.links)
            for part, entries in zip(parts, said[group], strict=True)
        )
        # `Ceiling.of` would leave out rules that a constant part covers.
        yield Table(Ceiling(frozenset(part.rules for part in some), some))


@lru_cache(maxsize=16)  # a host has one or two
def _together(dialect: Dialect) -> dict[str, str]:
    """Return one name for the tools that commands are calls of, and for those that run them."""
    arguments = dialect.arguments.items()
    commands = [tool for tool, argument in arguments if argument.kind is ArgumentKind.COMMAND]
    opening = dialect.shell.files.opening
    if not commands or not opening:
        return {}
    return dict.fromkeys(map(dialect.key, (*commands, *opening)), dialect.key(commands[0]))


def _mark(entry: Entry) -> _Mark:
    return entry.place, entry.rule


class _Groups:
    """Tools and rules that belong together: a tool with each rule that names it."""

    def __init__(self) -> None:
        self._numbers: dict[str | _Mark, int] = {}
        self._above: list[int] = []

    def number(self, tool: str, mark: _Mark) -> int:
        """Put a tool and a rule together, and return the number of one of them."""
        one, other = self.first(self._of(tool)), self.first(self._of(mark))
        self._above[other] = one
        return one

    def _of(self, name: str | _Mark) -> int:
        number = self._numbers.setdefault(name, len(self._above))
        if number == len(self._above):
            self._above.append(number)
        return number

    def first(self, number: int) -> int:
        """Return the number that all have which belong together with *number*."""
        while self._above[number] != number:
            self._above[number] = self._above[self._above[number]]
            number = self._above[number]
        return number


@attrs.define
class Standings:
    """What becomes of the rules of tables, found out once for those that say the same.

    Attributes:
        compared: what was compared so far.
        tried: how many rules that took.

    """

    compared: Known = attrs.field(factory=dict)
    tried: int = 0
    _known: dict[object, tuple[list[Because], tuple[Standing, ...]]] = attrs.field(factory=dict)

    def of(
        self,
        table: Table,
        effort: Effort | None = None,
        only: Container[_Mark] | None = None,
    ) -> Iterator[Standing]:
        """Yield what `policy.redundancy.rules.shadowing` says of *table*, or of some rules."""
        parts = table.use.parts
        rules = [_because(entry, part) for part in parts for entry in part.rules.entries]
        marks = [(one.place, one.rule) for one in rules]
        others = {mark for mark in marks if only is not None and mark not in only}
        first: dict[object, int] = {}
        shape = (
            tuple(mark in others for mark in marks) if others else (),
            tuple((part.rules.entries, part.rules.default, part.rules.dialect) for part in parts),
            # Which lines come of one rule; rules and places do not count in entries.
            tuple(
                first.setdefault((rule.rule, rule.effect, rule.place), number)
                for number, rule in enumerate(rules)
            ),
        )
        if shape not in self._known:
            found = shadowing(table, known=others, effort=effort, compared=self.compared)
            self._known[shape] = rules, found
            self.tried += len(self._known[shape][1])
        known, standings = self._known[shape]
        here = dict(zip(known, rules, strict=True))
        for one in standings:
            by = tuple(here[because] for because in one.by)
            yield attrs.evolve(one, rule=here[one.rule], by=by)


def _because(entry: Entry, part: Part) -> Because:
    return Because(entry.rule, entry.effect, part.links[0] if part.links else "", entry.place)
