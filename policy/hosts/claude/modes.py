"""Permission modes along a chain, as 2.1.329 was observed to hand them down.

Beside the modes that people write there are three that come about below others: the
plan of an agent, in which no model judges, and a plan that denies what would be asked for. Once an
agent plans, the agents that it starts plan; `dontAsk` below a plan stays a plan.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from policy.hosts.claude.options import ClaudeOptions
from policy.hosts.claude.settings import Settings

__all__ = [
    "EDITING_MODES",
    "child_mode",
    "is_judged_plan",
    "is_plan",
    "is_silent",
    "session_mode",
]

# Modes that edit files in working folders without asking.
EDITING_MODES: Final = frozenset({"acceptEdits", "auto"})

# An agent in one of these hands it down, whatever the definition of the other says.
_HANDED_DOWN: Final = frozenset({"acceptEdits", "auto", "bypassPermissions"})

_PLAN_OF_AGENT: Final = "plan of an agent"
# A plan -> the same where an agent said `dontAsk`.
_SILENT: Final = {"plan": "silent plan", _PLAN_OF_AGENT: "silent plan of an agent"}


def child_mode(parent: str, declared: str | None, *, bypass: bool = False) -> str:
    """Return the mode of an agent.

    Args:
        parent: mode of the agent that starts it.
        declared: what its definition says, or None.
        bypass: whether the version takes ``bypassPermissions`` of a definition.

    """
    if parent in _HANDED_DOWN or declared is None:
        return parent
    if declared == "bypassPermissions":
        return declared if bypass and parent == "default" else parent
    if is_plan(parent):
        return _SILENT.get(parent, parent) if declared == "dontAsk" else parent
    return _PLAN_OF_AGENT if declared == "plan" else declared


def is_plan(mode: str) -> bool:
    """Return whether edits and servers wait for a plan to be agreed to."""
    return mode in _SILENT or mode in _SILENT.values()


def is_judged_plan(mode: str) -> bool:
    """Return whether it is the plan of a session, in which a model judges where there is one."""
    return mode in ("plan", _SILENT["plan"])


def is_silent(mode: str) -> bool:
    """Return whether it denies what would be asked for."""
    return mode == "dontAsk" or mode in _SILENT.values()


def session_mode(
    settings: Iterable[Settings], options: ClaudeOptions, *, no_bypass: bool, no_auto: bool
) -> str:
    """Return the mode of a session.

    Args:
        settings: of every scope, the strongest first.
        options: how it is started.
        no_bypass: whether there is no ``bypassPermissions``, though a flag asks for it.
        no_auto: whether there is no ``auto``.

    """
    asked = options.mode or _said(settings, options)
    if asked == "bypassPermissions" and no_bypass:
        return "default"
    return "default" if asked == "manual" or (asked == "auto" and no_auto) else asked


def _said(settings: Iterable[Settings], options: ClaudeOptions) -> str:
    """Return the mode that the strongest file says, which a project may not say of some."""
    said = [(each.scope, each.mode) for each in settings if each.mode]
    scope, mode = said[0] if said else ("", "default")
    taken = {
        "auto": options.behaves.auto_of_project,
        "bypassPermissions": options.behaves.bypass_of_project,
    }
    if scope not in _OF_PROJECT or taken.get(mode or "", True):
        return mode or "default"
    # It counts if a file of another scope says it too, and nothing else does (2.1.329, observed).
    others = {other for scope, other in said if scope not in _OF_PROJECT}
    return mode if mode and mode in others else "default"


_OF_PROJECT: Final = ("project", "local")
