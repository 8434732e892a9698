"""What a table says of each tool, as one list: the first line that matches decides.

A table is a meet of lists. Where the meet cannot be written out, less is granted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import Final

from policy.chain import SPAWN_TOOL
from policy.comparison.tools import OTHER_TOOL, glob_pattern, representatives
from policy.decision import Reason
from policy.dialect import Argument
from policy.effect import Effect
from policy.lookup import Lookup
from policy.patterns.pattern import Pattern
from policy.portable import Agent, Line, Said, covers
from policy.rows.entry import RowEntry
from policy.rows.row import Row
from policy.ruleset import RuleSet
from policy.table import Table
from policy.telling import internal_tools

__all__ = ["said"]


def said(table: Table, name: str, known: Mapping[str, Argument]) -> Agent:
    """Return what *table*, in common words, says of every tool that it can tell apart."""
    sets = [part.rules for part in table.use.parts]
    named, _ = representatives(sets)
    internal = internal_tools(rules.dialect for rules in sets)
    written = {*known}.union(*(rules.names for rules in sets))
    tools = {tool: _said(table.lookup(tool)) for tool in sorted(written - internal - {SPAWN_TOOL})}
    otherwise = _least(table.lookup(OTHER_TOOL))
    globs = _globs(sets, [tool for tool in named if tool not in written], table)
    return Agent(
        name,
        tools,
        otherwise,
        globs,
        starting=tuple(dict.fromkeys(_starting(table))),
        bounds=table.bounds,
    )


def _starting(table: Table) -> Iterator[Line]:
    """Yield what takes from calls that start agents, by what they say beside the agent."""
    for row, _ in table.lookup(SPAWN_TOOL).rows:
        for entry in row.entries:
            beside = bool(entry.field) and entry.field not in row.argument.fields
            takes = entry.effect is not Effect.ALLOW and entry.reason is not Reason.MALFORMED
            if entry.pattern is not None and beside and takes:
                yield Line(entry.effect, entry.pattern, entry.field)


def _globs(sets: list[RuleSet], others: list[str], table: Table) -> dict[str, Effect]:
    """Return what tools get by their names alone; where they differ, the least."""
    found: dict[str, Effect] = {}
    for rules in sets:
        for glob in rules.globs:
            if not glob.startswith("=") and glob != "*":
                matching = [name for name in others if glob_pattern(glob).matches(name)]
                effects = [_least(table.lookup(name)) for name in matching]
                found[glob] = min(effects, default=Effect.DENY)
    return found


def _least(lookup: Lookup) -> Effect:
    """Return what every call gets at least."""
    if lookup.constant is not None:
        return lookup.constant.effect
    said = _said(lookup)
    return min((line.effect for line in said.lines), default=said.default) & said.default


# Combinations of lines of several lists that are written out.
_COMBINATIONS: Final = 4_000

_Granting = tuple[RowEntry | None, Effect]


def _said(lookup: Lookup) -> Said:
    constant = lookup.constant
    rows = [row for row, _ in lookup.rows]
    if constant is not None or not rows:
        return Said(constant.effect if constant is not None else lookup.floor)
    floor, kind = lookup.floor, rows[0].argument.kind
    if len(rows) == 1:
        lines = [
            Line(entry.effect & floor, entry.pattern, entry.field, entry.place is not None)
            for entry in _entries(rows[0])
            if entry.pattern is not None
        ]
        return Said(rows[0].default.effect & floor, tuple(lines), kind)
    return Said(min(row.default.effect for row in rows) & floor, tuple(_met(rows, floor)), kind)


def _entries(row: Row) -> Iterator[RowEntry]:
    """Yield the lines of a row, one for each choice of alternatives: few languages have these."""
    for entry in row.entries:
        for pattern in entry.pattern.spelled_out if entry.pattern is not None else (None,):
            yield entry if pattern is entry.pattern else entry._replace(pattern=pattern)


def _met(rows: list[Row], floor: Effect) -> Iterator[Line]:
    """Yield lines that grant no more than all of several lists do.

    What one denies is denied, and so is what one asks for unless all others grant
    as much; then come what all allow, and what all grant, as far as one pattern is
    within the others.
    """
    for row in rows:
        for entry in _entries(row):
            if entry.effect is Effect.DENY and entry.pattern is not None:
                yield Line(Effect.DENY, entry.pattern, entry.field)
    for row in rows:
        others = [other for other in rows if other is not row]
        for entry in _entries(row):
            if entry.effect is Effect.ASK and entry.pattern is not None:
                granted = all(_grants(other, entry.pattern, entry.field) for other in others)
                effect = Effect.ASK if granted else Effect.DENY
                yield Line(effect & floor, entry.pattern, entry.field)
    granting: list[list[_Granting]] = [[*_granting(row)] for row in rows]
    asked: list[Line] = []
    for chosen in islice(product(*granting), _COMBINATIONS):
        entries = [entry for entry, _ in chosen if entry is not None]
        effect = min(effect for _, effect in chosen) & floor
        smallest = _smallest(entries)
        if smallest is not None and smallest.pattern is not None and effect is not Effect.DENY:
            line = Line(effect, smallest.pattern)
            if effect is Effect.ALLOW:
                yield line
            else:
                asked.append(line)
    yield from asked


def _granting(row: Row) -> Iterator[_Granting]:
    for entry in _entries(row):
        if entry.effect is Effect.ALLOW and not entry.field:
            yield entry, entry.effect
    if row.default.effect is not Effect.DENY:
        yield None, row.default.effect


def _grants(row: Row, pattern: Pattern, field: str) -> bool:
    if row.default.effect is not Effect.DENY:
        return True
    granting = (e.pattern for e in row.entries if e.effect is not Effect.DENY and e.field == field)
    return covers(pattern, [one for one in granting if one is not None])


def _smallest(entries: list[RowEntry]) -> RowEntry | None:
    for entry in entries:
        if all(other.pattern and covers(entry.pattern, [other.pattern]) for other in entries):
            return entry
    return None
