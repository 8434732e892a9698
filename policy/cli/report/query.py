"""The agents that can make a call: text, JSON and Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from policy.analysis.reach.query import Answer, CallRefusal, Query
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
    listed,
    prose,
    table,
)
from policy.core.source import visible

__all__ = ["QueryReport", "query_json", "query_markdown", "query_text"]

_MOST = 40
_COLUMN = 9


@attrs.frozen
class QueryReport:
    """A question and its answer.

    Attributes:
        matcher: as written.
        label: of the tree.
        found: the answer.
        without: whether the question is which agents cannot.

    """

    matcher: str
    label: str
    found: Query
    without: bool = attrs.field(default=False, kw_only=True)

    @property
    def together(self) -> list[tuple[Answer, tuple[str, ...]]]:
        """The answers with their readings; equal answers of both readings once."""
        groups: dict[object, tuple[Answer, list[str]]] = {}
        for answer in self.found.answers:
            decision = answer.decision
            key = (answer.project, answer.chain, answer.tool, str(answer.call), decision.effect)
            groups.setdefault(key, (answer, []))[1].append(answer.reading)
        return [(answer, tuple(readings)) for answer, readings in groups.values()]

    @property
    def cannot(self) -> dict[tuple[str, str], list[str]]:
        """Project and agent that cannot -> the readings."""
        groups: dict[tuple[str, str], list[str]] = {}
        for project, reading, agent in self.found.without:
            groups.setdefault((project, agent), []).append(reading)
        return groups

    @property
    def summary(self) -> str:
        """A summary on one line."""
        can = len({(answer.project, answer.agent) for answer in self.found.answers})
        exact = (
            ""
            if self.found.exact
            else f"; not exact: others may as well ({'; '.join(self.found.why)})"
        )
        head = f"{count(can, 'agent')} can make a call of `{visible(self.matcher)}`"
        return f"{visible(self.label)}: {head}, {len(self.cannot):,} cannot{exact}"


def query_text(asked: QueryReport, page: PageLayout, *, everything: bool = False) -> str:
    """Return *asked* as lines that fit *page*."""
    lines: list[str] = []
    if asked.without or not asked.found.answers:
        most = None if everything else _MOST
        groups = _by_reason(asked)
        for group in groups[:most]:
            lines += [*_refused(group, asked, page, most), ""]
        if len(groups[:most]) < len(groups):
            left = sum(map(len, groups[most:]))
            lines += [page.paint(f"… {left:,} more, shown with --all", "dim"), ""]
    else:
        told = asked.together
        most = len(told) if everything else _MOST
        for answer, readings in told[:most]:
            lines += [*_answer(answer, readings, page), ""]
        if len(told) > most:
            lines += [page.paint(f"… {len(told) - most:,} more, shown with --all", "dim"), ""]
    lines += page.prose(asked.summary, indent=2)
    return "\n".join(lines) + "\n"


def _answer(answer: Answer, readings: Sequence[str], page: PageLayout) -> list[str]:
    effect = answer.decision.effect
    head = f"{page.paint(visible(answer.agent), 'bold')}  {page.effect(effect)}"
    lines = [head]
    lines += page.prose(call_text(answer.tool, answer.call), _label("call"))
    chain = f"{chain_text(answer.chain)} in {visible(answer.project)}"
    lines += page.prose(chain, _label("chain"))
    because = answer.decision.because
    if not because:
        lines += page.prose(explained(answer.decision, answer.agent), _label("because"))
    for number, one in enumerate(because):
        lines += because_line(one, page, _label("because" if number == 0 else ""))
    if len(readings) == 1:
        lines.append(f"{_label('reading')}{readings[0]} only")
    return lines


def _label(text: str) -> str:
    return f"  {text:<{_COLUMN}}"


def _by_reason(asked: QueryReport) -> list[list[CallRefusal]]:
    """Return the agents that cannot, grouped by refusing rules and reason."""
    first: dict[tuple[str, str], CallRefusal] = {}
    for each in asked.found.refused:
        first.setdefault((each.project, each.agent), each)
    groups: dict[object, list[CallRefusal]] = {}
    for (project, agent), each in first.items():
        readings = tuple(asked.cannot[project, agent])
        call = "" if each.is_unreached else call_text(each.tool, each.call)
        decision = each.decision
        if decision is None or not {*decision.links} <= {agent}:
            why: object = _why([each])
        else:
            why = decision.reason  # each with its own text
        key = project, readings, why, each.because, call
        groups.setdefault(key, []).append(each)
    return list(groups.values())


def _why(group: Sequence[CallRefusal]) -> str:
    """Return the common reason why agents cannot, as a clause."""
    first = group[0]
    if first.decision is None:
        return "no chain comes to it"
    caller = first.chain[-1]
    if first.is_unreached:
        return f"`{visible(caller)}` may not start it: {explained(first.decision, caller)}"
    links = first.decision.links if len(group) == 1 else tuple(each.agent for each in group)
    return explained(attrs.evolve(first.decision, links=links), caller)


def _refused(
    group: Sequence[CallRefusal], asked: QueryReport, page: PageLayout, most: int | None
) -> list[str]:
    first = group[0]
    readings = asked.cannot[first.project, first.agent]
    only = "" if len(readings) > 1 else f" ({readings[0]} only)"
    lines = page.flow(listed([each.agent for each in group], most), f"cannot{only}: ", indent=2)
    if not first.is_unreached:
        lines += page.prose(call_text(first.tool, first.call), _label("call"))
    lines += page.prose(_why(group), _label("why"))
    for number, one in enumerate(first.because):
        lines += because_line(one, page, _label("because" if number == 0 else ""))
    return lines


def query_json(asked: QueryReport) -> Object:
    """Return the JSON shape of *asked*."""
    return {
        "matcher": asked.matcher,
        "answers": [
            {
                "project": answer.project,
                "reading": answer.reading,
                "agent": answer.agent,
                "chain": list(answer.chain),
                "effect": answer.decision.effect.value,
                "reason": answer.decision.reason.value,
                "witness": {"tool": answer.tool, "input": dict(answer.call)},
                "because": because_json(answer.decision.because),
            }
            for answer in asked.found.answers
        ],
        "without": [
            {
                "project": refused.project,
                "reading": refused.reading,
                "agent": refused.agent,
                **_refusal_json(refused),
            }
            for refused in asked.found.refused
        ],
        "exact": asked.found.exact,
        "why": list(asked.found.why),
    }


def _refusal_json(refused: CallRefusal) -> Object:
    if refused.decision is None:
        return {"message": _why([refused])}
    return {
        "message": _why([refused]),
        "chain": list(refused.chain),
        "reason": refused.decision.reason.value,
        "witness": {"tool": refused.tool, "input": dict(refused.call)},
        "because": because_json(refused.because),
    }


def query_markdown(asked: QueryReport) -> str:
    """Return *asked* as Markdown."""
    lines = [f"**{prose(asked.summary)}**", ""]
    if asked.without or not asked.found.answers:
        for group in _by_reason(asked):
            lines += [_refused_markdown(each, asked) for each in group]
    else:
        rows = [
            [
                code(answer.agent),
                str(answer.decision.effect),
                code(call_text(answer.tool, answer.call)),
                code(chain_text(answer.chain)),
                ", ".join(readings),
            ]
            for answer, readings in asked.together
        ]
        lines += table(("agent", "effect", "call", "chain", "reading"), rows) if rows else []
    return "\n".join(lines).rstrip() + "\n"


def _refused_markdown(refused: CallRefusal, asked: QueryReport) -> str:
    readings = asked.cannot[refused.project, refused.agent]
    only = "" if len(readings) > 1 else f" ({readings[0]} only)"
    rules = ", ".join(code(str(each)) for each in refused.because)
    why = f"{prose(_why([refused]))}{': ' if rules else ''}{rules}"
    return item(f"{code(refused.agent)} in {code(refused.project)}{only}: {why}")
