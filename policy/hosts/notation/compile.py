"""Policies of our notation become tables: what denies first, then what asks, then what allows."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from policy.core.effect import Effect
from policy.hosts.notation.semantics import DIALECT, read_rule
from policy.language.syntax import Policy, Rule
from policy.tables.dialect import Dialect
from policy.tables.ruleset import RuleSet
from policy.tables.table import Bounds, Ceiling, LinkedRules, Table

__all__ = ["compile_policy", "compile_rules"]


def compile_policy(policy: Policy, dialect: Dialect = DIALECT, *, root: bool = False) -> Table:
    """Return the table of one agent.

    Args:
        policy: what it says.
        dialect: how the calls are read that it decides.
        root: whether the agent starts a chain. There it has no parent, so
            ``inherit`` grants nothing.

    Raises:
        PolicyError: a rule can match no call.

    """
    links = (policy.name,)
    default = Effect.ALLOW if policy.inherit and not root else Effect.DENY
    use = compile_rules(policy.rules, dialect, default)
    delegate = None
    if policy.delegate is not None:
        denied = [rule for rule in policy.rules if rule.effect is Effect.DENY]
        handed_on = compile_rules([*denied, *policy.delegate], dialect, Effect.DENY)
        delegate = Ceiling.of([LinkedRules(handed_on, links)])
    used = Ceiling.of([LinkedRules(use, links)])
    return Table(used, delegate, Bounds(policy.depth, policy.turns, policy.trust))


def compile_rules(rules: Iterable[Rule], dialect: Dialect, default: Effect) -> RuleSet:
    """Return the ordered list of *rules*.

    Raises:
        PolicyError: one of them can match no call.

    """
    entries = [entry for rule in rules for entry in read_rule(rule, dialect)]
    return RuleSet(tuple(sorted(entries, key=attrgetter("effect"))), default, dialect)
