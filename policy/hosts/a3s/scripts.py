"""`ScriptToolSpec`: a script as a tool, the tools it may call, and its limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from policy.core.effect import Effect
from policy.core.source import Span
from policy.hosts.a3s.gate import Facts, Provider, evaluate_call
from policy.hosts.a3s.rules import PermissionPolicy
from policy.hosts.a3s.versions import MODES, NEWEST, A3sErrorKind, A3sProfile
from policy.hosts.errors import HostError

__all__ = [
    "LIMITS",
    "SOURCE_BYTES",
    "ScriptLimit",
    "ScriptSession",
    "ScriptToolLimits",
    "ScriptToolSpec",
    "admits",
    "check_program",
    "check_source",
    "excluded",
    "inner_call",
    "program_tools",
]


@attrs.frozen
class ScriptLimit:
    """A bound of a sandbox: its name in files, its largest value, its default."""

    key: str
    largest: int
    default: int


LIMITS: Final = (
    ScriptLimit("timeoutMs", 600_000, 30_000),
    ScriptLimit("maxToolCalls", 1_000, 20),
    ScriptLimit("maxOutputBytes", 16 * 1024 * 1024, 64 * 1024),
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

    def effective_tools(self, profile: A3sProfile = NEWEST) -> tuple[str, ...] | None:
        """Return what remains of the list; None where it has none."""
        if self.allowed_tools is None:
            return None
        return tuple(name for name in self.allowed_tools if name not in excluded(profile))


def excluded(profile: A3sProfile = NEWEST) -> frozenset[str]:
    """Return what no script may call, listed or not."""
    if profile.one_search:
        return frozenset({"program", "parallel_task", "dynamic_workflow"})
    return frozenset({"program", "parallel_task"})


def admits(
    allowed: tuple[str, ...] | None,
    tool: str,
    args: Mapping[str, Any],
    profile: A3sProfile = NEWEST,
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
    allowed: tuple[str, ...], tool: str, args: Mapping[str, Any], profile: A3sProfile
) -> bool:
    mode = args.get("mode")
    return profile.one_search and tool == "search" and mode in MODES and mode in allowed


@attrs.frozen
class ScriptSession:
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
    session: ScriptSession | None = None,
    number: int = 1,
    profile: A3sProfile = NEWEST,
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
        HostError: it has made too many calls.

    """
    limit = spec.limits.effective(spec.allowed_tools or ())[1]
    if number > limit:
        raise HostError(
            A3sErrorKind.TOO_MANY_CALLS, f"PTC script exceeded maxToolCalls={limit}", spec.span
        )
    if not admits(spec.allowed_tools, tool, args, profile):
        return Effect.DENY
    if session is None or not profile.governs_inner_calls:
        return Effect.ALLOW
    passage = evaluate_call(tool, args, session.policy, session.provider, session.facts)
    return passage.effect


# The `program` tool: what it may be given to run. Nothing is ever run here.


SOURCE_BYTES: Final = 192 * 1024

# Refused wherever they stand, in strings too.
_FORBIDDEN: Final = (
    "import ",
    "import(",
    "eval(",
    "Function(",
    "Worker(",
    "WebSocket",
    "fetch(",
)

# As the host looks for it: `function runner` will do.
_ENTRY: Final = "function run"


def check_program(args: Mapping[str, Any]) -> None:
    """Refuse arguments that the host would not run.

    Raises:
        HostError: for the first reason there is.

    """
    kind = args.get("type", "script")
    if kind != "script":
        raise HostError(
            A3sErrorKind.PROGRAM_TYPE,
            f"unsupported program type '{kind}'",
            help="only `script` is run",
        )
    language = args.get("language", "javascript")
    if language != "javascript":
        raise HostError(
            A3sErrorKind.LANGUAGE,
            f"unsupported language '{language}'",
            help="only `javascript` is run",
        )
    source = args.get("source")
    if isinstance(source, str):
        check_source(source)


def check_source(source: str) -> None:
    """Refuse a source that the host would not run.

    Raises:
        HostError: it is too long, has no function `run`, or holds what is refused.

    """
    size = len(source.encode("utf-8", "surrogatepass"))
    if size > SOURCE_BYTES:
        msg = f"the source has {size:,} bytes; at most {SOURCE_BYTES:,} are run"
        raise HostError(A3sErrorKind.SOURCE_SIZE, msg)
    found = next((text for text in _FORBIDDEN if text in source), None)
    if found is not None:
        raise HostError(
            A3sErrorKind.SOURCE_FORBIDDEN,
            f"the source holds `{found.strip()}`, which is refused",
            help="it is refused in strings and comments too",
        )
    if _ENTRY not in source:
        raise HostError(
            A3sErrorKind.NO_ENTRY_POINT,
            "the source has no function `run`",
            help="write `async function run(ctx, inputs) { … }`",
        )


def program_tools(
    args: Mapping[str, Any], registered: Iterable[str], profile: A3sProfile = NEWEST
) -> tuple[str, ...]:
    """Return what a program may call.

    Its list has the opposite default of that of a script tool: absent, or no
    list, it is every tool that is registered.
    """
    listed = args.get("allowed_tools")
    tools = tuple(registered)
    if isinstance(listed, (list, tuple)):
        tools = tuple(name for name in listed if isinstance(name, str))
    return tuple(name for name in tools if name not in excluded(profile))
