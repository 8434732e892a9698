"""A proxy in front of any MCP server that speaks over standard input and output."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from types import FrameType
from typing import IO, Any, Final, NoReturn, TypeAlias

import attrs

from policy.adapters.guard import Guard, Seals, Verdict, unapproved
from policy.adapters.messages import FAILED
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.source import visible

__all__ = [
    "LINE_BYTES",
    "LISTS",
    "Besides",
    "Gate",
    "MessageRefused",
    "Object",
    "Sent",
    "approves",
    "awaited",
    "check",
    "each",
    "elicits",
    "error",
    "id_of",
    "key",
    "object_of",
    "question",
    "read",
    "run_proxy",
    "text",
    "told",
    "whole",
    "written",
]


_Object: TypeAlias = dict[str, Any]


class MessageRefused(Exception):
    """A message that another reader may take for a different one."""


def read(line: bytes) -> Any:
    """Return the message of a line. Raises for one that may be read in two ways."""
    # A reader may end a line at a carriage return, where JSON has only a blank.
    if b"\r" in line.rstrip(b"\r\n"):
        raise MessageRefused("expected one message a line, found a carriage return in it")
    try:
        return json.loads(
            line.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        raise MessageRefused("expected a message in JSON") from error


def whole(params: _Object) -> None:
    """Raise for text that holds half of a character: readers put different things in its place."""
    try:
        json.dumps(params, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise MessageRefused("expected text, found half of a character") from None


def _once(pairs: list[tuple[str, Any]]) -> _Object:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise MessageRefused("expected each key once, found one twice")
    return found


def _no_constant(name: str) -> None:
    raise MessageRefused(f"expected a number, found {name}")


def check(message: Any, keys: frozenset[str]) -> None:
    """Raise for what is no object, or has a key that a reader may take for one of *keys*."""
    if not isinstance(message, dict):
        raise MessageRefused("expected an object")
    for key in message:
        if key not in keys and _folded(key) in {_folded(known) for known in keys}:
            raise MessageRefused("expected keys as the protocol writes them")
    method = message.get("method", "")
    if not isinstance(method, str):
        raise MessageRefused("expected a method that is a text")


def _folded(key: str) -> str:
    return key.casefold().replace("_", "")


# What is in a message of MCP, read and written: a request, a result, a question, an error.


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
        raise MessageRefused("expected an id that is a text or a whole number")
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


# What a server of MCP has besides tools: to read a resource, or to get a prompt, is a call too.
#
# It is one of `read_resource` with its ``uri``, or of `get_prompt` with its ``name``, as
# `policy.adapters.fastmcp` has it. To subscribe to a resource is to read it.


# Method -> what it is about, and the keys of its parameters.
_RESOURCE: Final = frozenset({"uri", "_meta"})
_DECIDED: Final = {
    "resources/read": ("resources", _RESOURCE),
    "resources/subscribe": ("resources", _RESOURCE),
    "prompts/get": ("prompts", frozenset({"name", "arguments", "_meta"})),
    "completion/complete": ("", frozenset({"ref", "argument", "context", "_meta"})),
}
# Method -> where its result has the list.
LISTS: Final = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
_REFERENCE: Final = frozenset({"type", "uri", "name"})


@attrs.frozen
class Besides:
    """Decides on the resources and the prompts of a server.

    Attributes:
        guard: of the agent that asks for them.
        resources: the tool as which resources are read; None where they pass undecided.
        prompts: the tool as which prompts are got, likewise.

    """

    guard: Guard
    resources: str | None = "read_resource"
    prompts: str | None = "get_prompt"

    @staticmethod
    def decides(method: object) -> bool:
        """Return whether a request of *method* is about a resource or a prompt."""
        return method in _DECIDED

    def verdict(self, method: str, params: object) -> Verdict | None:
        """Return what a request gets; None where it passes undecided.

        Raises:
            Refused: another reader may take it for a different one.

        """
        about, keys = _DECIDED[method]
        if not about:
            return self._completion(params)
        tool = self.resources if about == "resources" else self.prompts
        if tool is None:
            return None
        field = "uri" if about == "resources" else "name"
        return self._of(tool, field, _text(params, field, keys))

    def possible(self, kind: str, listed: list[Any]) -> list[Any]:
        """Return those of a list, by the key it has in a result, that could be granted."""
        if kind == "tools":
            names = {name for one in listed if (name := _named(one, "name")) is not None}
            offered = set(self.guard.offered(sorted(names)))
            return [one for one in listed if _named(one, "name") in offered]
        tool = self.prompts if kind == "prompts" else self.resources
        if tool is None:
            return listed
        if kind == "resourceTemplates":
            return listed if self.guard.offered([tool]) else []
        field = "name" if kind == "prompts" else "uri"
        return [one for one in listed if self._is_possible(tool, field, _named(one, field))]

    def _is_possible(self, tool: str, field: str, value: str | None) -> bool:
        if value is None:
            return False
        return self._of(tool, field, value, recorded=False).effect is not Effect.DENY

    def _of(self, tool: str, field: str, value: str, *, recorded: bool = True) -> Verdict:
        """Return the strictest verdict on what *value* names, however a reader spells it."""
        verdicts = [
            self.guard.check(tool, {field: each}, recorded=recorded and not number)
            for number, each in enumerate(_spelled(field, value))
        ]
        return min(verdicts, key=lambda verdict: verdict.effect)

    def _completion(self, params: object) -> Verdict | None:
        """Return what it gets to complete an argument, which tells of what it belongs to."""
        check(params, _DECIDED["completion/complete"][1])
        assert isinstance(params, dict)  # noqa: S101  # `check` says so
        reference = params.get("ref")
        kind = _text(reference, "type", _REFERENCE)
        if kind == "ref/prompt":
            if self.prompts is None:
                return None
            return self._of(self.prompts, "name", _text(reference, "name", _REFERENCE))
        if kind != "ref/resource":
            raise MessageRefused("expected a reference to a resource or a prompt")
        if self.resources is None or self.guard.offered([self.resources]):
            return None  # which of them it is, its template does not tell
        return self._of(self.resources, "uri", _text(reference, "uri", _REFERENCE))


def _spelled(field: str, value: str) -> Iterator[str]:
    yield value
    scheme, colon, rest = value.partition(":")
    if field == "uri" and colon:
        host = ""
        if rest.startswith("//"):
            host, slash, rest = rest[2:].partition("/")
            host, rest = f"//{host.lower()}", slash + rest
        # Where a name begins its case does not count.
        folded = f"{scheme.lower()}:{host}{rest}"
        if folded != value:
            yield folded


def _text(params: object, field: str, keys: frozenset[str]) -> str:
    check(params, keys)
    assert isinstance(params, dict)  # noqa: S101  # `check` says so
    whole(params)
    found = params.get(field)
    if not isinstance(found, str):
        raise MessageRefused(f"expected a text as `{field}`")
    return found


def _named(entry: Any, field: str) -> str | None:
    found = entry.get(field) if isinstance(entry, dict) else None
    return found if isinstance(found, str) else None


# Messages of MCP between a client and a server, and what the policy makes of them.
#
# What the client sends is read strictly, since the server may read it otherwise:
# a line that two readers could take for different messages is refused. Calls of
# tools are decided, and so is who reads resources and gets prompts; everything else passes as it
# is, byte for byte. Of what the server sends only lists of these are changed.


# A longer line is refused, in either direction.
LINE_BYTES: Final = 64 * 1024 * 1024

# Since this version a server asks in the place of a result, and the client calls again.
_ASKS_IN_RESULT: Final = "2026-07-28"
_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"

_QUESTION: Final = "agent-policy"
# Lists that are waited for; of a list that is forgotten nothing is left out.
_REMEMBERED: Final = 10_000

_PARSE_ERROR, _INVALID_REQUEST, _DENIED = -32700, -32600, -32000
_ENVELOPE = frozenset("jsonrpc id method params result error".split())
_PARAMS = frozenset("name arguments _meta task inputResponses requestState".split())


@attrs.frozen
class Sent:
    """What a line becomes: what goes to the server, and what to the client."""

    to_server: bytes = b""
    to_client: bytes = b""


@attrs.frozen
class _Asked:
    """A request that waits for a person, and what is told where that does not approve."""

    line: bytes
    request: object
    refusal: bytes


class Gate:
    """Stands between one client and one server. Safe to use from two threads.

    Args:
        guard: of the agent that calls.
        besides: what decides on resources and prompts, if not the same as on tools.

    """

    def __init__(self, guard: Guard, besides: Besides | None = None) -> None:
        self._guard = guard
        self._besides = besides or Besides(guard)
        self._lock = Lock()
        self._seals = Seals()
        self._can_ask = False
        self._asked: dict[str, _Asked] = {}
        self._listed: dict[tuple[str, object], str] = {}

    def from_client(self, line: bytes) -> Sent:
        """Return what becomes of a line of the client. Never raises: what goes wrong is refused."""
        try:
            message = read(line)
        except MessageRefused as refused:
            return Sent(to_client=error(None, _PARSE_ERROR, str(refused)))
        except Exception:  # noqa: BLE001  # whatever it is, the server must not see it
            return Sent(to_client=error(None, _PARSE_ERROR, "the message cannot be read"))
        try:
            with self._lock:
                return self._client_message(message, line)
        except MessageRefused as refused:
            return Sent(to_client=error(id_of(message), _INVALID_REQUEST, str(refused)))
        except Exception:  # noqa: BLE001  # as above
            return Sent(to_client=error(id_of(message), _INVALID_REQUEST, FAILED))

    def from_server(self, line: bytes) -> Sent:
        """Return what becomes of a line of the server: what it is, but for lists."""
        with self._lock:
            if not self._listed:
                return Sent(to_client=line)
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                return Sent(to_client=line)
            changed = [self._filter(one) for one in each(message)]
        return Sent(to_client=written(message) if any(changed) else line)

    # --- of the client --------------------------------------------------------------

    def _client_message(self, message: Any, line: bytes) -> Sent:
        if isinstance(message, list):
            for one in message:
                check(one, _ENVELOPE)
                method = one.get("method")
                if method == "tools/call" or id_of(one) in self._asked:
                    raise MessageRefused("expected a call of a tool alone, found one in a batch")
                if self._besides.decides(method):
                    raise MessageRefused(f"expected `{method}` alone, found one in a batch")
                self._remember(one)
            return Sent(to_server=line)
        check(message, _ENVELOPE)
        if "method" not in message:
            asked = self._asked.pop(text(message.get("id")), None)
            return Sent(to_server=line) if asked is None else self._answered(asked, message)
        if message["method"] == "tools/call":
            return self._call(message, line)
        if self._besides.decides(message["method"]):
            return self._beside(message, line)
        self._remember(message)
        return Sent(to_server=line)

    def _remember(self, message: Object) -> None:
        method, params = message.get("method"), message.get("params")
        if method == "initialize":
            self._can_ask = elicits(object_of(object_of(params).get("capabilities")))
        elif method in LISTS:
            if len(self._listed) >= _REMEMBERED:
                self._listed.clear()
            self._listed[key(message.get("id"))] = LISTS[method]
        elif method == "notifications/cancelled":
            call = key(object_of(params).get("requestId"))
            for number, asked in list(self._asked.items()):
                if key(asked.request) == call:
                    del self._asked[number]

    def _call(self, message: Object, line: bytes) -> Sent:
        params = message.get("params")
        if "id" not in message:
            return Sent()  # nobody waits for it, and nobody could be told
        call = awaited(message)
        check(params, _PARAMS)
        assert isinstance(params, dict)  # noqa: S101  # `check` says so
        whole(params)
        tool, arguments = params.get("name"), params.get("arguments")
        if not isinstance(tool, str) or not isinstance(arguments, (dict, type(None))):
            raise MessageRefused("expected the name of a tool and an object of arguments")
        verdict = self._guard.check(tool, arguments or {})
        modern = object_of(params.get("_meta")).get(_VERSION, "") >= _ASKS_IN_RESULT
        if verdict.effect is Effect.ALLOW:
            return Sent(to_server=line)
        if verdict.effect is Effect.DENY:
            return Sent(to_client=told(call, verdict, modern=modern))
        if modern:
            return self._ask_in_result(message, params, verdict)
        return self._ask(_Asked(line, call, told(call, unapproved(verdict))), verdict)

    def _beside(self, message: Object, line: bytes) -> Sent:
        """Decide what is about a resource or a prompt."""
        if "id" not in message:
            return Sent()  # as of a call
        number, params = awaited(message), message.get("params")
        verdict = self._besides.verdict(message["method"], params)
        if verdict is None or verdict.effect is Effect.ALLOW:
            return Sent(to_server=line)
        if verdict.effect is Effect.DENY:
            return Sent(to_client=error(number, _DENIED, verdict.message))
        refusal = error(number, _DENIED, unapproved(verdict).message)
        if object_of(object_of(params).get("_meta")).get(_VERSION, "") >= _ASKS_IN_RESULT:
            return Sent(to_client=refusal)  # only of a tool it is asked in the place of a result
        return self._ask(_Asked(line, number, refusal), verdict)

    def _ask(self, asked: _Asked, verdict: Verdict) -> Sent:
        """Put a request to the client, where that can ask somebody."""
        if not self._can_ask:
            return Sent(to_client=asked.refusal)
        number = f"agent-policy-{secrets.token_hex(16)}"
        self._asked[number] = asked
        asking = {"jsonrpc": "2.0", "id": number, **question(verdict)}
        return Sent(to_client=written(asking))

    def _answered(self, asked: _Asked, message: Object) -> Sent:
        if approves(message.get("result")):
            return Sent(to_server=asked.line)
        return Sent(to_client=asked.refusal)

    def _ask_in_result(self, message: Object, params: Object, verdict: Verdict) -> Sent:
        tool, arguments = params["name"], params.get("arguments") or {}
        answers = object_of(params.get("inputResponses"))
        answer = answers.pop(_QUESTION, None)
        if answer is not None:
            # Of the question nothing is left for the server, which did not ask it.
            known = self._seals.knows(params.pop("requestState", None), tool, arguments)
            if not answers:
                del params["inputResponses"]
            if known and approves(answer):
                return Sent(to_server=written(message))
        elif elicits(object_of(object_of(params.get("_meta")).get(_CAPABILITIES))):
            result = {
                "resultType": "input_required",
                "inputRequests": {_QUESTION: question(verdict)},
                "requestState": self._seals.seal(tool, arguments),
            }
            answered = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            return Sent(to_client=written(answered))
        return Sent(to_client=told(message["id"], unapproved(verdict), modern=True))

    # --- of the server --------------------------------------------------------------

    def _filter(self, message: Any) -> bool:
        """Take out of a list what can never be granted; return whether there was any."""
        if not isinstance(message, dict) or "method" in message:
            return False
        kind = self._listed.pop(key(message.get("id")), "")
        result = object_of(message.get("result"))
        listed = result.get(kind)
        if not kind or not isinstance(listed, list):
            return False
        result[kind] = self._besides.possible(kind, listed)
        return len(result[kind]) != len(listed)


# A proxy in front of any MCP server that speaks over standard input and output.
#
# It starts the server, and stands between it and whoever started the proxy. Where the
# proxy ends, for whatever reason, the server is cut off: there is no way past it.


# Seconds for a server to end when its input has ended, and when it was told to.
_PATIENCE: Final = 5.0
_PIECE: Final = 1 << 16
_KILLED: Final = 128  # and the number of the signal, as a shell reports it


def run_proxy(command: Sequence[str], guard: Guard, besides: Besides | None = None) -> int:
    """Run *command* behind *guard* until it or its client ends; return its exit status.

    The client is at standard input and output.

    Raises:
        PolicyError: the server cannot be started.

    """
    try:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        msg = f"the server `{visible(command[0])}` cannot be started: {reason}"
        raise PolicyError(msg) from None
    relay = _Relay(Gate(guard, besides), server)
    signal.signal(signal.SIGTERM, _told_to_end)
    try:
        # It may wait for a client that sends nothing when the server has ended.
        threading.Thread(target=relay.upwards, daemon=True).start()
        relay.downwards()
        status = server.wait()
    finally:
        _end(server)
    return status if status >= 0 else _KILLED - status


class _Relay:
    """The lines between a client and a server that runs."""

    def __init__(self, gate: Gate, server: subprocess.Popen[bytes]) -> None:
        assert server.stdin is not None  # noqa: S101  # both are pipes
        assert server.stdout is not None  # noqa: S101
        self._gate = gate
        self._server = server
        self._from_server, self._to_server = server.stdout, server.stdin
        self._locks = threading.Lock(), threading.Lock()

    def upwards(self) -> None:
        """Pass on what the client sends, until it ends; then end the server."""
        try:
            for line in _lines(sys.stdin.fileno()):
                self._send(self._gate.from_client(line))
        except OSError:
            pass  # one of them is gone, and with it the other
        finally:
            _end(self._server)

    def downwards(self) -> None:
        """Pass on what the server sends, until it ends."""
        for line in _lines(self._from_server.fileno()):
            self._send(self._gate.from_server(line))

    def _send(self, sent: Sent) -> None:
        for text, stream, lock in zip(
            (sent.to_server, sent.to_client),
            (self._to_server, sys.stdout.buffer),
            self._locks,
            strict=True,
        ):
            if text:
                _write(text, stream, lock)


def _write(text: bytes, stream: IO[bytes], lock: threading.Lock) -> None:
    with lock:
        stream.write(text)
        stream.flush()


def _lines(file: int) -> Iterator[bytes]:
    """Yield the lines of a file as they come. Raises OSError for one that is too long."""
    # Not by a buffered reader: a thread that waits in one keeps the program from ending.
    kept, looked_at = bytearray(), 0
    while piece := os.read(file, _PIECE):
        kept += piece
        while (end := kept.find(b"\n", looked_at)) >= 0:
            yield bytes(kept[: end + 1])
            del kept[: end + 1]
            looked_at = 0
        looked_at = len(kept)
        if looked_at > LINE_BYTES:
            msg = "a message is too long"
            raise OSError(msg)
    if kept:
        yield bytes(kept)


def _end(server: subprocess.Popen[bytes]) -> None:
    """Let a server end by itself, or see to it."""
    try:
        if server.stdin is not None:
            server.stdin.close()
    except OSError:
        pass
    for end in (server.poll, server.terminate, server.kill):
        end()
        try:
            server.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            continue
        return


def _told_to_end(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(_KILLED + number)
