"""How positions follow one another, as a reading has it.

Where links are met as they are declared (`policy.chain.Attenuated`), no table
is made on the way. Any other reading is asked for each step.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

import attrs

from policy.chain import Attenuated, Link, Reading, SpawnDenied, handed_down
from policy.reach.numbers import Numbers, Sets
from policy.reach.positions import Position, joined, table_of
from policy.table import Bounds, Table

__all__ = ["Moves", "moves"]


class Moves(Protocol):
    """How positions of one reading follow one another."""

    @property
    def numbers(self) -> Numbers:
        """The numbers of its rule sets and agents."""

    def start(self, agent: str) -> Position | None:
        """Return *agent* as the root of chains; None where it cannot be one."""

    def targets(self, position: Position) -> int:
        """Return the agents that *position* may start as far as its own tables say."""

    def step(self, position: Position, agent: int) -> Position | None:
        """Return *agent* behind *position*; None where the host refuses it."""

    def incoming(self, position: Position) -> Hashable:
        """Return what the positions behind *position* depend on, which may be itself."""

    def join(self, one: Position, other: Position) -> Position:
        """Return a position of the same agent and state that grants no less than either."""


def moves(reading: Reading) -> Moves:
    """Return how positions of *reading* follow one another."""
    if isinstance(reading, Attenuated) and type(reading).step is Attenuated.step:
        return _Meets(reading)
    return _Steps(reading)


class _Meets:
    """Links that are met as they are declared."""

    def __init__(self, reading: Attenuated) -> None:
        self.numbers = Numbers(reading)
        self.reading = reading
        self._tables = [self._numbered(reading.tables[agent]) for agent in reading.agents]
        self._bounds: dict[tuple[Bounds, Bounds], Bounds] = {}

    def _numbered(self, table: Table) -> tuple[Sets, Sets, Bounds]:
        use = self.numbers.of(table.use)
        delegated = use if table.delegate is None else self.numbers.of(table.delegate)
        return use, delegated, table.bounds

    def start(self, agent: str) -> Position | None:
        if agent not in self.numbers.places:
            return None
        table = self._numbered(self.reading.start(agent).table)
        return Position(self.numbers.places[agent], *table)

    def targets(self, position: Position) -> int:
        depth = position.bounds.depth
        if depth is not None and depth <= 0:
            return 0
        return self.numbers.granted(position.use)[0]

    def step(self, position: Position, agent: int) -> Position | None:
        use, delegated, bounds = self._tables[agent]
        above = position.delegated
        met = self._met(use, above)
        handed_on = met if delegated is use else self._met(delegated, above)
        limits = (bounds, position.bounds)
        if limits not in self._bounds:
            self._bounds[limits] = bounds & handed_down(position.bounds)
        return Position(agent, met, handed_on, self._bounds[limits], parent=position)

    def _met(self, one: Sets, other: Sets) -> Sets:
        met = one | other
        denying = self.numbers.denying
        return met if denying.isdisjoint(met) else frozenset({min(denying & met)})

    def incoming(self, position: Position) -> Hashable:
        return position.delegated, position.bounds

    def join(self, one: Position, other: Position) -> Position:
        return joined(one, other, self.numbers)


class _Steps:
    """Links as a host makes them."""

    def __init__(self, reading: Reading) -> None:
        self.numbers = Numbers(reading)
        self.reading = reading

    def _position(self, link: Link, agent: int, parent: Position | None = None) -> Position:
        table = link.table
        use = self.numbers.of(table.use)
        delegated = use if table.delegate is None else self.numbers.of(table.delegate)
        state = link.state
        return Position(
            agent,
            use,
            delegated,
            table.bounds,
            link.depth,
            state,
            parent,
            link,
        )

    def start(self, agent: str) -> Position | None:
        try:
            link = self.reading.start(agent)
        except (KeyError, SpawnDenied):
            return None
        return self._position(link, self.numbers.places[agent])

    def targets(self, position: Position) -> int:
        depth = position.bounds.depth
        if depth is not None and depth <= 0:
            return 0
        return self.numbers.granted(position.use)[0]

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
        found = joined(one, other, self.numbers)
        if one.link is None:
            return found
        table = table_of(found, self.numbers)
        found.link = attrs.evolve(one.link, table=table, depth=found.depth)
        return found
