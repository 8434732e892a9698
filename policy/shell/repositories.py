"""Whether a command makes of its folder a repository that it then runs a program in.

Who writes `HEAD`, `hooks` and the like where a program looks for its repository tells it
which hooks to run: a host vouches for no such command, in whichever order its parts stand.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policy.shell.words import Target, Word
    from policy.shells import Shell

__all__ = ["plants"]


def plants(programs: Sequence[Sequence[Word]], targets: Iterable[Target], shell: Shell) -> bool:
    """Return whether files of a repository are written beside a program that looks for one.

    Args:
        programs: the programs that run, behind their wrappers, with their arguments.
        targets: the files of redirections.
        shell: what the host knows of commands.

    """
    repository = shell.kinds.repository
    if not repository or not any(_looks_for_one(program, shell) for program in programs):
        return False
    own = _expression(repository)
    return any(own.fullmatch(_relative(name, shell)) for name in _written(programs, targets, shell))


def _looks_for_one(program: Sequence[Word], shell: Shell) -> bool:
    names = program if program[0].plain == "xargs" else program[:1]
    return any(word.plain in shell.kinds.versioning for word in names)


def _written(
    programs: Iterable[Sequence[Word]], targets: Iterable[Target], shell: Shell
) -> Iterator[str]:
    yield from (target.name for target in targets if target.writes and target.name)
    for program in programs:
        if posixpath.basename(program[0].plain) not in shell.kinds.planting:
            continue
        operands = [word.plain for word in program[1:] if not word.plain.startswith("-")]
        yield from operands
        if operands and _relative(operands[-1], shell).startswith("."):
            # Of a folder, what is put into it has the name that it had.
            yield from (posixpath.basename(name.rstrip("/")) for name in operands)


def _relative(name: str, shell: Shell) -> str:
    """Return a name as it is known in the working folder, in small letters."""
    path = posixpath.normpath(name)
    if shell.cwd and path.startswith("/"):
        path = posixpath.relpath(path, shell.cwd)
    return path.lower()


@lru_cache(maxsize=16)
def _expression(text: str) -> re.Pattern[str]:
    return re.compile(text, re.DOTALL)
