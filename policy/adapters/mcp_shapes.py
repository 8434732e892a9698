"""What is in a message of MCP, read and written: a request, a result, a question, an error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from policy.adapters.mcp_reading import Refused
from policy.adapters.verdict import Verdict

__all__ = [
    "Object",
    "approves",
    "awaited",
    "each",
    "elicits",
    "error",
    "id_of",
    "key",
    "object_of",
    "question",
    "text",
    "told",
    "written",
]

Object: TypeAlias = dict[str, Any]

_ANSWER: Final = "allow"
_SCHEMA: Final = {
    "type": "object",
    "properties": {_ANSWER: {"type": "boolean", "title": "Allow this call"}},
    "required": [_ANSWER],
}


def id_of(message: Any) -> Any:
    """Return the id of a message; None where it has none that an answer could name."""
    found = message.get("id") if isinstance(message, dict) else None
    return found if isinstance(found, (str, int)) and not isinstance(found, bool) else None


def awaited(message: Object) -> str | int:
    """Return the id of a request that somebody waits for."""
    found = message.get("id")
    if isinstance(found, bool) or not isinstance(found, (str, int)):
        raise Refused("expected an id that is a text or a whole number")
    return found


def key(number: object) -> tuple[str, object]:
    """Return what is equal for ids that are the same."""
    # 1 and true are equal, and so are 1 and 1.0.
    return type(number).__name__, number if isinstance(number, (str, int, float)) else None


def text(number: object) -> str:
    """Return a text that may be an id of ours, or ""."""
    return number if isinstance(number, str) else ""


def object_of(value: Any) -> Object:
    """Return *value* where it is an object, and an empty one otherwise."""
    return value if isinstance(value, dict) else {}


def each(message: Any) -> list[Any]:
    """Return the messages of a batch, or the one that it is."""
    return message if isinstance(message, list) else [message]


def elicits(capabilities: Mapping[str, Any]) -> bool:
    """Return whether a client can put a form to a person."""
    found = capabilities.get("elicitation")
    return isinstance(found, dict) and (not found or "form" in found)


def approves(result: Any) -> bool:
    """Return whether the result of a question approves."""
    answer = object_of(result)
    return (
        answer.get("action") == "accept" and object_of(answer.get("content")).get(_ANSWER) is True
    )


def written(message: Any) -> bytes:
    """Return a message as a line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def question(verdict: Verdict) -> Object:
    """Return what asks a person about a call."""
    params = {"mode": "form", "message": verdict.message, "requestedSchema": _SCHEMA}
    return {"method": "elicitation/create", "params": params}


def told(call: object, verdict: Verdict, *, modern: bool = False) -> bytes:
    """Return the result of a call that does not run: what the model is told."""
    result: Object = {"content": [{"type": "text", "text": verdict.message}], "isError": True}
    if modern:
        result["resultType"] = "complete"
    return written({"jsonrpc": "2.0", "id": call, "result": result})


def error(number: object, mistake: int, message: str) -> bytes:
    """Return the answer to a request that is refused."""
    error = {"code": mistake, "message": message}
    return written({"jsonrpc": "2.0", "id": number, "error": error})
