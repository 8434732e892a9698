"""The answer to one call, with its reasons, for people."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from policy.credentials import masked
from policy.decision import Because, Clause, Decision
from policy.effect import Effect
from policy.render.as_json import Object, because_json, decision_json
from policy.render.clauses import clause_json, clauses_markdown, clauses_text, says_more
from policy.render.excerpt import excerpt
from policy.render.layout import Ink, Page
from policy.render.markdown import code, prose
from policy.render.words import call_text, chain_text, explained, quoted, rule_text
from policy.source import Span, visible

__all__ = ["Answer", "answer_json", "answer_markdown", "answer_text"]


@attrs.frozen
class Answer:
    """What one call gets.

    Attributes:
        chain: who calls; all the links that were asked for.
        tool: the tool.
        call: its arguments.
        decision: the answer.
        reading: ``attenuated`` or ``enforced``.
        project: where, as `Project.title`.
        profile: host and version.
        denied: the agent that may not be started, which is then why; or "".
        confirm: agent of the chain -> the links that must confirm its start.
        instead: what the other reading decides, where that differs.
        problem: why there is no such call, or "".
        message: why, in a sentence, where the decision does not say it.
        clauses: what a shell command does, one by one.

    """

    chain: tuple[str, ...]
    tool: str
    call: Mapping[str, object]
    decision: Decision
    reading: str
    project: str
    profile: str
    denied: str = ""
    confirm: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)
    instead: Decision | None = None
    problem: str = ""
    message: str = ""
    clauses: tuple[Clause, ...] = ()

    @property
    def why(self) -> str:
        """Why, in a clause."""
        if self.problem:
            return self.problem
        return self.message or explained(self.decision, self.chain[-1] if self.chain else "")


def answer_json(answer: Answer) -> Object:
    """Return the JSON shape of an answer."""
    shape = decision_json(answer.chain, answer.tool, answer.call, answer.decision)
    shape |= {
        "message": answer.why,
        "reading": answer.reading,
        "project": answer.project,
        "profile": answer.profile,
    }
    if answer.clauses:
        shape["clauses"] = [clause_json(clause) for clause in answer.clauses]
    if answer.denied:
        shape["denied_agent"] = answer.denied
    if answer.confirm:
        shape["confirm"] = [
            {"agent": agent, "by": list(by)} for agent, by in answer.confirm.items()
        ]
    if answer.instead is not None:
        shape["other_reading"] = {
            "effect": answer.instead.effect.value,
            "reason": answer.instead.reason.value,
            "because": because_json(answer.instead.because),
        }
    if answer.problem:
        shape["error"] = answer.problem
    return shape


def answer_text(answer: Answer, spans: Mapping[Because, Span], page: Page) -> list[str]:
    """Return the lines of an answer; *spans* is where its rules stand."""
    decision = answer.decision
    effect = Ink(decision.effect.value, f"{decision.effect.value}")
    lines = page.flow([effect, Ink(call_text(answer.tool, answer.call), "bold")], separator="  ")
    who = f"{chain_text(answer.chain)} in {visible(answer.project)}, {answer.reading}"
    lines += page.prose(who, _label("chain"))
    lines += page.prose(visible(answer.why), _label("why"))
    if says_more(answer.clauses, answer.call, answer.decision):
        lines += clauses_text(answer.clauses, page, _label("parts"))
    for because in decision.because:
        lines += _rule(because, spans.get(because), page)
    if len(decision.links) > 1 and decision.effect is Effect.ASK:
        lines += page.prose(
            f"each of {quoted(decision.links)}; some hosts need every one of them to confirm",
            _label("asked by"),
        )
    for agent, by in answer.confirm.items():
        lines += page.prose(
            f"starting `{visible(agent)}` must be confirmed first: {quoted(by)} asks",
            _label("note"),
        )
    if answer.instead is not None:
        lines += _instead(answer, answer.instead, page)
    return lines


def _label(text: str) -> str:
    return f"  {text:<9}"


def _rule(because: Because, span: Span | None, page: Page) -> list[str]:
    link = f"(of {visible(because.link)})" if because.link else ""
    pieces = [
        Ink(because.effect.value, because.effect.value),
        Ink(visible(masked(because.rule))),
        Ink(link),
    ]
    lines = page.flow([piece for piece in pieces if piece.text], _label("rule"), separator=" ")
    if because.place is not None:
        lines += page.prose(f"{because.place}", _label("at"))
    if span is not None:
        lines += excerpt(span, page, style=because.effect.value, indent="    ")
    return lines


def _instead(answer: Answer, instead: Decision, page: Page) -> list[str]:
    other = "enforced" if answer.reading == "attenuated" else "attenuated"
    pieces = [
        Ink(f"in the {other} reading it is"),
        Ink(instead.effect.value, instead.effect.value),
        *map(Ink, f"instead: {explained(instead)}".split(" ")),
    ]
    lines = page.flow(pieces, _label("but"), separator=" ")
    for because in instead.because:
        text = rule_text(because)
        lines += page.prose(f"{text} {because.place or ''}", _label(""))
    return lines


def answer_markdown(answer: Answer) -> list[str]:
    """Return an answer as an item of a list."""
    call, chain = call_text(answer.tool, answer.call), chain_text(answer.chain)
    told = f"**{answer.decision.effect}** {code(call)} by {code(chain)} ({answer.reading})"
    lines = [f"- {told}: {prose(answer.why)}"]
    for because in answer.decision.because:
        place = f" at {code(str(because.place))}" if because.place else ""
        lines.append(f"  - {because.effect} {code(visible(because.rule))}{place}")
    if says_more(answer.clauses, answer.call, answer.decision):
        lines += clauses_markdown(answer.clauses)
    return lines
