"""A server of MCP, made with FastMCP: a middleware in front of its tools.

    server.add_middleware(PolicyMiddleware(Guard(chain, prefix="mcp__github__")))

With `create_proxy` the same middleware guards a server that cannot be changed.
A call that is denied does not run, and its result is an error that the model reads. A call
that is asked for is put to the client by elicitation. Tools that can never be
allowed are not listed.

The client decides which agent it speaks for, so the server asks with one chain for
everybody, or with the one that *chain_of* finds, e.g. by who is authenticated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from policy.adapters.approvals import Seals
from policy.adapters.extras import extra
from policy.adapters.guard import Guard
from policy.adapters.verdict import Verdict, unapproved
from policy.chain import Chain
from policy.effect import Effect

with extra("fastmcp", "fastmcp"):
    from fastmcp.exceptions import ToolError
    from fastmcp.server.elicitation import AcceptedElicitation
    from fastmcp.server.middleware import Middleware, MiddlewareContext
    from fastmcp.server.providers.addressing import parse_hashed_backend_name
    from fastmcp.tools.base import InputRequiredToolResult
    from mcp_types import (
        ElicitRequest,
        ElicitRequestFormParams,
        ElicitResult,
        InputRequiredResult,
    )
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

__all__ = ["PolicyMiddleware"]

_QUESTION = "agent-policy"
_ANSWER = "allow"
_SCHEMA = {
    "type": "object",
    "properties": {_ANSWER: {"type": "boolean", "title": "Allow this call"}},
    "required": [_ANSWER],
}


class PolicyMiddleware(Middleware):
    """Decides the calls of a server's tools, and which of them are listed.

    Args:
        guard: of the agent that calls.
        chain_of: the chain of whoever makes a request, where that differs from
            one to the next. Where it raises, the call is denied.

    """

    def __init__(
        self, guard: Guard, *, chain_of: Callable[[MiddlewareContext], Chain] | None = None
    ) -> None:
        self._guard = guard
        self._chain_of = chain_of
        self._seals = Seals()

    async def on_call_tool(self, context: MiddlewareContext, call_next: Any) -> Any:
        """Decide a call before it runs."""
        tool, arguments = context.message.name, context.message.arguments or {}
        verdict = self._verdict(context, tool, arguments)
        if verdict.effect is Effect.DENY:
            raise ToolError(verdict.message)
        if verdict.effect is Effect.ASK:
            question = await self._ask(context, verdict, tool, arguments)
            if question is not None:
                return question
        with self._guard.running(verdict):
            return await call_next(context)

    async def on_list_tools(self, context: MiddlewareContext, call_next: Any) -> Sequence[Any]:
        """List the tools that can be allowed."""
        tools = await call_next(context)
        names = [tool.name for tool in tools]
        offered = set(self._guard.offered(names, chain_of=lambda: self._chain(context)))
        return [tool for tool in tools if tool.name in offered]

    def _chain(self, context: MiddlewareContext) -> Chain:
        return self._chain_of(context) if self._chain_of else self._guard.calling

    def _verdict(
        self, context: MiddlewareContext, tool: str, arguments: dict[str, object]
    ) -> Verdict:
        hashed = parse_hashed_backend_name(tool)
        # The server runs its tool `delete` under the name `0123456789ab_delete` too.
        names = [tool] if hashed is None else [tool, hashed[1]]
        verdicts = [
            self._guard.check(name, arguments, chain_of=lambda: self._chain(context))
            for name in names
        ]
        return min(verdicts, key=lambda verdict: verdict.effect)

    async def _ask(
        self,
        context: MiddlewareContext,
        verdict: Verdict,
        tool: str,
        arguments: dict[str, object],
    ) -> Any:
        """Return what to answer in place of a result; None where the call is approved.

        Raises:
            ToolError: it is not.

        """
        client, request = context.fastmcp_context, None
        if client is not None:
            request = client.request_context
        if request is not None and request.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return self._ask_in_result(context, verdict, tool, arguments)
        try:
            answer = await client.elicit(verdict.message, bool)
        except Exception as error:
            raise ToolError(unapproved(verdict).message) from error
        if not isinstance(answer, AcceptedElicitation) or answer.data is not True:
            raise ToolError(unapproved(verdict).message)
        return None

    def _ask_in_result(
        self,
        context: MiddlewareContext,
        verdict: Verdict,
        tool: str,
        arguments: dict[str, object],
    ) -> Any:
        # Since 2026-07-28 a server asks in the place of a result, and the client
        # calls again with the answer.
        message = context.message
        answer = (message.input_responses or {}).get(_QUESTION)
        if answer is None:
            known = context.fastmcp_context.session.client_capabilities
            if known is None or known.elicitation is None:
                raise ToolError(unapproved(verdict).message)
            params = ElicitRequestFormParams(message=verdict.message, requested_schema=_SCHEMA)
            questions = {_QUESTION: ElicitRequest(params=params)}
            seal = self._seals.seal(tool, arguments)
            return InputRequiredToolResult(
                InputRequiredResult(input_requests=questions, request_state=seal)
            )
        approved = (
            self._seals.knows(message.request_state, tool, arguments)
            and isinstance(answer, ElicitResult)
            and answer.action == "accept"
            and (answer.content or {}).get(_ANSWER) is True
        )
        if not approved:
            raise ToolError(unapproved(verdict).message)
        return None
