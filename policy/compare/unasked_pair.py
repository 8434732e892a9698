"""The commands that hosts run where no rule speaks of them, as two lookups decide them.

To these no rule is one that allows. Where hosts run others so, those that all of them run are one
comparison, those that only some do another, and these in the background one more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from policy.commands.knowledge import Shell
from policy.compare.command_pair import CommandPair
from policy.compare.opening import unasked
from policy.compare.pair import Difference
from policy.compare.prefixes import harmless
from policy.compare.sides import ListSide
from policy.compare.unasked import Unasked, runs_none
from policy.compare.view import View
from policy.compare.witness import Effects
from policy.core.effect import Effect
from policy.core.values import evolve
from policy.patterns.domains import Domain
from policy.patterns.pattern import Pattern, freeze
from policy.patterns.search import SearchResult

__all__ = ["is_closed", "unasked_differences"]


def unasked_differences(pair: CommandPair) -> Iterator[Difference]:
    """Yield differences of commands that run where no rule speaks of them."""
    for count in range(len(pair.shells), 0, -1):
        for running in combinations(pair.shells, count):
            yield from _UnaskedPair(pair, running).differences()
            if count < len(pair.shells):
                yield from _DeferredPair(pair, running).differences()


class _UnaskedPair(CommandPair):
    """The commands that run where no rule speaks of them: to these, no rule is one that allows.

    Only what a default decides on one of the sides is another comparison than that of
    all commands.
    """

    def __init__(self, pair: CommandPair, running: Sequence[Shell]) -> None:
        """Take from *pair* what *running* shells run, and no other."""
        self._running = tuple(running)
        super().__init__(pair.tool, *pair.lookups, pair.shape)
        self.aligned, self.why, self.doubts = pair.aligned, pair.why, pair.doubts
        self.known, self.told = pair.known, pair.told
        self.patterns, self.fresh = pair.patterns, pair.fresh
        self.extra, self.plain = pair.extra, pair.plain
        others = [shell for shell in pair.shells if shell not in running]
        (self.domain, *self.also), self.but = Unasked.only_of(running, others)
        self.by_default = True

    def seen_as(self, sides: tuple[ListSide, ListSide]) -> tuple[ListSide, ListSide]:
        before, after = (
            evolve(
                side,
                views=tuple(
                    evolve(view, default=self._default(view))
                    if any(view.shell.programs == one.programs for one in self._running)
                    else view
                    for view in side.views
                ),
            )
            for side in sides
        )
        return before, after

    def _default(self, view: View) -> Effect:
        """Return what a view says where no line does."""
        return view.unasked

    @property
    def shell(self) -> Shell:
        return self._running[0]

    def by_line(self, view: int, line: int, seen: set[Effects]) -> Iterator[Difference]:
        """Yield differences decided by one line, if anything that it matches runs unasked."""
        pattern = self.pattern(view, line)
        if pattern is not None and is_closed(pattern) and self._runs_none(pattern):
            return iter(())
        return super().by_line(view, line, seen)

    def _text(self, combination: Mapping[int, int]) -> str | None:
        """Return a command that runs unasked, and that the lines decide."""
        for line in combination.items():
            pattern = self.pattern(*line)
            if pattern is not None and not is_closed(pattern):
                # Where the arguments are open those of a known command will do, most often.
                for text in filter(self.holds, self._likely(pattern)):
                    if self._decided(text, combination):
                        return text
        return super()._text(combination)

    def _runs_none(self, pattern: Pattern) -> bool:
        return any(runs_none(shell, pattern) for shell in self._running)

    def _likely(self, pattern: Pattern) -> Iterator[str]:
        """Yield texts of *pattern* with what runs unasked in its gaps."""
        start = pattern.tokens[0]
        if not isinstance(start, str):
            for text in unasked(self.shell):
                yield freeze(pattern, text)
                yield freeze(pattern, f"{text} --")
            return
        for text in harmless(start.partition(" ")[0], self.shell):
            if text.startswith(start):
                rest = text.removeprefix(start)
                yield freeze(pattern, rest)
                yield freeze(pattern, f"{rest} --".lstrip())

    def _search(
        self,
        domain: Domain,
        guides: Sequence[Pattern],
        combination: Mapping[int, int],
        but: Sequence[Domain] = (),
    ) -> SearchResult:
        """Search as all commands are, but where no command of one guide runs unasked."""
        if not isinstance(domain, Unasked):
            return super()._search(domain, guides, combination, but)
        if any(map(self._runs_none, guides)):
            return SearchResult(None)
        return super()._search(domain, guides, combination, but)

    def otherwise(
        self, text: str, chosen: Mapping[int, int], wanted: Effects
    ) -> Iterator[Difference]:
        """Yield a difference of a command that opens no files, where those of *text* hide it."""
        guides = [p for view, line in chosen.items() if (p := self.pattern(view, line))]
        closed = self._search(Unasked.of(self.shell, closed=True), guides, chosen).text
        yield from self.shown(closed or text, guides, wanted)


class _DeferredPair(_UnaskedPair):
    """The same commands where nobody waits for them: no default allows what only some run."""

    def _default(self, view: View) -> Effect:
        return view.deferred

    def asked(self, text: str) -> Difference:
        """Return what the command gets of both, in the background."""
        return super().asked(f"{text} &")


def is_closed(pattern: Pattern) -> bool:
    """Whether a pattern leaves nothing open but what it ends with."""
    return all(isinstance(token, str) for token in pattern.tokens[:-1])
