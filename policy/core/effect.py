"""The effects of rules and decisions, in their order: deny < ask < allow."""

from __future__ import annotations

import enum

from policy.core.values import Final, NoReturn


class Effect(enum.StrEnum):
    """The effect of a rule or a decision: ``DENY < ASK < ALLOW``.

    An effect equals its text: ``decision.effect == "deny"``. A smaller effect grants less, and
    ``a & b`` is the stricter of the two. Raises TypeError where it is used as a truth value.
    """

    DENY = "deny"  # the call may not run
    ASK = "ask"  # a person must approve the call
    ALLOW = "allow"  # the call may run

    # A text caches its hash; the hash of an enum is several times slower.
    __hash__ = str.__hash__

    def __bool__(self) -> NoReturn:
        msg = "an Effect is neither true nor false; compare it with policy.Effect.ALLOW"
        raise TypeError(msg)

    def __lt__(self, other: str) -> bool:
        return _RANK[self] < _RANK[other]

    def __le__(self, other: str) -> bool:
        return _RANK[self] <= _RANK[other]

    def __gt__(self, other: str) -> bool:
        return _RANK[self] > _RANK[other]

    def __ge__(self, other: str) -> bool:
        return _RANK[self] >= _RANK[other]

    def __and__(self, other: Effect) -> Effect:
        return self if _RANK[self] <= _RANK[other] else other


_RANK: dict[str, int] = {effect: rank for rank, effect in enumerate(Effect)}

# Effect -> its participle.
VERBS: Final = {Effect.ALLOW: "allowed", Effect.ASK: "asked", Effect.DENY: "denied"}
