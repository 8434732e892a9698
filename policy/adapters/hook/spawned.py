"""Who started the agent that calls: the chain, as the host's own notes tell it.

The host says of an event which agent calls, and not who started it. Beside the
transcript of the session it keeps a note on every agent: its type, the agent that
started it, how deep it is. The form of these notes is private to the host, so they are believed
where all of them fit together, and otherwise nothing is known but the type.
"""

from __future__ import annotations

import os
import stat

from policy.adapters.hook.event import is_name
from policy.core.call_json import parsed

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from typing import Any, Final

    from policy.adapters.hook.event import Event

__all__ = ["started_by"]

_DEEPEST: Final = 64
_BYTES: Final = 64 * 1024
_SUFFIX: Final = ".jsonl"

if TYPE_CHECKING:
    # Of an agent: its type, the agent that started it or "", and how deep it is.
    _Note = tuple[str, str, int]


def started_by(event: Event) -> tuple[str, ...] | None:
    """Return the types of the agents from below the main conversation to the one that calls.

    None where that is not known for certain.
    """
    if not event.agent_id:
        return ()
    folder = _folder(event.transcript)
    if folder is None:
        return None
    types: list[str] = []
    depths: list[int] = []
    seen: set[str] = set()
    current = event.agent_id
    while current:
        note = _note(folder, current) if current not in seen else None
        if note is None or len(types) >= _DEEPEST:
            return None
        seen.add(current)
        kind, current, depth = note
        types.append(kind)
        depths.append(depth)
    # As deep as there are notes, or one of them is missing or another's.
    if types[0] != event.agent_type or depths != list(range(len(types), 0, -1)):
        return None
    return tuple(reversed(types))


def _folder(transcript: str) -> str | None:
    """Return the folder of the notes of a session."""
    if not transcript.startswith("/") or "\0" in transcript or not transcript.endswith(_SUFFIX):
        return None
    base = transcript.removesuffix(_SUFFIX)
    folder, name = os.path.split(base)
    if os.path.basename(folder) == "subagents":  # noqa: PTH119  # that of an agent itself
        return folder
    return os.path.join(base, "subagents") if name else None  # noqa: PTH118


def _note(folder: str, agent: str) -> _Note | None:
    """Return the note on an agent; None where there is none, or it cannot be believed."""
    try:
        value = parsed(_read(os.path.join(folder, f"agent-{agent}.meta.json")).decode())  # noqa: PTH118
    except (OSError, ValueError, RecursionError):
        return None
    if type(value) is not dict:
        return None
    return _noted(value)


def _noted(value: dict[str, Any]) -> _Note | None:
    kind, parent, depth = (
        value.get("agentType"),
        value.get("parentAgentId"),
        value.get("spawnDepth"),
    )
    if type(kind) is not str or not kind or type(depth) is not int:
        return None
    if parent is None:
        return kind, "", depth
    if type(parent) is not str or not is_name(parent):
        return None
    return kind, parent, depth


def _read(path: str) -> bytes:
    """Return the bytes of a file of this user; no link, no pipe, nothing large."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise OSError
        data = os.read(handle, _BYTES + 1)
    finally:
        os.close(handle)
    if len(data) > _BYTES:
        raise OSError
    return data
