"""Rules for commands that have no effect, or too much, since a rule of ``deny`` covers them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from policy.effect import Effect
from policy.finding import Finding, Severity
from policy.hosts.claude.lines import Line
from policy.hosts.claude.session import Session
from policy.hosts.claude.settings import Settings
from policy.patterns.automaton import NO_MATCH
from policy.patterns.ends import Indexed
from policy.patterns.letters import named, tokens_of
from policy.patterns.pattern import Pattern, freeze
from policy.patterns.search import fresh_character
from policy.source import Place, Span

__all__ = ["shadowed"]


def shadowed(session: Session, files: Sequence[Settings]) -> Iterator[Finding]:
    """Yield the rules about commands that are asked of no call, or before the one that denies."""
    commands = [
        line
        for line in session.lines
        if line.entry.tool == "Bash" and line.entry.place and not line.entry.field
    ]
    denied = _Denied(session, commands)
    spans = _Spans(files)
    for line in commands:
        entry = line.entry
        if entry.pattern is None or entry.place is None:
            continue
        if entry.effect is Effect.ALLOW:
            if denied.exactly(entry.pattern) or denied.covers(entry.pattern):
                yield Finding(
                    "deny-shadowed-allow",
                    f"`{entry.rule}` allows nothing: a rule of `deny` covers it",
                    Severity.WARNING,
                    spans.of(entry.rule, entry.place),
                )
            continue
        asked = line.exact and entry.effect is Effect.ASK
        if asked and not denied.exactly(entry.pattern) and denied.covers(entry.pattern):
            yield Finding(
                "ask-weakens-deny",
                f"`{entry.rule}` is asked for although a rule of `deny` covers it: the host takes"
                " a rule of `ask` without a star first",
                Severity.WARNING,
                spans.of(entry.rule, entry.place),
                help="leave the rule out, or deny the command without a star as well",
            )


class _Denied:
    """What rules deny of commands."""

    def __init__(self, session: Session, commands: Sequence[Line]) -> None:
        said = [
            (line, pattern)
            for line in commands
            if line.entry.effect is Effect.DENY and (pattern := line.entry.pattern) is not None
        ]
        self._exactly = {pattern for line, pattern in said if line.exact}
        starred = [pattern.tokens for line, pattern in said if not line.exact]
        self._starred = Indexed(starred) if starred else None
        self._lines = session.lines

    def exactly(self, pattern: Pattern) -> bool:
        """Return whether a rule without a star denies the same."""
        return pattern in self._exactly

    def covers(self, pattern: Pattern) -> bool:
        """Return whether a rule with a star denies all that *pattern* matches."""
        if self._starred is None:
            return False
        return self._starred.first(freeze(pattern, self._fresh)) != NO_MATCH

    @cached_property
    def _fresh(self) -> str:
        """A character that no rule names."""
        patterns = (line.entry.pattern for line in self._lines)
        return fresh_character(named(tokens_of(filter(None, patterns))))


class _Spans:
    """Where rules stand."""

    def __init__(self, files: Sequence[Settings]) -> None:
        self._files = files

    def of(self, rule: str, place: Place) -> Span | None:
        """Return the span of a rule, if it is one of these files."""
        return self._known.get((rule, place))

    @cached_property
    def _known(self) -> dict[tuple[str, Place], Span]:
        return {
            (rule.text, rule.span.place): rule.span for each in self._files for rule in each.rules
        }
