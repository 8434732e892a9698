"""OpenAI Agents: an agent whose tools and handoffs are guarded.

    agent = guarded(Agent(name="main", tools=[...], handoffs=[...]), guard)

Calls of function tools, including those of MCP servers, are decided when they run. A call that
needs approval interrupts the run (`result.interruptions`). Other tools run elsewhere undecided, so
they are offered where every call of them is allowed.

A handoff starts the agent of its target. It is enabled where the policy allows that without
approval, and the target gets the narrower chain, also on the way back. An agent that a tool runs
needs `guard.agent(NAME)`.
"""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass, field, fields, replace
from typing import Any

from policy.adapters.extras import extra
from policy.adapters.guard import CallDenied, Guard, Verdict, unapproved
from policy.core.effect import Effect

with extra("openai-agents", "agents"):
    from agents import Agent, FunctionTool, Handoff, handoff

__all__ = ["PolicyAgent", "guarded"]


@dataclass
class PolicyAgent(Agent):
    """An agent whose calls are decided by a guard; made by `guarded`."""

    guard: Guard = field(kw_only=True)

    def __post_init__(self) -> None:
        """Guard the handoffs, also of a clone."""
        super().__post_init__()
        given: list[Any] = vars(self)["handoffs"]
        self.handoffs = [one if self._decides(one) else _handoff(one, self.guard) for one in given]

    def _decides(self, target: Any) -> bool:
        return isinstance(target, _GuardedHandoff) and target.guard is self.guard

    async def get_all_tools(self, run_context: Any) -> list[Any]:
        """Return the tools that can be allowed. Raises TypeError for a handoff without a guard."""
        # Every turn of a run calls this, and any code may change the list in between.
        if not all(map(self._decides, self.handoffs)):
            raise TypeError("a handoff was added behind the guard; use `clone(handoffs=...)`")
        tools = await super().get_all_tools(run_context)
        here = [tool.name for tool in tools if isinstance(tool, FunctionTool)]
        there = [tool.name for tool in tools if not isinstance(tool, FunctionTool)]
        offered, granted = set(self.guard.offered(here)), set(self.guard.granted(there))
        return [
            _decided(tool, self.guard) if isinstance(tool, FunctionTool) else tool
            for tool in tools
            if tool.name in (offered if isinstance(tool, FunctionTool) else granted)
        ]


def guarded(agent: Any, guard: Guard) -> Any:
    """Return *agent* with tools and handoffs that *guard* decides.

    Raises TypeError if *agent* is of a subclass, which may run tools in other ways.
    """
    if type(agent) is not Agent:
        msg = f"expected an `Agent`, found `{type(agent).__name__}`"
        raise TypeError(msg)
    return PolicyAgent(**_values(agent), guard=guard)


def _values(made: Any) -> dict[str, Any]:
    return {one.name: getattr(made, one.name) for one in fields(made) if one.init}


def _arguments(text: str) -> Any:
    try:
        return json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return None  # which is denied


def _decided(tool: Any, guard: Guard) -> Any:
    """Return a function tool that decides its calls."""

    async def invoke(context: Any, text: str) -> Any:
        verdict = guard.check(tool.name, _arguments(text))
        if verdict.effect is Effect.ASK:
            approved = context.is_tool_approved(context.tool_name, context.tool_call_id)
            if approved is not True:
                verdict = unapproved(verdict)
        if verdict.effect is Effect.DENY:
            return verdict.message
        with guard.running(verdict):
            return await tool.on_invoke_tool(context, text)

    async def needs_approval(context: Any, arguments: dict[str, Any], call: str) -> bool:
        # A denied call does not run, so it needs no approval.
        effect = guard.check(tool.name, arguments, recorded=False).effect
        if effect is Effect.ALLOW and tool.needs_approval is not False:
            own = tool.needs_approval
            return bool(await own(context, arguments, call) if callable(own) else own)
        return effect is Effect.ASK

    return replace(tool, on_invoke_tool=invoke, needs_approval=needs_approval)


@dataclass
class _GuardedHandoff(Handoff):
    """A handoff that a guard decides."""

    guard: Guard = field(kw_only=True)


def _handoff(target: Any, guard: Guard) -> Any:
    """Return a handoff to an agent below the chain of *guard*."""
    original = target if isinstance(target, Handoff) else handoff(target)

    def verdict(*, recorded: bool) -> Verdict:
        return guard.check_start(original.agent_name, recorded=recorded)

    async def is_enabled(context: Any, agent: Any) -> bool:
        enabled = original.is_enabled
        if callable(enabled):
            enabled = enabled(context, agent)
            if inspect.isawaitable(enabled):
                enabled = await enabled
        # A handoff cannot ask for approval.
        return bool(enabled) and verdict(recorded=False).effect is Effect.ALLOW

    async def invoke(context: Any, text: str) -> Any:
        found = verdict(recorded=True)
        if found.effect is not Effect.ALLOW or found.started is None:
            raise CallDenied(found if found.effect is Effect.DENY else unapproved(found))
        agent = await original.on_invoke_handoff(context, text)
        if agent.name != original.agent_name:
            msg = f"the handoff to `{original.agent_name}` led to `{agent.name}`"
            raise TypeError(msg)
        return guarded(agent, guard.at(found.started))

    values = _values(original) | {"on_invoke_handoff": invoke, "is_enabled": is_enabled}
    return _GuardedHandoff(**values, guard=guard)
