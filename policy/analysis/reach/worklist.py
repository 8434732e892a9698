"""A search over all chains that can be, along one reading or along two at once.

`Worklist` follows positions (`policy.analysis.reach.positions`) breadth first, so that each is
found by a shortest chain. It walks *pairs*: of one project before and after a change, or as
declared and as enforced. A weaker chain may be the only one that differs, so one reading alone
does not show which chains matter.

Each side of a pair is a meet of rule sets, and the sides differ only through rule sets that one of
them lacks. A pair is skipped if known pairs cover it on both sides and together hold all those: no
call differs behind it that does not differ behind one of them. A chain of one side is skipped if
another chain of that side alone covers it.

`reach` returns the positions of one reading, up to a bound. Where more are left out, the most that
an agent may do is what it declares, or what it and the one agent that starts chains declare.
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

# Why an answer is not exact where a `Worklist` is not whole, or a `Reach` not exact.
MANY_CHAINS = "more chains may differ than are looked at"
MANY_POSITIONS = "agents can come to more positions than are looked at"

# Pairs before the rest is left out, the first of each agent never, and spawns that are tried,
# each of which costs some microseconds: as many, and as many more for each agent.
_PAIRS = 20_000
_SPAWNS = 200_000
_SPAWNS_EACH = 200

# Positions of one agent, and of a project, before the rest is left out.
_PER_AGENT = 64
_IN_ALL = 20_000


@frozen
class ReadingSide:
    """A reading, what its chains start with, and agents *alone*, of which nothing is followed."""

    reading: Reading
    starts: Sequence[str]
    alone: Sequence[str] = ()


# A side without chains.
NO_CHAINS = ReadingSide(Attenuated({}), ())


def reading_side(project: Project | None, reading: str) -> ReadingSide:
    """Return a side with a reading of *project*, by its name; one without chains for None."""
    if project is None:
        return NO_CHAINS
    return ReadingSide(project.reading(reading), project.starts, project.asides)


def is_met_alike(one: Reading, other: Reading) -> bool:
    """Return whether both readings meet the same tables, so that no chain of them differs."""
    if type(one) is not Attenuated or type(other) is not Attenuated:
        return False
    return one.tables == other.tables and one.roots == other.roots


@define(eq=False)
class PositionPair:
    """The positions at the end of one chain on both sides."""

    agent: int  # the last of the chain, by its number among those of both sides
    before: Position | None  # its position on the first side; None where the chain is not there
    after: Position | None  # its position on the second side, or None
    parent: PositionPair | None = None  # the pair whose agent started it
    # In what the sides differ: rule sets of one side, limits, and that one cannot start.
    differing: frozenset[object] = frozenset()
    is_covered: bool = False  # whether what follows from it follows from another as well

    @property
    def is_shared(self) -> bool:
        """Whether the chain is on both sides."""
        return self.before is not None and self.after is not None

    @property
    def depth(self) -> int:
        """How many agents are before it, where that matters for what follows."""
        return max(each.depth for each in (self.before, self.after) if each is not None)

    def covers(self, other: PositionPair) -> bool:
        """Return whether this pair covers *other* on both sides."""
        return _covers(self.before, other.before) and _covers(self.after, other.after)


def _covers(one: Position | None, other: Position | None) -> bool:
    return one is other if one is None or other is None else one.covers(other)


class Worklist:
    """The pairs of positions that matter, of all chains that can be.

    Chains that are on one side only are left out where *one_sided* is false. Of one agent at most
    *of_agent* positions are kept; by default only all pairs and spawns are bounded (`_IN_ALL`).
    """

    def __init__(
        self,
        before: ReadingSide,
        after: ReadingSide,
        *,
        one_sided: bool = True,
        of_agent: int | None = None,
    ) -> None:
        self._sides = (before, after)
        # The agents of both sides, by number.
        self.agents = tuple(dict.fromkeys(a for side in self._sides for a in side.reading.agents))
        self.edges: dict[int, int] = {}  # number of an agent -> those it starts somewhere, as bits
        self.is_whole = True  # whether no pair was left out for there being too many
        sets = RuleSets()
        self._moves = tuple(moves(side.reading, sets, self.agents) for side in self._sides)
        self._one_sided = one_sided
        self._numbers = {agent: number for number, agent in enumerate(self.agents)}
        # Where a host goes by the number of agents in front, and otherwise than before, a
        # chain that is on one side only may be a long one behind a pair that seems covered.
        by_depth = [getattr(side.reading, "by_depth", None) for side in self._sides]
        is_compared = before is not NO_CHAINS and after is not NO_CHAINS
        self._is_deep = one_sided and is_compared and by_depth[0] != by_depth[1]
        # Those of one agent on the same sides.
        self._found: dict[tuple[int, bool, bool], list[PositionPair]] = {}
        self._waiting: deque[PositionPair] = deque()
        # By what follows from both sides of a pair depends on (`PositionMoves.incoming`).
        self._followed: dict[object, list[int]] = {}
        self._refused: dict[object, int] = {}
        self._count = 0
        self._of_agent = of_agent
        spawns = _SPAWNS + _SPAWNS_EACH * len(self.agents)
        self._left = math.inf if of_agent else spawns

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
            if not pair.is_covered:  # what covers it starts every agent that it starts
                self._follow(pair)
        self._start(agent for agent in alone if agent not in starts)
        return self

    def __iter__(self) -> Iterator[PositionPair]:
        """Yield every pair that matters."""
        return chained.from_iterable(self._found.values())

    def of(self, agent: str) -> list[PositionPair]:
        """Return the pairs of *agent* whose chains are on both sides."""
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
        """Return whether a chain of one side adds nothing to what other pairs show.

        One on both sides covers it, and the call that starts an agent of it is decided differently.
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
        """Return *agent* as the root of chains; None where it is none on this side.

        What stands alone on the other side is compared with what it would be on this one.
        """
        side = self._sides[number]
        is_start = agent in side.starts or agent in side.alone
        if not is_start and agent in side.reading.agents:
            return None
        return self._moves[number].start(agent)

    def _follow(self, pair: PositionPair) -> None:
        sides = tuple(zip(self._moves, (pair.before, pair.after), strict=True))
        targets = [side.startable(at) if at is not None else 0 for side, at in sides]
        # Pairs behind which the same follows start every agent once.
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
        """Add a pair, unless some that are known cover it together."""
        if not pair.is_shared and not (self._one_sided and (pair.before or pair.after)):
            return
        key = pair.agent, pair.before is not None, pair.after is not None
        known = self._found.setdefault(key, [])
        left = pair.differing = self._differing(pair)
        for other in known:
            is_more = not left or not other.differing.isdisjoint(left)
            if is_more and self._is_covered(pair, other):
                left -= other.differing
                if not left:
                    return
        if self._is_full(known):
            self.is_whole = False
            return
        self._count += 1
        for other in known:
            if other.differing <= pair.differing and self._is_covered(other, pair):
                other.is_covered = True
        known.append(pair)
        self._waiting.append(pair)

    def _is_full(self, known: list[PositionPair]) -> bool:
        """Return whether no pair is kept beside those *known*; the first, a shortest, always is."""
        if self._of_agent is None:
            return bool(known) and self._count >= _PAIRS
        if len(known) >= self._of_agent:
            known[:] = [pair for pair in known if not pair.is_covered]
        return bool(known) and (len(known) >= self._of_agent or self._count >= _IN_ALL)

    def _differing(self, pair: PositionPair) -> frozenset[object]:
        before, after = pair.before, pair.after
        if before is None or after is None:
            # The call that starts an agent shows that; where there is none, only the pair does.
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

    # Agent -> its chains, the shortest first. What some chain of the agent grants, one of these
    # grants, and it is a shortest.
    chains: Mapping[str, tuple[Chain, ...]]
    edges: Mapping[str, tuple[str, ...]]  # agent -> the agents it can start from some position
    # Agent -> what it may do at most; nothing where `chains` are all that matter.
    most: Mapping[str, Table]

    @property
    def exact(self) -> bool:
        """Whether the chains are all that matter."""
        return not self.most

    @cached_property
    def widest(self) -> dict[str, tuple[Chain, ...]]:
        """The same chains without those that grant no more than another."""
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
    """Return every position that agents of *project* can come to, as *reading* has it.

    Chains start with *starts*, by default with what starts them in the project; of those *alone*
    only the chain of that one agent is wanted.
    """
    side = ReadingSide(reading, tuple(project.starts if starts is None else starts), tuple(alone))
    found = Worklist(side, NO_CHAINS, of_agent=_PER_AGENT).run()
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
    """Yield what each agent may do at most where others start it, in whatever chain."""
    reading = side.reading
    for agent in agents:
        if type(reading) is not Attenuated or agent in side.alone:
            yield agent, UNRESTRICTED
        elif agent in reading.tables and len(side.starts) == 1:
            # A longer chain grants no more than the shortest that there could be.
            yield agent, reading.step(reading.start(*side.starts), agent).table
        elif agent in reading.tables:
            yield agent, reading.tables[agent]


class Chains:
    """The chains of one *reading*, each made once."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._known: dict[tuple[str, ...], Chain] = {}

    def chain(self, names: tuple[str, ...]) -> Chain:
        """Return the chain of *names*. Raises SpawnDenied where one may not start the next."""
        known = len(names)  # without recursion, since chains are long
        while known and names[:known] not in self._known:
            known -= 1
        for end in range(known, len(names)):
            self._known[names[: end + 1]] = (
                self._known[names[:end]].spawn(names[end])
                if end
                else Chain.start(names[0], self._reading)
            )
        return self._known[names]
