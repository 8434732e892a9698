"""The messages of the checker: denials for the model, questions for the person who approves.

A denial names the rule that denies the call and what remains allowed. It names no file, no place
and no rule that does not concern the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from policy.core.call_json import shown
from policy.core.credentials import masked
from policy.core.decision import Clause, Decision, Does, Reason
from policy.core.effect import Effect
from policy.core.source import visible
from policy.core.values import TYPE_CHECKING
from policy.patterns.pattern import freeze
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.table import NOTHING, Table

if TYPE_CHECKING:
    from policy.compare.compare import Comparison

# Rules of one tool, or tools, that a message is made from; of more it shows none.
_MOST = 512
_SHOWN = 8
# Calls that are tried before a comparison searches for one.
_CALLS_TRIED = 16
_LONGEST_RULE = 200

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


def may_call(table: Table, tool: str) -> bool:
    """Return whether some call of *tool* is not denied; True if that is uncertain."""
    from policy.compare.witness import witness_call  # noqa: PLC0415  # no question compares

    lookup = table.lookup(tool)
    granting = (
        witness_call(row.ruleset.dialect, row.argument, freeze(entry.pattern, "x"))
        for row, _ in lookup.rows
        for entry in row.entries
        if entry.effect is not Effect.DENY and entry.pattern is not None and not entry.field
    )
    for call in islice(granting, _CALLS_TRIED):
        if lookup.decide(call, remember=False).effect is not Effect.DENY:
            return True
    # Other calls may still be granted; finding one takes a far longer search.
    granted = _granted(table, tool)
    return bool(granted.differences) or not granted.exact


def may_start(chain: Chain, agent: str) -> bool:
    """Return whether the last agent of *chain* may start *agent*, asked for or not."""
    try:
        chain.spawn(agent)
    except SpawnDenied:
        return False
    return True


def quoted(texts: Iterable[str]) -> str:
    """Return rules or names as a message shows them: escaped, masked, and the first few."""
    shown = [f"`{visible(masked(text))[:_LONGEST_RULE]}`" for text in texts]
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more


def _granted(table: Table, tool: str) -> Comparison:
    from policy.compare.compare import compare  # noqa: PLC0415  # no question compares

    return compare(tool, table.lookup(tool), NOTHING.lookup(tool), {})


def refusal(tool: str, decision: Decision, clauses: Sequence[Clause] = ()) -> str:
    """Return why a call is denied; for a command, by which part of it (`Table.account`)."""
    return f"This call of {quoted([tool])} is denied: {_why(decision)}{_where(decision, clauses)}."


def remainder(table: Table, tool: str, runtime_name: Callable[[str], str]) -> str:
    """Return, after a space, the calls that stay allowed when one of *tool* is denied; or ""."""
    found: dict[Effect, dict[str, None]] = {}
    few = sum(len(row.entries) for row, _ in table.lookup(tool).rows) <= _MOST
    # Each of the rules decides some call of the whole chain.
    for difference in _granted(table, tool).differences if few else ():
        decision = difference.before
        rules = dict.fromkeys(because.rule for because in decision.because)
        found.setdefault(decision.effect, {}).update(rules or {tool: None})
    how = {Effect.ALLOW: "allowed", Effect.ASK: "after approval"}
    parts = [f"{word} {quoted(found[effect])}" for effect, word in how.items() if effect in found]
    if parts:
        return f" Of this tool, {'; '.join(parts)}."
    names = {name for part in table.use.parts for name in part.rules.names}
    possible = [name for name in names if may_call(table, name)] if len(names) <= _MOST else []
    others = sorted(set(map(runtime_name, possible)))
    return f" Tools that may be called: {quoted(others)}." if others else ""


def spawn_denial(denied: SpawnDenied) -> str:
    """Return the message for an agent that may not be started, or is in no chain."""
    rules = quoted(one.rule for one in denied.because)
    why = f": the rule {rules} of `{visible(denied.link)}` denies it" if denied.because else ""
    return f"The agent `{visible(denied.agent)}` may not be started here{why}."


def question(
    tool: str, arguments: Mapping[str, object], decision: Decision, clauses: Sequence[Clause] = ()
) -> str:
    """Return the question to the person who may approve a call."""
    why = f"{_why(decision)}{_where(decision, clauses)}"
    return f"Allow {quoted([tool])} with {shown(arguments)}? It is asked for: {why}."


def _where(decision: Decision, clauses: Sequence[Clause]) -> str:
    """Return the parts of a command that decide it, or "" if it has one."""
    because = set(decision.because)
    deciding = [
        each
        for each in clauses
        if (each.text or each.why)
        and (each.decision.effect, each.decision.reason) == (decision.effect, decision.reason)
        and because.issuperset(each.decision.because)
        and bool(because) == bool(each.decision.because)
    ]
    ambiguous = next((each for each in deciding if each.why), None)
    if ambiguous is not None:
        return f": {quoted([ambiguous.text]) if ambiguous.text else 'it'} {ambiguous.why}"
    if len(clauses) < 2 or not deciding:
        return ""
    texts_by_effect = {does: [each.text for each in deciding if each.does is does] for does in Does}
    what = [f"{does.value} {quoted(texts)}" for does, texts in texts_by_effect.items() if texts]
    return f", since it {' and '.join(what)}"


def _why(decision: Decision) -> str:
    if decision.because:
        links = dict.fromkeys(one.link for one in decision.because if one.link)
        rules = list(dict.fromkeys(one.rule for one in decision.because))
        whose = f" of {quoted(links)}" if links else ""
        kind = "rule" if len(rules) == 1 else "rules"
        return f"{kind} {quoted(rules)}{whose}"
    if decision.reason is Reason.DEFAULT and decision.effect is Effect.ASK:
        return "no rule applies to it"
    return _WHY.get(decision.reason, decision.reason.value)
