"""Trust: four levels, the cap handed down a chain, and what quarantine denies."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from functools import total_ordering
from typing import Final

import attrs

from policy.chain import SPAWN_TOOL
from policy.dialect import Dialect
from policy.effect import Effect
from policy.hosts.zeph.names import QUARANTINED
from policy.ruleset import Entry, RuleSet

__all__ = ["DEFAULT_TRUST", "TrustGate", "TrustLevel", "effective_trust", "fold"]


@total_ordering
class TrustLevel(enum.Enum):
    """``BLOCKED < QUARANTINED < VERIFIED < TRUSTED``, in the order of what they grant."""

    BLOCKED = "blocked"
    QUARANTINED = "quarantined"
    VERIFIED = "verified"
    TRUSTED = "trusted"

    __hash__ = object.__hash__

    def __lt__(self, other: TrustLevel) -> bool:
        """Return whether *self* grants less than *other*."""
        return _RANK[self] < _RANK[other]


_RANK = {level: rank for rank, level in enumerate(TrustLevel)}

# Of a skill nobody said anything about.
DEFAULT_TRUST: Final = TrustLevel.QUARANTINED


def effective_trust(own: TrustLevel, cap: TrustLevel | None) -> TrustLevel:
    """Return the lesser of both; None is no cap. A cap never raises."""
    return own if cap is None else min(own, cap)


def fold(levels: Iterable[TrustLevel]) -> TrustLevel:
    """Return the least of the levels of active skills; with no skill, trust."""
    return min(levels, default=TrustLevel.TRUSTED)


@attrs.frozen
class TrustGate:
    """What a level of trust denies.

    Attributes:
        level: in force.
        servers: ids of tools that servers offer, all of which quarantine denies.
        quarantined: the tools it denies besides.

    """

    level: TrustLevel
    servers: tuple[str, ...] = ()
    quarantined: tuple[str, ...] = QUARANTINED

    def rules(self, dialect: Dialect) -> RuleSet:
        """Return the gate as rules. By a loose dialect, names are compared so too."""
        if self.level >= TrustLevel.VERIFIED:
            return RuleSet((), Effect.ALLOW, dialect)
        rule = f"trust: {self.level.value}"
        spawns = Entry(SPAWN_TOOL, Effect.ALLOW, rule=rule)
        if self.level is TrustLevel.BLOCKED:
            return RuleSet((spawns, Entry("*", Effect.DENY, rule=rule)), Effect.DENY, dialect)
        names = [*self.quarantined, *(f"*_{name}" for name in self.quarantined), *self.servers]
        return RuleSet(
            (spawns, *(Entry(name, Effect.DENY, rule=rule) for name in names)),
            Effect.ALLOW,
            dialect,
        )
