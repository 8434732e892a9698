"""Which positions agents can come to, over all chains that can be.

A worklist over positions (`policy.analysis.reach.positions`), breadth first, so that each is
found by a shortest chain. A position is left out when one of the same agent that
is known covers it: whatever follows from it follows from that one as well, and
grants no less. Of positions that cannot be compared all are kept, up to a
bound. What is beyond the bound is *joined*: of all such positions of an agent
one remains that grants no less than any of them. What that grants, some chain
may grant; what it refuses, none does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cached_property

import attrs

from policy.analysis.reach.positions import (
    Position,
    PositionMoves,
    SpawnNumbers,
    bits,
    moves,
    startable,
    table_of,
)
from policy.hosts.project import Project
from policy.tables.chain import Chain, Reading
from policy.tables.table import UNRESTRICTED, Table

__all__ = ["MANY_POSITIONS", "Reach", "reach"]

# Why an answer is not exact where a `Reach` is not.
MANY_POSITIONS = "agents can come to more positions than are looked at"

# Positions of one agent, and of a project, before the rest is joined.
_PER_AGENT = 64
_IN_ALL = 20_000


@attrs.frozen(slots=False, eq=False)
class Reach:
    """The positions that matter.

    Attributes:
        most: agent -> what it may do at most behind chains that are not among
            `chains`; nothing where those are all that matter.

    """

    most: Mapping[str, Table]
    _numbers: SpawnNumbers = attrs.field(repr=False)
    _positions: Mapping[int, tuple[Position, ...]] = attrs.field(repr=False)
    _edges: Mapping[int, int] = attrs.field(repr=False)

    @property
    def exact(self) -> bool:
        """Whether the chains are all that matter."""
        return not self.most

    @cached_property
    def chains(self) -> dict[str, tuple[Chain, ...]]:
        """Agent -> its chains, the shortest first.

        What some chain of the agent grants, one of these grants, and it is a shortest.
        """
        known: dict[int, Chain] = {}
        return {
            self._numbers.agents[agent]: tuple(self._chain(each, known) for each in positions)
            for agent, positions in self._positions.items()
        }

    @cached_property
    def widest(self) -> dict[str, tuple[Chain, ...]]:
        """The same chains without those that grant no more than another."""
        return {agent: tuple(_widest(chains)) for agent, chains in self.chains.items()}

    @cached_property
    def edges(self) -> dict[str, tuple[str, ...]]:
        """Agent -> the agents it can start from some position."""
        names = self._numbers.agents
        return {
            names[agent]: tuple(names[target] for target in bits(targets))
            for agent, targets in self._edges.items()
        }

    def _chain(self, position: Position, known: dict[int, Chain]) -> Chain:
        missing = [position]
        while missing[-1].parent is not None and id(missing[-1].parent) not in known:
            missing.append(missing[-1].parent)
        for each in reversed(missing):
            known[id(each)] = self._behind(each, known)
        return known[id(position)]

    def _behind(self, position: Position, known: Mapping[int, Chain]) -> Chain:
        agent, parent = self._numbers.agents[position.agent], position.parent
        reading = self._numbers.reading
        if parent is None:
            return Chain.start(agent, reading)
        chain = known[id(parent)]
        _, allowed = self._numbers.granted(parent.use)
        if allowed >> position.agent & 1:  # nobody has to confirm it
            return Chain((*chain.links, reading.step(chain.links[-1], agent)), reading)
        return chain.spawn(agent)


def _widest(chains: tuple[Chain, ...]) -> Iterator[Chain]:
    sets = [chain.table.use.sets for chain in chains]
    for number, chain in enumerate(chains):
        use = sets[number]
        if not any(
            other < use or (other == use and place < number) for place, other in enumerate(sets)
        ):
            yield chain


def reach(
    project: Project,
    reading: Reading,
    starts: Iterable[str] | None = None,
    *,
    alone: Iterable[str] = (),
) -> Reach:
    """Return every position that agents of *project* can come to.

    Args:
        project: whose agents.
        reading: how chains come about.
        starts: what chains start with; by default what starts them in the project.
        alone: starts of further chains of which nothing but the start is wanted.

    """
    search = _Search(moves(reading))
    for agent in starts if starts is not None else project.starts:
        search.start(agent)
    search.run()
    for agent in alone:
        search.start(agent)
    return search.result()


class _Search:
    def __init__(self, moves: PositionMoves) -> None:
        self.moves = moves
        self.found: dict[int, list[Position]] = {}
        self.joins: dict[tuple[int, Hashable], Position] = {}
        self.edges: dict[int, int] = {}
        self.unbounded = False
        self._waiting: deque[Position] = deque()
        self._joined: deque[Position] = deque()
        self._followed: dict[Hashable, int] = {}
        self._refused: dict[Hashable, int] = {}
        self._count = 0

    def start(self, agent: str) -> None:
        """Let chains start with *agent*."""
        position = self.moves.start(agent)
        if position is not None:
            self._add(position)

    def run(self) -> None:
        """Follow every spawn from every position, and then from every join."""
        while self._waiting:
            position = self._waiting.popleft()
            if not position.is_covered:  # what covers it starts whomever it starts
                self._follow(position)
        while self._joined and not self.unbounded:
            position = self._joined.popleft()
            if self.joins[position.agent, position.state] is position:
                for agent in bits(startable(self.moves.numbers, position)):
                    following = self.moves.step(position, agent)
                    if following is not None and not self._is_known(following):
                        self._join(following)

    def _follow(self, position: Position) -> None:
        targets = startable(self.moves.numbers, position)
        # Positions of which the same follows start everybody once.
        key = self.moves.incoming(position)
        followed = self._followed.get(key, 0)
        self._followed[key] = followed | targets
        for agent in bits(targets & ~followed):
            following = self.moves.step(position, agent)
            if following is None:
                self._refused[key] = self._refused.get(key, 0) | 1 << agent
            else:
                self._add(following)
        started = targets & ~self._refused.get(key, 0)
        self.edges[position.agent] = self.edges.get(position.agent, 0) | started

    def _is_known(self, position: Position) -> bool:
        use = position.use
        for known in self.found.get(position.agent, ()):
            if known.use <= use and known.covers(position):
                return True
        return False

    def _add(self, position: Position) -> None:
        """Take a position in, unless one that is known covers it."""
        if self._is_known(position):
            return
        known = self.found.setdefault(position.agent, [])
        if len(known) >= _PER_AGENT:
            self.found[position.agent] = known = [one for one in known if not one.is_covered]
        # The first is kept in any case: it is a shortest chain.
        if known and (len(known) >= _PER_AGENT or self._count >= _IN_ALL):
            self._join(position)
            return
        self._count += 1
        for other in known:
            if position.use <= other.use and position.covers(other):
                other.is_covered = True
        known.append(position)
        self._waiting.append(position)

    def _join(self, position: Position) -> None:
        """Take a position in of which the chain is not kept."""
        key = (position.agent, position.state)
        known = self.joins.get(key, position)
        if known is not position and known.covers(position):
            return
        if len(self.joins) >= _IN_ALL:
            self.unbounded = True
            return
        self.joins[key] = joined = self.moves.join(known, position)
        self._joined.append(joined)

    def result(self) -> Reach:
        """Return what was found."""
        numbers = self.moves.numbers
        most: dict[str, Table] = {}
        if self.unbounded:
            most = dict.fromkeys(numbers.agents, UNRESTRICTED)
        else:
            by_agent: dict[int, Position] = {}
            for position in self.joins.values():
                known = by_agent.setdefault(position.agent, position)
                by_agent[position.agent] = self.moves.join(known, position)
            most = {numbers.agents[a]: table_of(p, numbers.rule_sets) for a, p in by_agent.items()}
        found = {agent: tuple(positions) for agent, positions in self.found.items()}
        return Reach(most, numbers, found, self.edges)
