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

__all__ = ["MOST_LABELS", "Most", "Said", "mosts"]

# The lines of what is told, in the order they are shown.
MOST_LABELS = ("allow", "ask", "never", "otherwise", "not exact")

_LABELS = {Effect.ALLOW: "allow", Effect.ASK: "ask", Effect.DENY: "never"}


@attrs.frozen
class Said:
    """Calls of which the same is to be told.

    Attributes:
        label: of `MOST_LABELS`.
        by: the chain by which they are granted; "" is the first there is.
        calls: as patterns, or tools as a whole.

    """

    label: str
    by: str
    calls: tuple[str, ...]


@attrs.frozen
class Most:
    """What is told of one reading, or of both.

    Attributes:
        reading: ``attenuated``, ``enforced``, or "" where both are the same.
        said: in the order of `MOST_LABELS`.
        tools: the tools of which all is told.

    """

    reading: str
    said: tuple[Said, ...]
    tools: frozenset[str]

    def labelled(self, label: str) -> tuple[Said, ...]:
        """Return what is told under *label*."""
        return tuple(each for each in self.said if each.label == label)


def mosts(agent: AgentAudit, shown: str | None = None) -> tuple[Most, ...]:
    """Return what is to be told of *agent*: nothing where a single list says it.

    Args:
        agent: whose.
        shown: what stands for its name at the end of a chain; None is the name.

    """
    name = agent.name if shown is None else shown
    told = [
        Most(reading, *_said(most, positions, name))
        for reading, most, positions in zip(
            ("attenuated", "enforced"),
            agent.most,
            (agent.attenuated, agent.enforced),
            strict=True,
        )
    ]
    if told[0].said == told[1].said:
        return (attrs.evolve(told[0], reading=""),) if told[0].said else ()
    return tuple(each for each in told if each.said)


def _said(
    most: Sequence[AtMost], positions: Sequence[Position], shown: str
) -> tuple[tuple[Said, ...], frozenset[str]]:
    lines: dict[tuple[str, str], dict[str, None]] = {}
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
            lines.setdefault((label, _by(grant, positions, shown)), {})[said] = None
        for why in each.why:
            lines.setdefault(("not exact", ""), {})[f"{name}: {why}"] = None
    told = [Said(label, by, tuple(calls)) for (label, by), calls in lines.items()]
    told.sort(key=lambda said: MOST_LABELS.index(said.label))
    return tuple(told), frozenset(tools)


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
        return "some chain, perhaps"
    return chain_text((*positions[grant.position].chain[:-1], shown))
