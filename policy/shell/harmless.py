"""Which commands of a script run where no rule speaks of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from policy.shell import variables
from policy.shell.doubts import is_evaluated
from policy.shell.opened import is_home_of_other
from policy.shell.readings import as_granted, is_assignment
from policy.shell.words import SET_BY_SHELL
from policy.shell.wrappers import carries_files, is_quiet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policy.shell.alone import Alone
    from policy.shell.programs import Examined
    from policy.shell.words import Script, Word
    from policy.shells import Shell

__all__ = ["Harmless", "is_harmless", "is_idle", "is_quoted"]


def is_quoted(word: Word) -> bool:
    """Whether a word is not what it is written as."""
    return word.raw != word.plain


class Harmless:
    """Which commands of one script are harmless, told in their order.

    What is put into a word by a command that the script holds is known by the number of that one.
    """

    def __init__(self, text: str, script: Script, shell: Shell) -> None:
        self._text = text
        self._shell = shell
        self._closed = script.closed
        self._opaque = script.opaque
        self._noted: list[bool] = []
        self._reading: list[bool] = []  # and it changes no file either
        # Looked for once: a long command has as many parts as would look for it.
        self._fed = "<<<" in text

    def note(self, *, harmless: bool, edits: bool) -> None:
        """Note of the next command whether it is harmless, and whether it changes files."""
        self._noted.append(harmless)
        self._reading.append(harmless and not edits)

    def is_set(self, word: Word) -> bool:
        """Whether a variable is set, and to what the host can tell, that changes nothing."""
        name = word.raw.partition("=")[0].rstrip("+")
        return (
            not self._opaque
            and is_assignment(word)
            and variables.may_be_set(name, self._shell)
            and (word.literal or (word.vetted and all(self._noted[slice(*word.inner)])))
        )

    def is_harmless(self, command: Alone, *, led: bool) -> bool:
        """Return whether a command is harmless; *led* if its program stands behind a target."""
        known = command.known
        if not command.harmless or known is None or self._opaque or (led and known.leads):
            return False
        if known.told and (self._closed or (self._fed and "$" in self._text)):
            return False
        if self._fed and (known.spelled or _GIVEN_GLOB.search(self._text)):
            return False
        return all(
            word.literal or (word.vetted and self._may_be_put_in(word)) for word in command.words
        )

    def _may_be_put_in(self, word: Word) -> bool:
        """Whether nothing is put into a word but what a command that only reads comes to.

        What a shell sets by itself (`$?`) is left to rules.
        """
        return all(self._reading[slice(*word.inner)]) and not _SET_BY_SHELL.search(word.raw)


# A pattern that is put on the input of a command, where a host looks for one in all of its text.
_GIVEN_GLOB = re.compile(r"<<<[ \t]*[^\s'\"]*[*?\[]")
_SET_BY_SHELL = re.compile(rf"\$[{re.escape(''.join(SET_BY_SHELL))}]")


def is_harmless(
    known: Examined, words: Sequence[Word], program: Sequence[Word], shell: Shell
) -> bool:
    """Return whether a command is harmless by its own words.

    Args:
        known: what is known of the program.
        words: the command.
        program: the same behind its wrappers and assignments.
        shell: what the host knows of commands.

    """
    if not known.harmless or is_evaluated(program):
        return False
    behind = words
    if program is not words:
        behind = as_granted(words, shell, harmless=not known.carried)
    if len(behind) != len(program):
        return False  # behind a wrapper that only rules which deny look through
    around = words[: len(words) - len(program)]
    if known.direct and (around or is_quoted(words[0])):
        return False
    if known.spelled and any(map(is_quoted, words)):
        return False
    if known.carried:
        if not carries_files(words, len(around), shell):
            return False
    elif around and not is_quiet(around, shell, moves=known.moves > 0 or known.internal):
        return False
    if known.listed and around and is_assignment(around[0]) and not is_assignment(around[-1]):
        return False  # its options are looked for behind one of both
    if known.listed and any(is_quoted(word) for word in around if not is_assignment(word)):
        return False
    return not any(map(is_home_of_other, words))


def is_idle(words: Sequence[Word], shell: Shell) -> bool:
    """Whether a command of one word does nothing beyond the shell that runs it."""
    return len(words) == 1 and (words[0].plain in shell.kinds.idle or is_assignment(words[0]))
