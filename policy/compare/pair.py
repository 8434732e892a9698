"""The search for a text that two sides decide differently, and for the call that has this text.

Of the texts that some lines match it is enough to try those in which a fresh character fills
the gaps that all of them have (`policy.patterns.search`). Both sides are asked about each text
before it is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain

from policy.compare.lists import ListSide, Sides, View, denies_all
from policy.compare.witness import CHANGES, Call, CallShape, Difference, Effects
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.patterns.automaton import NO_MATCH, Automaton
from policy.patterns.domains import Domain
from policy.patterns.pattern import Pattern, PatternKind, freeze, readable
from policy.patterns.search import SearchResult, search
from policy.tables.dialect import ArgumentKind
from policy.tables.table import Lookup

# How many earlier lines of a list are watched one by one, before all of them are.
_HIDING = 8


@lru_cache(maxsize=32)  # several tools have the same lists
def hidden_by(kind: PatternKind, patterns: tuple[Pattern, ...]) -> Automaton:
    """Return an automaton for whether any of *patterns* matches, not for which one."""
    return Automaton([pattern.tokens for pattern in patterns], kind.separator)


# Reasons of a decision that no rule gave: the call could not be read.
UNREAD = frozenset({Reason.MALFORMED, Reason.TOO_LONG})

# How many combinations of deciding lines are tried for one edit: of star patterns, whose searches
# are short, and of others.
_COMBINATIONS = 2_000
_SEARCHES = 200

OVERLAPS = "more rules overlap than are tried together"
_DOMAIN = "whether calls have some of the texts that rules tell apart is not known"
OPAQUE = "what the host knows of commands decides beside the rules"


class TextPair(Sides):
    """The two sides of a comparison, over texts that each belong to one call.

    Args:
        before: one side.
        after: the other side.
        domain: the possible texts, or some of them.
        ask: a function that has both sides decide the call with a text.
        wider: all possible texts, where *domain* is only some of them.
        letters: as for `Sides`.
        words: a function that yields readable texts to try in place of one.

    Attributes:
        why: the reasons why the comparison is not exact; empty so long as it is.
        shown_effects: the effects of all differences so far.

    """

    def __init__(
        self,
        before: ListSide,
        after: ListSide,
        *,
        domain: Domain,
        ask: Callable[[str], Difference],
        wider: Domain | None = None,
        letters: str = "",
        words: Callable[[str], Iterable[str]] = readable,
    ) -> None:
        super().__init__(before, after, letters=letters)
        self.domain = domain
        self._wider = wider
        self.ask = ask
        self.why: dict[str, None] = {}
        self.shown_effects: set[Effects] = set()
        self._words = words

    def differences(self) -> Iterator[Difference]:
        """Yield a difference for every pair of deciding lines that gives one.

        Lines that no file has and the defaults share their differences: one for each pair of
        effects.
        """
        together: set[Effects] = set()
        for view, line in sorted(self.edits, key=lambda edit: edit[1] != NO_MATCH):
            pattern = self.pattern(view, line)
            if pattern is not None and any(each.denies(pattern) for each in self.denying):
                continue
            written = line != NO_MATCH and self.views[view].entries[line].place is not None
            yield from self.by_line(view, line, set() if written else together)

    def holds(self, text: str) -> bool:
        """Return whether a text is possible."""
        return self.domain.holds(text)

    def by_line(self, view: int, line: int, seen: set[Effects]) -> Iterator[Difference]:
        """Yield differences decided by one line, one for each pair of effects not *seen*."""
        if len(self.views) == 1:
            effects = self.effects({view: line})
            if effects[0] is effects[1] or effects in seen:
                return
        pattern = self.pattern(view, line)
        frozen = freeze(pattern, self.fresh) if pattern is not None else self.fresh
        firsts = self.firsts(pattern)
        if line != NO_MATCH and firsts[view] < line:
            return  # an earlier line matches all that this one matches
        chosen = {view: line}
        sample = self._confirmed(frozen, chosen) if self.holds(frozen) else None
        if sample is not None and sample.effects not in seen:
            seen.add(sample.effects)
            self.shown_effects.add(sample.effects)
            yield sample
        most = _COMBINATIONS if self.are_stars else _SEARCHES
        for tried, combination in enumerate(self.combinations(chosen, firsts, seen)):
            if tried >= most:
                self.why[OVERLAPS] = None
                return
            text = self._text(combination)
            if text is None:
                continue
            effects = self.effects(combination)
            for difference in self._shown(text, combination, effects):
                self.shown_effects.add(difference.effects)
                yield difference
                if difference.is_like(effects) and effects in self.shown_effects:
                    seen.add(effects)

    def _shown(self, text: str, chosen: Mapping[int, int], wanted: Effects) -> Iterator[Difference]:
        """Yield the difference that *text* shows; if that is not *wanted*, those of other texts."""
        difference = self._confirmed(text, chosen)
        if difference is not None:
            yield difference
        shown = None if difference is None else difference.effects
        if difference is not None and difference.is_like(wanted) and wanted in self.shown_effects:
            return  # whichever lines showed it
        # The search and the table disagree, since a host knows more of
        # commands than rules do, e.g. that `ls` only reads.
        for each in self.otherwise(text, chosen, wanted) if shown != wanted else ():
            if each.effects != shown:
                yield each

    def otherwise(
        self, text: str, chosen: Mapping[int, int], wanted: Effects
    ) -> Iterable[Difference]:
        """Return the differences that other texts of the same lines show: here none.

        Unless *text* is the only text of these lines, the change *wanted* is undecided.

        Args:
            text: a text that the lines decide, and that does not show *wanted*.
            chosen: the lines.
            wanted: the change from one side's lines to those of the other.

        """
        del text
        if not any(pattern.exact for pattern in self.guides(chosen)):
            self.leave_undecided(OPAQUE, wanted)
        return ()

    def leave_undecided(self, why: str, wanted: Effects) -> None:
        """Record *why* calls may have the change *wanted*, though none was found."""
        del wanted
        self.why[why] = None

    def _text(self, combination: Mapping[int, int]) -> str | None:
        """Return a text that every view decides by its line of *combination*, or None."""
        guides = self.guides(combination)
        found = self._search(self.domain, guides, combination)
        if not found.exact:
            self.why[OVERLAPS] = None
        elif (
            found.text is None
            and self._wider is not None
            and self._search(self._wider, guides, combination) != SearchResult(None)
        ):
            self.why[_DOMAIN] = None
        return found.text

    def _search(
        self, domain: Domain, guides: Sequence[Pattern], combination: Mapping[int, int]
    ) -> SearchResult:
        """Search *domain* for a text of *guides* that *combination* decides."""
        # Most lines before the deciding ones match no text that the search would find.
        hiding: dict[int, tuple[Pattern, ...]] = dict.fromkeys(combination, ())
        while True:
            watched = [
                (hidden_by(self.views[number].kind, hiding[number]), NO_MATCH)
                if len(hiding[number]) < _HIDING
                else (self.views[number].automaton, line)
                for number, line in combination.items()
            ]
            found = search(
                [domain, *(pattern.automaton for pattern in guides)],
                watched,
                fresh=self.fresh,
                extra=self.extra,
            )
            hides = {} if found.text is None else self._hides(found.text, combination)
            if not hides:
                return found
            for number, pattern in hides.items():
                hiding[number] = (*hiding[number], pattern)

    def _hides(self, text: str, combination: Mapping[int, int]) -> dict[int, Pattern]:
        """Return the pattern of each line that decides a text before one of *combination* does."""
        firsts = {number: self.views[number].automaton.first(text) for number in combination}
        return {
            number: self.views[number].patterns[firsts[number]]
            for number, line in combination.items()
            if firsts[number] < line
        }

    def _decided(self, text: str, combination: Mapping[int, int]) -> bool:
        return all(
            self.views[view].automaton.first(text) == line for view, line in combination.items()
        )

    def _confirmed(self, text: str, chosen: Mapping[int, int]) -> Difference | None:
        """Return the difference that *text* shows when both tables are asked, or None."""
        if not self._decided(text, chosen):
            return None
        # No host name has the fresh character, but a word may replace it.
        words = chain(self._words(text), (text.replace(self.fresh, "q7z"), text))
        for candidate in dict.fromkeys(words):
            if candidate != text and not (
                self.holds(candidate) and self._decided(candidate, chosen)
            ):
                continue
            found = self.ask(candidate)
            is_read = UNREAD.isdisjoint((found.before.reason, found.after.reason))
            if found.before.effect is not found.after.effect and is_read:
                return found
        return None


# Characters that a host name can hold: hardly any rule names all of them.
_HOST_LETTERS = "xyz0123456789qjkvwabcdefghilmnoprstu"


class ToolPair(TextPair):
    """Calls of one tool that differ in one text only.

    Attributes:
        undecided: reasons why more calls may change, each with the change.

    """

    def __init__(self, tool: str, before: Lookup, after: Lookup, shape: CallShape) -> None:
        self.tool = tool
        self.lookups = (before, after)
        self.shape = shape
        self.undecided: dict[tuple[str, Effects], None] = {}
        # Most texts are tried in several ways.
        self.known: dict[str, Difference] = {}
        self.given = (_side(before, shape), _side(after, shape))
        super().__init__(
            *self.adapted(self.given),
            domain=shape.domain,
            wider=shape.wider,
            ask=self.asked,
            letters=_HOST_LETTERS if shape.argument.kind is ArgumentKind.URL else "",
        )

    def adapted(self, sides: tuple[ListSide, ListSide]) -> tuple[ListSide, ListSide]:
        """Return the sides as this comparison sees them."""
        return sides

    @cached_property
    def denying(self) -> Sequence[View]:
        """None: what a host knows of a call may decide too, so every edit is asked about."""
        return ()

    @cached_property
    def precluded(self) -> frozenset[Effects]:
        """The changes that no call shows: a side that denies every call grants none of them."""
        denied = [denies_all(lookup) for lookup in self.lookups]
        return frozenset(
            (before, after)
            for before, after in CHANGES
            if (denied[0] and before is not Effect.DENY) or (denied[1] and after is not Effect.DENY)
        )

    def asked(self, text: str) -> Difference:
        """Return the decisions of both sides on the call whose argument is read as *text*."""
        found = self.known.get(text)
        if found is None:
            found = self.known[text] = self.decided(self.shape.call(text))
        return found

    def otherwise(
        self, text: str, chosen: Mapping[int, int], wanted: Effects
    ) -> Iterable[Difference]:
        """Return the same; a call that cannot be read leaves nothing undecided."""
        asked = self.asked(text)
        is_read = UNREAD.isdisjoint((asked.before.reason, asked.after.reason))
        return super().otherwise(text, chosen, wanted) if is_read else ()

    def leave_undecided(self, why: str, wanted: Effects) -> None:
        """Record *why* calls may have the change *wanted*, in case no other call shows it."""
        self.undecided[why, wanted] = None

    def left(self, effects: Collection[Effects]) -> Iterator[str]:
        """Yield the reasons why calls may have other changes than *effects*."""
        return (why for why, change in self.undecided if change not in effects)

    def unreadable(self) -> Difference | None:
        """Return the difference of calls whose argument cannot be read, if there is one."""
        call = self.shape.unreadable()
        if call is None:
            return None
        found = self.decided(call)
        return None if found.before.effect is found.after.effect else found

    def decided(self, call: Call) -> Difference:
        """Return the decisions of both sides on a call."""
        before, after = (lookup.decide(call, remember=False) for lookup in self.lookups)
        return Difference(self.tool, call, before, after)


def _side(lookup: Lookup, shape: CallShape) -> ListSide:
    views = (View.of(row, shape.parameters, shape.sole) for row, _ in lookup.rows)
    return ListSide(tuple(views), lookup.floor)
