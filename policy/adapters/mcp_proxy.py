"""A proxy in front of any MCP server that uses standard input and output.

`run_proxy` passes lines between the server and the client through a `Gate`, which decides calls of
tools, reading resources and getting prompts (`ContentGate`). Everything else passes byte for byte;
of what the server sends, only lists change. When the proxy ends, so does the server.

A client's message is read strictly, since the server may read it differently: a line that two
readers could take for different messages is refused, and so is a batch. Messages stay JSON objects:
the types of the `mcp` library accept repeated and unknown keys and write a message anew.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeAlias

from policy.adapters.guard import (
    APPROVAL_FORM,
    APPROVAL_KEY,
    APPROVAL_QUESTION,
    Guard,
    Seals,
    Verdict,
    unapproved,
)
from policy.adapters.messages import FAILED
from policy.core.call_json import parsed
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.memory import Memo
from policy.core.source import visible
from policy.core.values import frozen

_Object: TypeAlias = dict[str, Any]


class MessageRefused(Exception):
    """A message that another reader may take for a different one."""


def _read(line: bytes) -> Any:
    """Return the message on a line. Raises MessageRefused if readers may disagree on it."""
    # Some readers end a line at a carriage return, which is white space in JSON.
    if b"\r" in line.rstrip(b"\r\n"):
        raise MessageRefused("expected one message a line, found a carriage return in it")
    try:
        return parsed(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise MessageRefused("expected a message in JSON, with each key once") from error


def _check_object(value: Any, keys: frozenset[str]) -> _Object:
    """Return *value*, an object whose *keys* no reader mistakes, or raise MessageRefused."""
    if not isinstance(value, dict):
        raise MessageRefused("expected an object")
    folded = {_folded(key) for key in keys}
    for key in value:
        if key not in keys and _folded(key) in folded:
            raise MessageRefused("expected keys as the protocol writes them")
    if not isinstance(value.get("method", ""), str):
        raise MessageRefused("expected a method that is a text")
    return value


def _folded(key: str) -> str:
    return key.casefold().replace("_", "")


def _check_params(value: Any, keys: frozenset[str]) -> _Object:
    """Return *value*, parameters (see `_check_object`) that hold no half of a character.

    Readers replace half of a character in different ways.
    """
    params = _check_object(value, keys)
    try:
        json.dumps(params, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise MessageRefused("expected text, found half of a character") from None
    return params


def _id_of(message: Any) -> str | int | None:
    """Return the id of a message, if an answer could name it."""
    found = message.get("id") if isinstance(message, dict) else None
    return found if isinstance(found, (str, int)) and not isinstance(found, bool) else None


def _id_key(number: object) -> tuple[str, object]:
    """Return a key that is equal for equal ids: 1 is not `true`, nor 1.0."""
    return type(number).__name__, number if isinstance(number, (str, int, float)) else None


def _field(params: Any, field: str, keys: frozenset[str]) -> str:
    found = _check_params(params, keys).get(field)
    if not isinstance(found, str):
        raise MessageRefused(f"expected a text as `{field}`")
    return found


def _object(value: Any, key: str) -> _Object:
    """Return the object at *key* of *value*, or an empty one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _text(value: Any, key: str) -> str | None:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def _elicits(capabilities: Mapping[str, Any]) -> bool:
    """Return whether a client can show a form to a person."""
    found = capabilities.get("elicitation")
    return isinstance(found, dict) and (not found or "form" in found)


def _approves(result: Any) -> bool:
    """Return whether the result of a question approves."""
    accepted = isinstance(result, dict) and result.get("action") == "accept"
    return accepted and _object(result, "content").get(APPROVAL_KEY) is True


def _asks_in_result(params: _Object) -> bool:
    """Return whether a question takes the place of the result, by the version of a request."""
    found: bool = _object(params, "_meta").get(_VERSION, "") >= _ASKING_IN_RESULT
    return found


def _line(message: Any) -> bytes:
    """Return a message, or a batch, as a line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def _question(verdict: Verdict) -> _Object:
    """Return the request that asks a person about a call."""
    params = {"mode": "form", "message": verdict.message, "requestedSchema": APPROVAL_FORM}
    return {"method": "elicitation/create", "params": params}


def _refusal(call: object, verdict: Verdict, *, modern: bool = False) -> bytes:
    """Return the result of a call that does not run, for the model."""
    result: _Object = {"content": [{"type": "text", "text": verdict.message}], "isError": True}
    if modern:
        result["resultType"] = "complete"
    return _line({"jsonrpc": "2.0", "id": call, "result": result})


def _error(number: object, kind: int, message: str) -> bytes:
    """Return the answer to a request that is refused."""
    error = {"code": kind, "message": message}
    return _line({"jsonrpc": "2.0", "id": number, "error": error})


_RESOURCE: Final = frozenset({"uri", "_meta"})
_REFERENCE: Final = frozenset({"type", "uri", "name"})
# Method -> "resources" or "prompts", and the keys of its parameters.
_DECIDED: Final = {
    "resources/read": ("resources", _RESOURCE),
    "resources/subscribe": ("resources", _RESOURCE),
    "prompts/get": ("prompts", frozenset({"name", "arguments", "_meta"})),
    "completion/complete": ("", frozenset({"ref", "argument", "context", "_meta"})),
}
_REFERENCES: Final = {"ref/prompt": "prompts", "ref/resource": "resources"}
# Method -> the key of the list in its result.
_LISTS: Final = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}


@frozen
class ContentGate:
    """Decides on the resources and the prompts of a server.

    Reading a resource, or subscribing to it, is a call of `read_resource` with its ``uri``.
    Getting a prompt is one of `get_prompt` with its ``name``. `policy.adapters.fastmcp` agrees.
    None in place of such a tool passes the requests undecided.
    """

    guard: Guard
    resources: str | None = "read_resource"
    prompts: str | None = "get_prompt"

    def verdict(self, method: str, params: object) -> Verdict | None:
        """Return the verdict on a request, None to pass it undecided. Raises MessageRefused."""
        kind, keys = _DECIDED[method]
        if not kind:
            # Completing an argument reveals its resource or prompt.
            params, keys = _check_object(params, keys).get("ref"), _REFERENCE
            kind = _REFERENCES.get(_field(params, "type", keys), "")
            if not kind:
                raise MessageRefused("expected a reference to a resource or a prompt")
            if kind == "resources" and self.resources and self.guard.offered([self.resources]):
                return None  # a template does not say which resource it is about
        tool, field = self._counterpart(kind)
        return None if tool is None else self._decide(tool, field, _field(params, field, keys))

    def _counterpart(self, kind: str) -> tuple[str | None, str]:
        """Return the tool that stands for *kind*, and the field of its argument."""
        return (self.prompts, "name") if kind == "prompts" else (self.resources, "uri")

    def possible(self, kind: str, listed: list[Any]) -> list[Any]:
        """Return the entries of a list that can be granted; *kind* is its key in the result."""
        if kind == "tools":
            names = {name for one in listed if (name := _text(one, "name")) is not None}
            offered = set(self.guard.offered(sorted(names)))
            return [one for one in listed if _text(one, "name") in offered]
        tool, field = self._counterpart(kind)
        if tool is None:
            return listed
        if kind == "resourceTemplates":
            return listed if self.guard.offered([tool]) else []
        decide = partial(self._decide, tool, field, recorded=False)
        values = ((one, _text(one, field)) for one in listed)
        return [
            one
            for one, value in values
            if value is not None and decide(value).effect is not Effect.DENY
        ]

    def _decide(self, tool: str, field: str, value: str, *, recorded: bool = True) -> Verdict:
        """Return the strictest verdict on *value*, in every spelling that a reader may use."""
        verdicts = [
            self.guard.check(tool, {field: each}, recorded=recorded and not number)
            for number, each in enumerate(_spellings(field, value))
        ]
        return min(verdicts, key=lambda verdict: verdict.effect)


def _spellings(field: str, value: str) -> Iterator[str]:
    yield value
    scheme, colon, rest = value.partition(":")
    if field == "uri" and colon:
        host = ""
        if rest.startswith("//"):
            host, slash, rest = rest[2:].partition("/")
            host, rest = f"//{host.lower()}", slash + rest
        # Schemes and hosts ignore case.
        folded = f"{scheme.lower()}:{host}{rest}"
        if folded != value:
            yield folded


# Since this version a question takes the place of a result, and the client calls again.
_ASKING_IN_RESULT: Final = "2026-07-28"
_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"

# The most requests for lists that wait for results. Beyond it, the oldest list passes unfiltered.
_REMEMBERED: Final = 10_000

_PARSE_ERROR, _INVALID_REQUEST, _DENIED = -32700, -32600, -32000
_ENVELOPE = frozenset("jsonrpc id method params result error".split())
_PARAMS = frozenset("name arguments _meta task inputResponses requestState".split())


@frozen
class Sent:
    """The lines to send to the server and to the client."""

    to_server: bytes = b""
    to_client: bytes = b""


@frozen
class _Asked:
    """A request that waits for a person, and the answer to it without approval."""

    line: bytes
    request: object
    refusal: bytes


class Gate:
    """Checks the messages between one client and one server. Safe to use from two threads.

    By default the guard of the agent that calls also decides on resources and prompts.
    """

    def __init__(self, guard: Guard, content: ContentGate | None = None) -> None:
        self._guard = guard
        self._content = content or ContentGate(guard)
        self._lock = threading.Lock()
        self._seals = Seals()
        self._can_ask = False
        self._asked: dict[str, _Asked] = {}
        self._listed: Memo[tuple[str, object], str] = Memo(_REMEMBERED)

    def from_client(self, line: bytes) -> Sent:
        """Return the lines to send for a line of the client. Never raises: failures refuse it."""
        message, kind = None, _PARSE_ERROR
        try:
            message, kind = _read(line), _INVALID_REQUEST
            with self._lock:
                return self._client_message(message, line)
        except MessageRefused as refused:
            why = str(refused)
        except Exception:  # noqa: BLE001  # any failure must keep the line from the server
            why = FAILED
        return Sent(to_client=_error(_id_of(message), kind, why))

    def from_server(self, line: bytes) -> Sent:
        """Return the lines to send for a line of the server: itself, but with filtered lists."""
        with self._lock:
            if not self._listed:
                return Sent(to_client=line)
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                return Sent(to_client=line)
            messages = message if isinstance(message, list) else [message]
            changed = [self._filter(one) for one in messages]
        return Sent(to_client=_line(message) if any(changed) else line)

    def _client_message(self, message: Any, line: bytes) -> Sent:
        if isinstance(message, list):
            raise MessageRefused("expected one message, found a batch")
        _check_object(message, _ENVELOPE)
        if "method" not in message:
            asked = self._asked.pop(_text(message, "id") or "", None)
            if asked is None:
                return Sent(to_server=line)
            approved = _approves(message.get("result"))
            return Sent(to_server=asked.line) if approved else Sent(to_client=asked.refusal)
        method, number = message["method"], _id_of(message)
        if method != "tools/call" and method not in _DECIDED:
            self._remember(message)
            return Sent(to_server=line)
        if "id" not in message:
            return Sent()  # no answer could say that it was denied
        if number is None:
            raise MessageRefused("expected an id that is a text or a whole number")
        if method == "tools/call":
            return self._call(message, number, line)
        verdict = self._content.verdict(method, message.get("params"))
        if verdict is None or verdict.effect is Effect.ALLOW:
            return Sent(to_server=line)
        if verdict.effect is Effect.DENY:
            return Sent(to_client=_error(number, _DENIED, verdict.message))
        refusal = _error(number, _DENIED, unapproved(verdict).message)
        if _asks_in_result(_object(message, "params")):
            return Sent(to_client=refusal)  # only the result of a tool can be a question
        return self._ask(_Asked(line, number, refusal), verdict)

    def _remember(self, message: _Object) -> None:
        method, params = message.get("method"), _object(message, "params")
        if method == "initialize":
            self._can_ask = _elicits(_object(params, "capabilities"))
        elif method in _LISTS:
            self._listed.keep(_id_key(message.get("id")), _LISTS[method])
        elif method == "notifications/cancelled":
            call = _id_key(params.get("requestId"))
            for number, asked in list(self._asked.items()):
                if _id_key(asked.request) == call:
                    del self._asked[number]

    def _call(self, message: _Object, call: str | int, line: bytes) -> Sent:
        params = _check_params(message.get("params"), _PARAMS)
        tool, arguments = params.get("name"), params.get("arguments")
        if not isinstance(tool, str) or not isinstance(arguments, (dict, type(None))):
            raise MessageRefused("expected the name of a tool and an object of arguments")
        verdict = self._guard.check(tool, arguments or {})
        modern = _asks_in_result(params)
        if verdict.effect is Effect.ALLOW:
            return Sent(to_server=line)
        if verdict.effect is Effect.DENY:
            return Sent(to_client=_refusal(call, verdict, modern=modern))
        if modern:
            return self._ask_in_result(message, params, verdict)
        return self._ask(_Asked(line, call, _refusal(call, unapproved(verdict))), verdict)

    def _ask(self, asked: _Asked, verdict: Verdict) -> Sent:
        """Return the question to the client, or the refusal if that cannot ask a person."""
        if not self._can_ask:
            return Sent(to_client=asked.refusal)
        number = f"agent-policy-{secrets.token_hex(16)}"
        self._asked[number] = asked
        asking = {"jsonrpc": "2.0", "id": number, **_question(verdict)}
        return Sent(to_client=_line(asking))

    def _ask_in_result(self, message: _Object, params: _Object, verdict: Verdict) -> Sent:
        tool, arguments = params["name"], params.get("arguments") or {}
        answers = _object(params, "inputResponses")
        answer = answers.pop(APPROVAL_QUESTION, None)
        if answer is not None:
            # The server did not ask the question, so it gets no answer to it.
            known = self._seals.knows(params.pop("requestState", None), tool, arguments)
            if not answers:
                del params["inputResponses"]
            if known and _approves(answer):
                return Sent(to_server=_line(message))
        elif _elicits(_object(_object(params, "_meta"), _CAPABILITIES)):
            result = {
                "resultType": "input_required",
                "inputRequests": {APPROVAL_QUESTION: _question(verdict)},
                "requestState": self._seals.seal(tool, arguments),
            }
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            return Sent(to_client=_line(answer))
        return Sent(to_client=_refusal(message["id"], unapproved(verdict), modern=True))

    def _filter(self, message: Any) -> bool:
        """Remove from a list the entries that are never granted; return whether it changed."""
        if not isinstance(message, dict) or "method" in message:
            return False
        kind = self._listed.pop(_id_key(message.get("id")), "")
        result = _object(message, "result")
        listed = result.get(kind)
        if not kind or not isinstance(listed, list):
            return False
        result[kind] = self._content.possible(kind, listed)
        return len(result[kind]) != len(listed)


# Seconds for a server to end after its input has ended, and after a signal.
_PATIENCE: Final = 5.0
_PIECE: Final = 1 << 16
_LINE_BYTES: Final = 64 * 1024 * 1024  # of the longest line, in either direction
_KILLED: Final = 128  # plus the number of the signal, as a shell reports it


def run_proxy(command: Sequence[str], guard: Guard, content: ContentGate | None = None) -> int:
    """Run *command* behind *guard* until it or its client ends; return its exit status.

    The client is at standard input and output. Raises PolicyError: the server cannot be started.
    """
    try:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        msg = f"the server `{visible(command[0])}` cannot be started: {reason}"
        raise PolicyError(msg) from None
    assert server.stdin is not None  # noqa: S101  # both are pipes
    assert server.stdout is not None  # noqa: S101
    gate = Gate(guard, content)
    up, down = (server.stdin, threading.Lock()), (sys.stdout.buffer, threading.Lock())

    def send(sent: Sent) -> None:
        for text, (stream, lock) in ((sent.to_server, up), (sent.to_client, down)):
            if text:
                with lock:
                    stream.write(text)
                    stream.flush()

    def pass_upwards() -> None:
        """Pass on the lines of the client until it ends; then end the server."""
        try:
            with suppress(OSError):  # one end is gone, and the other ends with it
                for line in _lines(sys.stdin.fileno()):
                    send(gate.from_client(line))
        finally:
            _end(server)

    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(_KILLED + number))
    try:
        # A daemon, since it may still wait for the client when the server has ended.
        threading.Thread(target=pass_upwards, daemon=True).start()
        for line in _lines(server.stdout.fileno()):
            send(gate.from_server(line))
        status = server.wait()
    finally:
        _end(server)
    return status if status >= 0 else _KILLED - status


def _lines(file: int) -> Iterator[bytes]:
    """Yield the lines of a file as they arrive. Raises OSError for a line that is too long."""
    # Without a buffered reader: a thread that waits in one keeps the program from ending.
    kept, looked_at = bytearray(), 0
    while piece := os.read(file, _PIECE):
        kept += piece
        while (end := kept.find(b"\n", looked_at)) >= 0:
            yield bytes(kept[: end + 1])
            del kept[: end + 1]
            looked_at = 0
        looked_at = len(kept)
        if looked_at > _LINE_BYTES:
            msg = "a message is too long"
            raise OSError(msg)
    if kept:
        yield bytes(kept)


def _end(server: subprocess.Popen[bytes]) -> None:
    """Close the input of a server, and end the process if it does not end."""
    with suppress(OSError):
        if server.stdin is not None:
            server.stdin.close()
    for end in (server.poll, server.terminate, server.kill):
        end()
        with suppress(subprocess.TimeoutExpired):
            server.wait(_PATIENCE)
            return
