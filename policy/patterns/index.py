"""An index of patterns by their literal starts and ends, which finds the first match of a text.

A lookup is a binary search among the starts, one among the ends for each start of the text, and a
match of the few patterns with both. If too many patterns share both, an automaton matches them.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import chain
from operator import itemgetter

from policy.core.values import TYPE_CHECKING, Final
from policy.patterns.automaton import NO_MATCH, Automaton
from policy.patterns.tokens import Gap, OneOf, canonical_ways, fits, folded, in_one_case

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from policy.patterns.tokens import Token


# How many tokens of patterns with the same start and end are matched one by one; and how many
# patterns with the same start in small letters.
_TRIED: Final = 24
_TRIED_SMALL: Final = 8


class Index:
    """An index of canonical patterns, in their order of precedence.

    The parts of a text are separated by *separator*; "" is none.
    """

    def __init__(self, patterns: Iterable[Sequence[Token]], separator: str = "") -> None:
        self._separator = separator
        self._texts: dict[str, list[int]] = {}  # text -> the patterns that match it alone
        self._behind: dict[str, _Ends] = {}  # literal start -> the ends of its patterns
        self._any_case: dict[
            str, list[_Tried]
        ] = {}  # literal start in small letters -> its patterns
        for index, tokens in enumerate(patterns):
            for way in canonical_ways(tokens, separator):
                self._add(index, way)
        self._starts, self._small = _Prefixes(self._behind), _Prefixes(self._any_case)
        crowds = [behind.close() for behind in self._behind.values()]
        for small, alike in self._any_case.items():
            if len(alike) > _TRIED_SMALL:
                crowds.append(alike)
                self._any_case[small] = []
        self._crowd = sorted(chain.from_iterable(crowds), key=itemgetter(0))
        self._walked = Automaton([tokens for _, tokens, _ in self._crowd], separator)

    def _add(self, index: int, tokens: Sequence[Token]) -> None:
        start = tokens[0] if tokens and type(tokens[0]) is str else ""
        gaps = len(tokens) - 1 if start else len(tokens)
        if not gaps:
            self._texts.setdefault(start, []).append(index)
            return
        has_start = 1 if start else 0
        if type(tokens[has_start]) is OneOf:
            small, count = _small(tokens)
            self._any_case.setdefault(small, []).append((index, tokens, tokens[count:]))
            return
        behind = self._behind.get(start)
        if behind is None:
            behind = self._behind[start] = _Ends()
        end = ""
        if type(tokens[-1]) is str:
            end, gaps = tokens[-1][::-1], gaps - 1
        if gaps == 1 and tokens[has_start] is Gap.ANY:
            behind.certain.setdefault(end, []).append(index)
        else:
            behind.tried.setdefault(end, []).append((index, tokens, tokens[has_start:]))

    def first(self, text: str) -> int:
        """Return the index of the first pattern that matches all of *text*, or NO_MATCH."""
        first = min(self._outside_crowds(text), default=NO_MATCH)
        if self._crowd:
            walked = self._walked.first(text)
            if walked != NO_MATCH:
                return min(first, self._crowd[walked][0])
        return first

    def matching(self, text: str) -> Iterator[int]:
        """Yield the index of each pattern that matches all of *text*, in no order."""
        yield from self._outside_crowds(text)
        if self._walked.first(text) != NO_MATCH:
            for index, tokens, _ in self._crowd:
                if fits(tokens, text, self._separator):
                    yield index

    def _outside_crowds(self, text: str) -> Iterator[int]:
        yield from self._texts.get(text, ())
        length, backwards = len(text), text[::-1]
        for start in self._starts.beginning(text):
            behind, left = self._behind[start], length - len(start)
            if behind.ends is None:
                yield from behind.certain[""]
                continue
            for end in behind.ends.beginning(backwards):
                if len(end) <= left:
                    yield from behind.certain.get(end, ())
                    for index, _, rest in behind.tried.get(end, ()):
                        if fits(rest, text[len(start) :], self._separator):
                            yield index
        for start in self._small.beginning(folded(text)) if self._any_case else ():
            for index, tokens, rest in self._any_case[start]:
                first = tokens[0]  # a literal start is matched with its case
                as_written = type(first) is not str or text.startswith(first)
                if as_written and fits(rest, text[len(start) :], self._separator):
                    yield index


class Indexed(Automaton):
    """An automaton that finds the first match by an index; searches use its states."""

    @cached_property
    def index(self) -> Index:
        """The index of its patterns."""
        return Index(self.patterns, self.separator)

    def first(self, text: str) -> int:
        """Return the index of the first pattern that matches all of *text*, or NO_MATCH."""
        return self.index.first(text)


if TYPE_CHECKING:
    # The index of a pattern, its tokens, and its tokens behind the literal start.
    _Tried = tuple[int, Sequence[Token], Sequence[Token]]


def _small(tokens: Sequence[Token]) -> tuple[str, int]:
    """Return the literal start of *tokens* in small letters, and the number of its tokens."""
    start = ""
    for count, token in enumerate(tokens):
        if type(token) is str and (not count or folded(token) == token == token.swapcase()):
            start += folded(token)
        elif type(token) is OneOf and (letter := in_one_case(token)):
            start += letter
        else:
            return start, count
    return start, len(tokens)


class _Ends:
    """Patterns with the same literal start, by their literal end, reversed."""

    __slots__ = ("certain", "ends", "tried")

    def __init__(self) -> None:
        self.certain: dict[str, list[int]] = {}  # only a gap for any text in between
        self.tried: dict[str, list[_Tried]] = {}  # the others
        self.ends: _Prefixes | None = None  # None if all are certain and have no end

    def close(self) -> list[_Tried]:
        """Remove and return the patterns that are too many to match one by one."""
        crowd: list[_Tried] = []
        for end, patterns in self.tried.items():
            room = _TRIED
            kept: list[_Tried] = []
            for pattern in sorted(patterns, key=lambda each: len(each[1])):
                room -= len(pattern[1])
                (kept if room >= 0 else crowd).append(pattern)
            self.tried[end] = kept
        if self.tried or self.certain.keys() != {""}:
            self.ends = _Prefixes({*self.certain, *self.tried})
        return crowd


class _Prefixes:
    """A set of texts that finds the prefixes of a text among its members."""

    __slots__ = ("_ordered", "_shorter")

    def __init__(self, texts: Iterable[str]) -> None:
        self._ordered = sorted(texts)
        self._shorter: dict[str, str | None] = {}  # text -> its longest prefix
        open_: list[str] = []
        for text in self._ordered:
            while open_ and not text.startswith(open_[-1]):
                open_.pop()
            self._shorter[text] = open_[-1] if open_ else None
            open_.append(text)

    def beginning(self, text: str) -> list[str]:
        """Return the members that are prefixes of *text*."""
        # Each is the last member sorted before *text*, or a prefix of that member.
        at = bisect_right(self._ordered, text)
        prefixes: list[str] = []
        start = self._ordered[at - 1] if at else None
        while start is not None:
            if prefixes or text.startswith(start):
                prefixes.append(start)
            start = self._shorter[start]
        return prefixes
