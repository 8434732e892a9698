"""Which commands of a script a rule may allow: those that every reader takes for the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from policy import limits
from policy.shell import doubts
from policy.shell.harmless import is_quoted
from policy.shell.parts import DIFFER, UNKNOWN, Doubt
from policy.shell.readings import KEYWORDS, as_written, is_assignment, is_expanded
from policy.shell.words import Script, Simple, Word
from policy.shell.wrappers import basename
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

    def is_grantable(
        self, command: Simple, program: Sequence[Word], granted: Sequence[Word]
    ) -> bool:
        """Whether a rule may allow *command*.

        Args:
            command: the command.
            program: the same behind its wrappers and assignments.
            granted: the same behind what rules that allow pass over.

        """
        told = self._is_told(command.words, program)
        if self._shell.control:
            return self._is_read_alike(command, program, granted) and told
        name = granted[0]
        if name.raw in KEYWORDS or is_assignment(name) or is_quoted(name):
            return self.doubt(name.raw, "is no plain name of a program")
        return told

    def doubt(self, text: str, why: str) -> Literal[False]:
        """Note why nobody vouches for *text*."""
        self.doubts.append(Doubt(text, why))
        return False

    def uncheck(self, text: str, why: str) -> None:
        """Note why nobody vouches for any command beside *text*."""
        self.unchecked = True
        self.doubts.append(Doubt(text, why))

    def _is_told(self, words: Sequence[Word], program: Sequence[Word]) -> bool:
        """Whether all that stands in a command is known."""
        for word in words:
            if not (word.literal or word.vetted):
                self.unknown = True
                return not self._opaque and self.doubt(word.raw, UNKNOWN)
        if self._opaque:
            return False
        around = len(words) - len(program)
        if (
            around >= limits.NESTING
            or doubts.is_evaluated(program)
            or any(map(is_expanded, words[: around + 1]))
            or (len(words) > 1 and all(map(is_assignment, words)))
            or not (self._shell.folding or as_written(words) in self._text)
        ):
            return self.doubt(as_written(words), DIFFER)
        return True

    def _is_read_alike(
        self, command: Simple, program: Sequence[Word], granted: Sequence[Word]
    ) -> bool:
        """Whether a host that looks into commands reads this one as every shell does."""
        words, name, alike = command.words, granted[0], True
        if command.reworded and self._closed:
            alike = self.doubt(as_written(words), DIFFER)
        if command.led:
            alike = self.doubt(as_written(words), "stands behind its redirection")
        odd = ("", "}") if self._shell.kinds.optioned else ("", "-", "}")
        if not name.literal or "$" in name.raw or name.plain[:1] in odd:
            alike = self.doubt(name.raw, "is no name of a program")
        if (
            program is not words
            or basename(program[0].plain) in self._shell.kinds.odd
            or any("/environ" in word.plain for word in words)
            or name.plain[:1] == "-"
            or "=" in name.plain
        ) and doubts.is_unchecked(words, self._shell):
            self.uncheck(as_written(words), _CHANGES)
        if self._equals and doubts.has_half_assignment(words):
            self.uncheck(as_written(words), DIFFER)
        return alike


_CHANGES = "may change how the rest is read, or run what it names"
