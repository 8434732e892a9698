"""The commands that a host runs where no rule applies to them, as a language to search in.

The host's reader applies what is known of a program (`policy.commands.knowledge.Program`) to the
words of one command; here it is the same knowledge as a machine that reads letters, so
that a search finds a harmless command among those that some patterns match, or shows that
there is none. It reads commands of plain words with one blank between each two, and
leaves out tests in brackets.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Final

from policy.commands.knowledge import Programs, Shell
from policy.compare.places import Item, Level, Name, ReadingPlace, reachable
from policy.patterns.automaton import NO_MATCH, AutomatonState
from policy.patterns.domains import Domain
from policy.patterns.expressions import OTHER, character_of, letter_of
from policy.patterns.pattern import Pattern, excluded_characters, is_stars, named
from policy.patterns.search import SearchResult, fresh_character, search
from policy.patterns.tokens import plainness

__all__ = ["Unasked", "runs_none"]


class _At(AutomatonState):
    """The same as a state that a search walks along."""

    __slots__ = ("_of", "place")

    def __init__(self, of: Unasked, place: ReadingPlace) -> None:
        super().__init__(None, (), frozenset({id(place)}))
        self._of = of
        self.place = place
        self.alive = bool(place.items)
        self.first = 0 if place.accepting else NO_MATCH
        self.final = not self.alive

    def _step(self, character: str) -> AutomatonState:
        if character in _NO_LETTERS:
            return self._of.nowhere
        return self._of.at(self.place.after(letter_of(character)))

    def letters(self, named: Collection[str] = ()) -> set[str]:
        """Return a character for each way that those which are not printed do not lead.

        And each of those *named* that lead there: patterns tell them from others.
        """
        found = set()
        for letters in self.place.ways.values():
            if not letters >> OTHER & 1:
                ordered = _ordered(letters)
                found.add(next((one for one in ordered if one not in named), ordered[0]))
                found.update(one for one in ordered if one in named)
        return found


class Unasked(Domain):
    """The commands of plain words that one shell runs where no rule speaks of them."""

    __slots__ = ("_behind", "_start", "_states", "nowhere")

    def __init__(
        self,
        shell: Shell,
        *,
        closed: bool = False,
        names: frozenset[str] | None = None,
        quoted: bool = False,
    ) -> None:
        plain = {
            name: known
            for name, known in shell.programs.known.items()
            if "[" not in name and (names is None or name in names)
        }
        level = Level.of(plain, shell, closed=closed, quoted=quoted)
        known: dict[frozenset[Item], ReadingPlace] = {}
        self.closed = False
        self.narrow = True
        self.separator = ""
        self._states: dict[ReadingPlace, _At] = {}
        self._behind: dict[frozenset[ReadingPlace], frozenset[ReadingPlace]] = {}
        self.nowhere = self.at(ReadingPlace(frozenset(), known))
        self._start = ReadingPlace(frozenset({Name("", level)}), known)
        self.start = self.at(self._start)

    @staticmethod
    @lru_cache(maxsize=16)  # a host has one or two
    def of(
        shell: Shell,
        *,
        closed: bool = False,
        names: frozenset[str] | None = None,
        quoted: bool = False,
    ) -> Unasked:
        """Return the one language of *shell*: what is known of it serves all who ask.

        Args:
            shell: what the host knows of programs.
            closed: whether commands that open files are left out.
            names: the programs of which there are commands; None is all of them.
            quoted: whether words may be in quotes: texts by which rules may know such commands,
                and more.

        """
        return Unasked(shell, closed=closed, names=names, quoted=quoted)

    @staticmethod
    def only_of(some: Sequence[Shell], others: Sequence[Shell]) -> list[list[Domain]]:
        """Return the languages of *some* shells and of *others*, to tell them apart by.

        What all of them know alike of a program tells nothing, and is left out.
        """
        names = None
        if others:
            names = _told_apart_by(tuple(shell.programs for shell in (*some, *others)))
        return [[Unasked.of(shell, names=names) for shell in each] for each in (some, others)]

    def at(self, place: ReadingPlace) -> _At:
        """Return the one state that stands at *place*."""
        state = self._states.get(place)
        if state is None:
            state = self._states[place] = _At(self, place)
        return state

    def runs_none(self, pattern: Pattern) -> bool:
        """Return whether no command of a star pattern is one of these.

        All the places to which a text of the pattern may lead are walked at once.
        """
        here = frozenset({self._start})
        for number, token in enumerate(pattern.tokens, 1):
            if not isinstance(token, str):
                if number == len(pattern.tokens):
                    return not any(place.accepting for place in reachable(here))
                here = self._behind_any(here)
                continue
            if not _NO_LETTERS.isdisjoint(token):
                return True
            for letter in map(letter_of, token):
                behind = (place.after(letter) for place in here)
                here = frozenset(place for place in behind if place.items)
        return not any(place.accepting for place in here)

    def begins_none(self, text: str) -> bool:
        """Return whether no command begins with a text; False where that is not known."""
        place = self._start
        for letter in text:
            if letter in _NO_LETTERS:
                return False
            place = place.after(letter_of(letter))
        return not place.items

    def _behind_any(self, places: frozenset[ReadingPlace]) -> frozenset[ReadingPlace]:
        """Return where any text may lead from some places."""
        found = self._behind.get(places)
        if found is None:
            found = self._behind[places] = frozenset(reachable(places))
        return found


@lru_cache(maxsize=16)
def _told_apart_by(known: tuple[Programs, ...]) -> frozenset[str]:
    """Return the programs of which not all know the same."""
    first, *rest = (programs.known for programs in known)
    names = {name for each in (first, *rest) for name in each}
    return frozenset(n for n in names if any(each.get(n) != first.get(n) for each in rest))


@lru_cache(maxsize=4096)  # agents and projects share most of their rules
def runs_none(shell: Shell, pattern: Pattern) -> bool:
    """Return whether no command that *pattern* matches is one that *shell* runs unasked.

    Where that is so no other pattern needs a look. False where a search ran out of
    its budget.
    """
    language = Unasked.of(shell)
    if is_stars(pattern.tokens):
        return language.runs_none(pattern)
    found = search(
        [pattern.automaton, language],
        (),
        lambda _: True,
        fresh=fresh_character(named(pattern.tokens)),
        extra=excluded_characters(pattern.tokens),
    )
    return found == SearchResult(None)


# What stands in no plain word, though it is not printed.
_NO_LETTERS: Final = frozenset("\t\n\r\v\f\0")


@lru_cache(maxsize=4096)
def _ordered(letters: int) -> tuple[str, ...]:
    """Return the characters of some letters, the plainest first."""
    found = (character_of(letter) for letter in range(OTHER) if letters >> letter & 1)
    return tuple(sorted(found, key=plainness))
