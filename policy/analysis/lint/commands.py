"""What shell commands show of rules: ways around a denial, and rules that grant more than they say.

Every finding here names a command that was decided at a position that can come about: nothing
is guessed from how a rule is written.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import partial
from itertools import chain as chained
from typing import Final

from policy.analysis.lint.checks import Positions
from policy.analysis.lint.running import Running, running
from policy.analysis.no_command import ANYTHING, head_of, why_no_command
from policy.compare.witness import witness_call
from policy.core.decision import Because, Decision, Reason
from policy.core.effect import Effect
from policy.core.finding import Finding
from policy.core.source import Place
from policy.core.values import frozen
from policy.files.text import removal
from policy.hosts.data import data_table
from policy.patterns.pattern import Pattern, freeze, typed
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.entry import Entry
from policy.tables.table import Table

__all__ = ["command_findings"]

_DATA: Final = data_table(__package__, "commands")
_READERS: Final = [text.replace("ANY", ANYTHING) for text in _DATA["shell"]["readers"]]
_SEARCHERS: Final[tuple[str, ...]] = tuple(_DATA["shell"]["searchers"])

# How hosts call the tool that reads a file.
_READING: Final = frozenset({"read", "read_file", "file_read", "view"})


def command_findings(positions: Positions) -> Iterator[Finding]:
    """Yield what commands that were decided show of the rules of a project, a rule once."""
    reported: set[object] = set()
    known: set[object] = set()
    for chain in positions.chains:
        commands = Commands.of(positions, chain.table)
        if commands.key in known:
            continue  # the tables differ in tools that no check calls
        known.add(commands.key)
        for finding in chained.from_iterable(check(commands) for check in _CHECKS):
            mark = (finding.code, finding.place)
            if mark not in reported:
                reported.add(mark)
                yield finding


@frozen
class Commands:
    """The shells of one table, and the commands that they may run.

    Attributes:
        positions: of the project.
        table: of one chain.
        shells: tool -> how its host reads calls.

    """

    positions: Positions
    table: Table
    shells: dict[str, Dialect]

    @classmethod
    def of(cls, positions: Positions, table: Table) -> Commands:
        """Return those of *table*."""
        shells = {
            tool: part.rules.dialect
            for part in table.use.parts
            for tool, argument in part.rules.dialect.arguments.items()
            if argument.kind is ArgumentKind.COMMAND or "command" in argument.fields
        }
        return cls(positions, table, shells)

    @property
    def key(self) -> object:
        """What all checks depend on: the rows of shells and of tools that read files."""
        readers = {
            tool
            for part in self.table.use.parts
            for tool in part.rules.dialect.arguments
            if tool.casefold() in _READING or tool in _SEARCHERS
        }
        lookups = [self.table.lookup(tool) for tool in sorted({*self.shells, *readers})]
        return tuple((frozenset(id(row) for row, _ in one.rows), one.floor) for one in lookups)

    def decide(self, tool: str, command: str) -> Decision:
        """Return what a command gets."""
        dialect = self.shells[tool]
        return self.table.decide(tool, witness_call(dialect, dialect.argument(tool), command))

    def entries(self, tool: str) -> Iterator[Entry]:
        """Yield the lines of *tool*."""
        for row, _ in self.table.lookup(tool).rows:
            yield from row.entries

    def denials(self, tool: str) -> Iterator[tuple[Entry, str]]:
        """Yield the written rules that deny some calls of *tool*, each with an argument."""
        lines: dict[tuple[Place, str], Entry] = {}
        for entry in self.entries(tool):
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

    def unreadable(self) -> Iterator[tuple[Entry, str, Dialect]]:
        """Yield the written rules that deny reading, each with a path that it denies."""
        for dialect in {part.rules.dialect for part in self.table.use.parts}:
            for tool, argument in dialect.arguments.items():
                if tool.casefold() not in _READING:
                    continue
                for entry, text in self.denials(tool):
                    call = witness_call(dialect, argument, _inside(entry, text))
                    path = next((v for v in call.values() if isinstance(v, str)), "")
                    if path and self.table.decide(tool, call).effect is Effect.DENY:
                        yield entry, path, dialect

    def running(self, tool: str) -> Iterator[tuple[Running, ...]]:
        """Yield the commands by which a line that allows runs any command, for each line."""
        allowed = dict.fromkeys(
            entry.pattern
            for entry in self.entries(tool)
            if entry.effect is Effect.ALLOW and entry.pattern is not None and not entry.field
        )
        # What the star of a rule may stand for says more than its words alone.
        yield from map(running, sorted(allowed, key=lambda pattern: pattern.exact))

    def printing(self, tool: str) -> list[str]:
        """Return the forms of `_READERS` that may be allowed for some file."""
        allowed = [
            pattern.tokens[0] if pattern.tokens and isinstance(pattern.tokens[0], str) else ""
            for entry in self.entries(tool)
            if entry.effect is Effect.ALLOW and (pattern := entry.pattern) is not None
        ]
        heads = {form: form.partition("{")[0] for form in _READERS}
        return [
            form
            for form, head in heads.items()
            if self.decide(tool, _filled(form, ANYTHING)).effect is Effect.ALLOW
            or any(text.startswith(head) or head.startswith(text) for text in allowed)
        ]


def rule_runs_anything(commands: Commands) -> Iterator[Finding]:
    """Yield the rules that allow a program which runs any command it is given."""
    known: set[Because] = set()
    for tool in commands.shells:
        for runs in commands.running(tool):
            for found in runs:
                decision = commands.decide(tool, found.command)
                if decision.effect is Effect.ALLOW and decision.reason is Reason.RULE:
                    break
            else:
                continue
            words = {"case": found.case, "command": found.command, "program": found.program}
            for because in decision.because:
                if because not in known and not _allows_all(commands.positions, because):
                    known.add(because)
                    yield commands.positions.finding("rule-runs-anything", because, **words)


def _allows_all(positions: Positions, because: Because) -> bool:
    """Return whether a rule says openly that any command is allowed, or is not written."""
    if because.place is None:
        return True
    lines = positions.lines.get((because.place, because.rule), ())
    return any(e.pattern is None or e.pattern == Pattern.text("*") for e in lines)


def read_through_shell(commands: Commands) -> Iterator[Finding]:
    """Yield the rules that deny reading a file which a command that is allowed prints."""
    printing = {tool: commands.printing(tool) for tool in commands.shells}
    for entry, path, _ in commands.unreadable():
        for tool, forms in printing.items():
            printed = [
                (command, decision)
                for command in map(partial(_filled, path=path), forms)
                if (decision := commands.decide(tool, command)).effect is Effect.ALLOW
            ]
            if not printed:
                continue
            command, decision = printed[0]
            by = _by(decision)
            more = f" (and {len(printed) - 1} more)" if len(printed) > 1 else ""
            words = {"command": command, "by": by, "more": more, "tool": tool}
            yield commands.positions.finding("read-through-shell", _because(entry), **words)
            break


def read_through_search(commands: Commands) -> Iterator[Finding]:
    """Yield the rules that deny reading a file which a tool may search that prints its lines."""
    for entry, path, dialect in commands.unreadable():
        for tool in _SEARCHERS:
            argument = dialect.argument(tool)
            if argument.kind is not ArgumentKind.PATH:
                continue
            decision = commands.table.decide(tool, witness_call(dialect, argument, path))
            if decision.effect is Effect.ALLOW:
                words = {"call": f"{tool}({path})", "by": _by(decision)}
                yield commands.positions.finding("read-through-search", _because(entry), **words)


def _by(decision: Decision) -> str:
    return "".join(f" by `{one.rule}`" for one in decision.because[:1])


def twin_shell(commands: Commands) -> Iterator[Finding]:
    """Yield the rules that deny a command to one shell which another shell may run."""
    for tool in commands.shells:
        for entry, command in commands.denials(tool):
            for twin in commands.shells:
                if commands.decide(twin, command).effect is not Effect.ALLOW:
                    continue
                if commands.decide(tool, command).effect is not Effect.DENY:
                    continue
                words = {"command": command, "tool": tool, "twin": twin}
                yield commands.positions.finding("twin-shell", _because(entry), **words)


def guard_misses_command(commands: Commands) -> Iterator[Finding]:
    """Yield the rules that deny or ask for a command they spell, which is allowed all the same."""
    for tool in commands.shells:
        for entry in commands.entries(tool):
            pattern = entry.pattern
            if entry.effect is Effect.ALLOW or entry.place is None or pattern is None:
                continue
            spelled = {freeze(pattern, ""), freeze(pattern, "x")} if not entry.field else set()
            for text in sorted(filter(pattern.matches, spelled)):
                if text == text.strip() and commands.decide(tool, text).effect is Effect.ALLOW:
                    words = {"does": _GUARDS[entry.effect], "command": text}
                    because = _because(entry)
                    yield commands.positions.finding("guard-misses-command", because, **words)
                    break


_GUARDS: Final = {Effect.DENY: "denies", Effect.ASK: "asks for"}


def rule_of_no_command(commands: Commands) -> Iterator[Finding]:
    """Yield the rules that match no command which a shell, or its host, lets through."""
    for tool, dialect in commands.shells.items():
        rules: dict[tuple[Place, str], list[Entry]] = {}
        for entry in commands.entries(tool):
            if entry.place is not None and entry.pattern is not None and not entry.field:
                rules.setdefault((entry.place, entry.rule), []).append(entry)
        for (_, rule), entries in rules.items():
            why = [why_no_command(entry, tool, dialect) for entry in entries]
            # The last is the widest: `do *` is `do` and what begins with `do `.
            if not all(why) or why[-1] is None or not _is_spelled(entries, rule):
                continue
            case, what = why[-1]
            because = _because(entries[0])
            span = commands.positions.span(because)
            # What is to be denied is to be written so that it is.
            edits = removal(span) if span and case != "guarding" else ()
            yield commands.positions.finding(
                "rule-of-no-command", because, case=case, what=what, edits=edits
            )


def _is_spelled(entries: list[Entry], rule: str) -> bool:
    """Return whether the texts of a rule are its own, and no words of the host."""
    return all(head_of(entry.pattern).strip() in rule for entry in entries)


def _example(pattern: Pattern) -> str | None:
    """Return a text that *pattern* matches, with a word where it leaves one open."""
    text = typed(pattern)
    return text if pattern.matches(text) else pattern.witness()


def _inside(entry: Entry, path: str) -> str:
    """Return a file in the folder *path*, where a rule is about all that it holds."""
    below, pattern = f"{path}/notes.txt", entry.pattern
    is_deep = entry.rule.endswith("**)") and not path.endswith("/app")
    return below if is_deep and pattern is not None and pattern.matches(below) else path


def _filled(form: str, path: str) -> str:
    # Within quotes a tilde is a tilde.
    home, rest = ("~/", path[2:]) if path.startswith("~/") else ("", path)
    return form.replace("{}", home + shlex.quote(rest))


def _because(entry: Entry) -> Because:
    return Because(entry.rule, entry.effect, "", entry.place)


_CHECKS: Final = (
    rule_runs_anything,
    read_through_shell,
    read_through_search,
    twin_shell,
    guard_misses_command,
    rule_of_no_command,
)
