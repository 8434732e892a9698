"""What a project and its conversion decide differently: chain by chain, in common words.

Both are walked at once, along every chain that either has. At each position their
tables are compared (`policy.conversion.across`), and what it gets to start each agent:
by the plain call, which names the agent alone, and by those that say more, of which
rules may speak too, e.g. ``Task(model:opus)``. Chains are those of the plain call.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from policy.chain import SPAWN_TOOL, Chain, SpawnDenied
from policy.comparison.compare import Difference
from policy.comparison.witness import Call
from policy.conversion.across import Known, Unproven
from policy.conversion.starting import Start, parameters
from policy.decision import Decision, Reason
from policy.effect import Effect
from policy.project import Project
from policy.rows.parameters import TOO_MANY_PARAMETERS

__all__ = ["Loss", "Losses", "Side", "losses"]


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
class Losses:
    """All that differs, looser first, and what was not proven."""

    found: tuple[Loss, ...]
    unproven: tuple[Unproven, ...]


@attrs.frozen
class Side:
    """A project, and how its words become the common ones.

    Attributes:
        project: which.
        names: agent, as the source has it -> what it is called here.
        above: agents that stand before each chain here.

    """

    project: Project
    names: Mapping[str, str] = attrs.field(factory=dict)
    above: tuple[str, ...] = ()

    def start(self, agent: str, reading: str) -> Chain | None:
        """Return the chain that *agent* starts, or None where it cannot."""
        first, *rest = (*self.above, self.names.get(agent, agent))
        try:
            chain = Chain.start(first, self.project.reading(reading))
            for name in rest:
                chain = chain.spawn(name)
        except SpawnDenied:
            return None
        return chain


# Positions of both sides that are compared before the rest is left out.
_POSITIONS: Final = 3_000
# Agents of a chain, beyond which how many there are no longer counts.
_DEEP: Final = 6


def losses(
    source: Side,
    target: Side,
    starts: Iterable[str],
    known: Known,
    *,
    fixed: frozenset[str] = frozenset(),
    reading: str = "enforced",
) -> Losses:
    """Return what *target*, made of *source*, decides differently.

    Args:
        source: the project that was converted.
        target: the conversion, as its host reads it.
        starts: agents of the source that start chains.
        known: compares the tables of the two hosts.
        fixed: tools that no file of the target's host can take away, which are left out.
        reading: of both.

    """
    walk = _Walk((source, target), known, fixed=fixed, reading=reading)
    for agent in starts:
        walk.start(agent)
    walk.run()
    found = sorted(walk.losses(), key=_order)
    return Losses(tuple(found), tuple(walk.unproven))


def _order(loss: Loss) -> tuple[object, ...]:
    return not loss.looser, len(loss.chain), loss.chain, loss.tool, str(loss.call)


_Names = tuple[str, ...]


class _Walk:
    def __init__(
        self, sides: tuple[Side, Side], known: Known, *, fixed: frozenset[str], reading: str
    ) -> None:
        self.sides, self.known, self.fixed, self.reading = sides, known, fixed, reading
        self.unproven: dict[Unproven, None] = {}
        source, target = sides
        back = {new: old for old, new in target.names.items()}
        ours = source.project.reading(reading).agents
        theirs = (
            back.get(name, name)
            for name in target.project.reading(reading).agents
            if name not in target.above
        )
        self.agents = tuple(dict.fromkeys((*ours, *theirs)))
        self._queue: deque[tuple[Chain, Chain, _Names]] = deque()
        self._seen: set[object] = set()
        self._found: dict[object, list[tuple[_Names, Difference]]] = {}

    def start(self, agent: str) -> None:
        """Take in the chain of *agent* alone."""
        sides = [Start(None, agent, side.start(agent, self.reading)) for side in self.sides]
        self._started(agent, (), sides, [{}])

    def run(self) -> None:
        """Compare, and follow every spawn."""
        while self._queue:
            before, after, names = self._queue.popleft()
            compared = self.known.tables(before.table, after.table, self.fixed)
            self.unproven.update(dict.fromkeys(compared.unproven))
            for difference in compared.found:
                self._add(names, difference)
            said = parameters([before, after])
            if said is None:
                self.unproven[Unproven(SPAWN_TOOL, TOO_MANY_PARAMETERS)] = None
            for agent in self.agents:
                pairs = zip((before, after), self.sides, strict=True)
                sides = [Start.by(chain, side.names.get(agent, agent)) for chain, side in pairs]
                self._started(agent, names, sides, said or [{}])

    def _started(
        self,
        agent: str,
        names: _Names,
        sides: Sequence[Start],
        said: Iterable[Mapping[str, str]],
    ) -> None:
        """Compare the calls that start *agent*, and follow the chains that come of it."""
        told: list[tuple[Mapping[str, str], tuple[Effect, Effect]]] = []
        for more in said:
            before, after = (side.decided(more) for side in sides)
            effects = before.effect, after.effect
            # A call that says more is told where that makes a difference.
            if any(less.items() <= more.items() and effects == known for less, known in told):
                continue
            if more and Reason.MALFORMED in (before.reason, after.reason):
                continue  # e.g. a model that one of the hosts does not have
            told.append((more, effects))
            if before.effect is not after.effect:
                call: Call = {"subagent_type": agent, **more}
                self._add(names or (agent,), Difference(SPAWN_TOOL, call, before, after))
        one, other = (side.chain for side in sides)
        if one is None or other is None:
            return
        key = (agent, *map(_state, (one, other)))
        if key in self._seen:
            return
        if len(self._seen) >= _POSITIONS:
            self.unproven[Unproven(SPAWN_TOOL, "there are more chains than are followed")] = None
            return
        self._seen.add(key)
        self._queue.append((one, other, (*names, agent)))

    def _add(self, names: _Names, difference: Difference) -> None:
        before, after = difference.before, difference.after
        key: object = (difference.tool, str(difference.call), before.effect, after.effect)
        if before.effect > after.effect and difference.tool != SPAWN_TOOL:
            # Why less is granted is told once: of what the same rules granted one call is enough.
            key = (difference.tool, before.effect, after.effect, before.because)
        self._found.setdefault(key, []).append((names, difference))

    def losses(self) -> Iterator[Loss]:
        """Yield each difference once, with the chains that it is of."""
        for members in self._found.values():
            # A call that says nothing shows little, where another is at hand.
            members.sort(key=lambda m: (len(m[0]), m[0], not any(m[1].call.values())))
            (names, difference), *others = members
            also = tuple(dict.fromkeys(other for other, _ in others if other != names))
            yield Loss(
                names, also, difference.tool, difference.call, difference.before, difference.after
            )


def _state(chain: Chain) -> object:
    table, last = chain.table, chain.links[-1]
    depth = min(len(chain.links), _DEEP)
    return table.use.sets, table.delegated.sets, table.bounds, last.state, depth
