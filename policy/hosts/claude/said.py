"""What the rules of all settings files come to, file by file."""

from __future__ import annotations

import attrs

from policy.effect import Effect
from policy.finding import Finding
from policy.hosts.claude.lines import Line, Lines, Scope
from policy.hosts.claude.negations import negates, opened
from policy.hosts.claude.options import Options
from policy.hosts.claude.paths import Anchors
from policy.hosts.claude.rules import read_rule
from policy.hosts.claude.settings import Settings
from policy.patterns.pattern import Kind
from policy.ruleset import Entry

__all__ = ["Said", "needs_trust"]


@attrs.define
class Said:
    """What the rules of all scopes come to, which are added from the strongest on.

    Attributes:
        locked: whether the rules of an administrator are the only ones.
        lines: of every rule in force, but for those in *reopened*.
        reopened: of rules that negations open in part.
        findings: what is wrong with them.
        paths: the rules so far that allow files of some names, as they are written.
    """

    locked: bool
    lines: list[Line] = attrs.field(factory=list)
    reopened: list[tuple[Entry, ...]] = attrs.field(factory=list)
    findings: list[Finding] = attrs.field(factory=list)
    paths: set[str] = attrs.field(factory=set)

    def add(
        self, file: Settings, anchors: Anchors, agents: frozenset[str], options: Options
    ) -> None:
        """Add the rules of a file, whose paths are relative to *anchors*."""
        scope = Scope(
            anchors,
            agents,
            flag=file.scope == "cli",
            behaves=options.behaves,
            aliases=options.aliases,
            servers=options.servers,
        )
        trusted = options.trusted or not needs_trust(file.scope, options)
        rules = [r for r in file.rules if not self.locked or _kept(file.scope, r.effect)]
        first = options.behaves.managed_asks_first
        negations = [(number, rule) for number, rule in enumerate(rules) if negates(rule)]
        paths: set[str] = set()
        for number, rule in enumerate(rules):
            found = read_rule(rule.text, rule.span, rule.effect, scope)
            self.findings += found.findings
            later = [negation for at, negation in negations if at > number]
            opening = opened(rule, later, anchors) if later else None
            if opening is not None:
                self.reopened.append(opening.entries(found))
                continue
            if rule.effect is Effect.ALLOW:
                if not trusted or rule.text in self.paths:
                    continue  # a path counts once, relative to the folder of the strongest scope
                paths.update([rule.text] if _is_path(found) else [])
            if rule.effect is Effect.ASK and file.scope == "managed" and not first:
                self.lines += (attrs.evolve(line, late=True) for line in found.lines)
                continue
            self.lines += found.lines
        self.paths |= paths


def _is_path(found: Lines) -> bool:
    """Return whether a rule speaks of files of some names."""
    patterns = [line.entry.pattern for line in found.lines]
    return any(pattern is not None and pattern.kind is Kind.PATH for pattern in patterns)


def needs_trust(scope: str, options: Options) -> bool:
    """Return whether what a file of a scope allows counts where its folder is trusted only."""
    return scope == "project" or (scope == "local" and options.local_tracked)


def _kept(scope: str, effect: Effect) -> bool:
    return scope == "managed" or (scope == "cli" and effect is Effect.DENY)
