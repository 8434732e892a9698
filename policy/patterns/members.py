"""What several star patterns share, written out: a union of star patterns.

A pattern is given frozen, with one fresh character for every star. Walk two of
them side by side: a letter meets the same letter; a star takes a letter or
ends; two stars meet, and one of them ends. Each way through is a member. There
may be exponentially many, so the walk has a budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final

__all__ = ["members"]

# Steps of the walk before it gives up.
_STEPS = 20_000

# Members of two patterns that are remembered.
_FEW: Final = 64


def members(frozen: Sequence[str], fresh: str) -> Iterator[str]:
    """Yield the members of the meet of *frozen* star patterns, frozen themselves.

    A member may come more than once. Of no patterns, ``*`` is the one member.

    Raises:
        OverflowError: the walk takes too long.

    """
    if not frozen:
        yield fresh
        return
    if len(frozen) == 1:
        yield frozen[0]
        return
    few = _few(frozen[0], frozen[1], fresh)
    for shared in _pair(frozen[0], frozen[1], fresh) if few is None else few:
        yield from members([shared, *frozen[2:]], fresh)


@lru_cache(maxsize=8192)  # a comparison asks for the meet of the same two again and again
def _few(one: str, other: str, fresh: str) -> tuple[str, ...] | None:
    """Return what two patterns share; None where it is much."""
    try:
        found = tuple(islice(_pair(one, other, fresh), _FEW + 1))
    except OverflowError:
        return None
    return found if len(found) <= _FEW else None


def _pair(one: str, other: str, fresh: str) -> Iterator[str]:
    steps = 0
    ways = [(0, 0, "")]
    while ways:
        steps += 1
        if steps > _STEPS:
            msg = "the patterns share too many texts to write them out"
            raise OverflowError(msg)
        i, j, text = ways.pop()
        a, b = one[i : i + 1], other[j : j + 1]
        if not a and not b:
            yield text
        elif a == b == fresh:
            text = text if text.endswith(fresh) else text + fresh
            ways += [(i + 1, j, text), (i, j + 1, text)]
        elif a == fresh:
            ways.append((i + 1, j, text))
            if b:
                ways.append((i, j + 1, text + b))
        elif b == fresh:
            ways.append((i, j + 1, text))
            if a:
                ways.append((i + 1, j, text + a))
        elif a == b:
            ways.append((i + 1, j + 1, text + a))
