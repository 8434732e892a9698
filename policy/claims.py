"""What a policy claims of itself: calls and what they must get, and what never happens."""

from __future__ import annotations

import json
from collections.abc import Iterator

import attrs

from policy.chain import Chain, SpawnDenied
from policy.decision import Decision
from policy.dialect import Dialect
from policy.effect import Effect
from policy.errors import PolicyError
from policy.language.syntax import Grant, Matcher, Parameter, Test
from policy.language.syntax import Never as NeverStatement
from policy.project import Project
from policy.source import Span

__all__ = ["ChainTest", "Claim", "Never", "Settled", "Verdict", "call_of", "check_claim"]


@attrs.frozen
class ChainTest:
    """Calls of one chain and what each must get."""

    statement: Test


@attrs.frozen
class Never:
    """Calls that no chain of a shape may make."""

    statement: NeverStatement


@attrs.frozen
class Verdict:
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

    verdict: Verdict


Claim = ChainTest | Never | Settled


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


def check_claim(project: Project, claim: object, dialect: Dialect) -> Iterator[Verdict]:
    """Yield the verdicts on a claim about single calls; of all calls: `policy.reach.never`."""
    match claim:
        case ChainTest(statement=statement):
            yield from _test(project, statement, dialect)
        case Settled(verdict=verdict):
            yield verdict
        case _:
            pass  # of another front end, which decides its own


def _test(project: Project, test: Test, dialect: Dialect) -> Iterator[Verdict]:
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
                yield Verdict(claim, holds, denied, matcher.span)
                continue
            try:
                decision = chain.decide(*call_of(matcher, dialect))
            except PolicyError as error:
                yield Verdict(claim, None, f"{error.message}; {error.help}", matcher.span)
                continue
            holds = decision.effect is grant.effect
            yield Verdict(claim, holds, str(decision), matcher.span, decision)


def _chain(project: Project, names: tuple[str, ...]) -> tuple[Chain | None, str]:
    """Return the chain, or None and why there is no such chain."""
    try:
        chain = Chain.start(names[0], project.attenuated)
        for agent in names[1:]:
            chain = chain.spawn(agent)
    except SpawnDenied as error:
        return None, str(error)
    return chain, ""
