"""The scripts that stand in the arguments of a script's commands: `bash -c 'rm x'`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from policy.shell.parts import Command, Redirection
from policy.shell.readings import as_written
from policy.shell.removing import (
    is_unjudged,
    judged,
    removes,
    seems_to_remove,
)
from policy.shell.shell_scripts import unread_options
from policy.shell.targets import GUARDED
from policy.shell.words import Script, Word
from policy.shells import Shell

if TYPE_CHECKING:
    from policy.shell.alone import Alone

__all__ = ["Inner", "changes_folder", "gives_removal"]

# Programs that change the folder of what follows.
_MOVERS = frozenset("cd chdir pushd popd".split())

# Changes of the folder that are followed into a script; behind more nobody knows where it runs.
_FOLLOWED = 8

# Scripts within one another that are judged; what removes files in more is asked for.
_JUDGED = 2


def changes_folder(program: Sequence[Word]) -> bool:
    """Return whether what follows a command may run in another folder."""
    return program[0].plain in _MOVERS


def gives_removal(program: Sequence[Word]) -> bool:
    """Return whether a shell is given what removes files, by options that no host knows."""
    given = unread_options(program)
    return given is not None and removes(given)


class Inner:
    """What the scripts in arguments come to, each where the commands before it lead."""

    def __init__(self, script: Script, shell: Shell, read: Callable[[str, Shell], Command]) -> None:
        self._script = script
        self._shell = shell
        self._read = read
        self._moved: list[str] = []
        self.depth = 0  # of scripts within one another, where the innermost removes files

    def follow(self, program: Sequence[Word]) -> None:
        """Note a command that changes the folder."""
        self._moved.append(as_written(program) + "\n")

    def suspects(self, command: Alone) -> bool:
        """Return whether a command seems to run a script that removes files, and nobody checks it.

        It may be one that is not understood.
        """
        if not self._shell.kinds.scripted:
            return False
        return command.suspect or (
            self._script.opaque and seems_to_remove(command.words, self._script)
        )

    def look(
        self, text: str, words: Sequence[Word], *, aside: bool
    ) -> tuple[tuple[str, ...], list[Redirection]]:
        """Return what is doubtful of a script, and the files that it opens.

        Args:
            text: the script.
            words: the command that runs it.
            aside: whether that stands where no host follows it.

        """
        shell = self._shell
        whole = bool(shell.kinds.scripted) and removes(text)
        # One that removes files is judged where the commands before it lead.
        lost = whole and len(self._moved) > _FOLLOWED
        before = "".join(self._moved) if whole and not lost else ""
        inside = self._read(before + text, shell)
        readings, files = judged(inside, shell, whole=whole)
        depth = inside.removing + 1 if whole or inside.removing else 0
        self.depth = max(self.depth, depth)
        lacks = depth > _JUDGED or (whole and is_unjudged(text, words))
        broken = self._script.broken or aside
        is_aside = broken and any(file.tool == shell.files.removes for file in files)
        return readings, [*files, *[GUARDED] * (is_aside or lacks or lost)]
