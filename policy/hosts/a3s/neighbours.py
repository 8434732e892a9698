"""What else stands between a model and a call: annotations of servers, verifiers, task lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from policy.effect import Effect
from policy.hosts.a3s.errors import A3sError, Kind

__all__ = ["INHERITED", "check_task", "mcp_needs_confirmation", "verifier_preflight"]

# --- tools of servers ---------------------------------------------------------

_RISK_KEYS: Final = frozenset({"x-a3s-risk", "a3s/risk", "a3s.risk", "risk"})
_HARMLESS: Final = frozenset({"read", "read_only", "read-only", "routine", "closed_world_read"})


def mcp_needs_confirmation(
    annotations: Mapping[str, Any] | None, meta: Mapping[str, Any] | None = None
) -> bool:
    """Return whether a tool of a server wants to be confirmed. It never lowers a decision."""
    if not annotations:
        return True
    if annotations.get("readOnlyHint") is not True:
        return True
    if annotations.get("openWorldHint") is not False:
        return True
    if annotations.get("destructiveHint") is True:
        return True
    return any(_risky(given) for given in (annotations, meta or {}))


def _risky(given: Mapping[str, Any]) -> bool:
    for key, value in given.items():
        if key not in _RISK_KEYS:
            continue
        labels = value if isinstance(value, (list, tuple)) else [value]
        for label in labels:
            if not isinstance(label, str) or label.strip().lower() not in _HARMLESS:
                return True
    return False


# --- turns of a verifier --------------------------------------------------------

_REFUSED: Final = frozenset({"write", "edit", "patch", "download", "skill", "task", "batch"})
_TELLING: Final = (">", "rm ", "mv ", "tee ")


def verifier_preflight(
    tool: str, args: Mapping[str, Any], *, nested: bool = False, read_only: bool = False
) -> Effect:
    """Return whether a turn of a verifier passes a call on; what may be refused is little.

    Args:
        tool: the name, in any case.
        args: the arguments.
        nested: whether a program makes the call.
        read_only: whether the tool says of itself that it only reads.

    """
    name = tool.lower()
    if name in _REFUSED:
        return Effect.DENY
    if name == "bash":
        command = args.get("command")
        text = command if isinstance(command, str) else ""
        changes = "changed_paths" in args or any(sign in text for sign in _TELLING)
        return Effect.DENY if changes else Effect.ALLOW
    if name == "git":
        return Effect.DENY if _git_changes(args) else Effect.ALLOW
    if nested and name != "program" and not read_only:
        return Effect.DENY
    return Effect.ALLOW


def _git_changes(args: Mapping[str, Any]) -> bool:
    command = args.get("command")
    match command:
        case "checkout":
            return True
        case "branch":
            return bool(args.get("name"))
        case "stash":
            return bool(args.get("message")) or bool(args.get("include_untracked"))
        case "worktree":
            action = args.get("action") or args.get("subcommand") or args.get("operation")
            return action in {"create", "add", "remove"}
        case _:
            return False


# --- starting agents -------------------------------------------------------------

_TASK_FIELDS: Final = frozenset({"agent", "description", "prompt", "background", "max_steps"})
_MOST_TASKS: Final = 32


def check_task(args: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the agents that a call of `task` starts.

    Raises:
        A3sError: there are none or too many, or a field is unknown.

    """
    unknown = sorted(set(args) - {"tasks"})
    tasks = args.get("tasks")
    if unknown:
        raise A3sError(Kind.TASK_ARGUMENTS, f"unknown field `{unknown[0]}`")
    if not isinstance(tasks, (list, tuple)) or not 1 <= len(tasks) <= _MOST_TASKS:
        msg = f"expected 1 to {_MOST_TASKS} entries in `tasks`"
        raise A3sError(Kind.TASK_ARGUMENTS, msg)
    agents = []
    for task in tasks:
        agent = task.get("agent") if isinstance(task, Mapping) else None
        if not isinstance(agent, str) or not agent:
            raise A3sError(Kind.TASK_ARGUMENTS, "missing field `agent`")
        strange = sorted(set(task) - _TASK_FIELDS)
        if strange:
            raise A3sError(Kind.TASK_ARGUMENTS, f"unknown field `{strange[0]}`")
        agents.append(agent)
    return tuple(agents)


# What an agent that is started gets of the one that starts it, beside permissions.
INHERITED: Final = {
    "security provider": True,
    "hooks": True,
    "skills": True,
    "permission checker": True,
    "timeouts": True,
    "max_parallel_tasks": True,
    "budget guard": True,
    "sandbox": True,
    "workspace": True,
    "tools of servers": True,
    "memory": False,
    "queue": False,
    "planning": False,
    "context providers": False,
}
