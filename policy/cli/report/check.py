"""The answer to one call, with its reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import attrs

from policy.cli.report.as_json import Object, because_json, decision_json
from policy.cli.report.text import (
    Ink,
    PageLayout,
    call_text,
    chain_text,
    code,
    excerpt,
    explained,
    prose,
    quoted,
    rule_text,
)
from policy.core.credentials import masked
from policy.core.decision import Because, Clause, Decision, Does, Reason
from policy.core.effect import Effect
from policy.core.source import Span, visible

__all__ = [
    "CheckAnswer",
    "answer_json",
    "answer_markdown",
    "answer_text",
    "clause_json",
    "clauses_markdown",
    "clauses_text",
    "says_more",
]


# Clauses of one command that are shown; a hostile command has thousands.
_MOST = 12
# Characters of unsupported syntax that are shown: it may be a whole statement.
_LONGEST = 60


def clause_json(clause: Clause) -> Object:
    """Return the JSON shape of a clause."""
    return {
        "does": clause.does.value,
        "text": clause.text,
        "effect": clause.decision.effect.value,
        "reason": clause.decision.reason.value,
        "because": because_json(clause.decision.because),
        "why": clause.why,
    }


def says_more(clauses: Sequence[Clause], call: Mapping[str, object], decision: Decision) -> bool:
    """Return whether the clauses of a call add to its decision."""
    if not clauses:
        return False
    first = clauses[0]
    alone = first.does is Does.RUNS and first.text in call.values()
    return len(clauses) > 1 or not alone or first.decision != decision


def clauses_text(clauses: Sequence[Clause], page: PageLayout, label: str) -> list[str]:
    """Return the lines of clauses in their order; files only where they are not simply allowed.

    Of many clauses the strictest are shown, and the others counted.
    """
    shown, more = _shown(clauses)
    lines: list[str] = []
    for clause in shown:
        lines += _line(clause, page, " " * len(label) if lines else label)
    return lines + (page.prose(_others(more), " " * len(label)) if more else [])


def clauses_markdown(clauses: Sequence[Clause]) -> list[str]:
    """Return the same as items below the item of the call."""
    shown, more = _shown(clauses)
    lines = []
    for clause in shown:
        told = f"{clause.decision.effect}: {_does(clause)}{_what(clause, code)}"
        why = prose(clause.why) or f"({_rules(clause, code) or prose(_why(clause))})"
        lines.append(f"  - {told} {why}")
    return lines + [f"  - {_others(more)}"] * (more > 0)


def _shown(clauses: Sequence[Clause]) -> tuple[list[Clause], int]:
    """Return the clauses that are shown, and the number of the others."""
    told = [
        clause
        for clause in clauses
        if clause.does is Does.RUNS or clause.decision.effect is not Effect.ALLOW
    ]
    strict = sorted(range(len(told)), key=lambda number: (told[number].decision.effect, number))
    kept = sorted(strict[:_MOST])
    return [told[number] for number in kept], len(told) - len(kept)


def _others(number: int) -> str:
    return f"and {number:,} more, none of them stricter"


def _line(clause: Clause, page: PageLayout, label: str) -> list[str]:
    effect = clause.decision.effect.value
    told = _does(clause) + _what(clause, "`{}`".format)
    why = clause.why or f"({_why(clause)})"
    pieces = [Ink(f"{effect:<5}", effect), Ink(told), Ink(why)]
    return page.flow(pieces, label, separator=" ")


def _does(clause: Clause) -> str:
    return "" if clause.does is Does.HIDES else f"{clause.does.value} "


def _what(clause: Clause, style: Callable[[str], str]) -> str:
    if not clause.text:
        return "it" if clause.why else _UNKNOWN[clause.does]
    text = visible(masked(clause.text))
    if clause.does is Does.HIDES and len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    return style(text)


_UNKNOWN = {
    Does.RUNS: "a program whose name is unknown",
    Does.READS: "a file whose name is unknown",
    Does.WRITES: "a file whose name is unknown",
    Does.REMOVES: "a file whose name is unknown",
    Does.HIDES: "what it may do besides",
}


def _why(clause: Clause) -> str:
    if clause.decision.because:
        return _rules(clause, str)
    if clause.does is Does.HIDES:
        return "it may hold commands that were not found"
    reason = clause.decision.reason
    return _WHY.get(reason, reason.value)


def _rules(clause: Clause, style: Callable[[str], str]) -> str:
    rules = [(one.effect, style(visible(masked(one.rule)))) for one in clause.decision.because]
    return " and ".join(f"{effect} {rule}" for effect, rule in rules)


_WHY = {
    Reason.DEFAULT: "no rule",
    Reason.CLASSIFIER: "a model decides",
    Reason.PROTECTED: "guarded by the host",
    Reason.UNANALYSABLE: "no rule counts that allows it",
}


# --- answers -------------------------------------------------------------------------------


@attrs.frozen
class CheckAnswer:
    """The answer to one call.

    Attributes:
        chain: all the links that were asked for.
        tool: the tool.
        call: its arguments.
        decision: the answer.
        reading: ``attenuated`` or ``enforced``.
        project: its `Project.title`.
        profile: host and version.
        denied: the agent of the chain that may not be started, or "".
        confirm: agent of the chain -> the links that must confirm its start.
        instead: the decision of the other reading, where it differs.
        problem: why the call is invalid, or "".
        message: the reason as a sentence, where the decision has none.
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
        """The reason, as a clause."""
        if self.problem:
            return self.problem
        return self.message or explained(self.decision, self.chain[-1] if self.chain else "")


def answer_json(answer: CheckAnswer) -> Object:
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


def answer_text(answer: CheckAnswer, spans: Mapping[Because, Span], page: PageLayout) -> list[str]:
    """Return the lines of an answer; *spans* are the places of its rules."""
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


def _rule(because: Because, span: Span | None, page: PageLayout) -> list[str]:
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


def _instead(answer: CheckAnswer, instead: Decision, page: PageLayout) -> list[str]:
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


def answer_markdown(answer: CheckAnswer) -> list[str]:
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
