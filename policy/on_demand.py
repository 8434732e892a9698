"""A mapping whose values are built when they are asked for: whoever decides asks for few."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

__all__ = ["OnDemand"]

_V = TypeVar("_V")


class OnDemand(Mapping[str, _V], Generic[_V]):
    """What *build* makes of each of *names*, in their order, each built once at most.

    *build* must not fail: what can be wrong with files is found when they are read.
    """

    __slots__ = ("_build", "_built", "_names")

    def __init__(self, names: Iterable[str], build: Callable[[str], _V]) -> None:
        self._names = dict.fromkeys(names)
        self._build = build
        self._built: dict[str, _V] = {}

    def __getitem__(self, name: str) -> _V:
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
