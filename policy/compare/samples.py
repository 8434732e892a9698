"""Sample commands for changes that the written text of a command does not show.

A command gets the strictest effect of its parts and files, and both sides read it the same way. So
the search for texts (`policy.compare.pair`) finds every change, except two kinds. A line that
denies or asks matches a part by further texts, as `rm x` in `sudo rm x`; and on some hosts a rule
with a star matches a whole command, though it matches none of its parts.

`_ChangedLines` bounds the changes that each changed line may cause: from its own effect to what the
other side may grant to commands that the line matches by another text. `_Samples` yields commands
that may show such a change: the words of the line behind each wrapper, with the words of other
lines, in quotes, joined with other commands, and in scripts. A possible change that no sample shows
stays undecided.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice, product
from typing import Final

from policy.commands.knowledge import Shell
from policy.commands.reader import KEYWORDS
from policy.compare.auto_allowed import ODD, OTHER_WORD, WORD, auto_allowed, may_run
from policy.compare.commands import CommandPair
from policy.compare.lists import may_meet, start_of
from policy.compare.prefixes import (
    granted_shells,
    has_other_texts,
    leads_to_granted,
    prefixes,
    quiet_commands,
)
from policy.compare.simple import Steps, simple_differences
from policy.compare.witness import CHANGES, Difference, Effects, of_direction, weakened
from policy.core import values
from policy.core.effect import Effect
from policy.patterns.automaton import NO_MATCH
from policy.patterns.pattern import Pattern, freeze
from policy.tables.command_outcome import may_join
from policy.tables.row import BY_DEFAULT, unsure
from policy.tables.table import Lookup

# Why an answer is not exact.
SAMPLED: Final = (
    "rules match some commands by other texts, as behind a wrapper; samples of these were compared"
)

# How many commands are tried before the answer is inexact: in all, and for one line.
_MOST: Final = 1_000
_OF_LINE: Final = 300

# How many lines have their words combined with those of another line.
_BESIDE: Final = 48

# Commands that no rule can grant, or that open unknown files.
_OPENING: Final = (WORD, f"{WORD} >", f"{WORD} <", "cat")
_OF_ANY: Final = ("", ";", "$x", f"{WORD}; {OTHER_WORD}", *(f"{each} $x" for each in _OPENING))

# Other forms of a command: quoted, with more words, and joined with other commands.
_WRITTEN: Final = (
    *("'{0}'{1}", "'{0}{1}'", "\\{0}{1}", "{0}{1} $x"),
    *(f"{{0}}{{1}} | {WORD}", f"{WORD} | {{0}}{{1}}", f"{{0}}{{1}} > {WORD}"),
    *("{0}{1} && {2}", "{2} '{0}{1}'"),
)

# A backslash before each letter that a shell would act on.
_ESCAPED: Final = str.maketrans({letter: f"\\{letter}" for letter in ";&|<>()`$\\{}\"'#"})

# Operands that a wrapper may take before its command.
_OPERANDS: Final = ("", "5 ")


def sampled_differences(
    pair: CommandPair, known: Iterable[Effects], allowed: Steps
) -> Iterator[Difference]:
    """Yield one difference for each change that a sample command shows and that is not *known*."""
    shown = weakened({*known})
    lines = _ChangedLines(pair)
    for text in islice(_tried(pair, lines, shown), _MOST):
        found = pair.asked(text.replace(pair.fresh, WORD))
        if found.effects in CHANGES and found.effects not in shown:
            shown |= weakened([found.effects])
            yield found
    undecided = yield from simple_differences(pair, (lines.of_any | pair.unshown) - shown, allowed)
    for change in undecided | (lines.of_wholes(shown) - shown):
        pair.leave_undecided(SAMPLED, change)


def _tried(pair: CommandPair, lines: _ChangedLines, shown: set[Effects]) -> Iterator[str]:
    """Yield frozen commands, as long as they may show a change that is not in *shown*."""
    exact = dict.fromkeys(pattern for pattern in pair.patterns if pattern.exact)
    edited = {pair.pattern(view, line) for view, line in pair.edits}
    yield from (str(each) for each in exact if each in edited)
    if lines.of_any - shown:
        yield from (str(each) for each in exact if has_other_texts(each, pair.shell))
    samples = [_Samples(pair, shell) for shell in pair.shells or (pair.shell,)]
    for each, line in product(samples, lines.lines):
        for text in islice(each.of(line.pattern), _OF_LINE):
            if shown.issuperset(line.changes):
                break
            yield text
    yield from _OF_ANY


# The changes that a line may cause when it matches a command by another text.


@values.frozen
class _ChangedLine:
    """A line of one side alone, and the changes that it may cause."""

    pattern: Pattern
    changes: frozenset[Effects]


class _ChangedLines:
    """The changed lines. One of them decides each command that changes.

    A line that denies or asks restricts what the other side grants to commands that the line
    matches by another text. Where its own words may be a wrapper, that is all the side grants;
    else it is auto-allowed commands, and what the side grants behind wrappers.
    """

    def __init__(self, pair: CommandPair) -> None:
        self._pair = pair

    @cached_property
    def lines(self) -> list[_ChangedLine]:
        """The lines that may cause a change."""
        found = [self._of_line(*edit) for edit in self._pair.edits if edit[1] != NO_MATCH]
        for number, line in self._pair.edits:
            if line == NO_MATCH:
                found += self._without_line(number)
        return [line for line in found if line.changes]

    @cached_property
    def of_any(self) -> frozenset[Effects]:
        """The changes that any of the lines may cause."""
        return frozenset[Effects]().union(*(line.changes for line in self.lines))

    def of_wholes(self, shown: Iterable[Effects]) -> frozenset[Effects]:
        """Return the changes that joined commands may show in addition to those *shown*.

        A deny rule of a file that may match several joined commands denies such a command where
        not all of it is allowed, or where it writes a file and no rule asks for it.
        """
        denied = [
            any(
                entry.effect is Effect.DENY and entry.reason not in BY_DEFAULT and may_join(pattern)
                for view in (self._pair.views[number] for number in side)
                for entry, pattern in zip(view.entries, view.patterns, strict=True)
            )
            for side in self._pair.sides
        ]
        if not (self._pair.shell.reader and any(denied) and self._pair.edits):
            return frozenset()
        found: set[Effects] = set()
        for was, now in (*shown, (Effect.ASK, Effect.ASK)):
            before = {was, Effect.DENY} if denied[0] else {was}
            after = {now, Effect.DENY} if denied[1] else {now}
            found.update(product(before, after))
        return self._possible.intersection(found) - self._pair.precluded

    def _of_line(self, number: int, line: int) -> _ChangedLine:
        view = self._pair.views[number]
        effect, pattern = view.effect(line), view.patterns[line]
        own = [n for n, side in enumerate(self._pair.sides) if number in side]
        if effect is Effect.ALLOW:
            changes = self._of_allowed(number, line)
        elif len(own) == 1:
            changes = frozenset(self._of_strict(number, line, own[0]))
        else:
            changes = CHANGES
        return _ChangedLine(pattern, changes & self._possible)

    def _of_allowed(self, number: int, line: int) -> frozenset[Effects]:
        """Return the changes that a line which allows may cause, as where it hides strict lines.

        The search for texts covers its own text, except where it spells out shell operators.
        """
        pair, view = self._pair, self._pair.views[number]
        pattern, widened = view.patterns[line], number in pair.sides[1]
        in_direction = of_direction(widened=widened)
        strict = self._strict[number]
        behind = (view.patterns[n] for n in strict[bisect_right(strict, line) :])
        if any(
            each.matches(str(pattern)) if pattern.exact else may_meet(pattern, each)
            for each in behind
        ):
            # Without the line, a strict line may ask for a command that the default denies.
            asked = (Effect.ASK, Effect.DENY) if widened else (Effect.DENY, Effect.ASK)
            return in_direction | {asked}
        if not pattern.exact and _spells_operators(pattern):
            return frozenset(each for each in in_direction if Effect.ALLOW in each)
        beside = set[int]().union(*(side for side in pair.sides if number in side)) - {number}
        if any(pair.views[other].default is not Effect.ALLOW for other in beside):
            # One list may grant the written command, and another the command behind its wrapper.
            return in_direction
        return frozenset()

    def _of_strict(self, number: int, line: int, own: int) -> Iterator[Effects]:
        """Yield the changes that a line which denies or asks may cause, where one side has it."""
        view = self._pair.views[number]
        effect, pattern = view.effect(line), view.patterns[line]
        lists = self._pair.sides[1 - own]
        if view.entries[line].reason in BY_DEFAULT:
            # A line of the host matches parts only, by their own text: the search covers that.
            granted = [self._granted_behind[n] for n in lists]
        else:
            granted = [self._granted(n, pattern, effect) for n in lists]
        most = min(granted, default=Effect.ALLOW)
        others = [each for each in (Effect.ASK, Effect.ALLOW) if each <= most]
        denying = any(each.default is Effect.DENY for each in self._pair.views)
        if effect is Effect.ASK and (denying or not view.is_strictest(line)):
            others.append(Effect.DENY)  # without the line, its commands may be denied
        yield from ((effect, other) if own == 0 else (other, effect) for other in others)

    def _granted(self, number: int, pattern: Pattern, effect: Effect) -> Effect:
        """Return the most that a list grants where a strict line matches by another text.

        The strict line has *pattern* and *effect*.
        """
        view, shell = self._pair.views[number], self._pair.shell
        first = self._pair.containing(pattern, number)
        if first != NO_MATCH:
            most = view.effect(first)
            if view.entries[first].reason in BY_DEFAULT:
                # A rule of a file about the whole command overrides it.
                most = max(most, self._granted_behind[number])
            # In scripts, lines that deny are matched, and lines that ask are not.
            if most <= effect or (most is Effect.ASK and not granted_shells([view], shell)):
                return most
        closed = all(isinstance(token, str) for token in pattern.tokens[:-1])
        if not closed or leads_to_granted(pattern, shell):
            return view.most
        if view.auto_allowed_effect is Effect.ALLOW and may_run(view.shell, pattern):
            return Effect.ALLOW
        return self._granted_behind[number]

    @cached_property
    def _strict(self) -> list[list[int]]:
        """The lines of each list that deny or ask."""
        return [
            [n for n, entry in enumerate(view.entries) if entry.effect is not Effect.ALLOW]
            for view in self._pair.views
        ]

    @cached_property
    def _granted_behind(self) -> list[Effect]:
        """The most that each list grants to commands that it matches behind their first words."""
        shell = self._pair.shell
        return [
            max(
                view.default,
                *(
                    entry.effect
                    for entry, pattern in zip(view.entries, view.patterns, strict=True)
                    # A line that asks matches behind every wrapper.
                    if entry.effect is Effect.ASK or has_other_texts(pattern, shell)
                ),
                Effect.DENY,
            )
            for view in self._pair.views
        ]

    def _without_line(self, number: int) -> Iterator[_ChangedLine]:
        """Yield the other side's lines that may decide, by another text, where this default does.

        A line that asks matches by all texts. Of several lists, one may allow a command as it is
        written and another what its wrapper runs, so that both allow no text of it.
        """
        default, shell = self._pair.views[number].default, self._pair.shell
        own = 0 if number in self._pair.sides[0] else 1
        others = self._pair.sides[1 - own]
        for view in (self._pair.views[other] for other in others):
            for entry, pattern in zip(view.entries, view.patterns, strict=True):
                asks = entry.effect is Effect.ASK and view.default is Effect.DENY
                several = len(others) > 1 and has_other_texts(pattern, shell)
                if asks or (several and entry.effect is not Effect.DENY):
                    change = (default, entry.effect) if own == 0 else (entry.effect, default)
                    yield _ChangedLine(pattern, self._possible & {change})

    @cached_property
    def _possible(self) -> frozenset[Effects]:
        """The changes from an effect that the first side may give to one that the other may."""
        possible = map(self._effects_of, self._pair.lookups, self._pair.sides)
        directed = (of_direction(widened=widened) for widened in self._directions)
        return frozenset[Effects]().union(*directed).intersection(product(*possible))

    def _effects_of(self, lookup: Lookup, side: Iterable[int]) -> list[Effect]:
        """Return the effects that a side may give, from the strictest to the most lenient."""
        views = [self._pair.views[number] for number in side]
        least = min([each.least for each in views], default=lookup.floor)
        unread = [unsure(row.ruleset).effect for row, _ in lookup.rows]
        most = min([lookup.floor, *(view.most for view in views)])
        return [effect for effect in Effect if min([least, *unread]) <= effect <= most]

    @cached_property
    def _directions(self) -> set[bool]:
        """The possible directions of change: True where more is granted, False where less is.

        It is one direction where one side has all lists of the other. It is also one where two
        lists differ only in lines that deny on one side, or that allow on the other after all
        lines that do not allow.
        """
        sides, floors, views = self._pair.sides, self._pair.floors, self._pair.views
        for widened in (True, False):
            if sides[not widened] <= sides[widened] and floors[widened] <= floors[not widened]:
                return {not widened}
        rows = [row for lookup in self._pair.lookups for row, _ in lookup.rows]
        defaults = {(row.default.effect, row.default.reason, row.ruleset.default) for row in rows}
        dialects = {(row.ruleset.dialect.asks, row.ruleset.dialect.shell) for row in rows}
        if len(views) > 2 or len(defaults) > 1 or len(dialects) > 1 or floors[0] != floors[1]:
            return {True, False}
        found = set()
        for number, line in self._pair.edits:
            view, widened = views[number], number in sides[1]
            effect = view.effect(line)
            by_host = line == NO_MATCH or view.entries[line].reason in BY_DEFAULT
            behind = line > view.last_strict
            if by_host or not (behind or effect is Effect.DENY):
                return {True, False}
            found.add(widened is behind)
        return found


def _spells_operators(pattern: Pattern) -> bool:
    """Whether rules that allow may match a command by operators that the pattern spells out.

    False where a plain command and then an unquoted operator start it: the reader splits it there.
    """
    start = start_of(pattern)
    program = start.partition(" ")[0]
    first = next((letter for letter in start if letter in ODD), "")
    if first and first in ";&|\n" and program not in KEYWORDS and program[:1] != "[":
        return False
    return any(isinstance(token, str) and not ODD.isdisjoint(token) for token in pattern.tokens)


# The commands that are tried for one line.


class _Samples:
    """Sample commands for a changed line, made of other lines and of what a shell knows."""

    def __init__(self, pair: CommandPair, shell: Shell) -> None:
        self._fresh, self._views, self._shell = pair.fresh, pair.views, shell
        sides = ([pair.views[number] for number in side] for side in pair.sides)
        self._shells = dict.fromkeys(
            name for side in sides for name in granted_shells(side, shell)[:1]
        )

    def of(self, pattern: Pattern) -> Iterator[str]:
        """Yield frozen commands of which a line with *pattern* may match some text."""
        text, quiet = freeze(pattern, self._fresh), quiet_commands(self._shell)
        closed = (f"{WORD} ]", f"{WORD} ]]")  # as tests are: `[ -f x ]`
        yield from (freeze(pattern, each) for each in (*closed, *quiet))
        for prefix in prefixes(self._shell):
            yield prefix + text
        yield from self._written(text)
        for words, operand in product(self._behind, _OPERANDS):
            yield freeze(pattern, operand + words)
        for other, operand in product(self._others, _OPERANDS):
            yield freeze(other, operand + text)

    def _written(self, text: str) -> Iterator[str]:
        """Yield other forms of a command: quoted, escaped, joined, and in a script."""
        program, blank, rest = text.partition(" ")
        escaped = text.translate(_ESCAPED)
        yield from (escaped, f"{program}{blank}'{rest}'" if rest else text)
        runs_too = next(iter(quiet_commands(self._shell)), WORD)
        yield from (form.format(program, blank + rest, runs_too) for form in _WRITTEN)
        for name in self._shells if "'" not in text else ():
            yield f"{name} -c '{escaped}'"

    @cached_property
    def _behind(self) -> Mapping[str, None]:
        """Commands to try behind the words of a line: auto-allowed ones, and of other lines."""
        known = dict.fromkeys(quiet_commands(self._shell))
        for other in self._others:
            known |= dict.fromkeys(islice(filter(other.matches, auto_allowed(self._shell)), 1))
            known[freeze(other, self._fresh)] = None
        return known

    @cached_property
    def _others(self) -> list[Pattern]:
        """Some patterns of lines that allow, then some of strict lines."""
        some: list[dict[Pattern, None]] = [{}, {}]
        for view in self._views:
            for entry, pattern in zip(view.entries, view.patterns, strict=True):
                some[entry.effect is not Effect.ALLOW][pattern] = None
        return [*islice(some[0], _BESIDE), *islice(some[1], _BESIDE)]
