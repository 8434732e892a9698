"""Bounded caches, weak references, tuning of the garbage collector, and lazy mappings."""

from __future__ import annotations

import atexit
import gc
from _weakref import ReferenceType
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps

from policy.core.values import Any, Final, Generic, TypeVar, frozen

_K = TypeVar("_K")
_V = TypeVar("_V")
_F = TypeVar("_F", bound=Callable[..., Any])


def alive(reference: ReferenceType[_V]) -> _V:
    """Return the value of *reference*. Raises ReferenceError if it was collected."""
    value = reference()
    if value is None:
        raise ReferenceError(reference)
    return value


@frozen(cache_hash=True)
class Key:
    """A key of a dictionary that computes the hash of *value* once."""

    value: object


class Memo(dict[_K, _V]):
    """A dictionary of at most *most* values; it is cleared when it is full."""

    __slots__ = ("_most",)

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def keep(self, key: _K, value: _V) -> _V:
        """Store *value* under *key*, and return it."""
        if len(self) >= self._most:
            self.clear()
        self[key] = value
        return value


_SELDOM: Final = (100_000, 50, 50)


class seldom_collecting:  # noqa: N801  # as a context or a decorator, as those of `contextlib`
    """Run the collector of cycles rarely inside: it took a fourth of the time of a comparison.

    If several threads enter, the first one restores the thresholds.
    """

    def __enter__(self) -> None:
        self._before = gc.get_threshold()
        # 0 means that the program has switched it off.
        self._is_set = 0 < self._before[0] < _SELDOM[0]
        if self._is_set:
            gc.set_threshold(*_SELDOM)

    def __exit__(self, *_: object) -> None:
        if self._is_set and gc.get_threshold() == _SELDOM:
            gc.set_threshold(*self._before)

    def __call__(self, function: _F) -> _F:
        """Return *function* with this context around each call."""

        @wraps(function)
        def inside(*arguments: Any, **named: Any) -> Any:
            with seldom_collecting():
                return function(*arguments, **named)

        return inside  # type: ignore[return-value]  # it takes and returns the same


def never_at_the_end() -> None:
    """Skip the last garbage collection when the process ends."""
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


class OnDemand(Mapping[str, _V], Generic[_V]):
    """A mapping from each of *names* to *build(name)*, which is called at first use.

    *build* must not raise: errors in files are found when the files are read.
    """

    __slots__ = ("_build", "_built", "_names")

    def __init__(self, names: Iterable[str], build: Callable[[str], _V]) -> None:
        self._names = dict.fromkeys(names)
        self._build = build
        self._built: dict[str, _V] = {}

    def __getitem__(self, name: str) -> _V:
        if name not in self._built:
            if name not in self._names:
                raise KeyError(name)
            self._built[name] = self._build(name)
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
