"""Lines that may share a text with a pattern, by what both start and end with."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import islice

from policy.effect import Effect
from policy.patterns.pattern import Pattern

__all__ = ["Lines", "may_meet", "prefix_of"]


class Lines:
    """Some lines of a list.

    Args:
        lines: the number of each, its pattern and what it says, in order.

    """

    def __init__(self, lines: Iterable[tuple[int, Pattern, Effect]]) -> None:
        # effect -> what lines start with -> their numbers
        self._by_prefix: dict[Effect, dict[str, list[int]]] = {effect: {} for effect in Effect}
        self._suffixes: dict[int, str] = {}  # what each ends with
        for number, pattern, effect in lines:
            prefix, by_prefix = prefix_of(pattern), self._by_prefix[effect]
            numbers = by_prefix.get(prefix)
            if numbers is None:
                by_prefix[prefix] = [number]
            else:
                numbers.append(number)
            self._suffixes[number] = _suffix(pattern)
        self._prefixes = {effect: sorted(index) for effect, index in self._by_prefix.items()}

    def near(self, pattern: Pattern, effect: Effect, first: int, last: int) -> Iterator[int]:
        """Yield the lines of *effect* that may share a text with *pattern*.

        Only those from *first* to *last*.
        """
        index, prefix, suffix = self._by_prefix[effect], prefix_of(pattern), _suffix(pattern)
        suffixes = self._suffixes
        for start in self._starts(effect, prefix):
            numbers = index[start]
            if numbers[-1] < first or numbers[0] > last:
                continue
            for number in islice(numbers, bisect_left(numbers, first), None):
                if number > last:
                    break
                end = suffixes[number]
                if suffix.endswith(end) or end.endswith(suffix):
                    yield number

    def _starts(self, effect: Effect, prefix: str) -> Iterator[str]:
        """Yield what lines of *effect* start with, if *prefix* starts with it, or it with that."""
        index, prefixes = self._by_prefix[effect], self._prefixes[effect]
        yield from (start for n in range(len(prefix)) if (start := prefix[:n]) in index)
        for at in range(bisect_left(prefixes, prefix), len(prefixes)):
            if not prefixes[at].startswith(prefix):
                return
            yield prefixes[at]


def may_meet(one: Pattern, other: Pattern) -> bool:
    """Return whether two patterns may share a text, by how both start and end."""
    (start, end), (prefix, suffix) = ((prefix_of(p), _suffix(p)) for p in (one, other))
    return (start.startswith(prefix) or prefix.startswith(start)) and (
        end.endswith(suffix) or suffix.endswith(end)
    )


def prefix_of(pattern: Pattern) -> str:
    """Return the text that a pattern starts with."""
    first = pattern.tokens[0] if pattern.tokens else ""
    return first if isinstance(first, str) else ""


def _suffix(pattern: Pattern) -> str:
    last = pattern.tokens[-1] if pattern.tokens else ""
    return last if isinstance(last, str) else ""
