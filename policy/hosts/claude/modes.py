"""Permission modes along a chain, as 2.1.329 was observed to hand them down.

Beside the modes that people write there are three that come about below others: the
plan of an agent, in which no model judges, and a plan in which nobody is asked. Once
an agent plans, whoever it starts plans; `dontAsk` below a plan stays a plan.
"""

from __future__ import annotations

from typing import Final

__all__ = ["EDITING_MODES", "child_mode", "is_judged_plan", "is_plan", "is_silent"]

# Modes that edit files in working folders without asking.
EDITING_MODES: Final = frozenset({"acceptEdits", "auto"})

# What whoever starts an agent in one of these hands down, whatever its definition says.
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
    """Return whether nobody is asked in it."""
    return mode == "dontAsk" or mode in _SILENT.values()
