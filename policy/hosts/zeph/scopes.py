"""Capability scopes: globs over qualified ids, expanded once against what is registered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from policy.finding import Finding, Severity
from policy.hosts.zeph.errors import Kind, ZephError
from policy.hosts.zeph.globs import Unusable, glob

__all__ = ["ToolScope", "qualify"]

_BUILT_IN: Final = "builtin:"
_NAMESPACES: Final = (_BUILT_IN, "skill:", "mcp:", "acp:", "a2a:")

# What is there when a session starts, so that a pattern without a match is a mistake.
_STATIC: Final = (_BUILT_IN, "skill:")


def qualify(name: str) -> str:
    """Return the id with its namespace; one without is built in."""
    return name if name.startswith(_NAMESPACES) else _BUILT_IN + name


@attrs.frozen
class ToolScope:
    """The tools in scope: a set of ids, looked up and never searched.

    Attributes:
        tools: the ids.
        findings: patterns that match nothing as yet.

    """

    tools: frozenset[str]
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, patterns: Iterable[str], registry: Iterable[str]) -> ToolScope:
        """Return what *patterns* match of *registry*.

        Raises:
            ZephError: a pattern is no glob, matches none of the tools that are
                always there, or all match the whole registry; or an id of the
                registry has no namespace.

        """
        registered = tuple(registry)
        for name in registered:
            if not name.startswith(_NAMESPACES):
                message = f"tool id '{name}' has no namespace"
                raise ZephError(Kind.UNQUALIFIED_ID, message, help=f"`{_BUILT_IN}{name}`?")
        found: set[str] = set()
        findings: list[Finding] = []
        for pattern in patterns:
            matched = _matched(pattern, registered)
            if not matched:
                findings.append(_dead(pattern))
            found.update(matched)
        if len(registered) > 1 and found == set(registered):
            message = "the patterns match every registered tool"
            raise ZephError(Kind.ACCIDENTALLY_FULL, message, help="leave the scope out")
        return cls(frozenset(found), tuple(findings))

    def holds(self, tool: str) -> bool:
        """Return whether a call of *tool* is in scope; else Zeph says ``OutOfScope``."""
        return qualify(tool) in self.tools

    def __and__(self, other: ToolScope) -> ToolScope:
        """Return what is in both scopes."""
        return ToolScope(self.tools & other.tools, self.findings + other.findings)


def _matched(pattern: str, registered: Iterable[str]) -> list[str]:
    try:
        # A lone star is every namespace.
        patterns = glob(pattern if pattern in ("*", "**") else qualify(pattern))
    except Unusable as unusable:
        message = f"invalid pattern '{pattern}': {unusable}"
        raise ZephError(Kind.INVALID_PATTERN, message) from None
    return [name for name in registered if any(each.matches(name) for each in patterns)]


def _dead(pattern: str) -> Finding:
    message = f"the pattern '{pattern}' matches no registered tool"
    if qualify(pattern).startswith(_STATIC):
        raise ZephError(Kind.DEAD_PATTERN, message)
    return Finding("dead-scope-pattern", message, Severity.WARNING)
