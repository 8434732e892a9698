"""Claims that a policy makes about itself (`test`, `never`, `expect`), and whether they hold."""

from __future__ import annotations

import json
from collections.abc import Iterator

from policy.core import values
from policy.core.decision import Decision
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.source import Span
from policy.hosts.project import Project
from policy.language.syntax import Agent, Expect, Grant, Matcher, Parameter, Test
from policy.language.syntax import Never as NeverStatement
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.dialect import Dialect
from policy.tables.table import Table


@values.frozen
class ClaimVerdict:
    """Whether one claim about one call holds."""

    claim: str  # the claim as text
    holds: bool | None  # True, False, or None where it could not be decided
    why: str  # what was found instead, with its reasons
    span: Span = values.field(repr=False)  # where the claim is written
    decision: Decision | None = None  # what the call gets, where it was decided
    # Of a `never` claim that does not hold, the chain that makes the call.
    chain: tuple[str, ...] = ()
    # And that call: its tool and its arguments.
    call: tuple[str, dict[str, object]] | None = values.field(default=None, eq=False)


# A `test` and a `never` statement are still to be decided; a verdict was known when its file was
# read.
Claim = Test | NeverStatement | ClaimVerdict


def call_of(matcher: Matcher, dialect: Dialect) -> tuple[str, dict[str, object]]:
    """Return the call that a matcher names, taken literally; raise PolicyError if it is none."""
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
    if text.startswith("{") and (arguments := _arguments(text, matcher)) is not None:
        return matcher.tool, arguments
    if matcher.tool == "WebFetch" and "://" not in text:
        text = "https://" + text.removeprefix("domain:").strip() + "/"
    field = argument.fields[0] if argument.fields else "argument"
    return matcher.tool, {field: text}


def _arguments(text: str, matcher: Matcher) -> dict[str, object] | None:
    """Return arguments that are JSON, None for other text; raise PolicyError for a mistake."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        if not text.startswith('{"'):
            return None
        msg = f"expected arguments as JSON, found a mistake: {str(error)[:100]}"
        help_ = f'write `{matcher.tool}({{"argument": "value"}})`'
        raise PolicyError(msg, matcher.span, help=help_) from None
    return value if isinstance(value, dict) else None


def check_claim(project: Project, claim: object, dialect: Dialect) -> Iterator[ClaimVerdict]:
    """Yield the verdicts on a claim about single calls. `never` is decided elsewhere."""
    if isinstance(claim, ClaimVerdict):
        yield claim
    if not isinstance(claim, Test):
        return  # `never`, or a claim of another front end
    chain, denied = None, ""
    try:
        chain = Chain.start(claim.chain[0], project.attenuated)
        for agent in claim.chain[1:]:
            chain = chain.spawn(agent)
    except SpawnDenied as error:
        chain, denied = None, str(error)
    for grant in (each for each in claim.body if isinstance(each, Grant)):
        for matcher in grant.matchers:
            text = f"{' > '.join(claim.chain)}: {grant.effect} {matcher}"
            if chain is None:
                # An agent that is never started makes no call, so it is denied every one.
                yield ClaimVerdict(text, grant.effect is Effect.DENY, denied, matcher.span)
            else:
                yield _verdict(text, grant.effect, matcher, chain, dialect)


def _verdict(
    claim: str, effect: Effect, matcher: Matcher, of: Chain | Table, dialect: Dialect
) -> ClaimVerdict:
    """Return whether the call that *matcher* names gets *effect*; None if it names none."""
    try:
        decision = of.decide(*call_of(matcher, dialect))
    except PolicyError as error:
        return ClaimVerdict(claim, None, f"{error.message}; {error.help}", matcher.span)
    return ClaimVerdict(claim, decision.effect is effect, str(decision), matcher.span, decision)


def expectations(agent: Agent, table: Table, dialect: Dialect) -> Iterator[ClaimVerdict]:
    """Yield the verdict on each example of *agent*: the effect of one call by its rules alone."""
    for node in (each for each in agent.body if isinstance(each, Expect)):
        for matcher in node.matchers:
            claim = f"{agent.name}: {node.effect} {matcher}"
            verdict = _verdict(claim, node.effect, matcher, table, dialect)
            if verdict.decision is not None and not verdict.holds:
                why = f"expected {node.effect}, found {_found(verdict.decision)}"
                verdict = values.evolve(verdict, why=why)
            yield verdict


def _found(decision: Decision) -> str:
    for one in decision.because[:1]:
        line = f" on line {one.place.line}" if one.place else ""
        return f"{decision.effect}: `{one.effect} {one.rule}`{line} decides it"
    return f"{decision.effect}: no rule matches it"
