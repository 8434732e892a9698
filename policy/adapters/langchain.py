"""LangChain: a middleware of `create_agent`.

    agent = create_agent(model, tools, middleware=[..., PolicyMiddleware(guard)])

Put it last in the list, next to the tools, where no other middleware changes a decided call. A
call that needs approval interrupts the graph with the request of `HumanInTheLoopMiddleware`, so
it needs a checkpointer and `Command(resume={"decisions": [{"type": "approve"}]})`.

An agent that a tool of another agent runs needs another middleware, with `guard.agent(NAME)`.
Tools that the provider of the model runs are offered if every call of them is allowed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from policy.adapters.extras import extra
from policy.adapters.guard import Guard, Verdict, unapproved
from policy.core.effect import Effect

with extra("langchain", "langchain"):
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import BaseTool
    from langgraph.types import interrupt

__all__ = ["PolicyMiddleware"]


class PolicyMiddleware(AgentMiddleware):
    """Decides the calls of an agent's tools, and which of them the model is offered."""

    def __init__(self, guard: Guard) -> None:
        super().__init__()
        self._guard = guard

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Decide a call before it runs."""
        verdict = self._settled(request)
        if verdict.effect is Effect.DENY:
            return _refusal(request, verdict)
        with self._guard.running(verdict):
            return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Decide a call before it runs."""
        verdict = self._settled(request)
        if verdict.effect is Effect.DENY:
            return _refusal(request, verdict)
        with self._guard.running(verdict):
            return await handler(request)

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Offer the tools that can be allowed."""
        return handler(self._offering(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Offer the tools that can be allowed."""
        return await handler(self._offering(request))

    def _settled(self, request: Any) -> Verdict:
        """Return the verdict on a call, after asking for approval if it needs that."""
        call = request.tool_call
        verdict = self._guard.check(call["name"], call["args"])
        if verdict.effect is not Effect.ASK:
            return verdict
        action = {"name": call["name"], "args": call["args"], "description": verdict.message}
        review = {"action_name": call["name"], "allowed_decisions": ["approve", "reject"]}
        match interrupt({"action_requests": [action], "review_configs": [review]}):
            case {"decisions": [{"type": "approve"}]}:
                return verdict
            case _:
                return unapproved(verdict)

    def _offering(self, request: Any) -> Any:
        here = [tool.name for tool in request.tools if isinstance(tool, BaseTool)]
        there = [_provided(tool) for tool in request.tools if not isinstance(tool, BaseTool)]
        offered, granted = self._guard.offered(here), self._guard.granted(there)

        def is_kept(tool: Any) -> bool:
            is_here = isinstance(tool, BaseTool)
            return tool.name in offered if is_here else _provided(tool) in granted

        return request.override(tools=list(filter(is_kept, request.tools)))


def _provided(tool: Any) -> str:
    """Return the name of a tool that the provider of the model runs."""
    if not isinstance(tool, Mapping):
        return type(tool).__name__
    return str(tool.get("name") or tool.get("type") or "")


def _refusal(request: Any, verdict: Verdict) -> Any:
    call = request.tool_call
    return ToolMessage(
        content=verdict.message, name=call["name"], tool_call_id=call["id"], status="error"
    )
