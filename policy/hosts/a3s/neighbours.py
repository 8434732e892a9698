"""What else stands between a model and a call: annotations of servers, verifiers, task lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from policy.core.effect import Effect
from policy.hosts.a3s.versions import NEWEST, A3sErrorKind, A3sProfile
from policy.hosts.errors import HostError

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
    return any(_risky_label(value) for key, value in given.items() if key.lower() in _RISK_KEYS)


def _risky_label(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_risky_label, value))
    return not isinstance(value, str) or value.strip().lower() not in _HARMLESS


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
            return isinstance(args.get("name"), str)
        case "stash":
            return isinstance(args.get("message"), str) or args.get("include_untracked") is True
        case "worktree":
            return args.get("subcommand") in ("create", "remove")
        case _:
            return False


# --- starting agents -------------------------------------------------------------

_TASK_NEEDS: Final = ("agent", "description", "prompt")
_TASK_FIELDS: Final = frozenset({*_TASK_NEEDS, "background", "max_steps", "output_schema"})
_CALL_FIELDS: Final = frozenset(
    "tasks allow_partial_failure timeout_ms timeoutMs min_success_count minSuccessCount".split()
)
_MOST_TASKS: Final = 32


def check_task(args: Mapping[str, Any], profile: A3sProfile = NEWEST) -> tuple[str, ...]:
    """Return the agents that a call of `task` starts; before 6.8 it was one.

    Raises:
        HostError: there are none or too many, or a field is unknown or missing.

    """
    if not profile.one_search:
        return (_task(args),)
    _no_others(args, _CALL_FIELDS)
    tasks = args.get("tasks")
    if not isinstance(tasks, (list, tuple)) or not 1 <= len(tasks) <= _MOST_TASKS:
        msg = f"expected 1 to {_MOST_TASKS} entries in `tasks`"
        raise HostError(A3sErrorKind.TASK_ARGUMENTS, msg)
    return tuple(map(_task, tasks))


def _task(given: object) -> str:
    if not isinstance(given, Mapping):
        raise HostError(A3sErrorKind.TASK_ARGUMENTS, "expected a mapping in `tasks`")
    _no_others(given, _TASK_FIELDS)
    for field in _TASK_NEEDS:
        if not isinstance(given.get(field), str):
            raise HostError(A3sErrorKind.TASK_ARGUMENTS, f"missing field `{field}`")
    return str(given["agent"])


def _no_others(given: Mapping[str, Any], known: frozenset[str]) -> None:
    unknown = sorted(set(given) - known)
    if unknown:
        raise HostError(
            A3sErrorKind.TASK_ARGUMENTS,
            f"unknown field `{unknown[0]}`",
            help="known are " + ", ".join(f"`{field}`" for field in sorted(known)),
        )


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
