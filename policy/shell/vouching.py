"""Which commands of a script a rule may allow: those that every reader takes for the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from policy.shell import doubts
from policy.shell.parts import DIFFER, UNKNOWN, Doubt
from policy.shell.readings import as_written

if TYPE_CHECKING:
    from policy.shell.alone import Alone
    from policy.shell.words import Script, Simple
    from policy.shells import Shell

__all__ = ["Vouching"]


class Vouching:
    """For which commands of one script somebody vouches.

    Attributes:
        doubts: why nobody vouches for others, beside what is doubtful of the script.
        unknown: whether the host cannot tell a word, and so asks no rule before one that denies.
        unchecked: whether one of them is such that nobody vouches for any.
    """

    def __init__(self, text: str, script: Script, shell: Shell) -> None:
        self.doubts: list[Doubt] = []
        self.unknown = self.unchecked = False
        self._text = text
        self._shell = shell
        self._closed = script.closed
        self._opaque = script.opaque
        # Looked for once: a long command has as many parts as would look for it.
        self._equals = " =" in text

    @property
    def is_doubtful(self) -> bool:
        """Whether nobody vouches for one of those that were looked at."""
        return bool(self.doubts) or self.unknown or self.unchecked

    def is_grantable(self, command: Simple, alone: Alone) -> bool:
        """Return whether a rule may allow *command*, which is *alone* by itself."""
        told = self._is_told(alone)
        if self._shell.control:
            return self._is_read_alike(command, alone) and told
        if alone.nameless:
            return self.doubt(alone.granted[0].raw, "is no plain name of a program")
        return told

    def doubt(self, text: str, why: str) -> Literal[False]:
        """Note why nobody vouches for *text*."""
        self.doubts.append(Doubt(text, why))
        return False

    def uncheck(self, text: str, why: str) -> None:
        """Note why nobody vouches for any command beside *text*."""
        self.unchecked = True
        self.doubts.append(Doubt(text, why))

    def _is_told(self, alone: Alone) -> bool:
        """Whether all that stands in a command is known."""
        if alone.untold is not None:
            self.unknown = True
            return not self._opaque and self.doubt(alone.untold.raw, UNKNOWN)
        if self._opaque:
            return False
        if alone.differs or not (self._shell.folding or as_written(alone.words) in self._text):
            return self.doubt(as_written(alone.words), DIFFER)
        return True

    def _is_read_alike(self, command: Simple, alone: Alone) -> bool:
        """Whether a host that looks into commands reads this one as every shell does."""
        words, alike = alone.words, True
        if command.reworded and self._closed:
            alike = self.doubt(as_written(words), DIFFER)
        if command.led:
            alike = self.doubt(as_written(words), "stands behind its redirection")
        if alone.nameless:
            alike = self.doubt(alone.granted[0].raw, "is no name of a program")
        if alone.unchecked:
            self.uncheck(as_written(words), _CHANGES)
        if self._equals and doubts.has_half_assignment(words):
            self.uncheck(as_written(words), DIFFER)
        return alike


_CHANGES = "may change how the rest is read, or run what it names"
