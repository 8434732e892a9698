"""Pydantic AI: a capability of an agent.

    agent = Agent(model, capabilities=[PolicyCapability(guard)], ...)

It is the innermost wrapper of the tools, so a call is decided with the arguments that it runs
with, whatever other capabilities change. A call that needs approval is deferred, as any call that
requires approval (`DeferredToolRequests`).

An agent that a tool of another agent runs needs another capability, with `guard.agent(NAME)`. Tools
that run elsewhere, at the provider of the model or in the calling program (`ExternalToolset`), are
offered if every call of them is allowed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from policy.adapters.extras import extra
from policy.adapters.guard import Guard
from policy.core.effect import Effect

with extra("pydantic-ai", "pydantic_ai"):
    from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
    from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
    from pydantic_ai.toolsets import WrapperToolset
    from pydantic_core import to_jsonable_python

__all__ = ["PolicyCapability", "PolicyToolset"]


@dataclass
class PolicyToolset(WrapperToolset):
    """Decides the calls of a toolset's tools, and which of them the model is offered."""

    guard: Guard

    async def get_tools(self, ctx: Any) -> dict[str, Any]:
        """Return the tools that can be allowed."""
        tools = await super().get_tools(ctx)
        # External tools are not called here, so their calls cannot be decided.
        outside = {name for name, tool in tools.items() if tool.tool_def.kind == "external"}
        names = {*self.guard.offered(tools.keys() - outside), *self.guard.granted(outside)}
        return {name: tool for name, tool in tools.items() if name in names}

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        """Decide a call before it runs."""
        # The arguments have the types that the tool declares by now.
        arguments = to_jsonable_python(tool_args, fallback=repr)
        verdict = self.guard.check(name, arguments)
        if verdict.effect is Effect.DENY:
            raise ToolFailed(verdict.message)
        if verdict.effect is Effect.ASK and not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"message": verdict.message})
        with self.guard.running(verdict):
            return await super().call_tool(name, tool_args, ctx, tool)


@dataclass
class PolicyCapability(AbstractCapability):
    """Guards every tool of an agent."""

    guard: Guard

    def get_ordering(self) -> Any:
        """Return the position next to the tools."""
        return CapabilityOrdering(position="innermost")

    def get_wrapper_toolset(self, toolset: Any) -> Any:
        """Return the tools of the agent, guarded."""
        return PolicyToolset(toolset, self.guard)

    async def prepare_model_request(self, ctx: Any, request_context: Any) -> Any:
        """Offer the provider's tools of which every call is allowed."""
        request_context = await super().prepare_model_request(ctx, request_context)
        parameters = request_context.model_request_parameters
        granted = set(self.guard.granted(tool.kind for tool in parameters.native_tools))
        kept = [tool for tool in parameters.native_tools if tool.kind in granted]
        parameters = replace(parameters, native_tools=kept)
        return replace(request_context, model_request_parameters=parameters)
