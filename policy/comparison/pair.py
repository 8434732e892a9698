"""Two sides of a comparison, as lists over one text: where they decide differently.

Two lists A and B decide some text differently just when there are a line of A
and a line of B with different effects, and a text that both lines match and
both lists decide by those lines. Of the texts that both lines match it is
enough to try those in which a fresh character fills what both leave open
(`policy.patterns.search`). Only lines without a counterpart on the other side
can be among the deciding ones, so the cost is that of the edit, not of the
lists.

Where a side is a meet of several lists, a line is chosen for each of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import attrs

from policy import limits
from policy.comparison.view import View, counterparts
from policy.comparison.witness import Call
from policy.decision import Decision, Reason
from policy.effect import Effect
from policy.patterns.automaton import NO_MATCH, Automaton
from policy.patterns.domains import Domain
from policy.patterns.members import members
from policy.patterns.pattern import Pattern, excluded_characters, freeze, is_stars, named, readable
from policy.patterns.search import Found, fresh_character, search

__all__ = ["OVERLAPS", "Difference", "Pair", "Side"]

# Reasons of a decision that no rule gave: the call could not be read.
_UNREAD = frozenset({Reason.MALFORMED, Reason.TOO_LONG})

# Combinations of deciding lines that are tried for one edit, before all lists are searched
# together; and those that take a search each.
_COMBINATIONS = 2_000
_SEARCHES = 50

OVERLAPS = "more rules overlap than are tried together"
_SEARCHED = "patterns overlap in more ways than are searched"
_DOMAIN = "whether calls have some of the texts that rules tell apart is not known"
_OPAQUE = "what the host knows of commands decides beside the rules"


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
class Side:
    """A meet of lists over one text.

    Attributes:
        views: the lists.
        floor: what holds whatever the text is.

    """

    views: tuple[View, ...]
    floor: Effect = Effect.ALLOW


class Pair:
    """The two sides, and what a text of theirs stands for.

    Args:
        before: one side.
        after: the other.
        domain: the texts that are possible.
        ask: the call that a text stands for, as it is decided by both sides.
        wider: the texts that are possible, where *domain* is only some of them.
        letters: characters for "any text", the best first, where a call can
            hold no others.
        words: texts that people can read and that may stand for one.

    Attributes:
        why: why something was left undecided so far; nothing where nothing was.
        by_default: whether only texts count that no line decides on one of the sides.
        also: domains that a text must be in too.
        but: domains that it must not be in.

    """

    def __init__(
        self,
        before: Side,
        after: Side,
        *,
        domain: Domain,
        ask: Callable[[str], Difference],
        wider: Domain | None = None,
        letters: str = "",
        words: Callable[[str], Iterable[str]] = readable,
    ) -> None:
        self.domain = domain
        self._wider = wider
        self.ask = ask
        self.why: dict[str, None] = {}
        self.by_default = False
        self.also: list[Domain] = []
        self.but: list[Domain] = []
        self._letters = letters
        self._words = words
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
        # view -> line -> the same line in the view it is compared with
        self._kept: dict[int, dict[int, int]] = {}
        self._kept_lines: dict[int, list[int]] = {}
        self._own: dict[int, list[int]] = {}
        # The same by the entries of two views: other defaults change nothing of it.
        self.aligned: dict[tuple[int, int], dict[int, int]] = {}
        # pattern, view -> the line that matches all that the pattern does
        self._firsts: dict[tuple[Pattern, int], int] = {}

    @cached_property
    def patterns(self) -> list[Pattern]:
        """The patterns of all views."""
        return [pattern for view in self.views for pattern in view.patterns]

    @cached_property
    def fresh(self) -> str:
        """A character that no pattern names, and that a call can hold."""
        letters = named(self.patterns)
        chosen = next((c for c in self._letters if c not in letters), None)
        return chosen or fresh_character(letters)

    @cached_property
    def extra(self) -> frozenset[str]:
        """The characters that sets of the patterns tell apart from a fresh one."""
        return excluded_characters(self.patterns)

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
        for view, line in self.edits:
            written = line == NO_MATCH or self.views[view].entries[line].place is not None
            yield from self._by_line(view, line, set() if written else together)

    def holds(self, text: str) -> bool:
        """Return whether a text is possible."""
        return all(each.holds(text) for each in (self.domain, *self.also)) and not any(
            each.holds(text) for each in self.but
        )

    @cached_property
    def edits(self) -> list[tuple[int, int]]:
        """The lines, as view and index, one of which decides any difference."""
        return list(self._edits())

    def _edits(self) -> Iterator[tuple[int, int]]:
        only = [self.sides[0] - self.sides[1], self.sides[1] - self.sides[0]]
        if len(only[0]) == len(only[1]) == 1 and self.floors[0] is self.floors[1]:
            (before,), (after,) = only
            kept = self._aligned(self.views[before], self.views[after])
            self._kept = {before: kept, after: {new: old for old, new in kept.items()}}
            for view in (after, before):
                lines = range(len(self.views[view].entries))
                self._own[view] = [line for line in lines if line not in self._kept[view]]
                self._kept_lines[view] = sorted(self._kept[view])
            for view in (after, before):
                yield from ((view, line) for line in self._own[view])
            if self.views[before].default is not self.views[after].default:
                yield after, NO_MATCH
            return
        numbers = only[1] | only[0]
        if self.floors[0] is not self.floors[1]:
            numbers = set(range(len(self.views)))
        for number in sorted(numbers, key=lambda n: (n not in self.sides[1], n)):
            list_ = self.views[number]
            yield from ((number, line) for line in range(list_.shared, len(list_.entries)))
            yield number, NO_MATCH

    def _aligned(self, before: View, after: View) -> dict[int, int]:
        key = id(before.entries), id(after.entries)
        if key not in self.aligned:
            self.aligned[key] = counterparts(before.entries, after.entries)
        return self.aligned[key]

    def pattern(self, view: int, line: int) -> Pattern | None:
        """Return the pattern of a line; None for the default."""
        return None if line == NO_MATCH else self.views[view].patterns[line]

    def _by_line(
        self, view: int, line: int, seen: set[tuple[Effect, Effect]]
    ) -> Iterator[Difference]:
        """Yield differences decided by one line, one for each pair of effects not *seen*."""
        if len(self.views) == 1:
            effects = self._effects({view: line})
            if effects[0] is effects[1] or effects in seen:
                return
        pattern = self.pattern(view, line)
        frozen = freeze(pattern, self.fresh) if pattern is not None else self.fresh
        if self.plain or pattern is None:
            firsts = [other.automaton.first(frozen) for other in self.views]
        else:
            firsts = [other.covering(pattern) for other in self.views]
        if line != NO_MATCH and firsts[view] < line:
            return  # a line before this one matches all that it matches
        chosen = {view: line}
        sample = self._confirmed(frozen, chosen) if self.holds(frozen) else None
        if sample is not None and (sample.before.effect, sample.after.effect) not in seen:
            seen.add((sample.before.effect, sample.after.effect))
            yield sample
        tried = 0
        for combination in self._combinations(chosen, firsts, seen):
            tried += 1
            if tried > (_COMBINATIONS if self.plain else _SEARCHES):
                yield from self._all_at_once(seen, view, line)
                return
            text = None if self._is_precluded(combination) else self._text(combination)
            if text is None:
                continue
            difference = self._confirmed(text, combination)
            if difference is None:
                # The search and the table disagree, since a host knows more of
                # commands than rules say, e.g. that `ls` only reads.
                difference = self.otherwise(text, combination)
            if difference is None:
                continue
            seen.add(self._effects(combination))
            yield difference

    def _all_at_once(
        self, seen: set[tuple[Effect, Effect]], view: int | None = None, line: int = NO_MATCH
    ) -> Iterator[Difference]:
        """Yield differences by searching all lists together, those that one line decides if given.

        One for each pair of effects not *seen*. What it costs grows with what lines tell
        apart, not with the number of combinations.
        """
        while True:
            found = self._anywhere(seen, view, line)
            if not found.exact:
                self.why[OVERLAPS] = None
            if found.text is None:
                return
            firsts = {n: each.automaton.first(found.text) for n, each in enumerate(self.views)}
            difference = self._confirmed(found.text, firsts)
            if difference is None:
                self.why[OVERLAPS] = None
            else:
                yield difference
            seen.add(self._effects(firsts))

    def _anywhere(
        self, seen: Container[tuple[Effect, Effect]], view: int | None, line: int
    ) -> Found:
        """Search for a text that shows effects not *seen*, decided by one line if given."""
        guides: list[Automaton | Domain] = [self.domain, *self.also]
        watched, effects = zip(*(each.turns for each in self.views), strict=True)
        further: list[Automaton | Domain] = [*self.but]
        expected = [NO_MATCH for _ in self.but]
        if view is not None:
            further.append(self.views[view].automaton)
            expected.append(line)
            pattern = self.pattern(view, line)
            guides += [] if pattern is None else [pattern.automaton]
        known: dict[tuple[int, ...], bool] = {}

        def tells(turns: tuple[int, ...]) -> bool:
            said = [
                each.default if turn == NO_MATCH else of[turn]
                for each, of, turn in zip(self.views, effects, turns, strict=True)
            ]
            before, after = (
                min([floor, *(said[number] for number in side)])
                for floor, side in zip(self.floors, self.sides, strict=True)
            )
            return before is not after and (before, after) not in seen

        def wanted(turns: tuple[int, ...]) -> bool:
            if turns[len(watched) :] != tuple(expected):
                return False
            turns = turns[: len(watched)]
            if turns not in known:
                known[turns] = tells(turns)
            return known[turns]

        return search(
            guides,
            [*watched, *further],
            wanted,
            fresh=self.fresh,
            extra=self.extra,
            budget=limits.SEARCH_STATES,
            told_apart=True,
        )

    def _is_precluded(self, combination: Mapping[int, int]) -> bool:
        """Return whether a line before a chosen one matches all that another chosen one does.

        Of star patterns one match tells; of plain lists most of these are never chosen.
        """
        if self.plain and not self.by_default:
            return False
        for view, line in combination.items():
            pattern = self.pattern(view, line)
            if pattern is None or not is_stars(pattern):
                continue
            for other, last in combination.items():
                key = pattern, other
                if key not in self._firsts:
                    first = self.views[other].automaton.first(freeze(pattern, self.fresh))
                    known = first == NO_MATCH or is_stars(self.views[other].patterns[first])
                    self._firsts[key] = first if known else NO_MATCH
                if self._firsts[key] < last:
                    return True
        return False

    def otherwise(self, text: str, chosen: Mapping[int, int]) -> Difference | None:
        """Return a difference that other texts than *text* show, which the same lines decide.

        Of one text it is settled that there is none; of many it may hold for this one alone.
        """
        del text
        patterns = [self.pattern(view, line) for view, line in chosen.items()]
        if not any(pattern is not None and pattern.exact for pattern in patterns):
            self.why[_OPAQUE] = None
        return None

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
            by_line = self.by_default and NO_MATCH not in chosen.values()
            if effects[0] is not effects[1] and effects not in seen and not by_line:
                yield chosen
            return
        if all(effect is Effect.DENY for effect in self._so_far(chosen)):
            return  # whatever the other views say
        # Where little is granted little has to be tried, and most of that ends there.
        number = min(rest, key=self._granting.__getitem__)
        view = self.views[number]
        patterns = [p for other, line in chosen.items() if (p := self.pattern(other, line))]
        nearest = max(patterns, key=_literal, default=None)
        last = firsts[number] if patterns else NO_MATCH
        # Only the effect of the last view tells whether there is something new.
        is_last = len(rest) == 1
        earliest = max((line for other, line in chosen.items() if other in self._kept), default=-1)
        # What lines decide on both sides is the same whoever runs it.
        open_ = not (is_last and self.by_default and NO_MATCH not in chosen.values())
        only = next((pattern for pattern in patterns if pattern.exact), None)
        if only is not None:
            # Of a single text each view says at once which line decides it.
            line = view.automaton.first(freeze(only, self.fresh))
            if (line == NO_MATCH or (open_ and line >= view.shared)) and (
                not is_last or self._tells(number, view.effect(line), chosen, seen)
            ):
                yield from self._combinations({**chosen, number: line}, firsts, seen)
            return
        for effect in Effect if open_ else ():
            for line in self._lines(number, nearest, effect, earliest, last):
                if nearest is not None and view.is_hidden(line, nearest):
                    continue
                if is_last and not self._tells(number, effect, chosen, seen):
                    break
                yield from self._combinations({**chosen, number: line}, firsts, seen)
        if last == NO_MATCH and (not is_last or self._tells(number, view.default, chosen, seen)):
            yield from self._combinations({**chosen, number: NO_MATCH}, firsts, seen)

    def _lines(
        self, number: int, nearest: Pattern | None, effect: Effect, earliest: int, last: int
    ) -> Iterator[int]:
        """Yield the lines of a view that can decide beside those chosen so far."""
        view = self.views[number]
        first = view.shared
        kept = self._kept.get(number)
        if kept is not None:
            if earliest == NO_MATCH:
                return  # what no line matches there is matched by no kept one here
            # Those that are kept are in the same order on both sides.
            first = max(first, self._first_kept(number, earliest))
            for line in self._own[number]:
                if (
                    line < first
                    and line <= last
                    and view.entries[line].effect is effect
                    and (nearest is None or view.meets(line, nearest))
                ):
                    yield line
        if nearest is not None:
            yield from view.near(nearest, effect, first, last)
            return
        for line in range(first, len(view.entries)):
            if line <= last and view.entries[line].effect is effect:
                yield line

    def _first_kept(self, number: int, earliest: int) -> int:
        """Return the first line whose counterpart is not before *earliest*."""
        kept = self._kept_lines[number]
        at = bisect_left(kept, earliest, key=self._kept[number].__getitem__)
        return kept[at] if at < len(kept) else len(self.views[number].entries)

    def _tells(
        self, number: int, effect: Effect, chosen: Mapping[int, int], seen: Container[object]
    ) -> bool:
        """Return whether *effect* of the last view would show something new."""
        before, after = (
            min([floor, *(effect if n == number else self._effect(n, chosen[n]) for n in side)])
            for floor, side in zip(self.floors, self.sides, strict=True)
        )
        return before is not after and (before, after) not in seen

    def _effect(self, view: int, line: int) -> Effect:
        return self.views[view].effect(line)

    @cached_property
    def _granting(self) -> list[tuple[bool, int]]:
        """What each view grants by default, and how many lines it has, to compare views by."""
        return [(view.default is not Effect.DENY, len(view.entries)) for view in self.views]

    def _so_far(self, chosen: Mapping[int, int]) -> tuple[Effect, Effect]:
        """Return the most that both sides can grant where these lines decide."""
        before, after = (
            min([floor, *(self._effect(n, line) for n, line in chosen.items() if n in side)])
            for floor, side in zip(self.floors, self.sides, strict=True)
        )
        return before, after

    def _effects(self, combination: Mapping[int, int]) -> tuple[Effect, Effect]:
        before, after = (
            min([floor, *(self._effect(n, combination[n]) for n in side)])
            for floor, side in zip(self.floors, self.sides, strict=True)
        )
        return before, after

    def _text(self, combination: Mapping[int, int]) -> str | None:
        """Return a text that every view decides by its line of *combination*, or None."""
        guides = [p for view, line in combination.items() if (p := self.pattern(view, line))]
        if self.plain and all(self.holds(freeze(p, self.fresh)) for p in guides):
            try:
                texts = members([freeze(p, self.fresh) for p in guides], self.fresh)
                decided = [text for text in texts if self._decided(text, combination)]
            except OverflowError:
                return self._searched(guides, combination)
            possible = next(filter(self.holds, decided), None)
            if possible is not None or not decided or self.domain.closed:
                return possible
        return self._searched(guides, combination)

    def _searched(
        self,
        guides: Sequence[Pattern],
        combination: Mapping[int, int],
        but: Sequence[Domain] = (),
    ) -> str | None:
        found = self._search(self.domain, guides, combination, but)
        if not found.exact:
            self.why[_SEARCHED] = None
        elif (
            found.text is None
            and self._wider is not None
            and self._search(self._wider, guides, combination) != Found(None)
        ):
            self.why[_DOMAIN] = None
        return found.text

    def _search(
        self,
        domain: Domain,
        guides: Sequence[Pattern],
        combination: Mapping[int, int],
        but: Sequence[Domain] = (),
    ) -> Found:
        """Search *domain* for a text of *guides* that *combination* decides, and not in *but*."""
        but = (*but, *self.but)
        wanted = (*combination.values(), *(NO_MATCH for _ in but))
        watched = [self.views[number].automaton for number in combination]
        return search(
            [domain, *self.also, *(pattern.automaton for pattern in guides)],
            [*watched, *but],
            lambda firsts: firsts == wanted,
            fresh=self.fresh,
            extra=self.extra,
            budget=limits.SEARCH_STATES,
            least=tuple(combination.values()),
        )

    def _decided(self, text: str, combination: Mapping[int, int]) -> bool:
        return all(
            self.views[view].automaton.first(text) == line for view, line in combination.items()
        )

    def _confirmed(self, text: str, chosen: Mapping[int, int]) -> Difference | None:
        """Return the difference that *text* shows when both tables are asked, or None."""
        if not self._decided(text, chosen):
            return None
        shown: Difference | None = None
        # A fresh character is in no host name, but a word may stand for it.
        words = (text, *self._words(text), text.replace(self.fresh, "q7z"))
        for candidate in dict.fromkeys(words):
            if candidate != text and not (
                self.holds(candidate) and self._decided(candidate, chosen)
            ):
                continue
            found = self.ask(candidate)
            if found.before.effect is found.after.effect:
                continue
            if {found.before.reason, found.after.reason} & _UNREAD:
                continue
            if shown is None or candidate == text:
                shown = found
            elif (shown.before, shown.after) == (found.before, found.after):
                # Every table answers alike, so the readable call may stand for it.
                return found
        return shown


def _literal(pattern: Pattern) -> int:
    return sum(len(token) for token in pattern.tokens if isinstance(token, str))
