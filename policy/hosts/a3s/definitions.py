"""Agents and script tools of A3S: what one is, and those that A3S ships."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

from policy.core.effect import Effect
from policy.core.source import Span
from policy.core.values import field, frozen
from policy.hosts.a3s.rules import PermissionPolicy
from policy.hosts.a3s.versions import NEWEST, A3sErrorKind, A3sProfile
from policy.hosts.data import host_table
from policy.hosts.errors import HostError
from policy.language.syntax import Presence
from policy.tables.ruleset import RuleSet

__all__ = [
    "AGENT_ALIASES",
    "LIMITS",
    "AgentDefinition",
    "AgentRegistry",
    "ConfirmationInheritance",
    "ScriptLimit",
    "ScriptToolLimits",
    "ScriptToolSpec",
    "ToolNames",
    "WorkerKind",
    "built_in_agents",
    "excluded",
    "kind_of",
    "policy_of",
]


@frozen
class WorkerKind:
    """A kind of worker: its table, its limit of steps, and its other names."""

    table: str
    max_steps: int
    aliases: list[str] = field(factory=list)


_DATA: Final = host_table("a3s", "agents")
_KINDS: Final = {name: WorkerKind(**kind) for name, kind in _DATA["kinds"].items()}

AGENT_ALIASES: Final = {
    alias: name for name, agent in _DATA["agents"].items() for alias in agent.get("aliases", ())
}


def policy_of(table: str, profile: A3sProfile) -> PermissionPolicy:
    """Return the policy of that table in a version."""
    found = _DATA["tables"][table]
    allow = found["allow"]
    if not profile.one_search:
        allow = [
            name for tool in allow for name in (("grep", "glob") if tool == "search" else (tool,))
        ]
    if not profile.has_plan_tool:
        allow = [tool for tool in allow if tool != "update_plan"]
    default = Effect(found["default"])
    return PermissionPolicy.of(allow=allow, deny=found["deny"], default=default, profile=profile)


def kind_of(name: str) -> WorkerKind | None:
    """Return the kind of worker with that name or alias, or None."""
    aliases = (kind for kind in _KINDS.values() if name in kind.aliases)
    return _KINDS.get(name) or next(aliases, None)


# --- agents ---------------------------------------------------------------------------


class ConfirmationInheritance(enum.Enum):
    """Who confirms the calls of a started agent."""

    AUTO_APPROVE = "auto_approve"
    DENY_ON_ASK = "deny_on_ask"
    INHERIT_PARENT = "inherit_parent"


@frozen
class ToolNames:
    """A list of tools of an agent file, as written.

    Attributes:
        presence: whether the file has the list, and in which form.
        items: the tools that it names.
        spans: where each of them is written.
        key: its key in the file.
        span: where the value is written.
        dropped: where items are written that are not strings; the host ignores them.

    """

    presence: Presence = Presence.ABSENT
    items: tuple[str, ...] = ()
    spans: tuple[Span, ...] = field(default=(), eq=False, repr=False)
    key: str = ""
    span: Span | None = field(default=None, eq=False, repr=False)
    dropped: tuple[Span, ...] = field(default=(), eq=False, repr=False)


@frozen(slots=False)
class AgentDefinition:
    """One agent.

    Attributes:
        name: its name in calls that start it.
        description: one line.
        permissions: the permissions that the host reads out of the file.
        native: whether the host ships it.
        hidden: whether lists of agents leave it out.
        model: its model, or None.
        prompt: its prompt.
        max_steps: its limit of steps, or None.
        tool_free: whether it has no tool at all.
        confirmation: who confirms its calls, or None if neither key nor list decides that.
        has_confirmation_key: whether the file has the key.
        kind: its kind of worker, or "".
        kind_span: where the kind is written.
        block: the permissions as written, before a list of tools replaced them.
        tools: the list of its tools.
        disallowed: the list of tools that it does not have.
        span: where its name is written.
        unknown: keys that the host ignores, with their places.
        second: keys that are ignored because another key of the same list comes first.

    """

    name: str
    description: str
    permissions: PermissionPolicy = PermissionPolicy()
    native: bool = False
    hidden: bool = False
    model: str | None = None
    prompt: str = ""
    max_steps: int | None = None
    tool_free: bool = False
    confirmation: ConfirmationInheritance | None = None
    kind: str = ""
    has_confirmation_key: bool = field(default=False, eq=False, repr=False)
    kind_span: Span | None = field(default=None, eq=False, repr=False)
    block: PermissionPolicy | None = field(default=None, eq=False, repr=False)
    tools: ToolNames = field(default=ToolNames(), eq=False, repr=False)
    disallowed: ToolNames = field(default=ToolNames(), eq=False, repr=False)
    span: Span | None = field(default=None, eq=False, repr=False)
    unknown: tuple[tuple[str, Span], ...] = field(default=(), eq=False, repr=False)
    second: tuple[tuple[str, Span], ...] = field(default=(), eq=False, repr=False)

    @property
    def has_permissions(self) -> bool:
        """Whether the host gives it permissions of its own (`PermissionPolicy.is_in_force`)."""
        return self.permissions.is_in_force

    @property
    def confirms(self) -> ConfirmationInheritance:
        """Who confirms its calls, by its file or by default."""
        if self.confirmation is not None:
            return self.confirmation
        if self.has_permissions:
            return ConfirmationInheritance.AUTO_APPROVE
        return ConfirmationInheritance.DENY_ON_ASK

    @property
    def declared(self) -> tuple[RuleSet, ...]:
        """The rule sets that the file declares, all of which hold.

        An empty list of tools, or a value that is not a list, declares no tool. A list of tools
        does not cancel the deny rules of `permissions`.
        """
        permissions = self.permissions
        if self.tool_free:
            return (RuleSet((), Effect.DENY, permissions.rules.dialect),)
        found: list[RuleSet] = []
        if self.tools.presence in _NO_TOOL:
            found.append(RuleSet((), Effect.DENY, permissions.rules.dialect))
        block = self.block
        if block is not None:
            found.append(block.rules)
        if permissions not in (block, PermissionPolicy(profile=permissions.profile)):
            found.append(permissions.rules)
        return tuple(found)


_NO_TOOL: Final = frozenset({Presence.EMPTY, Presence.ILL_TYPED, Presence.NULL})


def built_in_agents(profile: A3sProfile = NEWEST) -> dict[str, AgentDefinition]:
    """Return the agents that the host ships, by name."""
    found = {}
    for name, agent in _DATA["agents"].items():
        confirmation = agent.get("confirmation")
        found[name] = AgentDefinition(
            name,
            agent["description"],
            policy_of(agent["table"], profile),
            native=True,
            hidden=agent.get("hidden", False),
            tool_free=agent.get("tool_free", False),
            confirmation=ConfirmationInheritance(confirmation) if confirmation else None,
        )
    return found


@frozen
class AgentRegistry:
    """The agents by name, and by the aliases of those that the host ships."""

    agents: Mapping[str, AgentDefinition]

    def find(self, name: str) -> AgentDefinition:
        """Return the agent with that name or alias, in exact case.

        Raises:
            HostError: there is none.

        """
        found = self.agents.get(name) or self.agents.get(AGENT_ALIASES.get(name, ""))
        if found is None:
            help_ = "known are " + ", ".join(f"`{known}`" for known in sorted(self.agents))
            msg = f"Unknown agent type: '{name}'"
            raise HostError(A3sErrorKind.UNKNOWN_AGENT, msg, help=help_)
        return found

    def project(self, agent: AgentDefinition) -> AgentRegistry:
        """Return the registry with an agent that another system adds.

        Raises:
            HostError: its name is an alias of a registered agent.

        """
        if agent.name in AGENT_ALIASES and AGENT_ALIASES[agent.name] in self.agents:
            msg = f"projected agent name '{agent.name}' conflicts with the compatibility registry"
            help_ = f"`{agent.name}` is another name of `{AGENT_ALIASES[agent.name]}`"
            raise HostError(A3sErrorKind.ALIAS_CONFLICT, msg, agent.span, help=help_)
        return AgentRegistry({**self.agents, agent.name: agent})


# --- script tools ---------------------------------------------------------------------


@frozen
class ScriptLimit:
    """A limit of a script: its key in files, its largest value, its default."""

    key: str
    largest: int
    default: int


LIMITS: Final = (
    ScriptLimit("timeoutMs", 600_000, 30_000),
    ScriptLimit("maxToolCalls", 1_000, 20),
    ScriptLimit("maxOutputBytes", 16 * 1024 * 1024, 64 * 1024),
)

# A script that may start agents has this limit of time by default.
_TIMEOUT_WITH_TASK: Final = 600_000


@frozen
class ScriptToolLimits:
    """The limits of a script; None is the default."""

    timeout_ms: int | None = None
    max_tool_calls: int | None = None
    max_output_bytes: int | None = None

    def effective(self, allowed: tuple[str, ...]) -> tuple[int, int, int]:
        """Return the limits in force for a script that may call *allowed*."""
        timeout, calls, output = (limit.default for limit in LIMITS)
        if "task" in allowed:
            timeout = _TIMEOUT_WITH_TASK
        return (
            timeout if self.timeout_ms is None else self.timeout_ms,
            calls if self.max_tool_calls is None else self.max_tool_calls,
            output if self.max_output_bytes is None else self.max_output_bytes,
        )


@frozen
class ScriptToolSpec:
    """A script that the model may call as a tool.

    Attributes:
        name: its name as a tool.
        description: shown to the model.
        path: the path of the source, relative to the workspace.
        allowed_tools: the tools that it may call; None, which no file can express, is every
            tool that `program` may call.
        limits: its limits.
        omitted: whether the list is absent from the file.
        span: where its name is written.
        list_span: where the list is written.
        spans: where each item of the list is written.
        unknown: keys that the host ignores, with their places.
        unknown_limits: keys of the limits that the host ignores, with their places.

    """

    name: str
    description: str
    path: str
    allowed_tools: tuple[str, ...] | None = ()
    limits: ScriptToolLimits = ScriptToolLimits()
    omitted: bool = field(default=False, eq=False)
    span: Span | None = field(default=None, eq=False, repr=False)
    list_span: Span | None = field(default=None, eq=False, repr=False)
    spans: tuple[Span, ...] = field(default=(), eq=False, repr=False)
    unknown: tuple[tuple[str, Span], ...] = field(default=(), eq=False, repr=False)
    unknown_limits: tuple[tuple[str, Span], ...] = field(default=(), eq=False, repr=False)

    def effective_tools(self, profile: A3sProfile = NEWEST) -> tuple[str, ...] | None:
        """Return the listed tools that a script may call at all; None if it has no list."""
        if self.allowed_tools is None:
            return None
        return tuple(name for name in self.allowed_tools if name not in excluded(profile))


def excluded(profile: A3sProfile = NEWEST) -> frozenset[str]:
    """Return the tools that no script may call, listed or not."""
    if profile.one_search:
        return frozenset({"program", "parallel_task", "dynamic_workflow"})
    return frozenset({"program", "parallel_task"})
