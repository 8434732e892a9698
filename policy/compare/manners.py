"""How rows read a call: one text stands for one call only where all of them read alike."""

from __future__ import annotations

from functools import lru_cache

from policy.commands.knowledge import Programs
from policy.core.values import evolve
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.row import Row

__all__ = ["manner"]


def manner(row: Row) -> object:
    """Return how *row* reads a call, equal for rows that read every call alike.

    Left out is which folders have letters of their own (`policy.compare.strangers`), where
    any has: else a host does not tell them from others.
    """
    dialect, argument = row.ruleset.dialect, row.argument
    match argument.kind:
        case ArgumentKind.COMMAND:
            waits = dialect.shell.awaited is None
            return argument, _of_commands(dialect), bool(dialect.cased), waits
        case ArgumentKind.PATH:
            folders = dialect.cwd, dialect.home, bool(dialect.cased)
            return argument, *folders, dialect.fold, dialect.links
        case _:
            return argument


@lru_cache(maxsize=256)
def _of_commands(dialect: Dialect) -> Dialect:
    # What a command opens is decided too, below the folders there are: as calls of other tools.
    # And what runs where no rule speaks of it is a comparison of its own.
    shell = dialect.shell
    if not shell.traced:
        shell = evolve(shell, programs=_opening(shell.programs), awaited=None)
    return evolve(dialect, name="", arguments={}, aliases={}, asks=True, cased=(), shell=shell)


@lru_cache(maxsize=16)  # a host has one or two
def _opening(programs: Programs) -> Programs:
    return Programs({name: program.opening for name, program in programs.items()})
