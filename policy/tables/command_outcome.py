"""The outcome of a row for a shell command: for each part, and each file that it opens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from policy.commands.reader import (
    Ambiguity,
    Command,
    CommandPart,
    Redirection,
    host_shell,
    in_home,
    read_command,
    why_no_command,
)
from policy.core.decision import Does, Reason
from policy.core.effect import Effect
from policy.core.values import TYPE_CHECKING, Final
from policy.patterns.automaton import NO_MATCH
from policy.patterns.pattern import Pattern
from policy.patterns.tokens import Gap
from policy.tables.calls import Unreadable, argument_text
from policy.tables.dialect import ArgumentKind
from policy.tables.file_outcome import named_outcome
from policy.tables.row import HARMLESS, Outcome, strictness, unsure

if TYPE_CHECKING:
    from policy.tables.dialect import Dialect
    from policy.tables.row import Row


def decide_command(row: Row, text: str, last: int) -> Outcome:
    """Return the outcome of *row* for the command *text*.

    *last* is the number of the first entry that matches another argument of the call, or NO_MATCH;
    no entry behind it counts.
    """
    command = _read(text, row.argument.kind, row.ruleset.dialect)
    return evaluator_of(row).command_outcome(row, command, last)


def _read(text: str, kind: ArgumentKind, dialect: Dialect) -> Command:
    if kind is not ArgumentKind.POWERSHELL:
        return read_command(text, dialect.shell)
    shell = host_shell(dialect.shell.reader)
    command: Command = shell.read_powershell(text, dialect.commands)
    return command


def evaluator_of(row: Row) -> CommandEvaluator:
    """Return the evaluator with which the host of *row* decides commands."""
    return _evaluator(row.ruleset.dialect.shell.reader)


@cache
def _evaluator(reader: str) -> CommandEvaluator:
    found: CommandEvaluator = host_shell(reader).Evaluator() if reader else CommandEvaluator()
    return found


# What an outcome is for: a part, a file that a command opens, or (None) the command as a whole.
Subject = CommandPart | Redirection | None


class CommandEvaluator:
    """Decides a command by its parts and files, the strictest first; a host may derive from it."""

    def command_outcome(self, row: Row, command: Command, last: int) -> Outcome:
        """Return the outcome of *row* for a command; for *last* see `decide_command`."""
        found = [*self.outcomes(row, command, last)]
        if command.opaque:
            found += [(None, outcome) for outcome in _denied(row, found)]
        return min(self.whole_outcomes(row, command, found), key=strictness)

    def outcomes(self, row: Row, command: Command, last: int) -> Iterator[tuple[Subject, Outcome]]:
        """Yield the outcome of *row* for each part, each file that counts, and the rest."""
        parts = [(part, self.part_outcome(row, part, last)) for part in command.parts]
        yield from parts
        yield from self.opened(row, command, [outcome for _, outcome in parts])
        for outcome in self.in_background(row, command):
            yield None, outcome
        if command.unread and row.entries:
            yield None, unsure(row.ruleset)  # a rule that might match it cannot be asked
        if not command.parts:
            # Only a rule for the whole tool allows a command that runs nothing.
            nothing = CommandPart("", grantable=row.default.effect is Effect.ALLOW)
            yield None, self.part_outcome(row, nothing, last)

    def whole_outcomes(
        self,
        row: Row,  # noqa: ARG002
        command: Command,  # noqa: ARG002
        found: Sequence[tuple[Subject, Outcome]],
    ) -> list[Outcome]:
        """Return those outcomes in *found* that count for the whole command."""
        return [outcome for _, outcome in found]

    def in_background(self, row: Row, command: Command) -> Iterator[Outcome]:  # noqa: ARG002
        """Yield the outcome for a background command, if the host has a rule about those."""
        yield from ()

    def part_outcome(self, row: Row, part: CommandPart, last: int) -> Outcome:
        """Return the outcome of *row* for one simple command; for *last* see `decide_command`."""
        granted = self.known_outcome(row, part, min(row.first(part.text), last))
        if granted.effect is Effect.ALLOW and not part.grantable:
            return unsure(row.ruleset)
        return granted

    def known_outcome(self, row: Row, part: CommandPart, first: int) -> Outcome:
        """Return the outcome of *row* for all texts of a part; *first* is the entry for `text`.

        A rule that denies or asks counts if it matches any of the texts; the strictest one decides.
        """
        if not (part.match_texts or part.possible_texts):
            return row.at(first)
        stopping = _stopping(row, (first, *map(row.first, part.match_texts)))
        strictest = min(stopping, key=lambda n: (row.at(n).effect, n), default=first)
        possible = _stopping(row, map(row.first, part.possible_texts))
        return min(map(row.at, (strictest, *possible)), key=strictness)

    def opened(
        self,
        row: Row,
        command: Command,
        outcomes: Sequence[Outcome],  # noqa: ARG002
    ) -> Iterator[tuple[Redirection, Outcome]]:
        """Yield the files that a command opens, each with the outcome of *row* for it.

        Args:
            row: the row of the tool that runs it.
            command: its redirections.
            outcomes: those of the row for the parts of the command.
        """
        for redirection in command.redirections:
            yield redirection, self.file_outcome(row, redirection)

    def file_outcome(self, row: Row, file: Redirection) -> Outcome:
        """Return the outcome for a file that a command opens; *row* is that of its tool."""
        files = row.ruleset.dialect.shell.files
        tool = file.tool or (files.output if file.writes else files.input)
        if not tool:
            return HARMLESS
        opening = row.opening(tool)
        if opening.constant is not None:
            return opening.constant
        if file.target is None:
            return unsure(row.ruleset)
        return named_outcome(opening, file.target)[1]

    def is_hidden(self, file: Redirection) -> bool:  # noqa: ARG002
        """Return whether a file has no name that an account could give."""
        return False


def _stopping(row: Row, entries: Iterable[int]) -> list[int]:
    """Return those of the entries that deny or ask."""
    return [n for n in entries if n != NO_MATCH and row.at(n).effect is not Effect.ALLOW]


def _denied(row: Row, found: Iterable[tuple[Subject, Outcome]]) -> Iterator[Outcome]:
    """Yield the outcomes of rules that deny a part, behind a rule that asks for it."""
    for part, outcome in found:
        asked = outcome.effect is Effect.ASK and outcome.reason is Reason.RULE
        if asked and isinstance(part, CommandPart):
            texts = (part.text, *part.match_texts, *part.possible_texts)
            yield from (
                row.at(index)
                for index, entry in enumerate(row.entries)
                if entry.effect is Effect.DENY and entry.pattern and not entry.field
                if any(map(entry.pattern.matches, texts))
            )


PARTING: Final = frozenset(";&|\n(")


def may_join(pattern: Pattern) -> bool:
    """Return whether a pattern may match several commands, but not the first of them alone."""
    if pattern.exact:
        return False
    texts = [token for token in pattern.tokens if isinstance(token, str)]
    return (
        pattern.tokens[-1] is not Gap.ANY
        or len(pattern.tokens) > 2  # it has more than one gap
        or not PARTING.isdisjoint("".join(texts))  # or names what parts or groups commands
    )


def account(row: Row, call: Mapping[str, object]) -> Iterator[tuple[Does, str, Outcome, str]]:
    """Yield each thing that the command of *call* does: its kind, its text, its outcome, and why.

    Nothing if *call* runs no command, or if *row* gives every call the same outcome. Files that
    every policy allows are left out. The strictest outcome is that of *row* for the call, unless a
    rule spells out the whole command.
    """
    dialect, kind = row.ruleset.dialect, row.argument.kind
    if kind not in (ArgumentKind.COMMAND, ArgumentKind.POWERSHELL) or row.constant is not None:
        return
    try:
        written = argument_text(row.argument, dialect, call)
        command = _read(written, kind, dialect)
    except Unreadable:
        return
    evaluator, doubted, hidden = evaluator_of(row), unsure(row.ruleset), list[Outcome]()
    for subject, outcome in evaluator.outcomes(row, command, row.first_parameter(call)):
        match subject:
            case CommandPart(text=text) if text:
                why = "" if outcome.entries else why_no_command(subject, written)
                yield Does.HIDES if why else Does.RUNS, text, outcome, why
                if outcome is doubted:
                    hidden.append(outcome)
            case Redirection() if not evaluator.is_hidden(subject):
                if outcome is not HARMLESS:
                    does = Does.WRITES if subject.writes else Does.READS
                    if subject.tool and subject.tool == dialect.shell.files.removes:
                        does = Does.REMOVES
                    yield does, in_home(subject.target or "", "$HOME"), outcome, ""
            case _:
                hidden.append(outcome)
    strictest = min(hidden, key=strictness, default=HARMLESS)
    if strictest is not HARMLESS:
        for doubt in command.ambiguities or (Ambiguity("", ""),):
            yield Does.HIDES, doubt.text, strictest, doubt.why
