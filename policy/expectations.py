"""Examples beside rules: what `expect` says, set against what the rules make of it.

An example is of the rules right above it. With their effect, a call must be
one that they decide; with another effect, one that they leave to what does.
What counts is the table of the agent alone, whoever may start it.
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.claims import Verdict, call_of
from policy.compile import compile_rules
from policy.decision import Decision
from policy.effect import Effect
from policy.errors import PolicyError
from policy.language.syntax import Agent, Expect, Grant, Matcher, Rule
from policy.semantics import Semantics
from policy.table import Table

__all__ = ["expectations"]


def expectations(agent: Agent, table: Table, semantics: Semantics) -> Iterator[Verdict]:
    """Yield the verdict on every example of *agent*, in the order written.

    Args:
        agent: as written.
        table: what came of it.
        semantics: how its rules decide.

    """
    above: Grant | None = None
    for node in agent.body:
        if isinstance(node, Grant):
            above = node
        elif isinstance(node, Expect) and above is not None:
            for matcher in node.matchers:
                why, decision = _objection(above, node.effect, matcher, table, semantics)
                claim = f"{agent.name}: {node.effect} {matcher}"
                yield Verdict(claim, not why, why or str(decision), matcher.span, decision)


def _objection(
    rules: Grant, effect: Effect, matcher: Matcher, table: Table, semantics: Semantics
) -> tuple[str, Decision | None]:
    """Return why an example does not hold, or "", and what was decided."""
    try:
        tool, call = call_of(matcher, semantics.dialect)
    except PolicyError as error:
        return error.message, None
    decision = table.decide(tool, call)
    if decision.effect is not effect:
        return f"expected {effect}, found {_found(decision)}", decision
    if effect is rules.effect and not _decides(rules, decision, tool, call, semantics):
        line = rules.span.place.line
        return f"expected a rule of line {line} to decide it, found {_found(decision)}", None
    return "", decision


def _decides(
    rules: Grant, decision: Decision, tool: str, call: dict[str, object], semantics: Semantics
) -> bool:
    """Return whether one of *rules* decides, or would if others did not say the same."""
    places = {matcher.span.place for matcher in rules.matchers}
    if any(because.place in places for because in decision.because):
        return True
    other = Effect.ALLOW if rules.effect is Effect.DENY else Effect.DENY
    entries = [Rule(rules.effect, matcher, span=matcher.span) for matcher in rules.matchers]
    alone = Table.of(compile_rules(entries, semantics, other)).decide(tool, call)
    return alone.effect is rules.effect


def _found(decision: Decision) -> str:
    because = [
        f"`{one.effect} {one.rule}`" + (f" on line {one.place.line}" if one.place else "")
        for one in decision.because[:1]
    ]
    if because:
        return f"{decision.effect}: {because[0]} decides it"
    return f"{decision.effect}: no rule speaks of it"
