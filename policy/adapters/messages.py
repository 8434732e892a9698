"""What a model is told of a denial, and a person of a question.

A model is told which rule denies the call, what remains allowed, and nothing
else: no file, no place, no rule that does not concern the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from policy.adapters.remaining import granting_rules, named_tools, quoted
from policy.chain import SpawnDenied
from policy.decision import Clause, Decision, Does, Reason
from policy.effect import Effect
from policy.shown import shown
from policy.source import visible
from policy.table import Table

__all__ = [
    "FAILED",
    "question",
    "question_around",
    "refusal",
    "remainder",
    "spawn_denial",
]

FAILED = "This call is denied: the policy could not be asked."

_WHY = {
    Reason.DEFAULT: "no rule grants it",
    Reason.UNAVAILABLE: "this agent does not have that tool",
    Reason.MALFORMED: "its arguments cannot be read",
    Reason.TOO_LONG: "an argument is too long",
    Reason.PROTECTED: "what it touches is protected",
    Reason.NO_ROOT: "it names a file outside of the project, whose folder is not known",
    Reason.UNANALYSABLE: "what it would do cannot be told from its text",
}


def refusal(tool: str, decision: Decision, clauses: Sequence[Clause] = ()) -> str:
    """Return why a call is denied, and of a command by what of it (`Table.account`)."""
    return f"This call of {quoted([tool])} is denied: {_why(decision)}{_where(decision, clauses)}."


def remainder(table: Table, tool: str, runtime_name: Callable[[str], str]) -> str:
    """Return what remains allowed where a call of *tool* is denied, behind a blank; or ""."""
    allowed = granting_rules(table, tool)
    parts = []
    if Effect.ALLOW in allowed:
        parts.append(f"allowed {quoted(allowed[Effect.ALLOW])}")
    if Effect.ASK in allowed:
        parts.append(f"after approval {quoted(allowed[Effect.ASK])}")
    if parts:
        return f" Of this tool, {'; '.join(parts)}."
    others = sorted({runtime_name(name) for name in named_tools(table)})
    return f" Tools that may be called: {quoted(others)}." if others else ""


def spawn_denial(denied: SpawnDenied) -> str:
    """Return what the model is told where an agent may not be started, or is not in the chain."""
    if denied.because:
        why = f"the rule {quoted(one.rule for one in denied.because)} of `{visible(denied.link)}`"
        return f"The agent `{visible(denied.agent)}` may not be started here: {why} denies it."
    return f"The agent `{visible(denied.agent)}` may not be started here."


def question(
    tool: str,
    arguments: Mapping[str, object],
    decision: Decision,
    clauses: Sequence[Clause] = (),
) -> str:
    """Return what a person is asked who may approve a call."""
    return shown(arguments).join(question_around(tool, decision, clauses))


def question_around(
    tool: str, decision: Decision, clauses: Sequence[Clause] = ()
) -> tuple[str, str]:
    """Return what stands before and behind the arguments in what a person is asked."""
    why = f"{_why(decision)}{_where(decision, clauses)}"
    return f"Allow {quoted([tool])} with ", f"? It is asked for: {why}."


def _where(decision: Decision, clauses: Sequence[Clause]) -> str:
    """Return which of several things that a command does are those that decide it."""
    because = set(decision.because)
    deciding = [
        each
        for each in clauses
        if (each.text or each.why)
        and (each.decision.effect, each.decision.reason) == (decision.effect, decision.reason)
        and because.issuperset(each.decision.because)
        and bool(because) == bool(each.decision.because)
    ]
    doubtful = next((each for each in deciding if each.why), None)
    if doubtful is not None:
        return f": {quoted([doubtful.text]) if doubtful.text else 'it'} {doubtful.why}"
    if len(clauses) < _SEVERAL or not deciding:
        return ""
    told = {does: [each.text for each in deciding if each.does is does] for does in Does}
    what = [f"{does.value} {quoted(texts)}" for does, texts in told.items() if texts]
    return f", since it {' and '.join(what)}"


_SEVERAL = 2


def _why(decision: Decision) -> str:
    if decision.because:
        links = dict.fromkeys(one.link for one in decision.because if one.link)
        rules = list(dict.fromkeys(one.rule for one in decision.because))
        whose = f" of {quoted(links)}" if links else ""
        kind = "rule" if len(rules) == 1 else "rules"
        return f"{kind} {quoted(rules)}{whose}"
    if decision.reason is Reason.DEFAULT and decision.effect is Effect.ASK:
        return "no rule speaks of it"
    return _WHY.get(decision.reason, decision.reason.value)
