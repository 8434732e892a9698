"""Logged calls with another decision: text, JSON and Markdown."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from policy.analysis.records.replay import Replay, Replayed
from policy.cli.report.as_json import Object, because_json
from policy.cli.report.text import (
    PageLayout,
    because_line,
    call_text,
    chain_text,
    code,
    count,
    explained,
    item,
    prose,
    quoted,
    table,
)
from policy.core.effect import Effect
from policy.core.source import visible

__all__ = ["ReplayReport", "replay_json", "replay_markdown", "replay_text"]

_MOST = 40
_COLUMN = 9


@attrs.frozen
class ReplayReport:
    """A replay, and the policies that decided.

    Attributes:
        found: the result.
        logs: the number of files that were read.
        new: the label of the new policy.
        old: the label of the old policy; "" where the log has the decisions.

    """

    found: Replay
    logs: int
    new: str
    old: str = ""

    @property
    def groups(self) -> list[tuple[str, tuple[Replayed, ...]]]:
        """The changes: title -> the calls."""
        changed = self.found.changes
        return [
            ("granted more", tuple(each for each in changed if each.outcome.widened)),
            ("granted less", tuple(each for each in changed if not each.outcome.widened)),
        ]

    @property
    def unsaid(self) -> dict[Effect, int]:
        """Calls whose earlier decision is unknown: their new effect -> their number."""
        counts: dict[Effect, int] = {}
        for each in self.found.outcomes:
            if each.outcome.before is None:
                effect = each.outcome.after.effect
                counts[effect] = counts.get(effect, 0) + each.calls
        return counts

    @property
    def summary(self) -> str:
        """A summary on one line."""
        found = self.found
        calls = sum(each.calls for each in found.outcomes)
        changes = f"{count(found.widened, 'call')} granted more, {found.narrowed:,} less"
        lost = sum(number for number, _ in found.undecided.values())
        undecided = f"; {lost:,} not decided" if lost else ""
        distinct = f"{count(calls, 'call')} ({found.distinct:,} distinct)"
        return (
            f"{visible(self.new)}: {changes}, of {distinct} in {count(self.logs, 'log')}{undecided}"
        )


def replay_text(report: ReplayReport, page: PageLayout, *, everything: bool = False) -> str:
    """Return *report* as lines that fit *page*."""
    lines: list[str] = []
    for title, members in report.groups:
        if not members:
            continue
        calls = sum(each.calls for each in members)
        lines += [page.paint(f"{title} ({count(calls, 'call')})", "bold"), ""]
        most = len(members) if everything else _MOST
        for each in members[:most]:
            lines += [*_change(each, page), ""]
        if len(members) > most:
            lines += [page.paint(f"  … {len(members) - most:,} more, shown with --all", "dim"), ""]
    for text in _notes(report):
        lines += page.prose(text, indent=2)
    lines += page.prose(report.summary, indent=2)
    return "\n".join(lines) + "\n"


def _change(each: Replayed, page: PageLayout) -> list[str]:
    outcome = each.outcome
    before = page.effect(outcome.before) if outcome.before else "?"
    head = f"{before} → {page.effect(outcome.after.effect)}"
    lines = page.prose(_call(each), f"  {head}  ")
    lines += page.prose(chain_text(outcome.chain), _label("chain"))
    calls = f"{each.calls:,} ({each.distinct:,} distinct)" if each.calls > 1 else "1"
    lines += page.prose(f"{calls}, first at {visible(each.example.source)}", _label("calls"))
    because = outcome.after.because
    if not because:
        lines += page.prose(explained(outcome.after, outcome.chain[-1]), _label("because"))
    for number, one in enumerate(because):
        lines += because_line(one, page, _label("because" if number == 0 else ""))
    return lines


def _label(text: str) -> str:
    return f"    {text:<{_COLUMN}}"


def _call(each: Replayed) -> str:
    """Return the call as a rule would name it, where only one argument matters."""
    call = each.example.call
    telling = {name: value for name, value in call.items() if name not in _ASIDE}
    return call_text(each.outcome.tool, telling or call)


# Arguments for people, which no rule matches.
_ASIDE = frozenset({"description", "prompt", "content", "old_string", "new_string", "timeout"})


def _notes(report: ReplayReport) -> Iterator[str]:
    for why, (number, first) in report.found.undecided.items():
        yield f"not decided: {count(number, 'line')}, first {visible(first)}: {visible(why)}"
    if unsaid := report.unsaid:
        said = ", ".join(f"{number:,} {effect}" for effect, number in sorted(unsaid.items()))
        yield f"the log does not say what these calls got; now: {said}"


def replay_json(report: ReplayReport) -> Object:
    """Return the JSON shape of *report*."""
    found = report.found
    return {
        "changes": [
            {
                "chain": list(each.outcome.chain),
                "direction": "widened" if each.outcome.widened else "narrowed",
                "tool": each.outcome.tool,
                "from": each.outcome.before.value if each.outcome.before else None,
                "to": each.outcome.after.effect.value,
                "calls": each.calls,
                "distinct": each.distinct,
                "example": {"tool": each.outcome.tool, "input": each.example.call},
                "source": each.example.source,
                "reason": each.outcome.after.reason.value,
                "because": because_json(each.outcome.after.because),
            }
            for each in found.changes
        ],
        "widened": found.widened,
        "narrowed": found.narrowed,
        "lines": found.lines,
        "distinct": found.distinct,
        "unsaid": {effect.value: number for effect, number in report.unsaid.items()},
        "undecided": [
            {"why": why, "lines": number, "first": first}
            for why, (number, first) in found.undecided.items()
        ],
    }


def replay_markdown(report: ReplayReport) -> str:
    """Return *report* as Markdown."""
    lines = [f"**{prose(report.summary)}**", ""]
    for title, members in report.groups:
        if members:
            rows = [_row(each) for each in members[:_MOST]]
            head = ("", "example", "chain", "calls", "because")
            lines += [f"### {title.capitalize()}", "", *table(head, rows), ""]
            if len(members) > _MOST:
                lines += [f"… {len(members) - _MOST:,} more", ""]
    lines += [item(prose(note)) for note in _notes(report)]
    return "\n".join(lines).rstrip() + "\n"


def _row(each: Replayed) -> list[str]:
    outcome = each.outcome
    rules = [str(because.rule) for because in outcome.after.because]
    why = quoted(rules) if rules else prose(explained(outcome.after, outcome.chain[-1]))
    return [
        f"{outcome.before} → {outcome.after.effect}",
        code(_call(each)),
        code(chain_text(outcome.chain)),
        f"{each.calls:,}",
        why,
    ]
