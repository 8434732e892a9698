"""Bounded caches, weak references, garbage collection while tables are built, lazy mappings."""

from __future__ import annotations

import atexit
import gc
from _thread import allocate_lock
from _weakref import ReferenceType
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ContextDecorator

from policy.core.values import Final, Generic, TypeVar, frozen

_V = TypeVar("_V")


def alive(reference: ReferenceType[_V]) -> _V:
    """Return the value of *reference*. Raises ReferenceError where it is gone."""
    found = reference()
    if found is None:
        raise ReferenceError(reference)
    return found


@frozen(cache_hash=True)
class Key:
    """What things have in common, however much that is: hashed once."""

    value: object


_K = TypeVar("_K")


class Memo(dict[_K, _V]):
    """A dictionary of at most *most* values: a full one forgets all of them."""

    __slots__ = ("_most",)

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def keep(self, key: _K, value: _V) -> _V:
        """Remember *value* as that of *key*, and return it."""
        if len(self) >= self._most:
            self.clear()
        self[key] = value
        return value


_SELDOM: Final = (100_000, 50, 50)


class _Seldom(ContextDecorator):
    """Makes the collector of cycles run seldom, from the first thread inside to the last.

    Python looks for cycles whenever some hundreds of values more were made than went. Reading and
    comparing thousands of rules makes hundreds of thousands, and hardly one goes before the
    answer is there: looking took a fourth of the time.
    """

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._inside = 0
        self._before = _SELDOM

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = gc.get_threshold()
                if 0 < self._before[0] < _SELDOM[0]:  # 0: the program collects by hand, or never
                    gc.set_threshold(*_SELDOM)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and gc.get_threshold() == _SELDOM:
                gc.set_threshold(*self._before)


seldom_collecting: Final = _Seldom()


def never_at_the_end() -> None:
    """Let the process end without a last collection."""
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


_Value = TypeVar("_Value")


class OnDemand(Mapping[str, _Value], Generic[_Value]):
    """What *build* makes of each of *names*, in their order, each built once at most.

    *build* must not fail: what can be wrong with files is found when they are read.
    """

    __slots__ = ("_build", "_built", "_names")

    def __init__(self, names: Iterable[str], build: Callable[[str], _Value]) -> None:
        self._names = dict.fromkeys(names)
        self._build = build
        self._built: dict[str, _Value] = {}

    def __getitem__(self, name: str) -> _Value:
        """Return the value of *name*. Raises KeyError for a name that is not there."""
        if name not in self._built:
            if name not in self._names:
                raise KeyError(name)
            self._built[name] = self._build(name)
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        """Return whether *name* is there, and build nothing."""
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        """Return the names."""
        return iter(self._names)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._names)

    def __repr__(self) -> str:
        return f"<OnDemand {', '.join(self._names)}>"
