"""Which of many star patterns is the first that matches a text, by what each starts and ends with.

That takes a search among what patterns start with, one among what those that start so end with,
and hardly more, however many patterns there are. Nothing is built for the text: one that hardly
anybody asks about again is looked up, and one of many alike is walked
(`policy.patterns.automaton`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from policy.patterns.automaton import NO_MATCH, Automaton
from policy.patterns.tokens import Gap, Token

__all__ = ["Ends", "Indexed"]

# Texts of which the first pattern is remembered, and the characters of the longest.
_TEXTS: Final = 4096
_LONGEST: Final = 1024

# Patterns that are tried one by one: more of them are walked all at once.
_ALIKE: Final = 256


class Indexed(Automaton):
    """An automaton that is walked for states alone: which pattern is the first is looked up."""

    @cached_property
    def _ends(self) -> Ends | None:
        return Ends.of(self.trie.patterns[self.trie.flags :])

    @cached_property
    def _firsts(self) -> dict[str, int]:
        return {}

    def first(self, text: str) -> int:
        """Return the index of the first pattern that matches all of *text*, or NO_MATCH."""
        if self._ends is None:
            return super().first(text)
        first = self._firsts.get(text)
        if first is None:
            first = self._ends.first(text)
            if len(text) <= _LONGEST:
                if len(self._firsts) >= _TEXTS:
                    self._firsts.clear()
                self._firsts[text] = first
        return first


class Ends:
    """Patterns of letters and of gaps for any text alone, canonical, in order."""

    __slots__ = ("_endings", "_several", "_starts", "_texts", "_two")

    def __init__(self, patterns: Sequence[Sequence[Token]]) -> None:
        self._texts: dict[str, int] = {}  # one text -> its pattern
        # what a pattern with one gap starts with -> what it ends with, backwards -> the pattern
        self._two: dict[str, dict[str, int]] = {}
        # what one with several starts with -> each, what stands between its gaps, and its end
        self._several: dict[str, list[tuple[int, list[str], str]]] = {}
        for index, tokens in enumerate(patterns):
            literals = [token for token in tokens if type(token) is str]
            if len(literals) == len(tokens):
                self._texts.setdefault("".join(literals), index)
                continue
            start = "" if tokens[0] is Gap.ANY else literals.pop(0)
            end = "" if tokens[-1] is Gap.ANY else literals.pop()
            if literals:
                self._several.setdefault(start, []).append((index, literals, end))
            else:
                self._two.setdefault(start, {}).setdefault(end[::-1], index)
        self._starts = _Beginnings([*self._two, *self._several])
        self._endings: dict[str, _Beginnings] = {}

    @classmethod
    def of(cls, patterns: Sequence[Sequence[Token]]) -> Ends | None:
        """Return those of *patterns*; None where one has other gaps, or sets, or many are alike.

        Of those that have several gaps, and start with the same, each is tried.
        """
        if any(
            type(token) is not str and token is not Gap.ANY for each in patterns for token in each
        ):
            return None
        found = cls(patterns)
        alike = max(map(len, found._several.values()), default=0)
        return found if alike <= _ALIKE else None

    def first(self, text: str) -> int:
        """Return the index of the first pattern that matches all of *text*, or NO_MATCH."""
        first = self._texts.get(text, NO_MATCH)
        size = len(text)
        backwards = text[::-1]
        for start in self._starts.of(text):
            ends = self._two.get(start)
            if ends is not None:
                if start not in self._endings:
                    self._endings[start] = _Beginnings(ends)
                for end in self._endings[start].of(backwards[: size - len(start)]):
                    first = min(first, ends[end])
            for index, literals, end in self._several.get(start, ()):
                if index >= first:
                    break
                if text.endswith(end) and _follow(literals, text, len(start), size - len(end)):
                    first = index
        return first


class _Beginnings:
    """Some texts, of which others are asked with which of them they begin."""

    __slots__ = ("_shorter", "_texts")

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = sorted({*texts})
        self._shorter: list[int] = []  # for each the longest other that it begins with, or -1
        last = -1
        for number, text in enumerate(self._texts):
            while last >= 0 and not text.startswith(self._texts[last]):
                last = self._shorter[last]
            self._shorter.append(last)
            last = number

    def of(self, text: str) -> Iterator[str]:
        """Yield each that *text* begins with, the longest first.

        The last that is no greater begins with all of these.
        """
        number = bisect_right(self._texts, text) - 1
        while number >= 0:
            if text.startswith(self._texts[number]):
                yield self._texts[number]
            number = self._shorter[number]


def _follow(literals: Iterable[str], text: str, at: int, end: int) -> bool:
    """Return whether *literals* stand in *text* one behind the other, from *at* to *end*."""
    for literal in literals:
        at = text.find(literal, at, end)
        if at < 0:
            return False
        at += len(literal)
    return at <= end
