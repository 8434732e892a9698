"""Lists of rules over one text: an index of their lines, and which lines of two sides may decide.

A row becomes a `View`, a list of patterns in order. Two sides are meets of such lists (`Sides`).
Two lists decide a text differently if their deciding lines have different effects. At least one of
these lines is edited: the other list lacks it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from itertools import accumulate, chain, count, islice, product
from typing import Any, Final

from policy.commands.knowledge import Shell
from policy.compare.witness import Effects
from policy.core.effect import Effect
from policy.core.memory import Key
from policy.core.values import evolve, frozen
from policy.patterns.automaton import NO_MATCH, Automaton
from policy.patterns.index import Indexed
from policy.patterns.pattern import (
    Pattern,
    PatternKind,
    excluded_characters,
    freeze,
    is_stars,
    named,
    tokens_of,
)
from policy.patterns.search import fresh_character
from policy.patterns.tokens import OneOf, Token, folded, in_one_case
from policy.tables.dialect import ArgumentKind
from policy.tables.row import BY_DEFAULT, Outcome, Row
from policy.tables.ruleset import Entry
from policy.tables.table import Lookup


class LineIndex:
    """An index of lines of a list, by their effect and by how their patterns start and end."""

    def __init__(self, lines: Iterable[tuple[int, Pattern, Effect]]) -> None:
        # effect -> what lines start with -> their numbers
        self._by_prefix: dict[Effect, dict[str, list[int]]] = {effect: {} for effect in Effect}
        self._suffixes: dict[int, str] = {}  # number of a line -> what its pattern ends with
        for number, pattern, effect in lines:
            prefix, self._suffixes[number] = ends_of(pattern)
            self._by_prefix[effect].setdefault(prefix, []).append(number)
        self._prefixes = {effect: sorted(index) for effect, index in self._by_prefix.items()}

    def near(self, pattern: Pattern, effect: Effect, first: int, last: int) -> Iterator[int]:
        """Yield the lines of *effect*, *first* to *last*, that may share a text with *pattern*."""
        (prefix, suffix), index = ends_of(pattern), self._by_prefix[effect]
        suffixes = self._suffixes
        for start in self._starts(effect, prefix):
            numbers = index[start]
            within = bisect_left(numbers, first), bisect_right(numbers, last)
            for number in islice(numbers, *within):
                end = suffixes[number]
                if suffix.endswith(end) or end.endswith(suffix):
                    yield number

    def _starts(self, effect: Effect, prefix: str) -> Iterator[str]:
        """Yield each start of a line of *effect* that begins *prefix*, or that *prefix* begins."""
        index, prefixes = self._by_prefix[effect], self._prefixes[effect]
        yield from (start for n in range(len(prefix)) if (start := prefix[:n]) in index)
        for at in range(bisect_left(prefixes, prefix), len(prefixes)):
            if not prefixes[at].startswith(prefix):
                return
            yield prefixes[at]


def may_meet(one: Pattern, other: Pattern) -> bool:
    """Return whether two patterns may share a text, judged by what both start and end with."""
    (start, end), (prefix, suffix) = ends_of(one), ends_of(other)
    return (start.startswith(prefix) or prefix.startswith(start)) and (
        end.endswith(suffix) or suffix.endswith(end)
    )


def start_of(pattern: Pattern) -> str:
    """Return the text that a pattern starts with."""
    first = pattern.tokens[0] if pattern.tokens else ""
    return first if isinstance(first, str) else ""


def ends_of(pattern: Pattern) -> tuple[str, str]:
    """Return what all texts of a pattern start and end with, in one case."""
    return _literal_start(pattern.tokens), _literal_start(pattern.tokens[::-1], -1)


def _literal_start(tokens: Iterable[Token], step: int = 1) -> str:
    pieces: list[str] = []
    for token in tokens:
        piece = token if isinstance(token, str) else isinstance(token, OneOf) and in_one_case(token)
        if not piece:
            break
        pieces.append(piece)
    return folded("".join(pieces[::step]))


def grants_whole(row: Row) -> bool:
    """Return whether files that a command opens count only where a rule applies to them."""
    return row.ruleset.dialect.shell.whole and row.default.effect is Effect.ALLOW


def by_rules(row: Row) -> Row:
    """Return the row with each default outcome replaced by allow: only rules ask or deny."""
    entries = (
        evolve(entry, effect=Effect.ALLOW) if entry.reason in BY_DEFAULT else entry
        for entry in row.entries
    )
    effect = auto_allowed_effect(row)
    return Row(entries, Outcome(effect, row.default.reason), row.tool, row.ruleset)


def auto_allowed_effect(row: Row) -> Effect:
    """Return the effect of an auto-allowed command that no entry matches."""
    by_default = row.default.reason in BY_DEFAULT
    return Effect.ALLOW if by_default else row.default.effect


def denies_all(lookup: Lookup) -> bool:
    """Return whether every call is surely denied."""
    if lookup.floor is Effect.DENY:
        return True
    for row, _ in lookup.rows:
        dialect, kind = row.ruleset.dialect, row.argument.kind
        is_known = kind is ArgumentKind.COMMAND and bool(dialect.shell.programs)
        # Else the host's knowledge of calls may decide too.
        is_by_entries = not (is_known or dialect.links or kind is ArgumentKind.POWERSHELL)
        effects = {row.default.effect, *(entry.effect for entry in row.entries)}
        if is_by_entries and effects == {Effect.DENY}:
            return True
    return False


@frozen(eq=False)
class View:
    """An ordered first-match list over one argument.

    Attributes:
        kind: of its patterns.
        entries: each with a pattern.
        default: the effect where no entry matches.
        shared: how many lines at the start every compared list has too.
        shell: what the host knows of commands.

    """

    kind: PatternKind
    entries: tuple[Entry, ...]
    default: Effect
    shared: int = 0
    _row: Row | None = None
    _auto_allowed_effect: Effect | None = None
    shell: Shell = Shell()

    @property
    def auto_allowed_effect(self) -> Effect:
        """The effect of an auto-allowed command that no line matches."""
        return self.default if self._auto_allowed_effect is None else self._auto_allowed_effect

    @classmethod
    def of(cls, row: Row, parameters: Mapping[str, str], sole: str = "") -> View:
        """Return the lines of *row* that apply to calls with these parameters and no others.

        Where the text is the value of a *sole* parameter, rules about that parameter apply too.
        """
        shell = row.ruleset.dialect.shell
        of_host: dict[str, Any] = {"shell": shell}
        if shell.programs:
            of_host["auto_allowed_effect"] = auto_allowed_effect(row)
        if not row.has_parameters:
            return cls(row.kind, row.entries, row.default.effect, row=row, **of_host)
        entries: list[Entry] = []
        for entry in row.entries:
            if not entry.field or entry.field == sole:
                entries.append(entry)
            elif (
                (value := parameters.get(entry.field)) is not None
                and entry.pattern is not None
                and entry.pattern.matches(value)
            ):
                return cls(row.kind, tuple(entries), entry.effect)
        return cls(row.kind, tuple(entries), row.default.effect, **of_host)

    @cached_property
    def key(self) -> Key:
        """A key that views share if they have the same patterns, effects and default."""
        effects = tuple([entry.effect for entry in self.entries])
        return Key((self.kind, self.patterns, effects, self.default))

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """The patterns in order."""
        return tuple(entry.pattern for entry in self.entries if entry.pattern is not None)

    @cached_property
    def automaton(self) -> Automaton:
        """The automaton of all patterns: that of the row, where the view has all its lines."""
        if self._row is not None:
            return self._row.automaton
        return Indexed([p.tokens for p in self.patterns], self.kind.separator)

    @cached_property
    def most(self) -> Effect:
        """The most lenient effect that the list gives any text."""
        effects = [entry.effect for entry in self.entries]
        return max((self.default, self.auto_allowed_effect, *effects))

    @cached_property
    def least(self) -> Effect:
        """The strictest effect that the list gives any text."""
        return min((self.default, *(entry.effect for entry in self.entries)))

    @cached_property
    def last_strict(self) -> int:
        """The index of the last line that does not allow; -1 where all do."""
        strict = (n for n, e in enumerate(self.entries) if e.effect is not Effect.ALLOW)
        return max(strict, default=-1)

    @cached_property
    def _least_behind(self) -> list[Effect]:
        """For each line, the strictest effect of all later lines and the default."""
        effects = [self.default, *(entry.effect for entry in reversed(self.entries[1:]))]
        return [*accumulate(effects, min)][::-1]

    def is_strictest(self, line: int) -> bool:
        """Return whether no later line, nor the default, is stricter than *line*."""
        return line == NO_MATCH or self.effect(line) <= self._least_behind[line]

    def effect(self, index: int) -> Effect:
        """Return the effect of the line at *index*, or of the default."""
        return self.default if index == NO_MATCH else self.entries[index].effect

    @cached_property
    def lines(self) -> LineIndex:
        """An index of all lines."""
        effects = (entry.effect for entry in self.entries)
        return LineIndex(zip(count(), self.patterns, effects))

    def denies(self, pattern: Pattern) -> bool:
        """Return whether the list, without shared lines, surely denies all texts of *pattern*."""
        granting = chain.from_iterable(
            self.lines.near(pattern, effect, self.shared, len(self.entries) - 1)
            for effect in (Effect.ALLOW, Effect.ASK)
        )
        return self.default is Effect.DENY and next(granting, None) is None


def counterparts(before: Sequence[Entry], after: Sequence[Entry]) -> dict[int, int]:
    """Return the lines of *before* that *after* has too, in the same order: line -> counterpart.

    A call that is decided differently is decided, on one side or the other, by a line without a
    counterpart: in two lists with the same lines in the same order, the same line matches first.
    """
    old, new = ([(entry.pattern, entry.effect) for entry in each] for each in (before, after))
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return {one + at: other + at for one, other, size in blocks for at in range(size)}


@frozen
class ListSide:
    """A meet of lists over one text.

    Attributes:
        views: the lists.
        floor: the most that the side grants, whatever the text is.

    """

    views: tuple[View, ...]
    floor: Effect = Effect.ALLOW


class Sides:
    """The lists of two sides, and the lines that may decide a text together.

    Two lists A and B decide some text differently just when there are a line of A and a line of B
    with different effects, and a text that both lines match and both lists decide by those lines
    (`policy.compare.pair`). One of them is an edit, a line without a counterpart on the other
    side: so the cost is that of the edit, not of the lists. Where a side is a meet of several
    lists, a line is chosen for each of them.

    Args:
        before: one side.
        after: the other side.
        letters: characters for "any text", the best first, where a call can
            hold no others.

    Attributes:
        views: the lists of both sides, each once.
        sides: for each side, the numbers of its lists.
        floors: the most that each side grants.
        counterparts: of two lists, view -> line -> the line of the other list with the same
            pattern, in the same order.
        paired: view -> the lines that have a counterpart, in order.
        unpaired: view -> the lines that have no counterpart.
        alignments: the counterparts found for the entries of two views, whatever their defaults.
        by_default: whether only texts count that a default decides on one of the sides.

    """

    def __init__(self, before: ListSide, after: ListSide, *, letters: str = "") -> None:
        by_key: dict[object, int] = {}
        self.views: list[View] = []
        self.sides: list[set[int]] = []
        for side in (before, after):
            numbers = set()
            for view in side.views:
                number = by_key.setdefault(view.key, len(self.views))
                if number == len(self.views):
                    self.views.append(view)
                numbers.add(number)
            self.sides.append(numbers)
        self.floors = [before.floor, after.floor]
        self.counterparts: dict[int, dict[int, int]] = {}
        self.paired: dict[int, list[int]] = {}
        self.unpaired: dict[int, LineIndex] = {}
        self.alignments: dict[tuple[int, int], dict[int, int]] = {}
        self.by_default = False
        self._letters = letters
        # pattern, view -> the line that matches all that the pattern does
        self._containing: dict[tuple[Pattern, int], int] = {}

    @cached_property
    def edits(self) -> list[tuple[int, int]]:
        """The changed lines, as view and index: one of them decides any difference."""
        return list(self._edits())

    def _edits(self) -> Iterator[tuple[int, int]]:
        only = [self.sides[0] - self.sides[1], self.sides[1] - self.sides[0]]
        kept: dict[int, set[int]] = {}  # view -> its lines that are no edits
        if self.floors[0] is not self.floors[1]:
            kept = {number: set() for number in range(len(self.views))}
        else:
            for pair in self._pairs(*only):
                for number, lines in self._kept(*pair).items():
                    kept[number] = kept.get(number, lines) & lines
        if self.floors[0] is self.floors[1] and len(only[0]) == len(only[1]) == 1:
            (before,), (after,) = only
            kept[before].add(NO_MATCH)  # the default of one of them is enough
            self._align(before, after)
        for number in sorted(kept, key=lambda n: (n not in self.sides[1], n)):
            view = self.views[number]
            for line in (*range(view.shared, len(view.entries)), NO_MATCH):
                if line not in kept[number]:
                    yield number, line

    def _pairs(self, before: set[int], after: set[int]) -> Iterator[tuple[int, int]]:
        """Yield pairs of lists, one of each side, those with most lines in common first.

        Any pairs will do: where the sides differ, the list that grants less on one side differs
        from every list of the other side. A list without a partner is paired with a list that
        already counts, where few lines distinguish the two, and else with itself.
        """
        pairs = product(sorted(before), sorted(after))
        left = before | after
        for one, other in sorted(pairs, key=lambda pair: -len(self._aligned(*pair))):
            if {one, other} <= left:
                left -= {one, other}
                yield one, other
        for one in sorted(left):
            others = sorted(self.sides[one in before])
            other = max(others, key=lambda each: self._saved(one, each), default=one)
            yield one, other if self._saved(one, other) > 0 else one

    def _saved(self, one: int, other: int) -> int:
        """Return how many fewer lines count as changed where a list is paired with another."""
        return 2 * len(self._aligned(one, other)) - len(self.views[other].entries)

    def _kept(self, one: int, other: int) -> dict[int, set[int]]:
        """Return the lines of two lists that have a counterpart; none of a list by itself."""
        if one == other:
            return {one: set()}
        aligned = self._aligned(one, other)
        kept = {one: {*aligned}, other: {*aligned.values()}}
        if self.views[one].default is self.views[other].default:
            for lines in kept.values():
                lines.add(NO_MATCH)
        return kept

    def _align(self, before: int, after: int) -> None:
        """Record the lines of two lists that have counterparts, and those that have none."""
        aligned = self._aligned(before, after)
        self.counterparts = {before: aligned, after: {new: old for old, new in aligned.items()}}
        for number, counterpart in self.counterparts.items():
            view = self.views[number]
            self.paired[number] = sorted(counterpart)
            alone = (line for line in range(len(view.entries)) if line not in counterpart)
            self.unpaired[number] = LineIndex((n, view.patterns[n], view.effect(n)) for n in alone)

    def _aligned(self, one: int, other: int) -> dict[int, int]:
        before, after = self.views[one].entries, self.views[other].entries
        key = id(before), id(after)
        if key not in self.alignments:
            self.alignments[key] = counterparts(before, after)
        return self.alignments[key]

    @cached_property
    def patterns(self) -> list[Pattern]:
        """The patterns of all views."""
        return [pattern for view in self.views for pattern in view.patterns]

    @cached_property
    def _tokens(self) -> frozenset[Token]:
        return tokens_of(self.patterns)

    @cached_property
    def fresh(self) -> str:
        """A character that no pattern names, and that a call can hold."""
        letters = named(self._tokens)
        return next((c for c in self._letters if c not in letters), fresh_character(letters))

    @cached_property
    def extra(self) -> frozenset[str]:
        """The characters that sets in the patterns distinguish from a fresh character."""
        return excluded_characters(self._tokens)

    @cached_property
    def are_stars(self) -> bool:
        """Whether all patterns are star patterns."""
        return is_stars(self._tokens)

    @cached_property
    def denying(self) -> Sequence[View]:
        """The lists that both sides share and that deny by default."""
        shared = (self.views[number] for number in sorted(self.sides[0] & self.sides[1]))
        return [view for view in shared if view.default is Effect.DENY]

    def pattern(self, view: int, line: int) -> Pattern | None:
        """Return the pattern of a line; None for the default."""
        return None if line == NO_MATCH else self.views[view].patterns[line]

    def guides(self, combination: Mapping[int, int]) -> list[Pattern]:
        """Return the patterns of the lines in *combination*; a default has none."""
        return [p for view, line in combination.items() if (p := self.pattern(view, line))]

    def combinations(
        self, chosen: dict[int, int], firsts: Sequence[int], seen: Container[object]
    ) -> Iterator[dict[int, int]]:
        """Yield *chosen* with a deciding line for every other view as well.

        Combinations that are impossible or show nothing new are left out: those with effects that
        are equal or *seen*, and those with a line behind that of *firsts* in its view, which
        matches all that the first chosen line matches.
        """
        effects = self.effects(chosen)
        rest = [number for number in range(len(self.views)) if number not in chosen]
        if not rest:
            by_line = self.by_default and NO_MATCH not in chosen.values()
            if _is_news(effects, seen) and not by_line:
                yield chosen
            return
        if all(effect is Effect.DENY for effect in effects):
            return  # whatever the effects of the other views
        # A list that grants little has few lines to try, and most combinations end with it.
        views = self.views
        number = min(
            rest, key=lambda n: (views[n].default is not Effect.DENY, len(views[n].entries))
        )
        worth = [
            effect
            for effect in Effect
            if len(rest) > 1 or _is_news(self._with(effects, number, effect), seen)
        ]
        for line in self._candidates(number, chosen, firsts[number], worth):
            yield from self.combinations({**chosen, number: line}, firsts, seen)

    def _with(self, effects: Effects, number: int, effect: Effect) -> Effects:
        """Return what both sides grant where a further list gives *effect*."""
        before, after = (
            granted & effect if number in side else granted
            for granted, side in zip(effects, self.sides, strict=True)
        )
        return before, after

    def _candidates(
        self, number: int, chosen: Mapping[int, int], last: int, worth: Sequence[Effect]
    ) -> Iterator[int]:
        """Yield the lines of a view that may decide a text together with the *chosen* lines.

        Args:
            number: the number of the view.
            chosen: the lines of some other views.
            last: the line of this view that matches all that the chosen lines match, or NO_MATCH.
            worth: the effects of the lines that are worth trying.

        """
        view = self.views[number]
        patterns = self.guides(chosen)
        only = next((pattern for pattern in patterns if pattern.exact), None)
        if only is not None:
            line = view.automaton.first(freeze(only, self.fresh))
            if view.effect(line) in worth:
                yield line
            return
        first, unpaired = view.shared, None
        if number in self.counterparts:
            # Counterparts are in the same order on both sides: none before a chosen line decides.
            (place,) = (line for other, line in chosen.items() if other in self.counterparts)
            paired, places = self.paired[number], self.counterparts[number]
            at = bisect_left(paired, place, key=places.__getitem__)
            first = max(first, paired[at] if at < len(paired) else len(view.entries))
            if place != NO_MATCH:  # else each of these is tried with that default as an edit
                unpaired = self.unpaired[number]
        nearest = patterns[0] if patterns else _ANYTHING
        for effect in worth:
            if unpaired is not None:
                yield from unpaired.near(nearest, effect, 0, min(first - 1, last))
            near = view.lines.near(nearest, effect, first, last)
            yield from near if patterns else sorted(near)  # as people wrote them
        if last == NO_MATCH and view.default in worth:
            yield NO_MATCH

    def firsts(self, pattern: Pattern | None) -> list[int]:
        """Return the line of each view that matches all that *pattern* does, NO_MATCH for none."""
        numbers = range(len(self.views))
        return [NO_MATCH if pattern is None else self.containing(pattern, n) for n in numbers]

    def containing(self, pattern: Pattern, view: int) -> int:
        """Return the first line of a view that matches a text of *pattern*, if it matches all.

        NO_MATCH where the line is not known to match all of them.
        """
        key = pattern, view
        if key not in self._containing:
            first = self.views[view].automaton.first(freeze(pattern, self.fresh))
            known = first != NO_MATCH and is_inside(pattern, self.views[view].patterns[first])
            self._containing[key] = first if known else NO_MATCH
        return self._containing[key]

    def effects(self, combination: Mapping[int, int]) -> Effects:
        """Return the most that both sides grant where the lines of *combination* decide."""
        lines = [
            view.effect(combination[number]) if number in combination else Effect.ALLOW
            for number, view in enumerate(self.views)
        ]
        return self.granted(lines)

    def granted(self, effects: Sequence[Effect]) -> Effects:
        """Return what both sides grant where each list gives its effect in *effects*."""
        before, after = (
            min([floor, *(effects[n] for n in side)])
            for floor, side in zip(self.floors, self.sides, strict=True)
        )
        return before, after


_ANYTHING: Final = Pattern.text("*")


def _is_news(effects: Effects, seen: Container[object]) -> bool:
    return effects[0] is not effects[1] and effects not in seen


@lru_cache(maxsize=65_536)  # tools share most of their lines
def is_inside(narrow: Pattern, wide: Pattern) -> bool:
    """Return whether *wide* is known to match all that *narrow* does."""
    try:
        return narrow <= wide
    except OverflowError:
        return False
