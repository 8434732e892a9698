"""Policies become tables: the one place where a tree is given its meaning.

What a rule matches is its host's to say (`Semantics.read`); in which order the
rules are asked is a sort by the host's precedence. After that nothing is left
of either but an ordered list.
"""

from __future__ import annotations

from collections.abc import Iterable

from policy.decision import Reason
from policy.effect import Effect
from policy.language.syntax import Declared, Policy, Presence, Rule
from policy.ruleset import Entry, RuleSet
from policy.semantics import Semantics
from policy.table import Bounds, Ceiling, Part, Table

__all__ = ["compile_policy", "compile_rules", "compile_tools"]


def compile_policy(policy: Policy, semantics: Semantics, *, root: bool = False) -> Table:
    """Return the table of one agent or settings scope.

    Args:
        policy: what it says.
        semantics: how its host decides.
        root: whether the agent starts a chain. There it inherits from nobody,
            so ``inherit`` grants nothing.

    Raises:
        PolicyError: a rule that the host refuses.

    """
    links = (policy.name,)
    default = Effect.ALLOW if policy.inherit and not root else semantics.default
    use = [Part(compile_rules(policy.rules, semantics, default), links)]
    for declared, removes in ((policy.tools, False), (policy.disallowed, True)):
        rules = compile_tools(declared, semantics, removes=removes)
        if rules is not None:
            use.append(Part(rules, links))
    delegate = None
    if policy.delegate is not None:
        denied = [rule for rule in policy.rules if rule.effect is Effect.DENY]
        handed_on = compile_rules([*denied, *policy.delegate], semantics, Effect.DENY)
        delegate = Ceiling.of([Part(handed_on, links)])
    return Table(Ceiling.of(use), delegate, Bounds(policy.depth, policy.turns, policy.trust))


def compile_rules(
    rules: Iterable[Rule], semantics: Semantics, default: Effect | None = None
) -> RuleSet:
    """Return the ordered list of *rules* by the host's precedence.

    Raises:
        PolicyError: a rule that the host refuses.

    """
    entries = [entry for rule in rules for entry in semantics.read(rule)]
    ordered = [entry for rank in semantics.precedence for entry in entries if rank.holds(entry)]
    return RuleSet(
        tuple(ordered), semantics.default if default is None else default, semantics.dialect
    )


def compile_tools(declared: Declared, semantics: Semantics, *, removes: bool) -> RuleSet | None:
    """Return what a list of the tools an agent has, or has not, comes to.

    None is no restriction. A list that is ill-typed, or that is not there in a
    way the host does not take for "every tool", leaves the agent no tool.
    """
    if removes:
        effect, default = Effect.DENY, Effect.ALLOW
        if declared.presence is Presence.ILL_TYPED:
            return RuleSet((), Effect.DENY, semantics.dialect, Reason.UNAVAILABLE)
    else:
        effect, default = Effect.ALLOW, Effect.DENY
    if declared.presence is not Presence.LISTED:
        everything = removes or semantics.presence.get(declared.presence, False)
        if everything and declared.presence is not Presence.ILL_TYPED:
            return None
        return RuleSet((), Effect.DENY, semantics.dialect, Reason.UNAVAILABLE)
    entries: list[Entry] = []
    for matcher in declared.matchers:
        entries += semantics.read(Rule(effect, matcher, span=matcher.span))
    return RuleSet(tuple(entries), default, semantics.dialect, Reason.UNAVAILABLE)
