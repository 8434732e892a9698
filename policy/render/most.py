"""What an agent may do at most, where no one of its chains says it already."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from policy.decision import Reason
from policy.effect import Effect
from policy.reach.audit import AgentAudit, Position
from policy.reach.most import AtMost, Grant
from policy.render.words import chain_text
from policy.source import visible

__all__ = ["MOST_LABELS", "Most", "mosts"]

# The lines of what is told, in the order they are shown.
MOST_LABELS = ("allow", "ask", "never", "otherwise", "not exact")

_LABELS = {Effect.ALLOW: "allow", Effect.ASK: "ask", Effect.DENY: "never"}


@attrs.frozen
class Most:
    """What is told of one reading, or of both.

    Attributes:
        reading: ``attenuated``, ``enforced``, or "" where both are the same.
        lines: label -> calls, of `MOST_LABELS`.
        tools: the tools of which all is told.

    """

    reading: str
    lines: dict[str, tuple[str, ...]]
    tools: frozenset[str]


def mosts(agent: AgentAudit, shown: str | None = None) -> tuple[Most, ...]:
    """Return what is to be told of *agent*: nothing where a single list says it.

    Args:
        agent: whose.
        shown: what stands for its name at the end of a chain; None is the name.

    """
    name = agent.name if shown is None else shown
    told = [
        Most(reading, *_lines(most, positions, name))
        for reading, most, positions in zip(
            ("attenuated", "enforced"),
            agent.most,
            (agent.attenuated, agent.enforced),
            strict=True,
        )
    ]
    if told[0].lines == told[1].lines:
        return (attrs.evolve(told[0], reading=""),) if told[0].lines else ()
    return tuple(each for each in told if each.lines)


def _lines(
    most: Sequence[AtMost], positions: Sequence[Position], shown: str
) -> tuple[dict[str, tuple[str, ...]], frozenset[str]]:
    lines: dict[str, dict[str, None]] = {label: {} for label in MOST_LABELS}
    tools = set()
    for each in most:
        if not _is_told(each, positions):
            continue
        name = visible(each.glob or each.tool)
        if not each.why:
            tools.add(name)
        for grant in each.grants:
            label = _LABELS[grant.effect] if grant.rule else "otherwise"
            said = visible(grant.rule) if grant.rule else f"{name}: {_rest(grant)}"
            if len(each.grants) == 1 and not each.why:
                label, said = _LABELS[grant.effect], name
            lines[label][said + _by(grant, positions, shown)] = None
        for why in each.why:
            lines["not exact"][f"{name}: {why}"] = None
    return {label: tuple(said) for label, said in lines.items() if said}, frozenset(tools)


def _is_told(most: AtMost, positions: Sequence[Position]) -> bool:
    """Return whether the first chain does not say it all, or only as several lists."""
    if any(grant.position and grant.effect is not Effect.DENY for grant in most.grants):
        return True
    first = positions[0].privileges if positions else ()
    return any(privilege.layers for privilege in first if privilege.tool == most.tool)


def _rest(grant: Grant) -> str:
    return "not available" if grant.reason is Reason.UNAVAILABLE else grant.effect.value


def _by(grant: Grant, positions: Sequence[Position], shown: str) -> str:
    """Return by which chain a grant comes, where it is not the first."""
    if grant.effect is Effect.DENY or not grant.position:
        return ""
    if grant.position >= len(positions):
        return " (by some chain, perhaps)"
    return f" (by {chain_text((*positions[grant.position].chain[:-1], shown))})"
