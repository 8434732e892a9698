"""How a host decides, as data: what a front end states, and `compile` obeys."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from policy.dialect import Dialect
from policy.effect import Effect
from policy.language.syntax import Presence, Rule
from policy.ruleset import Entry

__all__ = ["Rank", "Semantics"]


@attrs.frozen
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


@attrs.frozen
class Semantics:
    """How a host, in one version, decides.

    Attributes:
        profile: ``host@version``.
        dialect: how it names tools and reads calls.
        precedence: the classes of rules, the one that decides first at the
            front. A rule of no class is never consulted.
        default: what a call gets that no rule speaks of.
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
    presence: Mapping[Presence, bool] = attrs.field(
        factory=lambda: {Presence.ABSENT: True}, eq=False
    )
