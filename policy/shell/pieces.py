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
from policy.shell.whole import JOINS, Spelled, Whole

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


@attrs.frozen
class Piece:
    """A simple command that is what it is in every script, and changes nothing for the others.

    Attributes:
        words: what it consists of.
        part: what it comes to.
        redirected: the files of its redirections.
        files: the other files that it opens, as the part of each number that was asked for.
        versioned: whether it looks for a repository.
        plants: whether it may write a file of one.
        bare: what it adds to the bare text of a whole; None where nobody can tell.
        leading: the same where it is the first.
    """

    words: Sequence[Word]
    part: Part
    redirected: Sequence[Redirection]
    files: dict[int, Sequence[Redirection]]
    versioned: bool
    plants: bool
    bare: str | None
    leading: str | None

    def opened(self, number: int) -> Sequence[Redirection]:
        """Return the files that it opens otherwise, as the part of this number."""
        found = self.files.get(number)
        if found is None:
            found = self.files[number] = [
                attrs.evolve(file, part=number) if file.part == 0 else file
                for file in self.files[0]
            ]
        return found


def together(text: str, shell: Shell, read: Callable[[str, Shell], Piece | None]) -> Command | None:
    """Return what a command of such pieces comes to; None for any other, or if nobody can tell.

    Args:
        text: the command.
        shell: what the host knows of commands.
        read: returns what a text is as a piece, None where it is none.

    """
    # What is folded in one piece may stand in another.
    if len(text) > _TOGETHER or "  " in text or "\t" in text:
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
    operators = [operator for _, operator in cut[:-1]]
    whole = _whole(text, pieces, operators, shell) if shell.control else None
    return Command((*parts,), files, whole)


def _whole(text: str, pieces: Sequence[Piece], operators: Sequence[str], shell: Shell) -> Whole:
    spelled = Spelled.APART if "|" in operators else Spelled.AS_A_WHOLE
    first = pieces[0]
    bare = first.leading if operators else None
    for operator, piece in zip(operators, pieces[1:], strict=True):
        bare = None if bare is None or piece.bare is None else bare + JOINS[operator] + piece.bare
    bare = "" if bare == text else bare
    several = bool(operators)
    return Whole(text, first.words, shell, spelled, False, several, False, bare)  # noqa: FBT003


def _piece(text: str, shell: Shell, read: Callable[[str, Shell], Piece | None]) -> Piece | None:
    kept = _kept(shell)
    found = kept.get(text)
    if found is None and text not in kept and len(text) <= _LONGEST:
        found = read(text, shell)
        if len(kept) >= _MOST:
            kept.clear()
        kept[text] = found
    return found


@lru_cache(maxsize=16)
def _kept(shell: Shell) -> dict[str, Piece | None]:  # noqa: ARG001  # what is kept is of this one
    return {}
