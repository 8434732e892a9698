"""How tables of two hosts differ, in common words: tool by tool.

Calls are compared where both hosts read them alike, else tried. What is only tried
is no proof, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain as chained
from itertools import islice, product, takewhile
from typing import Final

import attrs

from policy.chain import SPAWN_TOOL
from policy.comparison.compare import Comparison, Difference, compare
from policy.comparison.compare import Known as Lines
from policy.comparison.names import compare_others
from policy.comparison.tool_pair import remembered
from policy.comparison.tools import Tools
from policy.comparison.witness import Call, witness_call
from policy.conversion.common_words import in_common
from policy.decision import Reason
from policy.dialect import ArgumentKind, Dialect
from policy.effect import Effect
from policy.lookup import Lookup
from policy.patterns.pattern import freeze
from policy.rows.row import Row
from policy.ruleset import RuleSet
from policy.table import Table
from policy.telling import internal_tools

__all__ = ["Known", "TwoTables", "Unproven"]


@attrs.frozen
class Unproven:
    """A tool of which it was not proven that nothing else gets looser."""

    tool: str
    why: str


@attrs.frozen
class TwoTables:
    """How two tables differ.

    Attributes:
        found: calls that they decide differently, those that start agents aside.
        unproven: where other calls may differ as well.

    """

    found: tuple[Difference, ...]
    unproven: tuple[Unproven, ...]


@attrs.frozen
class Known:
    """Comparisons of two hosts that were made: most positions of a project say the same.

    Attributes:
        counterparts: of both hosts, tool -> its common name.
        common: how tools and arguments are named in common.

    """

    counterparts: tuple[Mapping[str, str], Mapping[str, str]]
    common: Dialect
    _lines: Lines = attrs.field(factory=dict)
    _renamed: dict[object, Table] = attrs.field(factory=dict)
    _tools: dict[object, Comparison] = attrs.field(factory=dict)
    _tables: dict[object, TwoTables] = attrs.field(factory=dict)

    def tables(self, before: Table, after: Table, fixed: frozenset[str]) -> TwoTables:
        """Return how two tables differ, but for the tools *fixed*."""
        key = before.use.sets, after.use.sets, fixed
        if key not in self._tables:
            self._tables[key] = self._compare(
                self._in_common(before, 0), self._in_common(after, 1), fixed
            )
        return self._tables[key]

    def _in_common(self, table: Table, side: int) -> Table:
        key = side, table.use.sets
        if key not in self._renamed:
            self._renamed[key] = in_common(Table(table.use), self.counterparts[side], self.common)
        return self._renamed[key]

    def _compare(self, before: Table, after: Table, fixed: frozenset[str]) -> TwoTables:
        sets = [[part.rules for part in table.use.parts] for table in (before, after)]
        tools = Tools.of(chained(*sets))
        # One by one, since a name that is left out must not stand for others.
        tools = attrs.evolve(tools, special=tools.special | fixed)
        left_out = internal_tools(rules.dialect for rules in chained(*sets)) | {SPAWN_TOOL} | fixed
        found: list[Difference] = []
        unproven: list[Unproven] = []
        for tool in sorted({*tools.spelled, *self.common.arguments} - left_out):
            each = self._tool(tool, before.lookup(tool), after.lookup(tool))
            found += each.differences
            unproven += (Unproven(tool, why) for why in each.why)
        others = compare_others(sets, tools, (before.lookup, after.lookup), self._lines)
        read = (one for one in others.differences if is_read(one) and one.tool not in left_out)
        found += (one for one in read if not _NO_NAME.search(one.tool))
        if not (others.exact and tools.exact):
            unproven.append(Unproven("*", _TOLD_APART))
        return TwoTables(tuple(found), tuple(unproven))

    def _tool(self, tool: str, before: Lookup, after: Lookup) -> Comparison:
        """Return how calls of *tool* differ, as far as the source's host can read them."""
        before, after = _plainer(before), _plainer(after)
        key = (tool, _manner(before), _manner(after))
        if key not in self._tools:
            self._tools[key] = _compared(tool, before, after, self._lines)
        return self._tools[key]


def _compared(tool: str, before: Lookup, after: Lookup, lines: Lines) -> Comparison:
    rows = [[row for row, _ in lookup.rows] for lookup in (before, after)]
    kinds = {row.argument.kind for row in chained(*rows)}
    if len(kinds) > 1:
        only = () if _finite(rows[1], after) else (_TRIED_ONLY,)
        return Comparison(tuple(_tried(tool, before, after)), only)
    found = compare(tool, before, after, lines)
    differences = list(filter(is_read, found.differences))
    if found.exact:
        return Comparison(tuple(differences))
    differences += _tried(tool, before, after)
    why = _WHY.get(next(iter(kinds), None), _OTHERWISE)
    return Comparison(tuple(differences), (why,) if _may_widen(before, after) else ())


def _plainer(lookup: Lookup) -> Lookup:
    """Return what decides alike without the rows that deny what another denies anyhow.

    What a parent denies is often denied again by whom it starts; each row more
    multiplies what must be compared.
    """
    kept = list(lookup.rows)
    for pair in lookup.rows:
        others = [other for other in kept if other is not pair]
        if any(_denies_all_of(other, pair[0]) for other, _ in others):
            kept = others
    if len(kept) == len(lookup.rows):
        return lookup
    fixed = () if lookup.floor is Effect.ALLOW else ((_constant(lookup.floor), ()),)
    return Lookup((*kept, *fixed), "")


def _denies_all_of(one: Row, other: Row) -> bool:
    """Return whether *other* only denies, and nothing that *one* does not deny first."""
    if one.argument != other.argument or one.ruleset.dialect != other.ruleset.dialect:
        return False
    pairs = [(one, other)]
    if one.argument.kind is ArgumentKind.COMMAND:
        opened = one.ruleset.dialect.shell.files.named
        pairs += [(one.ruleset.row(tool), other.ruleset.row(tool)) for tool in sorted(opened)]
    return all(_denies_first(*pair) for pair in pairs)


def _denies_first(one: Row, other: Row) -> bool:
    first = takewhile(lambda entry: entry.effect is Effect.DENY, one.entries)
    denied = {(entry.pattern, entry.field) for entry in first}
    return other.default.effect is Effect.ALLOW and all(
        entry.effect is Effect.ALLOW
        or (entry.effect is Effect.DENY and (entry.pattern, entry.field) in denied)
        for entry in other.entries
    )


def _constant(effect: Effect) -> Row:
    return RuleSet((), effect, _NOBODY).row("")


_NOBODY: Final = Dialect("")


def _manner(lookup: Lookup) -> object:
    """Return what decides every call of a tool."""
    constant = lookup.constant
    if constant is not None:
        return constant.effect, constant.reason
    return lookup.floor, tuple(_row(row) for row, _ in lookup.rows)


def _row(row: Row, *, beside: bool = True) -> object:
    shell = row.ruleset.dialect.shell
    entries = tuple(
        (entry.pattern, entry.field, entry.effect, entry.reason) for entry in row.entries
    )
    opened = shell.files.named
    # What a command opens is decided by what is said of files.
    files = sorted(opened) if beside and row.argument.kind is ArgumentKind.COMMAND else ()
    return (
        entries,
        row.default.effect,
        row.default.reason,
        row.ruleset.dialect,
        tuple(_row(row.ruleset.row(tool), beside=False) for tool in files),
    )


# Stars of some hosts match no line break; names of tools have none.
_NO_NAME: Final = re.compile(r"\s")

_TOLD_APART: Final = "tools that neither host knows are told apart in another way"
_TRIED_ONLY: Final = "its argument is read in another way; calls were tried"
_OTHERWISE: Final = "its argument is read in another way; what rules say of it was compared"
_WHY: Final[Mapping[ArgumentKind | None, str]] = {
    ArgumentKind.COMMAND: "commands are taken apart in another way; simple ones were compared",
}


def _may_widen(before: Lookup, after: Lookup) -> bool:
    """Whether anything may be granted beyond what is granted for sure."""
    least = before.constant.effect if before.constant is not None else Effect.DENY
    most = after.constant.effect if after.constant is not None else after.floor
    return least < most


def _finite(rows: list[Row], lookup: Lookup) -> bool:
    """Whether a side grants a few texts and no others, so that trying these is a proof."""
    if lookup.constant is not None:
        return lookup.constant.effect is Effect.DENY
    for row in rows:
        granting = [entry for entry in row.entries if entry.effect is not Effect.DENY]
        whole = row.argument.kind is not ArgumentKind.COMMAND
        exact = all(entry.pattern is not None and entry.pattern.exact for entry in granting)
        if whole and exact and row.default.effect is Effect.DENY:
            return True
    return False


# What stands around a text that a rule speaks of, and may make it another thing.
_FORMS: Final = ("{}", "{} && {}", "{}; zz", "zz; {}", "{} > zz", "{}\nzz", "$({})", "{} 'a\nb'")
_TRIED: Final = 400


def _tried(tool: str, before: Lookup, after: Lookup) -> Iterator[Difference]:
    """Yield what differs of calls that the lines of both speak of."""
    rows = [row for lookup in (before, after) for row, _ in lookup.rows]
    commands = any(row.argument.kind is ArgumentKind.COMMAND for row in rows)
    forms = _FORMS if commands else ("{}",)
    calls: dict[str, Call] = {}
    for row in rows:
        texts = dict.fromkeys(
            freeze(entry.pattern, word)
            for entry in islice(row.entries, _TRIED)
            if entry.pattern is not None and not entry.field
            for word in ("x", "", "a/b", "/x")
        )
        # Simple ones first: what shows a difference best is the plainest call.
        written = (form.format(text, text) for form, text in product(forms, (*texts, "zz")))
        for text in written:
            call = witness_call(row.ruleset.dialect, row.argument, text)
            calls.setdefault(str(call), call)
    told: set[object] = set()
    for call in calls.values():
        decided = (lookup.decide_anew(call, remembered) for lookup in (before, after))
        found = Difference(tool, call, *decided)
        # Each rule by which more is granted is told; that less is, once.
        because = found.after.because if found.widened else ()
        key = found.before.effect, found.after.effect, because
        if found.before.effect is not found.after.effect and key not in told and is_read(found):
            told.add(key)
            yield found


def is_read(difference: Difference) -> bool:
    """Return whether the source's host can read the call: what it cannot is no call of its tool."""
    return difference.before.reason not in (Reason.MALFORMED, Reason.TOO_LONG)
