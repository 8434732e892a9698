"""Whether a command makes of its folder a repository that it then runs a program in.

Who writes `HEAD`, `hooks` and the like where a program looks for its repository tells it
which hooks to run: a host vouches for no such command, in whichever order its parts stand.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policy.shell.words import Target, Word
    from policy.shells import Shell

__all__ = ["looks_for_one", "planted", "plants"]


def plants(names: Iterable[str], targets: Iterable[Target], shell: Shell) -> bool:
    """Return whether one of the files that are written is one of a repository.

    Args:
        names: those that commands write (`planted`).
        targets: the files of redirections.
        shell: what the host knows of commands.

    """
    own = _expression(shell.kinds.repository)
    written = (target.name for target in targets if target.writes and target.name)
    return any(own.fullmatch(_relative(name, shell)) for name in chain(names, written))


def looks_for_one(program: Sequence[Word], shell: Shell) -> bool:
    """Return whether a program, behind its wrappers, looks for a repository."""
    if not shell.kinds.repository:
        return False
    names = program if program[0].plain == "xargs" else program[:1]
    return any(word.plain in shell.kinds.versioning for word in names)


def planted(program: Sequence[Word], shell: Shell) -> tuple[str, ...]:
    """Return the names of the files that a program may write, behind its wrappers."""
    if posixpath.basename(program[0].plain) not in shell.kinds.planting:
        return ()
    operands = [word.plain for word in program[1:] if not word.plain.startswith("-")]
    if operands and _relative(operands[-1], shell).startswith("."):
        # Of a folder, what is put into it has the name that it had.
        return (*operands, *(posixpath.basename(name.rstrip("/")) for name in operands))
    return tuple(operands)


def _relative(name: str, shell: Shell) -> str:
    """Return a name as it is known in the working folder, in small letters."""
    path = posixpath.normpath(name)
    if shell.cwd and path.startswith("/"):
        path = posixpath.relpath(path, shell.cwd)
    return path.lower()


@lru_cache(maxsize=16)
def _expression(text: str) -> re.Pattern[str]:
    return re.compile(text, re.DOTALL)
