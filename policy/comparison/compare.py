"""Exactly which calls of one tool two tables decide differently, with a witness for each.

The argument that rules speak of is the text of the comparison (`policy.comparison.pair`).
Other arguments that rules name are told apart first: one case for each set of
values that the same rules match. Calls whose argument cannot be read are one
case more; those that are too long are decided like these.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Sequence
from itertools import product

import attrs

from policy.comparison.disguise import ODD_LINES, SAMPLES, Disguises, is_odd
from policy.comparison.pair import OVERLAPS, Difference, Pair, Side
from policy.comparison.view import View
from policy.comparison.witness import Call, Shape
from policy.dialect import ArgumentKind
from policy.effect import Effect
from policy.lookup import Lookup
from policy.patterns.classes import classes
from policy.patterns.pattern import Pattern
from policy.row import Lines, Row, RowEntry
from policy.ruleset import Entry

__all__ = [
    "DIFFERENT_KINDS",
    "TOO_MANY_PARAMETERS",
    "Comparison",
    "Difference",
    "Known",
    "compare",
    "parameter_cases",
]

# What a host name can hold: hardly a rule names all of it.
_HOST_LETTERS = "xyz0123456789qjkvwabcdefghilmnoprstu"

# Combinations of parameters that are told apart before the answer is no longer exact.
_PARAMETER_CASES = 64


@attrs.frozen
class Comparison:
    """Every way in which decisions differ, one difference for each.

    Attributes:
        differences: each with other deciding rules or effects than the rest.
        why: why something else may differ as well; nothing where nothing does.

    """

    differences: tuple[Difference, ...] = ()
    why: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether nothing else differs; False where that was not decided."""
        return not self.why


DIFFERENT_KINDS = "some rules read their calls otherwise than others do"
TOO_MANY_PARAMETERS = "rules name more combinations of arguments than are told apart"


# Calls that are decided differently, and why there may be more.
_Calls = tuple[tuple[Call, ...], tuple[str, ...]]

# Lines on both sides -> what they decide differently.
Known = dict[object, _Calls]


def compare(tool: str, before: Lookup, after: Lookup, known: Known | None = None) -> Comparison:
    """Return how the calls of *tool* are decided differently by two lookups.

    Args:
        tool: its name.
        before: what one table says of it.
        after: what the other says.
        known: what was found so far. Tools and agents share most of their lines:
            where the same lines meet again, the calls are asked, not searched for.

    """
    rows = [row for lookup in (before, after) for row, _ in lookup.rows]
    if not rows:
        return _constants(tool, before, after)
    if len({row.argument.kind for row in rows}) > 1:
        return Comparison((), (DIFFERENT_KINDS,))
    known = {} if known is None else known
    calls, why = _known(before, after, known) or _searched(tool, before, after, known)
    found: dict[object, Difference] = {}
    for call in calls:
        decisions = (lookup.decide_anew(call) for lookup in (before, after))
        difference = Difference(tool, call, *decisions)
        found.setdefault(_signature(difference), difference)
    return Comparison(tuple(found.values()), why)


def _searched(tool: str, before: Lookup, after: Lookup, known: Known) -> _Calls:
    """Return a call for every difference, and why there may be more."""
    rows = [row for lookup in (before, after) for row, _ in lookup.rows]
    found = known[_key(before, after)] = _differing(tool, before, after, rows)
    return found


def _known(before: Lookup, after: Lookup, known: Known) -> _Calls | None:
    """Return what `_searched` would, where these lines were searched already.

    A row without entries that both sides have takes away from what the others grant,
    alike, e.g. where a command opens files. Where it allows every call that the others
    decide differently it hides none, and they are all there are.
    """
    found = known.get(_key(before, after))
    if found is not None:
        return found
    empty, others = (
        {row.lines: row for row, _ in lookup.rows if not row.entries} for lookup in (before, after)
    )
    shared = {lines: row for lines, row in empty.items() if lines in others}
    found = known.get(_key(before, after, shared)) if shared else None
    if found is None:
        return None
    granted = (row.outcome(call).effect for row in shared.values() for call in found[0])
    return found if all(effect is Effect.ALLOW for effect in granted) else None


def _key(before: Lookup, after: Lookup, but: Container[Lines] = ()) -> object:
    """Return all that decides what two lookups grant, without some rows."""
    return tuple(
        (lookup.floor, tuple(row.lines for row, _ in lookup.rows if row.lines not in but))
        for lookup in (before, after)
    )


def _differing(tool: str, before: Lookup, after: Lookup, rows: Sequence[Row]) -> _Calls:
    """Return a call for every difference, and why there may be more."""
    found: list[Difference] = []
    why: dict[str, None] = {}
    if len({_manner(row) for row in rows}) > 1:
        why[DIFFERENT_KINDS] = None
    shapes = _shapes(rows)
    if shapes is None:
        why[TOO_MANY_PARAMETERS] = None
    for shape in shapes or [Shape(rows[0].ruleset.dialect, rows[0].argument)]:
        tool_pair = _ToolPair(tool, before, after, shape)
        found += tool_pair.differences()
        why.update(tool_pair.why)
        if shape.argument.kind is ArgumentKind.COMMAND:
            found += tool_pair.disguised({difference.widened for difference in found})
            why.update(tool_pair.why)
        unreadable = tool_pair.unreadable()
        if unreadable is not None and _effects(unreadable) not in map(_effects, found):
            found.append(unreadable)
    return tuple(difference.call for difference in found), tuple(why)


def _shapes(rows: Sequence[Row]) -> list[Shape] | None:
    """Return the calls that must be told apart; None when these are too many."""
    entries = [entry for row in rows for entry in row.entries]
    cases = parameter_cases(entries)
    if cases is None:
        return None
    named = {entry.field for entry in entries if entry.field}
    return Shape.each(rows[0].ruleset.dialect, rows[0].argument, cases, named)


def _manner(row: Row) -> object:
    """Return how a row reads a call: one text stands for one call only where all read alike."""
    dialect, argument = row.ruleset.dialect, row.argument
    match argument.kind:
        case ArgumentKind.COMMAND:
            # What a command opens is decided too, below the folders there are.
            return argument, attrs.evolve(dialect, name="", arguments={}, aliases={})
        case ArgumentKind.PATH:
            return argument, dialect.cwd, dialect.home, dialect.fold, dialect.links
        case _:
            return argument


def _signature(difference: Difference) -> object:
    return (
        difference.before.effect,
        difference.after.effect,
        difference.before.because,
        difference.after.because,
    )


def _effects(difference: Difference) -> tuple[Effect, Effect]:
    return difference.before.effect, difference.after.effect


def _constants(tool: str, before: Lookup, after: Lookup) -> Comparison:
    was, now = before.constant, after.constant
    if was is None or now is None or was.effect is now.effect:
        return Comparison()
    return Comparison((Difference(tool, {}, was, now),))


def parameter_cases(entries: Sequence[RowEntry | Entry]) -> list[dict[str, str]] | None:
    """Return parameters that tell all rules about parameters apart; None when too many."""
    patterns: dict[str, dict[Pattern, None]] = {}
    for entry in entries:
        if entry.field and entry.pattern is not None:
            patterns.setdefault(entry.field, {})[entry.pattern] = None
    choices: list[list[tuple[str, str] | None]] = []
    for field, alternatives in patterns.items():
        found, exact = classes(list(alternatives))
        if not exact:
            return None
        # A value that no rule speaks of is as good as none.
        values = [value for matching, value in found.items() if matching]
        choices.append([None, *((field, value) for value in values)])
    count = 1
    for alternatives_of_field in choices:
        count *= len(alternatives_of_field)
    if count > _PARAMETER_CASES:
        return None
    return [dict(pair for pair in case if pair is not None) for case in product(*choices)]


class _ToolPair(Pair):
    """Calls of one tool that differ in one text only."""

    def __init__(self, tool: str, before: Lookup, after: Lookup, shape: Shape) -> None:
        self.tool = tool
        self.lookups = (before, after)
        self.shape = shape
        super().__init__(
            _side(before, shape),
            _side(after, shape),
            domain=shape.domain,
            wider=shape.wider,
            ask=self.asked,
            letters=_HOST_LETTERS if shape.argument.kind is ArgumentKind.URL else "",
        )

    def asked(self, text: str) -> Difference:
        """Return what the call whose argument is read as *text* gets of both."""
        return self._decided_by_both(self.shape.call(text))

    def unreadable(self) -> Difference | None:
        """Return the difference of calls whose argument cannot be read, if there is one."""
        call = self.shape.unreadable()
        if call is None:
            return None
        found = self._decided_by_both(call)
        return None if found.before.effect is found.after.effect else found

    def _decided_by_both(self, call: Call) -> Difference:
        before, after = (lookup.decide_anew(call) for lookup in self.lookups)
        return Difference(self.tool, call, before, after)

    def disguised(self, known: Collection[bool]) -> Iterator[Difference]:
        """Yield a difference of commands that rules see through, or cannot grant.

        Args:
            known: the directions that need no further one.

        """
        shown = set(known)
        for tried, text in enumerate(self._disguises(shown)):
            if tried >= _DISGUISED:
                self.why[OVERLAPS] = None
                return
            found = self.asked(text.replace(self.fresh, "q7z"))
            if found.before.effect is found.after.effect or found.widened in shown:
                continue
            shown.add(found.widened)
            plain = self.asked(text.replace(self.fresh, "x"))
            same = (plain.before, plain.after) == (found.before, found.after)
            yield plain if same else found

    def _disguises(self, shown: Container[bool]) -> Iterator[str]:
        """Yield commands, frozen, as long as a direction is not *shown* that they may have."""
        disguises: Disguises | None = None
        for view, line in self.edits():
            pattern = self.pattern(view, line)
            # A line that allows matters to what is behind a prefix where it hides others.
            reads = line <= self.views[view].last_strict
            wanted = self._directions(view, line, reads=reads)
            if pattern is None or all(each in shown for each in wanted):
                continue
            if disguises is None:
                disguises = Disguises(self.views, self.fresh, self.shape.dialect.shell)
                yield from disguises.spelled_out()
            hides = self.views[view].effect(line) is Effect.ALLOW
            for text in disguises.of(pattern, reads=reads, hides=hides and reads):
                yield text
                if all(each in shown for each in wanted):
                    break
            if is_odd(pattern):
                self.why[ODD_LINES] = None
            if disguises.exhausted:
                self.why[OVERLAPS] = None
        yield from SAMPLES

    def _directions(self, view: int, line: int, *, reads: bool) -> tuple[bool, ...]:
        """Return in which directions calls may change that a line knows."""
        only = [view in side for side in self.sides]
        effect = self.views[view].effect(line)
        if all(only) or effect is Effect.ASK or (effect is Effect.ALLOW and reads):
            return True, False
        return ((effect is Effect.ALLOW) is only[1],)


# Commands known by other texts that are tried before the answer is no longer exact.
_DISGUISED = 4_000


def _side(lookup: Lookup, shape: Shape) -> Side:
    views = (View.of(row, shape.parameters, shape.sole) for row, _ in lookup.rows)
    return Side(tuple(views), lookup.floor)
