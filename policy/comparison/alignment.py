"""Two lists side by side: which lines of one stand in the other too, in the same order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from policy.rows.entry import RowEntry

__all__ = ["counterparts"]


def counterparts(
    before: Sequence[RowEntry], after: Sequence[RowEntry], *, alike: bool = True
) -> dict[int, int]:
    """Return which lines of *before* stand in *after* too, in the same order.

    Whatever call is decided differently is decided, on one side or the other,
    by a line without a counterpart: of two lists with the same lines in the
    same order the first that matches is the same.

    Args:
        before: the lines of one list.
        after: those of the other.
        alike: whether a line that says something else of the same texts is none. If it
            is one, both may decide a call differently too, and no others do beside either.

    """
    pairs = [*_same(before, after, range(len(before)), range(len(after)), alike=True)]
    if not alike:
        paired, others = dict(pairs), {place for _, place in pairs}
        left = [number for number in range(len(before)) if number not in paired]
        over = [number for number in range(len(after)) if number not in others]
        pairs = sorted([*pairs, *_same(before, after, left, over, alike=False)])
    return dict(pairs[i] for i in _increasing([second for _, second in pairs]))


def _same(
    before: Sequence[RowEntry],
    after: Sequence[RowEntry],
    some: Sequence[int],
    others: Sequence[int],
    *,
    alike: bool,
) -> Iterator[tuple[int, int]]:
    """Yield two by two *some* lines of *before* and *others* of *after* that are the same."""
    # Hardly a line stands twice in a list: where one does, the places behind the first.
    places: dict[object, int] = {}
    further: dict[object, list[int]] = {}
    for number in reversed(others):
        said = after[number].pattern, alike and after[number].effect
        if said in places:
            further.setdefault(said, []).append(places[said])
        places[said] = number
    for number in some:
        said = before[number].pattern, alike and before[number].effect
        place = places.pop(said, None)
        if place is not None:
            yield number, place
            if further.get(said):
                places[said] = further[said].pop()


def _increasing(numbers: Sequence[int]) -> list[int]:
    """Return the positions of a longest increasing subsequence."""
    tails: list[int] = []
    at: list[int] = []
    previous: list[int] = []
    for position, number in enumerate(numbers):
        length = bisect_left(tails, number)
        previous.append(at[length - 1] if length else -1)
        tails[length : length + 1] = [number]
        at[length : length + 1] = [position]
    result: list[int] = []
    position = at[-1] if at else -1
    while position >= 0:
        result.append(position)
        position = previous[position]
    return result[::-1]
