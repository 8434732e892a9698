"""What two readings decide differently, chain by chain."""

from __future__ import annotations

from policy.analysis.reach.worklist import Chains, ReadingSide, Worklist, is_met_alike
from policy.compare.compare import Comparison, Known
from policy.compare.tables import compare_meets, decided, told
from policy.compare.witness import Difference, ordinary
from policy.tables.chain import Chain
from policy.tables.table import Table


def cause(difference: Difference) -> object:
    """Return what becomes of a tool by which rules, whichever links of a chain these are of."""
    rules = tuple(
        tuple((one.rule, one.effect, one.place) for one in decision.because)
        for decision in (difference.before, difference.after)
    )
    return difference.tool, difference.effects, rules


class ComparedChains:
    """How two readings decide along the chains that both have, and which chains one has alone.

    *known* is what comparisons of tables found so far. `pairs` are the pairs of positions that
    matter, and None where both are met from equal tables.
    """

    def __init__(
        self, before: ReadingSide, after: ReadingSide, known: Known, *, one_sided: bool = True
    ) -> None:
        is_started_alike = (before.starts, before.alone) == (after.starts, after.alone)
        is_same = is_started_alike and is_met_alike(before.reading, after.reading)
        self.pairs = None if is_same else Worklist(before, after, one_sided=one_sided).run()
        self._known = known
        self._compared: dict[object, Comparison] = {}
        self._chains = Chains(before.reading), Chains(after.reading)

    def chain(self, number: int, names: tuple[str, ...]) -> Chain:
        """Return a chain of one side, which has it."""
        return self._chains[number].chain(names)

    def tables(self, names: tuple[str, ...]) -> tuple[Table, Table]:
        """Return what both sides have at the end of a chain."""
        return self.chain(0, names).table, self.chain(1, names).table

    def compare(self, names: tuple[str, ...]) -> Comparison:
        """Return how both sides differ at the end of a chain: a difference for each cause.

        Equal rules that stand elsewhere, or belong to others, may be the reasons (`at`).
        """
        before, after = self.tables(names)
        key = (before.use.sets, after.use.sets)
        if key not in self._compared:
            found = compare_meets(before.use.linked, after.use.linked, self._known)
            causes: dict[object, Difference] = {}
            for difference in told(ordinary(found.differences, before, after), before, after):
                causes.setdefault(cause(difference), difference)
            self._compared[key] = Comparison(tuple(causes.values()), found.why)
        return self._compared[key]

    def at(self, names: tuple[str, ...], difference: Difference) -> Difference:
        """Return a difference as a chain decides it: rules and links are its own."""
        return decided(*self.tables(names), difference)
