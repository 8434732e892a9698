"""What a row says of a command piece by piece: why the whole of it got what it got."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import attrs

from policy.calls import Unreadable, argument_text
from policy.decision import Does
from policy.dialect import ArgumentKind
from policy.rows.command import idle_outcome, part_outcome, unawaited
from policy.rows.outcome import HARMLESS, Outcome, strictness, unsure
from policy.rows.redirection import opened
from policy.shell.parts import Command, Doubt, Redirection
from policy.shell.powershell import read_powershell
from policy.shell.words import in_home

if TYPE_CHECKING:
    from policy.rows.row import ReadCommand, Row

__all__ = ["Piece", "account"]


@attrs.frozen
class Piece:
    """What a command does, of which simple command or file, and what a row says of that.

    Attributes:
        does: which kind of thing.
        text: of what; "" where that is not known.
        outcome: what the row says.
        why: of what nobody vouches for, why not.
    """

    does: Does
    text: str
    outcome: Outcome
    why: str = ""


def account(row: Row, call: Mapping[str, object], read: ReadCommand) -> tuple[Piece, ...]:
    """Return the pieces of the command that *call* runs, in their order, each once.

    Nothing of a call that is no command, or that all of *row* decides alike; pieces that
    every policy lets pass are left out. The strictest of them is what the row says of the
    call, unless a rule spells out the command as a whole.

    Args:
        row: of the tool.
        call: its arguments.
        read: `read_command`, or what remembers its answers.

    """
    command = _command(row, call, read)
    if command is None or row.constant is not None:
        return ()
    return tuple({(p.does, p.text): p for p in _pieces(row, command, call)}.values())


def _command(row: Row, call: Mapping[str, object], read: ReadCommand) -> Command | None:
    dialect, kind = row.ruleset.dialect, row.argument.kind
    if kind not in (ArgumentKind.COMMAND, ArgumentKind.POWERSHELL):
        return None
    try:
        text = argument_text(row.argument, dialect, call)
    except Unreadable:
        return None
    if kind is ArgumentKind.POWERSHELL:
        return read_powershell(text, dialect.commands)
    return read(text, dialect.shell)


def _pieces(row: Row, command: Command, call: Mapping[str, object]) -> Iterator[Piece]:
    limit = row.first_parameter(call)
    said = [(part, part_outcome(row, part, limit)) for part in command.parts]
    for part, outcome in said:
        if part.text:
            yield Piece(Does.RUNS, part.text, outcome)
    doubted = unsure(row.ruleset)
    hidden = [outcome for part, outcome in said if not part.text or outcome is doubted]
    for file, outcome in opened(row, command, [outcome for _, outcome in said]):
        if file.guarded:
            hidden.append(outcome)
        elif outcome is not HARMLESS:
            control = row.ruleset.dialect.shell.control
            name = in_home(file.target or "", "$HOME", control=control)
            yield Piece(_does(row, file), name, outcome)
    hidden += unawaited(row, command)
    if command.unread and row.entries:
        hidden.append(doubted)
    if not command.parts:
        hidden.append(idle_outcome(row, limit))
    strictest = min(hidden, key=strictness, default=HARMLESS)
    if strictest is not HARMLESS:
        for doubt in command.doubts or _ANY:
            yield Piece(Does.HIDES, doubt.text, strictest, doubt.why)


_ANY: Final = (Doubt("", ""),)


def _does(row: Row, file: Redirection) -> Does:
    shell = row.ruleset.dialect.shell
    if file.tool and file.tool == shell.files.removes:
        return Does.REMOVES
    return Does.WRITES if file.writes else Does.READS
