"""Commands as two lookups decide them: more tells them apart than what lines say of their text.

A host runs some where no rule speaks of them (`policy.compare.unasked`), rules know a command by
other texts (`policy.compare.disguise`), and the files that it opens decide beside it
(`policy.compare.opening`). Each of these is a comparison of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

from policy.commands.knowledge import Shell
from policy.commands.parts import Redirection
from policy.compare.forms import is_unchecked, unvouched
from policy.compare.odd import in_quotes
from policy.compare.opening import Openings, opened_by
from policy.compare.pair import OVERLAPS
from policy.compare.prefixes import is_led, runs_another, transparent
from policy.compare.reads import read_alike
from policy.compare.tool_pair import ToolPair
from policy.compare.unasked import Unasked
from policy.compare.view import is_stricter
from policy.compare.witness import (
    CHANGES,
    CallShape,
    Difference,
    Effects,
    of_direction,
    signature,
    weaker,
)
from policy.compare.words import ACTED_ON
from policy.core import expressions as re
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.values import evolve
from policy.patterns.pattern import Pattern, named, tokens_of
from policy.tables.command_row import redirection_outcome
from policy.tables.entry import Outcome, doubted
from policy.tables.lookup import Lookup

__all__ = ["CommandPair"]

# Words that no rule names, and those that people read instead.
_PROBE = re.compile(r"\bq7([wyz])\b")
_READ = {"w": "z", "y": "y", "z": "x"}

# A quote that stands within a word.
_QUOTE = re.compile(r"(?<=[^\s'\"])['\"]")

_UNREAD = "some commands that rules tell apart cannot be taken apart, and others may be"
_FILES = "the files that some commands open decide beside what rules say of them"


class CommandPair(ToolPair):
    """Commands that differ in their text only, one argument of a tool that runs them.

    Attributes:
        hidden: how commands of some lines may change, though one of theirs does not; and whether
            these spell out nothing that a shell acts on.
        untold: the changes that may come of lines, and that no command shows which was tried.

    """

    def __init__(self, tool: str, before: Lookup, after: Lookup, shape: CallShape) -> None:
        self.hidden: dict[Effects, bool] = {}
        self.untold: set[Effects] = set()
        super().__init__(tool, before, after, shape)

    @cached_property
    def unheard(self) -> frozenset[Effects]:
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
        """Yield a difference of lines whose *text* shows none, since it runs unasked."""
        named = text.replace(self.fresh, "q7z")
        if not self.shell.programs:
            # No rule grants a program whose name is partly in quotes.
            apart = _QUOTE.sub(" \\g<0>", named, count=1)
            again = self._first((apart,) * self._decided(apart, chosen), wanted)
            if again is not None:
                yield again
            if again is None or again.effects != wanted:
                self._hide(chosen, wanted)
            return
        # Of what starts with a program that runs others most is not vouched for.
        others = (each for each in runs_another(self.shell) if self._decided(each, chosen))
        behind = (each + named for each in transparent(self.shell))
        found = self._first(chain(unvouched(named, self.shell), behind, others), wanted)
        if found is not None:
            yield found
            if found.effects == wanted:
                return
        if self._grants_none(chosen, wanted):
            wanted = wanted[0] & Effect.ASK, wanted[1] & Effect.ASK
            if wanted not in CHANGES or found is not None:
                return
        guides = [p for view, line in chosen.items() if (p := self.pattern(view, line))]
        asked_for = self._searched(guides, chosen, but=[Unasked.of(shell) for shell in self.shells])
        yield from self.shown(asked_for, guides, wanted)

    def _hide(self, chosen: Mapping[int, int], wanted: Effects) -> None:
        """Note lines of which texts may show a change that one of them does not."""
        guides = [p for view, line in chosen.items() if (p := self.pattern(view, line))]
        if not any(pattern.exact for pattern in guides):
            is_plain = ACTED_ON.isdisjoint(named(tokens_of(guides)))
            self.hidden[wanted] = self.hidden.get(wanted, True) and is_plain

    def settled(self, effects: Iterable[Effects]) -> set[Effects]:
        """Return the changes of which no further command has to be found beside *effects*."""
        return weaker(effects) | self.precluded

    def left(self, effects: Collection[Effects]) -> Iterator[str]:
        """Yield why more commands may change than those that change with *effects*."""
        return super().left(self.settled(effects) | self.unheard) if self.doubts else iter(())

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

    def _grants_none(self, chosen: Mapping[int, int], wanted: Effects) -> bool:
        """Whether the side that would allow what *chosen* lines decide asks for all of it."""
        if Effect.ALLOW not in wanted:
            return False
        granting = self.sides[wanted.index(Effect.ALLOW)]
        patterns = (self.pattern(view, chosen[view]) for view in granting)
        return any(each and is_unchecked(each, self.shell) for each in patterns)

    def shown(
        self, text: str | None, guides: Sequence[Pattern], wanted: Effects
    ) -> Iterator[Difference]:
        """Yield the difference that a text shows; admit where its files may hide one."""
        if text is None:
            return
        named = text.replace(self.fresh, "q7z")
        found = self._first((named,), wanted)
        if found is not None:
            yield found
        if (found is not None and found.effects == wanted) or any(p.exact for p in guides):
            return
        plain = self.asked(named)
        decided = zip(plain.effects, wanted, (plain.before, plain.after), strict=True)
        if Reason.UNANALYSABLE in (plain.before.reason, plain.after.reason):
            found = self._first((in_quotes(named),), wanted)
            if found is not None:
                yield found
                if found.effects == wanted:
                    return
            if not is_led(text, guides, self.shell):
                self.doubt(_UNREAD, wanted)  # of other texts the rules may be asked
        if any(got is not said and self._is_told(one) for got, said, one in decided):
            return  # by another text of it: rules tell so much of what opens no files
        opens = read_alike(text, self.shell).redirections
        if opens and not self._is_shut(opened_by(guides, self.shell)):
            self.doubt(_FILES, wanted)

    def _is_told(self, decision: Decision) -> bool:
        """Whether lines for commands say so, and not those for files."""
        return decision.reason is Reason.RULE and self._rules.issuperset(
            because.rule for because in decision.because
        )

    @cached_property
    def _rules(self) -> frozenset[str]:
        """The lines of all lists, as they are written."""
        return frozenset(entry.rule for view in self.views for entry in view.entries)

    def _is_shut(self, tools: Iterable[str]) -> bool:
        """Whether either side denies every command that opens a file as a call of these."""
        return all(
            any(_denies(row.opening(tool).constant) for row, _ in lookup.rows)
            for lookup in self.lookups
            for tool in tools
        )

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
            openings = Openings(self.views, dialect, self.asked, self.doubted)
            for tool, differences in opened.items():
                for file in _telling(differences):
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
        openings = Openings(self.views, self.shape.dialect, self.asked, self.doubted)
        for tool, differences in opened.items():
            for file in _telling(differences):
                path = str(next(iter(file.call.values()), "q7z"))
                asked = map(self.asked, openings.redirected(tool, path))
                found = next((each for each in asked if each.effects == file.effects), None)
                if found is not None:
                    shown |= weaker([found.effects])
                    yield found

    @cached_property
    def doubted(self) -> Effects:
        """What both sides say of a script that they doubt, of all of it."""
        before, after = (
            min((doubted(row.ruleset).effect for row, _ in lookup.rows), default=Effect.ALLOW)
            for lookup in self.lookups
        )
        return before, after

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
