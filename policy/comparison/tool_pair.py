"""Calls of one tool that differ in one text only, as two lookups decide them.

Of commands more is told apart than what lines say of the text that is written: a host
runs some where no rule speaks of them (`policy.comparison.unasked`), rules know a command by
other texts (`policy.comparison.disguise`), and the files that it opens decide beside it
(`policy.comparison.opening`). Each of these is a comparison of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import product

import attrs

from policy.comparison.disguise import ODD_LINES, SAMPLES, Disguises, is_odd
from policy.comparison.edited import Side
from policy.comparison.forms import is_unchecked
from policy.comparison.opening import Openings, opened_by
from policy.comparison.pair import OVERLAPS, Difference, Pair
from policy.comparison.prefixes import in_quotes, is_led, loud, runs_another
from policy.comparison.reads import read_alike
from policy.comparison.rows import denies_all
from policy.comparison.unasked import Unasked
from policy.comparison.view import View, is_stricter
from policy.comparison.witness import Call, Shape
from policy.decision import Reason
from policy.dialect import ArgumentKind, Shell
from policy.effect import Effect
from policy.lookup import Lookup
from policy.patterns.automaton import NO_MATCH
from policy.patterns.pattern import Pattern
from policy.rows.outcome import Outcome

__all__ = ["ToolPair", "remembered"]

# What a host name can hold: hardly a rule names all of it.
_HOST_LETTERS = "xyz0123456789qjkvwabcdefghilmnoprstu"

_UNREAD = "some commands that rules tell apart cannot be taken apart, and others may be"
_FILES = "the files that some commands open decide beside what rules say of them"


class ToolPair(Pair):
    """Calls of one tool that differ in one text only."""

    def __init__(self, tool: str, before: Lookup, after: Lookup, shape: Shape) -> None:
        self.tool = tool
        self.lookups = (before, after)
        self.shape = shape
        # Most texts are tried in several ways.
        self.known: dict[str, Difference] = {}
        # Why more commands may change than were shown, and in which direction.
        self.doubts: dict[tuple[str, bool], None] = {}
        self.given = (_side(before, shape), _side(after, shape))
        super().__init__(
            *self.seen_as(self.given),
            domain=shape.domain,
            wider=shape.wider,
            ask=self.asked,
            words=shape.readable,
            letters=_HOST_LETTERS if shape.argument.kind is ArgumentKind.URL else "",
        )

    def seen_as(self, sides: tuple[Side, Side]) -> tuple[Side, Side]:
        """Return the sides as this comparison sees them."""
        return sides

    @cached_property
    def denying(self) -> Sequence[View]:
        """None: what a host knows of a call decides beside lines, so every edit is asked about."""
        return ()

    @cached_property
    def precluded(self) -> frozenset[bool]:
        """The directions in which no call changes: what is denied whatever it is only widens."""
        denied = [denies_all(lookup) for lookup in self.lookups]
        return frozenset(widened for widened in (False, True) if denied[widened])

    @cached_property
    def unheard(self) -> frozenset[bool]:
        """The directions in which no command changes, whatever texts it is known by.

        Where the same lines stand in the same order, and some of one side deny what those of
        the other ask for, the line that decides a text is the same on both sides, or a
        stricter one.
        """
        before, after = ([self.views[number] for number in side] for side in self.sides)
        return frozenset(
            widened
            for widened, (less, more) in ((False, (before, after)), (True, (after, before)))
            if self.floors[widened] <= self.floors[not widened]
            and all(any(is_stricter(one, other) for one in less) for other in more)
        )

    def asked(self, text: str) -> Difference:
        """Return what the call whose argument is read as *text* gets of both."""
        found = self.known.get(text)
        if found is None:
            found = self.known[text] = self.decided(self.shape.call(text))
        return found

    @property
    def shell(self) -> Shell:
        """How commands are read."""
        return self.shape.dialect.shell

    @cached_property
    def shells(self) -> tuple[Shell, ...]:
        """What hosts know of commands, one for each of what they run unasked."""
        views = (view for side in self.given for view in side.views)
        found = {view.shell.programs: view.shell for view in views if view.shell.programs}
        return tuple(found.values())

    def otherwise(
        self, text: str, chosen: Mapping[int, int], *, widened: bool
    ) -> Difference | None:
        """Return a difference of lines whose *text* shows none, since it runs unasked."""
        if not self.shell.programs:
            return super().otherwise(text, chosen, widened=widened)
        for prefix in loud(self.shell):
            found = self.changed(prefix + text.replace(self.fresh, "q7z"), widened=widened)
            if found is not None:
                return found
        for likely in runs_another(self.shell):
            # Of what starts with a program that runs others most is not vouched for.
            if self._decided(likely, chosen):
                found = self.changed(likely, widened=widened)
                if found is not None:
                    return found
        if self._grants_none(chosen):
            return None
        guides = [p for view, line in chosen.items() if (p := self.pattern(view, line))]
        asked_for = self._searched(guides, chosen, but=[Unasked.of(shell) for shell in self.shells])
        return self.shown(asked_for, guides, widened=widened)

    def changed(self, text: str, *, widened: bool) -> Difference | None:
        """Return what *text* shows, if that is a change in one direction."""
        found = self.asked(text)
        changes = found.before.effect is not found.after.effect
        return found if changes and found.widened is widened else None

    def _grants_none(self, chosen: Mapping[int, int]) -> bool:
        """Whether the side that would allow what *chosen* lines decide asks for all of it."""
        effects = self.effects(chosen)
        if {*effects} != {Effect.ALLOW, Effect.ASK}:
            return False
        granting = self.sides[effects.index(Effect.ALLOW)]
        patterns = (self.pattern(view, chosen[view]) for view in granting)
        return any(each and is_unchecked(each, self.shell) for each in patterns)

    def shown(
        self, text: str | None, guides: Sequence[Pattern], *, widened: bool
    ) -> Difference | None:
        """Return the difference that a text shows; admit where its files may hide one."""
        if text is None:
            return None
        named = text.replace(self.fresh, "q7z")
        found = self.changed(named, widened=widened)
        if found is not None:
            return found
        if any(p.exact for p in guides):
            return None
        plain = self.asked(named)
        if Reason.UNANALYSABLE in (plain.before.reason, plain.after.reason):
            found = self.changed(in_quotes(named), widened=widened)
            if found is not None:
                return found
            if not is_led(text, guides, self.shell):
                self.doubts[_UNREAD, widened] = None  # of other texts the rules may be asked
        opens = read_alike(text, self.shell).redirections
        if opens and not self._is_shut(opened_by(guides, self.shell)):
            self.doubts[_FILES, widened] = None
        return None

    def _is_shut(self, tools: Iterable[str]) -> bool:
        """Whether either side denies every command that opens a file as a call of these."""
        return all(
            any(_denies(row.ruleset.row(tool).constant) for row, _ in lookup.rows)
            for lookup in self.lookups
            for tool in tools
        )

    def opening(
        self, opened: Mapping[str, Sequence[Difference]], known: Collection[bool]
    ) -> Iterator[Difference]:
        """Yield a difference of commands that open files.

        Args:
            opened: tools, and how both sides decide other files as calls of them.
            known: the directions that need no further one.

        """
        shown = set(known)
        if not opened or len(shown) > 1:
            return
        for shell in self.shells or (self.shell,):
            dialect = attrs.evolve(self.shape.dialect, shell=shell)
            openings = Openings(self.views, dialect, self.asked)
            for tool, differences in opened.items():
                for file in _telling(differences):
                    if file.widened not in shown:
                        path = str(next(iter(file.call.values()), "q7z"))
                        yield from self._shows(openings.of(tool, path), shown, {file.widened})
                        if openings.exhausted and file.widened not in shown:
                            self.why[OVERLAPS] = None
            yield from self._shows(openings.unknown(opened), shown, {False, True})

    def _shows(
        self, texts: Iterable[str], shown: set[bool], wanted: Collection[bool]
    ) -> Iterator[Difference]:
        """Yield what commands show in the *wanted* directions that none has *shown* yet."""
        for text in texts:
            found = self.asked(text)
            if found.before.effect is not found.after.effect and found.widened not in shown:
                shown.add(found.widened)
                yield found
            if shown.issuperset(wanted):
                return

    def unreadable(self) -> Difference | None:
        """Return the difference of calls whose argument cannot be read, if there is one."""
        call = self.shape.unreadable()
        if call is None:
            return None
        found = self.decided(call)
        return None if found.before.effect is found.after.effect else found

    def decided(self, call: Call) -> Difference:
        """Return what a call gets of both."""
        before, after = (lookup.decide_once(call, remembered) for lookup in self.lookups)
        return Difference(self.tool, call, before, after)

    def disguised(self, known: Collection[bool], *, exact: bool) -> Iterator[Difference]:
        """Yield a difference of commands that rules see through, or cannot grant.

        Args:
            known: the directions that need no further one.
            exact: whether nothing else is left undecided.

        """
        shown = {*known, *self.unheard}
        # What is not exact in any case is told by some of them.
        most = _DISGUISED if exact else _DISGUISED // 10
        shells = self.shells or (self.shell,)
        disguises = (text for shell in shells for text in self._disguises(shell, shown))
        for tried, text in enumerate(disguises):
            if tried >= most:
                self.doubts |= dict.fromkeys(product((OVERLAPS,), {False, True} - shown))
                return
            found = self.asked(text.replace(self.fresh, "q7z"))
            if found.before.effect is found.after.effect or found.widened in shown:
                continue
            shown.add(found.widened)
            plain = self.asked(text.replace(self.fresh, "x"))
            same = (plain.before, plain.after) == (found.before, found.after)
            yield plain if same else found

    def _disguises(self, shell: Shell, shown: Container[bool]) -> Iterator[str]:
        """Yield commands, frozen, as long as a direction is not *shown* that they may have."""
        disguises: Disguises | None = None
        for view, line in self.edits:
            pattern = self.pattern(view, line)
            # A line that allows matters to what is behind a prefix where it hides others.
            reads = line <= self.views[view].last_strict
            wanted = self._directions(view, line, reads=reads)
            if pattern is None or all(each in shown for each in wanted):
                continue
            if disguises is None:
                disguises = Disguises(self.views, self.fresh, shell)
                yield from disguises.spelled_out()
            hides = self.views[view].effect(line) is Effect.ALLOW
            for text in disguises.of(pattern, reads=reads, hides=hides and reads):
                yield text
                if all(each in shown for each in wanted):
                    break
            said = (ODD_LINES, is_odd(pattern)), (OVERLAPS, disguises.exhausted)
            doubted = (doubt for doubt, holds in said if holds)
            self.doubts |= dict.fromkeys(product(doubted, wanted))
        yield from SAMPLES

    def _directions(self, view: int, line: int, *, reads: bool) -> tuple[bool, ...]:
        """Return in which directions calls may change that a line knows."""
        only = [view in side for side in self.sides]
        effect = self.views[view].effect(line)
        other = None if line == NO_MATCH else self.instead(view, line)
        if other is not None and Effect.ALLOW not in (effect, other):
            # The same texts are asked for or denied in the same place: no other line speaks up.
            return ((effect < other) is only[0],)
        strict = self.views[view].is_strictest(line) and self._denies_none
        asks = effect is Effect.ASK and not strict
        if not all(only) and self._most[only[0]] <= effect < Effect.ALLOW:
            # What it decides the other side grants no more than this: it may hide others.
            return (only[1],) if asks else ()
        if all(only) or asks or (effect is Effect.ALLOW and reads):
            return True, False
        return ((effect is Effect.ALLOW) is only[1],)

    @cached_property
    def _most(self) -> tuple[Effect, Effect]:
        """The most that each side grants of anything."""
        before, after = (
            min([floor, *(self.views[number].most for number in side)])
            for floor, side in zip(self.floors, self.sides, strict=True)
        )
        return before, after

    @cached_property
    def _denies_none(self) -> bool:
        """Whether no list denies by default: what a line asks for is granted no less without it."""
        return all(view.default is not Effect.DENY for view in self.views)


# Every row of both sides reads the same text, and so do tables with other rules for it.
remembered = lru_cache(maxsize=16_384)(read_alike)

# Commands known by other texts that are tried before the answer is no longer exact.
_DISGUISED = 4_000


def _telling(differences: Iterable[Difference]) -> Iterator[Difference]:
    """Yield of the files that are decided alike, by rules or not, only some."""
    alike: Counter[object] = Counter()
    for each in differences:
        both = each.before, each.after
        key = tuple((one.effect, one.reason) for one in both)
        alike[key] += 1
        if alike[key] <= _ALIKE:
            yield each


_ALIKE = 3


def _denies(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.effect is Effect.DENY


def _side(lookup: Lookup, shape: Shape) -> Side:
    views = (View.of(row, shape.parameters, shape.sole) for row, _ in lookup.rows)
    return Side(tuple(views), lookup.floor)
