"""What a row says of a shell command: part by part, with the files that it opens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from policy.decision import Reason
from policy.effect import Effect
from policy.patterns.automaton import NO_MATCH
from policy.rows.outcome import BY_DEFAULT, HARMLESS, Outcome, doubted, strictness, unsure
from policy.rows.redirection import denies_files, is_unchecked, opened
from policy.rows.unfinished import is_completed
from policy.rows.whole import with_whole
from policy.shell.parts import Command, Part
from policy.shell.readings import MORE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from policy.rows.row import Row

__all__ = ["command_outcome", "idle_outcome", "part_outcome", "unawaited"]

# Parts of which a row keeps what it says, and characters of each: commands have few, and often.
_KEPT: Final = 2048
_LONGEST: Final = 1024


def command_outcome(row: Row, command: Command, limit: int = NO_MATCH) -> Outcome:
    """Return what *row* says of a command that was taken apart: the strictest of all.

    Args:
        row: the row of the tool that runs it.
        command: its parts and redirections.
        limit: an entry of the row that decides in any case; those in front of it may
            decide before.

    """
    outcomes = [part_outcome(row, part, limit) for part in command.parts]
    if command.opaque:
        outcomes = [*outcomes, *_denied(row, command, tuple(outcomes))]
    parts = outcomes
    outcomes = with_whole(
        row,
        command,
        parts,
        [*opened(row, command, parts)],
        lambda: (
            any(is_unchecked(row, file, parts) for file in command.redirections)
            or any(
                part.checked and outcome is row.default
                for part, outcome in zip(command.parts, parts)  # noqa: B905  # denials follow
            )
        ),
    )
    outcomes += unawaited(row, command)
    if command.unread and row.entries:
        outcomes.append(unsure(row.ruleset))  # a rule that might speak of it cannot be asked
    if not command.parts:
        outcomes.append(idle_outcome(row, limit))
    return min(outcomes, key=strictness)


def idle_outcome(row: Row, limit: int) -> Outcome:
    """Return what *row* says where no command runs; for *limit* see `command_outcome`.

    A rule for the whole tool allows that, as it allows any command. No other rule does.
    """
    return part_outcome(row, Part("", grantable=row.default.effect is Effect.ALLOW), limit)


def unawaited(row: Row, command: Command) -> Iterator[Outcome]:
    """Yield what a command gets that nobody waits for, if that is a reason of its own.

    Claude Code 2.1.329 asks for one that it would allow if it had not the rule for every command,
    and runs any other by that rule.
    """
    beside = row.beside if command.awaited else None
    if beside is None:
        return
    if any(command_outcome(beside, each).effect is Effect.ALLOW for each in command.awaited):
        yield unsure(row.ruleset)


def _denied(row: Row, command: Command, outcomes: tuple[Outcome, ...]) -> Iterator[Outcome]:
    """Yield what rules that deny say of parts that a rule in front of them asks for."""
    for part, outcome in zip(command.parts, outcomes, strict=True):
        if outcome.effect is not Effect.ASK or outcome.reason is not Reason.RULE:
            continue
        for index, entry in enumerate(row.entries):
            if (
                entry.effect is Effect.DENY
                and not entry.field
                and any(
                    entry.pattern is None or entry.pattern.matches(text)
                    for text in (part.text, *part.readings, *part.feared)
                )
            ):
                yield row.at(index)
                break


def part_outcome(row: Row, part: Part, limit: int) -> Outcome:
    """Return what *row* says of one simple command; for *limit* see `command_outcome`."""
    if limit != NO_MATCH:
        return _feared_outcome(row, part, limit)
    found = row.parts.get(part)
    if found is None:
        found = _feared_outcome(row, part, limit)
        texts = (part.text, *part.readings, *part.doubtful, *part.written, *part.feared)
        if sum(map(len, texts)) <= _LONGEST:  # a text that is put on an input is one of them
            if len(row.parts) >= _KEPT:
                row.parts.clear()
            row.parts[part] = found
    return found


def _feared_outcome(row: Row, part: Part, limit: int) -> Outcome:
    outcome = _part_outcome(row, part, limit)
    for text in part.feared:
        index = row.first(text)
        if index != NO_MATCH and row.at(index).effect is not Effect.ALLOW:
            outcome = min(outcome, row.at(index), key=strictness)
    return outcome


def _part_outcome(row: Row, part: Part, limit: int) -> Outcome:
    first = min(_granting(row, part), limit)
    # A rule that knows the command under any of its readings holds. Of several it
    # is the strictest, wherever each stands, but where a host ranks its rules.
    known = [index for reading in part.readings if (index := row.first(reading)) != NO_MATCH]
    known = [index for index in known if row.at(index).effect is not Effect.ALLOW]
    granted = row.at(first)
    if known:
        if first != NO_MATCH and granted.effect is not Effect.ALLOW:
            known.append(first)
        ranked = row.ruleset.dialect.shell.control
        granted = row.at(min(known, key=None if ranked else lambda one: (row.at(one).effect, one)))
    if part.written and granted.reason in BY_DEFAULT:
        for text in part.written:
            written = row.first(text + MORE if part.fed else text)
            if written != NO_MATCH and row.at(written).effect is Effect.ALLOW:
                if _is_granted(row, written, text):
                    granted = row.at(written)
                break
    for reading in part.doubtful:
        index = row.first(reading)
        if index != NO_MATCH and row.at(index).effect is Effect.DENY:
            granted = min(granted, doubted(row.ruleset), key=strictness)
    if granted.effect is Effect.ALLOW and limit == NO_MATCH and _is_idle(row, part.text):
        granted = row.default
    is_default = granted is row.default
    if part.harmless and is_default and granted.effect is not Effect.ALLOW:
        if part.blind and denies_files(row, row.ruleset.dialect.shell.files.reads):
            return granted
        return HARMLESS if row.default.reason in BY_DEFAULT else granted
    if granted.effect is Effect.ALLOW and not part.grantable:
        return granted if is_default and row.ruleset.dialect.shell.whole else unsure(row.ruleset)
    return granted


def _is_idle(row: Row, text: str) -> bool:
    """Return whether rules that allow a text say nothing, since the host allows every command.

    A sandbox runs what no rule denies or asks for, and asks none that allows (Claude Code 2.1.329,
    as its text has it): with such a rule it would be less.
    """
    allows = row.default.effect is Effect.ALLOW and row.default.reason in BY_DEFAULT
    return allows and row.ruleset.dialect.shell.whole and not row.is_kept(text)


def _granting(row: Row, part: Part) -> int:
    """Return the first entry that matches a part as rules that allow know it."""
    if part.harmless and not part.text:
        return NO_MATCH  # nothing runs
    first = row.first(part.text)
    goes_on = part.fed or part.extended
    if (part.inexact or goes_on) and first != NO_MATCH and row.at(first).effect is Effect.ALLOW:
        pattern = row.entries[first].pattern
        if pattern is not None and (goes_on or pattern.exact):
            return row.first(part.text + MORE)
    return first if first == NO_MATCH or _is_granted(row, first, part.text) else NO_MATCH


def _is_granted(row: Row, index: int, text: str) -> bool:
    """Return whether an entry that matches a text holds for it."""
    shell, entry = row.ruleset.dialect.shell, row.entries[index]
    if not shell.control or entry.effect is not Effect.ALLOW or entry.pattern is None:
        return True
    return is_completed(entry.pattern, text, shell)
