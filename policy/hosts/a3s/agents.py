"""Reads agents, script tools, agent directories and sessions of A3S."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import partial
from typing import Final

from policy.core import expressions as re
from policy.core.effect import Effect
from policy.core.finding import Finding
from policy.core.source import Source, Span
from policy.core.values import Any, attributes, evolve, field, frozen
from policy.files.nodes import MappingNode, Node, ScalarNode, SequenceNode, describe
from policy.files.trees import Tree
from policy.files.yaml_nodes import read_yaml
from policy.hosts.a3s.rules import (
    NEWEST,
    SPAWNING,
    A3sProfile,
    PermissionPolicy,
    PermissionRule,
    refused,
)
from policy.hosts.data import host_table
from policy.hosts.fields import Fields, Keys, Presence, content, is_null
from policy.tables.ruleset import RuleSet

_DATA: Final = host_table("a3s", "agents")

AGENT_ALIASES: Final = {
    alias: name for name, agent in _DATA["agents"].items() for alias in agent.get("aliases", ())
}

# What a started agent inherits from the agent that starts it, apart from permissions.
INHERITED: Final[Mapping[str, bool]] = _DATA["inherited"]


def policy_of(table: str, profile: A3sProfile) -> PermissionPolicy:
    """Return the policy named *table* in a version."""
    found = _DATA["tables"][table]
    others: dict[str, tuple[str, ...]] = {}
    if not profile.one_search:
        others["search"] = ("grep", "glob")
    if not profile.has_plan_tool:
        others["update_plan"] = ()
    allow = [name for tool in found["allow"] for name in others.get(tool, (tool,))]
    default = Effect(found["default"])
    return PermissionPolicy.of(allow=allow, deny=found["deny"], default=default, profile=profile)


def kind_of(name: str) -> Mapping[str, Any] | None:
    """Return the kind of worker with that name or alias, or None."""
    kinds = _DATA["kinds"]
    aliases = (kind for kind in kinds.values() if name in kind.get("aliases", ()))
    return kinds.get(name) or next(aliases, None)


class Provider(enum.Enum):
    """Who confirms the calls of a scope: a provider of A3S."""

    NONE = "none"  # no provider is configured
    UNAVAILABLE = "unavailable"  # the provider cannot be reached
    DISABLED = "disabled"  # calls go on without confirmation
    AUTO = "auto"  # every call is approved
    MANAGER = "manager"  # a person

    @property
    def settled(self) -> Effect:
        """The effect that replaces ASK; ASK stays only if a person confirms."""
        if self is Provider.MANAGER:
            return Effect.ASK
        return Effect.ALLOW if self in (Provider.DISABLED, Provider.AUTO) else Effect.DENY


class ConfirmationInheritance(enum.Enum):
    """Who confirms the calls of a started agent."""

    AUTO_APPROVE = "auto_approve"
    DENY_ON_ASK = "deny_on_ask"
    INHERIT_PARENT = "inherit_parent"


@frozen
class ToolNames:
    """A list of tools of an agent file, as written, with its key and its places."""

    presence: Presence = Presence.ABSENT
    items: tuple[tuple[str, Span], ...] = ()
    key: str = ""
    span: Span | None = field(default=None, eq=False, repr=False)


@frozen
class AgentDefinition:
    """An agent of a file, or shipped with the host."""

    name: str
    description: str
    permissions: PermissionPolicy = PermissionPolicy()  # as the host derives them
    hidden: bool = False  # whether lists of agents leave it out
    model: str | None = None
    prompt: str = ""
    max_steps: int | None = None
    tool_free: bool = False  # whether it has no tool at all
    confirmation: ConfirmationInheritance | None = None  # if the file decides that
    kind: str = ""  # of worker
    # The permissions as written, before a list of tools replaced them.
    block: PermissionPolicy | None = field(default=None, eq=False, repr=False)
    tools: ToolNames = field(default=ToolNames(), eq=False, repr=False)
    disallowed: ToolNames = field(default=ToolNames(), eq=False, repr=False)
    span: Span | None = field(default=None, eq=False, repr=False)
    unapplied: tuple[Finding, ...] = field(default=(), eq=False, repr=False)

    @property
    def has_permissions(self) -> bool:
        """Whether its permissions count; the host ignores ask rules or a default alone."""
        return bool(self.permissions.allow or self.permissions.deny)

    @property
    def confirms(self) -> ConfirmationInheritance:
        """Who confirms its calls: as its file says, or by default."""
        approves, denies = ConfirmationInheritance.AUTO_APPROVE, ConfirmationInheritance.DENY_ON_ASK
        return self.confirmation or (approves if self.has_permissions else denies)

    def provider(self, parent: Provider) -> Provider:
        """Return who confirms the calls that its permissions ask for."""
        if self.tool_free or self.confirms is ConfirmationInheritance.DENY_ON_ASK:
            return Provider.NONE
        approves = self.confirms is ConfirmationInheritance.AUTO_APPROVE
        return Provider.AUTO if approves else parent

    @property
    def declared(self) -> tuple[RuleSet, ...]:
        """The rule sets that the file declares, which are met.

        An empty list of tools, or a value that is no list, declares that the agent has no tool. A
        list of tools leaves the deny rules of `permissions` in force.
        """
        permissions = self.permissions
        nothing = (RuleSet((), Effect.DENY, permissions.rules.dialect),)
        if self.tool_free:
            return nothing
        block = self.block
        found = [] if block is None else [block.rules]
        if permissions not in (block, PermissionPolicy(profile=permissions.profile)):
            found.append(permissions.rules)
        return (*(nothing if self.tools.presence in NO_TOOL else ()), *found)


# A list of tools that names none.
NO_TOOL: Final = frozenset({Presence.EMPTY, Presence.ILL_TYPED, Presence.NULL})


def built_in_agents(profile: A3sProfile = NEWEST) -> dict[str, AgentDefinition]:
    """Return the agents that the host ships, by name."""
    found = {}
    for name, agent in _DATA["agents"].items():
        options = {
            key: agent[key] for key in ("description", "hidden", "tool_free") if key in agent
        }
        by = ConfirmationInheritance(agent["confirmation"]) if "confirmation" in agent else None
        policy = policy_of(agent["table"], profile)
        found[name] = AgentDefinition(name, permissions=policy, confirmation=by, **options)
    return found


@frozen
class AgentRegistry:
    """The agents by name; shipped ones also by alias."""

    agents: Mapping[str, AgentDefinition]

    def find(self, name: str) -> AgentDefinition:
        """Return the agent with that name or alias, in exact case. Raises HostError for none."""
        found = self.agents.get(name) or self.agents.get(AGENT_ALIASES.get(name, ""))
        if found is None:
            known = ", ".join(f"`{known}`" for known in sorted(self.agents))
            raise refused("unknown_agent", name=name, known=known)
        return found

    def project(self, agent: AgentDefinition) -> AgentRegistry:
        """Return the registry with an agent of another system; raise HostError for an alias."""
        other = AGENT_ALIASES.get(agent.name)
        if other in self.agents:
            raise refused("alias_conflict", agent.span, name=agent.name, other=other)
        return AgentRegistry({**self.agents, agent.name: agent})


# Key of a limit of scripts -> its largest value.
LIMITS: Final = {"timeoutMs": 600_000, "maxToolCalls": 1_000, "maxOutputBytes": 16 * 1024 * 1024}


@frozen
class ScriptToolLimits:
    """The limits of a script; None is the default."""

    timeout_ms: int | None = None
    max_tool_calls: int | None = None
    max_output_bytes: int | None = None

    def effective(self, allowed: tuple[str, ...]) -> tuple[int, int, int]:
        """Return the limits in force for a script that may call *allowed*."""
        timeout = 600_000 if "task" in allowed else 30_000
        return (
            timeout if self.timeout_ms is None else self.timeout_ms,
            20 if self.max_tool_calls is None else self.max_tool_calls,
            64 * 1024 if self.max_output_bytes is None else self.max_output_bytes,
        )


@frozen
class ScriptToolSpec:
    """A tool that runs a script. Without a list the script may call what `program` may."""

    name: str
    description: str
    path: str
    allowed_tools: tuple[str, ...] | None = ()
    limits: ScriptToolLimits = ScriptToolLimits()
    span: Span | None = field(default=None, eq=False, repr=False)
    list_span: Span | None = field(default=None, eq=False, repr=False)
    spans: tuple[Span, ...] = field(default=(), eq=False, repr=False)  # of the items of the list
    unapplied: tuple[Finding, ...] = field(default=(), eq=False, repr=False)

    def effective_tools(self, profile: A3sProfile = NEWEST) -> tuple[str, ...] | None:
        """Return the listed tools that scripts may call; None if there is no list."""
        if self.allowed_tools is None:
            return None
        return tuple(name for name in self.allowed_tools if name not in excluded(profile))


def excluded(profile: A3sProfile = NEWEST) -> frozenset[str]:
    """Return the tools that no script may call, listed or not."""
    workflows = {"dynamic_workflow"} if profile.one_search else set()
    return frozenset({"program", "parallel_task", *workflows})


_PERMISSIONS: Final = ("deny", "allow", "ask", "default_decision", "enabled")


def _permissions(fields: Fields, profile: A3sProfile) -> PermissionPolicy:
    """Return the policy in a mapping; unknown keys are ignored."""
    deny, allow, ask = (_rules(fields, key, profile) for key in ("deny", "allow", "ask"))
    usual = PermissionPolicy(deny, allow, ask, profile=profile, enabled_span=fields.span("enabled"))
    return fields.values(usual, ("default_decision", "enabled"))


def _rules(fields: Fields, key: str, profile: A3sProfile) -> tuple[PermissionRule, ...]:
    rules = []
    for item in fields.sequence(key):
        node: Node | None = item
        if isinstance(item, MappingNode):
            node = item.get("rule") if [e.name for e in item.entries] == ["rule"] else None
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            rules.append(PermissionRule.of(node.value, profile, content(node)))
        else:
            message = "data did not match any variant of untagged enum: a rule is a string or"
            fields.note(f"{message} `{{rule: …}}`, found {describe(item)}", item.span)
    return tuple(rules)


# The keys of one list; the first that is present is read, even if it is empty.
_ALLOWED_KEYS: Final = ("tools", "allowedTools", "allowed_tools")
_DENIED_KEYS: Final = ("disallowedTools", "disallowed-tools", "disallowed_tools")

_FIELDS: Final = (
    *(*_ALLOWED_KEYS, *_DENIED_KEYS, "name", "description", "native", "hidden", "permissions"),
    *("model", "prompt", "max_steps", "tool_free", "confirmation_inheritance", "kind"),
)


def read_agent(source: Source, profile: A3sProfile = NEWEST) -> AgentDefinition:
    """Return the agent of a YAML or Markdown file; raise HostError if the host skips it."""
    markdown = source.name.endswith(".md")
    start, end, body = 0, len(source.text), len(source.text)
    if markdown:
        opening = source.text.find("---")
        end = source.text.find("---", opening + 3) if opening >= 0 else -1
        if end < 0:
            raise refused("no_frontmatter", source.whole(), "agent")
        start, body = opening + 3, end + 3
    at = None if source.text[start:end].strip() else source.whole()
    what = "Failed to parse {} frontmatter: " if markdown else "Failed to parse {} YAML: "
    read = partial(read_yaml, source, start, end)
    fields = Fields.read(read, "agent_parse", what.format("agent"), at=at)
    if fields.get("kind") is not None:
        worker = "worker" if markdown else "worker agent"
        fields = evolve(fields, prefix=what.format(worker))
    return _definition(fields, source.text[body:].strip(), profile)


def _definition(fields: Fields, prompt: str, profile: A3sProfile) -> AgentDefinition:
    name, description = fields.text("name"), fields.text("description")
    kind = fields.optional("kind") or ""
    preset = kind_of(kind)
    if fields.get("kind") is not None and preset is None:
        fields.note(f"unknown worker agent kind '{kind}'", fields.span("kind"))
    inner = fields.below("permissions")
    block = policy_of(preset["table"], profile) if preset else None
    if inner.node is not None:
        block = _permissions(inner, profile)
    tools, disallowed = _listed(fields, _ALLOWED_KEYS), _listed(fields, _DENIED_KEYS)
    # A list of tools replaces the permissions, and the other list adds deny rules.
    policy = block or PermissionPolicy(profile=profile)
    if tools.items:
        allow = _mapped_rules(tools, profile)
        policy = PermissionPolicy(allow=allow, default_decision=Effect.DENY, profile=profile)
    written = fields.optional_choice("confirmation_inheritance", ConfirmationInheritance)
    approves = ConfirmationInheritance.AUTO_APPROVE if tools.items or disallowed.items else None
    usual = AgentDefinition(
        name=name,
        description=description,
        permissions=evolve(policy, deny=(*policy.deny, *_mapped_rules(disallowed, profile))),
        model=_model(fields),
        prompt=fields.optional("prompt") or prompt,
        max_steps=preset["max_steps"] if preset else None,
        confirmation=written or approves,
        kind=kind,
        block=block,
        tools=tools,
        disallowed=disallowed,
        span=fields.span("name"),
        unapplied=fields.unapplied({"": Keys(_FIELDS), "permissions": Keys(_PERMISSIONS)}),
    )
    definition = fields.values(usual, ("native", "hidden", "max_steps", "tool_free"))
    fields.check()
    if not name.strip():
        raise refused("agent_name_required", fields.span("name"))
    return definition


def _model(fields: Fields) -> str | None:
    node = fields.get("model")
    if is_null(node):
        return None
    if not isinstance(node, MappingNode):
        help_ = "write `model: {provider: …, model: …}`; the host skips a file with a bare name"
        fields.note("invalid type at `model`: expected a mapping", fields.span("model"), help_)
        return None
    model = fields.below("model")
    provider = model.optional("provider")
    return f"{provider}/{model.text('model')}" if provider else model.text("model")


def _listed(fields: Fields, keys: tuple[str, ...]) -> ToolNames:
    """Return the list at the first of *keys* that is present."""
    entry = next(filter(None, map(fields.entry, keys)), None)
    if entry is None:
        return ToolNames()
    pairs: list[tuple[str, Span]] = []
    presence = Presence.EMPTY
    match entry.value:
        case ScalarNode(value=str()) as text:
            pairs = _split(text)
        case SequenceNode(items=items):
            texts = [(i.value, content(i)) for i in items if isinstance(i, ScalarNode)]
            named = ((text, at) for text, at in texts if isinstance(text, str))
            pairs = [(text.strip(), span) for text, span in named if text.strip()]
            presence = Presence.ILL_TYPED if items else presence
        case ScalarNode(value=None):
            presence = Presence.NULL
        case _:
            presence = Presence.ILL_TYPED
    presence = Presence.LISTED if pairs else presence
    return ToolNames(presence, tuple(pairs), entry.name, entry.value.span)


def _split(value: ScalarNode) -> list[tuple[str, Span]]:
    # The host splits at every comma, also between parentheses.
    found, start = [], 0
    for part in str(value.value).split(","):
        text = part.strip()
        if text:
            offset = start + len(part) - len(part.lstrip())
            found.append((text, value.part(offset, offset + len(text))))
        start += len(part) + 1
    return found


_MAPPED: Final = {
    **{name: name for name in "read write edit search ls bash task parallel_task".split()},
    "parallel-task": "parallel_task",
}


def _mapped_rules(listed: ToolNames, profile: A3sProfile) -> tuple[PermissionRule, ...]:
    """Return the rules that the host makes of the items in a list of tools."""
    rules = []
    for text, span in listed.items:
        name = _MAPPED.get(text.lower(), text)
        rule = name if name == "*" or "(" in name else f"{name}(*)"
        rules.append(PermissionRule.of(rule, profile, span))
    return tuple(rules)


@frozen
class McpTool:
    """A server of tools, which pass the same gate as all others."""

    name: str
    span: Span | None = field(default=None, eq=False, repr=False)
    unapplied: tuple[Finding, ...] = field(default=(), eq=False, repr=False)


ToolSpec = ScriptToolSpec | McpTool


@frozen
class Schedule:
    """A schedule by which the agent starts unattended."""

    name: str
    cron: str
    enabled: bool = True
    span: Span | None = field(default=None, eq=False, repr=False)
    unapplied: tuple[Finding, ...] = field(default=(), eq=False, repr=False)


def _header(source: Source, what: str, need: str) -> tuple[Fields, str, str]:
    """Return the keys of the header, the text below it, and the name of the file."""
    text = source.text
    opening = re.match(r"\s*---[\r\n]*", text)
    start = opening.end() if opening else 0
    # The first of these that the text has closes the header.
    found = [(text.find(fence, start), fence) for fence in ("\n---\n", "\n---\r\n", "\n---")]
    end, fence = next((pair for pair in found if pair[0] >= 0), (-1, ""))
    if opening is None or end < 0:
        raise refused("no_frontmatter", source.whole(), what=what, need=need)
    read, prefix = partial(read_yaml, source, start, end), f"{what} frontmatter: "
    stem = source.name.rpartition("/")[2].removesuffix(".md")
    return Fields.read(read, "bad_frontmatter", prefix), text[end + len(fence) :].strip(), stem


def _read_tool(source: Source) -> ToolSpec:
    """Return the tool of a file in ``tools/``; raise HostError with every mistake."""
    what = f"tool {source.name}"
    header, body, stem = _header(source, what, "need `kind:`")
    kind = header.text("kind")
    header.check()
    if kind == "script":
        return _script(header, f"{what} (kind=script)", stem, body)
    if kind != "mcp":
        raise refused("unknown_kind", header.span("kind"), what=what, kind=kind)
    prefix = f"{what} (kind=mcp) is not a valid MCP server config: "
    fields = evolve(header, kind="mcp_config", prefix=prefix)
    name = fields.text("name")
    if fields.get("transport") is None:
        fields.missing("transport")
    fields.check()
    return McpTool(name, fields.span("name"), fields.unapplied(_SERVER_KEYS))


_TOOL_KEYS: Final = {
    "": Keys("kind name description path allowed_tools".split()),
    "limits": Keys(LIMITS),
}


def _script(header: Fields, what: str, stem: str, body: str) -> ScriptToolSpec:
    fields = evolve(header, prefix=f"{what} frontmatter: ")
    name, path = fields.optional("name"), fields.text("path")
    description = (fields.optional("description") or "").strip()
    is_listed, is_limited = (not is_null(fields.get(key)) for key in ("allowed_tools", "limits"))
    allowed = fields.items("allowed_tools") if is_listed else ()
    limits = fields.below("limits") if is_limited else evolve(fields, node=None)
    numbers = [limits.optional_number(key) for key in LIMITS]
    fields.check()
    at = fields.span("path")
    if not path.endswith((".js", ".mjs")):
        raise refused("script_path_extension", at, what=what, path=path)
    if path.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", path):
        raise refused("script_path_absolute", at, what=what)
    if ".." in re.split(r"[/\\]", path):
        raise refused("script_path_escape", at, what=what)
    for (key, most), number in zip(LIMITS.items(), numbers, strict=True):
        if number is not None and not 1 <= number <= most:
            at = limits.span(key)
            raise refused("limit_out_of_range", at, what=what, key=key, number=number, most=most)
    return ScriptToolSpec(
        stem if name is None else name,
        description or body,
        path,
        tuple(text for text, _ in allowed),
        ScriptToolLimits(*numbers),
        span=fields.span("name" if name is not None else "path"),
        list_span=fields.span("allowed_tools") if fields.get("allowed_tools") else None,
        spans=tuple(span for _, span in allowed),
        unapplied=fields.unapplied(_TOOL_KEYS),
    )


# A server has more keys than these; a schedule may.
_SERVER_KEYS: Final = {"": Keys("kind name description transport".split(), is_open=True)}
_SCHEDULE_KEYS: Final = {"": Keys("cron name enabled".split(), is_open=True)}


def _read_schedule(source: Source) -> Schedule:
    """Return the schedule of a file in ``schedules/``; raise HostError if it has no time."""
    what = f"schedule {source.name}"
    header, _, stem = _header(source, what, "need `cron:`")
    fields = evolve(header, kind="schedule_cron_required")
    cron, name = fields.text("cron"), fields.optional("name")
    enabled = is_null(fields.get("enabled")) or fields.truth("enabled")
    fields.check()
    unapplied = fields.unapplied(_SCHEDULE_KEYS)
    return Schedule(name or stem, cron, enabled, fields.span("cron"), unapplied)


@frozen
class AgentDir:
    """An agent directory, with tools and schedules in the order of their files."""

    root: str  # relative to the tree
    instructions: str  # the prompt of the agent
    tools: tuple[ToolSpec, ...] = ()
    schedules: tuple[Schedule, ...] = ()
    acl: str | None = None  # the text of ``agent.acl``, which is not parsed
    files: tuple[str, ...] = ()  # every file that was read

    @property
    def scripts(self) -> tuple[ScriptToolSpec, ...]:
        """The tools that are scripts."""
        return tuple(tool for tool in self.tools if isinstance(tool, ScriptToolSpec))


def load_agent_dir(tree: Tree, root: str = "") -> AgentDir:
    """Return the agent directory at *root*; raise HostError for any mistake."""
    prefix = f"{root}/" if root else ""
    there = [path for path in tree.paths() if path.startswith(prefix)]
    outside = [problem.path for problem in tree.problems() if problem.path.startswith(prefix)]
    at, instructions, acl = root or ".", f"{prefix}instructions.md", f"{prefix}agent.acl"
    if not there and not outside:
        raise refused("agent_dir_not_found", file=root, root=at)
    if instructions in outside:
        raise refused("escapes_directory", None, "instructions", file=instructions, root=at)
    if instructions not in there:
        raise refused("missing_instructions", file=at, root=at, path=instructions)
    if acl in outside:
        raise refused("escapes_directory", None, "acl", file=acl)
    tool_files, schedule_files = (
        # The Markdown files directly in the folder.
        sorted(
            path for path in there if re.fullmatch(rf"{re.escape(prefix)}{name}/[^/]*\.md", path)
        )
        for name in ("tools", "schedules")
    )
    tools: dict[str, ToolSpec] = {}
    for path in tool_files:
        tool = _read_tool(tree.source(path))
        if tool.name in tools:
            raise refused("duplicate_tool_name", tool.span, file=path, name=tool.name, path=path)
        tools[tool.name] = tool
    acls = [acl] if acl in there else []
    return AgentDir(
        root,
        tree.source(instructions).text,
        tuple(tools.values()),
        tuple(_read_schedule(tree.source(path)) for path in schedule_files),
        tree.source(acl).text if acls else None,
        (instructions, *acls, *tool_files, *schedule_files),
    )


def register(
    directory: AgentDir, built_in: frozenset[str]
) -> tuple[tuple[ToolSpec, ...], tuple[ToolSpec, ...]]:
    """Return the tools that the host registers, and those with the name of a built-in one."""
    kept = tuple(tool for tool in directory.tools if tool.name not in built_in)
    return kept, tuple(tool for tool in directory.tools if tool.name in built_in)


# Programs configure sessions of A3S in code. This file of ours describes one (README.md).
SESSION_FILE: Final = "a3s.session.yaml"


@frozen
class AutoDelegation:
    """When the host starts agents by itself. None of it denies a call."""

    enabled: bool = False
    auto_parallel: bool = False
    allow_manual_delegation: bool = True  # whether the model is shown the tools that start agents
    min_confidence: float | None = None  # from 0 to 1
    max_tasks: int | None = None


@frozen
class SessionSettings:
    """The bounds of the session that starts agents."""

    profile: A3sProfile = NEWEST
    permissions: PermissionPolicy | None = None  # without them it asks for every call
    provider: Provider = Provider.MANAGER
    style: PermissionPolicy | None = None  # of its style, also a bound
    auto_delegation: AutoDelegation = AutoDelegation()
    spans: Mapping[str, Span] = field(factory=dict, eq=False, repr=False)

    def visible(self, tool: str) -> bool:
        """Return whether the model is shown *tool*; its calls may still be denied."""
        if tool in SPAWNING and not self.auto_delegation.allow_manual_delegation:
            return False
        return all(p.visible(tool) for p in (self.permissions, self.style) if p is not None)


def read_session(source: Source) -> SessionSettings:
    """Return the settings in *source*; raise HostError with every wrong key and value."""
    # Unknown keys are refused, since a misspelt one would be a missing rule.
    fields = Fields.read(partial(read_yaml, source), "policy_parse", at=source.whole())
    fields.known("version", "permissions", "confirmation", "style", "auto_delegation")
    quoted = 'write the version in quotes, as in `version: "9.0"`'
    profile = fields.version("version", NEWEST, quoted)
    inner, switches = fields.below("permissions"), fields.below("auto_delegation")
    inner.known(*_PERMISSIONS)
    switches.known(*attributes(AutoDelegation))
    permissions = _permissions(inner, profile) if inner.node else None
    provider = fields.optional_choice("confirmation", Provider) or Provider.MANAGER
    table = fields.optional_word("style", _DATA["styles"])
    style = policy_of(table, profile) if table and profile.has_styles else None
    delegation = switches.values(AutoDelegation())
    fields.check()
    return SessionSettings(profile, permissions, provider, style, delegation, fields.spans)
