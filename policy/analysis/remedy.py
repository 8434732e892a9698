"""Which rules would allow a call that no rule allows: the narrowest, and proven by deciding it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlsplit

from policy.core.decision import Does
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.values import frozen
from policy.hosts.notation.semantics import dialect_of, lines
from policy.language.parse import parse_matcher
from policy.tables.chain import Chain
from policy.tables.dialect import ArgumentKind
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Ceiling, Part, Table

__all__ = ["Remedy", "remedy"]


@frozen
class Remedy:
    """Rules that allow a call together.

    Attributes:
        rules: as matchers.
        links: the agents whose rules they have to be among.

    """

    rules: tuple[str, ...]
    links: tuple[str, ...]


def remedy(chain: Chain, tool: str, call: Mapping[str, object]) -> Remedy | None:
    """Return the rules that would allow a call of *chain*; None where none is known to.

    A call that a rule denies or asks for needs a change of that rule, which none of these is.
    """
    rules = _rules(chain, tool, call)
    lacking = [
        part
        for part in chain.table.use.parts
        if Table(Ceiling.of([part])).decide(tool, call).effect is not Effect.ALLOW
    ]
    if not _allow(rules, lacking, chain, tool, call):
        return None
    for rule in rules:
        fewer = tuple(each for each in rules if each != rule)
        rules = fewer if _allow(fewer, lacking, chain, tool, call) else rules
    links = dict.fromkeys(link for part in lacking for link in part.links)
    return Remedy(rules, tuple(links))


def _allow(
    rules: Iterable[str],
    lacking: Sequence[Part],
    chain: Chain,
    tool: str,
    call: Mapping[str, object],
) -> bool:
    """Return whether *rules* behind those of the parts *lacking* them allow the call."""
    dialect = dialect_of([chain.table])
    try:
        entries = [
            entry for rule in rules for entry in lines(parse_matcher(rule), Effect.ALLOW, dialect)
        ]
    except PolicyError:
        return False
    parts = [
        Part(_with(part.rules, entries), part.links) if part in lacking else part
        for part in chain.table.use.parts
    ]
    table = Table(Ceiling.of(parts))
    decider = chain.place.of(table) if chain.place is not None else table
    return decider.decide(tool, call).effect is Effect.ALLOW


def _rules(chain: Chain, tool: str, call: Mapping[str, object]) -> tuple[str, ...]:
    """Return rules for the call, each as narrow as it can be written."""
    # A link without a rule for the tool reads no command.
    above = (
        Chain(chain.links[:number], chain.reading, chain.place)
        for number in range(len(chain.links), 0, -1)
    )
    clauses = next(filter(None, (each.account(tool, call) for each in above)), ())
    texts = [clause.text for clause in clauses if clause.does is Does.RUNS]
    argument = dialect_of([chain.table]).argument(tool)
    if not clauses:
        texts = [str(call[name]) for name in argument.fields if name in call]
    if argument.kind is ArgumentKind.URL:
        texts = [urlsplit(text).hostname or "" for text in texts]
    if not texts and not call:
        return (tool,)
    # A star would stand for more than itself.
    if any("*" in text for text in texts):
        return ()
    return tuple(dict.fromkeys(f"{tool}({text})" for text in texts))


def _with(rules: RuleSet, entries: Sequence[Entry]) -> RuleSet:
    """Return *rules* with further ones behind them, so that each other rule counts before."""
    return RuleSet((*rules.entries, *entries), rules.default, rules.dialect, rules.default_reason)
