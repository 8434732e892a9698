"""What agents are bound by behind some chain: what a search over all chains needs of it.

A *position* is an agent behind some chain, as far as it matters for what can
follow: the rule sets that bound what it may use and what it may hand on, by their
numbers (`policy.reach.numbers`), and what else its host looks at. How positions
follow one another is `policy.reach.moves`.
"""

from __future__ import annotations

from collections.abc import Hashable

import attrs

from policy.chain import Link
from policy.reach.numbers import RuleSets, Sets
from policy.table import TRUST, Bounds, Ceiling, Part, Table

__all__ = ["Position", "joined", "table_of"]


@attrs.define(eq=False)
class Position:
    """An agent behind a chain.

    Attributes:
        agent: its number.
        use: what bounds what it may use.
        delegated: what bounds what it may hand on.
        bounds: limits beside the rules.
        depth: agents before it, where that matters for what follows; else 0.
        state: what else matters to its host.
        parent: the position that started it; None for a root, and for a join.
        link: as its reading made it; None where all follows from the sets.
        is_covered: whether another position covers it that was found later.

    """

    agent: int
    use: Sets
    delegated: Sets
    bounds: Bounds = Bounds()
    depth: int = 0
    state: Hashable = None
    parent: Position | None = None
    link: Link | None = None
    is_covered: bool = False

    def covers(self, other: Position) -> bool:
        """Return whether whatever follows from *other* follows from this one, granting no less.

        Fewer rule sets grant more: a meet only narrows.
        """
        return (
            self.use <= other.use
            and self.delegated <= other.delegated
            and self.depth <= other.depth
            and self.state == other.state
            and (self.bounds is other.bounds or other.bounds & self.bounds == other.bounds)
        )


def table_of(position: Position, rule_sets: RuleSets) -> Table:
    """Return the table of *position*, whose rules are of no link in particular."""
    use, delegated = (
        Ceiling.of(Part(rule_sets.sets[number]) for number in sorted(sets))
        for sets in (position.use, position.delegated)
    )
    return Table(use, delegated, position.bounds)


def joined(one: Position, other: Position, rule_sets: RuleSets) -> Position:
    """Return a position of the same agent and state that grants no less than either."""
    bounds = Bounds(
        _most(one.bounds.depth, other.bounds.depth),
        _most(one.bounds.turns, other.bounds.turns),
        _trusted(one.bounds.trust, other.bounds.trust),
    )
    use = _common(one.use, other.use, rule_sets)
    delegated = _common(one.delegated, other.delegated, rule_sets)
    depth = min(one.depth, other.depth)
    return Position(one.agent, use, delegated, bounds, depth, one.state)


def _common(one: Sets, other: Sets, rule_sets: RuleSets) -> Sets:
    # What denies everything grants no more than the other.
    if one & rule_sets.denying:
        return other
    if other & rule_sets.denying:
        return one
    return one & other


def _most(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


def _trusted(one: str | None, other: str | None) -> str | None:
    return None if one is None or other is None else max(one, other, key=TRUST.index)
