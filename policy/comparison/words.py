"""The words of a simple command, letter by letter: by which texts rules know it.

`policy.shell.readings` says so of words, where of wrappers no more is known than their names;
here it is the same knowledge as a machine. Behind a word that leads others, such as `sudo`,
begins another text for rules that deny or ask, and behind `timeout` the one for rules that allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import attrs

from policy.comparison.overlap import ODD
from policy.dialect import Shell
from policy.patterns.pattern import Pattern
from policy.shell.readings import KEYWORDS, TAKES_ONE

__all__ = ["ACTED_ON", "Names", "Place", "is_told"]

# What a shell acts on, or puts names of files for.
ACTED_ON: Final = frozenset(ODD | {*"*?["})


def is_told(shell: Shell) -> bool:
    """Whether all that is known of commands is the names of wrappers."""
    more = shell.programs or shell.wrapping.known or shell.granting.known
    return bool(shell.wrappers) and not (more or shell.variables or shell.control or shell.whole)


# How much of a duration a word is: `5`, `1.5h`; and of `NAME=`.
_DIGITS: Final = frozenset("0123456789")
_LETTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_LASTS: Final = frozenset({1, 3, 4})
_ASSIGNS: Final = 3


def _lasting(place: int, letter: str) -> int:
    if letter in _DIGITS:
        return {0: 1, 1: 1, 2: 3, 3: 3}.get(place, 5)
    if letter == ".":
        return 2 if place == 1 else 5
    return 4 if letter in "smhd" and place in (1, 3) else 5


def _assigning(place: int, letter: str) -> int:
    if place == _ASSIGNS:
        return place
    if letter == "=":
        return _ASSIGNS if place in (1, 2) else 4
    if letter == "+":
        return 2 if place == 1 else 4
    named = letter in _LETTERS or (place == 1 and letter in _DIGITS)
    return 1 if named and place in (0, 1) else 4


# Words that lead others, or may be what a wrapper is told, in each way.
_LEADING: Final = ("-q", "-q=7", "7", "Q=7", "./sudo", "Q/timeout")

# Words that begin as one line has it, and end as another does, that are tried.
_JOINED: Final = 64


@attrs.frozen(cache_hash=True)
class Names:
    """The programs of a shell by which texts of a command begin, and what of them is tried.

    Attributes:
        known: all of them.
        around: those that lead other commands.
        transparent: those that rules which allow see through.
        likely: those that rules tell apart, and one for each way in which the others lead.

    """

    known: frozenset[str]
    around: frozenset[str]
    transparent: frozenset[str]
    likely: tuple[str, ...]

    @classmethod
    def of(cls, shell: Shell, patterns: Iterable[Pattern]) -> Names:
        """Return those of *shell* where lines have these patterns."""
        around = shell.wrappers | KEYWORDS
        known = around | TAKES_ONE
        pieces = {piece for pattern in patterns for piece in _pieces(pattern)}
        told = {name for name in known if any(_is_told_apart(name, each) for each in pieces)}
        alike: dict[object, str] = {}
        for name in sorted(known, key=lambda name: (len(name), name)):
            transparent = name in shell.transparent
            way = transparent, name in shell.wrappers, name in KEYWORDS, name in TAKES_ONE
            alike.setdefault((*way, transparent and name in ("nice", "stdbuf", "time")), name)
        return cls(known, around, shell.transparent, tuple(sorted(told.union(alike.values()))))

    def leading(self, patterns: Iterable[Pattern], fresh: str) -> Iterator[str]:
        """Yield words that may lead others, of all that lines with these patterns tell apart.

        Args:
            patterns: of the lines.
            fresh: a character that none of them names.

        """
        told: dict[str, None] = dict.fromkeys((*self.likely, *_LEADING, fresh))
        starts, ends = [""], [""]
        for text, before, behind in {piece for each in patterns for piece in _pieces(each)}:
            told[text] = None
            if behind:
                starts.append(f"{fresh}{text}" if before else text)
            if before:
                ends.append(f"{text}{fresh}" if behind else text)
        if len(starts) * len(ends) <= _JOINED:
            told |= dict.fromkeys(f"{start}{fresh}{end}" for start in starts for end in ends)
        yield from (word for word in told if ACTED_ON.isdisjoint(word))


# A piece of a pattern between blanks, and whether a gap stands before and behind it.
_Piece = tuple[str, bool, bool]


def _pieces(pattern: Pattern) -> Iterator[_Piece]:
    last = len(pattern.tokens) - 1
    for number, token in enumerate(pattern.tokens):
        if not isinstance(token, str):
            continue
        pieces = token.split(" ")
        for at, piece in enumerate(pieces):
            before = at == 0 and number > 0
            behind = at == len(pieces) - 1 and number < last
            if piece:
                yield piece, before, behind


def _is_told_apart(name: str, piece: _Piece) -> bool:
    text, before, behind = piece
    text = text.rpartition("/")[2]
    if before and behind:
        return text in name
    return name.endswith(text) if before else name.startswith(text) if behind else name == text


@attrs.frozen(cache_hash=True)
class Place:
    """What is known of the words of a command so far.

    Attributes:
        leads: whether all words before the one at hand lead others.
        inner: whether there are any.
        takes: whether the one before it takes this one.
        granted: how the text for rules that allow goes on: "first" where the word at hand may be
            its program, "skip" where it may be what a wrapper is told, "time" behind that one.
        unread: whether that wrapper takes no option with a value in it.
        refused: whether no rule may allow it.
        typed: the word so far behind its last slash, where a name may come of it.
        slashed: whether it has a slash.
        dashed: whether it begins with a dash.
        equals: whether it has a sign of equality.
        lasts: how much of a duration it is.
        assigns: how much of an assignment.
        begun: whether it has a letter.

    """

    leads: bool = True
    inner: bool = False
    takes: bool = False
    granted: str = "first"
    unread: bool = False
    refused: bool = False
    typed: str | None = ""
    slashed: bool = False
    dashed: bool = False
    equals: bool = False
    lasts: int = 0
    assigns: int = 0
    begun: bool = False

    @property
    def is_open(self) -> bool:
        """Whether further words may be behind what leads them."""
        return self.leads or bool(self.granted)

    def with_letter(self, letter: str, names: Names) -> Place:
        """Return the place behind one more letter of the word at hand."""
        if not self.is_open:
            return self if self.begun else attrs.evolve(self, begun=True)
        granted, refused = self.granted, self.refused
        if granted == "time":  # the values of its options are no program
            granted = "" if letter == "-" else "skip"
            refused |= letter == "-"
        typed = "" if letter == "/" else None if self.typed is None else self.typed + letter
        if typed is not None and not any(name.startswith(typed) for name in names.known):
            typed = None
        return attrs.evolve(
            self,
            granted=granted,
            # Some shells put the name of a file for what begins so.
            refused=refused or (letter == "=" and not self.begun and self.leads),
            typed=typed,
            slashed=self.slashed or letter == "/",
            dashed=self.dashed or (letter == "-" and not self.begun),
            equals=self.equals or letter == "=",
            lasts=_lasting(self.lasts, letter),
            assigns=_assigning(self.assigns, letter),
            begun=True,
        )

    def name(self, names: Names) -> str:
        """Return the name of the program that the word at hand is, if it is one that leads."""
        return self.typed if self.typed is not None and self.typed in names.known else ""

    def is_refused(self, names: Names) -> bool:
        """Return whether no rule may allow it, if the word at hand is the last."""
        return self.refused or (self.granted in ("first", "skip") and self._is_no_program(names))

    def _is_no_program(self, names: Names) -> bool:
        named = not self.slashed and self.name(names) in KEYWORDS
        return named or self.assigns == _ASSIGNS

    def ended(self, names: Names) -> Place:
        """Return the place in front of one more word."""
        if not self.is_open:
            return attrs.evolve(self, begun=False)
        name, lasts = self.name(names), self.lasts in _LASTS
        leads = self.leads and (
            self.assigns == _ASSIGNS
            or name in names.around
            or (self.inner and (self.dashed or lasts or self.equals or self.takes))
        )
        granted, unread, refused = self._behind(name, lasts=lasts, names=names)
        place = Place(
            leads=leads,
            inner=leads,
            takes=leads and (self.dashed or name in TAKES_ONE or self._is("function")),
            granted=granted,
            unread=unread,
            refused=refused,
        )
        return (
            place if place.is_open else Place(leads=False, granted="", refused=refused, typed=None)
        )

    def _is(self, name: str) -> bool:
        return not self.slashed and self.typed == name

    def _behind(self, name: str, *, lasts: bool, names: Names) -> tuple[str, bool, bool]:
        """Return `granted`, `unread` and `refused` of the place in front of one more word."""
        if not self.granted:
            return "", False, self.refused
        told = (self.dashed and not (self.equals and self.unread)) or lasts
        if self.granted == "skip" and told:
            return "skip", self.unread, self.refused
        if not self.slashed and name in names.transparent:
            return "time" if name == "time" else "skip", name in ("nice", "stdbuf"), self.refused
        return "", False, self.refused or self._is_no_program(names)
