"""Where a command stands that is read letter by letter, if it may run where no rule speaks of it.

All the ways in which a text may be read so far are walked at once: names of programs and
of their subcommands, and the words behind them as `policy.compare.harmless` reads these.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from policy.commands.knowledge import Program, Shell
from policy.compare.forms import ReadOnlyForm
from policy.compare.harmless import BLANK, NEVER_FIRST, SIGNS, Between, PartialWord
from policy.core.memory import OnDemand
from policy.core.values import frozen
from policy.patterns.expressions import OTHER, character_of, mask_of

__all__ = ["Item", "Level", "Name", "ReadingPlace", "reachable"]


@frozen(eq=False)
class Level:
    """Programs, or subcommands of one, by name; with the forms in which each may be called.

    Attributes:
        below: those, and what is behind each.
        begun: each text that a name begins with, and the sets of letters that may follow it.

    """

    below: OnDemand[tuple[tuple[ReadOnlyForm, ...], Level | None]]
    begun: Mapping[str, Collection[int]]

    @classmethod
    def of(
        cls, programs: Mapping[str, Program], shell: Shell, *, closed: bool, quoted: bool
    ) -> Level:
        """Return the programs, their forms as `Form.each` yields them."""

        def forms(name: str) -> tuple[tuple[ReadOnlyForm, ...], Level | None]:
            program = programs[name]
            inner = program.subcommands
            below = inner and cls.of(inner, shell, closed=closed, quoted=quoted)
            known = ReadOnlyForm.each(program, shell, closed=closed, quoted=quoted)
            return tuple(known), below or None

        begun: dict[str, set[int]] = {text: set() for text in ("", *programs)}
        for name in programs:
            for end, letter in enumerate(name):
                begun.setdefault(name[:end], set()).add(mask_of(letter))
        return cls(OnDemand(programs, forms), begun)


@frozen(cache_hash=True)
class Name:
    """The name of a program so far."""

    typed: str
    level: Level

    def after(self, letter: int) -> Name | None:
        """Return the name with one more letter, if there is such a program."""
        typed = self.typed + character_of(letter)
        return Name(typed, self.level) if typed in self.level.begun else None

    def forms(self) -> Iterator[Between]:
        """Yield where a command stands behind the name."""
        forms, _ = self.level.below.get(self.typed, ((), None))
        return map(Between, forms)

    def following(self) -> Iterator[Item]:
        """Yield how the next word may begin."""
        yield from (between.word() for between in self.forms())
        _, subcommands = self.level.below.get(self.typed, ((), None))
        if subcommands is not None:
            yield Name("", subcommands)


Item = Name | PartialWord


class ReadingPlace:
    """Where a text stands: all the ways in which it may be read so far."""

    __slots__ = ("_after", "_known", "_ways", "accepting", "items", "masks")

    def __init__(self, items: frozenset[Item], known: dict[frozenset[Item], ReadingPlace]) -> None:
        self.items = items
        self._known = known
        self._after: dict[int, ReadingPlace] = {}
        self._ways: dict[ReadingPlace, int] | None = None
        self.accepting = any(
            place.accepts()
            for item in items
            for place in (item.forms() if isinstance(item, Name) else (item.ended(),))
            if place is not None
        )
        self.masks = frozenset(mask for item in items for mask in _masks(item))

    def after(self, letter: int) -> ReadingPlace:
        """Return where it stands behind one more letter."""
        place = self._after.get(letter)
        if place is None:
            following = frozenset(each for item in self.items for each in _after(item, letter))
            place = self._known.get(following) or self._known.setdefault(
                following, ReadingPlace(following, self._known)
            )
            self._after[letter] = place
        return place

    @property
    def ways(self) -> dict[ReadingPlace, int]:
        """Where one more letter leads if there is hope, each with the letters that lead there."""
        if self._ways is None:
            self._ways = {}
            for letters in _told_apart(self.masks):
                following = self.after((letters & -letters).bit_length() - 1)
                if following.items:
                    self._ways[following] = self._ways.get(following, 0) | letters
        return self._ways


def _after(item: Item, letter: int) -> Iterator[Item]:
    if letter != BLANK:
        following = item.after(letter)
        if following is not None:
            yield following
    elif isinstance(item, Name):
        yield from item.following()
    else:
        ended = item.ended()
        if ended is not None:
            yield ended.word()
        if item.before.form.quoted:
            longer = item.after(letter)
            if longer is not None:
                yield longer


def _masks(item: Item) -> Iterator[int]:
    """Yield sets of letters that tell apart which one comes next."""
    if isinstance(item, Name):
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


def reachable(places: Iterable[ReadingPlace]) -> Iterator[ReadingPlace]:
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


@lru_cache(maxsize=4096)
def _told_apart(masks: frozenset[int]) -> tuple[int, ...]:
    """Return the classes of letters that some sets tell apart."""
    classes: dict[tuple[bool, ...], int] = {}
    for letter in range(OTHER + 1):
        signature = tuple(bool(mask >> letter & 1) for mask in (_BLANKS, *masks))
        classes[signature] = classes.get(signature, 0) | 1 << letter
    return tuple(classes.values())


_BLANKS: Final = mask_of(" ")
