"""Which tables grant no more than another, as far as their lines show it.

A comparison decides it (`policy.comparison`), and costs more than a list that is a little
shorter is worth. Here one table is within another where it says of each tool what
the other says, or denies the tool altogether.
"""

from __future__ import annotations

from collections.abc import Sequence

from policy.chain import Chain
from policy.comparison.tools import representatives
from policy.effect import Effect
from policy.lookup import Lookup
from policy.rows.row import Row
from policy.table import Table

__all__ = ["apart"]

# Chains of one agent of which each is held against those before it.
_MOST = 16


def apart(chains: Sequence[Chain]) -> tuple[Chain, ...]:
    """Return *chains* without those that grant no more than an earlier one does."""
    if not 1 < len(chains) <= _MOST:
        return tuple(chains)
    kept: list[Chain] = []
    for chain in chains:
        if not any(_covers(earlier, chain) for earlier in kept):
            kept.append(chain)
    return tuple(kept)


def _covers(wide: Chain, narrow: Chain) -> bool:
    confirmed, needed = (
        {link.name for link in chain.links if link.confirm} for chain in (wide, narrow)
    )
    return confirmed <= needed and _is_within(narrow.table, wide.table)


def _is_within(narrow: Table, wide: Table) -> bool:
    sets = [part.rules for table in (narrow, wide) for part in table.use.parts]
    tools, exact = representatives(sets)
    return exact and all(_says_less(narrow.lookup(tool), wide.lookup(tool)) for tool in tools)


def _says_less(narrow: Lookup, wide: Lookup) -> bool:
    if narrow.constant is not None and narrow.constant.effect is Effect.DENY:
        return True
    if narrow.floor > wide.floor:
        return False
    said = {_said(row) for row, _ in narrow.rows}
    # What either says is a meet: whatever binds the wide one has to bind the narrow one.
    return {_said(row) for row, _ in wide.rows} <= said


def _said(row: Row) -> object:
    lines, others = (
        tuple((e.pattern, e.field, e.effect, e.reason) for e in entries)
        for entries in (row.entries, row.others or ())
    )
    return lines, others, row.default.effect, row.default.reason, id(row.ruleset.dialect)
