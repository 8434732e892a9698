"""Google ADK: a plugin of an app.

    app = App(name=..., root_agent=..., plugins=[..., PolicyPlugin(guard)])

It decides the calls of every agent of the app. The chain of an agent follows its tree, from
the root down; the root of a tree that a tool runs (`AgentTool`) is started by the agent that
called the tool. An agent may transfer to its own sub-agents, where the policy allows that without
approval, or back up. A transfer to any other agent is denied, since that agent would not be below
the one that transfers. A call that needs approval requests a confirmation.

Put the plugin last in the list. Callbacks of single agents run after it and must not change the
arguments of a call. Tools that the model runs itself are offered if every call of them is allowed.
In a live session (`run_live`) calls are decided too, but the plugin runs only after the model was
offered all tools: give an agent of such a session no tool that the model runs itself.
"""

from __future__ import annotations

from typing import Any

from policy.adapters.extras import extra
from policy.adapters.guard import Guard, Verdict, unapproved
from policy.adapters.messages import FAILED
from policy.core.effect import Effect
from policy.tables.chain import NO_ARGUMENTS, Chain, SpawnDenied

with extra("google-adk", "google.adk"):
    from google.adk.agents import LlmAgent
    from google.adk.models.llm_response import LlmResponse
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.tools.agent_tool import AgentTool
    from google.adk.tools.function_tool import FunctionTool
    from google.adk.tools.set_model_response_tool import SetModelResponseTool
    from google.adk.tools.transfer_to_agent_tool import TransferToAgentTool

__all__ = ["PolicyPlugin"]

# The tool that stands for code that the model runs itself.
_CODE = "code_execution"


class PolicyPlugin(BasePlugin):
    """Decides the calls of every agent below the one of the guard, and what models are offered."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(name="agent-policy")
        self._guard = guard

    async def before_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any
    ) -> dict[str, Any] | None:
        """Decide a call before it runs; a return value replaces its result."""
        try:
            if isinstance(tool, SetModelResponseTool):
                return None  # the answer of the agent is no call
            verdict = self._verdict(tool, tool_args, tool_context)
        except Exception:  # noqa: BLE001  # no failure may grant
            return {"error": FAILED}
        if verdict.effect is Effect.ASK:
            confirmation = tool_context.tool_confirmation
            if confirmation is None:
                tool_context.request_confirmation(hint=verdict.message)
                tool_context.actions.skip_summarization = True
                return {"error": "This call waits for the approval of a person."}
            if confirmation.confirmed is not True:
                verdict = unapproved(verdict)
        if verdict.effect is Effect.DENY:
            return {"error": verdict.message}
        if verdict.chain is not None:
            self._guard.run_on(verdict)  # each call is a separate task
        return None

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> Any:
        """Offer the tools that can be allowed; a return value replaces the answer of the model.

        An agent with a `code_executor` answers only where every call of `code_execution` is
        allowed, since the code of its model runs without a call.
        """
        agent = callback_context.get_invocation_context().agent
        guard = self._guard_of(agent)
        runs_code = getattr(agent, "code_executor", None) is not None
        if runs_code and not guard.granted([_CODE]):
            return LlmResponse(error_code="DENIED", error_message="This agent may not run code.")
        started = {name: _started(tool, agent) for name, tool in llm_request.tools_dict.items()}
        tools = [name for name, starts in started.items() if starts is None]
        names = set(guard.offered(tools))
        for name, starts in started.items():
            tool = llm_request.tools_dict[name]
            if isinstance(tool, (SetModelResponseTool, TransferToAgentTool)):
                names.add(name)
            elif starts is not None:
                verdict = guard.check_start(starts, recorded=False)
                names |= {name} if verdict.effect is not Effect.DENY else set()
        tools = getattr(llm_request.config, "tools", None) or []
        kept = [one for tool in tools if (one := _kept(tool, names, guard)) is not None]
        llm_request.config.tools = kept
        for name in set(llm_request.tools_dict) - names:
            del llm_request.tools_dict[name]
        return None

    def _verdict(self, tool: Any, arguments: dict[str, Any], context: Any) -> Verdict:
        agent = context.get_invocation_context().agent
        guard, starts = self._guard_of(agent), _started(tool, agent)
        if not isinstance(tool, TransferToAgentTool):
            if starts is not None:
                return guard.check_start(starts)
            return guard.check(tool.name, arguments)
        target = str(arguments.get("agent_name"))
        if target in (above.name for above in _path(agent)[:-1]):
            return Verdict(Effect.ALLOW)  # back to an agent that started it
        verdict = guard.check_start(target)
        if target not in (below.name for below in agent.sub_agents):
            verdict = Verdict(Effect.DENY, f"This agent may not transfer to `{target}`.")
        if verdict.effect is Effect.ASK:
            return unapproved(verdict)  # a transfer cannot ask for approval
        return verdict

    def _guard_of(self, agent: Any) -> Guard:
        """Return the guard of the chain that leads to *agent* in its tree."""

        def chain() -> Chain:
            root, *below = _path(agent)
            found = self._guard.agent(root.name).calling
            for one in below:
                above, found = found, found.spawn(one.name, NO_ARGUMENTS)
                if found.links[-1].confirm:
                    raise SpawnDenied(one.name, above.names[-1], "not-started")
            return found

        return self._guard.where(chain)


def _kept(tool: Any, names: set[str], guard: Guard) -> Any:
    """Return what is offered of one tool of a request, or None."""
    declared = tool.function_declarations
    kept = [one for one in declared or [] if one.name in names]
    # The model runs everything except the functions itself: a search, code, ...
    provided = [
        field
        for field in type(tool).model_fields
        if field != "function_declarations" and getattr(tool, field) is not None
    ]
    granted = guard.granted(provided)
    if not kept and not granted:
        return None
    dropped = dict.fromkeys(set(provided) - set(granted))
    return tool.model_copy(update={"function_declarations": kept or None, **dropped})


def _path(agent: Any) -> list[Any]:
    """Return the agents that make calls, from the root of the tree to *agent*."""
    path = []
    while agent is not None:
        if isinstance(agent, LlmAgent):
            path.append(agent)
        agent = agent.parent_agent
    return path[::-1]


def _started(tool: Any, agent: Any) -> str | None:
    """Return the agent that a tool of *agent* runs, if it runs one."""
    if isinstance(tool, AgentTool):
        return str(tool.agent.name)
    below = {one.name for one in getattr(agent, "sub_agents", ())}
    return str(tool.name) if tool.name in below and not isinstance(tool, FunctionTool) else None
