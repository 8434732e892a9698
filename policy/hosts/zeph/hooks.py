"""Which calls hooks belong to. Hooks are read and matched, never run.

A hook runs before the lists of the agent are asked, so also for calls that
these deny, and its failure blocks nothing, whatever ``fail_closed`` says.
"""

from __future__ import annotations

from typing import Final

from policy.hosts.zeph.definition import HookDef, HookMatcher

__all__ = ["STEPS", "condition_holds", "fires", "matches"]

# What happens to a call of an agent, in this order.
STEPS: Final = (
    "tool grant check",
    "PreToolUse hooks",
    "FilteredToolExecutor",
    "PostToolUse hooks",
    "secret masking",
)


def matches(matcher: str, tool: str) -> bool:
    """Return whether one of the names between ``|`` is part of *tool*; case counts.

    There is no wildcard: ``*`` is a letter like any other.
    """
    return any(token in tool for token in matcher.split("|") if token)


def condition_holds(condition: str | None, tool: str) -> bool:
    """Return whether ``if`` holds: ``tool:name`` is understood, anything else is false."""
    if condition is None:
        return True
    kind, colon, text = condition.partition(":")
    return kind == "tool" and bool(colon) and bool(text) and text in tool


def fires(matcher: HookMatcher, hook: HookDef, tool: str) -> bool:
    """Return whether *hook* runs for calls of *tool*."""
    return matches(matcher.matcher, tool) and condition_holds(hook.condition, tool)
