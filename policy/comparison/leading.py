"""Commands that begin with the same words, and which of them two sides decide in some way.

Rules know a command by other texts than the one that is written, and by which is told by the
words that it begins with: whatever follows `A=1 rm `, one that denies knows it as `rm ` and
that, and none that allows is asked about `nice git `. So each line says something of what
follows the first words, and a search finds what all lines together decide as it is wanted, or
shows that there is none (`policy.patterns.search`). Where the program is not among the words,
other texts may be known too, and what is found is only what may be so.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import product
from typing import Final

import attrs

from policy.comparison.effects import Effects
from policy.comparison.overlap import ODD
from policy.comparison.prefixes import start_of
from policy.comparison.reads import read_alike
from policy.comparison.sides import Sides
from policy.comparison.view import View
from policy.dialect import Shell
from policy.effect import Effect
from policy.patterns.automaton import NO_MATCH, State
from policy.patterns.domains import DEAD, Domain
from policy.patterns.letters import tokens_of
from policy.patterns.pattern import Pattern
from policy.patterns.search import Found, search

__all__ = ["search_behind"]

# Product states that one search may visit: what the first words tell has few.
_STATES: Final = 2_000

# A word of which nothing is known.
_PROBE: Final = "q7y"

# Words with nothing that a shell acts on, or puts names of files for, one blank between each two.
_ACTED_ON: Final = dict.fromkeys((*ODD, *"*?["), DEAD)
_WORDS: Final = Domain(
    {
        "word?": {**_ACTED_ON, " ": DEAD, "": "word"},
        "word": {**_ACTED_ON, " ": "word?", "": "word"},
    },
    frozenset({"word"}),
)


def search_behind(
    lists: Sides, guides: Sequence[Pattern], wanted: Effects, shell: Shell, unsure: Effect
) -> Found | None:
    """Return a command of all *guides* that two sides may decide as *wanted*.

    Args:
        lists: both sides.
        guides: what the command is of.
        wanted: what it gets.
        shell: how commands are read: no more is known of wrappers than their names.
        unsure: what a call gets that no rule can allow.

    Returns:
        None where nothing is told by what the guides begin with.

    """
    start = max(map(start_of, guides), key=len, default="")
    spelled = {letter for token in tokens_of(guides) if isinstance(token, str) for letter in token}
    if not spelled.isdisjoint(_ACTED_ON):
        return None
    leading = _told_by(start[: start.rfind(" ") + 1], shell) if " " in start else None
    if leading is None:
        return None
    machine = _Machine(leading, lists, wanted, unsure)
    if not machine.may_show():
        return Found(None)
    return search(
        [machine, _WORDS, *(pattern.automaton for pattern in guides)],
        (),
        lambda _: True,
        fresh=lists.fresh,
        extra=lists.extra,
        budget=_STATES,
    )


@attrs.frozen
class _Leading:
    """What is told by the words that a command begins with.

    Attributes:
        words: the words, with a blank behind each.
        known: where each text begins by which rules that deny or ask know the command.
        granted: where that begins by which rules that allow do; None where that is not told.
        grantable: whether a rule may allow it.
        complete: whether there are no other texts.

    """

    words: str
    known: tuple[int, ...]
    granted: int | None
    grantable: bool
    complete: bool


@lru_cache(maxsize=4096)
def _told_by(words: str, shell: Shell) -> _Leading | None:
    """Return what *words* tell; None where they are not read as they stand."""
    whole = words + _PROBE
    command = read_alike(whole, shell)
    if len(command.parts) != 1 or command.redirections or command.unread or command.whole:
        return None
    (part,) = command.parts
    texts = (part.text, *part.readings)
    odd = part.written or part.doubtful or part.harmless or part.inexact
    if odd or not all(map(whole.endswith, texts)):
        return None
    at = [len(whole) - len(text) for text in texts]
    # Behind a last word that leads others may stand one more, or what that is told.
    complete = len(words) not in at
    program = words[at[0] :].partition(" ")[0].removeprefix("\\")
    is_told = complete or (program and program not in shell.transparent)
    known = tuple(dict.fromkeys(at))
    return _Leading(words, known, at[0] if is_told else None, part.grantable, complete)


class _Machine(Domain):
    """The commands behind some words that two sides may decide as it is wanted."""

    def __init__(self, leading: _Leading, lists: Sides, wanted: Effects, unsure: Effect) -> None:
        self.separator, self.narrow, self.closed = "", False, False
        self.leading = leading
        self._lists = lists
        self._wanted = wanted
        self._unsure = unsure
        self._known: dict[object, _Behind] = {}
        self.dead = _Behind(self, None, (), -1)
        self.start: State = self.entering(0, ())

    def at(self, place: int, states: tuple[State, ...]) -> _Behind:
        """Return where a text stands that has come to *place*, and what it has led to so far.

        Of each text that rules know, in order, the state of each list.
        """
        key = place, tuple([state.key for state in states])
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _Behind(self, place, states, len(self._known))
        return found

    def entering(self, place: int, states: tuple[State, ...]) -> _Behind:
        """Return the same where the text has just come to *place*, at which another may begin."""
        begins = place in self.leading.known
        starts = [view.automaton.start for view in self._lists.views] if begins else []
        return self.at(place, (*states, *starts))

    def may_show(self) -> bool:
        """Return whether anything behind the words may be decided as wanted."""
        allowed = self._allowed()
        said = [{Effect.DENY, Effect.ASK, allowed} for _ in self._lists.views]
        return self._has(said)

    def shows(self, states: Sequence[State]) -> bool:
        """Return whether a command is decided as wanted whose texts led to *states*."""
        views = self._lists.views
        texts = [states[at : at + len(views)] for at in range(0, len(states), len(views))]
        order = sorted(self.leading.known)
        granted = order.index(self.leading.granted) if self.leading.granted is not None else None
        return self._has(
            [
                self._said(
                    view,
                    [text[number].first for text in texts],
                    None if granted is None else texts[granted][number].first,
                )
                for number, view in enumerate(views)
            ]
        )

    def _said(self, view: View, firsts: Sequence[int], granted: int | None) -> set[Effect]:
        """Return what a list may say that has these lines for the texts of a command."""
        known = [view.effect(number) for number in firsts if number != NO_MATCH]
        strict = [effect for effect in known if effect < Effect.ALLOW]
        said: set[Effect]
        if strict:
            said = {min(strict)}
        elif granted is None:
            said = {view.default, *(entry.effect for entry in view.entries)}
        else:
            said = {view.effect(granted)}
        if not self.leading.complete:
            most = max(said) if strict else Effect.ALLOW
            strictest = {e.effect for e in view.entries} - {Effect.ALLOW}
            said |= {effect for effect in strictest if effect <= most}
        return {self._allowed() if effect is Effect.ALLOW else effect for effect in said}

    def _allowed(self) -> Effect:
        return Effect.ALLOW if self.leading.grantable else self._unsure

    def _has(self, said: Sequence[Collection[Effect]]) -> bool:
        """Return whether both sides may say what is wanted, where each list says one of these."""
        lists = self._lists
        return all(
            wanted in _least([said[number] for number in side], floor)
            for wanted, side, floor in zip(self._wanted, lists.sides, lists.floors, strict=True)
        )


def _least(said: Sequence[Collection[Effect]], floor: Effect) -> set[Effect]:
    """Return what may come of several lists, the strictest of which counts."""
    return {min(floor, *chosen) if chosen else floor for chosen in product(*map(set, said))}


class _Behind(State):
    """Where a text stands among the first words, or behind them."""

    __slots__ = ("_machine", "_place", "_states")

    def __init__(
        self, machine: _Machine, place: int | None, states: tuple[State, ...], number: int
    ) -> None:
        super().__init__(None, (), number)
        self._machine = machine
        self._place = place
        self._states = states
        self.alive = place is not None
        behind = place == len(machine.leading.words)
        self.first = 0 if behind and machine.shows(states) else NO_MATCH

    def after(self, character: str) -> State:
        """Return where it stands behind one more letter."""
        words, place = self._machine.leading.words, self._place
        if place is None or (place < len(words) and words[place] != character):
            return self._machine.dead
        states = tuple([state.after(character) for state in self._states])
        if place == len(words):
            return self._machine.at(place, states)
        return self._machine.entering(place + 1, states)

    def letters(self, named: Collection[str] = ()) -> set[str]:
        """Return the characters by which what follows is told apart."""
        words, place = self._machine.leading.words, self._place
        if place is not None and place < len(words):
            return {words[place]}
        return set[str]().union(*(state.letters(named) for state in self._states))
