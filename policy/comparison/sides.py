"""Two sides of a comparison, as lists over one text: which lines may decide one together.

Two lists A and B decide some text differently just when there are a line of A
and a line of B with different effects, and a text that both lines match and
both lists decide by those lines (`policy.comparison.pair`). One of them is an edit
(`policy.comparison.edited`).

Where a side is a meet of several lists, a line is chosen for each of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

from policy.comparison.edited import Edited, Side
from policy.comparison.view import View
from policy.effect import Effect
from policy.patterns.automaton import NO_MATCH
from policy.patterns.pattern import Pattern, freeze
from policy.patterns.search import fresh_character

__all__ = ["Sides", "is_inside"]


class Sides(Edited):
    """The lists of two sides, and the lines that may decide a text together.

    Args:
        before: one side.
        after: the other.
        letters: characters for "any text", the best first, where a call can
            hold no others.

    Attributes:
        by_default: whether only texts count that no line decides on one of the sides.

    """

    def __init__(self, before: Side, after: Side, *, letters: str = "") -> None:
        super().__init__(before, after)
        self._letters = letters
        self.by_default = False
        # pattern, view -> the line that matches all that the pattern does
        self._containing: dict[tuple[Pattern, int], int] = {}

    @cached_property
    def patterns(self) -> list[Pattern]:
        """The patterns of all views."""
        return [pattern for view in self.views for pattern in view.patterns]

    @cached_property
    def fresh(self) -> str:
        """A character that no pattern names, and that a call can hold."""
        letters = set[str]().union(*(view.letters for view in self.views))
        chosen = next((c for c in self._letters if c not in letters), None)
        return chosen or fresh_character(letters)

    @cached_property
    def extra(self) -> frozenset[str]:
        """The characters that sets of the patterns tell apart from a fresh one."""
        return frozenset[str]().union(*(view.excluded for view in self.views))

    @cached_property
    def plain(self) -> bool:
        """Whether all patterns are star patterns."""
        return all(view.is_plain for view in self.views)

    @cached_property
    def denying(self) -> Sequence[View]:
        """The lists of both sides that deny whatever no line of theirs grants."""
        shared = (self.views[number] for number in sorted(self.sides[0] & self.sides[1]))
        return [view for view in shared if view.default is Effect.DENY]

    def pattern(self, view: int, line: int) -> Pattern | None:
        """Return the pattern of a line; None for the default."""
        return None if line == NO_MATCH else self.views[view].patterns[line]

    def combinations(
        self, chosen: dict[int, int], firsts: Sequence[int], seen: Container[object]
    ) -> Iterator[dict[int, int]]:
        """Yield *chosen* with a deciding line for every other view as well.

        Left out is what cannot be, or shows nothing new: effects that are equal
        or *seen*; a line whose counterpart decides before a chosen one. Of star
        patterns, the line that matches the frozen one contains all of it
        (*firsts*), so no later line decides any of it.
        """
        rest = [number for number in range(len(self.views)) if number not in chosen]
        if not rest:
            effects = self.effects(chosen)
            by_line = self.by_default and NO_MATCH not in chosen.values()
            if effects[0] is not effects[1] and effects not in seen and not by_line:
                yield chosen
            return
        if all(effect is Effect.DENY for effect in self._so_far(chosen)):
            return  # whatever the other views say
        if len(chosen) == 1:
            (decides,) = chosen.items()
            other, line = self.partners.get(decides, decides)
            if other not in chosen:
                # Lines that stand before either are edits of their own.
                yield from self.combinations({**chosen, other: line}, firsts, seen)
                return
        # Where little is granted little has to be tried, and most of that ends there.
        number = min(rest, key=self._granting.__getitem__)
        view = self.views[number]
        patterns = [p for other, line in chosen.items() if (p := self.pattern(other, line))]
        nearest = max(patterns, key=_literal, default=None)
        last = firsts[number] if patterns else NO_MATCH
        # Only the effect of the last view tells whether there is something new.
        is_last = len(rest) == 1
        earliest = max((line for other, line in chosen.items() if other in self.kept), default=-1)
        # What lines decide on both sides is the same whoever runs it.
        open_ = not (is_last and self.by_default and NO_MATCH not in chosen.values())
        only = next((pattern for pattern in patterns if pattern.exact), None)
        if only is not None:
            # Of a single text each view says at once which line decides it.
            line = view.automaton.first(freeze(only, self.fresh))
            if (line == NO_MATCH or (open_ and line >= view.shared)) and (
                not is_last or self._tells(number, view.effect(line), chosen, seen)
            ):
                yield from self.combinations({**chosen, number: line}, firsts, seen)
            return
        telling = (e for e in Effect if not is_last or self._tells(number, e, chosen, seen))
        for effect in telling if open_ else ():
            for line in self._lines(number, nearest, effect, earliest, last):
                if nearest is not None and view.is_hidden(line, nearest):
                    continue
                if is_last and not self._tells(number, effect, chosen, seen):
                    break
                yield from self.combinations({**chosen, number: line}, firsts, seen)
        if last == NO_MATCH and (not is_last or self._tells(number, view.default, chosen, seen)):
            yield from self.combinations({**chosen, number: NO_MATCH}, firsts, seen)

    def _lines(
        self, number: int, nearest: Pattern | None, effect: Effect, earliest: int, last: int
    ) -> Iterator[int]:
        """Yield the lines of a view that can decide beside those chosen so far."""
        view = self.views[number]
        first = view.shared
        kept = self.kept.get(number)
        if kept is not None:
            if earliest == NO_MATCH:
                return  # what no line matches there is matched by no kept one here
            # Those that are kept are in the same order on both sides.
            first = max(first, self._first_kept(number, earliest))
            before = min(first - 1, last)
            if nearest is not None:
                yield from sorted(self.own_lines[number].near(nearest, effect, 0, before))
            else:
                yield from self._saying(
                    effect, number, (n for n in self.own[number] if n <= before)
                )
        if nearest is not None:
            yield from view.lines.near(nearest, effect, first, last)
            return
        yield from self._saying(effect, number, range(first, min(last + 1, len(view.entries))))

    def _saying(self, effect: Effect, number: int, lines: Iterable[int]) -> Iterator[int]:
        return (line for line in lines if self.views[number].entries[line].effect is effect)

    def _first_kept(self, number: int, earliest: int) -> int:
        """Return the first line whose counterpart is not before *earliest*."""
        kept = self.kept_lines[number]
        at = bisect_left(kept, earliest, key=self.kept[number].__getitem__)
        return kept[at] if at < len(kept) else len(self.views[number].entries)

    def _tells(
        self, number: int, effect: Effect, chosen: Mapping[int, int], seen: Container[object]
    ) -> bool:
        """Return whether *effect* of the last view would show something new."""
        before, after = (
            min([floor, *(effect if n == number else self._effect(n, chosen[n]) for n in side)])
            for floor, side in zip(self.floors, self.sides, strict=True)
        )
        return before is not after and (before, after) not in seen

    def _effect(self, view: int, line: int) -> Effect:
        return self.views[view].effect(line)

    @cached_property
    def _granting(self) -> list[tuple[bool, int]]:
        """What each view grants by default, and how many lines it has, to compare views by."""
        return [(view.default is not Effect.DENY, len(view.entries)) for view in self.views]

    def _so_far(self, chosen: Mapping[int, int]) -> tuple[Effect, Effect]:
        """Return the most that both sides can grant where these lines decide."""
        before, after = (
            min([floor, *(self._effect(n, line) for n, line in chosen.items() if n in side)])
            for floor, side in zip(self.floors, self.sides, strict=True)
        )
        return before, after

    def containing(self, pattern: Pattern, view: int) -> int:
        """Return the first line of a view that may decide a text of *pattern*, if it has all of it.

        NO_MATCH where that is not known of the line.
        """
        key = pattern, view
        if key not in self._containing:
            first = self.views[view].automaton.first(freeze(pattern, self.fresh))
            known = first != NO_MATCH and is_inside(pattern, self.views[view].patterns[first])
            self._containing[key] = first if known else NO_MATCH
        return self._containing[key]

    def effects(self, combination: Mapping[int, int]) -> tuple[Effect, Effect]:
        """Return what both sides grant where each list decides by its line of *combination*."""
        return self.granted({n: self._effect(n, line) for n, line in combination.items()})

    def granted(self, effects: Mapping[int, Effect] | Sequence[Effect]) -> tuple[Effect, Effect]:
        """Return what both sides grant where each list says its one of *effects*."""
        before, after = (
            min([floor, *(effects[n] for n in side)])
            for floor, side in zip(self.floors, self.sides, strict=True)
        )
        return before, after


def _literal(pattern: Pattern) -> int:
    return sum(len(token) for token in pattern.tokens if isinstance(token, str))


@lru_cache(maxsize=65_536)  # tools share most of their lines
def is_inside(narrow: Pattern, wide: Pattern) -> bool:
    """Return whether *wide* is known to match all that *narrow* does."""
    try:
        return narrow <= wide
    except OverflowError:
        return False
