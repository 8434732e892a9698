"""Simple commands of plain words, by all texts by which rules know them: those decided in some way.

Lines are run along each text of a command. It begins with words that lead others
(`policy.compare.words`), and what follows is searched letter by letter (as in
`policy.patterns.search`). So a command is found that two sides decide as it is wanted, or there
is none.

Left out are words with a quote or an expansion, and those that stand for names of files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from policy.commands.knowledge import Shell
from policy.commands.wrappers import WordPlace
from policy.compare.sides import Sides
from policy.compare.texts import BY_RANK, ListedText, Texts
from policy.compare.witness import CHANGES, Effects, stronger
from policy.compare.words import ACTED_ON, Names, Spelling, Step
from policy.core.effect import Effect
from policy.core.values import evolve, frozen
from policy.patterns.search import SearchResult

__all__ = ["SimpleSearch"]

_MOST: Final = len(BY_RANK) - 1
_ASKED: Final = frozenset(each for each in CHANGES if Effect.ALLOW not in each)


@frozen(cache_hash=True)
class _At:
    """Where a command stands.

    Attributes:
        granted: the text for rules that allow.
        known: those for rules that deny or ask.
        feared: those for these by which it may be known, where nobody knows.
        refused: whether no rule may allow it.
        parted: whether a word must come.
        program: how much is spelled of its program, where that is the word at hand.
        named: the text of that without the folder before it.
        sure: whether it is known by that.

    """

    granted: ListedText
    known: frozenset[ListedText]
    feared: frozenset[ListedText] = frozenset()
    refused: bool = False
    parted: bool = False
    program: Spelling | None = None
    named: ListedText | None = None
    sure: bool = True

    @property
    def strict(self) -> Iterator[ListedText]:
        """All texts for rules that deny or ask."""
        return chain(*self.texts)

    @property
    def texts(self) -> tuple[frozenset[ListedText], frozenset[ListedText]]:
        """Those by which it is known, and by which it may be."""
        if self.named is None:
            return self.known, self.feared
        if self.sure:
            return self.known | {self.named}, self.feared
        return self.known, self.feared | {self.named}


class _Seen:
    """Where commands stood.

    What is feared only takes from what both sides grant: where neither tells more of it than that,
    a change of a command that more is feared of is what is left of one of a command like it.

    Args:
        wanted: changes; where one is missing of which a wanted one is left, none stands for others.

    """

    def __init__(self, wanted: Collection[Effects]) -> None:
        self._merges = stronger(wanted) <= {*wanted}
        self._least: dict[object, list[frozenset[ListedText]]] = {}

    def is_new(self, at: _At, place: WordPlace | None = None) -> bool:
        """Note where one stands; return whether none did so of which no more was feared."""
        alike = frozenset([text for text in at.feared if self._merges and not text.differs])
        known = at.known, at.feared - alike, at.named, at.sure
        word = at.refused, at.parted, at.program
        least = self._least.setdefault((place, at.granted, *known, *word), [])
        if any(each <= alike for each in least):
            return False
        least.append(alike)
        return True


class SimpleSearch:
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
        # Where it stands is told by few values, each of which is made once.
        self._made: dict[_At, _At] = {}
        self._steps: dict[object, tuple[_At, _At]] = {}

    def search(self, wanted: Collection[Effects]) -> SearchResult:
        """Return a command that both sides decide in one of some ways, of few leading words.

        Args:
            wanted: what it gets of both.

        """
        first = self._one(_At(self._granted, _telling([self._known]), parted=True))
        places: deque[tuple[str, WordPlace, _At]] = deque([("", WordPlace(), first)])
        seen, tried, ends = _Seen(wanted), set[object](), set[_At]()
        programs: dict[_At, str] = {}
        while places:
            text, place, at = places.popleft()
            program = self._begun(place, at)
            if program is not None:
                programs.setdefault(program, text)
            for step in self._names.steps(place, self._words):
                end, behind = self._behind(at, step)
                if end not in ends:
                    ends.add(end)
                    if self._effects(end) in wanted:
                        return SearchResult(text + step.word)
                following = step.place, behind
                if following in tried:
                    continue
                tried.add(following)
                if not (self._leads_on(*following, wanted) and seen.is_new(behind, step.place)):
                    continue
                self._left -= 1
                if self._left < 0:
                    return SearchResult(None, exact=False)
                places.append((f"{text}{step.word} ", *following))
        return self._spelled(programs, wanted)

    def _spelled(self, programs: Mapping[_At, str], wanted: Collection[Effects]) -> SearchResult:
        """Return a command whose program begins in one of some places, behind what is there."""
        seen, tried = _Seen(wanted), set(programs)
        queue = deque((text, at) for at, text in programs.items() if seen.is_new(at))
        while queue:
            text, at = queue.popleft()
            if self._may_end(at) and self._effects(at) in wanted:
                return SearchResult(text)
            for letter in sorted(self._letters(at)):
                following = self._after(at, letter)
                if following is None or following in tried:
                    continue
                tried.add(following)
                if not self._hopes(following, wanted, [following.granted]):
                    continue
                if not seen.is_new(following):
                    continue
                self._left -= 1
                if self._left < 0:
                    return SearchResult(None, exact=False)
                queue.append((text + letter, following))
        return SearchResult(None)

    def _one(self, at: _At) -> _At:
        return self._made.setdefault(at, at)

    def _behind(self, at: _At, step: Step) -> tuple[_At, _At]:
        """Return where a command stands with one more word that leads, and with a blank more."""
        key = at, step.word, step.begins, step.sure, step.grants
        found = self._steps.get(key)
        if found is None:
            granted, refused = at.granted, at.refused
            known, feared = ([text.after(step.word) for text in each] for each in at.texts)
            (known if step.sure else feared).extend(map(self._known.after, step.begins))
            if step.grants:
                granted, refused = self._granted, step.refused
            granted = granted.after(step.word)
            end = self._one(_At(granted, _telling(known), _telling(feared), refused))
            found = self._steps[key] = end, self._one(self._parted(end))
        return found

    def _begun(self, place: WordPlace, at: _At) -> _At | None:
        """Return where a program begins behind words that lead others, if one may."""
        spelling, grants = self._names.beginning(place)
        if spelling is None:
            return None
        granted, refused = (self._granted, False) if grants else (at.granted, at.refused)
        found = _At(granted, at.known, at.feared, refused, parted=True, program=spelling)
        if place.sure:
            return self._one(evolve(found, known=at.known | {self._known}))
        return self._one(evolve(found, feared=at.feared | {self._known}, sure=False))

    def _after(self, at: _At, letter: str) -> _At | None:
        """Return where a command stands behind one more letter of its program, or of the rest."""
        program, named = at.program, at.named
        if letter == " ":
            leads = program is not None and program.leads(self._names)
            return None if at.parted or leads else self._parted(at)
        if program is not None:
            program = program.after(letter, self._names)
            if program is None:
                return None
            named = self._known if letter == "/" else named and named.after(letter)
        return evolve(
            at,
            granted=at.granted.after(letter),
            known=_telling(each.after(letter) for each in at.known),
            feared=_telling(each.after(letter) for each in at.feared),
            parted=False,
            program=program,
            named=named,
        )

    def _parted(self, at: _At) -> _At:
        """Return where a command stands with a blank behind a word."""
        known, feared = (_telling(text.after(" ") for text in each) for each in at.texts)
        return _At(at.granted.after(" "), known, feared, at.refused, parted=True)

    def _may_end(self, at: _At) -> bool:
        """Return whether a command may end there; words of shells are tried as those that lead."""
        return not (at.parted or (at.program is not None and at.program.is_keyword()))

    def _effects(self, at: _At) -> Effects:
        """Return what both sides say of a command that ends there."""
        known, feared = ([text.said for text in each] for each in at.texts)
        effects = []
        for number, (rank, matched) in enumerate(
            zip(at.granted.said, at.granted.matched, strict=True)
        ):
            strictest = min([each[number] for each in known], default=_MOST)
            if matched or strictest == _MOST:
                strictest = min(strictest, rank)
            is_unsure = at.refused and strictest == _MOST
            said = self._unsure if is_unsure else BY_RANK[strictest]
            # What is asked for there and granted by nothing else is not asked for.
            effects.append(min([said, *(BY_RANK[each[number]] for each in feared)]))
        return self._lists.granted(effects)

    def _leads_on(self, place: WordPlace, at: _At, wanted: Collection[Effects]) -> bool:
        """Return whether both sides may decide what goes on behind these words as it is *wanted*.

        By any text that begins there.
        """
        if place.granting is None:
            return self._hopes(at, wanted, [at.granted], [self._known])
        granted = [at.granted, self._granted]
        return self._hopes(evolve(at, refused=False), wanted, granted, [self._known])

    def _hopes(
        self,
        at: _At,
        wanted: Collection[Effects],
        granted: Sequence[ListedText],
        more: Sequence[ListedText] = (),
    ) -> bool:
        """Return whether both sides may decide what goes on from there as it is *wanted*.

        Args:
            at: where a command stands.
            wanted: the changes.
            granted: the texts of which one is that for rules that allow.
            more: texts that may begin there.

        """
        left = _ASKED.intersection(wanted) if at.refused else frozenset(wanted)
        left &= frozenset[Effects]().union(*(text.changes for text in granted))
        left = left.intersection(*(text.changes for text in at.strict))
        return bool(left) and any(text.differs for text in chain(at.strict, granted, more))

    def _letters(self, at: _At) -> set[str]:
        lists = self._lists
        named = set[str]().union(at.granted.letters, *(text.letters for text in at.strict))
        return (named | {lists.fresh, " ", "/"} | lists.extra) - ACTED_ON


def _telling(texts: Iterable[ListedText]) -> frozenset[ListedText]:
    """Return the texts of which lines may still say something."""
    return frozenset([text for text in texts if text.tells])
