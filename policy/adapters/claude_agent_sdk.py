"""Claude Agent SDK: a hook before every call, and the answer to permission requests.

    options = guarded(ClaudeAgentOptions(...), Guard(chain), ask=my_can_use_tool)

The hook decides every call of the main conversation and of its agents. Where the policy allows a
call, the settings may still deny it or ask for it. A call that needs approval reaches *ask*, a
`can_use_tool` callback; without one it is denied.

A call names the agent that makes it, and not the agent that started that one. So the hook keeps
the chains in which agents of each type were started. An agent may do what all chains of its type
grant; its calls are denied if there is none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any

from policy.adapters.extras import extra
from policy.adapters.guard import Guard, Verdict, unapproved
from policy.adapters.messages import FAILED
from policy.core.effect import Effect
from policy.tables.chain import Chain, SpawnDenied

with extra("claude-agent-sdk", "claude_agent_sdk"):
    from claude_agent_sdk.types import HookMatcher, PermissionResultDeny

__all__ = ["PolicyHook", "guarded"]

# The tools that start an agent, and the type of an agent without a name.
_STARTS = frozenset({"Agent", "Task"})
_UNNAMED = "general-purpose"

CanUseTool = Callable[[str, dict[str, Any], Any], Awaitable[Any]]


class PolicyHook:
    """Decides the calls of one session by a guard. Raises SpawnDenied if no chain leads to it."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._chain = guard.chain
        self._lock = Lock()
        # The chains in which agents of each type were started, and the chains of each agent.
        self._started: dict[str, dict[str, Chain]] = {}
        self._chains: dict[str, tuple[Chain, ...]] = {}

    async def __call__(self, event: Any, _tool_use_id: Any, _context: Any) -> dict[str, Any]:
        """Answer a PreToolUse event. Never raises: every failure denies."""
        try:
            verdict = self.verdict(event)
            effect, reason = verdict.effect.value, verdict.message
        except Exception:  # noqa: BLE001  # a failed hook would be no answer
            effect, reason = Effect.DENY.value, FAILED
        answer = {"hookEventName": "PreToolUse", "permissionDecision": effect}
        if reason:
            answer["permissionDecisionReason"] = reason
        return {"hookSpecificOutput": answer}

    def verdict(self, event: Mapping[str, Any]) -> Verdict:
        """Return the verdict on the call of a PreToolUse event; keep the chain that it starts."""
        tool, arguments = event["tool_name"], event["tool_input"]
        chains = self.chains(event.get("agent_id"), event.get("agent_type"))
        verdict = self._strictest(chains, tool, arguments, recorded=True)
        if tool in _STARTS and verdict.effect is not Effect.DENY:
            agent = arguments.get("subagent_type") or _UNNAMED
            started = {str(one): one for one in (chain.spawn(agent) for chain in chains)}
            with self._lock:
                self._started[agent] = self._started.get(agent, {}) | started
        return verdict

    def chains(self, agent_id: str | None, agent_type: str | None) -> tuple[Chain, ...]:
        """Return the possible chains of the agent. Raises SpawnDenied: no chain is known."""
        if agent_id is None:
            return (self._chain,)
        with self._lock:
            known = self._chains.get(agent_id)
            if known is None:
                known = tuple(self._started.get(agent_type or "", {}).values())
                if not known:
                    raise SpawnDenied(agent_type or "", self._guard.name, "not-started")
                # It has started by now, so a later start is not its chain.
                self._chains[agent_id] = known
            return known

    def _strictest(
        self, chains: tuple[Chain, ...], tool: str, arguments: Mapping[str, Any], *, recorded: bool
    ) -> Verdict:
        verdicts, agent = list[Verdict](), ""
        if tool in _STARTS:
            agent = arguments.get("subagent_type") or _UNNAMED
            arguments = {**arguments, "subagent_type": agent}
        for here in map(self._guard.at, chains):
            verdicts.append(here.check(tool, arguments, recorded=recorded))
            if agent:
                verdicts.append(here.check_start(agent, arguments, recorded=recorded))
        return min(verdicts, key=lambda verdict: verdict.effect)

    async def can_use_tool(
        self, ask: CanUseTool | None, tool: str, arguments: dict[str, Any], context: Any
    ) -> Any:
        """Answer a permission request: *ask* decides, unless the policy denies the call."""
        try:
            chains = self.chains(context.agent_id, None)
            verdict = self._strictest(chains, tool, arguments, recorded=False)
        except SpawnDenied as denied:
            return PermissionResultDeny(message=str(denied))
        except Exception:  # noqa: BLE001  # no failure may grant
            return PermissionResultDeny(message=FAILED)
        if verdict.effect is Effect.DENY:
            return PermissionResultDeny(message=verdict.message)
        if ask is None:
            return PermissionResultDeny(message=unapproved(verdict).message)
        return await ask(tool, arguments, context)


def guarded(options: Any, guard: Guard, *, ask: CanUseTool | None = None) -> Any:
    """Return *options* of a session whose calls are decided by *guard*; their hooks stay.

    *guard* belongs to the main conversation and serves one session. Calls that the policy or the
    settings ask for reach *ask*, a `can_use_tool` callback, by default the one of *options*.
    """
    hook = PolicyHook(guard)
    person = ask or options.can_use_tool
    hooks = dict(options.hooks or {})
    # Without a matcher, since a misspelt one never fires.
    first = HookMatcher(hooks=[hook], on_failure="block")
    hooks["PreToolUse"] = [first, *hooks.get("PreToolUse", [])]
    return replace(options, hooks=hooks, can_use_tool=partial(hook.can_use_tool, person))
