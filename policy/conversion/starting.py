"""What it gets to start an agent on two sides: by the plain call, and by those that say more.

Rules may speak of what else such a call says, e.g. ``Task(model:opus)``. Chains are
those of the plain call, which names the agent alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from policy.chain import SPAWN_TOOL, Chain, SpawnDenied, spawn_call
from policy.comparison.compare import parameter_cases
from policy.decision import Decision, Reason
from policy.effect import Effect
from policy.row import RowEntry

__all__ = ["Starting", "parameters"]


@attrs.frozen
class Starting:
    """One side of the start of an agent.

    Attributes:
        parent: the chain that starts it; None where it is the root.
        agent: what this side calls it.
        chain: the chain that comes of the plain call, if one does.

    """

    parent: Chain | None
    agent: str
    chain: Chain | None

    @classmethod
    def by(cls, parent: Chain, agent: str) -> Starting:
        """Return the start of *agent* by the last link of *parent*."""
        try:
            return cls(parent, agent, parent.spawn(agent))
        except SpawnDenied:
            return cls(parent, agent, None)

    def decided(self, said: Mapping[str, str]) -> Decision:
        """Return what the call gets that says *said* beside the agent.

        A host that starts agents by a call of its own reads nothing of that.
        """
        if self.parent is None:
            return self._plain
        tool, call = spawn_call(self.parent.reading, self.agent)
        if not said or tool != SPAWN_TOOL:
            asked = self.parent.spawning(self.agent)
            # It may be refused whatever the call gets: by a limit of depth, say.
            return asked if asked.effect is self._plain.effect else self._plain
        asked = self.parent.table.decide(tool, {**call, **said})
        return asked if asked.effect is Effect.DENY or self._can_be else _UNAVAILABLE

    @property
    def _plain(self) -> Decision:
        if self.chain is None:
            return _UNAVAILABLE
        asks = self.chain.links[-1].confirm
        return Decision(Effect.ASK if asks else Effect.ALLOW, Reason.DEFAULT)

    @property
    def _can_be(self) -> bool:
        """Whether there can be such a link, whatever rules say of the call."""
        if self.chain is not None or self.parent is None:
            return True
        last = self.parent.links[-1]
        depth = last.table.bounds.depth
        try:
            self.parent.reading.step(last, self.agent)
        except (KeyError, SpawnDenied):
            return False
        return depth is None or depth > 0


_UNAVAILABLE = Decision(Effect.DENY, Reason.UNAVAILABLE)


def parameters(chains: Sequence[Chain]) -> list[dict[str, str]] | None:
    """Return what calls that start agents may say, as far as rules of *chains* tell it apart.

    The plain call, which says nothing, is the first. None when there are too many.
    """
    entries = [entry for chain in chains for entry in _about_parameters(chain)]
    return parameter_cases(entries)


def _about_parameters(chain: Chain) -> Iterator[RowEntry]:
    for row, _ in chain.table.lookup(SPAWN_TOOL).rows:
        yield from (e for e in row.entries if e.field and e.field not in row.argument.fields)
