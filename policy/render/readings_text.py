"""Where a host does something else than its files declare, for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policy.decision import Because, Decision
from policy.reach.audit import AgentAudit
from policy.render.excerpt import because_line
from policy.render.gaps import GapGroup, dead_letters, escalations, gap_count
from policy.render.layout import Ink, Page
from policy.render.words import count, explained, listed
from policy.source import visible

__all__ = ["differences_lines"]

_MOST_GROUPS = 12
_MOST_AGENTS = 6
_MOST_RULES = 2
_MOST_CALLS = 12

_COLUMN = 15  # where what a line says begins


def differences_lines(agents: Iterable[AgentAudit], page: Page, *, everything: bool) -> list[str]:
    """Return the escalations and dead letters of a project, those of several agents once."""
    everyone = list(agents)
    lines: list[str] = []
    for title, style, told, found in (
        (
            "escalation",
            "error",
            "granted by the host beyond what is declared along the chain",
            escalations(everyone),
        ),
        (
            "dead letter",
            "warning",
            "said in the files and refused by the host",
            dead_letters(everyone),
        ),
    ):
        if not found:
            continue
        painted = page.paint(count(gap_count(found), title), style)
        lines += ["", *page.prose(told, f"  {painted}: ", indent=4)]
        most = len(found) if everything else _MOST_GROUPS
        for group in found[:most]:
            lines += _group(group, page, everything=everything)
        if left := gap_count(found[most:]):
            lines.append(page.paint(f"    … {left:,} more, shown with --all", "dim"))
    return lines


def _group(group: GapGroup, page: Page, *, everything: bool) -> list[str]:
    pieces: list[str | Ink] = [Ink(" > ".join(map(visible, group.chain)), "bold")]
    others = [name for name in group.agents if name != group.chain[-1]]
    if others:
        shown = listed(others, None if everything else _MOST_AGENTS)
        pieces.append(f"(likewise {', '.join(shown)})")
    lines = page.flow(pieces, "    ", indent=6, separator=" ")
    for row in group.rows:
        effects = f"{row.before.value} -> {row.after.value}"
        head = "      " + page.paint(effects, row.after.value) + " " * (_COLUMN - len(effects))
        calls = listed(group.calls(row), None if everything else _MOST_CALLS)
        lines += page.flow(calls, head)
    lines += _reason("declared", group.declared, group.agents[0], page)
    alike = {row.enforced for row in group.rows}
    if len(alike) == 1 and (enforced := alike.pop()) is not None:
        return lines + _reason("enforced", enforced, group.agents[0], page)
    written = dict.fromkeys(
        because
        for row in group.rows
        for gap in row.gaps
        for because in gap.after.because
        if because.place is not None
    )
    return lines + _rules("enforced", list(written), page)


def _reason(title: str, decision: Decision, agent: str, page: Page) -> list[str]:
    if not decision.because:
        return page.prose(explained(decision, agent), f"      {title:<{_COLUMN}}")
    return _rules(title, decision.because, page)


def _rules(title: str, rules: Sequence[Because], page: Page) -> list[str]:
    lines: list[str] = []
    for because in rules[:_MOST_RULES]:
        lines += because_line(because, page, f"      {title:<{_COLUMN}}")
        title = ""
    if len(rules) > _MOST_RULES:
        lines[-1] += page.paint(f"  and {len(rules) - _MOST_RULES:,} more", "dim")
    return lines
