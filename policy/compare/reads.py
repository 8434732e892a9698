"""Commands as shells read them, those of plain words once for all that read them alike.

What is known of programs is looked up by the words of a command. Shells that know the same of
each word read it alike, e.g. the modes of a host, which differ in some programs. What is known of
those that nobody waits for counts where there is a `&`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from policy.commands.knowledge import Programs, Shell
from policy.commands.parts import Command
from policy.commands.reader import read_command
from policy.core import expressions as re
from policy.core import limits
from policy.core.values import evolve

__all__ = ["read_alike"]

# Of these letters no shell makes another word than stands there.
_PLAIN: Final = re.compile(r"[\w $<>&|;()/=+-]*")
_WORDS: Final = re.compile(r"[\w+-]+")

_READ: Final[dict[object, Command]] = {}


def read_alike(text: str, shell: Shell) -> Command:
    """Return what `read_command` does."""
    if not _PLAIN.fullmatch(text) or (shell.cwd and shell.cwd in text):
        return read_command(text, shell)
    known = shell.programs.known
    same = _of_waited(shell) if "&" not in text else _without_programs(shell)
    key = text, same, tuple(map(known.get, _WORDS.findall(text)))
    command = _READ.get(key)
    if command is None:
        if len(_READ) >= limits.CACHE_ENTRIES:
            _READ.clear()
        command = _READ[key] = read_command(text, shell)
    return command


@lru_cache(maxsize=64)
def _without_programs(shell: Shell) -> Shell:
    return evolve(shell, programs=Programs(), cwd="")


@lru_cache(maxsize=64)
def _of_waited(shell: Shell) -> Shell:
    return evolve(_without_programs(shell), awaited=None)
