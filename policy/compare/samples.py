"""Commands that lines know by other texts than the one written, or with others: by samples.

A command gets the strictest of what its parts and files get, and both sides read it alike. So the
search for texts (`policy.compare.pair`) finds every change, but for two kinds. A line that denies
or asks knows a part by further texts, as `rm x` in `sudo rm x`; and a host may have a rule with a
star know a whole command, of which no part is known to it.

Of each changed line it is known which changes may come so. Commands that may show them are tried:
the words of the line behind each wrapper, with those of other lines, in quotes, joined with other
commands, and in scripts. A change that may come and that none of these shows is left undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, product
from typing import Final

from policy.commands.knowledge import Shell
from policy.commands.reader import KEYWORDS, SHELLS
from policy.compare.auto_allowed import ODD, harmless, may_run, opening_none
from policy.compare.commands import CommandPair
from policy.compare.lists import View, may_meet, start_of
from policy.compare.prefixes import (
    Prefix,
    escaped,
    has_other_texts,
    in_quotes,
    is_joined,
    is_odd,
    prefixes,
    quiet_commands,
    quoted,
    runners,
)
from policy.compare.simple import simple_differences
from policy.compare.witness import CHANGES, Difference, Effects, of_direction, weaker
from policy.core import values
from policy.core.effect import Effect
from policy.patterns.automaton import NO_MATCH
from policy.patterns.families import members
from policy.patterns.pattern import Pattern, freeze
from policy.tables.command_row import may_join
from policy.tables.entry import BY_DEFAULT, Entry, unsure

__all__ = ["SAMPLED", "sampled_differences"]


# Why an answer is not exact.
SAMPLED: Final = (
    "rules match some commands by other texts, as behind a wrapper; samples of these were compared"
)

# Commands that are tried before the answer is no longer exact, and those of one line.
_MOST: Final = 1_000
_OF_LINE: Final = 300

# Lines whose words are tried with those of another.
_BESIDE: Final = 48

# Commands that no rule can grant, or that open files no one knows.
_OF_ANY: Final = ("", ";", "$x", "q7z $x", "q7z > $x", "q7z < $x", "cat $x", "q7z; q7y")

# How a command is written otherwise: quoted, with more words, and joined with others.
_FORMS: Final = ("'{0}'{1}", '"{0}"{1}', "'{0}{1}'", "\\{0}{1}", "{0}{1} 'q7y'", "{0}{1} $x")
_JOINED: Final = ("{0} | q7z", "q7z | {0}", "{0}; q7z", "{0} && {1}", "{1} | {0}", "{0} > q7z")


def sampled_differences(pair: CommandPair, known: Iterable[Effects]) -> Iterator[Difference]:
    """Yield a difference of such commands for each change that one shows.

    Args:
        pair: the calls of the tool that runs commands.
        known: the changes that need no further one.

    """
    shown = weaker({*known}) | pair.ruled_out
    lines = ChangedLines(pair)
    for text in islice(_tried(pair, lines, shown), _MOST):
        found = pair.asked(text.replace(pair.fresh, "q7z"))
        if found.effects not in CHANGES or found.effects in shown:
            continue
        shown |= weaker([found.effects])
        plain = pair.asked(text.replace(pair.fresh, "x"))
        same = (plain.before, plain.after) == (found.before, found.after)
        yield plain if same else found
    undecided = yield from simple_differences(pair, (lines.of_any | pair.unshown) - shown)
    for change in undecided | (lines.of_wholes(shown) - shown):
        pair.doubt(SAMPLED, change)


def _tried(pair: CommandPair, lines: ChangedLines, shown: set[Effects]) -> Iterator[str]:
    """Yield commands, frozen, as long as a change is not shown that they may have."""
    exact = dict.fromkeys(pattern for pattern in pair.patterns if pattern.exact)
    edited = {pair.pattern(view, line) for view, line in pair.edits}
    yield from (str(each) for each in exact if each in edited)
    forms = [Forms(pair, shell) for shell in pair.shells or (pair.shell,)]
    if lines.of_any - shown:
        yield from (str(each) for each in exact if has_other_texts(each, pair.shell))
    for form, line in product(forms, lines.lines):
        for text in islice(form.of(line), _OF_LINE):
            if shown.issuperset(line.changes):
                break
            yield text
    yield from _OF_ANY


# Which changes may come of a line by other texts of commands than its own.


@values.frozen
class ChangedLine:
    """A line of one side alone, and the changes that it may cause.

    Attributes:
        view: of which list.
        effect: what it says.
        pattern: its pattern.
        changes: those changes.

    """

    view: int
    effect: Effect
    pattern: Pattern
    changes: frozenset[Effects]


class ChangedLines:
    """The changed lines, strict ones first. One of them decides each command that changes."""

    def __init__(self, pair: CommandPair) -> None:
        self._pair = pair

    @cached_property
    def lines(self) -> list[ChangedLine]:
        """Those of which a change may come."""
        found = []
        for number, line in self._pair.edits:
            view, pattern = self._pair.views[number], self._pair.pattern(number, line)
            changes = self._changes(number, line) if pattern is not None else frozenset()
            if pattern is not None and changes:
                found.append(ChangedLine(number, view.effect(line), pattern, changes))
            if line == NO_MATCH:
                found += (each for each in self._without_line(number) if each.changes)
        return sorted(found, key=lambda each: each.effect is Effect.ALLOW)

    @cached_property
    def of_any(self) -> frozenset[Effects]:
        """The changes that may come of any."""
        return frozenset[Effects]().union(*(line.changes for line in self.lines))

    def of_wholes(self, shown: Iterable[Effects]) -> frozenset[Effects]:
        """Return the changes of joined commands that may come beside those *shown*.

        A rule with a star denies such a command where not all of it is allowed, or it writes a
        file and no rule asks for it.
        """
        denied = [
            any(entry.effect is Effect.DENY for view in side for entry in joining(view))
            for side in ([self._pair.views[n] for n in side] for side in self._pair.sides)
        ]
        if not (self._pair.shell.reader and any(denied) and self._pair.edits):
            return frozenset()
        found: set[Effects] = set()
        for was, now in (*shown, (Effect.ASK, Effect.ASK)):
            before = {was, Effect.DENY} if denied[0] else {was}
            after = {now, Effect.DENY} if denied[1] else {now}
            found.update(product(before, after))
        return CHANGES.intersection(found) - self._pair.ruled_out - self._pair.precluded

    def _without_line(self, number: int) -> Iterator[ChangedLine]:
        """Yield lines that may grant by another text what one side alone grants by no line.

        What a line asks for is known by all texts. One list may allow a command as it is written,
        and another by what a wrapper runs: no text of it is allowed by both.
        """
        default, shell = self._pair.views[number].default, self._pair.shell
        own = 0 if number in self._pair.sides[0] else 1
        others = self._pair.sides[1 - own]
        for other in others:
            view = self._pair.views[other]
            for entry, pattern in zip(view.entries, view.patterns, strict=True):
                asks = entry.effect is Effect.ASK and view.default is Effect.DENY
                several = len(others) > 1 and has_other_texts(pattern, shell)
                if asks or (several and entry.effect is not Effect.DENY):
                    changes = self._possible.intersection(_both_ways(entry.effect, default, own))
                    yield ChangedLine(other, entry.effect, pattern, changes)

    def _changes(self, number: int, line: int) -> frozenset[Effects]:
        """Return the changes that may come of a line."""
        pair = self._pair
        effect = pair.views[number].effect(line)
        first = pair.containing(pair.views[number].patterns[line], number)
        if first < line and pair.views[number].entries[first].reason not in BY_DEFAULT:
            return frozenset()  # one before it matches all that it matches
        own = [n for n, side in enumerate(pair.sides) if number in side]
        if effect is Effect.ALLOW:
            found = self._of_allowed(number, line)
        elif len(own) == 1:
            found = frozenset(self._of_strict(number, line, own[0]))
        else:
            found = CHANGES
        directions = self._directions(number, line)
        return frozenset(
            (before, after)
            for before, after in found & self._possible
            if (before < after) in directions
        )

    def _of_allowed(self, number: int, line: int) -> frozenset[Effects]:
        """Return the changes of a line that allows: it may hide others, or be asked for elsewhere.

        Its own text is searched for, but where a part of one command may be what it spells out.
        """
        pair, view = self._pair, self._pair.views[number]
        pattern, widened = view.patterns[line], number in pair.sides[1]
        behind = range(line + 1, view.last_strict + 1)
        if any(
            view.entries[n].effect is not Effect.ALLOW
            and may_meet(pattern, view.patterns[n])
            and (not pattern.exact or view.patterns[n].matches(str(pattern)))
            for n in behind
        ):
            # Without it a command may be asked for that is denied where no line decides.
            asked = {_ASKED_FOR[widened]} if view.default is Effect.DENY else set()
            return of_direction(widened=widened) | asked
        if is_odd(pattern) and not is_joined(pattern):
            return frozenset(each for each in of_direction(widened=widened) if Effect.ALLOW in each)
        beside = set[int]().union(*(side for side in pair.sides if number in side)) - {number}
        if any(pair.views[other].default is not Effect.ALLOW for other in beside):
            # One list may grant a command as it is written, and another what a wrapper runs.
            return of_direction(widened=widened)
        return frozenset()

    def _of_strict(self, number: int, line: int, own: int) -> Iterator[Effects]:
        """Yield the changes of a line that denies or asks, and that one side alone has."""
        effect = self._pair.views[number].effect(line)
        for other in (Effect.ASK, Effect.ALLOW):
            if other is not effect and self._may_grant(number, line, 1 - own, other):
                yield from _both_ways(other, effect, own)
        pattern = self._pair.views[number].patterns[line]
        others = self._pair.sides[1 - own]
        if effect is not Effect.DENY:
            yield from _both_ways(Effect.DENY, effect, own)
        elif granted_shells([self._pair.views[n] for n in others], self._pair.shell) and not any(
            self._is_stopped(n, pattern, Effect.ASK) for n in others
        ):
            yield from _both_ways(Effect.ALLOW, effect, own)
            if self._is_scripted(number, line):
                yield from _both_ways(Effect.ASK, effect, own)

    def _is_scripted(self, number: int, line: int) -> bool:
        """Return whether a line may know a program that is asked for in any script."""
        pattern = self._pair.views[number].patterns[line]
        program, blank, _ = start_of(pattern).partition(" ")
        return not (blank or pattern.exact) or program in self._pair.shell.kinds.scripted

    def _may_grant(self, number: int, line: int, side: int, least: Effect) -> bool:
        """Return whether one side may grant a command that a strict line knows by another text.

        A line of plain words whose program leads no other knows only commands behind something by
        another text: a rule that grants these has to leave open, or spell out, what they begin
        with. Or the command runs unasked.

        Args:
            number: the list of the line.
            line: which it is.
            side: the side.
            least: what it grants at least.

        """
        pair, pattern = self._pair, self._pair.views[number].patterns[line]
        lists = pair.sides[side]
        if any(self._is_stopped(n, pattern, least) for n in lists):
            return False
        if pair.views[number].entries[line].reason in BY_DEFAULT:
            # What no file has knows parts alone, and by its own text that is searched for.
            return all(n in self._open[least] for n in lists)
        program, blank, _ = start_of(pattern).partition(" ")
        if program in runners(pair.shell) and (blank or pattern.exact):
            return all(
                n in self._open[least]
                or self._goes_on(n, pattern, least)
                or self._asks(n, pattern, least)
                for n in lists
            )
        closed = all(isinstance(token, str) for token in pattern.tokens[:-1])
        if not closed or has_other_texts(pattern, pair.shell):
            return all(self._most(n) >= least for n in lists)
        return all(
            n in self._open[least] or self._asks(n, pattern, least) or self._runs(n, pattern)
            for n in lists
        )

    def _is_stopped(self, number: int, pattern: Pattern, least: Effect) -> bool:
        """Return whether a list has a strict line for all that *pattern* matches.

        A line that no file has gives way to what a file has of a whole command.
        """
        view = self._pair.views[number]
        first = self._pair.containing(pattern, number)
        if first == NO_MATCH or view.effect(first) >= least:
            return False
        return view.entries[first].reason not in BY_DEFAULT or number not in self._open[least]

    def _goes_on(self, number: int, pattern: Pattern, least: Effect) -> bool:
        """Return whether a list may grant what stands behind the wrappers that a line names."""
        view, start = self._pair.views[number], start_of(pattern)
        # What is asked for is known by other texts too.
        rests = {
            (start[len(each.text) :], each.grantable)
            for each in prefixes([pattern], view.shell)
            if start.startswith(each.text) or each.text.startswith(start)
            if each.transparent or least is Effect.ASK
        }
        if view.unasked >= least and any(grantable for _, grantable in rests):
            return True
        return any(
            effect >= least
            and (grantable or each.exact or least < Effect.ALLOW)
            and (rest.startswith(start_of(each)) or start_of(each).startswith(rest))
            for each, effect in self._live[number]
            for rest, grantable in rests
        )

    def _asks(self, number: int, pattern: Pattern, least: Effect) -> bool:
        """Return whether a list asks for what a line knows by another text, as it does itself."""
        return least is Effect.ASK and any(
            effect is Effect.ASK and may_meet(each, pattern) for each, effect in self._live[number]
        )

    def _runs(self, number: int, pattern: Pattern) -> bool:
        """Return whether a list may let run unasked what a line knows by its own text."""
        view = self._pair.views[number]
        return view.unasked is Effect.ALLOW and may_run(view.shell, pattern)

    @cached_property
    def _open(self) -> Mapping[Effect, frozenset[int]]:
        """The lists that grant some of what begins with other words than it is known by."""
        return {
            least: frozenset(
                number
                for number, view in enumerate(self._pair.views)
                if view.default >= least
                or any(
                    effect >= least and has_other_texts(pattern, self._pair.shell)
                    for pattern, effect in self._live[number]
                )
            )
            for least in (Effect.ASK, Effect.ALLOW)
        }

    def _directions(self, number: int, line: int) -> tuple[bool, ...]:
        """Return in which directions calls may change that a line knows."""
        pair, view = self._pair, self._pair.views[number]
        only = [number in side for side in pair.sides]
        effect, other = view.effect(line), pair.instead(number, line)
        if other is not None and Effect.ALLOW not in (effect, other):
            # The same texts are asked for or denied in the same place: no other line speaks up.
            return ((effect < other) is only[0],)
        strict = view.is_strictest(line) and all(
            each.default is not Effect.DENY for each in pair.views
        )
        if all(only) or effect is Effect.ALLOW or (effect is Effect.ASK and not strict):
            return True, False
        return (only[0],)

    @cached_property
    def _possible(self) -> frozenset[Effects]:
        """The changes from what one side may say of anything to what the other may."""
        return CHANGES.intersection(product(*self._said()))

    def _said(self) -> list[set[Effect]]:
        """Return what each side may say of anything."""
        found = []
        for lookup, side in zip(self._pair.lookups, self._pair.sides, strict=True):
            rulesets = [row.ruleset for row, _ in lookup.rows]
            said = {lookup.floor, *(unsure(rules).effect for rules in rulesets)}
            for number in side:
                view = self._pair.views[number]
                said |= {view.default, view.unasked, view.deferred}
                said.update(effect for _, effect in self._live[number])
            most = min([lookup.floor, *map(self._most, side)])
            found.append({effect for effect in said if effect <= most})
        return found

    def _most(self, number: int) -> Effect:
        """Return the most that a list grants of anything."""
        view = self._pair.views[number]
        said = [effect for _, effect in self._live[number]]
        return max((view.default, view.unasked, view.deferred, *said))

    @cached_property
    def _live(self) -> list[list[tuple[Pattern, Effect]]]:
        """The lines of each list, without those behind a line that matches all of theirs."""
        return [
            [
                (pattern, entry.effect)
                for n, (entry, pattern) in enumerate(zip(view.entries, view.patterns, strict=True))
                if self._pair.containing(pattern, number) >= n
            ]
            for number, view in enumerate(self._pair.views)
        ]


# How commands change where a line is gone on one side, by which others were asked for.
_ASKED_FOR: Final = {True: (Effect.ASK, Effect.DENY), False: (Effect.DENY, Effect.ASK)}


def granted_shells(views: Sequence[View], shell: Shell) -> tuple[str, ...]:
    """Return the shells that all lists grant a script in an argument."""
    return tuple(
        name
        for name in sorted(SHELLS, key=lambda name: (name != "bash", name))
        if shell.kinds.scripted
        and all(
            view.effect(view.automaton.first(f"{name} -c 'q7z q7y'")) is Effect.ALLOW
            for view in views
        )
    )


def _both_ways(other: Effect, effect: Effect, own: int) -> Iterator[Effects]:
    """Yield the change between *other* and the *effect* of side *own*, if they differ."""
    if other is not effect:
        yield (effect, other) if own == 0 else (other, effect)


def joining(view: View) -> Iterator[Entry]:
    """Yield the lines of files that deny or ask, and may know several commands and no first."""
    for entry, pattern in zip(view.entries, view.patterns, strict=True):
        strict = entry.effect is not Effect.ALLOW and entry.reason not in BY_DEFAULT
        if strict and may_join(pattern):
            yield entry


# The commands that are tried for a line.


class Forms:
    """Commands that some lists know by a changed line, by what else lines and a shell know.

    Args:
        pair: the lists.
        shell: how commands are read.

    """

    def __init__(self, pair: CommandPair, shell: Shell) -> None:
        self._fresh, self._views, self._shell = pair.fresh, pair.views, shell
        sides = ([pair.views[number] for number in side] for side in pair.sides)
        self._shells = tuple(
            dict.fromkeys(name for side in sides for name in granted_shells(side, shell)[:1])
        )

    @cached_property
    def _allowing(self) -> list[Pattern]:
        """What lines allow, those of files first: a host has many that say the same."""
        return self._patterns(strict=False)

    @cached_property
    def _strict(self) -> list[Pattern]:
        """What lines deny or ask for."""
        return self._patterns(strict=True)

    def _patterns(self, *, strict: bool) -> list[Pattern]:
        written: dict[Pattern, bool] = {}
        for view in self._views:
            for entry, pattern in zip(view.entries, view.patterns, strict=True):
                if (entry.effect is not Effect.ALLOW) is strict:
                    written[pattern] = written.get(pattern, False) or entry.place is not None
        return sorted(written, key=lambda each: not written[each])

    @cached_property
    def _prefixes(self) -> tuple[Prefix, ...]:
        lines = (*self._allowing, *self._strict)
        return prefixes((e for e in lines if has_other_texts(e, self._shell)), self._shell)

    def of(self, line: ChangedLine) -> Iterator[str]:
        """Yield commands that *line* may know by some of their texts, frozen."""
        frozen = freeze(line.pattern, self._fresh)
        yield frozen
        program = frozen.partition(" ")[0]
        if set(program) == {"["}:  # which ends where it is closed
            yield freeze(line.pattern, f"q7z {']' * len(program)}")
        # By the text of a whole pipeline, though by that of none of its parts.
        yield from (freeze(line.pattern, each) for each in quiet_commands(self._shell))
        yield from (prefix.text + frozen for prefix in self._prefixes[:1])
        yield from self._written(frozen)
        for prefix in self._prefixes:
            yield prefix.text + frozen
            if program in KEYWORDS:  # there too it is no program
                yield prefix.text + in_quotes(frozen)
        yield from self._begun(line.pattern, frozen)

    def _written(self, text: str) -> Iterator[str]:
        """Yield a command as it is written otherwise, and joined with others."""
        program, blank, rest = text.partition(" ")
        yield escaped(text)
        yield from (form.format(program, blank + rest) for form in _FORMS)
        if not ODD.isdisjoint(text):
            yield from quoted(text)
            yield from (f"{start}'{text}'" for start in self._starts if "'" not in text)
        runs_too = next(iter(quiet_commands(self._shell)), "q7z")
        yield from (form.format(text, runs_too) for form in _JOINED)
        for name in self._shells if "'" not in text else ():
            yield f"{name} -c '{escaped(text)}'"

    def _begun(self, pattern: Pattern, frozen: str) -> Iterator[str]:
        """Yield what a line knows as written, and others behind a prefix that it begins with."""
        start = start_of(pattern)
        others = [*self._allowing[:_BESIDE], *self._strict[:_BESIDE]]
        texts = [*quiet_commands(self._shell), *self._unasked, self._fresh]
        for other in others:
            program = start_of(other).partition(" ")[0]
            texts += islice(filter(other.matches, harmless(program, self._shell)), 1)
            texts.append(freeze(other, self._fresh))
        for prefix in self._prefixes:
            if start.startswith(prefix.text) or prefix.text.startswith(start):
                for text in texts:
                    yield from self._members(frozen, prefix.text + text)

    def _members(self, *texts: str) -> Iterator[str]:
        try:
            yield from islice(members(texts, self._fresh), _BESIDE)
        except OverflowError:
            return

    @cached_property
    def _unasked(self) -> tuple[str, ...]:
        """Some commands that run without a rule, open nothing, and that no line knows."""
        silent = [
            text
            for text in opening_none(self._shell)
            if all(view.automaton.first(text) == NO_MATCH for view in self._views)
        ]
        longer = (text for text in silent if text.endswith(" q7z"))
        return tuple(dict.fromkeys((*silent[:2], *islice(longer, 1))))

    @cached_property
    def _starts(self) -> tuple[str, ...]:
        """What commands begin with that run whatever word follows, quoted or not."""
        silent = (t.removesuffix("q7z") for t in self._unasked if t.endswith(" q7z"))
        allowed = (start_of(p) for p in self._allowing if not p.exact)
        starts = (*silent, *(start for start in allowed if start.endswith(" ")))
        return tuple(islice(dict.fromkeys(starts), _BESIDE))
