"""Findings about single rules, whatever host they are from."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from typing import Final

import attrs

from policy.analysis.reach.worklist import reach
from policy.compare.witness import witness_call
from policy.core.credentials import credentials, masked
from policy.core.decision import Because, Decision, Reason, rule_span
from policy.core.effect import Effect
from policy.core.finding import Finding, Severity
from policy.core.source import Place, Source, Span, visible
from policy.hosts.project import Project
from policy.patterns.pattern import Pattern, freeze
from policy.tables.chain import Chain
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.entry import RowEntry
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table

__all__ = [
    "ANYTHING",
    "READERS",
    "RUNNERS",
    "SUBCOMMANDED",
    "Positions",
    "command_findings",
    "letter_findings",
    "secret_findings",
    "without_secrets",
]


@attrs.frozen(slots=False)
class Positions:
    """The positions of one project as its host has them, and the rules behind them.

    Attributes:
        project: whose.
        source: file -> its text, or None where it cannot be read.

    """

    project: Project
    source: Callable[[str], Source | None] = attrs.field(repr=False)

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """A shortest chain for each table."""
        found: dict[object, Chain] = {}
        project = self.project
        for chains in reach(project, project.enforced, alone=project.asides).chains.values():
            for chain in chains:
                known = found.setdefault(chain.table.use.sets, chain)
                if len(chain.links) < len(known.links):
                    found[chain.table.use.sets] = chain
        return tuple(found.values())

    @property
    def modes(self) -> Iterator[Positions]:
        """The same in each other permission mode that a session may be started in."""
        for project in self.project.modes.values():
            yield Positions(project, self.source)

    @cached_property
    def lines(self) -> Mapping[tuple[Place, str], tuple[Entry, ...]]:
        """Place and text of every rule that is written somewhere -> its lines in tables."""
        sets: dict[int, RuleSet] = {}
        tables = [chain.table for chain in self.chains]
        for table in [*tables, *(entry.declared for entry in self.project.agents.values())]:
            for ceiling in (table.use, table.delegated):
                sets |= {id(part.rules): part.rules for part in ceiling.parts}
        found: dict[tuple[Place, str], list[Entry]] = {}
        for rules in sets.values():
            for entry in rules.entries:
                if entry.place is not None and entry.rule:
                    found.setdefault((entry.place, entry.rule), []).append(entry)
        return {key: tuple(entries) for key, entries in found.items()}

    def span(self, because: Because) -> Span | None:
        """Return where a rule stands, if its file can be read."""
        source = self.source(because.place.file) if because.place else None
        return rule_span(because, source) if source is not None else None


# Programs by what they do with their arguments: run them, print files, take subcommands.


# Stands for whatever somebody wants to run: no rule names it.
ANYTHING: Final = "policy-witness"

# A command that runs what its arguments say, and who does that.
RUNNERS: Final = {
    **{f"{name} -c {ANYTHING}": name for name in "sh bash zsh dash ksh fish".split()},
    **{f"{name} -c {ANYTHING}": name for name in "python python3".split()},
    **{f"{name} {ANYTHING}.py": name for name in "python python3".split()},
    **{f"{name} -e {ANYTHING}": name for name in "node perl ruby lua osascript bun".split()},
    **{f"{name} {ANYTHING}": name for name in "npx bunx uvx eval env xargs sudo".split()},
    **{
        f"{name} {ANYTHING}": name
        for name in ("npm exec", "pnpm dlx", "yarn dlx", "uv run", "pipx run", "poetry run")
    },
    f"php -r {ANYTHING}": "php",
    f"deno eval {ANYTHING}": "deno",
    f"ssh host {ANYTHING}": "ssh",
    f"nix-shell --run {ANYTHING}": "nix-shell",
    f"docker run image {ANYTHING}": "docker run",
    f"docker exec container {ANYTHING}": "docker exec",
    f"kubectl exec pod -- {ANYTHING}": "kubectl exec",
    f"find . -exec {ANYTHING} ';'": "find -exec",
    f"awk 'BEGIN {{system(\"{ANYTHING}\")}}'": "awk",
    f"git -c 'alias.x=!{ANYTHING}' x": "git -c",
    f"pwsh -Command {ANYTHING}": "pwsh",
    f"powershell -Command {ANYTHING}": "powershell",
}

# Commands that print a file, whose name stands for `{}`.
READERS: Final = (
    "cat {}", "head {}", "tail {}", "less {}", "grep '' {}", "rg '' {}", "sed p {}", "awk 1 {}",
    "sort {}", "base64 {}", "xxd {}", "strings {}", "diff {} /dev/null", "tar cf - {}",
    "cp {} copy", "git diff --no-index /dev/null {}", f"python -c {ANYTHING} {{}}",
    f"python3 -c {ANYTHING} {{}}", f"node -e {ANYTHING} {{}}", f"sh -c {ANYTHING} {{}}",
    f"bash -c {ANYTHING} {{}}",
)  # fmt: skip

# Programs that begin with options of their own, then a subcommand.
SUBCOMMANDED: Final = frozenset(
    f"{name} "
    for name in "git gh glab npm pnpm yarn bun cargo go docker podman kubectl helm aws gcloud az"
    " terraform systemctl".split()
)


# What shell commands make of rules: ways around a denial, and rules that grant more than they say.
#
# Every claim here is a command that was decided at a position that can come
# about: nothing is guessed from how a rule is written.


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


# Characters of rules that a reviewer does not see, or takes for others.


_WORD: Final = re.compile(r"\w+")

# The scripts that have letters which look like those of another.
_SCRIPTS: Final = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU")

# Letters of other forms that are read as plain ones: full width, mathematical.
_FORMS: Final = ("FULLWIDTH ", "MATHEMATICAL ")


def letter_findings(rule: str, span: Span) -> Iterator[Finding]:
    """Yield what is odd about the characters of one rule.

    Args:
        rule: its text as the host reads it.
        span: where it stands.

    """
    if rule.isascii() and rule.isprintable():
        return
    if visible(rule) != rule:
        hidden = next(character for character in rule if visible(character) != character)
        yield Finding(
            "hidden-character",
            f"the rule holds {_named(hidden)}, which nobody sees",
            Severity.ERROR,
            span,
            help=f"as it is matched: `{visible(rule)}`",
        )
    for word in _WORD.findall(rule):
        scripts = {script for letter in word if (script := _script(letter))}
        if len(scripts) > 1 or any(_looks_plain(letter) for letter in word):
            odd = next(letter for letter in word if not letter.isascii())
            yield Finding(
                "look-alike-letter",
                f"`{word}` holds {_named(odd)}, which looks like another letter",
                Severity.ERROR,
                span,
                help="write the word anew on a keyboard; the rule does not match what it seems to",
            )
            return


def _named(character: str) -> str:
    name = unicodedata.name(character, "a control character").lower()
    return f"U+{ord(character):04X} ({name})"


def _script(letter: str) -> str:
    if letter.isascii():
        return "LATIN" if letter.isalpha() else ""
    name = unicodedata.name(letter, "")
    return next((script for script in _SCRIPTS if name.startswith(script)), "")


def _looks_plain(letter: str) -> bool:
    return not letter.isascii() and unicodedata.name(letter, "").startswith(_FORMS)


# Keys and passwords that stand in a file that says what agents may do.
#
# A rule is often made of a command that somebody ran once, its credentials
# included, and settings are read by everybody who has the repository.


def secret_findings(source: Source) -> Iterator[Finding]:
    """Yield what looks like a credential in a file."""
    for name, start, end in credentials(source.text):
        yield Finding(
            "secret-in-policy",
            f"this looks like {name}",
            Severity.ERROR,
            source.span(start, end),
            help="revoke it, and name a variable of the environment instead: whoever has"
            " the repository has it, and the model that reads the file",
        )


def without_secrets(finding: Finding) -> Finding:
    """Return *finding* as it may be shown: nothing of it, nor of its line, is a credential.

    Its edits are of the text as it is.
    """
    span = finding.span
    if span is not None:
        span = Span(_shown(span.source), span.start, span.end)
    return attrs.evolve(
        finding, message=masked(finding.message), help=masked(finding.help), span=span
    )


@lru_cache(maxsize=8)
def _shown(source: Source) -> Source:
    text = masked(source.text)
    return source if text == source.text else Source(source.name, text)
