"""Finds the calls that two readings decide differently, chain by chain."""

from __future__ import annotations

from policy.analysis.reach.worklist import Chains, ReadingSide, Worklist, meet_equal_tables
from policy.compare.compare import Comparison, Known
from policy.compare.tables import compare_meets, decided, reported
from policy.compare.witness import Difference
from policy.tables.chain import Chain
from policy.tables.table import Table


def cause(difference: Difference) -> object:
    """Return what groups differences: tool, effects and rules, but not the links of the rules."""
    rules = tuple(
        tuple((one.rule, one.effect, one.place) for one in decision.because)
        for decision in (difference.before, difference.after)
    )
    return difference.tool, difference.effects, rules


class ComparedChains:
    """Two readings, compared at the end of each chain that both have.

    *known* holds the comparisons of tables made so far. `pairs` are the pairs of positions that
    matter; None if both readings meet equal tables, so that no chain differs.
    """

    def __init__(
        self, before: ReadingSide, after: ReadingSide, known: Known, *, one_sided: bool = True
    ) -> None:
        same_starts = (before.starts, before.alone) == (after.starts, after.alone)
        is_same = same_starts and meet_equal_tables(before.reading, after.reading)
        self.pairs = None if is_same else Worklist(before, after, one_sided=one_sided).run()
        self._known = known
        self._compared: dict[object, Comparison] = {}
        self._chains = Chains(before.reading), Chains(after.reading)

    def chain(self, number: int, names: tuple[str, ...]) -> Chain:
        """Return the chain *names* of one side: 0 is before, 1 is after."""
        return self._chains[number].chain(names)

    def tables(self, names: tuple[str, ...]) -> tuple[Table, Table]:
        """Return the tables of both sides at the end of a chain."""
        return self.chain(0, names).table, self.chain(1, names).table

    def compare(self, names: tuple[str, ...]) -> Comparison:
        """Return one difference for each cause (`cause`) at the end of a chain.

        Decisions have numbers in place of links, and chains with equal tables share the result, so
        its rules may name places of another chain; `at` corrects these.
        """
        before, after = self.tables(names)
        key = (before.use.sets, after.use.sets)
        if key not in self._compared:
            found = compare_meets(before.use.linked, after.use.linked, self._known)
            causes: dict[object, Difference] = {}
            for difference in reported(found.differences, before, after):
                causes.setdefault(cause(difference), difference)
            self._compared[key] = Comparison(tuple(causes.values()), found.why)
        return self._compared[key]

    def at(self, names: tuple[str, ...], difference: Difference) -> Difference:
        """Return *difference* with the rules and links of the chain *names*."""
        return decided(*self.tables(names), difference)
