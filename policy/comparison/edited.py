"""Two sides of a comparison, and the lines one of which decides any difference between them.

Only lines without a counterpart on the other side can be among those that decide a text
differently, so the cost is that of the edit, not of the lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import attrs

from policy.comparison.alignment import counterparts
from policy.comparison.near import Lines
from policy.comparison.view import View
from policy.effect import Effect
from policy.patterns.automaton import NO_MATCH

__all__ = ["Edited", "Side"]


@attrs.frozen
class Side:
    """A meet of lists over one text.

    Attributes:
        views: the lists.
        floor: what holds whatever the text is.

    """

    views: tuple[View, ...]
    floor: Effect = Effect.ALLOW


class Edited:
    """The lists of two sides, and the lines that one of them alone has or that say something else.

    Args:
        before: one side.
        after: the other.

    Attributes:
        views: the lists, each once.
        sides: the numbers of those that are on each side.
        floors: what each side grants at most.
        kept: view -> line -> the same line in the view it is compared with.
        kept_lines: view -> those lines, in order.
        own: view -> its other lines.
        own_lines: the same, by what they start and end with.
        partners: a line that says something else of the same texts, and that line of the
            other view.
        aligned: the same by the entries of two views: other defaults change nothing of it.

    """

    def __init__(self, before: Side, after: Side) -> None:
        by_key: dict[object, int] = {}
        self.views: list[View] = []
        self.sides: list[set[int]] = []
        for side in (before, after):
            numbers = set()
            for view in side.views:
                number = by_key.setdefault(view.key, len(self.views))
                if number == len(self.views):
                    self.views.append(view)
                numbers.add(number)
            self.sides.append(numbers)
        self.floors = [before.floor, after.floor]
        self.kept: dict[int, dict[int, int]] = {}
        self.kept_lines: dict[int, list[int]] = {}
        self.own: dict[int, list[int]] = {}
        self.own_lines: dict[int, Lines] = {}
        self.partners: dict[tuple[int, int], tuple[int, int]] = {}
        self.aligned: dict[tuple[int, int, bool], dict[int, int]] = {}

    @cached_property
    def edits(self) -> list[tuple[int, int]]:
        """The lines, as view and index, one of which decides any difference."""
        return list(self._edits())

    def _edits(self) -> Iterator[tuple[int, int]]:
        only = [self.sides[0] - self.sides[1], self.sides[1] - self.sides[0]]
        if len(only[0]) == len(only[1]) == 1 and self.floors[0] is self.floors[1]:
            (before,), (after,) = only
            yield from self._edits_of_two(before, after)
            return
        if self.floors[0] is not self.floors[1]:
            only = [set(), set(range(len(self.views)))]
        same: dict[int, set[int]] = {}
        alike: dict[int, bool] = {}
        for one, other in self._pairs(*only):
            aligned = self._aligned(self.views[one], self.views[other])
            default = self.views[one].default is self.views[other].default
            for number, alone in ((one, {*aligned}), (other, {*aligned.values()})):
                same[number] = same.get(number, alone) & alone
                alike[number] = alike.get(number, True) and default
        for number in sorted(
            {*only[0], *only[1], *same}, key=lambda n: (n not in self.sides[1], n)
        ):
            list_ = self.views[number]
            for line in range(list_.shared, len(list_.entries)):
                if line not in same.get(number, ()):
                    yield number, line
            if not alike.get(number):
                yield number, NO_MATCH

    def _edits_of_two(self, before: int, after: int) -> Iterator[tuple[int, int]]:
        """Yield the same of two lists: lines that only one has, or that say something else."""
        kept = self._aligned(self.views[before], self.views[after], alike=False)
        self.kept = {before: kept, after: {new: old for old, new in kept.items()}}
        says: dict[int, list[int]] = {}
        for view, other in ((after, before), (before, after)):
            counterpart = self.kept[view]
            lines = range(len(self.views[view].entries))
            self.own[view] = [line for line in lines if line not in counterpart]
            patterns, entries = self.views[view].patterns, self.views[view].entries
            self.own_lines[view] = Lines(
                (n, patterns[n], entries[n].effect) for n in self.own[view]
            )
            self.kept_lines[view] = sorted(counterpart)
            others = self.views[other].entries
            changed = {
                n: at for n, at in counterpart.items() if entries[n].effect is not others[at].effect
            }
            self.partners |= {(view, line): (other, at) for line, at in changed.items()}
            says[view] = sorted((*self.own[view], *changed))
        for view, lines_of in says.items():
            yield from ((view, line) for line in lines_of)
        if self.views[before].default is not self.views[after].default:
            yield after, NO_MATCH

    def instead(self, view: int, line: int) -> Effect | None:
        """Return what the other side says of the same texts in the same place, if it does.

        And nobody wrote either, or somebody both.
        """
        other, place = self.partners.get((view, line), (view, line))
        views = self.views[view], self.views[other]
        alike = views[0].nobody_said[line + 1] is views[1].nobody_said[place + 1]
        return views[1].effect(place) if alike and other != view else None

    def _pairs(self, before: set[int], after: set[int]) -> Iterator[tuple[int, int]]:
        """Yield lists of both sides two by two, those with most lines in common first.

        However they are paired: where the sides differ, what grants less on one of them decides
        otherwise than any list of the other. One that is left over is paired with one that both
        sides have, or that is paired already, where few lines tell these two apart.
        """
        common = [
            (len(self._aligned(self.views[one], self.views[other])), one, other)
            for one in sorted(before)
            for other in sorted(after)
        ]
        left = before | after
        for _, one, other in sorted(common, key=lambda each: -each[0]):
            if {one, other} <= left:
                left -= {one, other}
                yield one, other
        for one in sorted(left) if self.floors[0] is self.floors[1] else ():
            others = sorted(self.sides[one in before])
            other = max(others, key=lambda each: self._saved(one, each), default=one)
            if self._saved(one, other) > 0 and other != one:
                yield one, other

    def _saved(self, one: int, other: int) -> int:
        """Return how many lines fewer are to be looked at where a list is paired with another."""
        lists = self.views[one], self.views[other]
        return 2 * len(self._aligned(*lists)) - len(lists[1].entries)

    def _aligned(self, before: View, after: View, *, alike: bool = True) -> dict[int, int]:
        key = id(before.entries), id(after.entries), alike
        if key not in self.aligned:
            self.aligned[key] = counterparts(before.entries, after.entries, alike=alike)
        return self.aligned[key]
