"""What a project and its conversion decide differently: chain by chain, in common words.

Both are walked at once, along every chain that either has. Calls are compared as
`policy.comparison.compare` does; where two hosts read an argument differently, calls are
tried, and it is said that others were not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain as chained
from typing import Final

import attrs

from policy.chain import SPAWN_TOOL, Chain, SpawnDenied
from policy.comparison.compare import Difference
from policy.comparison.names import Tools, compare_others
from policy.comparison.witness import Call
from policy.conversion.across import Known, is_read
from policy.conversion.common_words import in_common
from policy.decision import Decision, Reason
from policy.dialect import Dialect
from policy.effect import Effect
from policy.project import Project
from policy.table import Table
from policy.telling import internal_tools

__all__ = ["Loss", "Losses", "Side", "Unproven", "losses"]


@attrs.frozen
class Loss:
    """Calls that the conversion decides differently, shown by one of them.

    Attributes:
        chain: the shortest chain it concerns, as the source names it.
        also: further chains it concerns in the same way.
        tool: in common words.
        call: the witness; both decisions are of it.
        before: what it gets of the source.
        after: what it gets of the conversion.

    """

    chain: tuple[str, ...]
    also: tuple[tuple[str, ...], ...]
    tool: str
    call: Call = attrs.field(eq=False)
    before: Decision
    after: Decision

    @property
    def looser(self) -> bool:
        """Whether the conversion grants more."""
        return self.before.effect < self.after.effect

    @property
    def direction(self) -> str:
        """``looser`` or ``stricter``."""
        return "looser" if self.looser else "stricter"


@attrs.frozen
class Unproven:
    """A tool of which it was not proven that nothing else gets looser."""

    tool: str
    why: str


@attrs.frozen
class Losses:
    """All that differs, looser first, and what was not proven."""

    found: tuple[Loss, ...]
    unproven: tuple[Unproven, ...]


@attrs.frozen
class Side:
    """A project, and how its words become the common ones.

    Attributes:
        project: which.
        counterparts: tool -> its common name.
        names: agent, as the source has it -> what it is called here.
        above: agents that stand before each chain here.

    """

    project: Project
    counterparts: Mapping[str, str]
    names: Mapping[str, str] = attrs.field(factory=dict)
    above: tuple[str, ...] = ()

    def start(self, agent: str, reading: str) -> Chain:
        """Return the chain that *agent* starts.

        Raises:
            SpawnDenied: it cannot.

        """
        first, *rest = (*self.above, self.names.get(agent, agent))
        chain = Chain.start(first, self.project.reading(reading))
        for name in rest:
            chain = chain.spawn(name)
        return chain


# Positions of both sides that are compared before the rest is left out.
_POSITIONS: Final = 3_000
# Agents of a chain, beyond which how many there are no longer counts.
_DEEP: Final = 6


def losses(
    source: Side,
    target: Side,
    starts: Iterable[str],
    common: Dialect,
    *,
    fixed: frozenset[str] = frozenset(),
    reading: str = "enforced",
    known: Known | None = None,
) -> Losses:
    """Return what *target*, made of *source*, decides differently.

    Args:
        source: the project that was converted.
        target: the conversion, as its host reads it.
        starts: agents of the source that start chains.
        common: how tools and arguments are named in common.
        fixed: tools that no file of the target's host can take away, which are left out.
        reading: of both.
        known: what was compared before, of these two hosts.

    """
    walk = _Walk((source, target), common, fixed=fixed, reading=reading, known=known or Known())
    for agent in starts:
        walk.start(agent)
    walk.run()
    found = sorted(walk.losses(), key=_order)
    return Losses(tuple(found), tuple(walk.unproven))


def _order(loss: Loss) -> tuple[object, ...]:
    return not loss.looser, len(loss.chain), loss.chain, loss.tool, str(loss.call)


_Pair = tuple[Chain, Chain, tuple[str, ...]]


class _Walk:
    def __init__(
        self,
        sides: tuple[Side, Side],
        common: Dialect,
        *,
        fixed: frozenset[str],
        reading: str,
        known: Known,
    ) -> None:
        self._known = known
        self.sides = sides
        source, target = sides
        self.common, self.fixed, self.reading = common, fixed, reading
        self.unproven: dict[Unproven, None] = {}
        back = {new: old for old, new in target.names.items()}
        ours = source.project.reading(reading).agents
        theirs = (
            back.get(name, name)
            for name in target.project.reading(reading).agents
            if name not in target.above
        )
        self.agents = tuple(dict.fromkeys((*ours, *theirs)))
        self._queue: deque[_Pair] = deque()
        self._seen: set[object] = set()
        self._found: dict[object, list[tuple[tuple[str, ...], Difference]]] = {}
        self._compared: dict[object, tuple[Difference, ...]] = {}

    def start(self, agent: str) -> None:
        """Take in the chain of *agent* alone."""
        chains: list[Chain | None] = []
        for side in self.sides:
            try:
                chains.append(side.start(agent, self.reading))
            except SpawnDenied:
                chains.append(None)
        self._pair(agent, (), chains, [None, None])

    def run(self) -> None:
        """Compare, and follow every spawn."""
        while self._queue:
            before, after, names = self._queue.popleft()
            for difference in self._differences(before.table, after.table):
                self._add(names, difference)
            for agent in self.agents:
                called = [side.names.get(agent, agent) for side in self.sides]
                parents = list(zip((before, after), called, strict=True))
                chains = [_spawned(chain, name) for chain, name in parents]
                self._pair(agent, names, chains, [chain.spawning(name) for chain, name in parents])

    def _pair(
        self,
        agent: str,
        names: tuple[str, ...],
        chains: Sequence[Chain | None],
        asked: Sequence[Decision | None],
    ) -> None:
        before, after = chains
        decisions = [_decision(*pair) for pair in zip(chains, asked, strict=True)]
        if decisions[0].effect is not decisions[1].effect:
            call: Call = {"subagent_type": agent}
            self._add(names or (agent,), Difference(SPAWN_TOOL, call, *decisions))
        if before is None or after is None:
            return
        key = (agent, *map(_state, (before, after)))
        if key in self._seen:
            return
        if len(self._seen) >= _POSITIONS:
            self.unproven[Unproven(SPAWN_TOOL, "there are more chains than are followed")] = None
            return
        self._seen.add(key)
        self._queue.append((before, after, (*names, agent)))

    def _add(self, names: tuple[str, ...], difference: Difference) -> None:
        before, after = difference.before, difference.after
        key: object = (difference.tool, str(difference.call), before.effect, after.effect)
        if before.effect > after.effect and difference.tool != SPAWN_TOOL:
            # Why less is granted is told once: of what the same rules granted one call is enough.
            key = (difference.tool, before.effect, after.effect, before.because)
        self._found.setdefault(key, []).append((names, difference))

    def losses(self) -> Iterator[Loss]:
        """Yield each difference once, with the chains that it is of."""
        for members in self._found.values():
            members.sort(key=lambda member: (len(member[0]), member[0]))
            (names, difference), *others = members
            also = tuple(dict.fromkeys(other for other, _ in others if other != names))
            yield Loss(
                names, also, difference.tool, difference.call, difference.before, difference.after
            )

    def _in_common(self, table: Table, side: Side) -> Table:
        key = (side.project.host, table.use.sets)
        found = self._known.tables.get(key)
        if found is None:
            found = in_common(Table(table.use), side.counterparts, self.common)
            self._known.tables[key] = found
        return found

    def _differences(self, before: Table, after: Table) -> tuple[Difference, ...]:
        key = (before.use.sets, after.use.sets)
        if key not in self._compared:
            tables = [
                self._in_common(table, side)
                for table, side in zip((before, after), self.sides, strict=True)
            ]
            self._compared[key] = tuple(self._compare(*tables))
        return self._compared[key]

    def _compare(self, before: Table, after: Table) -> Iterator[Difference]:
        sets = [[part.rules for part in table.use.parts] for table in (before, after)]
        tools = Tools.of(chained(*sets))
        left_out = internal_tools(rules.dialect for rules in chained(*sets)) | {SPAWN_TOOL}
        left_out |= self.fixed
        spelled = {*tools.spelled, *self.common.arguments} - left_out
        for tool in sorted(spelled):
            found = self._known.compare(tool, before.lookup(tool), after.lookup(tool))
            yield from found.differences
            for why in found.why:
                self._doubt(tool, why)
        lookups = before.lookup, after.lookup
        others = compare_others(sets, tools, lookups, self._known.lines)
        read = filter(is_read, others.differences)
        yield from (one for one in read if one.tool not in left_out)
        if not (others.exact and tools.exact):
            self._doubt("*", "tools that neither host knows are told apart in another way")

    def _doubt(self, tool: str, why: str) -> None:
        self.unproven[Unproven(tool, why)] = None


def _spawned(chain: Chain, agent: str) -> Chain | None:
    try:
        return chain.spawn(agent)
    except SpawnDenied:
        return None


def _decision(chain: Chain | None, asked: Decision | None) -> Decision:
    """Return what starting the last agent of *chain* gets; *asked* is what the call for it got."""
    if chain is None:
        effect, reason = Effect.DENY, Reason.UNAVAILABLE  # a limit of depth, or no such agent
    else:
        effect = Effect.ASK if chain.links[-1].confirm else Effect.ALLOW
        reason = Reason.DEFAULT
    return asked if asked is not None and asked.effect is effect else Decision(effect, reason)


def _state(chain: Chain) -> object:
    table, last = chain.table, chain.links[-1]
    depth = min(len(chain.links), _DEEP)
    return table.use.sets, table.delegated.sets, table.bounds, last.state, depth
