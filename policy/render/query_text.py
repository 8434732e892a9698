"""Who can make a call: for people, as JSON and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from policy.reach.query import Answer, Query
from policy.render.as_json import Object, because_json
from policy.render.excerpt import because_line
from policy.render.layout import Page
from policy.render.markdown import code, item, prose, table
from policy.render.words import call_text, chain_text, count, explained, listed
from policy.source import visible

__all__ = ["Asked", "query_json", "query_markdown", "query_text"]

_MOST = 40
_COLUMN = 9


@attrs.frozen
class Asked:
    """A question and its answer.

    Attributes:
        matcher: as written.
        label: of the tree.
        found: the answer.
        without: whether it was asked who cannot.

    """

    matcher: str
    label: str
    found: Query
    without: bool = attrs.field(default=False, kw_only=True)

    @property
    def together(self) -> list[tuple[Answer, tuple[str, ...]]]:
        """The answers, the same of both readings once, with the readings."""
        groups: dict[object, tuple[Answer, list[str]]] = {}
        for answer in self.found.answers:
            decision = answer.decision
            key = (answer.project, answer.chain, answer.tool, str(answer.call), decision.effect)
            groups.setdefault(key, (answer, []))[1].append(answer.reading)
        return [(answer, tuple(readings)) for answer, readings in groups.values()]

    @property
    def cannot(self) -> dict[tuple[str, str], list[str]]:
        """Project and agent that cannot -> in which readings."""
        groups: dict[tuple[str, str], list[str]] = {}
        for project, reading, agent in self.found.without:
            groups.setdefault((project, agent), []).append(reading)
        return groups

    @property
    def summary(self) -> str:
        """The answer in a line."""
        can = len({(answer.project, answer.agent) for answer in self.found.answers})
        exact = (
            ""
            if self.found.exact
            else f"; not exact: others may as well ({'; '.join(self.found.why)})"
        )
        head = f"{count(can, 'agent')} can make a call of `{visible(self.matcher)}`"
        return f"{visible(self.label)}: {head}, {len(self.cannot):,} cannot{exact}"


def query_text(asked: Asked, page: Page, *, everything: bool = False) -> str:
    """Return *asked* as lines that fit *page*."""
    lines: list[str] = []
    if asked.without:
        for readings, names in _by_readings(asked).items():
            most = None if everything else _MOST
            only = "" if len(readings) > 1 else f" ({readings[0]} only)"
            lines += [*page.flow(listed(names, most), f"cannot{only}: ", indent=2), ""]
    else:
        told = asked.together
        most = len(told) if everything else _MOST
        for answer, readings in told[:most]:
            lines += [*_answer(answer, readings, page), ""]
        if len(told) > most:
            lines += [page.paint(f"… {len(told) - most:,} more, shown with --all", "dim"), ""]
    lines += page.prose(asked.summary, indent=2)
    return "\n".join(lines) + "\n"


def _answer(answer: Answer, readings: Sequence[str], page: Page) -> list[str]:
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


def _by_readings(asked: Asked) -> dict[tuple[str, ...], list[str]]:
    groups: dict[tuple[str, ...], list[str]] = {}
    projects = {project for project, _ in asked.cannot}
    for (project, agent), readings in asked.cannot.items():
        name = agent if len(projects) == 1 else f"{project}:{agent}"
        groups.setdefault(tuple(readings), []).append(name)
    return groups


def query_json(asked: Asked) -> Object:
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
            {"project": project, "reading": reading, "agent": agent}
            for project, reading, agent in asked.found.without
        ],
        "exact": asked.found.exact,
        "why": list(asked.found.why),
    }


def query_markdown(asked: Asked) -> str:
    """Return *asked* as Markdown."""
    lines = [f"**{prose(asked.summary)}**", ""]
    if asked.without:
        for (project, agent), readings in asked.cannot.items():
            only = "" if len(readings) > 1 else f" ({readings[0]} only)"
            lines.append(item(f"{code(agent)} in {code(project)}{only}"))
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
