"""What a shell command does, one by one, and what each of that gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from policy.credentials import masked
from policy.decision import Clause, Decision, Does, Reason
from policy.effect import Effect
from policy.render.as_json import Object, because_json
from policy.render.layout import Ink, Page
from policy.render.markdown import code, prose
from policy.source import visible

__all__ = ["clause_json", "clauses_markdown", "clauses_text", "says_more"]

# Clauses of one command that are shown; there are thousands in a hostile one.
_MOST = 12
# Characters that are shown of what nobody vouches for: it may be a whole statement.
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
    """Return whether the clauses of a call say more than its decision does."""
    if not clauses:
        return False
    first = clauses[0]
    alone = first.does is Does.RUNS and first.text in call.values()
    return len(clauses) > 1 or not alone or first.decision != decision


def clauses_text(clauses: Sequence[Clause], page: Page, label: str) -> list[str]:
    """Return the lines of clauses, in their order: of files those that are not simply allowed.

    Of more than a page takes the strictest are shown, and the others counted.
    """
    shown, more = _shown(clauses)
    lines: list[str] = []
    for clause in shown:
        lines += _line(clause, page, " " * len(label) if lines else label)
    return lines + (page.prose(_others(more), " " * len(label)) if more else [])


def clauses_markdown(clauses: Sequence[Clause]) -> list[str]:
    """Return the same as items below that of the call."""
    shown, more = _shown(clauses)
    lines = []
    for clause in shown:
        told = f"{clause.decision.effect}: {_does(clause)}{_what(clause, code)}"
        why = prose(clause.why) or f"({_rules(clause, code) or prose(_why(clause))})"
        lines.append(f"  - {told} {why}")
    return lines + [f"  - {_others(more)}"] * (more > 0)


def _shown(clauses: Sequence[Clause]) -> tuple[list[Clause], int]:
    """Return what is shown of clauses, and how many others there are."""
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


def _line(clause: Clause, page: Page, label: str) -> list[str]:
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
    Does.RUNS: "a program that nobody can name",
    Does.READS: "a file that nobody can name",
    Does.WRITES: "a file that nobody can name",
    Does.REMOVES: "a file that nobody can name",
    Does.HIDES: "what it may do besides",
}


def _why(clause: Clause) -> str:
    if clause.decision.because:
        return _rules(clause, str)
    if clause.does is Does.HIDES:
        return "nobody vouches for how it was taken apart"
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
