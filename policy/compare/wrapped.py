"""Commands that rules know by other texts than the one that is written: ``sudo rm x`` as ``rm x``.

A rule that denies or asks knows ``sudo rm x`` as ``rm x`` too, and one that allows may know
``timeout 5 rm x`` so. Where two tables decide such a command differently, a line of one matches
what is written, and a line of the other what is behind a prefix (`policy.compare.prefixes`). It is
enough to try members of what both lines share, the prefix taken off. Of each line it is known which
changes can come of it: only commands that may show one of them are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice, product
from typing import Final

from policy.commands.knowledge import Shell
from policy.commands.reader import KEYWORDS
from policy.compare.auto_allowed import ODD, harmless, may_run, opening_none
from policy.compare.commands import CommandPair, is_closed
from policy.compare.lists import View, start_of
from policy.compare.opening import doubtful_scripts, granted_shells
from policy.compare.pair import OVERLAPS
from policy.compare.prefixes import (
    NO_PREFIX,
    Prefix,
    escaped,
    in_quotes,
    is_disguise,
    is_joined,
    is_odd,
    leads_another,
    left_open,
    pipelines,
    prefixes,
    quoted,
    samples,
)
from policy.compare.witness import CHANGES, Difference, Effects, weaker
from policy.core import values
from policy.core.effect import Effect
from policy.patterns.automaton import NO_MATCH
from policy.patterns.families import members
from policy.patterns.pattern import Pattern, freeze

__all__ = ["ODD_LINES", "wrapped_differences"]


# Why an answer is not exact where rules spell out what a shell acts on.
ODD_LINES: Final = "rules that spell out quotes or operators beside stars are compared by samples"

# Commands that no rule can grant, or that open files no one knows.
SAMPLES: Final = ("", ";", "$x", "q7z $x", "q7z > $x", "q7z < $x", "cat $x", "q7z; q7y")

_FORMS: Final = ("'{0}'{1}", "'{0}{1}'", "\\{0}{1}", "{0}{1} 'q7y'", "{0}{1} $x")

# Combinations of lines that are tried for one edit.
_COMBINATIONS: Final = 512


# Ways to begin a command that are tried with a word in quotes.
_STARTS: Final = 32


class WrappedForms:
    """What some lists over commands tell apart beyond what is written.

    Args:
        views: the lists.
        fresh: a character that no pattern names.
        shell: how commands are read.

    Attributes:
        exhausted: whether some combinations were left out.

    """

    def __init__(self, views: Sequence[View], fresh: str, shell: Shell) -> None:
        self._views = views
        self._fresh = fresh
        self._shell = shell
        self.exhausted = False
        self._open = [
            [e for e in view.entries if e.pattern is not None and is_disguise(e.pattern, shell)]
            for view in views
        ]
        self._prefixes = prefixes(tuple(map(tuple, self._open)), fresh, shell)
        # Each pattern once, and whether a line with it denies or asks.
        self._lines: dict[Pattern, bool] = {}
        for view in views:
            for entry, pattern in zip(view.entries, view.patterns, strict=True):
                strict = entry.effect is not Effect.ALLOW
                self._lines[pattern] = self._lines.get(pattern, False) or strict
        # The rest a host has built in: many that say the same.
        self._written = {
            pattern
            for view in views
            for entry, pattern in zip(view.entries, view.patterns, strict=True)
            if entry.place is not None
        }
        # Of lines that spell out one of the two, the other one tells nothing.
        spelled = any("'" in str(pattern) for pattern in self._lines)
        self._quotes = ("'", '"') if spelled else ("'",)
        self._tried: set[object] = set()
        # Commands that run without a rule, beside those that stand for all.
        self._quiet: set[str] = set()
        self._others: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {}
        # Behind most prefixes lines leave the same open.
        self._met: dict[tuple[str, ...], tuple[str, ...]] = {}

    def _left(self, pattern: Pattern, text: str) -> tuple[str, ...]:
        """Return what a pattern leaves open behind *text*, frozen."""
        return left_open(pattern, text, self._fresh)

    @property
    def _open_patterns(self) -> Iterator[Pattern]:
        return (e.pattern for entries in self._open for e in entries if e.pattern is not None)

    def spelled_out(self) -> Iterator[str]:
        """Yield the commands that lines spell out and that are no one command of plain words."""
        odd = (pattern for pattern in self._open_patterns if pattern.exact)
        for number, pattern in enumerate(dict.fromkeys(odd)):
            if number >= _COMBINATIONS:
                self.exhausted = True
                return
            yield str(pattern)

    def asked_for(self) -> Iterator[str]:
        """Yield commands that a list asks for by another text, frozen: another may grant them."""
        asking = dict.fromkeys(
            pattern
            for view in self._views
            for entry, pattern in zip(view.entries, view.patterns, strict=True)
            if entry.effect is Effect.ASK and entry.place is not None
        )
        for number, pattern in enumerate(asking):
            if number >= _COMBINATIONS:
                self.exhausted = True
                return
            yield from (prefix.text + freeze(pattern, self._fresh) for prefix in self._prefixes)

    def of(self, pattern: Pattern, *, reads: bool, hides: bool, met: bool) -> Iterator[str]:
        """Yield commands that a line with *pattern* knows by some of their texts, frozen.

        Args:
            pattern: of the line.
            reads: whether what the line says of a text that is not written counts.
            hides: whether it counts in that it hides what other lines say.
            met: whether other lists decide beside that of the line.

        """
        frozen = freeze(pattern, self._fresh)
        yield frozen
        for text in self._harmless(pattern):
            # Behind some prefixes they are not, though rules that allow see through them.
            yield text
            yield from (prefix.text + text for prefix in self._prefixes if prefix.transparent)
        if reads and not pattern.exact and self._shell.reader:
            # By the text of a whole pipeline, though by that of none of its parts.
            yield from (freeze(pattern, text) for text in pipelines(self._shell))
            if not {"&", ";"}.isdisjoint(str(pattern)):
                # So is what opens a file.
                for name in sorted(self._shell.kinds.scripted):
                    yield freeze(pattern, f"{name} q7z")
        for text in self._hidden(frozen) if hides else (frozen,) if reads else ():
            yield from self._escaped(text)
            for prefix in self._prefixes:
                told = self._tells(prefix) and pattern in self._written
                if told or self._is_new(self._way(prefix, text), prefix.text + text, text):
                    yield from self._shared(prefix, text)
            program, blank, rest = text.partition(" ")
            for form in _FORMS:
                written = form.format(program, blank + rest)
                if self._is_new(form, written, text):
                    yield written
        if met and not reads:
            yield from self._granted(frozen)
        if is_disguise(pattern, self._shell):
            yield from self._behind(pattern)
        yield from self._quoted(frozen)

    def _escaped(self, frozen: str) -> Iterator[str]:
        """Yield commands of plain words that are known by an odd text, behind each prefix too."""
        plain = escaped(frozen)
        if plain == frozen:
            return
        yield plain
        for prefix in self._prefixes:
            if prefix.transparent:
                yield prefix.text + plain

    def _granted(self, frozen: str) -> Iterator[str]:
        """Yield commands that a rule knows which allows, and another list by what is written.

        That one may ask for them, and so grant what this one allows.
        """
        for prefix in self._prefixes:
            if prefix.transparent and prefix.behind != NO_PREFIX.behind:
                yield from self._shared(prefix, frozen)

    def _behind(self, pattern: Pattern) -> Iterator[str]:
        """Yield commands that a line knows by what is written, and others behind a prefix."""
        for prefix in self._prefixes:
            for rest in self._left(pattern, prefix.text):
                yield prefix.text + rest
                for text in self._known(prefix, rest):
                    known = text.removeprefix(prefix.text)
                    if self._is_new(prefix.text, text, known):
                        yield text
                        if known.partition(" ")[0] in KEYWORDS:  # there too it is no program
                            yield prefix.text + in_quotes(known)

    def _quoted(self, frozen: str) -> Iterator[str]:
        """Yield a command with words in quotes, where they say no more than words do."""
        if not ODD.isdisjoint(frozen):
            yield from quoted(frozen)
            if frozen.startswith(self._fresh) and "'" not in frozen:
                yield from (f"{start}'{frozen}'" for start in self._granted_starts)
                yield f"q7z'{frozen[1:]}"  # all behind a quote that nothing closes is one word
            elif "'" not in frozen:
                start, _, rest = frozen.partition(self._fresh)
                yield from (f"{start}{told}'{self._fresh}{rest}" for told in ("", "--x "))
        # A word of the shell is the name of a program.
        yield from (in_quotes(frozen, quote) for quote in self._quotes)

    def _shared(self, prefix: Prefix, frozen: str) -> Iterator[str]:
        """Yield commands behind *prefix* that are *frozen*, for all that lists say of both."""
        for tried, chosen in enumerate(prefix.behind):
            if tried >= _COMBINATIONS:
                self.exhausted = True
                return
            yield from self._members(prefix, (frozen, *chosen))

    def _harmless(self, pattern: Pattern) -> Iterator[str]:
        """Yield commands that *pattern* matches and that run without a rule."""
        program, blank, _ = start_of(pattern).partition(" ")
        complete = blank or pattern.exact
        begun = (name for name in self._shell.programs if name.startswith(program))
        for name in (program,) if complete else begun:
            yield from filter(pattern.matches, harmless(name, self._shell))
        if program and set(program) == {"["}:  # which ends where it is closed
            yield from (freeze(pattern, text) for text in ("q7z", f"q7z {']' * len(program)}"))

    def _tells(self, prefix: Prefix) -> bool:
        """Return whether lines tell commands apart that stand behind a prefix."""
        return any(rest != self._fresh for rests in prefix.behind for rest in rests)

    def _way(self, prefix: Prefix, text: str) -> object:
        """Return how *text* is known behind a prefix: of lines by those that it may share."""
        tells = self._tells(prefix)
        shares = [self._may_meet((text, *chosen)) for chosen in prefix.behind] if tells else ()
        return prefix.text, *shares

    def _is_new(self, way: object, written: str, text: str) -> bool:
        """Return whether *written* may show more than another command known as *way*.

        All depends on which lines match what is written, on what each list says of *text*,
        by which it is known as well, on which of both comes first, and where it runs unasked
        behind which prefixes it does.
        """
        sample = text if text in samples(self._shell) else text in self._quiet
        # Whether it is known by yet another text, or is several commands.
        led = leads_another(text.partition(" ")[0], self._shell) or not ODD.isdisjoint(text)
        key = way, sample, led, tuple(self._told(view, written, text) for view in self._views)
        known = key in self._tried
        self._tried.add(key)
        return not known

    def _told(self, view: View, written: str, text: str) -> object:
        first, line = view.automaton.first(text), view.automaton.first(written)
        if first == NO_MATCH:
            return line
        entry = view.entries[first]
        exact = entry.pattern is not None and entry.pattern.exact
        return line, first < line, entry.effect, entry.reason, exact

    def _hidden(self, frozen: str) -> Iterator[str]:
        """Yield what *frozen* shares with lines that deny or ask."""
        yield frozen
        yield from self._known(NO_PREFIX, frozen)

    def _known(self, prefix: Prefix, rest: str) -> Iterator[str]:
        """Yield commands behind *prefix* that other lines know there, and are *rest* as well."""
        start = rest.partition(self._fresh)[0]
        whole = Pattern.text(rest.replace(self._fresh, "*"))
        usual = filter(whole.matches, (*samples(self._shell), *self._unasked))
        unasked = dict.fromkeys((*islice(self._harmless(whole), 1), *usual))
        yield from (prefix.text + text for text in unasked)
        tried = 0
        for pattern, strict in self._lines.items():
            other = start_of(pattern)
            hidden = not (strict or prefix.transparent)
            if hidden or not (start.startswith(other) or other.startswith(start)):
                continue
            tried += 1
            if tried > _COMBINATIONS:
                self.exhausted = True
                return
            frozen = freeze(pattern, self._fresh)
            yield from self._members(prefix, (rest, frozen))
            for chosen in self._beside(prefix, rest):
                if self._may_meet((frozen, *chosen)):
                    yield from self._members(prefix, (rest, frozen, *chosen))
            if not strict:
                for text in islice(filter(whole.matches, self._harmless(pattern)), 1):
                    self._quiet.add(text)
                    yield prefix.text + text

    def _beside(self, prefix: Prefix, rest: str) -> tuple[tuple[str, ...], ...]:
        """Return what other lines that may decide with *rest* leave open behind *prefix*."""
        key = prefix.text, rest
        found = self._others.get(key)
        if found is None:
            told = {rest, self._fresh}
            behind = prefix.behind[:_COMBINATIONS]
            found = tuple(each for each in behind if not told.issuperset(each))
            self._others[key] = found
        return found

    def _may_meet(self, frozen: Iterable[str]) -> bool:
        """Return whether some text may be all of *frozen*, by what they start with."""
        starts = sorted((each.partition(self._fresh)[0] for each in frozen), key=len)
        return all(map(starts[-1].startswith, starts))

    @cached_property
    def _unasked(self) -> tuple[str, ...]:
        """One that runs without a rule, and of which none does."""
        silent = (
            text
            for text in self._harmless(Pattern.text("*"))
            if all(view.automaton.first(text) == NO_MATCH for view in self._views)
        )
        return tuple(islice(silent, 1))

    @cached_property
    def _granted_starts(self) -> tuple[str, ...]:
        """What commands begin with that run whatever word follows, quoted or not."""
        silent = (
            text.removesuffix("q7z")
            for text in opening_none(self._shell)
            if text.endswith(" q7z")
            and all(view.automaton.first(text) == NO_MATCH for view in self._views)
        )
        allowed = (start_of(p) for p, strict in self._lines.items() if not (strict or p.exact))
        starts = (*islice(silent, 1), *(start for start in allowed if start.endswith(" ")))
        return tuple(islice(dict.fromkeys(starts), _STARTS))

    def _members(self, prefix: Prefix, frozen: tuple[str, ...]) -> Iterator[str]:
        shared = self._met.get(frozen)
        if shared is None:
            if len(self._met) >= _COMBINATIONS:
                self._met.clear()
            shared = self._met[frozen] = tuple(dict.fromkeys(self._meet(frozen)))
        return (prefix.text + member for member in shared)

    def _meet(self, frozen: tuple[str, ...]) -> Iterator[str]:
        try:
            yield from members(frozen, self._fresh)
        except OverflowError:
            self.exhausted = True


# The commands that rules see through, or that no rule can grant, as two lookups decide them.


# Commands known by other texts that are tried before the answer is no longer exact.
_DISGUISED = 4_000


def wrapped_differences(
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
        scripted: those that only a script in an argument may show.

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
                forms = WrappedForms(pair.views, pair.fresh, shell)
                yield from forms.spelled_out()
            effect = pair.views[each.view].effect(each.line)
            if effect is Effect.DENY:
                frozen = freeze(each.pattern, pair.fresh)
                yield from doubtful_scripts(frozen, self._scripting, pair.views)
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
                    pair.doubts |= dict.fromkeys(product((ODD_LINES,), each.changes))
            if forms.exhausted:
                pair.doubts |= dict.fromkeys(product((OVERLAPS,), each.changes))
        if met:
            yield from (forms or WrappedForms(pair.views, pair.fresh, shell)).asked_for()
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
        """Whether all is denied that no line decides, and no line that no file has asks."""
        return all(
            view.default is Effect.DENY
            and not any(
                unwritten and entry.effect is Effect.ASK
                for unwritten, entry in zip(view.nobody_said[1:], view.entries, strict=True)
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
            # Both sides are strict there, but for what a file has of the whole command.
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
        return view.unasked is Effect.ALLOW and may_run(view.shell, pattern)

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
