"""Simple commands of plain words, by all texts by which rules know them: those decided in some way.

Lines are run along each text of a command (`policy.comparison.words`). It begins with words that
lead others, of which those are tried that lines tell apart, and some for all the others; what
follows is searched letter by letter (as in `policy.patterns.search`). So a command is found that
two sides decide as it is wanted, or there is none.

Left out are words with a quote or an expansion, and those that stand for names of files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate

import attrs

from policy.comparison.effects import Effects
from policy.comparison.sides import Sides
from policy.comparison.words import ACTED_ON, Names, Place
from policy.dialect import Shell
from policy.effect import Effect
from policy.patterns.automaton import NO_MATCH, Automaton, State
from policy.patterns.pattern import Pattern
from policy.patterns.search import Found

__all__ = ["Simple"]

# Of one text: the state of each list.
_States = tuple[State, ...]


@attrs.frozen(eq=False)
class _At:
    """Where a command stands.

    Attributes:
        place: what is known of its words.
        granted: the states of the text for rules that allow.
        known: those of each text for rules that deny or ask.
        named: those of the word at hand without the folder before it, with what follows.
        guides: the states of patterns that the command as a whole is of.

    """

    place: Place
    granted: _States
    known: tuple[_States, ...]
    named: _States | None
    guides: _States

    @property
    def key(self) -> object:
        """What two of them have in common that say the same of all that follows."""
        known = frozenset(map(_key, self.known))
        named = self.named and _key(self.named)
        return self.place, _key(self.granted), known, named, _key(self.guides)

    @property
    def texts(self) -> tuple[_States, ...]:
        """The states of all texts, that for rules that allow first."""
        return (self.granted, *self.known, *([self.named] if self.named else []))


def _key(states: _States) -> tuple[object, ...]:
    return tuple([state.key for state in states])


class Simple:
    """The simple commands that two sides decide in one of some ways.

    Args:
        lists: both sides.
        shell: how commands are read.
        unsure: what a call gets that no rule can allow.
        budget: places that all searches may visit.

    Attributes:
        left: how many of these are left.
        automata: the lines of each list.
        strict: those down to the last that denies or asks.

    """

    def __init__(self, lists: Sides, shell: Shell, unsure: Effect, budget: int) -> None:
        self._lists = lists
        self._unsure = unsure
        self.left = budget
        # Without what tells commands apart that are taken apart before any rule is asked.
        self.automata = tuple(_automaton(view.patterns) for view in lists.views)
        self.strict = tuple(
            _automaton(view.patterns[: view.last_strict + 1]) for view in lists.views
        )
        self._most = [
            list(accumulate((entry.effect for entry in view.entries), max)) for view in lists.views
        ]
        self._names = Names.of(shell, lists.patterns)
        self._words = tuple(self._names.leading(lists.patterns, lists.fresh))

    def search(self, wanted: Collection[Effects], guides: Sequence[Pattern] = ()) -> Found:
        """Return a command that both sides decide in one of some ways.

        Args:
            wanted: what it gets of both.
            guides: patterns that the command as a whole is of.

        """
        return _Search(self, wanted, guides).run()

    @property
    def lists(self) -> Sides:
        """Both sides."""
        return self._lists

    @property
    def names(self) -> Names:
        """The programs that lead others."""
        return self._names

    @property
    def words(self) -> tuple[str, ...]:
        """The words that may lead others."""
        return self._words

    def effects(self, at: _At) -> Effects:
        """Return what both sides say of a command that ends there."""
        refused = at.place.is_refused(self._names)
        said = [
            self._said(number, [each[number].first for each in at.texts], refused=refused)
            for number in range(len(self._lists.views))
        ]
        return self._lists.granted(said)

    def most(self, at: _At) -> Effects:
        """Return the most that both sides say of any command that goes on from there."""
        bounds = []
        for number, most in enumerate(self._most):
            bound = self._unsure if at.place.refused else Effect.ALLOW
            for each in at.texts:
                forever = each[number].forever
                if forever != NO_MATCH and most[forever] < Effect.ALLOW:
                    bound = min(bound, most[forever])
            bounds.append(bound)
        return self._lists.granted(bounds)

    def _said(self, number: int, firsts: Sequence[int], *, refused: bool) -> Effect:
        """Return what a list says that has these lines, the first of which is for all rules."""
        view = self._lists.views[number]
        known = (view.effect(first) for first in firsts if first != NO_MATCH)
        strictest = min(known, default=Effect.ALLOW)
        if strictest is not Effect.ALLOW:
            return strictest
        granted = view.effect(firsts[0])
        return self._unsure if granted is Effect.ALLOW and refused else granted


class _Search:
    """One search: see `Simple.search`."""

    def __init__(
        self, simple: Simple, wanted: Collection[Effects], guides: Sequence[Pattern]
    ) -> None:
        self._simple = simple
        self._wanted = wanted
        self._granted: _States = tuple(each.start for each in simple.automata)
        self._known: _States = tuple(each.start for each in simple.strict)
        whole = tuple(guide.automaton.start for guide in guides)
        first = _At(Place(), self._granted, _telling([self._known]), None, whole)
        self._seen: dict[object, None] = {first.key: None}
        self._queue: deque[tuple[str, _At]] = deque([("", first)])

    def run(self) -> Found:
        """Return the first command that is found: of few leading words, and short."""
        exact = self._lead()
        while self._queue:
            text, at = self._queue.popleft()
            if at.place.begun and self._shows(at):
                return Found(text)
            for letter in sorted(self._letters(at)):
                following = self._after(at, letter)
                if following is None or (letter == " " and following.place.leads):
                    continue
                if not self._keep(text + letter, following):
                    return Found(None, exact=False)
        return Found(None, exact=exact)

    def _lead(self) -> bool:
        """Find where a command may stand behind words that lead others; return whether all."""
        places = deque(self._queue)
        while places:
            text, at = places.popleft()
            for word in self._simple.words:
                following = self._behind(at, f"{word} ")
                if following is None or not following.place.leads:
                    continue
                count = len(self._queue)
                if not self._keep(f"{text}{word} ", following):
                    return False
                if len(self._queue) > count:
                    places.append(self._queue[-1])
        return True

    def _behind(self, at: _At, text: str) -> _At | None:
        behind: _At | None = at
        for letter in text:
            if behind is None:
                return None
            behind = self._after(behind, letter)
        return behind

    def _keep(self, text: str, at: _At) -> bool:
        """Look at what follows, if that is new; return False where the budget is spent."""
        key = at.key
        if key not in self._seen and self._hopes(at):
            self._simple.left -= 1
            if self._simple.left < 0:
                return False
            self._seen[key] = None
            self._queue.append((text, at))
        return True

    def _hopes(self, at: _At) -> bool:
        most = self._simple.most(at)
        return any(was <= most[0] and now <= most[1] for was, now in self._wanted)

    def _letters(self, at: _At) -> set[str]:
        lists = self._simple.lists
        states = (state for each in (*at.texts, at.guides) for state in each)
        named = set[str]().union(*(state.letters() for state in states))
        return (named | {lists.fresh, " ", "/"} | lists.extra) - ACTED_ON

    def _shows(self, at: _At) -> bool:
        if any(state.first == NO_MATCH for state in at.guides):
            return False
        return self._simple.effects(at) in self._wanted

    def _after(self, at: _At, letter: str) -> _At | None:
        """Return where a command stands behind one more letter, if there is hope."""
        guides = _after(at.guides, letter)
        if not all(state.alive for state in guides):
            return None
        return self._parted(at, guides) if letter == " " else self._lettered(at, letter, guides)

    def _lettered(self, at: _At, letter: str, guides: _States) -> _At:
        place = at.place.with_letter(letter, self._simple.names)
        granted = _after(at.granted, letter)
        if at.place.granted == "time" and place.granted == "skip":
            granted = _after(self._granted, letter)
        named = at.named and _after(at.named, letter)
        if letter == "/" and at.place.leads:
            named = self._known
        return _At(
            place, granted, _telling(_after(each, letter) for each in at.known), named, guides
        )

    def _parted(self, at: _At, guides: _States) -> _At | None:
        if not at.place.begun:
            return None
        place = at.place.ended(self._simple.names)
        known = [_after(each, " ") for each in at.known]
        if at.named is not None:
            known.append(_after(at.named, " "))
        if place.leads:
            known.append(self._known)
        granted = self._granted if place.granted == "skip" else _after(at.granted, " ")
        return _At(place, granted, _telling(known), None, guides)


def _automaton(patterns: Sequence[Pattern]) -> Automaton:
    return Automaton([pattern.tokens for pattern in patterns])


def _after(states: _States, letter: str) -> _States:
    return tuple([state.after(letter) for state in states])


def _telling(texts: Iterable[_States]) -> tuple[_States, ...]:
    """Return the texts of which lines may still say something, each once."""
    return tuple({_key(each): each for each in texts if any(map(_tells, each))}.values())


def _tells(state: State) -> bool:
    return state.alive or state.first != NO_MATCH
