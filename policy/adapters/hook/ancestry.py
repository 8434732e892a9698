"""The agents that started the agent that calls, from the notes that Claude Code keeps.

An event names the agent that calls and not the agents that started it. Beside the transcript of
the session, Claude Code keeps a note on every agent: its type, the agent that started it, its
depth. The format of these notes is private, so they count only where all of them fit together.
Otherwise only the type of the agent is known.
"""

from __future__ import annotations

import os

from policy.adapters.hook.event import is_name
from policy.adapters.hook.store import read_own_file
from policy.core.call_json import parsed

TYPE_CHECKING = False  # importing `typing` takes too long for a hook
if TYPE_CHECKING:
    from typing import Final

    from policy.adapters.hook.event import Event

__all__ = ["started_by"]

_DEEPEST: Final = 64
_BYTES: Final = 64 * 1024
_SUFFIX: Final = ".jsonl"

if TYPE_CHECKING:
    # The type of an agent, the agent that started it or "", and its depth.
    _Note = tuple[str, str, int]


def started_by(event: Event) -> tuple[str, ...] | None:
    """Return the types of the agents from below the main conversation to the one that calls.

    None where the notes do not prove them.
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
    # The depths must count down to one, or a note is missing or wrong.
    if types[0] != event.agent_type or depths != list(range(len(types), 0, -1)):
        return None
    return tuple(reversed(types))


def _folder(transcript: str) -> str | None:
    """Return the folder of the notes of a session; None for a path that has none."""
    if not transcript.startswith("/") or "\0" in transcript or not transcript.endswith(_SUFFIX):
        return None
    base = transcript.removesuffix(_SUFFIX)
    folder, name = os.path.split(base)
    if os.path.basename(folder) == "subagents":  # noqa: PTH119  # the transcript of an agent
        return folder
    return os.path.join(base, "subagents") if name else None  # noqa: PTH118


def _note(folder: str, agent: str) -> _Note | None:
    """Return the note on an agent; None where it is missing or invalid."""
    file = os.path.join(folder, f"agent-{agent}.meta.json")  # noqa: PTH118
    try:
        value = parsed(read_own_file(file, _BYTES, private=False).decode())
    except (OSError, ValueError, RecursionError):
        return None
    if type(value) is not dict:
        return None
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
