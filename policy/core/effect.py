"""What a rule says and what an answer is, in the order of what they grant."""

from __future__ import annotations

import enum

from policy.core.values import Final, NoReturn


class Effect(enum.StrEnum):
    """``DENY < ASK < ALLOW``: what a rule says, and what an answer is.

    An effect equals its text, so ``decision.effect == "deny"`` is what it reads as. It is neither
    true nor false: `bool` raises `TypeError`.
    """

    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"

    # A text keeps its hash; the hash of an enum goes through its name and is several times slower.
    __hash__ = str.__hash__

    def __bool__(self) -> NoReturn:
        msg = "an Effect is neither true nor false; compare it with policy.Effect.ALLOW"
        raise TypeError(msg)

    def __lt__(self, other: str) -> bool:
        """Return whether *self* grants less than *other*."""
        return _RANK[self] < _RANK[other]

    def __le__(self, other: str) -> bool:
        """Return whether *self* grants no more than *other*."""
        return _RANK[self] <= _RANK[other]

    def __gt__(self, other: str) -> bool:
        """Return whether *self* grants more than *other*."""
        return _RANK[self] > _RANK[other]

    def __ge__(self, other: str) -> bool:
        """Return whether *self* grants no less than *other*."""
        return _RANK[self] >= _RANK[other]

    def __and__(self, other: Effect) -> Effect:
        """Return the stricter of the two."""
        return self if _RANK[self] <= _RANK[other] else other


_RANK: dict[str, int] = {effect: rank for rank, effect in enumerate(Effect)}

# The participle of each effect.
VERBS: Final = {Effect.ALLOW: "allowed", Effect.ASK: "asked", Effect.DENY: "denied"}
