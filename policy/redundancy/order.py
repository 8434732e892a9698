"""Rules of an ordered list that decide only because of their place.

Where the first rule that matches decides, an exception stands before what it is
an exception of. Whoever sorts such a list, or adds to its end, changes what it
says without changing a rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

import attrs

from policy.comparison.compare import Difference
from policy.patterns.pattern import Pattern
from policy.ruleset import Entry, RuleSet
from policy.table import Table

__all__ = ["Placed", "placed"]

# Rules of one list that are tried; each pair costs a comparison.
_MOST: Final = 40

_ANYTHING: Final = Pattern.text("*")


@attrs.frozen
class Placed:
    """A rule that decides only because it stands before another one.

    Attributes:
        rule: as written.
        before: the first rule behind which it would not decide all that it decides.
        witness: a call, and what it gets in the one order and the other.

    """

    rule: str
    before: str
    witness: Difference


def placed(rules: RuleSet) -> Iterator[Placed]:
    """Yield the rules of a list that decide only because of their place.

    What stands behind all others and matches every call is a default, and before
    that everything else stands: it is not told. Beyond a bound of rules nothing is.
    """
    said = [tuple(entries) for _, entries in groupby(rules.entries, lambda e: (e.rule, e.effect))]
    if len(said) > _MOST:
        return
    whole = Table.of(rules)
    for at, one in enumerate(said):
        for behind in range(at + 1, len(said)):
            other = said[behind]
            if other[0].effect is one[0].effect or _is_default(other, behind, said):
                continue
            moved = (*said[:at], *said[at + 1 : behind + 1], one, *said[behind + 1 :])
            entries = tuple(entry for group in moved for entry in group)
            found = whole.differences(Table.of(attrs.evolve(rules, entries=entries))).differences
            if found:
                yield Placed(one[0].rule, other[0].rule, found[0])
                break


def _is_default(rule: tuple[Entry, ...], at: int, said: list[tuple[Entry, ...]]) -> bool:
    """Return whether nothing behind *rule* speaks of its tool, of which it matches every call."""
    total = any(entry.pattern is None or entry.pattern == _ANYTHING for entry in rule)
    tools = {entry.tool for entry in rule}
    return total and not any(entry.tool in tools for other in said[at + 1 :] for entry in other)
