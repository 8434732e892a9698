"""What the lines of some lists say of one text of a command, as it is searched letter by letter.

Texts of which lines say the same whatever follows are one and the same, so that what is asked
of one is remembered for all commands that are known by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from policy.compare.sides import Sides
from policy.compare.view import View
from policy.compare.witness import CHANGES, Effects
from policy.core.effect import Effect
from policy.core.values import frozen
from policy.patterns.automaton import NO_MATCH, Automaton, AutomatonState

__all__ = ["BY_RANK", "ListedText", "Texts"]

# Effects by what they grant: numbers are compared in a fraction of the time.
BY_RANK: Final = sorted(Effect)
_RANK: Final = {effect: rank for rank, effect in enumerate(BY_RANK)}


@frozen(eq=False)
class _List:
    """One of the lists.

    Attributes:
        view: the list.
        otherwise: what it says of a text that no line matches.
        edits: the lines one of which decides any difference.

    """

    view: View
    otherwise: Effect
    edits: frozenset[int]

    def effect(self, line: int) -> Effect:
        return self.otherwise if line == NO_MATCH else self.view.effect(line)


class Texts:
    """All texts, by what the lists of two sides say of them.

    Args:
        sides: both.
        strict: whether only lines count that deny or ask, and those before them.

    Attributes:
        lists: the lists.
        start: the text without a letter.

    """

    def __init__(self, sides: Sides, *, strict: bool) -> None:
        self._sides, self._strict = sides, strict
        self.lists: list[_List] = []
        states: list[AutomatonState] = []
        for number, view in enumerate(sides.views):
            end = view.last_strict + 1 if strict else NO_MATCH + 1
            edits = frozenset(line for each, line in sides.edits if each == number and line < end)
            self.lists.append(_List(view, Effect.ALLOW if strict else view.default, edits))
            # Without what tells commands apart that are taken apart before any rule is asked.
            states.append(Automaton([each.tokens for each in view.patterns[:end]]).start)
        self._made: dict[object, ListedText] = {}
        self.start = self.of(states)

    def of(self, states: Sequence[AutomatonState]) -> ListedText:
        """Return the text of which lists have these *states*."""
        key = tuple([state.key for state in states])
        found = self._made.get(key)
        return found or self._made.setdefault(key, ListedText(self, states))

    def changes(self, most: Sequence[Effect]) -> frozenset[Effects]:
        """Return the changes of what each list says at most so.

        Where no line allows one may ask of another text.
        """
        if not self._strict:
            most = [max(each, Effect.ASK) for each in most]
        was, now = self._sides.granted(most)
        return frozenset(each for each in CHANGES if each[0] <= was and each[1] <= now)


class ListedText:
    """One of them.

    Args:
        texts: all.
        states: where the lines of each list stand.

    """

    def __init__(self, texts: Texts, states: Sequence[AutomatonState]) -> None:
        self._texts = texts
        self._states = states
        self._after: dict[str, ListedText] = {}

    def after(self, letters: str) -> ListedText:
        """Return the text behind some more letters."""
        found = self._after.get(letters)
        if found is None:
            states = self._states
            for letter in letters:
                states = [state.after(letter) for state in states]
            found = self._after[letters] = self._texts.of(states)
        return found

    @cached_property
    def letters(self) -> frozenset[str]:
        """The characters that some line names as the next one."""
        return frozenset[str]().union(*(state.letters() for state in self._states))

    @cached_property
    def said(self) -> tuple[int, ...]:
        """What each list says of it, by rank."""
        lists = zip(self._texts.lists, self._states, strict=True)
        return tuple(_RANK[each.effect(state.first)] for each, state in lists)

    @cached_property
    def matched(self) -> tuple[bool, ...]:
        """Whether a line of each list says so."""
        return tuple(state.first != NO_MATCH for state in self._states)

    @cached_property
    def changes(self) -> frozenset[Effects]:
        """The changes of commands that are known by what begins with it."""
        lists = zip(self._texts.lists, self._states, strict=True)
        return self._texts.changes([max(map(each.effect, s.possible)) for each, s in lists])

    @cached_property
    def tells(self) -> bool:
        """Whether any list may say but that it allows what begins with it."""
        lists = zip(self._texts.lists, self._states, strict=True)
        return any(each.effect(n) is not Effect.ALLOW for each, s in lists for n in s.possible)

    @cached_property
    def differs(self) -> bool:
        """Whether a line that tells two sides apart may decide what begins with it."""
        lists = zip(self._texts.lists, self._states, strict=True)
        return any(not each.edits.isdisjoint(state.possible) for each, state in lists)
