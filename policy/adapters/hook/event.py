"""The event before a call, checked field by field, and the answer to it."""

from __future__ import annotations

from policy.core.call_json import parsed, written
from policy.core.errors import PolicyError
from policy.core.source import cited
from policy.core.values import Any, Final, frozen

# Characters of one event. It includes the content of a file that the call writes.
LONGEST: Final = 64 * 1024 * 1024

# The tools that start an agent.
SPAWNING: Final = frozenset({"Agent", "Task"})

_NAME: Final = 200


@frozen
class Event:
    """A call that is about to run."""

    tool: str
    call: dict[str, object]  # its arguments
    cwd: str  # the folder it runs in, absolute
    mode: str = ""  # the permission mode of the session
    agent_id: str = ""  # of the agent that calls; "" is the main conversation
    agent_type: str = ""  # its name; "" is a main conversation without an agent
    transcript: str = ""  # the file of the session


def answer_json(effect: str, message: str) -> bytes:
    """Return the JSON answer to an event; with *effect* "" the host decides."""
    answer: dict[str, object] = {}
    if effect:
        output = {"hookEventName": "PreToolUse", "permissionDecision": effect}
        if message:
            output["permissionDecisionReason"] = message
        answer["hookSpecificOutput"] = output
    return written(answer, ascii_only=True).encode() + b"\n"


def read_event(data: bytes) -> Event:
    """Return the event in *data*. Raises PolicyError if it is invalid."""
    if len(data) > LONGEST:
        raise PolicyError(f"expected an event of at most {LONGEST:,} bytes")
    try:
        value = parsed(data.decode())
    except (ValueError, RecursionError) as error:
        raise PolicyError(f"the event is not JSON: {error}") from None
    if type(value) is not dict:
        raise PolicyError(f"expected an event, found {cited(value)}")
    if _text(value, "hook_event_name") != "PreToolUse":
        raise PolicyError("expected the event `PreToolUse`")
    call = value.get("tool_input")
    if type(call) is not dict:
        raise PolicyError("expected an object as `tool_input`")
    optional = ("permission_mode", "agent_id", "agent_type", "transcript_path")
    texts = [_text(value, key, "") for key in optional]
    event = Event(_text(value, "tool_name"), call, _text(value, "cwd"), *texts)
    if not event.tool:
        raise PolicyError("expected the name of a tool as `tool_name`")
    if not event.cwd.startswith("/") or "\0" in event.cwd:
        raise PolicyError("expected an absolute path as `cwd`")
    if event.agent_id and not is_name(event.agent_id):
        raise PolicyError("expected letters and digits as `agent_id`")
    if event.agent_id and not event.agent_type:
        raise PolicyError("expected the type of the agent as `agent_type`")
    return event


def is_name(text: str) -> bool:
    """Return whether *text* is a name that the host makes: ASCII letters, digits, ``_``, ``-``."""
    letters = text.replace("_", "a").replace("-", "a")
    return len(text) <= _NAME and letters.isascii() and letters.isalnum()


def _text(value: dict[str, Any], key: str, absent: str | None = None) -> str:
    found = value.get(key)
    if found is None and absent is not None:
        return absent
    if type(found) is not str:
        raise PolicyError(f"expected a text as `{key}`")
    return found
