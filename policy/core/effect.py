"""What a rule says and what an answer is, in the order of what they grant."""

from __future__ import annotations

import enum

__all__ = ["Effect"]


class Effect(enum.Enum):
    """``DENY < ASK < ALLOW``: what a rule says, and what an answer is."""

    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"

    # Members are singletons, so identity is equality; the default hash of an
    # enum goes through its name and is several times slower in a hot table.
    __hash__ = object.__hash__

    def __lt__(self, other: Effect) -> bool:
        """Return whether *self* grants less than *other*."""
        return _RANK[self] < _RANK[other]

    def __le__(self, other: Effect) -> bool:
        """Return whether *self* grants no more than *other*."""
        return _RANK[self] <= _RANK[other]

    def __gt__(self, other: Effect) -> bool:
        """Return whether *self* grants more than *other*."""
        return _RANK[self] > _RANK[other]

    def __ge__(self, other: Effect) -> bool:
        """Return whether *self* grants no less than *other*."""
        return _RANK[self] >= _RANK[other]

    def __and__(self, other: Effect) -> Effect:
        """Return the stricter of the two."""
        return self if _RANK[self] <= _RANK[other] else other

    def __str__(self) -> str:
        """Return the word people write."""
        return self.value


_RANK = {effect: rank for rank, effect in enumerate(Effect)}
