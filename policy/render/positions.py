"""What is to be told of each chain of an agent: all of it, or how it differs from one before."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from policy.reach.audit import AgentAudit, Position
from policy.render.privileges import Summary, beyond, side_by_side, summarise

__all__ = ["PositionSummary", "position_summaries"]


@attrs.frozen
class PositionSummary:
    """What is to be told of an agent at the end of one chain.

    Attributes:
        position: the chain, and whose start must be confirmed.
        reading: ``attenuated`` or ``enforced`` where it is told of that one alone, or "".
        but_for: the chain by which the agent may do the same, but for what is told; or nothing.
        common: what both readings have, or the one there is.
        attenuated: what is declared of the tools in which two readings differ.
        enforced: what the host does with these.

    """

    position: Position
    reading: str
    but_for: tuple[str, ...]
    common: Summary
    attenuated: Summary = Summary({}, {})
    enforced: Summary = Summary({}, {})


def position_summaries(
    agent: AgentAudit, *, everything: bool = False
) -> tuple[PositionSummary, ...]:
    """Return what is to be told of each chain of *agent*, those of both readings together."""
    declared = {position.chain: position for position in agent.attenuated}
    real = {position.chain: position for position in agent.enforced}
    return tuple(
        _told(agent, declared.get(chain), real.get(chain), everything=everything)
        for chain in {**declared, **real}
    )


def _told(
    agent: AgentAudit, declared: Position | None, real: Position | None, *, everything: bool
) -> PositionSummary:
    if declared and real:
        sides = declared.privileges, real.privileges
        found = side_by_side(*sides, agent.name, everything=everything)
        return PositionSummary(real, "", (), *found)
    reading = "attenuated" if declared else "enforced"
    positions = agent.attenuated if declared else agent.enforced
    (position,) = filter(None, (declared, real))
    return _alone(agent, position, reading, positions, everything=everything)


def _alone(
    agent: AgentAudit,
    position: Position,
    reading: str,
    positions: Sequence[Position],
    *,
    everything: bool,
) -> PositionSummary:
    """Return what is told of a chain that one reading has: in full, or in fewer words."""
    said = summarise(position.privileges, agent.name, everything=everything)
    first = positions[0]
    if first is not position and not everything:
        differing = beyond(first.privileges, position.privileges, agent.name)
        if differing.size < said.size:
            return PositionSummary(position, reading, first.chain, differing)
    return PositionSummary(position, reading, (), said)
