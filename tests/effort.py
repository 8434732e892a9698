"""How much work tests do, and what work costs, as a ratio in one run."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable

from hypothesis import settings

__all__ = ["DRAWN", "examples", "is_linear"]

# How many examples a law draws that says no number.
DRAWN = 25


def examples(number: int) -> settings:
    """Return how many examples a law draws: *number*, and as many times more as its profile says.

    With ``HYPOTHESIS_PROFILE=thorough`` a law draws two hundred times as many as by default.
    """
    return settings(max_examples=number * settings.default.max_examples // DRAWN)


# Work is compared with the same on an eighth. What is linear takes eight times as long, what is
# quadratic sixty-four times; memory that no longer fits a cache costs a factor of two.
_PARTS = 8
_MOST = 28

# What is shorter, in seconds, costs no less than its clock.
_SHORT = 0.003


# A busy machine disturbs some rounds, and none of many.
_ROUNDS = 6


def is_linear(work: Callable[[int], object], size: int) -> bool:
    """Whether *work* costs about eight times as much for *size* as for an eighth of it, or less."""
    most = part = math.inf
    for _ in range(_ROUNDS):
        most = min(most, _once(work, size))
        part = min(part, max(_once(work, size // _PARTS), _SHORT))
        if most < _MOST * part:
            return True
    return False


def _once(work: Callable[[int], object], size: int) -> float:
    gc.disable()  # what other tests left behind is not part of the cost
    try:
        started = time.process_time()
        work(size)
        return time.process_time() - started
    finally:
        gc.enable()
