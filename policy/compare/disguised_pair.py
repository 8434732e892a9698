"""The commands that rules see through, or that no rule can grant, as two lookups decide them.

A line knows such commands by other texts than the one that is written
(`policy.compare.disguise`). Of each line it is known which changes can come of it: only commands
that may show one of them are tried, and none once all are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import product

from policy.commands.knowledge import Shell
from policy.compare.command_pair import CommandPair
from policy.compare.disguise import ODD_LINES, SAMPLES, Disguises
from policy.compare.odd import is_joined, is_odd
from policy.compare.odd_changes import possible
from policy.compare.overlap import ODD, is_disguise, leads_another
from policy.compare.pair import OVERLAPS, Difference
from policy.compare.prefixes import start_of
from policy.compare.scripts import doubtful_scripts, granted_shells
from policy.compare.unasked import runs_none
from policy.compare.unasked_pair import is_closed
from policy.compare.witness import CHANGES, Effects, weaker
from policy.core import values
from policy.core.effect import Effect
from policy.patterns.automaton import NO_MATCH
from policy.patterns.pattern import Pattern, freeze

__all__ = ["disguised_differences"]

# Commands known by other texts that are tried before the answer is no longer exact.
_DISGUISED = 4_000


def disguised_differences(
    pair: CommandPair, known: Iterable[Effects], *, exact: bool
) -> Iterator[Difference]:
    """Yield a difference of commands that rules see through for each change that has one.

    Args:
        pair: the calls of the tool that runs commands.
        known: the changes that need no further one.
        exact: whether nothing else is left undecided.

    """
    return _Disguised(pair, known).differences(exact=exact)


@values.frozen
class _Line:
    """A line that one side alone has, and the changes that may come of it.

    Attributes:
        view: of which list.
        line: which.
        pattern: its pattern.
        reads: whether what it says of a text that is not written counts.
        changes: those changes.
        scripted: those that only a script may show which removes files as well.

    """

    view: int
    line: int
    pattern: Pattern
    reads: bool
    changes: frozenset[Effects]
    scripted: frozenset[Effects]


class _Disguised:
    def __init__(self, pair: CommandPair, known: Iterable[Effects]) -> None:
        self._pair = pair
        self._shown = weaker({*known}) | pair.unheard

    def differences(self, *, exact: bool) -> Iterator[Difference]:
        pair, shown = self._pair, self._shown
        # What is not exact in any case is told by some of them.
        most = _DISGUISED if exact else _DISGUISED // 10
        shells = pair.shells or (pair.shell,)
        texts = (text for shell in shells for text in self._texts(shell))
        for tried, text in enumerate(texts):
            if tried >= most:
                pair.doubts |= dict.fromkeys(product((OVERLAPS,), self._left))
                return
            found = pair.asked(text.replace(pair.fresh, "q7z"))
            if found.effects not in CHANGES or found.effects in shown:
                continue
            shown |= weaker([found.effects])
            plain = pair.asked(text.replace(pair.fresh, "x"))
            same = (plain.before, plain.after) == (found.before, found.after)
            yield plain if same else found
        pair.untold |= self._left

    @property
    def _left(self) -> set[Effects]:
        """The changes that may come of lines, and are not shown."""
        found = (line.changes | line.scripted for line in self._lines)
        return set[Effects]().union(*found) - self._shown

    def _texts(self, shell: Shell) -> Iterator[str]:
        """Yield commands, frozen, as long as a change is not shown that they may have."""
        pair, forms = self._pair, None
        met = any(len(side) > 1 for side in pair.sides)
        for each in self._lines:
            if self._shown.issuperset(each.changes | each.scripted):
                continue
            if forms is None:
                forms = Disguises(pair.views, pair.fresh, shell)
                yield from forms.spelled_out()
            effect = pair.views[each.view].effect(each.line)
            if effect is Effect.DENY:
                frozen = freeze(each.pattern, pair.fresh)
                yield from doubtful_scripts(frozen, self._scripting, pair.views, shell)
                if self._shown.issuperset(each.changes):
                    continue
            hides = each.reads and effect is Effect.ALLOW
            for text in forms.of(each.pattern, reads=each.reads, hides=hides, met=met):
                yield text
                if self._shown.issuperset(each.changes):
                    break
            if is_odd(each.pattern):
                allows = effect is Effect.ALLOW and not each.reads
                if not (allows and is_joined(each.pattern)):
                    left = possible(pair, each.view, each.line, each.changes)
                    pair.doubts |= dict.fromkeys(product((ODD_LINES,), left))
            if forms.exhausted:
                pair.doubts |= dict.fromkeys(product((OVERLAPS,), each.changes))
        if met:
            yield from (forms or Disguises(pair.views, pair.fresh, shell)).asked_for()
        yield from SAMPLES

    @cached_property
    def _lines(self) -> list[_Line]:
        """The lines of which one decides any such command that changes, the strict ones first.

        They show what is known behind `sudo`; what allows shows what is in quotes.
        """
        found = []
        for view, line in self._pair.edits:
            pattern = self._pair.pattern(view, line)
            if pattern is not None:
                # A line that allows matters to what is behind a prefix where it hides others.
                reads = line <= self._pair.views[view].last_strict
                changes = self._changes(view, line, reads=reads)
                scripted = frozenset(self._changes(view, line, reads=reads, scripts=True))
                found.append(_Line(view, line, pattern, reads, frozenset(changes), scripted))
        views = self._pair.views
        return sorted(found, key=lambda one: views[one.view].effect(one.line) is Effect.ALLOW)

    def _changes(
        self, view: int, line: int, *, reads: bool, scripts: bool = False
    ) -> Iterator[Effects]:
        """Yield the changes that may come of a line, and with *scripts* those that scripts show."""
        pair = self._pair
        effect = pair.views[view].effect(line)
        directions = self._directions(view, line, reads=reads)
        # What it decides on its own side, if it is of one alone.
        own = [n for n, side in enumerate(pair.sides) if view in side]
        scripting = bool(self._scripting) and (scripts or self._doubts(view, line))
        for change in CHANGES:
            before, after = change
            if before > self._most[0] or after > self._most[1]:
                continue
            if (before < after) not in directions:
                continue
            if effect is Effect.ALLOW:
                if not reads and not self._is_default(view, line, change, own):
                    continue
            elif len(own) == 1:
                decided = change[own[0]]
                if decided is Effect.ALLOW or (effect is Effect.ASK and decided is not effect):
                    continue
                if Effect.ALLOW in change and not (
                    (scripting and effect is Effect.DENY) or self._may_allow(view, line, 1 - own[0])
                ):
                    continue
                if effect is Effect.DENY and decided is Effect.ASK and not scripting:
                    continue
            yield change

    def _is_default(self, view: int, line: int, change: Effects, own: Sequence[int]) -> bool:
        """Return whether a side may come to its effect where a line that allows is not there.

        Nothing that is strict stands behind the line: it is what holds without any.
        """
        pair = self._pair
        if self._denies_none and self._asks:
            return Effect.DENY not in change
        pattern = pair.pattern(view, line)
        # A line that spells out a whole command, or any where a host has it so, overrides others.
        spells = pattern is None or pattern.exact
        if len(own) > 1 or (spells and (pattern is None or is_disguise(pattern, pair.shell))):
            return True
        return not self._denies_all or change[1 - own[0]] is Effect.DENY

    @cached_property
    def _denies_all(self) -> bool:
        """Whether all is denied that no line decides, and no line of nobody asks."""
        return all(
            view.default is Effect.DENY
            and not any(
                nobody and entry.effect is Effect.ASK
                for nobody, entry in zip(view.nobody_said[1:], view.entries, strict=True)
            )
            for view in self._pair.views
        )

    def _doubts(self, view: int, line: int) -> bool:
        """Return whether a line may know what makes a script doubtful by itself."""
        pattern = self._pair.pattern(view, line)
        program, blank, _ = start_of(pattern).partition(" ") if pattern else ("", "", "")
        is_open = pattern is None or not (blank or pattern.exact)
        return is_open or program in self._pair.shell.kinds.scripted

    @cached_property
    def _scripting(self) -> tuple[str, ...]:
        """Shells that some list grants a script in an argument: what is denied there is doubted."""
        return granted_shells(self._pair.views, self._pair.shell)

    def _may_allow(self, view: int, line: int, side: int) -> bool:
        """Return whether one side may allow a command that a strict line knows by another text.

        Such a command begins with other words than those of the line: a rule that allows has to
        leave open, or spell out, what commands are known behind; or it runs unasked.
        """
        pair, pattern = self._pair, self._pair.pattern(view, line)
        other, place = pair.partners.get((view, line), (view, line))
        if other != view and pair.views[other].effect(place) is not Effect.ALLOW:
            # Both sides are strict there, but for what somebody wrote of the whole command.
            return self._may_run(side)
        program, blank, _ = start_of(pattern).partition(" ") if pattern else ("", "", "")
        if pattern is None or not (blank or pattern.exact) or leads_another(program, pair.shell):
            return True
        if not ODD.isdisjoint(program):
            return True
        plain = is_closed(pattern) and not is_disguise(pattern, pair.shell)
        return all(
            number in self._open
            or (self._runs(number, pattern) if plain else self._starts(number, program))
            for number in pair.sides[side]
        )

    def _runs(self, number: int, pattern: Pattern) -> bool:
        """Return whether a list may let run unasked what a line knows by its own text."""
        view = self._pair.views[number]
        return view.unasked is Effect.ALLOW and not runs_none(view.shell, pattern)

    def _starts(self, number: int, program: str) -> bool:
        """Return whether a list may allow some command of a program.

        A line that spells out operators or quotes knows commands of several parts, and of other
        words, but all begin as it does.
        """
        view, start = self._pair.views[number], f"{program} "
        return (view.unasked is Effect.ALLOW and program in view.shell.programs) or any(
            entry.effect is Effect.ALLOW
            and (start.startswith(start_of(pattern)) or start_of(pattern).startswith(start))
            for entry, pattern in zip(view.entries, view.patterns, strict=True)
        )

    def _may_run(self, side: int) -> bool:
        """Return whether one side may allow what runs another command, by a rule for it."""
        return self._open.issuperset(self._pair.sides[side])

    @cached_property
    def _open(self) -> frozenset[int]:
        """The lists that allow what may begin with other words than commands are known by."""
        pair = self._pair
        return frozenset(
            number
            for number, view in enumerate(pair.views)
            if view.default is Effect.ALLOW
            or any(
                entry.effect is Effect.ALLOW and is_disguise(pattern, pair.shell)
                for entry, pattern in zip(view.entries, view.patterns, strict=True)
            )
        )

    @cached_property
    def _asks(self) -> bool:
        """Whether both hosts ask for what no rule can be asked about."""
        rows = [row for lookup in self._pair.lookups for row, _ in lookup.rows]
        return all(row.ruleset.dialect.asks for row in rows)

    def _directions(self, view: int, line: int, *, reads: bool) -> tuple[bool, ...]:
        """Return in which directions calls may change that a line knows."""
        pair = self._pair
        only = [view in side for side in pair.sides]
        effect = pair.views[view].effect(line)
        other = None if line == NO_MATCH else pair.instead(view, line)
        if other is not None and Effect.ALLOW not in (effect, other):
            # The same texts are asked for or denied in the same place: no other line speaks up.
            return ((effect < other) is only[0],)
        strict = pair.views[view].is_strictest(line) and self._denies_none
        asks = effect is Effect.ASK and not strict
        if not all(only) and self._most[only[0]] <= effect < Effect.ALLOW:
            # What it decides the other side grants no more than this: it may hide others.
            return (only[1],) if asks else ()
        if all(only) or asks or (effect is Effect.ALLOW and reads):
            return True, False
        return ((effect is Effect.ALLOW) is only[1],)

    @cached_property
    def _most(self) -> Effects:
        """The most that each side grants of anything."""
        pair = self._pair
        before, after = (
            min([floor, *(pair.views[number].most for number in side)])
            for floor, side in zip(pair.floors, pair.sides, strict=True)
        )
        return before, after

    @cached_property
    def _denies_none(self) -> bool:
        """Whether no list denies by default: what a line asks for is granted no less without it."""
        return all(view.default is not Effect.DENY for view in self._pair.views)
