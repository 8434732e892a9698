"""Rules that somebody asks about, as a host reads calls.

A question, or an organisation's maximum, is written once, in our notation, and
is about the calls of every host: its paths, commands and names are those of the
dialect at hand.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import attrs

from policy.dialect import Argument, ArgumentKind, Dialect
from policy.effect import Effect
from policy.errors import PolicyError
from policy.hosts.notation import SEMANTICS, policies, project
from policy.hosts.notation_semantics import path_patterns
from policy.language.parse import parse_notation
from policy.language.syntax import Agents, Matcher, Parameter, Policy, Rule
from policy.patterns import notations
from policy.patterns.pattern import Pattern
from policy.ruleset import Entry, RuleSet
from policy.semantics import Semantics
from policy.source import Source
from policy.table import Table

__all__ = ["dialect_of", "lines", "matching", "read_maximum", "semantics"]


def semantics(dialect: Dialect) -> Semantics:
    """Return our notation, for the calls of another host."""
    return attrs.evolve(SEMANTICS, dialect=dialect, read=partial(_read, dialect))


def read_maximum(source: Source) -> Policy:
    """Return the policy that a file of one agent states.

    Raises:
        PolicyError: the file cannot be read, an example in it does not hold, or it
            states more or less than that.

    """
    project(source)  # as it would be loaded
    document = parse_notation(source)
    agents = policies(document)
    if len(agents) != 1:
        msg = f"expected one agent, found {len(agents)}"
        raise PolicyError(msg, document.span, help="a maximum is what one agent may do at most")
    return agents[0]


def dialect_of(tables: Iterable[Table]) -> Dialect:
    """Return how the host of *tables* reads calls."""
    for table in tables:
        for part in table.use.parts:
            if part.rules.entries:
                return part.rules.dialect
    return SEMANTICS.dialect


def matching(matcher: Matcher, dialect: Dialect, effect: Effect = Effect.DENY) -> Table:
    """Return the table that denies what *matcher* matches, or asks for it, and nothing else.

    Raises:
        PolicyError: it can match no call.

    """
    return Table.of(RuleSet(lines(matcher, effect, dialect), Effect.ALLOW, dialect))


def _read(dialect: Dialect, rule: Rule) -> tuple[Entry, ...]:
    return lines(rule.matcher, rule.effect, dialect)


def lines(matcher: Matcher, effect: Effect, dialect: Dialect) -> tuple[Entry, ...]:
    """Return the lines of a rule.

    Raises:
        PolicyError: the specifier can match no call.

    """
    entry = partial(Entry, matcher.tool, effect, rule=str(matcher), place=matcher.span.place)
    specifier = matcher.specifier
    if specifier is None:
        return (entry(),)
    argument = dialect.argument(matcher.tool)
    if isinstance(specifier, Parameter) and argument.has(specifier.name):
        return (entry(notations.single(specifier.value), specifier.name),)
    names = specifier.names if isinstance(specifier, Agents) else (specifier.text,)
    try:
        patterns = [
            pattern for name in names for pattern in _patterns(name, effect, argument, dialect)
        ]
    except notations.Unusable as unusable:
        msg = f"`{matcher}` matches no call: {unusable}"
        raise PolicyError(msg, matcher.span) from None
    return tuple(entry(pattern) for pattern in patterns)


def _patterns(
    text: str, effect: Effect, argument: Argument, dialect: Dialect
) -> tuple[Pattern, ...]:
    match argument.kind:
        case ArgumentKind.COMMAND:
            return notations.commands(text)
        case ArgumentKind.URL:
            return notations.hosts(text.removeprefix("domain:").strip())
        case ArgumentKind.PATH:
            return path_patterns(text, effect, dialect)
        case _:
            return (notations.single(text),)
