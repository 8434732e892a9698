"""Grants: they end what a policy allows, and never widen it."""

from __future__ import annotations

import enum
from collections.abc import Collection

import attrs

from policy.dialect import Dialect
from policy.effect import Effect
from policy.hosts.zeph.errors import Kind, ZephError
from policy.patterns.notations import is_glob
from policy.ruleset import Entry, RuleSet

__all__ = ["GrantState", "PermissionGrants", "check_secret"]


class GrantState(enum.Enum):
    """What became of a grant."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"
    SWEPT = "swept"  # removed from the list of grants after it expired

    __hash__ = object.__hash__


@attrs.frozen
class PermissionGrants:
    """The grants of a run, in the order they were given. Names are compared as written.

    Zeph removes a grant from its list when it expires, and remembers that there was one:
    the tool stays denied. So keep the record here, as `GrantState.SWEPT`.
    """

    records: tuple[tuple[str, GrantState], ...] = ()

    def check(self, tool: str) -> Effect:
        """Return whether a call of *tool* goes on: there is no grant for it, or one in force.

        One that ended denies the tool until another one is given.
        """
        return Effect.DENY if tool in self.ended else Effect.ALLOW

    @property
    def ended(self) -> frozenset[str]:
        """The tools whose last grant is in force no more."""
        last = dict(self.records)
        return frozenset(name for name, state in last.items() if state is not GrantState.ACTIVE)

    def rule_set(self, dialect: Dialect) -> RuleSet:
        """Return the grants as rules. By a loose dialect, names are compared so too."""
        # No id has a star in it, and an entry with one would stand for several.
        named = (name for name in sorted(self.ended) if not is_glob(name))
        entries = (Entry(name, Effect.DENY, rule="a grant that has ended") for name in named)
        return RuleSet(tuple(entries), Effect.ALLOW, dialect)


def check_secret(
    name: str,
    listed: Collection[str],
    approved: Collection[str],
    *,
    background: bool = False,
) -> None:
    """Refuse a secret that the definition does not list, or that nobody approved.

    Raises:
        ZephError: of kind ``Invalid``.

    """
    if name not in listed:
        message = f"secret '{name}' is not in permissions.secrets"
        raise ZephError(Kind.INVALID, message)
    if background:
        message = f"secret '{name}' is denied to an agent in the background"
        raise ZephError(Kind.INVALID, message)
    if name not in approved:
        message = f"no active grant for secret '{name}'"
        raise ZephError(Kind.INVALID, message)
