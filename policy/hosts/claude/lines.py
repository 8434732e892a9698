"""What one rule comes to: lines of a table, and findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import attrs

from policy.decision import Reason
from policy.effect import Effect
from policy.finding import Finding, Severity
from policy.hosts.claude.data.versions import Behaviour
from policy.hosts.claude.paths import Anchors
from policy.language.syntax import Matcher
from policy.patterns.pattern import Pattern
from policy.rows.entry import Form
from policy.ruleset import Entry
from policy.source import Place, Span

__all__ = ["Line", "Lines", "RuleText", "Scope"]


@attrs.frozen
class Line:
    """What one rule says of one tool.

    Attributes:
        entry: the line of a table.
        exact: whether the rule has no wildcard, which decides when it is asked.
        late: whether it asks behind every rule that allows, as an administrator's did once.
    """

    entry: Entry
    exact: bool = False
    late: bool = False

    @property
    def borrowed(self) -> bool:
        """Whether it lets files be read since they may be edited."""
        return self.entry.form is Form.LENT


@attrs.frozen
class Lines:
    """What came of one rule."""

    lines: tuple[Line, ...] = ()
    findings: tuple[Finding, ...] = ()

    def __add__(self, other: Lines) -> Lines:
        return Lines(self.lines + other.lines, self.findings + other.findings)


@attrs.frozen
class Scope:
    """What a rule means beside what it says, the same for all of one file.

    Attributes:
        anchors: the folders that its paths are relative to.
        agents: names of the agents that can be started.
        flag: whether it was given on the command line, where MCP tools have parameters.
        behaves: how the version behaves.
        aliases: other names of skills, and the skill that each is.
        servers: tools of MCP servers, by server; None is not known.
    """

    anchors: Anchors
    agents: frozenset[str] = frozenset()
    flag: bool = False
    behaves: Behaviour = Behaviour()
    aliases: Mapping[str, str] = attrs.field(factory=dict, hash=False)
    servers: Mapping[str, tuple[str, ...]] | None = attrs.field(default=None, hash=False)


@attrs.frozen(slots=False)
class RuleText:
    """A rule, and all that decides what it means.

    Attributes:
        text: as its file says it.
        matcher: what it is.
        span: where it stands.
        effect: of its list.
        scope: of its file.
    """

    text: str
    matcher: Matcher
    span: Span
    effect: Effect
    scope: Scope

    @property
    def removal(self) -> Reason:
        """Why a call is denied where the rule takes the whole tool away."""
        return Reason.UNAVAILABLE if self.effect is Effect.DENY else Reason.RULE

    @cached_property
    def place(self) -> Place:
        """Where it begins."""
        return self.span.place

    def entry(
        self,
        tool: str,
        pattern: Pattern | None = None,
        field: str = "",
        reason: Reason = Reason.RULE,
        form: Form = Form.PLAIN,
    ) -> Entry:
        """Return a line of a table."""
        return Entry(tool, self.effect, pattern, field, reason, self.text, self.place, form)

    def lines(
        self,
        tools: Iterable[str],
        patterns: Iterable[Pattern],
        *,
        exact: bool = False,
        form: Form = Form.PLAIN,
    ) -> Lines:
        """Return a line for every tool and pattern."""
        found = tuple(patterns)
        return Lines(
            tuple(
                Line(self.entry(tool, pattern, form=form), exact)
                for tool in tools
                for pattern in found
            )
        )

    def finding(
        self, code: str, message: str, severity: Severity = Severity.WARNING, help: str = ""
    ) -> Lines:
        """Return a finding about the rule."""
        return Lines((), (Finding(code, message, severity, self.span, help=help),))

    def skipped(self, code: str, message: str, help: str = "") -> Lines:
        """Return the finding that the rule has no effect."""
        severity = Severity.WARNING if self.effect is Effect.ALLOW else Severity.ERROR
        return self.finding(code, f"`{self.text}` {message}; it has no effect", severity, help)
