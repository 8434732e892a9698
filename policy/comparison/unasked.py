"""The commands that a host runs where no rule speaks of them, as a language to search in.

What is known of a program (`policy.programs.Program`) is applied by `policy.shell.programs` to
the words of one command; here it is the same knowledge as a machine that reads letters, so
that a search finds a harmless command among those that some patterns match, or shows that
there is none. It reads commands of plain words with one blank between each two, and
leaves out tests in brackets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

import attrs

from policy.comparison.forms import Form
from policy.comparison.harmless import BLANK, NEVER_FIRST, SIGNS, Between, Word
from policy.on_demand import OnDemand
from policy.patterns.automaton import NO_MATCH
from policy.patterns.domains import Domain
from policy.patterns.expressions import OTHER, character_of, letter_of, mask_of
from policy.patterns.letters import excluded_characters, is_stars, named
from policy.patterns.pattern import Pattern
from policy.patterns.search import Found, fresh_character, search
from policy.patterns.state import State
from policy.patterns.tokens import plainness
from policy.programs import Program, Programs
from policy.shells import Shell

__all__ = ["Unasked", "runs_none"]


@attrs.frozen(eq=False)
class _Level:
    """Programs, or subcommands of one, by name; with the forms in which each may be called.

    Attributes:
        below: those, and what is behind each.
        begun: each text that a name begins with, and the sets of letters that may follow it.

    """

    below: OnDemand[tuple[tuple[Form, ...], _Level | None]]
    begun: Mapping[str, Collection[int]]

    @classmethod
    def of(
        cls, programs: Mapping[str, Program], shell: Shell, *, closed: bool, quoted: bool
    ) -> _Level:
        def forms(name: str) -> tuple[tuple[Form, ...], _Level | None]:
            program = programs[name]
            inner = program.subcommands
            below = inner and cls.of(inner, shell, closed=closed, quoted=quoted)
            known = Form.each(program, shell, closed=closed, quoted=quoted)
            return tuple(known), below or None

        begun: dict[str, set[int]] = {text: set() for text in ("", *programs)}
        for name in programs:
            for end, letter in enumerate(name):
                begun.setdefault(name[:end], set()).add(mask_of(letter))
        return cls(OnDemand(programs, forms), begun)


@attrs.frozen(cache_hash=True)
class _Name:
    """The name of a program so far."""

    typed: str
    level: _Level

    def after(self, letter: int) -> _Name | None:
        """Return the name with one more letter, if there is such a program."""
        typed = self.typed + character_of(letter)
        return _Name(typed, self.level) if typed in self.level.begun else None

    def forms(self) -> Iterator[Between]:
        """Yield where a command stands behind the name."""
        forms, _ = self.level.below.get(self.typed, ((), None))
        return map(Between, forms)

    def following(self) -> Iterator[_Item]:
        """Yield how the next word may begin."""
        yield from (between.word() for between in self.forms())
        _, subcommands = self.level.below.get(self.typed, ((), None))
        if subcommands is not None:
            yield _Name("", subcommands)


_Item = _Name | Word


class _Place:
    """Where a text stands: all the ways in which it may be read so far."""

    __slots__ = ("_after", "_known", "_ways", "accepting", "items", "masks")

    def __init__(self, items: frozenset[_Item], known: dict[frozenset[_Item], _Place]) -> None:
        self.items = items
        self._known = known
        self._after: dict[int, _Place] = {}
        self._ways: dict[_Place, int] | None = None
        self.accepting = any(
            place.accepts()
            for item in items
            for place in (item.forms() if isinstance(item, _Name) else (item.ended(),))
            if place is not None
        )
        self.masks = frozenset(mask for item in items for mask in _masks(item))

    def after(self, letter: int) -> _Place:
        """Return where it stands behind one more letter."""
        place = self._after.get(letter)
        if place is None:
            following = frozenset(each for item in self.items for each in _after(item, letter))
            place = self._known.get(following) or self._known.setdefault(
                following, _Place(following, self._known)
            )
            self._after[letter] = place
        return place

    @property
    def ways(self) -> dict[_Place, int]:
        """Where one more letter leads if there is hope, each with the letters that lead there."""
        if self._ways is None:
            self._ways = {}
            for letters in _told_apart(self.masks):
                following = self.after((letters & -letters).bit_length() - 1)
                if following.items:
                    self._ways[following] = self._ways.get(following, 0) | letters
        return self._ways


def _after(item: _Item, letter: int) -> Iterator[_Item]:
    if letter != BLANK:
        following = item.after(letter)
        if following is not None:
            yield following
    elif isinstance(item, _Name):
        yield from item.following()
    else:
        ended = item.ended()
        if ended is not None:
            yield ended.word()
        if item.before.form.quoted:
            longer = item.after(letter)
            if longer is not None:
                yield longer


def _masks(item: _Item) -> Iterator[int]:
    """Yield sets of letters that tell apart which one comes next."""
    if isinstance(item, _Name):
        yield from item.level.begun[item.typed]
        return
    form = item.before.form
    yield form.letters
    yield from SIGNS
    if not item.start:
        yield NEVER_FIRST
    for each in (item.pairs, item.unchecked, *item.left):
        yield from each.masks
    if (typed := item.typed) is None:
        return
    for name in form.program.subcommands:
        if name.startswith(typed) and len(name) > len(typed):
            yield mask_of(name[len(typed)])


class _At(State):
    """The same as a state that a search walks along."""

    __slots__ = ("_of", "place")

    def __init__(self, of: Unasked, place: _Place) -> None:
        super().__init__(None, (), frozenset({id(place)}))
        self._of = of
        self.place = place
        self.alive = bool(place.items)
        self.first = 0 if place.accepting else NO_MATCH
        self.final = not self.alive

    def _step(self, character: str) -> State:
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
        level = _Level.of(plain, shell, closed=closed, quoted=quoted)
        known: dict[frozenset[_Item], _Place] = {}
        self.closed = False
        self.narrow = True
        self.separator = ""
        self._states: dict[_Place, _At] = {}
        self._behind: dict[frozenset[_Place], frozenset[_Place]] = {}
        self.nowhere = self.at(_Place(frozenset(), known))
        self._start = _Place(frozenset({_Name("", level)}), known)
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

    def at(self, place: _Place) -> _At:
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
                    return not any(place.accepting for place in _following(here))
                here = self._behind_any(here)
                continue
            if not _NO_LETTERS.isdisjoint(token):
                return True
            for letter in map(letter_of, token):
                following = (place.after(letter) for place in here)
                here = frozenset(place for place in following if place.items)
        return not any(place.accepting for place in here)

    def begins_none(self, text: str) -> bool:
        """Return whether no command begins with a text; False where that is not known."""
        place = self._start
        for letter in text:
            if letter in _NO_LETTERS:
                return False
            place = place.after(letter_of(letter))
        return not place.items

    def _behind_any(self, places: frozenset[_Place]) -> frozenset[_Place]:
        """Return where any text may lead from some places."""
        found = self._behind.get(places)
        if found is None:
            found = self._behind[places] = frozenset(_following(places))
        return found


@lru_cache(maxsize=16)
def _told_apart_by(known: tuple[Programs, ...]) -> frozenset[str]:
    """Return the programs of which not all know the same."""
    first, *rest = (programs.known for programs in known)
    names = {name for each in (first, *rest) for name in each}
    return frozenset(n for n in names if any(each.get(n) != first.get(n) for each in rest))


def _following(places: Iterable[_Place]) -> Iterator[_Place]:
    """Yield some places and those to which further letters lead, the nearest first."""
    reached = dict.fromkeys(places)
    queue = deque(reached)
    while queue:
        place = queue.popleft()
        yield place
        for each in place.ways:
            if each not in reached:
                reached[each] = None
                queue.append(each)


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
    return found == Found(None)


# What stands in no plain word, though it is not printed.
_NO_LETTERS: Final = frozenset("\t\n\r\v\f\0")


@lru_cache(maxsize=4096)
def _told_apart(masks: frozenset[int]) -> tuple[int, ...]:
    """Return the classes of letters that some sets tell apart."""
    classes: dict[tuple[bool, ...], int] = {}
    for letter in range(OTHER + 1):
        signature = tuple(bool(mask >> letter & 1) for mask in (_BLANKS, *masks))
        classes[signature] = classes.get(signature, 0) | 1 << letter
    return tuple(classes.values())


_BLANKS: Final = mask_of(" ")


@lru_cache(maxsize=4096)
def _ordered(letters: int) -> tuple[str, ...]:
    """Return the characters of some letters, the plainest first."""
    found = (character_of(letter) for letter in range(OTHER) if letters >> letter & 1)
    return tuple(sorted(found, key=plainness))
