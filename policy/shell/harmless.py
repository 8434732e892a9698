"""Whether a command runs where no rule speaks of it, by what stands around its program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policy.shell.doubts import is_evaluated
from policy.shell.opened import is_home_of_other
from policy.shell.readings import as_granted, is_assignment
from policy.shell.wrappers import carries_files, is_quiet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policy.shell.programs import Examined
    from policy.shell.words import Word
    from policy.shells import Shell

__all__ = ["is_harmless", "is_idle", "is_quoted"]


def is_quoted(word: Word) -> bool:
    """Whether a word is not what it is written as."""
    return word.raw != word.plain


def is_harmless(
    known: Examined, words: Sequence[Word], program: Sequence[Word], shell: Shell, *, fed: bool
) -> bool:
    """Return whether a command is harmless, but for what is put into its words.

    Args:
        known: what is known of the program.
        words: the command.
        program: the same behind its wrappers and assignments.
        shell: what the host knows of commands.
        fed: whether a text is put on its input.

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
    if known.spelled and (fed or any(map(is_quoted, words))):
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
