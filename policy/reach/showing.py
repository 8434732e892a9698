"""Which of many chains of an agent show all that its host grants otherwise than is declared.

An agent may stand behind thousands of chains, each bound by the rule sets of other
ancestors, and most show nothing that another one does not show as well:

- the host grants more than a meet just where it grants more than one of its rule
  sets, so that each rule set needs one chain, among those where the host grants no less;
- it grants less than a meet only where it grants less than what all those meets have
  in common. Where that shows no such call, no chain does; else each is asked of the chains.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from policy.comparison.compare import Difference, Known
from policy.effect import Effect
from policy.ruleset import RuleSet
from policy.table import Ceiling, Part, Table
from policy.telling import is_idle

__all__ = ["Bound", "Showing"]

_Sets = frozenset[RuleSet]


@attrs.frozen
class Bound:
    """What bounds an agent behind a chain.

    Attributes:
        declared: the rule sets of what is declared.
        real: those of what the host does.

    """

    declared: _Sets
    real: _Sets


class Showing:
    """Chooses chains; what it compares on the way serves all agents of a project.

    Args:
        known: what comparisons found so far (`Table.differences`).

    """

    def __init__(self, known: Known) -> None:
        self._known = known
        self._within: dict[tuple[RuleSet, RuleSet], bool] = {}
        self._narrowed: dict[tuple[_Sets, _Sets], tuple[Difference, ...] | None] = {}

    def of(self, chains: Sequence[Bound]) -> list[int]:
        """Return the numbers of chains that together show every gap of any of *chains*."""
        alike: dict[_Sets, list[int]] = {}
        for number, chain in enumerate(chains):
            alike.setdefault(chain.real, []).append(number)
        chosen: set[int] = set()
        shown: dict[_Sets, set[RuleSet]] = {}
        for real, numbers in alike.items():
            # What the host denies by a rule set itself it never grants beyond that.
            seen = set(real)
            for other, sets in shown.items():
                if not sets.issubset(seen) and self._is_within(real, other):
                    seen |= sets
            for number in numbers:
                if not chains[number].declared <= seen:
                    seen |= chains[number].declared
                    chosen.add(number)
            shown[real] = seen
            if not chosen.issuperset(numbers):
                chosen |= self._refused(chains, numbers, chosen)
        return sorted(chosen)

    def _is_within(self, real: _Sets, other: _Sets) -> bool:
        """Return whether each of *other* is above one of *real*: then so are the meets."""
        return all(any(self._is_below(one, two) for one in real) for two in other)

    def _is_below(self, one: RuleSet, two: RuleSet) -> bool:
        """Return whether *one* grants no more, where both are lists of tools or equal.

        To compare other rule sets would take longer than to compare the chains.
        """
        if (one, two) not in self._within:
            listed = _names_alone(one) and _names_alone(two)
            self._within[one, two] = one == two or (listed and _table({one}) <= _table({two}))
        return self._within[one, two]

    def _refused(
        self, chains: Sequence[Bound], numbers: Sequence[int], chosen: set[int]
    ) -> set[int]:
        """Return chains that show what the host refuses behind any of some, where it is one."""
        real = chains[numbers[0]].real
        common = frozenset[RuleSet].intersection(*(chains[n].declared for n in numbers))
        calls = self._less(common, real)
        if calls is None:
            return set(numbers)
        found: set[int] = set()
        ordered = sorted(numbers, key=lambda number: (number not in chosen, number))
        for each in calls:
            effects: dict[RuleSet, Effect] = {}
            showing = (n for n in ordered if _grants_more(chains[n].declared, each, effects))
            number = next(showing, None)
            if number is None:
                # Other calls that the same rules decide may differ behind one of them.
                return set(numbers)
            found.add(number)
        return found

    def _less(self, declared: _Sets, real: _Sets) -> tuple[Difference, ...] | None:
        """Return how *real* grants less than *declared*; None where that is not decided."""
        if real <= declared:
            return ()
        if (declared, real) not in self._narrowed:
            found = _table(declared).differences(_table(real), self._known)
            less = (each for each in found.differences if not each.widened and not is_idle(each))
            self._narrowed[declared, real] = tuple(less) if found.exact else None
        return self._narrowed[declared, real]


def _names_alone(rules: RuleSet) -> bool:
    return all(entry.pattern is None for entry in rules.entries)


def _grants_more(sets: _Sets, than: Difference, effects: dict[RuleSet, Effect]) -> bool:
    """Return whether the meet of *sets* grants more of a call than what came after."""
    for rules in sets:
        if rules not in effects:
            effects[rules] = rules.row(than.tool).outcome(than.call).effect
        if effects[rules] <= than.after.effect:
            return False
    return True


def _table(sets: set[RuleSet] | _Sets) -> Table:
    return Table(Ceiling.of(map(Part, sets)))
