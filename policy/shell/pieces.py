"""Commands whose parts do nothing to one another, put together of what each is by itself.

`git status && npm test 2>&1 | tail -5`: what each of the three comes to follows from its own
text, whatever stands beside it, so it is read once and kept. Agents repeat few of them in ever
other commands. That such a command comes to what it is when all of it is read is a law
(`tests/test_pieces.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import attrs

from policy.shell.parts import Command, Part, Redirection
from policy.shell.whole import Spelled, Whole

if TYPE_CHECKING:
    from policy.shell.words import Word
    from policy.shells import Shell

__all__ = ["Piece", "together"]

# Quotes hold nothing that a reader who loses count of them could take for the end of a piece,
# or for something that reaches into another.
_QUOTED: Final = r"'[^'\"\\`#<>\n]*+'|\"[^'\"\\`$#<>\n]*+\""
_CUT: Final = re.compile(
    rf"((?:[^'\"&|;\n\\]++|{_QUOTED}|(?<=>)&|&(?=>))++)(&&|\|\|?|;|\n|\Z)",
)
# The longest piece that is kept, and how many.
_LONGEST: Final = 256
_MOST: Final = 2048
# The longest command that is looked at for them, and how many it may have.
_TOGETHER: Final = 8192
_MOST_TOGETHER: Final = 64


class Piece:
    """A simple command that is what it is in every script, and changes nothing for the others.

    Attributes:
        words: what it consists of.
        part: what it comes to.
        redirected: the files of its redirections.
        versioned: whether it looks for a repository.
        plants: whether it may write a file of one.
    """

    __slots__ = ("_opened", "part", "plants", "redirected", "versioned", "words")

    def __init__(
        self,
        words: Sequence[Word],
        part: Part,
        files: tuple[Sequence[Redirection], Sequence[Redirection]],
        *,
        versioned: bool,
        plants: bool,
    ) -> None:
        self.words = words
        self.part = part
        self.redirected, opened = files
        self.versioned = versioned
        self.plants = plants
        self._opened = {0: opened}

    def opened(self, number: int) -> Sequence[Redirection]:
        """Return the files that it opens otherwise, as the part of this number."""
        found = self._opened.get(number)
        if found is None:
            found = self._opened[number] = [
                attrs.evolve(file, part=number) if file.part == 0 else file
                for file in self._opened[0]
            ]
        return found


_UNREAD: Final = Piece((), Part(""), ((), ()), versioned=False, plants=False)


def together(text: str, shell: Shell, read: Callable[[str, Shell], Piece | None]) -> Command | None:
    """Return what a command of such pieces comes to; None for any other, or if nobody can tell.

    Args:
        text: the command.
        shell: what the host knows of commands.
        read: returns what a text is as a piece, None where it is none.

    """
    if len(text) > _TOGETHER or "  " in text:  # what is folded in one piece may stand in another
        return None
    cut = _CUT.findall(text)
    if not 0 < len(cut) <= _MOST_TOGETHER or cut[-1][1]:
        return None
    if sum([len(piece) + len(operator) for piece, operator in cut]) != len(text):
        return None
    pieces: list[Piece] = []
    for piece, _ in cut:
        found = _piece(piece.strip(" \t"), shell, read)
        if found is None:
            return None
        pieces.append(found)
    if any(one.versioned for one in pieces) and any(one.plants for one in pieces):
        return None  # it makes a repository that it runs a program in
    parts: list[Part] = []
    redirected: list[Redirection] = []
    opened: list[Redirection] = []
    for number, piece in enumerate(pieces):
        parts.append(piece.part)
        redirected += piece.redirected
        opened += piece.opened(number)
    files = (*redirected, *opened)
    if not shell.control:
        return Command((*parts,), files)
    split = "|" in [operator for _, operator in cut]
    spelled = Spelled.APART if split else Spelled.AS_A_WHOLE
    first, several = pieces[0].words, len(pieces) > 1
    whole = Whole(text, first, shell, spelled, astray=False, several=several, doubtful=False)
    return Command((*parts,), files, whole)


def _piece(text: str, shell: Shell, read: Callable[[str, Shell], Piece | None]) -> Piece | None:
    kept = _kept(shell)
    found = kept.get(text, _UNREAD)
    if found is _UNREAD:
        found = read(text, shell) if len(text) <= _LONGEST else None
        if len(text) <= _LONGEST:
            if len(kept) >= _MOST:
                kept.clear()
            kept[text] = found
    return found


@lru_cache(maxsize=16)
def _kept(shell: Shell) -> dict[str, Piece | None]:  # noqa: ARG001  # what is kept is of this one
    return {}
