"""Where a host does something else than its files declare, for people."""

from __future__ import annotations

from collections.abc import Iterable

from policy.audit import AgentAudit
from policy.compare import Difference
from policy.render.excerpt import because_line
from policy.render.layout import Ink, Page
from policy.render.words import call_text, count, explained, listed

__all__ = ["differences_lines"]

_MOST_DIFFERENCES = 12
_MOST_AGENTS = 6
_MOST_RULES = 2


def differences_lines(agents: Iterable[AgentAudit], page: Page, *, everything: bool) -> list[str]:
    """Return the escalations and dead letters of a project, those of several agents once."""
    everyone = list(agents)
    lines: list[str] = []
    for title, style, told, found in (
        (
            "escalation",
            "error",
            "granted by the host and not by the files",
            _grouped((agent.name, agent.escalations) for agent in everyone),
        ),
        (
            "dead letter",
            "warning",
            "said in the files and refused by the host",
            _grouped((agent.name, agent.dead_letters) for agent in everyone),
        ),
    ):
        if not found:
            continue
        painted = page.paint(count(len(found), title), style)
        lines += ["", *page.prose(told, f"  {painted}: ", indent=4)]
        most = len(found) if everything else _MOST_DIFFERENCES
        for difference, names in found[:most]:
            lines += _difference(difference, names, page, everything=everything)
        if len(found) > most:
            lines.append(page.paint(f"    … {len(found) - most:,} more, shown with --all", "dim"))
    return lines


def _grouped(
    told: Iterable[tuple[str, tuple[Difference, ...]]],
) -> list[tuple[Difference, list[str]]]:
    """Return each difference once, with the agents it is one of."""
    groups: dict[object, tuple[Difference, list[str]]] = {}
    for name, differences in told:
        for one in differences:
            key = (
                one.tool,
                str(one.call),
                one.before.effect,
                one.after.effect,
                tuple((b.rule, b.place) for b in one.before.because),
                tuple((b.rule, b.place) for b in one.after.because),
            )
            groups.setdefault(key, (one, []))[1].append(name)
    return list(groups.values())


def _difference(
    difference: Difference, names: list[str], page: Page, *, everything: bool
) -> list[str]:
    before, after = difference.before, difference.after
    pieces = [
        Ink(call_text(difference.tool, difference.call), "bold"),
        Ink(""),
        Ink(before.effect.value, before.effect.value),
        Ink("->"),
        Ink(after.effect.value, after.effect.value),
    ]
    lines = page.flow(pieces, "    ", indent=6, separator=" ")
    shown = listed(names, None if everything else _MOST_AGENTS)
    lines += page.flow(shown, f"      {'agents' if len(names) > 1 else 'agent':<10}")
    for title, decision in (("declared", before), ("enforced", after)):
        head = f"      {title:<10}"
        if not decision.because:
            lines += page.prose(explained(decision, names[0]), head)
        for because in decision.because[:_MOST_RULES]:
            lines += because_line(because, page, head)
            head = " " * len(head)
    return lines
