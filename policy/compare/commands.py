"""Commands that two sides decide differently, by their written text or because a host allows them.

A host auto-allows some commands, rules match a command by other texts too
(`policy.compare.samples`), and the files that a command opens are decided with it
(`policy.compare.opening`). Each of these is a comparison of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, islice
from typing import Final

from policy.commands.knowledge import Shell
from policy.commands.reader import KEYWORDS
from policy.compare.auto_allowed import (
    ACTED_ON,
    FILE,
    OTHER_WORD,
    WORD,
    auto_allowed,
    known_differently,
    knows_no_more,
    may_run,
    read_alike,
    runs,
)
from policy.compare.lists import ListSide, start_of
from policy.compare.pair import OPAQUE, ToolPair
from policy.compare.prefixes import in_quotes, prefixes
from policy.compare.witness import Difference, Effects, signature, weakened
from policy.core import expressions as re
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.values import evolve
from policy.patterns.pattern import Pattern, freeze

# Readable words in place of the words that no rule names.
_READ: Final = {WORD: "x", OTHER_WORD: "y", FILE: "z"}
_PROBE: Final = re.compile(rf"\b({'|'.join(_READ)})\b")


class CommandPair(ToolPair):
    """Calls of a tool that runs commands; they differ in the command alone."""

    @cached_property
    def unshown(self) -> set[Effects]:
        """The changes that lines of plain words may cause and that no text of theirs showed."""
        return set()

    @property
    def shell(self) -> Shell:
        """How commands are read."""
        return self.shape.dialect.shell

    @cached_property
    def shells(self) -> tuple[Shell, ...]:
        """The shells of both sides, one for each set of programs with auto-allowed commands."""
        views = (view for side in self.given for view in side.views)
        found = {view.shell.programs: view.shell for view in views if view.shell.programs}
        return tuple(found.values())

    def otherwise(
        self, text: str, chosen: Mapping[int, int], wanted: Effects
    ) -> Iterator[Difference]:
        """Yield a difference that other commands of the lines show, or leave it undecided."""
        found = self._first(self.other_texts(text, chosen), wanted)
        if found is not None:
            yield found
            return
        guides = self.guides(chosen)
        if any(p.exact for p in guides):
            return
        if any(" " in start_of(p) and start_of(p).split(" ")[0] in KEYWORDS for p in guides):
            return  # a keyword is no program, unless it is in quotes
        named = "".join(token for p in guides for token in p.tokens if isinstance(token, str))
        if not self.shell.programs and ACTED_ON.isdisjoint(named):
            self.unshown.add(wanted)
        elif not (
            any(map(self.is_by_lines_alone, self.filled(text, chosen)))
            or self._is_by_rules(self.asked(text.replace(self.fresh, WORD)), wanted)
        ):
            self.leave_undecided(OPAQUE, wanted)

    def other_texts(self, text: str, chosen: Mapping[int, int]) -> Iterator[str]:
        """Yield commands that the lines may match as they match *text*, and that need a rule."""
        named = text.replace(self.fresh, WORD)
        yield from (each + named for each in prefixes(self.shell))
        for other in self.filled(text, chosen):
            yield from (other, in_quotes(other), in_quotes(other, '"'))

    def filled(self, text: str, chosen: Mapping[int, int]) -> Iterator[str]:
        """Yield *text* with other words in its gaps, where the same lines decide that."""
        for each in ("", WORD, '""', "$x"):
            other = text.replace(self.fresh, each)
            if other == other.strip() and self.holds(other) and self._decided(other, chosen):
                yield other

    def is_by_lines_alone(self, text: str) -> bool:
        """Whether a command needs a rule, can be read and opens no file: lines alone decide it."""
        found = self.asked(text)
        return not (
            any(runs(text, shell) for shell in self.shells)
            or Reason.UNANALYSABLE in (found.before.reason, found.after.reason)
            or read_alike(text, self.shell).redirections
        )

    def settled(self, effects: Iterable[Effects]) -> set[Effects]:
        """Return the changes that need no further command once *effects* are shown."""
        return weakened(effects) | self.precluded

    def left(self, effects: Collection[Effects]) -> Iterator[str]:
        """Yield the reasons why commands may have other changes than *effects*."""
        return super().left(self.settled(effects)) if self.undecided else iter(())

    def in_words(self, found: Difference) -> Difference:
        """Return a difference by a command of readable words, if the same rules decide that."""
        text = next(iter(found.call.values()), None)
        if not isinstance(text, str) or not _PROBE.search(text):
            return found
        again = self.asked(_PROBE.sub(lambda word: _READ[word[1]], text))
        return again if signature(again) == signature(found) else found

    def _first(self, texts: Iterable[str], wanted: Effects) -> Difference | None:
        """Return the change *wanted* if one of *texts* shows it."""
        found = map(self.asked, texts)
        return next((each for each in found if each.effects == wanted), None)

    def _is_by_rules(self, found: Difference, wanted: Effects) -> bool:
        """Whether a rule for commands, by another text, gives an effect that differs from *wanted*.

        Rules for files do not count: they decide no command that opens no file.
        """
        rules = {entry.rule for view in self.views for entry in view.entries}
        return any(
            decision.effect is not effect
            and decision.reason is Reason.RULE
            and rules.issuperset(because.rule for because in decision.because)
            for decision, effect in zip((found.before, found.after), wanted, strict=True)
        )


# Auto-allowed commands, which a host runs where no rule applies to them.


def auto_allowed_differences(pair: CommandPair) -> Iterator[Difference]:
    """Yield differences of auto-allowed commands, for each set of shells that run them."""
    for count in range(len(pair.shells), 0, -1):
        for running in combinations(pair.shells, count):
            others = [shell for shell in pair.shells if shell not in running]
            if not any(knows_no_more(running[0].programs, each.programs) for each in others):
                yield from _AutoAllowedPair(pair, running, others).differences()


class _AutoAllowedPair(CommandPair):
    """Auto-allowed commands: for these, a rule that allows changes nothing.

    Only commands that a default decides on one of the sides are compared.
    """

    def __init__(
        self, pair: CommandPair, running: Sequence[Shell], others: Sequence[Shell]
    ) -> None:
        """Take from *pair* the commands that all *running* shells auto-allow and no *others* do."""
        self._running, self._others = tuple(running), tuple(others)
        super().__init__(pair.tool, *pair.lookups, pair.shape)
        self.alignments, self.why, self.undecided = pair.alignments, pair.why, pair.undecided
        self.known, self.shown_effects = pair.known, pair.shown_effects
        self.patterns, self.fresh = pair.patterns, pair.fresh
        self.extra, self.are_stars = pair.extra, pair.are_stars
        self._names = known_differently(self._running, self._others)
        self.by_default = True

    def adapted(self, sides: tuple[ListSide, ListSide]) -> tuple[ListSide, ListSide]:
        before, after = (
            evolve(
                side,
                views=tuple(
                    evolve(view, default=view.auto_allowed_effect)
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
        """Yield differences decided by one line, if it may match an auto-allowed command."""
        pattern = self.pattern(view, line)
        if pattern is not None and not self._may_run(pattern):
            return iter(())
        return super().by_line(view, line, seen)

    def _text(self, combination: Mapping[int, int]) -> str | None:
        """Return an auto-allowed command that the lines of *combination* decide, or None."""
        guides = self.guides(combination)
        if not all(map(self._may_run, guides)):
            return None
        exact = next((str(pattern) for pattern in guides if pattern.exact), None)
        texts = [exact] if exact is not None else self._likely(guides)
        found = next(self._decided_of(texts, combination), None)
        if found is None and exact is None:
            self.leave_undecided(OPAQUE, self.effects(combination))
        return found

    def _decided_of(self, texts: Iterable[str], combination: Mapping[int, int]) -> Iterator[str]:
        return (t for t in texts if self.holds(t) and self._decided(t, combination))

    def _may_run(self, pattern: Pattern) -> bool:
        return all(may_run(shell, pattern, self._names) for shell in self._running)

    def _likely(self, guides: Sequence[Pattern]) -> Iterator[str]:
        """Yield texts of each pattern, its gaps filled so that the command may be auto-allowed."""
        if not guides:
            yield from auto_allowed(self.shell)
        for pattern in guides:
            yield freeze(pattern, WORD)
            start = start_of(pattern)
            for text in auto_allowed(self.shell):
                if text.startswith(start):
                    yield from (freeze(pattern, text[len(start) :] + end) for end in ("", " --"))

    def other_texts(self, text: str, chosen: Mapping[int, int]) -> Iterator[str]:
        """Yield a command that opens no file, since the files of *text* may hide a change."""
        texts = self.filled(text, chosen)
        yield from islice((t for t in texts if not read_alike(t, self.shell).redirections), 1)

    def filled(self, text: str, chosen: Mapping[int, int]) -> Iterator[str]:
        """Yield auto-allowed commands that the same lines decide, then *text*."""
        guides = self.guides(chosen)
        yield from self._decided_of(self._likely(guides), chosen)
        yield text

    def is_by_lines_alone(self, text: str) -> bool:
        """Whether a command opens no file, or a list denies all files that are opened so."""
        tools = {file.tool for file in read_alike(text, self.shell).redirections}
        rows = [row for lookup in self.lookups for row, _ in lookup.rows]
        outcomes = (row.opening(tool).constant for tool in tools for row in rows)
        return not tools or any(one is not None and one.effect is Effect.DENY for one in outcomes)
