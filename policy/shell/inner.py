"""The scripts that stand in the arguments of a script's commands: `bash -c 'rm x'`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from policy.shell.parts import Command, Redirection
from policy.shell.readings import as_written
from policy.shell.removing import judged, lacks_arguments, removes, seems_to_remove
from policy.shell.targets import GUARDED
from policy.shell.words import Script, Word
from policy.shells import Shell

__all__ = ["Inner", "changes_folder"]

# Programs that change the folder of what follows.
_MOVERS = frozenset("cd chdir pushd popd".split())

# Changes of the folder that are followed into a script; behind more nobody knows where it runs.
_FOLLOWED = 8


def changes_folder(program: Sequence[Word]) -> bool:
    """Return whether what follows a command may run in another folder."""
    return program[0].plain in _MOVERS


class Inner:
    """What the scripts in arguments come to, each where the commands before it lead."""

    def __init__(self, script: Script, shell: Shell, read: Callable[[str, Shell], Command]) -> None:
        self._script = script
        self._shell = shell
        self._read = read
        self._moved: list[str] = []

    def follow(self, program: Sequence[Word]) -> None:
        """Note a command that changes the folder."""
        self._moved.append(as_written(program) + "\n")

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
        # Where the text around it is not understood, nobody checks what is removed in it.
        differs = self._script.opaque and seems_to_remove(words, self._script)
        lacks = whole and lacks_arguments(text, words)
        broken = self._script.broken or aside
        is_aside = broken and any(file.tool == shell.files.removes for file in files)
        return readings, [*files, *[GUARDED] * (is_aside or differs or lacks or lost)]
