"""`ScriptToolSpec`: a script as a tool, the tools it may call, and its limits.

The list of a script is exact names: no wildcard, no pattern over arguments. A
list that is absent is a list of nothing, and a script never starts a script.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from policy.effect import Effect
from policy.hosts.a3s.confirmation import Provider
from policy.hosts.a3s.errors import A3sError, Kind
from policy.hosts.a3s.gate import Facts, evaluate_call
from policy.hosts.a3s.names import MODES
from policy.hosts.a3s.permissions import PermissionPolicy
from policy.hosts.a3s.versions import NEWEST, Profile
from policy.source import Span

__all__ = [
    "LIMITS",
    "Limit",
    "ScriptToolLimits",
    "ScriptToolSpec",
    "Session",
    "admits",
    "excluded",
    "inner_call",
]


@attrs.frozen
class Limit:
    """A bound of a sandbox: its name in files, its largest value, its default."""

    key: str
    largest: int
    default: int


LIMITS: Final = (
    Limit("timeoutMs", 600_000, 30_000),
    Limit("maxToolCalls", 1_000, 20),
    Limit("maxOutputBytes", 16 * 1024 * 1024, 64 * 1024),
)

# Where a script may start agents it has the longest time there is.
_TIMEOUT_WITH_TASK: Final = 600_000


@attrs.frozen
class ScriptToolLimits:
    """The limits of a script; None is the default of the tool that runs it."""

    timeout_ms: int | None = None
    max_tool_calls: int | None = None
    max_output_bytes: int | None = None

    def effective(self, allowed: tuple[str, ...]) -> tuple[int, int, int]:
        """Return the limits that hold, for a script that may call *allowed*."""
        timeout, calls, output = (limit.default for limit in LIMITS)
        if "task" in allowed:
            timeout = _TIMEOUT_WITH_TASK
        return (
            timeout if self.timeout_ms is None else self.timeout_ms,
            calls if self.max_tool_calls is None else self.max_tool_calls,
            output if self.max_output_bytes is None else self.max_output_bytes,
        )


@attrs.frozen
class ScriptToolSpec:
    """A script that the model may call as a tool.

    Attributes:
        name: as the model calls it.
        description: what the model is told.
        path: of the source, relative to the workspace.
        allowed_tools: what it may call; None, which no file can say, is
            everything that `program` may call.
        limits: of the sandbox it runs in.
        omitted: whether the list is absent from the file.
        span: where its name is written.
        list_span: where the list is written.
        spans: where each of its items is written.
        unknown: keys that mean nothing, and where they are written.
        unknown_limits: likewise, those among the limits.

    """

    name: str
    description: str
    path: str
    allowed_tools: tuple[str, ...] | None = ()
    limits: ScriptToolLimits = ScriptToolLimits()
    omitted: bool = attrs.field(default=False, eq=False)
    span: Span | None = attrs.field(default=None, eq=False, repr=False)
    list_span: Span | None = attrs.field(default=None, eq=False, repr=False)
    spans: tuple[Span, ...] = attrs.field(default=(), eq=False, repr=False)
    unknown: tuple[tuple[str, Span], ...] = attrs.field(default=(), eq=False, repr=False)
    unknown_limits: tuple[tuple[str, Span], ...] = attrs.field(default=(), eq=False, repr=False)

    def effective_tools(self, profile: Profile = NEWEST) -> tuple[str, ...] | None:
        """Return what remains of the list; None where it has none."""
        if self.allowed_tools is None:
            return None
        return tuple(name for name in self.allowed_tools if name not in excluded(profile))


def excluded(profile: Profile = NEWEST) -> frozenset[str]:
    """Return what no script may call, listed or not."""
    if profile.one_search:
        return frozenset({"program", "parallel_task", "dynamic_workflow"})
    return frozenset({"program", "parallel_task"})


def admits(
    allowed: tuple[str, ...] | None, tool: str, args: Mapping[str, Any], profile: Profile = NEWEST
) -> bool:
    """Return whether the list of a script admits a call. It never grants by itself."""
    if tool in excluded(profile):
        return False
    if (
        allowed is not None
        and tool not in allowed
        and not _mode_listed(allowed, tool, args, profile)
    ):
        return False
    if tool == "task":
        tasks = args.get("tasks")
        return not isinstance(tasks, (list, tuple)) or len(tasks) <= 1
    return True


def _mode_listed(
    allowed: tuple[str, ...], tool: str, args: Mapping[str, Any], profile: Profile
) -> bool:
    mode = args.get("mode")
    return profile.one_search and tool == "search" and mode in MODES and mode in allowed


@attrs.frozen
class Session:
    """What bounds the calls of a script beside its list.

    Attributes:
        policy: of the session, or None where it has none, which asks.
        provider: who confirms.
        facts: what else decides.

    """

    policy: PermissionPolicy | None = None
    provider: Provider = Provider.NONE
    facts: Facts = Facts()


def inner_call(  # a call has a script, a tool, arguments, a number, a session, a version
    spec: ScriptToolSpec,
    tool: str,
    args: Mapping[str, Any],
    *,
    session: Session | None = None,
    number: int = 1,
    profile: Profile = NEWEST,
) -> Effect:
    """Return what the call of a script gets.

    Args:
        spec: the script, whose list and limits no argument can widen.
        tool: what it calls.
        args: and with what.
        session: what else bounds the call; None where only the list is asked
            about. Before version 5 nothing but the list did.
        number: which of its calls it is, from 1.
        profile: the version.

    Raises:
        A3sError: it has made too many calls.

    """
    limit = spec.limits.effective(spec.allowed_tools or ())[1]
    if number > limit:
        raise A3sError(Kind.TOO_MANY_CALLS, f"PTC script exceeded maxToolCalls={limit}", spec.span)
    if not admits(spec.allowed_tools, tool, args, profile):
        return Effect.DENY
    if session is None or not profile.governs_inner_calls:
        return Effect.ALLOW
    passage = evaluate_call(tool, args, session.policy, session.provider, session.facts)
    return passage.effect
