"""How positions follow one another, as a reading has it.

Where links are met as they are declared (`policy.chain.Attenuated`), no table
is made on the way. Any other reading is asked for each step.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

import attrs

from policy.chain import Attenuated, Link, Reading, SpawnDenied, handed_down
from policy.reach.numbers import Numbers, RuleSets, Sets
from policy.reach.positions import Position, joined, table_of
from policy.table import Bounds, Table

__all__ = ["Moves", "moves", "startable"]


class Moves(Protocol):
    """How positions of one reading follow one another."""

    @property
    def numbers(self) -> Numbers:
        """The numbers of its rule sets and agents."""

    def start(self, agent: str) -> Position | None:
        """Return *agent* as the root of chains; None where it cannot be one."""

    def step(self, position: Position, agent: int) -> Position | None:
        """Return *agent* behind *position*; None where the host refuses it."""

    def incoming(self, position: Position) -> Hashable:
        """Return what the positions behind *position* depend on, which may be itself."""

    def join(self, one: Position, other: Position) -> Position:
        """Return a position of the same agent and state that grants no less than either."""


def moves(
    reading: Reading, rule_sets: RuleSets | None = None, agents: tuple[str, ...] | None = None
) -> Moves:
    """Return how positions of *reading* follow one another.

    Args:
        reading: how chains come about.
        rule_sets: those that have a number, where several readings share them.
        agents: by number, likewise; those of *reading* are among them.

    """
    numbers = Numbers(reading, rule_sets or RuleSets(), agents or reading.agents)
    if isinstance(reading, Attenuated) and type(reading).step is Attenuated.step:
        return _Meets(reading, numbers)
    return _Steps(reading, numbers)


def startable(numbers: Numbers, position: Position) -> int:
    """Return the agents that *position* may start as far as its own tables say."""
    if position.bounds.is_last:
        return 0
    return numbers.granted(position.use)[0]


class _Meets:
    """Links that are met as they are declared."""

    def __init__(self, reading: Attenuated, numbers: Numbers) -> None:
        self.numbers = numbers
        self.reading = reading
        self._tables = [
            self._numbered(reading.tables[agent]) if agent in reading.tables else None
            for agent in numbers.agents
        ]
        # By the places in memory of two that are kept, by tables or here.
        self._bounds: dict[tuple[int, int], Bounds] = {}
        self._unique: dict[Bounds, Bounds] = {}
        self._last: dict[Sets, Sets] = {}

    def _numbered(self, table: Table) -> tuple[Sets, Sets, Bounds]:
        return *self.numbers.rule_sets.of_both(table), table.bounds

    def start(self, agent: str) -> Position | None:
        try:
            table = self.reading.start(agent).table
        except KeyError:
            return None
        return Position(self.numbers.places[agent], *self._numbered(table))

    def step(self, position: Position, agent: int) -> Position | None:
        table = self._tables[agent]
        if table is None:
            return None
        use, delegated, bounds = table
        above = position.delegated
        limits = self._limits(bounds, position.bounds)
        met = self._met(use, above)
        if limits.is_last:
            met = self._starting_nobody(met)
        handed_on = met if delegated is use else self._met(delegated, above)
        return Position(agent, met, handed_on, limits, parent=position)

    def _limits(self, own: Bounds, above: Bounds) -> Bounds:
        key = (id(own), id(above))
        found = self._bounds.get(key)
        if found is None:
            found = own & handed_down(above)
            found = self._bounds[key] = self._unique.setdefault(found, found)
        return found

    def _met(self, one: Sets, other: Sets) -> Sets:
        met = one | other
        denying = self.numbers.rule_sets.denying
        return met if denying.isdisjoint(met) else frozenset({min(denying & met)})

    def _starting_nobody(self, sets: Sets) -> Sets:
        if sets not in self._last:
            table = table_of(Position(0, sets, sets), self.numbers.rule_sets)
            self._last[sets] = self.numbers.rule_sets.of(table.use.starting_nobody)
        return self._last[sets]

    def incoming(self, position: Position) -> Hashable:
        return position.delegated, position.bounds

    def join(self, one: Position, other: Position) -> Position:
        return joined(one, other, self.numbers.rule_sets)


class _Steps:
    """Links as a host makes them."""

    def __init__(self, reading: Reading, numbers: Numbers) -> None:
        self.numbers = numbers
        self.reading = reading

    def _position(self, link: Link, agent: int, parent: Position | None = None) -> Position:
        table = link.table
        use, delegated = self.numbers.rule_sets.of_both(table)
        return Position(agent, use, delegated, table.bounds, link.depth, link.state, parent, link)

    def start(self, agent: str) -> Position | None:
        try:
            link = self.reading.start(agent)
        except (KeyError, SpawnDenied):
            return None
        return self._position(link, self.numbers.places[agent])

    def step(self, position: Position, agent: int) -> Position | None:
        if position.link is None:
            return None
        try:
            link = self.reading.step(position.link, self.numbers.agents[agent])
        except (KeyError, SpawnDenied):
            return None
        return self._position(link, agent, position)

    def incoming(self, position: Position) -> Hashable:
        return position  # a host may look at anything

    def join(self, one: Position, other: Position) -> Position:
        found = joined(one, other, self.numbers.rule_sets)
        if one.link is None:
            return found
        table = table_of(found, self.numbers.rule_sets)
        found.link = attrs.evolve(one.link, table=table, depth=found.depth)
        return found
