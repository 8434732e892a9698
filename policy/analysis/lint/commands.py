"""What shell commands show of rules: ways around a denial, and rules that grant more than they say.

Every finding here names a command that was decided at a position that can come about: nothing
is guessed from how a rule is written.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from policy.analysis.lint.checks import Positions
from policy.analysis.no_command import why_no_command
from policy.analysis.running import ANYTHING, head_of, running
from policy.compare.witness import witness_call
from policy.core.decision import Because, Decision, Reason
from policy.core.effect import Effect
from policy.core.finding import Finding
from policy.core.source import Place
from policy.core.values import frozen
from policy.files.text import removal
from policy.hosts.data import data_table
from policy.patterns.pattern import Pattern, freeze
from policy.patterns.tokens import Gap
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.ruleset import Entry
from policy.tables.table import Table

_DATA: Final = data_table(__package__, "commands")
_READERS: Final = [text.replace("ANY", ANYTHING) for text in _DATA["shell"]["readers"]]
_SEARCHERS: Final[tuple[str, ...]] = tuple(_DATA["shell"]["searchers"])

# How hosts call the tool that reads a file.
_READING: Final = frozenset({"read", "read_file", "file_read", "view"})


def command_findings(positions: Positions) -> Iterator[Finding]:
    """Yield the findings about rules of a project that the decisions for commands show."""
    known: set[object] = set()
    for chain in positions.chains:
        commands = _Commands(positions, chain.table)
        if commands.key not in known:  # else the tables differ in tools that no check calls
            known.add(commands.key)
            for check in _CHECKS:
                yield from check(commands)


def _typed(pattern: Pattern) -> str:
    """Return a text of the pattern as people type it: nothing for a star within a word."""
    tokens = ("", *pattern.tokens, "")
    texts = []
    for before, token, behind in zip(tokens, tokens[1:], tokens[2:], strict=False):
        ends = isinstance(before, str) and before[-1:].isalnum()
        begins = isinstance(behind, str) and behind[:1] not in ("", " ", "/")
        is_part = isinstance(token, Gap) and (ends or begins)
        texts.append("" if is_part else freeze(Pattern.of(pattern.kind, [token]), "app"))
    text = "".join(texts)
    return text if pattern.matches(text) else freeze(pattern, "x")


@frozen
class _Commands:
    """The commands that a table may run."""

    positions: Positions
    table: Table

    @cached_property
    def dialects(self) -> dict[str, Dialect]:
        """Tool -> how its host reads calls, for each tool of a rule set."""
        sets = [part.rules for part in self.table.use.parts]
        return {tool: rules.dialect for rules in sets for tool in rules.dialect.arguments}

    @cached_property
    def shells(self) -> dict[str, Dialect]:
        """Those of tools that run commands."""
        return {
            tool: dialect
            for tool, dialect in self.dialects.items()
            if dialect.argument(tool).kind is ArgumentKind.COMMAND
            or "command" in dialect.argument(tool).fields
        }

    @property
    def key(self) -> object:
        """What all checks depend on: the rows of shells and of tools that read files."""
        lookups = [
            self.table.lookup(tool)
            for tool in sorted(self.dialects)
            if tool in self.shells or tool.casefold() in _READING or tool in _SEARCHERS
        ]
        return tuple((frozenset(id(row) for row, _ in one.rows), one.floor) for one in lookups)

    def decide(self, tool: str, text: str) -> Decision:
        """Return the decision for a call of *tool* with *text*, e.g. a command."""
        dialect = self.dialects[tool]
        return self.table.decide(tool, witness_call(dialect, dialect.argument(tool), text))

    def rules(self, tool: str) -> list[list[Entry]]:
        """Return the lines of each written rule about arguments of *tool*, the widest last."""
        found: dict[tuple[Place, str], list[Entry]] = {}
        for row, _ in self.table.lookup(tool).rows:
            for entry in row.entries:
                if entry.place is not None and entry.pattern is not None and not entry.field:
                    found.setdefault((entry.place, entry.rule), []).append(entry)
        return list(found.values())

    def denials(self, tool: str) -> Iterator[tuple[Entry, str]]:
        """Yield the rules that deny calls of *tool*, each with a text that it denies."""
        for *_, entry in self.rules(tool):
            if entry.effect is Effect.DENY and entry.pattern is not None:
                text = _typed(entry.pattern)
                if entry.pattern.matches(text):
                    yield entry, text

    def printing(self, tool: str) -> list[str]:
        """Return the forms of `_READERS` that may be allowed for some file."""
        entries = (entry for rule in self.rules(tool) for entry in rule)
        heads = {head_of(entry.pattern) for entry in entries if entry.effect is Effect.ALLOW}
        return [
            form
            for form in _READERS
            if self.decide(tool, _filled(form, ANYTHING)).effect is Effect.ALLOW
            or any(
                form.startswith(head) or head.startswith(form[: form.index("{")]) for head in heads
            )
        ]


def rule_runs_anything(commands: _Commands) -> Iterator[Finding]:
    """Yield the rules that allow a program which runs any command it is given."""
    for tool in commands.shells:
        for entries in commands.rules(tool):
            # What the star of a rule may stand for says more than its words alone.
            patterns = [e.pattern for e in entries[::-1] if e.effect is Effect.ALLOW and e.pattern]
            for found in (each for pattern in patterns for each in running(pattern)):
                decision = commands.decide(tool, found.command)
                if decision.effect is Effect.ALLOW and decision.reason is Reason.RULE:
                    words = {"case": found.case, "command": found.command, "program": found.program}
                    for because in decision.because:
                        if not _allows_all(commands.positions, because):
                            yield commands.positions.finding("rule-runs-anything", because, **words)
                    break


def rule_allows_every_command(commands: _Commands) -> Iterator[Finding]:
    """Yield the rules that allow every command, of a host whose rules may name commands."""
    kinds = (ArgumentKind.COMMAND, ArgumentKind.POWERSHELL)
    for tool, dialect in commands.shells.items():
        decision = commands.decide(tool, f"{ANYTHING} x")
        if dialect.argument(tool).kind in kinds and decision.effect is Effect.ALLOW:
            for because in decision.because if decision.reason is Reason.RULE else ():
                if because.place is not None and _allows_all(commands.positions, because):
                    yield commands.positions.finding("rule-allows-every-command", because)


def _allows_all(positions: Positions, because: Because) -> bool:
    """Return whether a rule says openly that any command is allowed, or is not written."""
    if because.place is None:
        return True
    lines = positions.lines.get((because.place, because.rule), ())
    return any(e.pattern is None or e.pattern == Pattern.text("*") for e in lines)


def read_another_way(commands: _Commands) -> Iterator[Finding]:
    """Yield the rules that deny reading a file which an allowed command or search prints."""
    forms = {tool: commands.printing(tool) for tool in commands.shells}
    for reader, dialect in commands.dialects.items():
        for entry, text in commands.denials(reader) if reader.casefold() in _READING else ():
            call = witness_call(dialect, dialect.argument(reader), _inside(entry, text))
            path = next((each for each in call.values() if isinstance(each, str)), "")
            if not path or commands.table.decide(reader, call).effect is not Effect.DENY:
                continue
            for tool in commands.shells:
                printed = [
                    (command, decision)
                    for command in (_filled(form, path) for form in forms[tool])
                    if (decision := commands.decide(tool, command)).effect is Effect.ALLOW
                ]
                if printed:
                    command, decision = printed[0]
                    more = f" (and {len(printed) - 1} more)" if len(printed) > 1 else ""
                    words = {"command": command, "more": more, "tool": tool, "by": _by(decision)}
                    yield commands.positions.finding("read-through-shell", entry, **words)
                    break
            for tool in _SEARCHERS:
                argument = dialect.argument(tool)
                if argument.kind is ArgumentKind.PATH:
                    decision = commands.table.decide(tool, witness_call(dialect, argument, path))
                    if decision.effect is Effect.ALLOW:
                        words = {"call": f"{tool}({path})", "by": _by(decision)}
                        yield commands.positions.finding("read-through-search", entry, **words)


def _by(decision: Decision) -> str:
    return "".join(f" by `{one.rule}`" for one in decision.because[:1])


def _inside(entry: Entry, path: str) -> str:
    """Return a file in the folder *path*, where a rule is about all that it holds."""
    below, pattern = f"{path}/notes.txt", entry.pattern
    is_deep = entry.rule.endswith("**)") and not path.endswith("/app")
    return below if is_deep and pattern is not None and pattern.matches(below) else path


def _filled(form: str, path: str) -> str:
    # Within quotes a tilde is a tilde.
    home, rest = ("~/", path[2:]) if path.startswith("~/") else ("", path)
    return form.replace("{}", home + shlex.quote(rest))


def twin_shell(commands: _Commands) -> Iterator[Finding]:
    """Yield the rules that deny a command to one shell which another shell may run."""
    for tool in commands.shells:
        for entry, command in commands.denials(tool):
            for twin in commands.shells:
                is_run = commands.decide(twin, command).effect is Effect.ALLOW
                if is_run and commands.decide(tool, command).effect is Effect.DENY:
                    words = {"command": command, "tool": tool, "twin": twin}
                    yield commands.positions.finding("twin-shell", entry, **words)


def guard_misses_command(commands: _Commands) -> Iterator[Finding]:
    """Yield the rules that deny or ask for a command they spell, which is allowed all the same."""
    for tool in commands.shells:
        for entry in (each for entries in commands.rules(tool) for each in entries):
            pattern = entry.pattern
            if entry.effect is Effect.ALLOW or pattern is None:
                continue
            for text in sorted({freeze(pattern, ""), freeze(pattern, "x")}):
                is_spelled = pattern.matches(text) and text == text.strip()
                if is_spelled and commands.decide(tool, text).effect is Effect.ALLOW:
                    does = "denies" if entry.effect is Effect.DENY else "asks for"
                    words = {"does": does, "command": text}
                    yield commands.positions.finding("guard-misses-command", entry, **words)
                    break


def rule_of_no_command(commands: _Commands) -> Iterator[Finding]:
    """Yield the rules that match no command which a shell, or its host, lets through."""
    for tool, dialect in commands.shells.items():
        for entries in commands.rules(tool):
            first, why = entries[0], [why_no_command(entry, tool, dialect) for entry in entries]
            # The texts of a rule are its own, and no words of the host.
            is_spelled = all(head_of(entry.pattern).strip() in first.rule for entry in entries)
            if not all(why) or why[-1] is None or not is_spelled:
                continue
            case, what = why[-1]
            span = commands.positions.span(first.place, first.rule)
            # What is to be denied is to be written so that it is.
            edits = removal(span) if span and case != "guarding" else ()
            words = {"case": case, "what": what, "edits": edits}
            yield commands.positions.finding("rule-of-no-command", first, **words)


_CHECKS: Final = (
    rule_allows_every_command,
    rule_runs_anything,
    read_another_way,
    twin_shell,
    guard_misses_command,
    rule_of_no_command,
)
