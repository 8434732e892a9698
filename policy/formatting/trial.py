"""Rules that are left out of tables one by one, for as long as these decide alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from policy.formatting.taking_out import is_exemplified, without
from policy.ruleset import RuleSet
from policy.source import Place, Source, Span
from policy.table import Ceiling, Part, Table
from policy.telling import told

__all__ = ["Parts", "Trial"]

# What a ceiling is the meet of.
Parts = tuple[Part, ...]


@attrs.define
class Trial:
    """Tables from which rules are left out for as long as they decide alike."""

    source: Source
    tables: list[Parts]
    kept: dict[Span, str] = attrs.field(factory=dict)

    def leave_out(self, items: Sequence[Span]) -> list[Span]:
        """Return the items that can all be left out; none of the others can be as well."""
        gone: list[Span] = []
        waiting = list(items)
        while True:
            before = len(gone)
            gone += filter(self._leave_out, waiting)
            waiting = [item for item in waiting if item not in gone]
            if len(gone) == before:
                return gone

    def _leave_out(self, item: Span) -> bool:
        self.kept.pop(item, None)
        fewer = self._fewer(item)
        if fewer is None:
            return False
        if without(self.source, [item]) is None:
            exemplified = is_exemplified(self.source, item)
            self.kept[item] = _EXEMPLIFIED if exemplified else _IN_ITS_LIST
            return False
        for number, parts in fewer.items():
            self.tables[number] = parts
        return True

    def _fewer(self, item: Span) -> dict[int, Parts] | None:
        """Return the tables that change without *item*; None unless all decide alike."""
        changed: dict[int, Parts] = {}
        for number, parts in enumerate(self.tables):
            fewer = tuple(attrs.evolve(part, rules=_without(part.rules, item)) for part in parts)
            if all(one.rules is other.rules for one, other in zip(fewer, parts, strict=True)):
                continue
            tables = Table(Ceiling.of(parts)), Table(Ceiling.of(fewer))
            found = tables[0].differences(tables[1])
            if told(found.differences, *tables):
                return None
            if not found.exact:
                self.kept[item] = _UNDECIDED
                return None
            changed[number] = fewer
        return changed


_UNDECIDED: Final = "it was not decided whether it matters"
_EXEMPLIFIED: Final = "no call is decided otherwise without it, but the example below is of it"
_IN_ITS_LIST: Final = (
    "no call is decided otherwise without it, but it cannot be taken out of its list alone"
)


def _without(rules: RuleSet, item: Span) -> RuleSet:
    kept = tuple(entry for entry in rules.entries if not _is_of(entry.place, item))
    return rules if len(kept) == len(rules.entries) else attrs.evolve(rules, entries=kept)


def _is_of(place: Place | None, item: Span) -> bool:
    if place is None or place.file != item.source.name:
        return False
    return item.start <= item.source.offset(place.line, place.column) < item.end
