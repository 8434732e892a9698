"""What the host says of a call before it runs, with nothing taken on trust."""

from __future__ import annotations

import re
from typing import Final

import attrs

from policy.codec.json_text import Object, read_object
from policy.errors import PolicyError

__all__ = ["LONGEST", "Event", "read_event"]

# Characters of one event; the content of a file that is written is in it.
LONGEST: Final = 64 * 1024 * 1024

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,200}")


@attrs.frozen
class Event:
    """A call that is about to run.

    Attributes:
        tool: its name.
        call: its arguments.
        cwd: the folder it runs in, absolute.
        mode: the permission mode of the session, or "".
        agent_id: of the agent that calls; "" for the main conversation.
        agent_type: its name; "" for the main conversation as itself.
        transcript: the file of the session, or "".

    """

    tool: str
    call: dict[str, object]
    cwd: str
    mode: str = ""
    agent_id: str = ""
    agent_type: str = ""
    transcript: str = ""


def read_event(data: bytes) -> Event:
    """Return the event that *data* is.

    Raises:
        PolicyError: it is none.

    """
    if len(data) > LONGEST:
        msg = f"expected an event of at most {LONGEST:,} bytes"
        raise PolicyError(msg)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise PolicyError("the event is not UTF-8") from None
    value = read_object(text, limit=LONGEST, what="an event")
    if _text(value, "hook_event_name") != "PreToolUse":
        raise PolicyError("expected the event `PreToolUse`")
    call = value.get("tool_input")
    if type(call) is not dict:
        raise PolicyError("expected an object as `tool_input`")
    event = Event(
        _text(value, "tool_name"),
        call,
        _text(value, "cwd"),
        _text(value, "permission_mode", ""),
        _text(value, "agent_id", ""),
        _text(value, "agent_type", ""),
        _text(value, "transcript_path", ""),
    )
    if not event.tool:
        raise PolicyError("expected the name of a tool as `tool_name`")
    if not event.cwd.startswith("/") or "\0" in event.cwd:
        raise PolicyError("expected an absolute path as `cwd`")
    if event.agent_id and not _NAME.fullmatch(event.agent_id):
        raise PolicyError("expected letters and digits as `agent_id`")
    if event.agent_id and not event.agent_type:
        raise PolicyError("expected the type of the agent as `agent_type`")
    return event


def _text(value: Object, key: str, absent: str | None = None) -> str:
    found = value.get(key)
    if found is None and absent is not None:
        return absent
    if type(found) is not str:
        msg = f"expected a text as `{key}`"
        raise PolicyError(msg)
    return found
