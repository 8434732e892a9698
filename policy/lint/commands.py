"""What shell commands make of rules: ways around a denial, and rules that grant more than they say.

Every claim here is a command that was decided at a position that can come
about: nothing is guessed from how a rule is written.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import partial
from typing import Final

import attrs

from policy.decision import Because, Decision, Reason
from policy.dialect import ArgumentKind, Dialect
from policy.effect import Effect
from policy.finding import Finding, Severity
from policy.lint.positions import Positions
from policy.patterns.pattern import Pattern, freeze
from policy.row import RowEntry
from policy.source import Place
from policy.table import Table
from policy.witness import witness_call

__all__ = ["command_findings"]

# Stands for whatever somebody wants to run: no rule names it.
_ANYTHING: Final = "policy-witness"

# A command that runs what its arguments say, and who does that.
_RUNNERS: Final = {
    **{f"{name} -c {_ANYTHING}": name for name in "sh bash zsh dash ksh fish".split()},
    **{f"{name} -c {_ANYTHING}": name for name in "python python3".split()},
    **{f"{name} {_ANYTHING}.py": name for name in "python python3".split()},
    **{f"{name} -e {_ANYTHING}": name for name in "node perl ruby lua osascript bun".split()},
    **{f"{name} {_ANYTHING}": name for name in "npx bunx uvx eval env xargs sudo".split()},
    **{
        f"{name} {_ANYTHING}": name
        for name in ("npm exec", "pnpm dlx", "yarn dlx", "uv run", "pipx run", "poetry run")
    },
    f"php -r {_ANYTHING}": "php",
    f"deno eval {_ANYTHING}": "deno",
    f"ssh host {_ANYTHING}": "ssh",
    f"nix-shell --run {_ANYTHING}": "nix-shell",
    f"docker run image {_ANYTHING}": "docker run",
    f"docker exec container {_ANYTHING}": "docker exec",
    f"kubectl exec pod -- {_ANYTHING}": "kubectl exec",
    f"find . -exec {_ANYTHING} ';'": "find -exec",
    f"awk 'BEGIN {{system(\"{_ANYTHING}\")}}'": "awk",
    f"git -c 'alias.x=!{_ANYTHING}' x": "git -c",
    f"pwsh -Command {_ANYTHING}": "pwsh",
    f"powershell -Command {_ANYTHING}": "powershell",
}

# Commands that print a file, whose name stands for `{}`.
_READERS: Final = (
    "cat {}", "head {}", "tail {}", "less {}", "grep '' {}", "rg '' {}", "sed p {}", "awk 1 {}",
    "sort {}", "base64 {}", "xxd {}", "strings {}", "diff {} /dev/null", "tar cf - {}",
    "cp {} copy", "git diff --no-index /dev/null {}", f"python -c {_ANYTHING} {{}}",
    f"python3 -c {_ANYTHING} {{}}", f"node -e {_ANYTHING} {{}}", f"sh -c {_ANYTHING} {{}}",
    f"bash -c {_ANYTHING} {{}}",
)  # fmt: skip

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
        for finding in (*found.runners(), *found.readers(), *found.twins()):
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
            for command, program in _RUNNERS.items():
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
        """Return the forms of `_READERS` that some rule, or none, may allow for some file."""
        allowed = [
            pattern.tokens[0] if pattern.tokens and isinstance(pattern.tokens[0], str) else ""
            for row, _ in self.table.lookup(tool).rows
            for entry in row.entries
            if entry.effect is Effect.ALLOW and (pattern := entry.pattern) is not None
        ]
        heads = {form: form.partition("{")[0] for form in _READERS}
        return [
            form
            for form, head in heads.items()
            if self.decide(tool, _filled(form, _ANYTHING)).effect is Effect.ALLOW
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
