"""Searches all chains of one reading, or of two readings at once.

`Worklist` follows positions (`policy.analysis.reach.positions`) breadth first, so it finds each by
a shortest chain. It walks *pairs* of positions: of a project before and after a change, or as
declared and as enforced. The one chain that differs may be redundant in each reading alone, so the
search cannot walk one after the other.

Each side of a pair is a meet of rule sets, and the sides differ only by rule sets that one of them
lacks. The search skips a pair if kept pairs cover it on both sides and together have the same
differing rule sets: then each call that differs at the pair, or below it, differs at one of those
too. It skips a chain of one side if another chain of that side covers it.

`reach` returns the positions of one reading, up to a limit. Beyond that it bounds each agent by a
table: in the attenuated reading by its own, met with that of the root if there is only one; in
another reading by an unrestricted table.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain as chained

from policy.analysis.reach.positions import Position, RuleSets, bits, moves
from policy.core.values import define, frozen
from policy.hosts.project import Project
from policy.tables.chain import Attenuated, Chain, Reading
from policy.tables.table import UNRESTRICTED, Table

# Why an answer is inexact if a `Worklist` is not whole, or a `Reach` not exact.
MANY_CHAINS = "more chains may differ than are looked at"
MANY_POSITIONS = "agents can come to more positions than are looked at"

# The most pairs that are kept, but for the first of each agent; and the most spawns that are tried,
# at some microseconds each: so many, and so many more for each agent.
_PAIRS = 20_000
_SPAWNS = 200_000
_SPAWNS_EACH = 200

# The most positions that `reach` keeps of one agent, and of a project.
_PER_AGENT = 64
_IN_ALL = 20_000


@frozen
class ReadingSide:
    """A reading, the agents that start its chains, and agents *alone*, which start no others."""

    reading: Reading
    starts: Sequence[str]
    alone: Sequence[str] = ()


NO_CHAINS = ReadingSide(Attenuated({}), ())


def reading_side(project: Project | None, reading: str) -> ReadingSide:
    """Return the side of *project* in the named reading; `NO_CHAINS` for None."""
    if project is None:
        return NO_CHAINS
    return ReadingSide(project.reading(reading), project.starts, project.variants)


def meet_equal_tables(one: Reading, other: Reading) -> bool:
    """Return whether both readings meet equal tables, so that no chain of them differs."""
    if type(one) is not Attenuated or type(other) is not Attenuated:
        return False
    return one.tables == other.tables and one.roots == other.roots


@define(eq=False)
class PositionPair:
    """The positions at the end of one chain on both sides."""

    agent: int  # the number of the last agent of the chain
    before: Position | None  # on the first side; None if that lacks the chain
    after: Position | None  # on the second side, or None
    parent: PositionPair | None = None  # the pair whose agent started it
    # The differences of the sides: rule sets that one lacks, limits, and a chain that one lacks.
    differing: frozenset[object] = frozenset()
    is_covered: bool = False  # whether another pair leads wherever this one does

    @property
    def is_shared(self) -> bool:
        """Whether both sides have the chain."""
        return self.before is not None and self.after is not None

    @property
    def depth(self) -> int:
        """The number of agents before it, if later steps depend on that; else 0."""
        return max(each.depth for each in (self.before, self.after) if each is not None)

    def covers(self, other: PositionPair) -> bool:
        """Return whether this pair covers *other* on both sides."""
        return _covers(self.before, other.before) and _covers(self.after, other.after)


def _covers(one: Position | None, other: Position | None) -> bool:
    return one is other if one is None or other is None else one.covers(other)


class Worklist:
    """The pairs of positions that matter, of all possible chains.

    If *one_sided* is false, chains of one side only are left out. At most *per_agent* positions of
    an agent are kept; by default only the total numbers of pairs and spawns are limited.
    """

    def __init__(
        self,
        before: ReadingSide,
        after: ReadingSide,
        *,
        one_sided: bool = True,
        per_agent: int | None = None,
    ) -> None:
        self._sides = (before, after)
        # The agents of both sides, by number.
        self.agents = tuple(dict.fromkeys(a for side in self._sides for a in side.reading.agents))
        self.edges: dict[
            int, int
        ] = {}  # agent -> the agents that it starts at some position, as bits
        self.is_whole = True  # whether no limit left out a pair
        sets = RuleSets()
        self._moves = tuple(moves(side.reading, sets, self.agents) for side in self._sides)
        self._one_sided = one_sided
        self._numbers = {agent: number for number, agent in enumerate(self.agents)}
        # If the limits of depth differ, a chain of one side only may be a long one, below a pair
        # that a pair of another depth seems to cover.
        by_depth = [getattr(side.reading, "by_depth", None) for side in self._sides]
        is_compared = before is not NO_CHAINS and after is not NO_CHAINS
        self._is_deep = one_sided and is_compared and by_depth[0] != by_depth[1]
        # Agent, and whether each side has the chain -> the pairs that are kept.
        self._found: dict[tuple[int, bool, bool], list[PositionPair]] = {}
        self._waiting: deque[PositionPair] = deque()
        # `PositionMoves.incoming` of both sides -> the agents followed from there, as bits.
        self._followed: dict[object, list[int]] = {}
        self._refused: dict[object, int] = {}
        self._count = 0
        self._per_agent = per_agent
        spawns = _SPAWNS + _SPAWNS_EACH * len(self.agents)
        self._left = math.inf if per_agent else spawns

    def run(self) -> Worklist:
        """Follow every spawn from every pair, and return this worklist."""
        starts = dict.fromkeys(agent for side in self._sides for agent in side.starts)
        alone = dict.fromkeys(agent for side in self._sides for agent in side.alone)
        self._start(starts)
        while self._waiting:
            pair = self._waiting.popleft()
            if self._left <= 0:
                self.is_whole = False
                break
            if not pair.is_covered:  # else another pair starts the same agents
                self._follow(pair)
        self._start(agent for agent in alone if agent not in starts)
        return self

    def __iter__(self) -> Iterator[PositionPair]:
        """Yield every pair that matters."""
        return chained.from_iterable(self._found.values())

    def shared(self, agent: str) -> list[PositionPair]:
        """Return the pairs of *agent* whose chain both sides have."""
        return self._found.get((self._numbers.get(agent, -1), True, True), [])

    def names(self, pair: PositionPair) -> tuple[str, ...]:
        """Return the chain of *pair*, from the root down."""
        names = [self.agents[pair.agent]]
        parent = pair.parent
        while parent is not None:
            names.append(self.agents[parent.agent])
            parent = parent.parent
        return tuple(reversed(names))

    def is_implied(self, pair: PositionPair) -> bool:
        """Return whether other pairs show all that the chain of *pair*, of one side only, shows.

        That is so if a pair with both sides covers it, and a denied spawn call is why the other
        side lacks the chain.
        """
        return self._is_by_call(pair) and any(
            (pair.before is None or _covers(other.before, pair.before))
            and (pair.after is None or _covers(other.after, pair.after))
            for other in self._found.get((pair.agent, True, True), ())
        )

    def _is_by_call(self, pair: PositionPair) -> bool:
        """Return whether the other side lacks the chain because it denies a call on the way."""
        parent = pair.parent
        if parent is None:
            return False
        if parent.before is None or parent.after is None:
            return True
        side, above = (0, parent.before) if pair.before is None else (1, parent.after)
        return not self._moves[side].granted(above.use) >> pair.agent & 1

    def _start(self, agents: Iterable[str]) -> None:
        for agent in agents:
            if agent in self._numbers:
                before, after = (self._root(side, agent) for side in (0, 1))
                self._add(PositionPair(self._numbers[agent], before, after))

    def _root(self, number: int, agent: str) -> Position | None:
        """Return the position of *agent* as a root of one side; None if it is not one.

        An agent that this side does not have is one if the reading can start it anyway.
        """
        side = self._sides[number]
        is_start = agent in side.starts or agent in side.alone
        if not is_start and agent in side.reading.agents:
            return None
        return self._moves[number].start(agent)

    def _follow(self, pair: PositionPair) -> None:
        sides = tuple(zip(self._moves, (pair.before, pair.after), strict=True))
        targets = [side.startable(at) if at is not None else 0 for side, at in sides]
        # Pairs with the same key lead to the same positions, so one of them follows each agent.
        key = tuple(side.incoming(at) if at is not None else None for side, at in sides)
        followed = self._followed.setdefault(key, [0, 0, 0])
        both = targets[0] & targets[1]
        for number, mask in enumerate((both, targets[0] & ~both, targets[1] & ~both)):
            new = mask & ~followed[number]
            self._left -= new.bit_count()
            for agent in bits(new):
                one, other = (
                    side.step(at, agent) if at is not None and target >> agent & 1 else None
                    for (side, at), target in zip(sides, targets, strict=True)
                )
                if one is None and other is None:
                    self._refused[key] = self._refused.get(key, 0) | 1 << agent
                else:
                    self._add(PositionPair(agent, one, other, pair))
            followed[number] |= mask
        started = (targets[0] | targets[1]) & ~self._refused.get(key, 0)
        self.edges[pair.agent] = self.edges.get(pair.agent, 0) | started

    def _add(self, pair: PositionPair) -> None:
        """Keep *pair*, unless kept pairs together cover it."""
        if not pair.is_shared and not (self._one_sided and (pair.before or pair.after)):
            return
        key = pair.agent, pair.before is not None, pair.after is not None
        kept = self._found.setdefault(key, [])
        left = pair.differing = self._differing(pair)
        for other in kept:
            is_more = not left or not other.differing.isdisjoint(left)
            if is_more and self._is_covered(pair, other):
                left -= other.differing
                if not left:
                    return
        if self._is_full(kept):
            self.is_whole = False
            return
        self._count += 1
        for other in kept:
            if other.differing <= pair.differing and self._is_covered(other, pair):
                other.is_covered = True
        kept.append(pair)
        self._waiting.append(pair)

    def _is_full(self, kept: list[PositionPair]) -> bool:
        """Return whether a limit forbids a pair more; the first of an agent is always kept."""
        if self._per_agent is None:
            return bool(kept) and self._count >= _PAIRS
        if len(kept) >= self._per_agent:
            kept[:] = [pair for pair in kept if not pair.is_covered]
        return bool(kept) and (len(kept) >= self._per_agent or self._count >= _IN_ALL)

    def _differing(self, pair: PositionPair) -> frozenset[object]:
        before, after = pair.before, pair.after
        if before is None or after is None:
            # A denied spawn call shows why the chain is missing; else only the pair does.
            return frozenset(() if self._is_by_call(pair) else ("start",))
        both = (before.use, after.use), (before.delegated, after.delegated)
        found: set[object] = {
            (which, number in one, number)
            for which, (one, other) in enumerate(both)
            for number in one ^ other
        }
        if before.bounds != after.bounds:
            found.add((before.bounds, after.bounds))
        return frozenset(found)

    def _is_covered(self, pair: PositionPair, by: PositionPair) -> bool:
        return by.covers(pair) and not (self._is_deep and pair.depth != by.depth)


@frozen(eq=False)
class Reach:
    """The positions of one reading that matter."""

    # Agent -> its chains, the shortest first. For each call that a chain grants, a shortest such
    # chain is among these.
    chains: Mapping[str, tuple[Chain, ...]]
    edges: Mapping[str, tuple[str, ...]]  # agent -> the agents that it starts at some position
    # Agent -> a table that grants all that any of its chains does; empty if `chains` are enough.
    most: Mapping[str, Table]

    @property
    def exact(self) -> bool:
        """Whether `chains` has every chain that matters."""
        return not self.most

    @cached_property
    def widest(self) -> dict[str, tuple[Chain, ...]]:
        """`chains` without those that grant no more than another."""
        return {agent: tuple(_widest(chains)) for agent, chains in self.chains.items()}

    @cached_property
    def by_table(self) -> tuple[Chain, ...]:
        """A shortest chain for each table, the shortest first."""
        chains = [chain for some in self.chains.values() for chain in some]
        found: dict[object, Chain] = {}
        for chain in sorted(chains, key=lambda chain: (len(chain.links), chain.names)):
            found.setdefault(chain.table.use.sets, chain)
        return tuple(found.values())


def _widest(chains: tuple[Chain, ...]) -> Iterator[Chain]:
    sets = [chain.table.use.sets for chain in chains]
    for number, (chain, use) in enumerate(zip(chains, sets, strict=True)):
        if use not in sets[:number] and not any(other < use for other in sets):
            yield chain


def reach(
    project: Project,
    reading: Reading,
    starts: Iterable[str] | None = None,
    *,
    alone: Iterable[str] = (),
) -> Reach:
    """Return the positions that agents of *project* reach in *reading*.

    *starts* are the agents that start chains, by default those of the project; agents *alone* start
    chains of one agent.
    """
    side = ReadingSide(reading, tuple(project.starts if starts is None else starts), tuple(alone))
    found = Worklist(side, NO_CHAINS, per_agent=_PER_AGENT).run()
    made, chains = Chains(reading), dict[str, list[Chain]]()
    for pair in found:
        names = found.names(pair)
        chains.setdefault(names[-1], []).append(made.chain(names))
    edges = {
        found.agents[agent]: tuple(found.agents[target] for target in bits(targets))
        for agent, targets in found.edges.items()
    }
    most = {} if found.is_whole else dict(_most(side, found.agents))
    return Reach({agent: tuple(some) for agent, some in chains.items()}, edges, most)


def _most(side: ReadingSide, agents: Iterable[str]) -> Iterator[tuple[str, Table]]:
    """Yield each agent with a table that grants all that any chain of it does."""
    reading = side.reading
    for agent in agents:
        if type(reading) is not Attenuated or agent in side.alone:
            yield agent, UNRESTRICTED
        elif agent in reading.tables and len(side.starts) == 1:
            # Every chain of the agent is a meet with both tables.
            yield agent, reading.step(reading.start(*side.starts), agent).table
        elif agent in reading.tables:
            yield agent, reading.tables[agent]


class Chains:
    """A cache of the chains of one *reading*."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._made: dict[tuple[str, ...], Chain] = {}

    def chain(self, names: tuple[str, ...]) -> Chain:
        """Return the chain of *names*. Raises SpawnDenied if an agent may not start the next."""
        done = len(names)  # a loop, since a chain may be longer than the limit of recursion
        while done and names[:done] not in self._made:
            done -= 1
        for end in range(done, len(names)):
            self._made[names[: end + 1]] = (
                self._made[names[:end]].spawn(names[end])
                if end
                else Chain.start(names[0], self._reading)
            )
        return self._made[names]
