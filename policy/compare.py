"""Exactly which calls of one tool two tables decide differently, with a witness for each.

Two lists A and B decide some call differently just when there are a line of A
and a line of B with different effects, and a call that both lines match and
both lists decide by those lines. Of the texts that both lines match it is
enough to try those in which a fresh character fills what both leave open
(`policy.patterns.search`). Only lines without a counterpart on the other side
can be among the deciding ones, so the cost is that of the edit, not of the
lists.

Where a side is a meet of several lists, a line is chosen for each of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, product

import attrs

from policy import limits
from policy.decision import Decision, Reason
from policy.dialect import Argument, ArgumentKind, Dialect
from policy.effect import Effect
from policy.lookup import Lookup
from policy.patterns.automaton import NO_MATCH
from policy.patterns.classes import classes
from policy.patterns.domains import COMMANDS, Domain
from policy.patterns.members import members
from policy.patterns.pattern import (
    Pattern,
    freeze,
    is_stars,
    named,
    readable,
    set_characters,
)
from policy.patterns.search import fresh_character, search
from policy.row import Row
from policy.view import View, counterparts

__all__ = ["Comparison", "Difference", "compare", "witness_call"]

Call = dict[str, object]

# What a host name can hold: hardly a rule names all of it.
_HOST_LETTERS = "xyz0123456789qjkvwabcdefghilmnoprstu"

# Commands by which a rule may know one, and lines of which such are tried.
_DISGUISES = ("{}", "{} $x", "sudo {}", "A=1 {}", "./{}", "'{}'")
_DISGUISED = 64

# Reasons of a decision that no rule gave: the call could not be read.
_UNREAD = frozenset({Reason.MALFORMED, Reason.TOO_LONG})
Decide = Callable[[Call], Decision]

# Combinations of parameters that are told apart, and of deciding lines that
# are tried for one edit, before the answer is no longer exact.
_PARAMETER_CASES = 64
_COMBINATIONS = 2_000


@attrs.frozen
class Difference:
    """Calls of one tool that are decided differently, shown by one of them.

    Attributes:
        tool: its name.
        call: the witness; both decisions are of it.
        before: what it got.
        after: what it gets.

    """

    tool: str
    call: Call = attrs.field(eq=False)
    before: Decision
    after: Decision

    @property
    def widened(self) -> bool:
        """Whether more is granted than before."""
        return self.before.effect < self.after.effect


@attrs.frozen
class Comparison:
    """Every way in which decisions differ, one difference for each.

    Attributes:
        differences: each with other deciding rules or effects than the rest.
        exact: whether nothing else differs; False where that was not decided.

    """

    differences: tuple[Difference, ...] = ()
    exact: bool = True


def compare(tool: str, before: Lookup, after: Lookup) -> Comparison:
    """Return how the calls of *tool* are decided differently by two lookups."""
    sides = (_rows(before), _rows(after))
    rows = [row for side in sides for row in side]
    if not rows:
        return _constants(tool, before, after)
    arguments = {row.argument for row in rows}
    if len({argument.kind for argument in arguments}) > 1:
        return Comparison((), exact=False)
    cases = _parameter_cases(rows)
    found: dict[object, Difference] = {}
    # One text stands for one call only where all rows read a call alike.
    alike = {
        (row.argument, row.ruleset.dialect.cwd, row.ruleset.dialect.home, row.ruleset.dialect.fold)
        for row in rows
    }
    exact = cases is not None and len(alike) == 1
    for parameters in cases or [{}]:
        pair = _Pair(tool, before, after, parameters)
        for difference in pair.differences():
            found.setdefault(_signature(difference), difference)
        exact &= pair.exact
        if pair.argument.kind is ArgumentKind.COMMAND:
            directions = {difference.widened for difference in found.values()}
            for difference in pair.disguised():
                if difference.widened not in directions:
                    directions.add(difference.widened)
                    found[_signature(difference)] = difference
    return Comparison(tuple(found.values()), exact)


def _signature(difference: Difference) -> object:
    return (
        difference.before.effect,
        difference.after.effect,
        difference.before.because,
        difference.after.because,
    )


def _rows(lookup: Lookup) -> list[Row]:
    return [row for row, _ in lookup.rows]


def _constants(tool: str, before: Lookup, after: Lookup) -> Comparison:
    was, now = before.constant, after.constant
    if was is None or now is None or was.effect is now.effect:
        return Comparison()
    return Comparison((Difference(tool, {}, was, now),))


def _parameter_cases(rows: Sequence[Row]) -> list[dict[str, str]] | None:
    """Return parameters that tell all rows' parameter rules apart; None when too many."""
    patterns: dict[str, dict[Pattern, None]] = {}
    for row in rows:
        for entry in row.entries:
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


class _Pair:
    """Two sides of the comparison, for calls with given parameters."""

    def __init__(
        self, tool: str, before: Lookup, after: Lookup, parameters: Mapping[str, str]
    ) -> None:
        self.tool = tool
        self.lookups = (before, after)
        self.parameters = parameters
        self.exact = True
        rows = [_rows(before), _rows(after)]
        row = (rows[0] or rows[1])[0]
        self.argument, self.dialect = row.argument, row.ruleset.dialect
        self.domain = _domain(self.argument.kind, row)
        by_key: dict[object, View] = {}
        views = [
            [by_key.setdefault((view := View.of(row, parameters)).key, view) for row in side]
            for side in rows
        ]
        self.views = list(by_key.values())
        self.sides = [{self.views.index(view) for view in side} for side in views]
        self.floors = [_floor(before), _floor(after)]
        # view -> line -> the same line in the view it is compared with
        self.kept: dict[int, dict[int, int]] = {}

    @cached_property
    def patterns(self) -> list[Pattern]:
        """The patterns of all views."""
        return [pattern for view in self.views for pattern in view.patterns]

    @cached_property
    def fresh(self) -> str:
        """A character that no pattern names, and that a call can hold."""
        letters = named(self.patterns)
        if self.argument.kind is ArgumentKind.URL:
            return next((c for c in _HOST_LETTERS if c not in letters), fresh_character(letters))
        return fresh_character(letters)

    @cached_property
    def extra(self) -> frozenset[str]:
        """The characters that sets of the patterns name."""
        return set_characters(self.patterns)

    @cached_property
    def plain(self) -> bool:
        """Whether all patterns are star patterns."""
        return all(map(is_stars, self.patterns))

    def differences(self) -> Iterator[Difference]:
        """Yield a difference for every pair of deciding lines that gives one.

        Lines that nobody wrote, those a host has built in, are told together:
        one difference for each pair of effects.
        """
        if self.sides[0] == self.sides[1] and self.floors[0] is self.floors[1]:
            return
        together: set[tuple[Effect, Effect]] = set()
        for view, line in self._edits():
            written = line == NO_MATCH or self.views[view].entries[line].place is not None
            yield from self._by_line(view, line, set() if written else together)

    def disguised(self) -> Iterator[Difference]:
        """Yield differences of commands that rules see through, or cannot grant.

        What rules say of simple commands is compared exactly; these are samples.
        """
        texts = {"$x": None}
        for view, line in islice(self._edits(), _DISGUISED):
            pattern = self._pattern(view, line)
            if pattern is not None:
                texts[freeze(pattern, "x")] = None
        for text, form in product(texts, _DISGUISES):
            call = witness_call(self.dialect, self.argument, form.format(text))
            call.update(self.parameters)
            before, after = (lookup.decide_anew(call) for lookup in self.lookups)
            if before.effect is not after.effect:
                yield Difference(self.tool, call, before, after)

    def _edits(self) -> Iterator[tuple[int, int]]:
        """Yield the lines, as view and index, one of which decides any difference."""
        only = [self.sides[0] - self.sides[1], self.sides[1] - self.sides[0]]
        if len(only[0]) == len(only[1]) == 1 and self.floors[0] is self.floors[1]:
            (before,), (after,) = only
            kept = counterparts(self.views[before], self.views[after])
            self.kept = {before: kept, after: {new: old for old, new in kept.items()}}
            for view in (after, before):
                lines = range(len(self.views[view].entries))
                yield from ((view, line) for line in lines if line not in self.kept[view])
            if self.views[before].default is not self.views[after].default:
                yield after, NO_MATCH
            return
        numbers = only[1] | only[0]
        if self.floors[0] is not self.floors[1]:
            numbers = set(range(len(self.views)))
        for number in sorted(numbers, key=lambda n: (n not in self.sides[1], n)):
            yield from ((number, line) for line in range(len(self.views[number].entries)))
            yield number, NO_MATCH

    def _by_line(
        self, view: int, line: int, seen: set[tuple[Effect, Effect]]
    ) -> Iterator[Difference]:
        """Yield differences decided by one line, one for each pair of effects not *seen*."""
        if len(self.views) == 1:
            effects = self._effects({view: line})
            if effects[0] is effects[1] or effects in seen:
                return
        pattern = self._pattern(view, line)
        frozen = freeze(pattern, self.fresh) if pattern is not None else self.fresh
        firsts = [other.automaton.first(frozen) for other in self.views]
        if self.plain and line != NO_MATCH and firsts[view] != line:
            return  # a line before this one matches all that it matches
        chosen = {view: line}
        sample = self._confirmed(frozen, chosen) if self.domain.holds(frozen) else None
        if sample is not None and (sample.before.effect, sample.after.effect) not in seen:
            seen.add((sample.before.effect, sample.after.effect))
            yield sample
        tried = 0
        for combination in self._combinations(chosen, firsts, seen):
            tried += 1
            if tried > _COMBINATIONS:
                self.exact = False
                return
            text = self._text(combination)
            if text is None:
                continue
            difference = self._confirmed(text, combination)
            if difference is None:
                # The search and the table disagree, since a host knows more of
                # commands than rules say, e.g. that `ls` only reads. Of one
                # text that settles it; of many it may hold for this one alone.
                patterns = [self._pattern(v, n) for v, n in combination.items()]
                self.exact &= any(p is not None and p.exact for p in patterns)
                continue
            seen.add(self._effects(combination))
            yield difference

    def _combinations(
        self, chosen: dict[int, int], firsts: Sequence[int], seen: Container[object]
    ) -> Iterator[dict[int, int]]:
        """Yield *chosen* with a deciding line for every other view as well.

        Left out is what cannot be, or shows nothing new: effects that are equal
        or *seen*; a line whose counterpart decides before a chosen one. Of star
        patterns, the line that matches the frozen one contains all of it
        (*firsts*), so no later line decides any of it.
        """
        rest = [number for number in range(len(self.views)) if number not in chosen]
        if not rest:
            effects = self._effects(chosen)
            if effects[0] is not effects[1] and effects not in seen:
                yield chosen
            return
        number, view = rest[0], self.views[rest[0]]
        patterns = [p for other, line in chosen.items() if (p := self._pattern(other, line))]
        last = firsts[number] if self.plain and patterns else NO_MATCH
        lines = view.near(max(patterns, key=_literal)) if patterns else range(len(view.entries))
        telling = self._telling(number, chosen, seen) if len(rest) == 1 else list(Effect)
        if not telling:
            return
        earliest = max((line for other, line in chosen.items() if other in self.kept), default=-1)
        kept = self.kept.get(number, {})
        for line in lines:
            if line > last or view.entries[line].effect not in telling:
                continue
            if kept.get(line, NO_MATCH) >= earliest:
                yield from self._combinations({**chosen, number: line}, firsts, seen)
        if last == NO_MATCH:
            yield from self._combinations({**chosen, number: NO_MATCH}, firsts, seen)

    def _telling(
        self, number: int, chosen: Mapping[int, int], seen: Container[object]
    ) -> list[Effect]:
        """Return the effects by which the last view would show something new."""
        telling = []
        for effect in Effect:
            before, after = (
                min([floor, *(effect if n == number else self._effect(n, chosen[n]) for n in side)])
                for floor, side in zip(self.floors, self.sides, strict=True)
            )
            if before is not after and (before, after) not in seen:
                telling.append(effect)
        return telling

    def _pattern(self, view: int, line: int) -> Pattern | None:
        return None if line == NO_MATCH else self.views[view].patterns[line]

    def _effect(self, view: int, line: int) -> Effect:
        return self.views[view].effect(line)

    def _effects(self, combination: Mapping[int, int]) -> tuple[Effect, Effect]:
        before, after = (
            min([floor, *(self._effect(n, combination[n]) for n in side)])
            for floor, side in zip(self.floors, self.sides, strict=True)
        )
        return before, after

    def _text(self, combination: Mapping[int, int]) -> str | None:
        """Return a text that every view decides by its line of *combination*, or None."""
        guides = [p for view, line in combination.items() if (p := self._pattern(view, line))]
        if self.plain and all(self.domain.holds(freeze(p, self.fresh)) for p in guides):
            texts = members([freeze(p, self.fresh) for p in guides], self.fresh)
            try:
                return next((text for text in texts if self._decided(text, combination)), None)
            except OverflowError:
                pass
        found = search(
            [self.domain, *(pattern.automaton for pattern in guides)],
            [self.views[number].automaton for number in combination],
            lambda firsts: firsts == tuple(combination.values()),
            fresh=self.fresh,
            extra=self.extra,
            budget=limits.SEARCH_STATES,
        )
        self.exact &= found.exact
        return found.text

    def _decided(self, text: str, combination: Mapping[int, int]) -> bool:
        return all(
            self.views[view].automaton.first(text) == line for view, line in combination.items()
        )

    def _confirmed(self, text: str, chosen: Mapping[int, int]) -> Difference | None:
        """Return the difference that *text* shows when both tables are asked, or None."""
        if not self._decided(text, chosen):
            return None
        shown: Difference | None = None
        wanted: tuple[Decision, Decision] | None = None
        # A fresh character is in no host name, but a word may stand for it.
        for candidate in (text, *readable(text), text.replace(self.fresh, "q7z")):
            if candidate != text and not self._decided(candidate, chosen):
                continue
            call = witness_call(self.dialect, self.argument, candidate)
            call.update(self.parameters)
            before, after = (lookup.decide_anew(call) for lookup in self.lookups)
            if before.effect is after.effect or {before.reason, after.reason} & _UNREAD:
                continue
            if wanted is None or candidate == text:
                wanted = (before, after)
                shown = Difference(self.tool, call, before, after)
            elif wanted == (before, after):
                # Every table answers alike, so the readable call may stand for it.
                return Difference(self.tool, call, before, after)
        return shown


def _floor(lookup: Lookup) -> Effect:
    return lookup.floor


def _literal(pattern: Pattern) -> int:
    return sum(len(token) for token in pattern.tokens if isinstance(token, str))


def _domain(kind: ArgumentKind, row: Row) -> Domain:
    return COMMANDS if kind is ArgumentKind.COMMAND else row.kind.domain


def witness_call(dialect: Dialect, argument: Argument, text: str) -> Call:
    """Return a call whose argument is read as *text*, or any call where none is."""
    match argument.kind:
        case ArgumentKind.URL:
            text = f"https://{text}/"
        case ArgumentKind.PATH:
            text = _as_typed(dialect, text)
        case ArgumentKind.JOINED:
            parts = text.split(" ", len(argument.fields) - 1)
            return dict(zip(argument.fields, parts, strict=False))
        case ArgumentKind.JSON:
            return _object(text)
        case _:
            pass
    return {argument.fields[0] if argument.fields else "argument": text}


def _object(text: str) -> Call:
    """Return the arguments that *text* is the JSON of, or else an argument that holds it."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"argument": text}


def _as_typed(dialect: Dialect, path: str) -> str:
    """Return a canonical path as people write it: from the folder they are in, or from home."""
    if path == dialect.cwd:
        return "."
    if path.startswith(dialect.cwd + "/"):
        return path[len(dialect.cwd) + 1 :]
    if path == dialect.home or path.startswith(dialect.home + "/"):
        return "~" + path[len(dialect.home) :]
    return path or "/"
