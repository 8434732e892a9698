"""The words of a command that lines tell apart: those that lead others, and letters of a program.

What a word is to those behind it `policy.commands.wrappers` says. Of words that lead others
some are
tried, all that lines tell apart and one of each kind; a program is spelled letter by letter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import Final

from policy.commands.compound import KEYWORDS
from policy.commands.knowledge import Shell
from policy.commands.words import ASSIGNMENT, Word
from policy.commands.wrappers import WordPlace, is_assignment
from policy.compare.overlap import ODD
from policy.core.values import frozen
from policy.patterns.pattern import Pattern

__all__ = ["ACTED_ON", "Names", "Spelling", "Step", "is_told"]

# What a shell acts on, or puts names of files for.
ACTED_ON: Final = frozenset(ODD | {*"*?["})


def is_told(shell: Shell) -> bool:
    """Whether all that is known of commands is the names of wrappers."""
    wrapping = shell.wrapping
    more = wrapping.denying.known, wrapping.granting.known, shell.programs, shell.variables.harmless
    return bool(wrapping.names) and not (any(more) or shell.reader or shell.whole)


# Words that lead others in each way: in front of a program that rules which allow see or do not
# see, with and without a word between them, or two, and what a wrapper is not known to take. What
# else has a dash, or a slash, counts where lines have one.
_LEADING: Final = ("nohup", "timeout", "sudo", "flock", "!", "Q=7", "7", "-u", "-k", "--Q=7")
_DASHED: Final = ("-n", "-oL", "--", "nice", "stdbuf", "time")
_SLASHED: Final = ("./sudo", "Q/timeout")

# An option behind which nobody knows what runs.
_UNKNOWN: Final = "-Q"

# What options and operands of wrappers begin with, if not any word is one.
_FIRST: Final = "-.,:0123456789abcdef"

# Places, and words that lists tell apart, of which it is remembered which words lead.
_STEPS: Final = 20_000

# Words that begin as one line has it, and end as another does, that are tried.
_JOINED: Final = 64


@frozen
class Step:
    """A word that leads others, at some place.

    Attributes:
        word: the word.
        begins: the names of the program by which rules that deny know a command that begins so.
        sure: whether one does, and is not only feared to.
        grants: whether one begins so to rules that allow.
        refused: whether none of these may allow that.
        place: what is known of the next word.

    """

    word: str
    begins: tuple[str, ...]
    sure: bool
    grants: bool
    refused: bool
    place: WordPlace


class Names:
    """The programs of a shell that lead others.

    Args:
        shell: how commands are read.

    Attributes:
        known: their names, and the words of shells that lead others.

    """

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self.known = shell.wrapping.names | KEYWORDS
        self._steps: dict[object, list[Step]] = {}
        self._known_steps: dict[object, Step | None] = {}
        self._places: dict[WordPlace, WordPlace] = {}

    @classmethod
    @lru_cache(maxsize=64)  # a host has one or two
    def of(cls, shell: Shell) -> Names:
        """Return those of *shell*."""
        return cls(shell)

    def steps(self, place: WordPlace, words: tuple[str, ...]) -> list[Step]:
        """Return those of some words that lead what follows behind *place*.

        An option that a wrapper is not known to take does so only where lines tell such apart: else
        one that it is known to refuse stands for it, behind which more is known.
        """
        key = place, words
        found = self._steps.get(key)
        if found is None:
            if len(self._steps) >= _STEPS:
                self._steps.clear()
            found = self._steps[key] = [*self._leading(place, words)]
        return found

    def _leading(self, place: WordPlace, words: Iterable[str]) -> Iterator[Step]:
        fears = _UNKNOWN in words
        for text in words:
            step = self._step(place, text)
            if step is not None and (fears or step.place.sure):
                yield step

    def _step(self, place: WordPlace, text: str) -> Step | None:
        """Return what a word is at some place, if it leads; of many lists most are the same."""
        key = place, text
        if key not in self._known_steps:
            if len(self._known_steps) >= _STEPS:
                self._known_steps.clear()
            self._known_steps[key] = self._read(place, Word(text, text))
        return self._known_steps[key]

    def _read(self, place: WordPlace, word: Word) -> Step | None:
        behind = place.after(word, self._shell)
        if not behind.leads:
            return None
        named = dict.fromkeys((word.plain, word.plain.rpartition("/")[2]))
        begins = tuple(named) if place.begins(word) else ()
        refused = word.plain in KEYWORDS or is_assignment(word)
        behind = self._places.setdefault(behind, behind)
        return Step(word.plain, begins, place.sure, place.grants(word), refused, behind)

    def beginning(self, place: WordPlace) -> tuple[Spelling | None, bool]:
        """Return how the name of a program begins at *place*, and whether rules that allow see it.

        None where whatever word comes may be told to a wrapper.
        """
        word, letters = Word("q7z", "q7z"), (Word(letter, letter) for letter in _FIRST)
        if place.after(word, self._shell).leads:
            return None, False
        told = (each.plain for each in letters if place.after(each, self._shell).leads)
        return Spelling(told=frozenset(told)), place.grants(word)

    def leading(self, patterns: Iterable[Pattern], fresh: str) -> Iterator[str]:
        """Yield words that may lead others, of all that lines with these patterns tell apart.

        Args:
            patterns: of the lines.
            fresh: a character that none of them names.

        """
        patterns = {*patterns}
        pieces = {piece for each in patterns for piece in self._pieces(each)}
        told: dict[str, None] = dict.fromkeys((*_LEADING, fresh))
        if any(self._tells_unknown(each) for each in patterns):
            pieces = {piece for each in patterns for piece in _pieces(each)}
            told[_UNKNOWN] = None
        if any(text.startswith("-") for text, _, _ in pieces):
            told |= dict.fromkeys(_DASHED)
        if any("/" in text for text, _, _ in pieces):
            told |= dict.fromkeys(_SLASHED)
        names = sorted(self.known)
        told |= dict.fromkeys(n for n in names if any(_is_told_apart(n, each) for each in pieces))
        starts, ends = [""], [""]
        for text, before, behind in pieces:
            told[text] = None
            if behind:
                starts.append(f"{fresh}{text}" if before else text)
            if before:
                ends.append(f"{text}{fresh}" if behind else text)
        ways = (fresh, "=7", "/sudo", "/timeout")
        told |= dict.fromkeys(f"{start}{way}" for start in starts[1:] for way in ways)
        told |= dict.fromkeys(f"{way}{end}" for end in ends[1:] for way in (fresh, "Q=7"))
        if len(starts) * len(ends) <= _JOINED:
            both = product(starts[1:], (fresh, "=7"), ends[1:])
            told |= dict.fromkeys(map("".join, both))
        yield from (word for word in told if ACTED_ON.isdisjoint(word) and word[0] != "=")

    def _pieces(self, pattern: Pattern) -> Iterator[_Piece]:
        """Yield the pieces of *pattern* that tell words apart that lead others."""
        return (piece for piece, _ in self._leading_pieces(pattern))

    def _tells_unknown(self, pattern: Pattern) -> bool:
        """Whether *pattern* tells options apart that a wrapper is not known to take."""
        for (text, before, _), place in self._leading_pieces(pattern):
            if place is None:
                if text.startswith("-") or (before and "-" in text):
                    return True
            elif not place.after(Word(text, text), self._shell).sure:
                return True
        return False

    def _leading_pieces(self, pattern: Pattern) -> Iterator[tuple[_Piece, WordPlace | None]]:
        """Yield pieces that tell words apart that lead others, and where each stands, if known.

        A command known by a text begins with the first word of that.
        """
        place: WordPlace | None = WordPlace()
        sets = False
        for piece in _pieces(pattern):
            text, before, behind = piece
            # Behind what sets a variable may be more that a wrapper before it is told.
            if before or behind or place is None or (sets and text.startswith("-")):
                place = None
                yield piece, None
                continue
            following = place.after(Word(text, text), self._shell)
            if not following.leads:
                return
            yield piece, place
            place, sets = following, ASSIGNMENT.match(text) is not None


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


_LETTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_DIGITS: Final = frozenset("0123456789")


@frozen(cache_hash=True)
class Spelling:
    """How much is spelled of the name of a program, one that leads no others.

    Attributes:
        typed: what is behind its last slash, as long as the name of one that does may come of it.
        slashed: whether it has a slash.
        named: whether it may be the name of a variable so far.
        told: the letters that what is told to a wrapper begins with, as long as nothing is spelled.

    """

    typed: str | None = ""
    slashed: bool = False
    named: bool = True
    told: frozenset[str] = frozenset()

    def after(self, letter: str, names: Names) -> Spelling | None:
        """Return how much it is with one more letter; None where it is no such name."""
        if (letter == "=" and self.named) or letter in self.told:
            return None
        typed = "" if letter == "/" else None if self.typed is None else self.typed + letter
        if typed is not None and not any(name.startswith(typed) for name in names.known):
            typed = None
        is_part = letter in _LETTERS or (self.typed != "" and letter in "0123456789+")
        return _spelling(typed, self.slashed or letter == "/", self.named and is_part)

    def leads(self, names: Names) -> bool:
        """Whether it leads others."""
        return self.typed is not None and self.typed in names.known

    def is_keyword(self) -> bool:
        """Whether it is a word of shells."""
        return not self.slashed and self.typed in KEYWORDS


@lru_cache(maxsize=4096)
def _spelling(typed: str | None, *about: bool) -> Spelling:
    slashed, named = about
    return Spelling(typed, slashed, named)
