"""Which calls two tables decide differently."""

from __future__ import annotations

from policy.compare.compare import Comparison, Difference, Known
from policy.compare.meets import compare_meets
from policy.compare.ordinary import ordinary
from policy.compare.tool_pair import remembered
from policy.core.memory import seldom_collecting
from policy.tables.table import Table

__all__ = ["decided", "differences"]


@seldom_collecting
def differences(old: Table, new: Table, known: Known | None = None) -> Comparison:
    """Return how calls are decided differently by *old* and then by *new*.

    Exact unless the comparison says otherwise: no difference means that no
    call of any tool is decided differently. What may be delegated is not
    compared; `Table(use=table.delegated)` is the table of that.

    Args:
        old: one table.
        new: the other.
        known: what comparisons of other tables found, which share some of their
            lines with these; what is found here is added.

    """
    found = compare_meets(old.use.linked, new.use.linked, known)
    anew = (decided(old, new, each) for each in found.differences)
    return Comparison(tuple(ordinary(anew, old, new)), found.why)


def decided(old: Table, new: Table, difference: Difference) -> Difference:
    """Return what *old* and *new* decide on the call of a difference of other tables."""
    tool, call = difference.tool, difference.call
    # Every table is asked about the same commands.
    lookups = (old.lookup(tool), new.lookup(tool))
    return Difference(
        tool, call, *(lookup.decide(call, remember=False, read=remembered) for lookup in lookups)
    )
