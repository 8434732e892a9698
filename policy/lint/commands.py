"""What shell commands make of rules: ways around a denial, and rules that grant more than they say.

Every claim here is a command that was decided at a position that can come
about: nothing is guessed from how a rule is written.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import partial
from typing import Final

import attrs

from policy.comparison.witness import witness_call
from policy.decision import Because, Decision, Reason
from policy.dialect import ArgumentKind, Dialect
from policy.effect import Effect
from policy.finding import Finding, Severity
from policy.lint.positions import Positions
from policy.lint.programs import ANYTHING, READERS, RUNNERS, SUBCOMMANDED
from policy.patterns.pattern import Pattern, freeze
from policy.rows.entry import RowEntry
from policy.source import Place
from policy.table import Table

__all__ = ["command_findings"]

# What may be a subcommand.
_SUBCOMMAND: Final = re.compile(r" [^-\s]")

# How hosts call the tool that reads a file.
_READING: Final = frozenset({"read", "read_file", "file_read", "view"})


def command_findings(positions: Positions) -> Iterator[Finding]:
    """Yield what commands that were decided show of the rules of a project, a rule once."""
    seen: set[object] = set()
    known: set[object] = set()
    for chain in positions.chains:
        found = _Commands(positions, chain.table)
        if found.key in known:
            continue  # what else tells the tables apart is not asked about
        known.add(found.key)
        for finding in (*found.runners(), *found.stars(), *found.readers(), *found.twins()):
            mark = (finding.code, finding.place)
            if mark not in seen:
                seen.add(mark)
                yield finding


@attrs.frozen
class _Commands:
    positions: Positions
    table: Table
    shells: dict[str, Dialect] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        shells = {
            tool: part.rules.dialect
            for part in self.table.use.parts
            for tool, argument in part.rules.dialect.arguments.items()
            if argument.kind is ArgumentKind.COMMAND or "command" in argument.fields
        }
        object.__setattr__(self, "shells", shells)

    @property
    def key(self) -> object:
        """What all that is asked here depends on: the rows of shells and of what reads files."""
        readers = {
            tool
            for part in self.table.use.parts
            for tool in part.rules.dialect.arguments
            if tool.casefold() in _READING
        }
        lookups = [self.table.lookup(tool) for tool in sorted({*self.shells, *readers})]
        return tuple((frozenset(id(row) for row, _ in one.rows), one.floor) for one in lookups)

    def decide(self, tool: str, command: str) -> Decision:
        """Return what a command gets."""
        dialect = self.shells[tool]
        return self.table.decide(tool, witness_call(dialect, dialect.argument(tool), command))

    def runners(self) -> Iterator[Finding]:
        """Yield the rules that allow a program which runs whatever it is told to."""
        known: set[Because] = set()
        for tool in self.shells:
            for command, program in RUNNERS.items():
                decision = self.decide(tool, command)
                if decision.effect is not Effect.ALLOW or decision.reason is not Reason.RULE:
                    continue
                for because in decision.because:
                    if because in known or because.place is None or self._is_total(because):
                        continue
                    known.add(because)
                    yield _about(
                        self.positions,
                        because,
                        "rule-runs-anything",
                        f"`{because.rule}` allows `{command}`, and `{program}` runs whatever it is"
                        " told to",
                        help="allow the commands that are needed, arguments included",
                    )

    def stars(self) -> Iterator[Finding]:
        """Yield the rules that allow a subcommand with anything in front, another one included."""
        for tool in self.shells:
            entries = (entry for row, _ in self.table.lookup(tool).rows for entry in row.entries)
            for entry in entries:
                command = "" if entry.field else _other_subcommand(entry.pattern)
                if entry.effect is not Effect.ALLOW or entry.place is None or not command:
                    continue
                decision = self.decide(tool, command)
                by = {(because.rule, because.place) for because in decision.because}
                if decision.effect is Effect.ALLOW and (entry.rule, entry.place) in by:
                    yield _about(
                        self.positions,
                        _because(entry),
                        "wildcard-before-subcommand",
                        f"`{entry.rule}` allows `{command}`: a star before the subcommand stands"
                        " for another one, and for options",
                        help="put the star behind the subcommand",
                    )

    def _is_total(self, because: Because) -> bool:
        """Return whether the rule says openly that any command is allowed."""
        place = because.place
        lines = self.positions.lines.get((place, because.rule), ()) if place else ()
        return any(e.pattern is None or e.pattern == Pattern.text("*") for e in lines)

    def readers(self) -> Iterator[Finding]:
        """Yield the rules that deny reading a file which a command that is allowed prints."""
        possible = {tool: self._possible(tool) for tool in self.shells}
        for entry, path in self._unreadable():
            for tool, forms in possible.items():
                printed = [
                    (command, decision)
                    for command in map(partial(_filled, path=path), forms)
                    if (decision := self.decide(tool, command)).effect is Effect.ALLOW
                ]
                if not printed:
                    continue
                command, decision = printed[0]
                by = "".join(f" by `{one.rule}`" for one in decision.because[:1])
                more = f", as are {len(printed) - 1} other commands" if len(printed) > 1 else ""
                yield _about(
                    self.positions,
                    _because(entry),
                    "read-through-shell",
                    f"`{entry.rule}` denies reading the file, and `{command}` is allowed{by}{more}",
                    help=f"deny it to `{tool}` too, and keep the file out of reach of the shell"
                    " with a sandbox",
                )
                break

    def _possible(self, tool: str) -> list[str]:
        """Return the forms of `READERS` that some rule, or none, may allow for some file."""
        allowed = [
            pattern.tokens[0] if pattern.tokens and isinstance(pattern.tokens[0], str) else ""
            for row, _ in self.table.lookup(tool).rows
            for entry in row.entries
            if entry.effect is Effect.ALLOW and (pattern := entry.pattern) is not None
        ]
        heads = {form: form.partition("{")[0] for form in READERS}
        return [
            form
            for form, head in heads.items()
            if self.decide(tool, _filled(form, ANYTHING)).effect is Effect.ALLOW
            or any(text.startswith(head) or head.startswith(text) for text in allowed)
        ]

    def _unreadable(self) -> Iterator[tuple[RowEntry, str]]:
        """Yield the written rules that deny reading, each with a path that it denies."""
        dialects = {part.rules.dialect for part in self.table.use.parts}
        for dialect in dialects:
            for tool, argument in dialect.arguments.items():
                if tool.casefold() not in _READING:
                    continue
                for entry, text in self._denials(tool):
                    call = witness_call(dialect, argument, text)
                    path = next((v for v in call.values() if isinstance(v, str)), "")
                    if path and self.table.decide(tool, call).effect is Effect.DENY:
                        yield entry, path

    def _denials(self, tool: str) -> Iterator[tuple[RowEntry, str]]:
        """Yield the written rules that deny some calls of *tool*, each with an argument."""
        lines: dict[tuple[Place, str], RowEntry] = {}
        for row, _ in self.table.lookup(tool).rows:
            for entry in row.entries:
                place, pattern = entry.place, entry.pattern
                if entry.effect is not Effect.DENY or place is None or pattern is None:
                    continue
                known = lines.get((place, entry.rule))
                # `rm *` is also `rm` alone, which shows less.
                if not entry.field and (known is None or not pattern.exact):
                    lines[place, entry.rule] = entry
        for entry in lines.values():
            text = _example(entry.pattern) if entry.pattern is not None else None
            if text is not None:
                yield entry, text

    def twins(self) -> Iterator[Finding]:
        """Yield the rules that deny a command to one shell which another shell may run."""
        for tool in self.shells:
            for entry, command in self._denials(tool):
                for twin in self.shells:
                    if self.decide(twin, command).effect is not Effect.ALLOW:
                        continue
                    if self.decide(tool, command).effect is not Effect.DENY:
                        continue
                    yield _about(
                        self.positions,
                        _because(entry),
                        "twin-shell",
                        f"`{entry.rule}` denies `{command}` to `{tool}`, and `{twin}` may run it",
                        help=f"deny it to `{twin}` as well, or take that tool away",
                    )


def _example(pattern: Pattern) -> str | None:
    """Return a text that *pattern* matches, with a word where it leaves one open."""
    text = freeze(pattern, "x")
    return text if pattern.matches(text) else pattern.witness()


def _other_subcommand(pattern: Pattern | None) -> str:
    """Return a command of *pattern* with another subcommand than the one it ends in, or ""."""
    tokens = pattern.tokens if pattern is not None else ()
    if len(tokens) < 3 or pattern is None or not isinstance(tokens[0], str):
        return ""
    rest = [token for token in tokens[2:] if isinstance(token, str)]
    if tokens[0] not in SUBCOMMANDED or not rest or not _SUBCOMMAND.match(rest[0]):
        return ""
    return freeze(pattern, ANYTHING)


def _filled(form: str, path: str) -> str:
    # Within quotes a tilde is a tilde.
    home, rest = ("~/", path[2:]) if path.startswith("~/") else ("", path)
    return form.replace("{}", home + shlex.quote(rest))


def _because(entry: RowEntry) -> Because:
    return Because(entry.rule, entry.effect, "", entry.place)


def _about(
    positions: Positions, because: Because, code: str, message: str, *, help: str
) -> Finding:
    file = because.place.file if because.place else ""
    span = positions.span(because)
    return Finding(code, message, Severity.WARNING, span, file=file, help=help)
