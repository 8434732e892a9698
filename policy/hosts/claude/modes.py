"""Permission modes along a chain, as 2.1.329 was observed to hand them down."""

from __future__ import annotations

from typing import Final

__all__ = ["child_mode"]

# What whoever starts an agent in one of these hands down, whatever its definition says.
_HANDED_DOWN: Final = frozenset({"acceptEdits", "auto", "bypassPermissions"})


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
    if parent == "plan":
        return "dontAsk" if declared == "dontAsk" else parent
    return declared
