"""How far long work is, for a person who waits: shown where a caller says how, with `watched`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

_T = TypeVar("_T")

# What is done, how much of it, and of how much.
_Show = Callable[[str, int, int], None]

_SHOW: ContextVar[_Show | None] = ContextVar("_SHOW", default=None)


@contextmanager
def watched(show: _Show) -> Iterator[None]:
    """Have *show* called with what is done, how much of it, and of how much, in this context."""
    token = _SHOW.set(show)
    try:
        yield
    finally:
        _SHOW.reset(token)


def reached(what: str, done: int, total: int) -> None:
    """Report that *done* of *total* is done; *what* is a phrase, e.g. "reading a log"."""
    show = _SHOW.get()
    if show is not None:
        show(what, done, total)


def steps(items: Collection[_T], what: str) -> Iterator[_T]:
    """Yield *items*, and report before each how many are done."""
    for number, item in enumerate(items):
        reached(what, number, len(items))
        yield item
