"""What skills allow and deny while they are active, and what all of them allow together."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from policy.decision import Reason
from policy.effect import Effect
from policy.hosts.claude.lines import Line, Lines, Scope
from policy.hosts.claude.options import Options
from policy.hosts.claude.rules import read_rule
from policy.hosts.claude.skills import Skill

__all__ = ["by_skills"]


def by_skills(
    skills: Mapping[str, Skill], scope: Scope, options: Options, *, locked: bool
) -> tuple[Lines, tuple[Line, ...]]:
    """Return what the active skill says, with all that is wrong with any; and what all allow."""
    invoked = options.active_skill.removeprefix("/")
    active = skills.get(options.aliases.get(invoked, invoked))
    read = [(skill, _granted(skill, scope)) for skill in skills.values()]
    findings = [found for skill, lines in read for found in (*skill.findings, *lines.findings)]
    if locked and options.behaves.lock_binds_skills:
        read = []
    granted = tuple(line for _, lines in read for line in lines.lines)
    allowed = (
        line
        for skill, lines in read
        if skill is active and not skill.forked
        for line in lines.lines
    )
    denied = Lines()
    if active is not None and options.behaves.skills_take_away:
        denied = _denied(active, scope)
    return Lines((*allowed, *denied.lines), (*findings, *denied.findings)), granted


def _granted(skill: Skill, scope: Scope) -> Lines:
    """Return what *skill* allows while it is active: nothing where a star alone is in its list."""
    lines = Lines()
    if any(matcher.tool == "*" and matcher.specifier is None for matcher in skill.allowed.matchers):
        return lines
    for matcher in skill.allowed.matchers:
        # Empty parentheses are none in these lists.
        text = str(matcher).removesuffix("()")
        lines += read_rule(text, matcher.span, Effect.ALLOW, scope)
    return lines


def _denied(skill: Skill, scope: Scope) -> Lines:
    """Return what *skill* denies while it is active.

    It is read as the flag that takes tools away, but those of the host stay, and their
    calls are denied.
    """
    lines = Lines()
    scope = attrs.evolve(scope, flag=True)
    for matcher in skill.disallowed.matchers:
        found = read_rule(str(matcher), matcher.span, Effect.DENY, scope)
        lines += Lines(tuple(map(_as_rule, found.lines)), found.findings)
    return lines


def _as_rule(line: Line) -> Line:
    if line.entry.tool.startswith("mcp__"):
        return line
    return attrs.evolve(line, entry=attrs.evolve(line.entry, reason=Reason.RULE))
