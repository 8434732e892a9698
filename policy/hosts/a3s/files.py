"""The files of A3S: agents, agent directories, and sessions."""

from __future__ import annotations

import enum
from functools import partial
from typing import Final

import attrs

from policy.core import expressions as re
from policy.core.effect import Effect
from policy.core.source import Source, Span
from policy.files.nodes import MappingNode, Node, ScalarNode, SequenceNode, describe, plain
from policy.files.opening import Tree
from policy.files.yaml_nodes import read_yaml
from policy.hosts.a3s.definitions import (
    LIMITS,
    AgentDefinition,
    ConfirmationInheritance,
    ScriptToolLimits,
    ScriptToolSpec,
    ToolNames,
    kind_of,
    policy_of,
)
from policy.hosts.a3s.gate import Provider
from policy.hosts.a3s.rules import PermissionPolicy, PermissionRule
from policy.hosts.a3s.versions import NEWEST, SPAWNING, A3sErrorKind, A3sProfile
from policy.hosts.errors import HostError
from policy.hosts.fields import Fields, is_null
from policy.hosts.keys import Keys, Unapplied
from policy.language.syntax import Presence

__all__ = [
    "ALLOWED_KEYS",
    "DENIED_KEYS",
    "SESSION_FILE",
    "AgentDir",
    "AutoDelegation",
    "McpTool",
    "Schedule",
    "SessionSettings",
    "ToolSpec",
    "check_path",
    "header_of",
    "load_agent_dir",
    "mapped",
    "permissions",
    "read_agent",
    "read_schedule",
    "read_session",
    "read_tool",
    "register",
]


_PERMISSIONS: Final = ("deny", "allow", "ask", "default_decision", "enabled")


def permissions(fields: Fields, profile: A3sProfile) -> PermissionPolicy:
    """Return the policy in a mapping; unknown keys are ignored."""
    deny, allow, ask = (_rules(fields, key, profile) for key in ("deny", "allow", "ask"))
    default = fields.choice("default_decision", Effect.ASK)
    enabled = fields.truth("enabled", default=True)
    switch = None if enabled else fields.span("enabled")
    return PermissionPolicy(deny, allow, ask, default, enabled, profile, switch)


def _rules(fields: Fields, key: str, profile: A3sProfile) -> tuple[PermissionRule, ...]:
    rules = []
    for item in fields.sequence(key):
        node: Node | None = item
        if isinstance(item, MappingNode):
            node = item.get("rule") if [e.name for e in item.entries] == ["rule"] else None
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            span = node.content_span() or node.span
            rules.append(PermissionRule.of(node.value, profile, span))
            continue
        fields.note(
            "data did not match any variant of untagged enum: a rule is a string"
            f" or `{{rule: …}}`, found {describe(item)}",
            item.span,
        )
    return tuple(rules)


# --- agent files: YAML, or Markdown with a header between the first two `---` in the text


# The keys of one list; the first that is present is read, even if it is empty.
ALLOWED_KEYS: Final = ("tools", "allowedTools", "allowed_tools")
DENIED_KEYS: Final = ("disallowedTools", "disallowed-tools", "disallowed_tools")

_FIELDS: Final = frozenset(
    (
        *ALLOWED_KEYS,
        *DENIED_KEYS,
        *("name", "description", "native", "hidden", "permissions", "model", "prompt"),
        *("max_steps", "tool_free", "confirmation_inheritance", "kind"),
    )
)

_FENCE: Final = "---"


def header_of(source: Source) -> tuple[int, int, int]:
    """Return the offsets at which the header starts and ends and the body starts.

    Raises:
        HostError: the text has less than two fences.

    """
    opening = source.text.find(_FENCE)
    closing = source.text.find(_FENCE, opening + len(_FENCE)) if opening >= 0 else -1
    if closing < 0:
        raise HostError(
            A3sErrorKind.NO_FRONT_MATTER,
            "Invalid markdown format: missing YAML frontmatter",
            source.whole(),
            help="start the file with `---`, the keys, and `---` again",
        )
    return opening + len(_FENCE), closing, closing + len(_FENCE)


def read_agent(
    source: Source, profile: A3sProfile = NEWEST, *, markdown: bool | None = None
) -> AgentDefinition:
    """Return the agent that *source* defines.

    Args:
        source: the text; the end of its name tells YAML from Markdown.
        profile: the version that reads it.
        markdown: whether it is Markdown, if the name does not tell.

    Raises:
        HostError: every mistake for which the host skips the file.

    """
    if markdown is None:
        markdown = source.name.endswith(".md")
    start, end, body = header_of(source) if markdown else (0, len(source.text), None)
    what = "agent frontmatter" if markdown else "agent YAML"
    prefix = f"Failed to parse {what}: "
    at = None if source.text[start:end].strip() else source.whole()
    fields = Fields.read(
        partial(read_yaml, source, start, end), A3sErrorKind.AGENT_PARSE, prefix, at=at
    )
    if fields.get("kind") is not None:
        what = "worker frontmatter" if markdown else "worker agent YAML"
        fields = attrs.evolve(fields, prefix=f"Failed to parse {what}: ")
    prompt = "" if body is None else source.text[body:].strip()
    return _definition(fields, prompt, profile)


def _definition(fields: Fields, prompt: str, profile: A3sProfile) -> AgentDefinition:
    name, description = fields.text("name"), fields.text("description")
    kind = fields.optional("kind") or ""
    preset = kind_of(kind)
    if fields.get("kind") is not None and preset is None:
        fields.note(f"unknown worker agent kind '{kind}'", fields.span("kind"))
    inner = fields.below("permissions")
    block = None if inner.node is None else permissions(inner, profile)
    base = PermissionPolicy(profile=profile)
    if block is not None:
        base = block
    elif preset is not None:
        base = policy_of(preset.table, profile)
    tools, disallowed = _listed(fields, ALLOWED_KEYS), _listed(fields, DENIED_KEYS)
    written = fields.optional_choice("confirmation_inheritance", ConfirmationInheritance)
    confirmation = written
    if written is None and (tools.items or disallowed.items):
        confirmation = ConfirmationInheritance.AUTO_APPROVE
    max_steps = fields.optional_number("max_steps")
    definition = AgentDefinition(
        name=name,
        description=description,
        permissions=_with_lists(base, tools, disallowed, profile),
        native=fields.truth("native"),
        hidden=fields.truth("hidden"),
        model=_model(fields),
        prompt=fields.optional("prompt") or prompt,
        max_steps=preset.max_steps if preset and max_steps is None else max_steps,
        tool_free=fields.truth("tool_free"),
        confirmation=confirmation,
        kind=kind,
        has_confirmation_key=written is not None,
        kind_span=fields.span("kind") if kind else None,
        block=block if block is not None or preset is None else base,
        tools=tools,
        disallowed=disallowed,
        span=fields.span("name"),
        unknown=(*fields.unknown(*_FIELDS), *inner.unknown(*_PERMISSIONS)),
        second=tuple(_second(fields)),
    )
    fields.check()
    if not name.strip():
        raise HostError(A3sErrorKind.NAME_REQUIRED, "Agent name is required", fields.span("name"))
    return definition


def _model(fields: Fields) -> str | None:
    node = fields.get("model")
    if is_null(node):
        return None
    if not isinstance(node, MappingNode):
        fields.note(
            "invalid type at `model`: expected a mapping",
            fields.span("model"),
            "write `model: {provider: …, model: …}`; the host skips a file with a bare name",
        )
        return None
    model = fields.below("model")
    provider = model.optional("provider")
    return f"{provider}/{model.text('model')}" if provider else model.text("model")


def _listed(fields: Fields, keys: tuple[str, ...]) -> ToolNames:
    for key in keys:
        entry = fields.entry(key)
        if entry is not None:
            return _list(entry.value, key)
    return ToolNames()


def _second(fields: Fields) -> list[tuple[str, Span]]:
    found = []
    for keys in (ALLOWED_KEYS, DENIED_KEYS):
        there = [entry for key in keys if (entry := fields.entry(key)) is not None]
        found += [(entry.name, entry.key.span) for entry in there[1:]]
    return found


def _list(value: Node, key: str) -> ToolNames:
    pairs: list[tuple[str, Span]] = []
    dropped: list[Span] = []
    presence = Presence.EMPTY
    match value:
        case ScalarNode(value=str()):
            pairs = _split(value)
        case SequenceNode(items=items):
            for item in items:
                if isinstance(item, ScalarNode) and isinstance(item.value, str):
                    pairs.append((item.value.strip(), item.content_span() or item.span))
                else:
                    dropped.append(item.span)
            pairs = [pair for pair in pairs if pair[0]]
            if items and not pairs:
                presence, dropped = Presence.ILL_TYPED, []
        case ScalarNode(value=None):
            presence = Presence.NULL
        case _:
            presence = Presence.ILL_TYPED
    texts, spans = tuple(text for text, _ in pairs), tuple(span for _, span in pairs)
    presence = Presence.LISTED if pairs else presence
    return ToolNames(presence, texts, spans, key, value.span, tuple(dropped))


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


def mapped(text: str) -> str:
    """Return the rule that the host makes of an item in a list of tools."""
    if text.lower() in _MAPPED:
        return f"{_MAPPED[text.lower()]}(*)"
    if text == "*" or "(" in text:
        return text
    return f"{text}(*)"


def _with_lists(
    base: PermissionPolicy, tools: ToolNames, disallowed: ToolNames, profile: A3sProfile
) -> PermissionPolicy:
    """Return *base* changed by the lists: *tools* replaces it, *disallowed* adds deny rules."""
    if tools.items:
        base = PermissionPolicy(
            allow=_mapped_rules(tools, profile), default_decision=Effect.DENY, profile=profile
        )
    if not disallowed.items:
        return base
    return attrs.evolve(base, deny=(*base.deny, *_mapped_rules(disallowed, profile)))


def _mapped_rules(listed: ToolNames, profile: A3sProfile) -> tuple[PermissionRule, ...]:
    pairs = zip(listed.items, listed.spans, strict=True)
    return tuple(PermissionRule.of(mapped(text), profile, span) for text, span in pairs)


# --- tools and schedules of an agent directory: Markdown files with a header ----------


@attrs.frozen
class McpTool:
    """A server of tools, whose tools are bound like all others."""

    name: str
    transport: object = attrs.field(hash=False)
    span: Span | None = attrs.field(default=None, eq=False, repr=False)
    unapplied: tuple[Unapplied, ...] = attrs.field(default=(), eq=False, repr=False)


ToolSpec = ScriptToolSpec | McpTool


@attrs.frozen
class Schedule:
    """A time at which the agent starts unattended."""

    name: str
    cron: str
    enabled: bool = True
    span: Span | None = attrs.field(default=None, eq=False, repr=False)
    unapplied: tuple[Unapplied, ...] = attrs.field(default=(), eq=False, repr=False)


# --- headers --------------------------------------------------------------------------

_OPENING: Final = re.compile(r"\s*---[\r\n]*")
# Tried in this order on the whole text; the first that is found closes the header.
_CLOSING: Final = ("\n---\n", "\n---\r\n", "\n---")


def _header(source: Source, what: str, need: str) -> tuple[Fields, str]:
    """Return the keys of the header and the text below it."""
    text = source.text
    opening = _OPENING.match(text)
    start = opening.end() if opening else 0
    found = [(text.find(fence, start), fence) for fence in _CLOSING]
    end, fence = next((pair for pair in found if pair[0] >= 0), (-1, ""))
    if opening is None or end < 0:
        msg = f"{what} has no YAML frontmatter ({need})"
        help_ = "start the file with `---`, the keys, and `---` on a line of its own"
        raise HostError(A3sErrorKind.NO_FRONT_MATTER, msg, source.whole(), help=help_)
    read = partial(read_yaml, source, start, end)
    fields = Fields.read(read, A3sErrorKind.BAD_FRONT_MATTER, f"{what} frontmatter: ")
    return fields, text[end + len(fence) :].strip()


def _stem(source: Source) -> str:
    return source.name.rpartition("/")[2].removesuffix(".md")


# --- tools ----------------------------------------------------------------------------


def read_tool(source: Source) -> ToolSpec:
    """Return the tool that a file of ``tools/`` defines.

    Raises:
        HostError: every mistake in it.

    """
    what = f"tool {source.name}"
    header, body = _header(source, what, "need `kind:`")
    kind = header.text("kind")
    header.check()
    match kind:
        case "script":
            prefix = f"{what} (kind=script)"
            fields = attrs.evolve(header, prefix=f"{prefix} frontmatter: ")
            return _script(fields, prefix, _stem(source), body)
        case "mcp":
            prefix = f"{what} (kind=mcp) is not a valid MCP server config: "
            return _mcp(attrs.evolve(header, kind=A3sErrorKind.MCP_CONFIG, prefix=prefix))
        case _:
            msg = f"{what} has unsupported kind `{kind}` (supported: `mcp`, `script`)"
            raise HostError(A3sErrorKind.UNKNOWN_KIND, msg, header.span("kind"))


_TOOL_KEYS: Final = ("kind", "name", "description", "path", "allowed_tools", "limits")


def _script(fields: Fields, what: str, stem: str, body: str) -> ScriptToolSpec:
    name, path = fields.optional("name"), fields.text("path")
    description = (fields.optional("description") or "").strip()
    is_listed = not is_null(fields.get("allowed_tools"))
    allowed = fields.items("allowed_tools") if is_listed else ()
    limits = attrs.evolve(fields, node=None)
    if not is_null(fields.get("limits")):
        limits = fields.below("limits")
    numbers = [limits.optional_number(limit.key) for limit in LIMITS]
    fields.check()
    check_path(path, what, fields.span("path"))
    for limit, number in zip(LIMITS, numbers, strict=True):
        if number is not None and not 1 <= number <= limit.largest:
            msg = f"{what}: limit {limit.key}={number} is out of range [1, {limit.largest}]"
            raise HostError(A3sErrorKind.LIMIT, msg, limits.span(limit.key))
    return ScriptToolSpec(
        stem if name is None else name,
        description or body,
        path,
        tuple(text for text, _ in allowed),
        ScriptToolLimits(*numbers),
        omitted=not is_listed,
        span=fields.span("name" if name is not None else "path"),
        list_span=fields.span("allowed_tools") if fields.get("allowed_tools") else None,
        spans=tuple(span for _, span in allowed),
        unknown=fields.unknown(*_TOOL_KEYS),
        unknown_limits=limits.unknown(*(limit.key for limit in LIMITS)),
    )


def _mcp(fields: Fields) -> McpTool:
    name, transport = fields.text("name"), fields.get("transport")
    if transport is None:
        fields.missing("transport")
    fields.check()
    unapplied = fields.unapplied(_SERVER_KEYS)
    return McpTool(name, transport and repr(plain(transport)), fields.span("name"), unapplied)


# A server has more keys than these; a schedule may.
_SERVER_KEYS: Final = {"": Keys("kind name description transport".split(), is_open=True)}
_SCHEDULE_KEYS: Final = {"": Keys("cron name enabled".split(), is_open=True)}


def check_path(path: str, what: str, span: Span | None = None) -> None:
    """Refuse a path that cannot be the source of a script.

    Raises:
        HostError: it has another suffix, is absolute, or contains `..`.

    """
    if not path.endswith((".js", ".mjs")):
        msg = f"{what} path `{path}` must point to a .js or .mjs file"
        raise HostError(A3sErrorKind.SCRIPT_PATH_EXTENSION, msg, span)
    if path.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", path):
        msg = f"{what}: script path must be relative to the workspace"
        raise HostError(A3sErrorKind.SCRIPT_PATH_ABSOLUTE, msg, span)
    if ".." in re.split(r"[/\\]", path):
        msg = f"{what}: script path must not contain parent directory traversal"
        raise HostError(A3sErrorKind.SCRIPT_PATH_ESCAPE, msg, span)


# --- schedules ------------------------------------------------------------------------


def read_schedule(source: Source) -> Schedule:
    """Return the schedule that a file of ``schedules/`` defines.

    Raises:
        HostError: it has no header, or the header has no time.

    """
    what = f"schedule {source.name}"
    header, _ = _header(source, what, "need `cron:`")
    fields = attrs.evolve(header, kind=A3sErrorKind.SCHEDULE)
    cron, name = fields.text("cron"), fields.optional("name")
    enabled = is_null(fields.get("enabled")) or fields.truth("enabled")
    fields.check()
    stem = _stem(source)
    unapplied = fields.unapplied(_SCHEDULE_KEYS)
    return Schedule(stem if name is None else name, cron, enabled, fields.span("cron"), unapplied)


# --- agent directories: one mistake refuses the whole directory -----------------------


@attrs.frozen
class AgentDir:
    """One directory.

    Attributes:
        root: the folder, relative to the tree.
        instructions: the prompt of the agent.
        tools: in the order of their files.
        schedules: in the order of their files.
        acl: the text of ``agent.acl``, which is not parsed.
        skipped: files of tools that lead out of the folder by a link.
        files: every file that was read.

    """

    root: str
    instructions: str
    tools: tuple[ToolSpec, ...] = ()
    schedules: tuple[Schedule, ...] = ()
    acl: str | None = None
    skipped: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def scripts(self) -> tuple[ScriptToolSpec, ...]:
        """The tools that are scripts."""
        return tuple(tool for tool in self.tools if isinstance(tool, ScriptToolSpec))


def load_agent_dir(tree: Tree, root: str = "") -> AgentDir:
    """Return the agent directory at *root*.

    Raises:
        HostError: the first file with a mistake; then nothing of the directory is in force.

    """
    prefix = f"{root}/" if root else ""
    there = [path for path in tree.paths() if path.startswith(prefix)]
    outside = {p.path: p.message for p in tree.problems() if p.path.startswith(prefix)}
    if not there and not outside:
        msg = f"agent directory not found: {root or '.'}"
        raise HostError(A3sErrorKind.NO_DIRECTORY, msg, file=root)
    instructions = f"{prefix}instructions.md"
    if instructions in outside:
        where = "a regular file inside the agent directory"
        msg = f"agent dir {root or '.'} instructions.md must be {where}"
        raise HostError(A3sErrorKind.ESCAPES, msg, file=instructions)
    if instructions not in there:
        msg = f"agent dir {root or '.'} is missing required instructions.md: {instructions}"
        raise HostError(A3sErrorKind.NO_INSTRUCTIONS, msg, file=root or ".")
    acl = f"{prefix}agent.acl"
    if acl in outside:
        msg = "agent.acl must stay inside the agent directory"
        raise HostError(A3sErrorKind.ESCAPES, msg, file=acl)
    tool_files, schedule_files = (
        _direct(there, prefix + name) for name in ("tools/", "schedules/")
    )
    tools: dict[str, ToolSpec] = {}
    for path in tool_files:
        tool = read_tool(tree.source(path))
        if tool.name in tools:
            msg = f"duplicate tool name `{tool.name}` in {path}"
            raise HostError(A3sErrorKind.DUPLICATE_TOOL, msg, tool.span, file=path)
        tools[tool.name] = tool
    acls = [acl] if acl in there else []
    return AgentDir(
        root,
        tree.source(instructions).text,
        tuple(tools.values()),
        tuple(read_schedule(tree.source(path)) for path in schedule_files),
        tree.source(acl).text if acls else None,
        tuple(path for path in outside if path.startswith(f"{prefix}tools/")),
        (instructions, *acls, *tool_files, *schedule_files),
    )


def _direct(paths: list[str], folder: str) -> list[str]:
    """Return the Markdown files directly in *folder*, sorted."""
    inside = [path for path in paths if path.startswith(folder) and path.endswith(".md")]
    return sorted(path for path in inside if "/" not in path[len(folder) :])


def register(
    directory: AgentDir, built_in: frozenset[str]
) -> tuple[tuple[ToolSpec, ...], tuple[ToolSpec, ...]]:
    """Return the tools that the host registers, and those with the name of a tool of its own."""
    kept = tuple(tool for tool in directory.tools if tool.name not in built_in)
    return kept, tuple(tool for tool in directory.tools if tool.name in built_in)


# --- `a3s.session.yaml` ---------------------------------------------------------------
#
# A3S has no such file: programs configure their sessions in code. What an agent may do depends
# on the session, so this file describes it (see `README.md` beside this module). Unknown keys
# are refused, since a misspelt key would be a missing rule.


SESSION_FILE: Final = "a3s.session.yaml"

_SESSION: Final = ("version", "permissions", "confirmation", "style", "auto_delegation")


class Style(enum.Enum):
    """How a session works; some styles bound what it may do."""

    EXPLORE = "explore"
    PLAN = "plan"
    VERIFICATION = "verification"
    CODE_REVIEW = "code-review"
    GENERAL_PURPOSE = "general-purpose"


# Style -> the table of permissions that bounds it.
_STYLE_TABLES: Final = {
    Style.EXPLORE: "explore",
    Style.PLAN: "plan",
    Style.VERIFICATION: "verification",
    Style.CODE_REVIEW: "verification",
}


@attrs.frozen
class AutoDelegation:
    """When the host starts agents by itself. None of it denies a call.

    Attributes:
        enabled: whether it starts agents by itself.
        auto_parallel: whether it starts several at a time.
        allow_manual_delegation: whether the model is shown the tools that start agents.
        min_confidence: the least confidence to start one, from 0 to 1, or None.
        max_tasks: the limit of agents, or None.

    """

    enabled: bool = False
    auto_parallel: bool = False
    allow_manual_delegation: bool = True
    min_confidence: float | None = None
    max_tasks: int | None = None


@attrs.frozen(slots=False)
class SessionSettings:
    """What bounds the session that starts agents.

    Attributes:
        profile: the version.
        permissions: its permissions; None if it has none, which asks for every call.
        provider: who confirms its calls.
        style: the policy of its style, which also bounds it, or None.
        auto_delegation: when the host starts agents by itself.
        span: where the permissions are written.
        confirmation_span: where the provider is written.
        hiding_span: where `allow_manual_delegation` is written.

    """

    profile: A3sProfile = NEWEST
    permissions: PermissionPolicy | None = None
    provider: Provider = Provider.MANAGER
    style: PermissionPolicy | None = None
    auto_delegation: AutoDelegation = AutoDelegation()
    span: Span | None = attrs.field(default=None, eq=False, repr=False)
    confirmation_span: Span | None = attrs.field(default=None, eq=False, repr=False)
    hiding_span: Span | None = attrs.field(default=None, eq=False, repr=False)

    def visible(self, tool: str) -> bool:
        """Return whether the model is shown *tool*, which does not mean that calls are allowed."""
        if tool in SPAWNING and not self.auto_delegation.allow_manual_delegation:
            return False
        return all(p.visible(tool) for p in (self.permissions, self.style) if p is not None)


def read_session(source: Source) -> SessionSettings:
    """Return the settings in *source*.

    Raises:
        HostError: every unknown key, and every value of a wrong type.

    """
    kind = A3sErrorKind.POLICY_PARSE
    fields = Fields.read(partial(read_yaml, source), kind, at=source.whole())
    fields.known(*_SESSION)
    profile = fields.version("version", NEWEST, _QUOTED)
    inner, switches = fields.below("permissions"), fields.below("auto_delegation")
    inner.known(*_PERMISSIONS)
    switches.known(*(field.name for field in attrs.fields(AutoDelegation)))
    settings = SessionSettings(
        profile,
        permissions(inner, profile) if inner.node else None,
        fields.optional_choice("confirmation", Provider) or Provider.MANAGER,
        _style(fields, profile),
        AutoDelegation(
            switches.truth("enabled"),
            switches.truth("auto_parallel"),
            switches.truth("allow_manual_delegation", default=True),
            _confidence(switches),
            switches.optional_number("max_tasks"),
        ),
        span=inner.node.span if inner.node else None,
        confirmation_span=fields.span("confirmation"),
        hiding_span=switches.span("allow_manual_delegation"),
    )
    fields.check()
    return settings


def _confidence(fields: Fields) -> float | None:
    node = fields.get("min_confidence")
    if node is None:
        return None
    value = node.value if isinstance(node, ScalarNode) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        fields.wrong("min_confidence", "a number from 0 to 1", node)
        return None
    return float(value)


_QUOTED: Final = 'write the version in quotes, as in `version: "9.0"`'


def _style(fields: Fields, profile: A3sProfile) -> PermissionPolicy | None:
    style = fields.optional_choice("style", Style)
    table = _STYLE_TABLES.get(style, "") if style else ""
    return policy_of(table, profile) if table and profile.has_styles else None
