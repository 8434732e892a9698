"""Commands as two lookups decide them: more tells them apart than what lines say of their text.

A host runs some where no rule applies to them, rules know a command by other texts
(`policy.compare.samples`), and the files that it opens decide beside it
(`policy.compare.opening`). Each of these is a comparison of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations, islice

from policy.commands.knowledge import Shell
from policy.commands.reader import KEYWORDS, Redirection
from policy.compare.auto_allowed import (
    ACTED_ON,
    auto_allowed,
    harmless,
    known_differently,
    knows_no_more,
    may_run,
    needing_rule,
    read_alike,
    runs,
)
from policy.compare.lists import ListSide, is_stricter, start_of
from policy.compare.opening import Openings
from policy.compare.pair import OPAQUE, OVERLAPS, ToolPair
from policy.compare.prefixes import in_quotes, runs_another, transparent
from policy.compare.witness import CHANGES, Difference, Effects, of_direction, signature, weaker
from policy.core import expressions as re
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.values import evolve
from policy.patterns.pattern import Pattern, freeze
from policy.tables.command_row import redirection_outcome

__all__ = ["CommandPair", "unasked_differences"]


# Words that no rule names, and those that people read instead.
_PROBE = re.compile(r"\bq7([wyz])\b")
_READ = {"w": "z", "y": "y", "z": "x"}

# A quote that stands within a word.
_QUOTE = re.compile(r"(?<=[^\s'\"])['\"]")


class CommandPair(ToolPair):
    """Calls of a tool that runs commands; they differ in the command alone."""

    @cached_property
    def ruled_out(self) -> frozenset[Effects]:
        """The changes that no command shows, whatever texts it is known by.

        Where the same lines stand in the same order, and some of one side deny what those of
        the other ask for, the line that decides a text is the same on both sides, or a
        stricter one.
        """
        before, after = ([self.views[number] for number in side] for side in self.sides)
        return frozenset[Effects]().union(
            *(
                of_direction(widened=widened)
                for widened, (less, more) in ((False, (before, after)), (True, (after, before)))
                if self.floors[widened] <= self.floors[not widened]
                and all(any(is_stricter(one, other) for one in less) for other in more)
            )
        )

    @cached_property
    def unshown(self) -> set[Effects]:
        """Changes by lines of plain words that the text of these lines does not show."""
        return set()

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
        self, text: str, chosen: Mapping[int, int], wanted: Effects
    ) -> Iterator[Difference]:
        """Yield a difference of other commands that the lines know; admit that there may be one."""
        found = self._first(self.other_texts(text, chosen), wanted)
        if found is not None:
            yield found
        guides = [p for view, line in chosen.items() if (p := self.pattern(view, line))]
        if (found is not None and found.effects == wanted) or any(p.exact for p in guides):
            return
        if any(" " in start_of(p) and start_of(p).split(" ")[0] in KEYWORDS for p in guides):
            return  # what leads other commands is no program, unless it is in quotes
        named = "".join(token for p in guides for token in p.tokens if isinstance(token, str))
        if not self.shell.programs and ACTED_ON.isdisjoint(named):
            self.unshown.add(wanted)
        elif not (
            any(map(self.is_plain, self.filled(text, chosen)))
            or self._is_by_rules(self.asked(text.replace(self.fresh, "q7z")), wanted)
        ):
            self.doubt(OPAQUE, wanted)

    def other_texts(self, text: str, chosen: Mapping[int, int]) -> Iterator[str]:
        """Yield commands that lines know as they know *text*, and that need a rule."""
        named = text.replace(self.fresh, "q7z")
        yield from needing_rule(named, self.shell)
        yield from (each + named for each in transparent(self.shell))
        yield from (each for each in runs_another(self.shell) if self._decided(each, chosen))
        # No rule grants a program whose name is partly in quotes.
        apart = _QUOTE.sub(" \\g<0>", named, count=1)
        filled = [*self.filled(text, chosen)]
        for other in (*filled, apart) if self._decided(apart, chosen) else filled:
            yield from (other, in_quotes(other), in_quotes(other, '"'))

    def filled(self, text: str, chosen: Mapping[int, int]) -> Iterator[str]:
        """Yield commands of the same lines with other words where any will do."""
        for each in ("", "q7z", '""', "$x"):
            other = text.replace(self.fresh, each)
            if other == other.strip() and self.holds(other) and self._decided(other, chosen):
                yield other

    def is_plain(self, text: str) -> bool:
        """Whether a command needs a rule, can be read and opens no file: lines alone decide it."""
        found = self.asked(text)
        return not (
            any(runs(text, shell) for shell in self.shells)
            or Reason.UNANALYSABLE in (found.before.reason, found.after.reason)
            or read_alike(text, self.shell).redirections
        )

    def settled(self, effects: Iterable[Effects]) -> set[Effects]:
        """Return the changes of which no further command has to be found beside *effects*."""
        return weaker(effects) | self.precluded

    def left(self, effects: Collection[Effects]) -> Iterator[str]:
        """Yield why more commands may change than those that change with *effects*."""
        return super().left(self.settled(effects) | self.ruled_out) if self.doubts else iter(())

    def in_words(self, found: Difference) -> Difference:
        """Return a difference with words that people read, where the same rules decide these."""
        text = next(iter(found.call.values()), None)
        if not isinstance(text, str) or not _PROBE.search(text):
            return found
        again = self.asked(_PROBE.sub(lambda word: _READ[word[1]], text))
        return again if signature(again) == signature(found) else found

    def _first(self, texts: Iterable[str], wanted: Effects) -> Difference | None:
        """Return the change *wanted* if one of *texts* shows it, or one in its direction."""
        other: Difference | None = None
        for text in texts:
            found = self.asked(text)
            if found.effects == wanted:
                return found
            if other is None and found.effects in of_direction(widened=wanted[0] < wanted[1]):
                other = found
        return other

    def _is_by_rules(self, found: Difference, wanted: Effects) -> bool:
        """Whether rules for commands say what is not *wanted*, by other texts of a command.

        And not rules for files: so much holds of commands that open none.
        """
        return any(
            decision.effect is not effect
            and decision.reason is Reason.RULE
            and self._rules.issuperset(because.rule for because in decision.because)
            for decision, effect in zip((found.before, found.after), wanted, strict=True)
        )

    @cached_property
    def _rules(self) -> frozenset[str]:
        """The lines of all lists, as they are written."""
        return frozenset(entry.rule for view in self.views for entry in view.entries)

    def opening(
        self, opened: Mapping[str, Sequence[Difference]], known: Iterable[Effects]
    ) -> Iterator[Difference]:
        """Yield a difference of commands that open files for each change that has one.

        And one for each change of files that commands are redirected to or from, whatever else
        changes: no other command names the rules about files that decide it. With a file a
        command shows what the file does, or less, or what it shows without the file.

        Args:
            opened: tools, and how both sides decide other files as calls of them.
            known: the changes that need no further one.

        """
        shown = weaker({*known})
        yield from self._redirected(opened, shown)
        if not opened or shown >= CHANGES:
            return
        for shell in self.shells or (self.shell,):
            dialect = evolve(self.shape.dialect, shell=shell)
            openings = Openings(self.views, dialect, self.asked)
            for tool, differences in opened.items():
                for file in _few_alike(differences):
                    path = str(next(iter(file.call.values()), "q7z"))
                    least = openings.least(file)
                    yield from self._shows(openings.redirected(tool, path), shown, least)
                    if least <= shown:
                        continue
                    wanted = openings.changes(file)
                    texts = openings.of(tool, path, wanted - shown)
                    yield from self._shows(texts, shown, wanted)
                    if openings.exhausted and not shown >= wanted:
                        self.why[OVERLAPS] = None
            unlike = {
                tool: pairs
                for tool in opened
                if not weaker(pairs := self._of_unknown(tool)) <= shown
            }
            if unlike:
                wanted = set[Effects]().union(*map(openings.of_effects, chain(*unlike.values())))
                yield from self._shows(openings.unknown(unlike), shown, wanted)

    def _redirected(
        self, opened: Mapping[str, Sequence[Difference]], shown: set[Effects]
    ) -> Iterator[Difference]:
        """Yield how redirected commands change for each change of files, and add these to *shown*.

        Where the host decides by the command, files alone tell nothing.
        """
        if self.shell.whole:
            return
        openings = Openings(self.views, self.shape.dialect, self.asked)
        for tool, differences in opened.items():
            for file in _few_alike(differences):
                path = str(next(iter(file.call.values()), "q7z"))
                asked = map(self.asked, openings.redirected(tool, path))
                found = next((each for each in asked if each.effects == file.effects), None)
                if found is not None:
                    shown |= weaker([found.effects])
                    yield found

    def _of_unknown(self, tool: str) -> set[Effects]:
        """Return what both sides say of a file of unknown name, where that is not the same."""
        found = set[Effects]()
        for shadowed in (False, True):
            file = Redirection(None, writes=False, tool=tool, shadowed=shadowed)
            before, after = (
                min(
                    (redirection_outcome(row, file).effect for row, _ in lookup.rows),
                    default=Effect.ALLOW,
                )
                for lookup in self.lookups
            )
            found.add((before, after))
        return found & CHANGES

    def _shows(
        self, texts: Iterable[str], shown: set[Effects], wanted: Collection[Effects]
    ) -> Iterator[Difference]:
        """Yield the changes that commands show and none has *shown*, until all *wanted* are."""
        if shown.issuperset(wanted):
            return
        for text in texts:
            found = self.asked(text)
            if found.effects in CHANGES and found.effects not in shown:
                shown |= weaker([found.effects])
                yield found
            if shown.issuperset(wanted):
                return


def _few_alike(differences: Iterable[Difference]) -> Iterator[Difference]:
    """Yield of the files that are decided alike, by rules or not, only some."""
    alike: Counter[object] = Counter()
    for each in differences:
        both = each.before, each.after
        key = tuple((one.effect, one.reason) for one in both)
        alike[key] += 1
        if alike[key] <= _ALIKE:
            yield each


_ALIKE = 3


# The commands that hosts run where no rule applies to them, as two lookups decide them.


def unasked_differences(pair: CommandPair) -> Iterator[Difference]:
    """Yield differences of commands that run where no rule applies to them."""
    for count in range(len(pair.shells), 0, -1):
        for running in combinations(pair.shells, count):
            yield from _UnaskedPair(pair, running).differences()


class _UnaskedPair(CommandPair):
    """Commands that run without a rule: for these, a rule that allows changes nothing.

    Only those are compared that a default decides on one of the sides.
    """

    def __init__(self, pair: CommandPair, running: Sequence[Shell]) -> None:
        """Take from *pair* what *running* shells run, and no other."""
        self._running = tuple(running)
        super().__init__(pair.tool, *pair.lookups, pair.shape)
        self.alignments, self.why, self.doubts = pair.alignments, pair.why, pair.doubts
        self.known, self.told = pair.known, pair.told
        self.patterns, self.fresh = pair.patterns, pair.fresh
        self.extra, self.plain = pair.extra, pair.plain
        self._others = tuple(shell for shell in pair.shells if shell not in running)
        self._names = known_differently(self._running, self._others)
        self.by_default = True

    def seen_as(self, sides: tuple[ListSide, ListSide]) -> tuple[ListSide, ListSide]:
        before, after = (
            evolve(
                side,
                views=tuple(
                    evolve(view, default=view.unasked)
                    if any(view.shell.programs == one.programs for one in self._running)
                    else view
                    for view in side.views
                ),
            )
            for side in sides
        )
        return before, after

    @property
    def shell(self) -> Shell:
        return self._running[0]

    def holds(self, text: str) -> bool:
        return (
            super().holds(text)
            and all(runs(text, shell) for shell in self._running)
            and not any(runs(text, shell) for shell in self._others)
        )

    def by_line(self, view: int, line: int, seen: set[Effects]) -> Iterator[Difference]:
        """Yield differences decided by one line, if anything that it matches runs unasked."""
        pattern = self.pattern(view, line)
        if pattern is not None and not self._may_run(pattern):
            return iter(())
        return super().by_line(view, line, seen)

    def _text(self, combination: Mapping[int, int]) -> str | None:
        """Return a command that runs unasked, and that the lines decide."""
        guides = [p for view, line in combination.items() if (p := self.pattern(view, line))]
        known = self.shell.programs
        if any(knows_no_more(known, other.programs) for other in self._others):
            return None
        if not all(map(self._may_run, guides)):
            return None
        exact = next((str(pattern) for pattern in guides if pattern.exact), None)
        texts = [exact] if exact is not None else self._likely(guides)
        found = next(self._decided_of(texts, combination), None)
        if found is None and exact is None:
            self.doubt(OPAQUE, self.effects(combination))
        return found

    def _decided_of(self, texts: Iterable[str], combination: Mapping[int, int]) -> Iterator[str]:
        return (t for t in texts if self.holds(t) and self._decided(t, combination))

    def _may_run(self, pattern: Pattern) -> bool:
        return all(may_run(shell, pattern, self._names) for shell in self._running)

    def _likely(self, guides: Sequence[Pattern]) -> Iterator[str]:
        """Yield texts of one of some patterns with what runs unasked in its gaps."""
        if not guides:
            yield from auto_allowed(self.shell)
        for pattern in guides:
            yield freeze(pattern, "q7z")
            start = start_of(pattern)
            program, blank, _ = start.partition(" ")
            names = (
                [program] if blank else [n for n in self.shell.programs if n.startswith(program)]
            )
            for text in chain.from_iterable(harmless(name, self.shell) for name in names):
                if text.startswith(start):
                    yield from (freeze(pattern, text[len(start) :] + end) for end in ("", " --"))

    def other_texts(self, text: str, chosen: Mapping[int, int]) -> Iterator[str]:
        """Yield a command that opens no files, where those of *text* hide a change."""
        texts = self.filled(text, chosen)
        yield from islice((t for t in texts if not read_alike(t, self.shell).redirections), 1)

    def filled(self, text: str, chosen: Mapping[int, int]) -> Iterator[str]:
        """Yield commands of the same lines that run unasked."""
        guides = [p for view, line in chosen.items() if (p := self.pattern(view, line))]
        yield from self._decided_of(self._likely(guides), chosen)
        yield text

    def is_plain(self, text: str) -> bool:
        """Whether a command opens no file, or one side denies all files that it opens so."""
        tools = {file.tool for file in read_alike(text, self.shell).redirections}
        rows = [row for lookup in self.lookups for row, _ in lookup.rows]
        said = (row.opening(tool).constant for tool in tools for row in rows)
        return not tools or any(each is not None and each.effect is Effect.DENY for each in said)
