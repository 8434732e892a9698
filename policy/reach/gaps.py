"""Where a host grants something else than what is declared along the same chain.

Both readings are followed at once (`policy.reach.pairs`), since the chain that shows a gap
may be one that neither reading alone has to look at: the host hands nothing of a narrow
ancestor down, so behind ``main > narrow > worker`` it grants what it grants behind
``main > worker``, while less is declared.
"""

from __future__ import annotations

import attrs

from policy.chain import Attenuated, Chains, Reading
from policy.comparison.compare import Comparison, Difference, Known
from policy.comparison.meets import compare_meets
from policy.project import Project
from policy.reach.pairs import MANY_CHAINS, Pair, Pairs, Side
from policy.reach.showing import Bound, Showing
from policy.table import Table
from policy.telling import told

__all__ = ["Gap", "Gaps", "are_alike"]


@attrs.frozen
class Gap(Difference):
    """A call of which what is declared and what the host does differ along a chain.

    Attributes:
        chain: whose last agent makes the call; a shortest that was found.
        whole: whether the same is declared of every call of the tool.

    """

    chain: tuple[str, ...] = ()
    whole: bool = False


def are_alike(project: Project) -> bool:
    """Return whether what *project* declares is what its host does, chain by chain."""
    one, other = project.attenuated, project.enforced
    return _is_met(one) and _is_met(other) and _tables(one) == _tables(other)


def _is_met(reading: Reading) -> bool:
    return type(reading) is Attenuated


def _tables(reading: Reading) -> object:
    return (reading.tables, reading.roots) if isinstance(reading, Attenuated) else reading


class Gaps:
    """The gaps of one project.

    Args:
        project: whose.
        known: what comparisons of its tables found (`Table.differences`).

    """

    def __init__(self, project: Project, known: Known) -> None:
        self.project = project
        self._known = known
        self._compared: dict[object, Comparison] = {}
        self._chains = Chains(project.attenuated), Chains(project.enforced)
        self._showing = Showing(known)
        self._pairs: Pairs | None = None
        if not are_alike(project):
            readings = (project.attenuated, project.enforced)
            sides = (Side(each, project.starts, project.asides) for each in readings)
            self._pairs = Pairs(*sides, lonely=False)

    def of(self, agent: str) -> tuple[tuple[Gap, ...], tuple[str, ...]]:
        """Return the gaps of *agent*, and why there may be more."""
        if self._pairs is None:
            return (), ()
        unique: dict[object, Gap] = {}
        why: dict[str, None] = dict.fromkeys(() if self._pairs.is_whole else (MANY_CHAINS,))
        pairs = self._pairs.of(agent)
        bounds = [self._bound(pair, self._pairs) for pair in pairs]
        for pair in (pairs[number] for number in self._showing.of(bounds)):
            names = self._pairs.names(pair)
            declared, real = (chains.of(names) for chains in self._chains)
            found = self._compare(declared.table, real.table)
            why.update(dict.fromkeys(found.why))
            for each in found.differences:
                key = (each.tool, str(each.call), each.before.effect, each.after.effect)
                whole = declared.table.lookup(each.tool).constant is not None
                gap = Gap(each.tool, each.call, each.before, each.after, names, whole)
                unique.setdefault(key, gap)
        return tuple(unique.values()), tuple(why)

    @staticmethod
    def _bound(pair: Pair, pairs: Pairs) -> Bound:
        declared, real = (
            frozenset(pairs.rule_sets.sets[number] for number in position.use)
            for position in (pair.before, pair.after)
            if position is not None
        )
        return Bound(declared, real)

    def _compare(self, declared: Table, real: Table) -> Comparison:
        key = (declared.use.sets, real.use.sets)
        found = self._compared.get(key)
        if found is None:
            found = compare_meets(declared.use.linked, real.use.linked, self._known)
            self._compared[key] = found
        # Equal rules may stand elsewhere, and belong to others: each table decides for itself.
        anew = [declared.decided(real, each) for each in found.differences]
        return Comparison(told(anew, declared, real), found.why)
