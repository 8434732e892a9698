"""The commands that a host runs where no rule speaks of them, as a language to search in.

What is known of a program (`policy.dialect.Program`) is applied by `policy.shell.programs` to
the words of one command; here it is the same knowledge as a machine that reads letters, so
that a search finds a harmless command among those that some patterns match, or shows that
there is none. It reads commands of plain words with one blank between each two, and
leaves out tests in brackets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import attrs

from policy import limits
from policy.comparison.harmless import BLANK, SIGNS, Between, Form, Word
from policy.dialect import Program, Shell
from policy.patterns.automaton import NO_MATCH, State
from policy.patterns.domains import Domain
from policy.patterns.expressions import OTHER, character_of, letter_of, mask_of
from policy.patterns.pattern import Pattern, excluded_characters, named
from policy.patterns.search import Found, fresh_character, search
from policy.patterns.tokens import plainness

__all__ = ["Unasked", "runs_none"]


@attrs.frozen(eq=False)
class _Level:
    """Programs, or subcommands of one, by name; with the forms in which each may be called."""

    below: dict[str, tuple[tuple[Form, ...], _Level | None]]

    @classmethod
    def of(cls, programs: Mapping[str, Program], shell: Shell, *, closed: bool) -> _Level:
        return cls(
            {
                name: (
                    tuple(Form.each(program, shell, closed=closed)),
                    cls.of(program.subcommands, shell, closed=closed)
                    if program.subcommands
                    else None,
                )
                for name, program in programs.items()
            }
        )


@attrs.frozen(cache_hash=True)
class _Name:
    """The name of a program so far."""

    typed: str
    level: _Level

    def after(self, letter: int) -> _Name | None:
        """Return the name with one more letter, if there is such a program."""
        typed = self.typed + character_of(letter)
        here = any(name.startswith(typed) for name in self.level.below)
        return _Name(typed, self.level) if here else None

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

    __slots__ = ("_after", "_known", "accepting", "items", "masks")

    def __init__(self, items: frozenset[_Item], known: dict[frozenset[_Item], _Place]) -> None:
        self.items = items
        self._known = known
        self._after: dict[int, _Place] = {}
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


def _masks(item: _Item) -> Iterator[int]:
    """Yield sets of letters that tell apart which one comes next."""
    if isinstance(item, _Name):
        names, typed = list(item.level.below), item.typed
    else:
        form = item.before.form
        yield form.letters
        yield from SIGNS
        for each in (item.pairs, *item.left):
            yield from each.masks
        names = [] if item.typed is None else list(form.program.subcommands)
        typed = item.typed or ""
    for name in names:
        if name.startswith(typed) and len(name) > len(typed):
            yield mask_of(name[len(typed)])


class _At(State):
    """The same as a state that a search walks along."""

    __slots__ = ("_of", "_place")

    def __init__(self, of: Unasked, place: _Place) -> None:
        super().__init__(None, (), frozenset({id(place)}))
        self._of = of
        self._place = place
        self.alive = bool(place.items)
        self.first = 0 if place.accepting else NO_MATCH
        self.final = not self.alive

    def after(self, character: str) -> State:
        """Return the state behind one more character."""
        return self._of.at(self._place.after(letter_of(character)))

    def letters(self) -> set[str]:
        """Return a character for each way in which the next one may be read."""
        return set(_apart(self._place.masks, self._of.named))


class Unasked(Domain):
    """The commands of plain words that one shell runs where no rule speaks of them.

    Args:
        shell: what the host knows of programs.
        named: characters that patterns name, and that stand for others only where no other can.
        closed: whether those that open files are left out.
    """

    __slots__ = ("_states", "named")

    def __init__(self, shell: Shell, named: frozenset[str], *, closed: bool = False) -> None:
        self.named = named
        self.closed = False
        self.separator = ""
        self._states: dict[int, _At] = {}
        self.start = self.at(_start(shell, closed=closed))

    def at(self, place: _Place) -> _At:
        """Return the one state that stands at *place*."""
        state = self._states.get(id(place))
        if state is None:
            state = self._states[id(place)] = _At(self, place)
        return state


@lru_cache(maxsize=4096)  # agents and projects share most of their rules
def runs_none(shell: Shell, pattern: Pattern) -> bool:
    """Return whether no command that *pattern* matches is one that *shell* runs unasked.

    Where that is so no other pattern needs a look. False where the search ran out of
    its budget.
    """
    letters = named([pattern])
    found = search(
        [pattern.automaton, Unasked(shell, frozenset(letters))],
        (),
        lambda _: True,
        fresh=fresh_character(letters),
        extra=excluded_characters([pattern]),
        budget=limits.SEARCH_STATES,
    )
    return found == Found(None)


@lru_cache(maxsize=16)  # a host has one or two
def _start(shell: Shell, *, closed: bool) -> _Place:
    plain = {name: known for name, known in shell.programs.known.items() if "[" not in name}
    level = _Level.of(plain, shell, closed=closed)
    return _Place(frozenset({_Name("", level)}), {})


@lru_cache(maxsize=4096)
def _apart(masks: frozenset[int], named: frozenset[str]) -> tuple[str, ...]:
    """Return a character of each class that some sets tell apart, all where each is named."""
    classes: dict[tuple[bool, ...], list[str]] = {}
    for letter in range(OTHER):
        signature = tuple(bool(mask >> letter & 1) for mask in masks)
        classes.setdefault(signature, []).append(character_of(letter))
    others = tuple(bool(mask >> OTHER & 1) for mask in masks)
    found = [" "]
    for signature, characters in classes.items():
        if signature != others and any(signature):
            ordered = sorted(characters, key=plainness)
            free = [each for each in ordered if each not in named]
            found += free[:1] or ordered
    return tuple(found)
