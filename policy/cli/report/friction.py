"""What keeps logged calls from running unasked, as blocks and as JSON."""

from __future__ import annotations

from policy.analysis.friction import Friction, FrictionGroup, Obstacle
from policy.cli.report.as_json import Object, because_json
from policy.cli.report.document import Block, Grid, Ink, Paragraph, Text, joined, more
from policy.cli.report.words import call, chain_text, count, logged_call, quoted, rule

__all__ = ["friction_blocks", "friction_json"]

_RULES = 4


def friction_blocks(found: Friction, most: int | None) -> list[Block]:
    """Return the groups, the most frequent first."""
    distinct = sum(group.distinct for group in found.groups)
    told = (
        f"{found.held:,} of {count(found.calls, 'call')} do not run unasked ({distinct:,} distinct)"
    )
    blocks: list[Block] = [Paragraph(told, "strong")]
    for why, (number, first) in found.undecided.items():
        blocks.append(Paragraph(f"not decided: {count(number, 'line')}, first {first}: {why}"))
    rows = tuple(_row(group, most) for group in found.groups[:most])
    if rows:
        heads = ("calls", "what stands in the way", "for instance", "allow", "allows also")
        blocks += (Grid(heads, rows), *more(len(found.groups) - len(rows)))
    return blocks


def _row(group: FrictionGroup, most: int | None) -> tuple[Text, ...]:
    distinct = f" ({group.distinct:,} distinct)" if group.distinct > 1 else ""
    rules = joined((Ink(each, "rule") for each in group.rules), most=_RULES if most else None)
    above = [link for link in group.links if link != group.chain[-1]]
    lacking: Text = (rules, f", of {quoted(group.links)}") if above and group.rules else rules
    return (
        f"{group.calls:,}{distinct}",
        _obstacle(group.obstacle),
        _example(group),
        lacking if group.rules else _unhelped(group.obstacle),
        _further(group),
    )


def _example(group: FrictionGroup) -> Text:
    told = logged_call(group.example.tool, group.example.call)
    return (told, f" ({chain_text(group.chain)})") if len(group.chain) > 1 else told


def _obstacle(obstacle: Obstacle) -> Text:
    if obstacle.because is not None:
        return (f"{obstacle.kind}: ", rule(obstacle.because))
    return obstacle.kind


def _unhelped(obstacle: Obstacle) -> Text:
    if obstacle.because is not None:
        return "only without that rule"
    return "no rule can" if obstacle.text or not obstacle.has_rules else "no rule is known"


def _further(group: FrictionGroup) -> Text:
    if group.grants is not None:
        return call(group.grants.tool, group.grants.call)
    if not group.rules:
        return ""
    return "nothing else" if group.exact else "not fully compared"


def friction_json(found: Friction) -> Object:
    """Return the value for programs."""
    return {
        "calls": found.calls,
        "held": found.held,
        "groups": [_group_json(group) for group in found.groups],
        "undecided": [
            {"why": why, "lines": number, "first": first}
            for why, (number, first) in found.undecided.items()
        ],
    }


def _group_json(group: FrictionGroup) -> Object:
    grants, because = group.grants, group.obstacle.because
    return {
        "obstacle": group.obstacle.kind,
        "because": because_json([because])[0] if because else None,
        "text": group.obstacle.text,
        "chain": list(group.chain),
        "calls": group.calls,
        "distinct": group.distinct,
        "example": {"tool": group.example.tool, "input": group.example.call},
        "source": group.example.source,
        "allow": list(group.rules),
        "agents": list(group.links),
        "grants": {"tool": grants.tool, "input": grants.call} if grants else None,
        "exact": group.exact,
    }
