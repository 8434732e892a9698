"""FastMCP: a middleware in front of the tools, resources and prompts of an MCP server.

    server.add_middleware(PolicyMiddleware(Guard(chain, prefix="mcp__github__")))

With `create_proxy` the same middleware guards a server that cannot be changed.
A denied call does not run, and its result is an error that the model reads. For a call that needs
approval, the client asks by elicitation. Tools that can never be allowed are not listed.

Reading a resource is a call of `read_resource` with its ``uri``, and getting a prompt one of
`get_prompt` with its ``name``, so a policy without rules for them denies both:

    agent main { allow mcp__github__read_resource(uri:repo://*), mcp__github__get_prompt(review) }

What is denied is not listed. ``resources=None`` or ``prompts=None`` leaves them undecided.

The client decides which agent it acts for, so the server uses one chain for every client, or the
one that *chain_of* finds, e.g. from the authenticated user.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from policy.adapters.extras import extra
from policy.adapters.guard import (
    APPROVAL_FORM,
    APPROVAL_KEY,
    APPROVAL_QUESTION,
    Guard,
    Seals,
    Verdict,
    unapproved,
)
from policy.core.effect import Effect
from policy.tables.chain import Chain

with extra("fastmcp", "fastmcp"):
    from fastmcp.exceptions import AuthorizationError, ToolError
    from fastmcp.server.elicitation import AcceptedElicitation
    from fastmcp.server.middleware import Middleware, MiddlewareContext
    from fastmcp.server.providers.addressing import parse_hashed_backend_name
    from fastmcp.tools.base import InputRequiredToolResult
    from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

__all__ = ["PolicyMiddleware"]


class PolicyMiddleware(Middleware):
    """Decides the requests of a client, and what it is listed.

    Args:
        guard: of the agent that calls.
        resources: the tool that stands for reading resources; None passes them undecided.
        prompts: the tool that stands for getting prompts; None passes them undecided.
        chain_of: returns the chain of a request, where requests have different chains. Where
            it raises, the call is denied.
    """

    def __init__(
        self,
        guard: Guard,
        *,
        resources: str | None = "read_resource",
        prompts: str | None = "get_prompt",
        chain_of: Callable[[MiddlewareContext], Chain] | None = None,
    ) -> None:
        self._guard = guard
        self._resources, self._prompts = resources, prompts
        self._chain_of = chain_of
        self._seals = Seals()

    async def on_call_tool(self, context: MiddlewareContext, call_next: Any) -> Any:
        """Decide a call before it runs."""
        tool, client = context.message.name, context.fastmcp_context
        hashed = parse_hashed_backend_name(tool)
        # The server runs its tool `delete` under the name `0123456789ab_delete` too.
        names = [tool] if hashed is None else [tool, hashed[1]]
        arguments = context.message.arguments or {}
        verdicts = [self._here(context).check(name, arguments) for name in names]
        verdict = min(verdicts, key=lambda one: one.effect)
        if verdict.effect is Effect.DENY:
            raise ToolError(verdict.message)
        if verdict.effect is Effect.ASK and client is not None and _asks_in_result(client):
            question = self._ask_in_result(context, verdict)
            if question is not None:
                return question
        elif verdict.effect is Effect.ASK and not await self._approves(context, verdict):
            raise ToolError(unapproved(verdict).message)
        with self._guard.running(verdict):
            return await call_next(context)

    async def on_list_tools(self, context: MiddlewareContext, call_next: Any) -> Sequence[Any]:
        """List the tools that can be allowed."""
        tools = await call_next(context)
        offered = self._here(context).offered([tool.name for tool in tools])
        return [tool for tool in tools if tool.name in offered]

    async def check_resource_access(self, context: MiddlewareContext) -> None:
        """Decide whether a resource may be read other than by a read request."""
        if self._resources is not None:
            await self._granted(context, self._resources, {"uri": str(context.message.uri)})

    async def on_read_resource(self, context: MiddlewareContext, call_next: Any) -> Any:
        """Decide a request to read a resource."""
        if self._resources is None:
            return await call_next(context)
        uri = str(context.message.uri)
        with self._guard.running(await self._granted(context, self._resources, {"uri": uri})):
            return await call_next(context)

    async def on_get_prompt(self, context: MiddlewareContext, call_next: Any) -> Any:
        """Decide a request to get a prompt."""
        if self._prompts is None:
            return await call_next(context)
        name = context.message.name
        with self._guard.running(await self._granted(context, self._prompts, {"name": name})):
            return await call_next(context)

    async def on_list_resources(self, context: MiddlewareContext, call_next: Any) -> Sequence[Any]:
        """List the resources that can be read."""
        return self._possible(context, self._resources, "uri", await call_next(context))

    async def on_list_resource_templates(
        self, context: MiddlewareContext, call_next: Any
    ) -> Sequence[Any]:
        """List the templates of resources, where some resource can be read."""
        found = await call_next(context)
        tool = self._resources
        return list(found) if tool is None or self._here(context).offered([tool]) else []

    async def on_list_prompts(self, context: MiddlewareContext, call_next: Any) -> Sequence[Any]:
        """List the prompts that can be granted."""
        return self._possible(context, self._prompts, "name", await call_next(context))

    def _here(self, context: MiddlewareContext) -> Guard:
        """Return the guard of the chain of a request."""
        found = self._chain_of
        return self._guard.where(lambda: found(context) if found else self._guard.calling)

    def _possible(
        self, context: MiddlewareContext, tool: str | None, field: str, found: Sequence[Any]
    ) -> list[Any]:
        """Return the entries for which a call of *tool* with their *field* is not denied."""
        if tool is None:
            return list(found)
        here = self._here(context)
        calls = ((one, {field: str(getattr(one, field))}) for one in found)
        return [
            one
            for one, call in calls
            if here.check(tool, call, recorded=False).effect is not Effect.DENY
        ]

    async def _granted(
        self, context: MiddlewareContext, tool: str, arguments: dict[str, object]
    ) -> Verdict:
        """Return the verdict that grants a resource or prompt, or raise AuthorizationError."""
        verdict = self._here(context).check(tool, arguments)
        if verdict.effect is Effect.ASK and not await self._approves(context, verdict):
            verdict = unapproved(verdict)
        if verdict.effect is Effect.DENY:
            raise AuthorizationError(verdict.message)
        return verdict

    async def _approves(self, context: MiddlewareContext, verdict: Verdict) -> bool:
        """Return whether the client approves; False if it cannot be asked by a request."""
        client = context.fastmcp_context
        if client is None or _asks_in_result(client):
            return False
        try:
            answer = await client.elicit(verdict.message, bool)
        except Exception:  # noqa: BLE001  # no failure approves
            return False
        return isinstance(answer, AcceptedElicitation) and answer.data is True

    def _ask_in_result(self, context: MiddlewareContext, verdict: Verdict) -> Any:
        """Return the question in place of a result; None once it is approved, else ToolError.

        Since 2026-07-28 the client calls again with the answer.
        """
        message = context.message
        tool, arguments = message.name, message.arguments or {}
        answer = (message.input_responses or {}).get(APPROVAL_QUESTION)
        if answer is None:
            known = context.fastmcp_context.session.client_capabilities
            if known is None or known.elicitation is None:
                raise ToolError(unapproved(verdict).message)
            params = ElicitRequestFormParams(
                message=verdict.message, requested_schema=APPROVAL_FORM
            )
            questions = {APPROVAL_QUESTION: ElicitRequest(params=params)}
            seal = self._seals.seal(tool, arguments)
            result = InputRequiredResult(input_requests=questions, request_state=seal)
            return InputRequiredToolResult(result)
        approved = (
            self._seals.knows(message.request_state, tool, arguments)
            and isinstance(answer, ElicitResult)
            and answer.action == "accept"
            and (answer.content or {}).get(APPROVAL_KEY) is True
        )
        if not approved:
            raise ToolError(unapproved(verdict).message)
        return None


def _asks_in_result(client: Any) -> bool:
    """Return whether a question takes the place of a result, which only calls of tools allow."""
    request = client.request_context
    return request is not None and request.protocol_version in MODERN_PROTOCOL_VERSIONS
