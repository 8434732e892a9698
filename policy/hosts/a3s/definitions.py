"""Agents and script tools of A3S: what one is, and those that A3S ships."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

import attrs

from policy.core.effect import Effect
from policy.core.source import Span
from policy.hosts.a3s.rules import PermissionPolicy
from policy.hosts.a3s.versions import NEWEST, A3sErrorKind, A3sProfile
from policy.hosts.errors import HostError
from policy.language.syntax import Presence
from policy.tables.ruleset import RuleSet

__all__ = [
    "AGENT_ALIASES",
    "KINDS",
    "LIMITS",
    "SHIPPED_AGENTS",
    "AgentDefinition",
    "AgentRegistry",
    "ConfirmationInheritance",
    "Preset",
    "ScriptLimit",
    "ScriptToolLimits",
    "ScriptToolSpec",
    "Shipped",
    "ToolNames",
    "built_in_agents",
    "excluded",
    "kind_of",
    "policy_of",
]

_READING: Final = ("read", "search", "ls")
_WEB: Final = ("web_fetch", "web_search")
_CHANGING: Final = ("write", "edit", "download")
_STARTING: Final = ("task", "parallel_task")
# Each is a prefix without a boundary, so that `lsof` and `find . -delete` pass too.
_LOOKING: Final = tuple(f"Bash({name}:*)" for name in "ls cat head tail find wc".split())

# Name of a table -> what it allows, what it denies, and its default.
_TABLES: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...], Effect]]] = {
    "explore": (
        (*_READING, *_WEB, "update_plan", *_LOOKING),
        (*_CHANGING, *_STARTING, "Bash(rm:*)", "Bash(mv:*)", "Bash(cp:*)"),
        Effect.DENY,
    ),
    "plan": ((*_READING, "update_plan"), (*_CHANGING, "bash", *_STARTING), Effect.DENY),
    "verification": (
        (*_READING, "bash", *_WEB, "update_plan"),
        (*_CHANGING, *_STARTING),
        Effect.DENY,
    ),
    "general": (
        (
            *("read", "write", "edit", "search", "ls", "bash", *_WEB, "download", "git"),
            *("patch", "batch", "generate_object"),
        ),
        _STARTING,
        Effect.ASK,
    ),
    "": ((), (), Effect.ASK),
}


def policy_of(table: str, profile: A3sProfile) -> PermissionPolicy:
    """Return the policy of the table of that name, as a version has it."""
    allow, deny, default = _TABLES[table]
    if not profile.one_search:
        allow = tuple(name for tool in allow for name in _before_search(tool))
    if not profile.has_plan_tool:
        allow = tuple(tool for tool in allow if tool != "update_plan")
    return PermissionPolicy.of(allow=allow, deny=deny, default=default, profile=profile)


def _before_search(tool: str) -> tuple[str, ...]:
    return ("grep", "glob") if tool == "search" else (tool,)


@attrs.frozen
class Shipped:
    """An agent of the host itself.

    Attributes:
        table: the name of its table.
        description: one line.
        hidden: whether it is left out of lists.
        tool_free: whether it has no tool.
        confirmation: who confirms what it asks for, or "".

    """

    table: str
    description: str
    hidden: bool = False
    tool_free: bool = False
    confirmation: str = ""


SHIPPED_AGENTS: Final = {
    "explore": Shipped("explore", "looks things up"),
    "plan": Shipped("plan", "makes plans"),
    "verification": Shipped("verification", "checks what was done"),
    "review": Shipped("verification", "reviews changes"),
    "general": Shipped("general", "does any task"),
    "deep-research": Shipped(
        "", "researches at length", hidden=True, confirmation="inherit_parent"
    ),
    "loop-planner": Shipped("", "plans a loop", hidden=True, tool_free=True),
    "loop-checker": Shipped("", "checks a loop", hidden=True, tool_free=True),
}

# Other names of agents; case counts.
AGENT_ALIASES: Final = {
    "general-purpose": "general",
    "general_purpose": "general",
    "generalpurpose": "general",
    "verify": "verification",
    "verifier": "verification",
    "code-review": "review",
    "code_reviewer": "review",
    "reviewer": "review",
    "deepresearch": "deep-research",
    "deep_research": "deep-research",
}


@attrs.frozen
class Preset:
    """A kind of worker: the table it has, and the steps it may take."""

    table: str
    max_steps: int


KINDS: Final = {
    "read_only": Preset("explore", 20),
    "planner": Preset("plan", 30),
    "implementer": Preset("general", 50),
    "verifier": Preset("verification", 30),
    "reviewer": Preset("verification", 25),
    "custom": Preset("", 30),
}

_KIND_ALIASES: Final = {
    "readonly": "read_only",
    "read-only": "read_only",
    "explore": "read_only",
    "plan": "planner",
    "implementation": "implementer",
    "general": "implementer",
    "verification": "verifier",
    "verify": "verifier",
    "review": "reviewer",
    "code-review": "reviewer",
}


def kind_of(name: str) -> Preset | None:
    """Return the kind of worker of that name, or None."""
    return KINDS.get(_KIND_ALIASES.get(name, name))


# `AgentDefinition`: what one agent is, wherever it comes from, and who confirms for it.


class ConfirmationInheritance(enum.Enum):
    """Who confirms what an agent that was started asks for."""

    AUTO_APPROVE = "auto_approve"
    DENY_ON_ASK = "deny_on_ask"
    INHERIT_PARENT = "inherit_parent"

    __hash__ = object.__hash__


@attrs.frozen
class ToolNames:
    """A list of tools of an agent file, as written.

    Attributes:
        presence: how it is there.
        items: the tools it names.
        spans: where each of them is written.
        key: the name it goes by in the file.
        span: where the value is written.
        dropped: where items are written that are no texts, which nobody reads.

    """

    presence: Presence = Presence.ABSENT
    items: tuple[str, ...] = ()
    spans: tuple[Span, ...] = attrs.field(default=(), eq=False, repr=False)
    key: str = ""
    span: Span | None = attrs.field(default=None, eq=False, repr=False)
    dropped: tuple[Span, ...] = attrs.field(default=(), eq=False, repr=False)


@attrs.frozen(slots=False)
class AgentDefinition:
    """One agent.

    Attributes:
        name: as it is started by.
        description: one line.
        permissions: what the host makes of the file.
        native: whether the host ships it.
        hidden: whether it is left out of lists.
        model: the model it runs on, or None.
        prompt: what it is told.
        max_steps: steps it may take, or None.
        tool_free: whether it has no tool at all.
        confirmation: who confirms, or None where nothing is said.
        confirmation_said: whether the file says who confirms.
        kind: the kind of worker it is, or "".
        kind_span: where that is written.
        block: the permissions as written, before any list replaced them.
        tools: the list of its tools.
        disallowed: the list of tools it has not.
        span: where its name is written.
        unknown: keys that mean nothing, and where they are written.
        second: keys that stand beside one that counts, likewise.

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
    confirmation_said: bool = attrs.field(default=False, eq=False, repr=False)
    kind_span: Span | None = attrs.field(default=None, eq=False, repr=False)
    block: PermissionPolicy | None = attrs.field(default=None, eq=False, repr=False)
    tools: ToolNames = attrs.field(default=ToolNames(), eq=False, repr=False)
    disallowed: ToolNames = attrs.field(default=ToolNames(), eq=False, repr=False)
    span: Span | None = attrs.field(default=None, eq=False, repr=False)
    unknown: tuple[tuple[str, Span], ...] = attrs.field(default=(), eq=False, repr=False)
    second: tuple[tuple[str, Span], ...] = attrs.field(default=(), eq=False, repr=False)

    @property
    def has_permissions(self) -> bool:
        """Whether the host takes it to have permissions: asks and defaults do not count."""
        return self.permissions.says_something

    @property
    def confirms(self) -> ConfirmationInheritance:
        """Who confirms, said or not."""
        if self.confirmation is not None:
            return self.confirmation
        if self.has_permissions:
            return ConfirmationInheritance.AUTO_APPROVE
        return ConfirmationInheritance.DENY_ON_ASK

    @property
    def declared(self) -> tuple[RuleSet, ...]:
        """What the file declares, taken at its word: the meet of all it says.

        A list of no tools, or what is no list, is a list of no tools; a list
        of tools does not undo what is denied beside it.
        """
        permissions = self.permissions
        if self.tool_free:
            return (RuleSet((), Effect.DENY, permissions.rules.dialect),)
        found: list[RuleSet] = []
        if self.tools.presence in _NOTHING_LISTED:
            found.append(RuleSet((), Effect.DENY, permissions.rules.dialect))
        block = self.block
        if block is not None:
            found.append(block.rules)
        if permissions not in (block, PermissionPolicy(profile=permissions.profile)):
            found.append(permissions.rules)
        return tuple(found)


_NOTHING_LISTED: Final = frozenset({Presence.EMPTY, Presence.ILL_TYPED, Presence.NULL})


def built_in_agents(profile: A3sProfile = NEWEST) -> dict[str, AgentDefinition]:
    """Return the agents that the host ships, by name."""
    return {
        name: AgentDefinition(
            name,
            shipped.description,
            policy_of(shipped.table, profile),
            native=True,
            hidden=shipped.hidden,
            tool_free=shipped.tool_free,
            confirmation=ConfirmationInheritance(shipped.confirmation)
            if shipped.confirmation
            else None,
        )
        for name, shipped in SHIPPED_AGENTS.items()
    }


@attrs.frozen
class AgentRegistry:
    """The agents by name; other names of those that the host ships are known too."""

    agents: Mapping[str, AgentDefinition]

    def find(self, name: str) -> AgentDefinition:
        """Return the agent of that name, or of that other name; case counts.

        Raises:
            HostError: there is none.

        """
        found = self.agents.get(name) or self.agents.get(AGENT_ALIASES.get(name, ""))
        if found is None:
            raise HostError(
                A3sErrorKind.UNKNOWN_AGENT,
                f"Unknown agent type: '{name}'",
                help="known are " + ", ".join(f"`{known}`" for known in sorted(self.agents)),
            )
        return found

    def project(self, agent: AgentDefinition) -> AgentRegistry:
        """Return the registry with an agent that another system projects into it.

        Raises:
            HostError: its name is another name of an agent that is there.

        """
        if agent.name in AGENT_ALIASES and AGENT_ALIASES[agent.name] in self.agents:
            raise HostError(
                A3sErrorKind.ALIAS_CONFLICT,
                f"projected agent name '{agent.name}' conflicts with the compatibility registry",
                agent.span,
                help=f"`{agent.name}` is another name of `{AGENT_ALIASES[agent.name]}`",
            )
        return AgentRegistry({**self.agents, agent.name: agent})


# --- script tools ---------------------------------------------------------------------------


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
