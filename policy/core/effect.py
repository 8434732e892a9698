"""The effects of rules and of decisions, from the strictest to the one that grants most."""

from __future__ import annotations

import enum

from policy.core.values import Final, NoReturn


class Effect(enum.StrEnum):
    """``DENY < ASK < ALLOW``: the effect of a rule, and of a decision.

    An effect equals its text, as in ``decision.effect == "deny"``; what compares as less grants
    less, and ``&`` gives the stricter of two. It is neither true nor false.
    """

    DENY = "deny"  # the call may not run
    ASK = "ask"  # a person must approve the call
    ALLOW = "allow"  # the call may run

    # A text keeps its hash; the hash of an enum goes through its name and is several times slower.
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

# The participle of each effect.
VERBS: Final = {Effect.ALLOW: "allowed", Effect.ASK: "asked", Effect.DENY: "denied"}
