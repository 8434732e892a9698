"""Policies of our notation, and rules of queries, become rule sets: a sort by precedence.

What a rule matches says `Semantics.read`, and `Semantics.precedence` the order in which rules are
consulted. After that nothing is left of either but an ordered list. Hosts with files of their own
put their entries in order themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.values import field, frozen
from policy.language.syntax import DeclaredTools, Policy, Presence, Rule
from policy.tables.dialect import Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Bounds, Ceiling, LinkedRules, Table

__all__ = ["Rank", "Semantics", "compile_policy", "compile_rules", "compile_tools"]


@frozen
class Rank:
    """A class of rules that precedence treats alike.

    Attributes:
        effect: of the rules.
        exact: only rules without a wildcard (True), only rules with one
            (False), or both (None).

    """

    effect: Effect
    exact: bool | None = None

    def holds(self, entry: Entry) -> bool:
        """Return whether *entry* is of this class."""
        if entry.effect is not self.effect:
            return False
        is_exact = entry.pattern is not None and entry.pattern.exact and "*" not in entry.tool
        return self.exact is None or self.exact is is_exact


@frozen
class Semantics:
    """How a host, in one version, decides.

    Attributes:
        profile: ``host@version``.
        dialect: how it names tools and reads calls.
        precedence: the classes of rules, the one that decides first at the
            front. A rule of no class is never consulted.
        default: what a call gets that no rule matches.
        read: the lines that one rule becomes. It raises `PolicyError` for a
            rule that the host refuses, and returns none for one it ignores.
        presence: what a list of tools that is not there, or is no list, means:
            whether the agent has every tool. Ill-typed never grants.

    """

    profile: str
    dialect: Dialect
    precedence: tuple[Rank, ...]
    default: Effect
    read: Callable[[Rule], tuple[Entry, ...]]
    presence: Mapping[Presence, bool] = field(factory=lambda: {Presence.ABSENT: True}, eq=False)


def compile_policy(policy: Policy, semantics: Semantics, *, root: bool = False) -> Table:
    """Return the table of one agent or settings scope.

    Args:
        policy: what it says.
        semantics: how its host decides.
        root: whether the agent starts a chain. There it has no parent, so
            ``inherit`` grants nothing.

    Raises:
        PolicyError: a rule that the host refuses.

    """
    links = (policy.name,)
    default = Effect.ALLOW if policy.inherit and not root else semantics.default
    use = [LinkedRules(compile_rules(policy.rules, semantics, default), links)]
    for declared, removes in ((policy.tools, False), (policy.disallowed, True)):
        rules = compile_tools(declared, semantics, removes=removes)
        if rules is not None:
            use.append(LinkedRules(rules, links))
    delegate = None
    if policy.delegate is not None:
        denied = [rule for rule in policy.rules if rule.effect is Effect.DENY]
        handed_on = compile_rules([*denied, *policy.delegate], semantics, Effect.DENY)
        delegate = Ceiling.of([LinkedRules(handed_on, links)])
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


def compile_tools(
    declared: DeclaredTools, semantics: Semantics, *, removes: bool
) -> RuleSet | None:
    """Return the rule set of a list of the tools an agent has, or has not.

    None is no restriction. A list that is ill-typed, or that is not there in a
    way the host does not take for "every tool", leaves the agent no tool.
    """
    presence = declared.presence
    if presence is not Presence.LISTED:
        everything = removes or semantics.presence.get(presence, False)
        if everything and presence is not Presence.ILL_TYPED:
            return None
        return RuleSet((), Effect.DENY, semantics.dialect, Reason.UNAVAILABLE)
    effect, default = (Effect.DENY, Effect.ALLOW) if removes else (Effect.ALLOW, Effect.DENY)
    rules = [Rule(effect, matcher, span=matcher.span) for matcher in declared.matchers]
    entries = tuple(entry for rule in rules for entry in semantics.read(rule))
    return RuleSet(entries, default, semantics.dialect, Reason.UNAVAILABLE)
