"""The changes of folder that a script makes, and what comes of several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from policy.shell.folders import Folders, way_to_itself
from policy.shell.parts import Redirection
from policy.shell.programs import Examined
from policy.shell.words import Word
from policy.shells import Shell

__all__ = ["SEVERAL", "Moves"]

# Folders that a command goes to, so that nobody knows which it is in: it is asked for.
SEVERAL: Final = 2

# What stands in one of these is looked at for itself.
_APART: Final = re.compile(r"(?<!\|)\|(?!\|)|\(|`")


class Moves:
    """The changes of folder of a script, as far as its commands were looked at.

    Attributes:
        count: how many there are.
        folders: those that what follows may run in.
        stays: whether a command must follow none of them to be harmless.
        relative: whether a command reads a file by a name that depends on its folder.

    """

    def __init__(self, text: str, shell: Shell) -> None:
        self._text = text
        self._shell = shell
        self.count = 0
        self.folders = Folders()
        self.stays = False
        self.relative = False
        self._still = 0  # of these, those to the folder that it is in
        self._entered: list[Sequence[Redirection]] = []  # by each command that goes elsewhere

    def look(self, known: Examined, words: Sequence[Word], *, first: bool) -> None:
        """Note the changes of folder of a command; *first* if it is the first of the script."""
        self.count += known.moves
        if known.still:
            way = way_to_itself(words, self._text, self._shell.cwd, first=first)
            self.count += not way.is_none
            self._still += way.is_plain and not way.is_none
        self.stays |= known.stays
        self.relative |= known.relative

    def enter(
        self, known: Examined, program: Sequence[Word], opened: Sequence[Redirection]
    ) -> None:
        """Note the folders that a command goes to, which are among the files it *opened*."""
        if known.moves:
            apart = known.moves == 1 or program[1].plain[:1] not in ("/", "~")
            self._entered.append(opened if apart else ())

    @property
    def none(self) -> bool:
        """Whether no command changes the folder, not even to the one that it is in."""
        return not self.count and self.folders == Folders()

    @property
    def scatter(self) -> bool:
        """Whether nobody knows in which of several folders a command runs that it matters for."""
        return self.count > 1 or (self.count > self._still and self.stays)

    def looked_at(self, files: list[Redirection]) -> list[Redirection]:
        """Return *files* without the folders gone to, where it is asked for before these are."""
        if self.count < SEVERAL or not (len(self._entered) == 1 or not _APART.search(self._text)):
            return files
        entered = {id(file) for opened in self._entered for file in opened}
        return [file for file in files if id(file) not in entered]
