"""What it gets to start an agent, on one side of a conversion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from policy.chain import SPAWN_TOOL, Chain, SpawnDenied, spawn_call
from policy.decision import Decision, Reason
from policy.effect import Effect
from policy.rows.parameters import beside

__all__ = ["Start", "parameters"]


@attrs.frozen
class Start:
    """One side of the start of an agent.

    Attributes:
        parent: the chain that starts it; None where it is the root.
        agent: what this side calls it.
        chain: the chain that comes of some such call, if one does.

    """

    parent: Chain | None
    agent: str
    chain: Chain | None

    @classmethod
    def by(cls, parent: Chain, agent: str) -> Start:
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
            return _UNAVAILABLE if self.chain is None else Decision(Effect.ALLOW, Reason.DEFAULT)
        tool, call = spawn_call(self.parent.reading, self.agent)
        asked = self.parent.table.decide(tool, {**call, **said} if tool == SPAWN_TOOL else call)
        # It may be refused whatever the call gets: by a limit of depth, say.
        return asked if asked.effect is Effect.DENY or self.chain else _UNAVAILABLE


_UNAVAILABLE = Decision(Effect.DENY, Reason.UNAVAILABLE)


def parameters(chains: Sequence[Chain]) -> list[dict[str, str]] | None:
    """Return what calls that start agents may say, as far as rules of *chains* tell it apart.

    The plain call, which says nothing, is the first. None when there are too many.
    """
    return beside([row for chain in chains for row, _ in chain.table.lookup(SPAWN_TOOL).rows])
