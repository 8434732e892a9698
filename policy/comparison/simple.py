"""Simple commands of plain words, by all texts by which rules know them: those decided in some way.

Lines are run along each text of a command (`policy.comparison.words`). It begins with words that
lead others, of which those are tried that lines tell apart, and some for all the others; what
follows is searched letter by letter (as in `policy.patterns.search`). So a command is found that
two sides decide as it is wanted, or there is none.

Left out are words with a quote or an expansion, those that stand for names of files, and what one
rule takes for a program and another one for the value of an option before it (`Place.is_either`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Final

import attrs

from policy.comparison.effects import CHANGES, Effects
from policy.comparison.sides import Sides
from policy.comparison.texts import BY_RANK, Text, Texts
from policy.comparison.words import ACTED_ON, Names, Place
from policy.dialect import Shell
from policy.effect import Effect
from policy.patterns.search import Found

__all__ = ["Simple"]

_MOST: Final = len(BY_RANK) - 1
_ASKED: Final = frozenset(each for each in CHANGES if Effect.ALLOW not in each)


@attrs.frozen(cache_hash=True)
class _At:
    """Where a command stands.

    Attributes:
        place: what is known of its words.
        granted: the text for rules that allow.
        known: those for rules that deny or ask.
        named: that of the word at hand without the folder before it, with what follows.

    """

    place: Place
    granted: Text
    known: frozenset[Text]
    named: Text | None = None

    @property
    def strict(self) -> Iterator[Text]:
        """All texts for rules that deny or ask."""
        return chain(self.known, () if self.named is None else (self.named,))


class Simple:
    """The simple commands that two sides decide in one of some ways.

    Args:
        lists: both sides.
        shell: how commands are read.
        unsure: what a call gets that no rule can allow.
        budget: places that all searches may look at.

    """

    def __init__(self, lists: Sides, shell: Shell, unsure: Effect, budget: int) -> None:
        self._lists = lists
        self._unsure = unsure
        self._left = budget
        self._granted = Texts(lists, strict=False).start
        self._known = Texts(lists, strict=True).start
        self._names = Names.of(shell)
        self._words = tuple(self._names.leading(lists.patterns, lists.fresh))
        self._by_place: dict[Place, list[tuple[str, Place]]] = {}

    def search(self, wanted: Collection[Effects]) -> Found:
        """Return a command that both sides decide in one of some ways, of few leading words.

        Args:
            wanted: what it gets of both.

        """
        first = _At(Place(), self._granted, _telling([self._known]))
        seen = {first}
        queue = deque([("", first)])
        exact = self._lead(queue, seen, wanted)
        while queue:
            text, at = queue.popleft()
            if at.place.begun and self._effects(at) in wanted:
                return Found(text)
            for letter in sorted(self._letters(at)):
                following = self._after(at, letter)
                if following is None or (letter == " " and following.place.leads):
                    continue
                if following not in seen and self._hopes(following, wanted):
                    if not self._visit():
                        return Found(None, exact=False)
                    seen.add(following)
                    queue.append((text + letter, following))
        return Found(None, exact=exact)

    def _lead(
        self, queue: deque[tuple[str, _At]], seen: set[_At], wanted: Collection[Effects]
    ) -> bool:
        """Find where a command may stand behind words that lead others; return whether all."""
        places = deque(queue)
        while places:
            text, at = places.popleft()
            for word, place in self._leading(at.place):
                if not self._visit():
                    return False
                following = self._led(at, word, place)
                if following in seen or not self._hopes(following, wanted):
                    continue
                seen.add(following)
                for each in (queue, places):
                    each.append((f"{text}{word} ", following))
        return True

    def _visit(self) -> bool:
        self._left -= 1
        return self._left >= 0

    def _leading(self, place: Place) -> list[tuple[str, Place]]:
        """Return the words that lead what follows behind *place*, and where that is."""
        found = self._by_place.get(place)
        if found is None:
            names = self._names
            words = (w for w in self._words if not _behind(place, w, names).is_either(names))
            behind = ((word, _behind(place, f"{word} ", names)) for word in words)
            found = self._by_place[place] = [each for each in behind if each[1].leads]
        return found

    def _led(self, at: _At, word: str, place: Place) -> _At:
        """Return where a command stands behind a word that leads what follows there."""
        reset = at.place.granted == "time" and not word.startswith("-")
        granted = (self._granted if reset else at.granted).after(f"{word} ")
        if place.granted == "skip":
            granted = self._granted
        known = [self._known, *(each.after(f"{word} ") for each in at.known)]
        if "/" in word:
            known.append(self._known.after(word.rpartition("/")[2] + " "))
        return _At(place, granted, _telling(known))

    def _effects(self, at: _At) -> Effects:
        """Return what both sides say of a command that ends there."""
        refused = at.place.is_refused(self._names)
        said = [text.said for text in at.strict]
        effects = []
        for number, (rank, matched) in enumerate(
            zip(at.granted.said, at.granted.matched, strict=True)
        ):
            strictest = min([each[number] for each in said], default=_MOST)
            if matched or strictest == _MOST:
                strictest = min(strictest, rank)
            effects.append(self._unsure if refused and strictest == _MOST else BY_RANK[strictest])
        return self._lists.granted(effects)

    def _hopes(self, at: _At, wanted: Collection[Effects]) -> bool:
        """Return whether both sides may decide what goes on from there as it is *wanted*."""
        place = at.place
        texts = [*at.strict] if place.granted else [*at.strict, at.granted]
        left = _ASKED.intersection(wanted) if place.refused else frozenset(wanted)
        for text in texts:
            left &= text.changes
        further = [at.granted, self._granted] if place.granted else []
        if further:
            left &= at.granted.changes | self._granted.changes
        if place.leads:
            further.append(self._known)
        return bool(left) and any(text.differs for text in chain(texts, further))

    def _letters(self, at: _At) -> set[str]:
        lists = self._lists
        named = set[str]().union(at.granted.letters, *(text.letters for text in at.strict))
        return (named | {lists.fresh, " ", "/"} | lists.extra) - ACTED_ON

    def _after(self, at: _At, letter: str) -> _At | None:
        """Return where a command stands behind one more letter, if it may."""
        return self._parted(at) if letter == " " else self._lettered(at, letter)

    def _lettered(self, at: _At, letter: str) -> _At:
        place = _behind(at.place, letter, self._names)
        reset = at.place.granted == "time" and place.granted == "skip"
        granted = (self._granted if reset else at.granted).after(letter)
        named = None if at.named is None else at.named.after(letter)
        if letter == "/" and at.place.leads:
            named = self._known
        return _At(place, granted, _telling(each.after(letter) for each in at.known), named)

    def _parted(self, at: _At) -> _At | None:
        if not at.place.begun or at.place.is_either(self._names):
            return None
        place = _behind(at.place, " ", self._names)
        known = [each.after(" ") for each in at.strict]
        if place.leads:
            known.append(self._known)
        granted = self._granted if place.granted == "skip" else at.granted.after(" ")
        return _At(place, granted, _telling(known))


def _telling(texts: Iterable[Text]) -> frozenset[Text]:
    """Return the texts of which lines may still say something."""
    return frozenset([text for text in texts if text.tells])


@lru_cache(maxsize=65_536)  # of a host they are always the same
def _behind(place: Place, letters: str, names: Names) -> Place:
    """Return the place behind some more letters."""
    for letter in letters:
        place = place.ended(names) if letter == " " else place.with_letter(letter, names)
    return place
