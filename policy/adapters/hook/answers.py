"""What the host is told, as it reads it."""

from __future__ import annotations

from policy.core.call_json import shown, written

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from policy.adapters.hook.event import Event

    Parts = tuple[str | None, ...]

__all__ = ["joined", "printed"]


def joined(parts: Parts, event: Event) -> str:
    """Return a message, of which None among the *parts* stands for the arguments of the call."""
    return "".join([shown(event.named().call) if part is None else part for part in parts])


def printed(effect: str, message: str) -> bytes:
    """Return the JSON object that answers an event; without an effect the host decides."""
    said: dict[str, object] = {}
    if effect:
        output = {"hookEventName": "PreToolUse", "permissionDecision": effect}
        if message:
            output["permissionDecisionReason"] = message
        said["hookSpecificOutput"] = output
    return written(said, ascii_only=True).encode() + b"\n"
