"""The collector of cycles, run seldom while many values are made that stay.

Python looks for values that lead to one another in circles whenever some hundreds more were made
than went. Reading and comparing thousands of rules makes hundreds of thousands, of which hardly
one goes before the answer is there: looking took a fourth of the time.
"""

from __future__ import annotations

import atexit
import gc
from contextlib import ContextDecorator
from threading import Lock
from typing import Final

__all__ = ["never_at_the_end", "seldom_collecting"]

_SELDOM: Final = (100_000, 50, 50)


class _Seldom(ContextDecorator):
    """Collects seldom from when the first comes in until the last goes out, of all threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._before = _SELDOM

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = gc.get_threshold()
                if 0 < self._before[0] < _SELDOM[0]:  # 0: somebody collects by hand, or never
                    gc.set_threshold(*_SELDOM)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and gc.get_threshold() == _SELDOM:
                gc.set_threshold(*self._before)


seldom_collecting: Final = _Seldom()


def never_at_the_end() -> None:
    """Let the process end without a last look, since all that is there goes with it."""
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
