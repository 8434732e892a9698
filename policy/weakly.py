"""References by which results are remembered without keeping alive what they are about.

A reference is equal to those of equal values. What is remembered of a value that is gone
is found by nobody, and makes room in its turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar
from weakref import ReferenceType, ref

__all__ = ["alive", "weakly"]

_V = TypeVar("_V")


def weakly(values: Iterable[_V]) -> frozenset[ReferenceType[_V]]:
    """Return references to *values*."""
    return frozenset(map(ref, values))


def alive(reference: ReferenceType[_V]) -> _V:
    """Return the value of *reference*. Raises ReferenceError where nobody has it any more."""
    found = reference()
    if found is None:
        raise ReferenceError(reference)
    return found
