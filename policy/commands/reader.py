"""Readers of shell commands: what tables ask for the parts of a command.

A `Shell` is data and names its reader: the plain one (`policy.commands.read`), or that of a host.
The latter is the package `policy.hosts.NAME.shell`, imported when it is first needed. Most commands
are a program and plain words, and end here; no reader is imported for them.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from policy.commands.compound import is_plain
from policy.commands.knowledge import Shell
from policy.commands.parts import Command, CommandPart
from policy.core.values import Any, Final, Protocol

__all__ = ["CommandReader", "host_shell", "read_command", "reader_of"]


class CommandReader(Protocol):
    """Reads the commands of one host."""

    def read(self, text: str) -> Command:
        """Return the parts of a command and the files it opens. Never fails."""


@lru_cache(maxsize=64)
def reader_of(shell: Shell) -> CommandReader:
    """Return the reader that *shell* names."""
    if shell.reader:
        reader: CommandReader = host_shell(shell.reader).Reader(shell)
        return reader
    from policy.commands.read import PlainReader  # noqa: PLC0415  # for these commands alone

    return PlainReader(shell)


def host_shell(name: str) -> Any:  # the module of a host
    """Return the package by which the host *name* reads commands.

    It has `Reader`, `CommandRules`, by which rows decide what that reads, and `read_powershell`
    where a tool of the host takes such commands.
    """
    return import_module(f"policy.hosts.{name}.shell")


def read_command(text: str, shell: Shell) -> Command:
    """Return what the reader of *shell* reads. Never fails."""
    if not 0 < shell.longest < len(text) and is_plain(text, shell):
        return Command((CommandPart(text),))
    return (_read_short if len(text) <= _SHORT else _read)(text, shell)


def _read(text: str, shell: Shell) -> Command:
    return reader_of(shell).read(text)


# Every table of a chain asks for the same reading, and commands come again.
_SHORT: Final = 1024
_read_short = lru_cache(maxsize=512)(_read)
