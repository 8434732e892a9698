"""Which of many star patterns is the first that matches a text, by what each starts and ends with.

That takes a lookup for each place where what some pattern starts with may be over, and hardly
more, however many patterns there are. Nothing is built for the text: one that hardly anybody
asks about again is looked up, and one of many alike is walked (`policy.patterns.automaton`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
        # what a pattern with one gap starts with -> what it ends with -> the pattern
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
                self._two.setdefault(start, {}).setdefault(end, index)
        self._starts = _lengths([*self._two, *self._several])
        self._endings = {start: _lengths(ends) for start, ends in self._two.items()}

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
        for length in self._starts:
            if length > size:
                break
            start = text[:length]
            for more in self._endings.get(start, ()):
                if length + more > size:
                    break
                first = min(first, self._two[start].get(text[size - more :], NO_MATCH))
            for index, literals, end in self._several.get(start, ()):
                if index >= first:
                    break
                if text.endswith(end) and _follow(literals, text, length, size - len(end)):
                    first = index
        return first


def _lengths(texts: Iterable[str]) -> list[int]:
    """Return how long *texts* are, each length once."""
    return sorted({*map(len, texts)})


def _follow(literals: Iterable[str], text: str, at: int, end: int) -> bool:
    """Return whether *literals* stand in *text* one behind the other, from *at* to *end*."""
    for literal in literals:
        at = text.find(literal, at, end)
        if at < 0:
            return False
        at += len(literal)
    return at <= end
