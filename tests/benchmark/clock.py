"""Measuring: thread CPU time, the least of several rounds, the middle and the tail of many calls."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import attrs

_Made = TypeVar("_Made")

__all__ = ["Cost", "cost_of_each", "quiet", "seconds"]


@attrs.frozen
class Cost:
    """Of many calls, each measured alone, in microseconds.

    Attributes:
        median: what the call in the middle costs.
        p99: what one call in a hundred exceeds.
        calls: how many were measured.
        mean: what one costs on average.

    """

    median: float
    p99: float
    calls: int
    mean: float


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the collector of cycles from running in between."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def cost_of_each(
    decide: Callable[..., object],
    calls: Iterable[tuple[object, ...]],
    *,
    repeat: int = 50,
    rounds: int = 5,
) -> Cost:
    """Return what ``decide(*call)`` costs, call by call.

    Each call is repeated *repeat* times without a pause, *rounds* times over,
    and costs what it costs in its best round: the tail is that of expensive
    calls, not of a busy machine. The calls of one round come one after the
    other, so that a busy second spoils one round and no more.
    """
    clock = time.thread_time_ns
    calls = list(calls)
    best = [float("inf")] * len(calls)
    again = range(repeat)
    with quiet():
        for _ in range(rounds):
            for number, call in enumerate(calls):
                if len(call) == 2:
                    one, two = call
                    start = clock()
                    for _ in again:
                        decide(one, two)
                    spent = clock() - start
                else:
                    (one,) = call
                    start = clock()
                    for _ in again:
                        decide(one)
                    spent = clock() - start
                best[number] = min(best[number], spent)
    costs = sorted(spent / repeat / 1000 for spent in best)
    middle, last = costs[len(costs) // 2], costs[int(len(costs) * 0.99)]
    return Cost(middle, last, len(costs), sum(costs) / len(costs))


def seconds(
    work: Callable[[_Made], object], make: Callable[[], _Made], *, rounds: int = 3
) -> float:
    """Return the least CPU time that *work* took on what *make* makes, in seconds.

    *make* is not measured; each round has its own. What takes seconds is
    measured once. The collector of cycles runs as it does, but does not look at
    what other figures keep alive.
    """
    best = float("inf")
    for _ in range(rounds):
        made = make()
        gc.collect()
        gc.freeze()
        start = time.thread_time_ns()
        result = work(made)
        best = min(best, (time.thread_time_ns() - start) / 1e9)
        gc.unfreeze()
        del made, result
        if best > _SLOW:
            break
    return best


_SLOW = 3.0
