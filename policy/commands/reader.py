"""Readers of shell commands: what tables ask for the parts of a command.

A host is one `Shell`, which is data, and so one reader. Most commands are a program and plain
words, and end here; the others need the grammar and the modules around it, which are imported
when the first of them is read.
"""

from __future__ import annotations

from functools import lru_cache

from policy.commands.compound import is_plain
from policy.commands.knowledge import Shell
from policy.commands.parts import Command, CommandPart
from policy.core.values import Protocol, frozen

__all__ = [
    "CommandReader",
    "ShellReader",
    "read_command",
    "reader_of",
]


class CommandReader(Protocol):
    """Reads the commands of one host."""

    def read(self, text: str) -> Command:
        """Return the parts of a command and the files it opens. Never fails."""


@frozen
class ShellReader:
    """Reads commands as the host of a `Shell` does."""

    shell: Shell

    def read(self, text: str) -> Command:
        """Return the parts of a command and the files it opens. Never fails."""
        shell = self.shell
        if not 0 < shell.longest < len(text) and is_plain(text, shell):
            return Command((CommandPart(text),))
        from policy.commands.read import read_whole  # noqa: PLC0415  # for these commands alone

        return read_whole(text, shell)


@lru_cache(maxsize=64)
def reader_of(shell: Shell) -> CommandReader:
    """Return the reader of the host that *shell* is of."""
    return ShellReader(shell)


def read_command(text: str, shell: Shell) -> Command:
    """Return what the reader of *shell* reads."""
    return reader_of(shell).read(text)
