"""Messages of MCP between a client and a server, and what the policy makes of them.

What the client sends is read strictly, since the server may read it otherwise:
a line that two readers could take for different messages is refused. Calls of
tools are decided, and so is who reads resources and gets prompts; everything else passes as it
is, byte for byte. Of what the server sends only lists of these are changed.
"""

from __future__ import annotations

import json
import secrets
from threading import Lock
from typing import Any, Final

import attrs

from policy.adapters.approvals import Seals
from policy.adapters.guard import Guard
from policy.adapters.mcp_besides import LISTS, Besides
from policy.adapters.mcp_reading import Refused, check, read, whole
from policy.adapters.mcp_shapes import (
    Object,
    approves,
    awaited,
    each,
    elicits,
    error,
    id_of,
    key,
    object_of,
    question,
    text,
    told,
    written,
)
from policy.adapters.messages import FAILED
from policy.adapters.verdict import Verdict, unapproved
from policy.effect import Effect

__all__ = ["LINE_BYTES", "Gate", "Sent"]

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
        except Refused as refused:
            return Sent(to_client=error(None, _PARSE_ERROR, str(refused)))
        except Exception:  # noqa: BLE001  # whatever it is, the server must not see it
            return Sent(to_client=error(None, _PARSE_ERROR, "the message cannot be read"))
        try:
            with self._lock:
                return self._client_message(message, line)
        except Refused as refused:
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
                    raise Refused("expected a call of a tool alone, found one in a batch")
                if self._besides.decides(method):
                    raise Refused(f"expected `{method}` alone, found one in a batch")
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
            raise Refused("expected the name of a tool and an object of arguments")
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
