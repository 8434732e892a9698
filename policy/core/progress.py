"""The progress of long work. It is reported to the function that a caller sets with `watched`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

_T = TypeVar("_T")

# The name of the work, how much of it is done, and its total.
_Show = Callable[[str, int, int], None]

_SHOW: ContextVar[_Show | None] = ContextVar("_SHOW", default=None)


@contextmanager
def watched(show: _Show) -> Iterator[None]:
    """Call *show* with the name of the work, its progress and its total, within this context."""
    token = _SHOW.set(show)
    try:
        yield
    finally:
        _SHOW.reset(token)


def reached(what: str, done: int, total: int) -> None:
    """Report that *done* of *total* is done; *what* names the work, e.g. "reading a log"."""
    show = _SHOW.get()
    if show is not None:
        show(what, done, total)


def steps(items: Collection[_T], what: str) -> Iterator[_T]:
    """Yield *items*; before each, report how many are done."""
    for number, item in enumerate(items):
        reached(what, number, len(items))
        yield item
