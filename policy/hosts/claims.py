"""What a policy claims of itself, and whether it holds."""

from __future__ import annotations

import json
from collections.abc import Iterator

import attrs

from policy.core.decision import Decision
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.source import Span
from policy.hosts.project import Project
from policy.language.syntax import Agent, Expect, Grant, Matcher, Parameter, Rule, Test
from policy.language.syntax import Never as NeverStatement
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.compile import Semantics, compile_rules
from policy.tables.dialect import Dialect
from policy.tables.table import Table

__all__ = [
    "ChainTest",
    "Claim",
    "ClaimVerdict",
    "NeverClaim",
    "Settled",
    "call_of",
    "check_claim",
    "expectations",
]


@attrs.frozen
class ChainTest:
    """Calls of one chain and what each must get."""

    statement: Test


@attrs.frozen
class NeverClaim:
    """Calls that no chain of a shape may make."""

    statement: NeverStatement


@attrs.frozen
class ClaimVerdict:
    """What came of one claim about one call.

    Attributes:
        claim: as a person reads it.
        holds: True, False, or None where it could not be decided.
        why: what was found instead, with its reasons.
        span: where the claim is written.
        decision: what the call got, where there was one.
        chain: who makes a call that a claim about all chains denies.
        call: that call: its tool and its arguments.

    """

    claim: str
    holds: bool | None
    why: str
    span: Span = attrs.field(repr=False)
    decision: Decision | None = None
    chain: tuple[str, ...] = ()
    call: tuple[str, dict[str, object]] | None = attrs.field(default=None, eq=False)


@attrs.frozen
class Settled:
    """What was decided when the file was read, and needs no looking at again."""

    verdict: ClaimVerdict


Claim = ChainTest | NeverClaim | Settled


def call_of(matcher: Matcher, dialect: Dialect) -> tuple[str, dict[str, object]]:
    """Return the call that a matcher names in a test: its specifier is taken literally.

    Raises:
        PolicyError: the matcher names no one call.

    """
    if "*" in matcher.tool:
        msg = f"expected one tool, found `{matcher.tool}`"
        raise PolicyError(msg, matcher.span, help="a test names the call it is about")
    argument = dialect.argument(matcher.tool)
    specifier = matcher.specifier
    if specifier is None:
        return matcher.tool, {}
    if isinstance(specifier, Parameter) and specifier.name in argument.parameters:
        return matcher.tool, {specifier.name: specifier.value}
    text = specifier.text
    if text.startswith("{") and (arguments := _arguments(text)) is not None:
        return matcher.tool, arguments
    if matcher.tool == "WebFetch" and "://" not in text:
        text = "https://" + text.removeprefix("domain:").strip() + "/"
    field = argument.fields[0] if argument.fields else "argument"
    return matcher.tool, {field: text}


def _arguments(text: str) -> dict[str, object] | None:
    """Return all arguments of a call where they are written as JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def check_claim(project: Project, claim: object, dialect: Dialect) -> Iterator[ClaimVerdict]:
    """Yield the verdicts on a claim about single calls; `never` is about all calls."""
    match claim:
        case ChainTest(statement=statement):
            yield from _test(project, statement, dialect)
        case Settled(verdict=verdict):
            yield verdict
        case _:
            pass  # of another front end, which decides its own


def _test(project: Project, test: Test, dialect: Dialect) -> Iterator[ClaimVerdict]:
    chain, denied = _chain(project, test.chain)
    shown = " > ".join(test.chain)
    for grant in test.body:
        if not isinstance(grant, Grant):
            continue
        for matcher in grant.matchers:
            claim = f"{shown}: {grant.effect} {matcher}"
            if chain is None:
                # An agent that is never started makes no call, so it is denied every one.
                holds = grant.effect is Effect.DENY
                yield ClaimVerdict(claim, holds, denied, matcher.span)
                continue
            try:
                decision = chain.decide(*call_of(matcher, dialect))
            except PolicyError as error:
                yield ClaimVerdict(claim, None, f"{error.message}; {error.help}", matcher.span)
                continue
            holds = decision.effect is grant.effect
            yield ClaimVerdict(claim, holds, str(decision), matcher.span, decision)


def _chain(project: Project, names: tuple[str, ...]) -> tuple[Chain | None, str]:
    """Return the chain, or None and why there is no such chain."""
    try:
        chain = Chain.start(names[0], project.attenuated)
        for agent in names[1:]:
            chain = chain.spawn(agent)
    except SpawnDenied as error:
        return None, str(error)
    return chain, ""


# Examples beside rules: what `expect` says, set against what the rules make of it.
#
# An example is of the rules right above it. With their effect, a call must be
# one that they decide; with another effect, one that they leave to what does.
# What counts is the table of the agent alone, whoever may start it.


def expectations(agent: Agent, table: Table, semantics: Semantics) -> Iterator[ClaimVerdict]:
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
                yield ClaimVerdict(claim, not why, why or str(decision), matcher.span, decision)


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
