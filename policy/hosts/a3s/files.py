"""The files of A3S: agents, agent directories, and sessions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NoReturn, TypeVar

import attrs

from policy.core.effect import Effect
from policy.core.errors import PolicyError, PolicyErrors
from policy.core.source import Source, Span
from policy.files.nodes import MappingNode, Node, ScalarNode, SequenceNode, describe, plain
from policy.files.opening import Tree
from policy.files.yaml_nodes import read_yaml
from policy.hosts.a3s.definitions import (
    AgentDefinition,
    ConfirmationInheritance,
    ToolNames,
    kind_of,
    policy_of,
)
from policy.hosts.a3s.gate import Provider
from policy.hosts.a3s.rules import PermissionPolicy, PermissionRule
from policy.hosts.a3s.scripts import LIMITS, ScriptToolLimits, ScriptToolSpec
from policy.hosts.a3s.versions import (
    NEWEST,
    SPAWNING,
    A3sError,
    A3sErrorKind,
    A3sErrors,
    A3sProfile,
)
from policy.hosts.keys import Keys, Unapplied, unapplied_keys
from policy.language.syntax import Presence

__all__ = [
    "ALLOWED_KEYS",
    "DENIED_KEYS",
    "SESSION_FILE",
    "A3sFields",
    "AgentDir",
    "AutoDelegation",
    "McpTool",
    "Schedule",
    "SessionSettings",
    "ToolSpec",
    "check_path",
    "first_of",
    "header_of",
    "is_null",
    "load_agent_dir",
    "mapped",
    "permissions",
    "read_agent",
    "read_schedule",
    "read_session",
    "read_tool",
    "register",
    "unknown_permissions",
]


def is_null(node: Node | None) -> bool:
    """Return whether a value is absent, or null."""
    return node is None or (isinstance(node, ScalarNode) and node.value is None)


@attrs.frozen
class A3sFields:
    """The keys of a mapping, with what the host says of a value that is wrong.

    Attributes:
        node: the mapping.
        kind: of every error.
        prefix: what stands before the text of every error.

    """

    node: MappingNode
    kind: A3sErrorKind
    prefix: str

    def fail(self, message: str, span: Span | None = None, *, help: str = "") -> NoReturn:
        """Refuse the document."""
        raise A3sError(self.kind, f"{self.prefix}{message}", span or self.node.span, help=help)

    def text(self, key: str) -> str:
        """Return the text at *key*, which must be there."""
        value = self.optional_text(key)
        if value is None:
            self.fail(f"missing field `{key}`")
        return value

    def optional_text(self, key: str) -> str | None:
        """Return the text at *key*, or None where there is none."""
        node = self.node.get(key)
        if node is None or is_null(node):
            return None
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            return node.value
        raise self._wrong(key, "a string", node)

    def truth(self, key: str) -> bool:
        """Return the truth value at *key*, which is false where there is none."""
        node = self.node.get(key)
        if node is None:
            return False
        if isinstance(node, ScalarNode) and isinstance(node.value, bool):
            return node.value
        raise self._wrong(key, "a boolean", node)

    def count(self, key: str) -> int | None:
        """Return the number at *key*, which is not negative, or None."""
        node = self.node.get(key)
        if node is None or is_null(node):
            return None
        if isinstance(node, ScalarNode) and type(node.value) is int and node.value >= 0:
            return node.value
        raise self._wrong(key, "a number that is not negative", node)

    def mapping(self, key: str) -> A3sFields | None:
        """Return the keys of the mapping at *key*, or None where there is none."""
        node = self.node.get(key)
        if node is None:
            return None
        if isinstance(node, MappingNode):
            return A3sFields(node, self.kind, self.prefix)
        raise self._wrong(key, "a mapping", node)

    def sequence(self, key: str) -> tuple[Node, ...]:
        """Return the items of the list at *key*, of which there are none where it is absent."""
        node = self.node.get(key)
        if node is None:
            return ()
        if isinstance(node, SequenceNode):
            return node.items
        raise self._wrong(key, "a list", node)

    def texts(self, key: str) -> tuple[tuple[str, Span], ...]:
        """Return the texts of the list at *key*, each with its place; none where it is absent."""
        if is_null(self.node.get(key)):
            return ()
        found = []
        for item in self.sequence(key):
            if not isinstance(item, ScalarNode) or not isinstance(item.value, str):
                self.fail(f"expected a string in `{key}`, found {describe(item)}", item.span)
            found.append((item.value, item.content_span() or item.span))
        return tuple(found)

    def span(self, key: str) -> Span:
        """Return where the value of *key* is written, or the mapping where it is absent."""
        found = self.node.get(key)
        return found.span if found else self.node.span

    def _wrong(self, key: str, wanted: str, node: Node) -> A3sError:
        text = f"invalid type at `{key}`: expected {wanted}, found {describe(node)}"
        return A3sError(self.kind, f"{self.prefix}{text}", node.span)


_KEYS: Final = frozenset({"deny", "allow", "ask", "default_decision", "enabled"})


def permissions(fields: A3sFields, profile: A3sProfile) -> PermissionPolicy:
    """Return the policy that a mapping is; keys that are not known mean nothing.

    Raises:
        A3sError: a list, a rule or the default is none; all that are wrong are told.

    """
    mistakes: list[A3sError] = []
    lists = [_rules(fields, key, profile, mistakes) for key in ("deny", "allow", "ask")]
    default, enabled = Effect.ASK, True
    try:
        default = _default(fields)
        enabled = fields.node.get("enabled") is None or fields.truth("enabled")
    except A3sError as error:
        mistakes.append(error)
    if mistakes:
        raise A3sErrors(mistakes) if mistakes[1:] else mistakes[0]
    deny, allow, ask = lists
    switch = None if enabled else fields.span("enabled")
    return PermissionPolicy(deny, allow, ask, default, enabled, profile, switch)


def unknown_permissions(fields: A3sFields) -> tuple[tuple[str, Span], ...]:
    """Return the keys that mean nothing in a policy, each with its place."""
    return tuple((e.name, e.key.span) for e in fields.node.entries if e.name not in _KEYS)


def _default(fields: A3sFields) -> Effect:
    if fields.node.get("default_decision") is None:
        return Effect.ASK
    said = fields.text("default_decision")
    effects = {effect.value: effect for effect in Effect}
    if said not in effects:
        fields.fail(
            f"unknown variant `{said}`, expected `allow`, `deny` or `ask`",
            fields.span("default_decision"),
            help=f"did you mean `{said.lower()}`?" if said.lower() in effects else "",
        )
    return effects[said]


def _rules(
    fields: A3sFields, key: str, profile: A3sProfile, mistakes: list[A3sError]
) -> tuple[PermissionRule, ...]:
    rules = []
    try:
        items = fields.sequence(key)
    except A3sError as error:
        mistakes.append(error)
        return ()
    for item in items:
        node: Node | None = item
        if isinstance(item, MappingNode):
            node = item.get("rule") if [e.name for e in item.entries] == ["rule"] else None
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            span = node.content_span() or node.span
            rules.append(PermissionRule.of(node.value, profile, span))
            continue
        msg = (
            f"{fields.prefix}data did not match any variant of untagged enum: a rule is a string"
            f" or `{{rule: …}}`, found {describe(item)}"
        )
        mistakes.append(A3sError(fields.kind, msg, item.span))
    return tuple(rules)


def first_of(error: PolicyError, kind: A3sErrorKind, prefix: str) -> A3sError:
    """Return the first mistake of a document as the host would report it, in its words."""
    one = error.errors[0] if isinstance(error, PolicyErrors) else error
    return A3sError(kind, f"{prefix}{one.message}", one.span, help=one.help)


# Agent files: YAML, or Markdown with a header, as the host reads them.
#
# The header of a Markdown file is what lies between the first and the second
# ``---``, wherever in the text they stand.


# Names of one list; the first of them that is there counts, empty or not.
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
    """Return where the header starts and ends, and where the body starts.

    Raises:
        A3sError: there are not two fences.

    """
    opening = source.text.find(_FENCE)
    closing = source.text.find(_FENCE, opening + len(_FENCE)) if opening >= 0 else -1
    if closing < 0:
        raise A3sError(
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
        source: the text; its name says what it is written in.
        profile: the version that reads it.
        markdown: whether it is Markdown, where the name does not say so.

    Raises:
        A3sError: the host would skip the file, for this reason.

    """
    if markdown is None:
        markdown = source.name.endswith(".md")
    start, end, body = header_of(source) if markdown else (0, len(source.text), None)
    what = "agent frontmatter" if markdown else "agent YAML"
    try:
        node = read_yaml(source, start, end)
    except PolicyError as error:
        raise first_of(error, A3sErrorKind.AGENT_PARSE, f"Failed to parse {what}: ") from None
    if not isinstance(node, MappingNode):
        msg = f"Failed to parse {what}: expected keys and values, found {describe(node)}"
        raise A3sError(
            A3sErrorKind.AGENT_PARSE, msg, node.span if node.span.text else source.whole()
        )
    if node.get("kind") is not None:
        what = "worker frontmatter" if markdown else "worker agent YAML"
    prompt = "" if body is None else source.text[body:].strip()
    fields = A3sFields(node, A3sErrorKind.AGENT_PARSE, f"Failed to parse {what}: ")
    return _definition(fields, prompt, profile)


def _definition(fields: A3sFields, prompt: str, profile: A3sProfile) -> AgentDefinition:
    name, description = fields.text("name"), fields.text("description")
    span = fields.span("name")
    kind = fields.optional_text("kind") or ""
    preset = kind_of(kind)
    if fields.node.get("kind") is not None and preset is None:
        fields.fail(f"unknown worker agent kind '{kind}'", fields.span("kind"))
    inner = fields.mapping("permissions")
    block = None if inner is None else permissions(inner, profile)
    base = PermissionPolicy(profile=profile)
    if block is not None:
        base = block
    elif preset is not None:
        base = policy_of(preset.table, profile)
    tools, disallowed = _listed(fields.node, ALLOWED_KEYS), _listed(fields.node, DENIED_KEYS)
    confirmation = _confirmation(fields)
    said = confirmation is not None
    if confirmation is None and (tools.items or disallowed.items):
        confirmation = ConfirmationInheritance.AUTO_APPROVE
    max_steps = fields.count("max_steps")
    definition = AgentDefinition(
        name=name,
        description=description,
        permissions=_with_lists(base, tools, disallowed, profile),
        native=fields.truth("native"),
        hidden=fields.truth("hidden"),
        model=_model(fields),
        prompt=fields.optional_text("prompt") or prompt,
        max_steps=preset.max_steps if preset and max_steps is None else max_steps,
        tool_free=fields.truth("tool_free"),
        confirmation=confirmation,
        kind=kind,
        confirmation_said=said,
        kind_span=fields.span("kind") if kind else None,
        block=block if block is not None or preset is None else base,
        tools=tools,
        disallowed=disallowed,
        span=span,
        unknown=(
            *((e.name, e.key.span) for e in fields.node.entries if e.name not in _FIELDS),
            *(unknown_permissions(inner) if inner else ()),
        ),
        second=tuple(_second(fields.node)),
    )
    if not name.strip():
        raise A3sError(A3sErrorKind.NAME_REQUIRED, "Agent name is required", span)
    return definition


def _model(fields: A3sFields) -> str | None:
    if is_null(fields.node.get("model")):
        return None
    if not isinstance(fields.node.get("model"), MappingNode):
        fields.fail(
            "invalid type at `model`: expected a mapping",
            fields.span("model"),
            help="write `model: {provider: …, model: …}`; the host skips a file with a bare name",
        )
    model = fields.mapping("model")
    if model is None:
        return None
    provider = model.optional_text("provider")
    return f"{provider}/{model.text('model')}" if provider else model.text("model")


def _confirmation(fields: A3sFields) -> ConfirmationInheritance | None:
    said = fields.optional_text("confirmation_inheritance")
    if said is None:
        return None
    try:
        return ConfirmationInheritance(said)
    except ValueError:
        fields.fail(
            f"unknown variant `{said}`, expected `auto_approve`, `deny_on_ask` or `inherit_parent`",
            fields.span("confirmation_inheritance"),
        )


def _listed(node: MappingNode, keys: tuple[str, ...]) -> ToolNames:
    for key in keys:
        entry = node.entry(key)
        if entry is not None:
            return _list(entry.value, key)
    return ToolNames()


def _second(node: MappingNode) -> list[tuple[str, Span]]:
    found = []
    for keys in (ALLOWED_KEYS, DENIED_KEYS):
        there = [entry for key in keys if (entry := node.entry(key)) is not None]
        found += [(entry.name, entry.key.span) for entry in there[1:]]
    return found


def _list(value: Node, key: str) -> ToolNames:
    if isinstance(value, ScalarNode) and isinstance(value.value, str):
        items, spans = _split(value)
    elif isinstance(value, SequenceNode):
        kept, dropped = [], []
        for item in value.items:
            if isinstance(item, ScalarNode) and isinstance(item.value, str):
                kept.append((item.value.strip(), item.content_span() or item.span))
            else:
                dropped.append(item.span)
        items = tuple(text for text, _ in kept if text)
        spans = tuple(span for text, span in kept if text)
        if not items and value.items:
            return ToolNames(Presence.ILL_TYPED, key=key, span=value.span)
        presence = Presence.LISTED if items else Presence.EMPTY
        return ToolNames(presence, items, spans, key, value.span, tuple(dropped))
    else:
        null = isinstance(value, ScalarNode) and value.value is None
        return ToolNames(Presence.NULL if null else Presence.ILL_TYPED, key=key, span=value.span)
    presence = Presence.LISTED if items else Presence.EMPTY
    return ToolNames(presence, items, spans, key, value.span)


def _split(value: ScalarNode) -> tuple[tuple[str, ...], tuple[Span, ...]]:
    # At every comma, also at those between parentheses.
    items, spans, start = [], [], 0
    for part in str(value.value).split(","):
        text = part.strip()
        if text:
            offset = start + len(part) - len(part.lstrip())
            items.append(text)
            spans.append(value.part(offset, offset + len(text)))
        start += len(part) + 1
    return tuple(items), tuple(spans)


_MAPPED: Final = {
    **{name: name for name in "read write edit search ls bash task parallel_task".split()},
    "parallel-task": "parallel_task",
}


def mapped(text: str) -> str:
    """Return the rule that an item of a list of tools becomes."""
    if text.lower() in _MAPPED:
        return f"{_MAPPED[text.lower()]}(*)"
    if text == "*" or "(" in text:
        return text
    return f"{text}(*)"


def _with_lists(
    base: PermissionPolicy, tools: ToolNames, disallowed: ToolNames, profile: A3sProfile
) -> PermissionPolicy:
    """Return the policy after the lists: the first replaces it, the second adds denials."""
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


# Files of an agent directory: a header and a text, each a tool or a schedule.


@attrs.frozen
class McpTool:
    """A server of tools, whose tools are governed like any others."""

    name: str
    transport: object = attrs.field(hash=False)
    span: Span | None = attrs.field(default=None, eq=False, repr=False)
    unapplied: tuple[Unapplied, ...] = attrs.field(default=(), eq=False, repr=False)


ToolSpec = ScriptToolSpec | McpTool


@attrs.frozen
class Schedule:
    """A time at which the agent starts with nobody there."""

    name: str
    cron: str
    enabled: bool = True
    span: Span | None = attrs.field(default=None, eq=False, repr=False)
    unapplied: tuple[Unapplied, ...] = attrs.field(default=(), eq=False, repr=False)


# --- headers -----------------------------------------------------------------

_OPENING: Final = re.compile(r"\s*---[\r\n]*")
# In this order, each looked for in all of the text: the first that is there closes.
_CLOSING: Final = ("\n---\n", "\n---\r\n", "\n---")


def _header(source: Source, what: str, need: str) -> tuple[MappingNode, str]:
    """Return the keys of the header and the text below it."""
    text = source.text
    opening = _OPENING.match(text)
    start = opening.end() if opening else 0
    found = [(text.find(fence, start), fence) for fence in _CLOSING]
    end, fence = next((pair for pair in found if pair[0] >= 0), (-1, ""))
    if opening is None or end < 0:
        msg = f"{what} has no YAML frontmatter ({need})"
        help_ = "start the file with `---`, the keys, and `---` on a line of its own"
        raise A3sError(A3sErrorKind.NO_FRONT_MATTER, msg, source.whole(), help=help_)
    try:
        node = read_yaml(source, start, end)
    except PolicyError as error:
        raise first_of(error, A3sErrorKind.BAD_FRONT_MATTER, f"{what} frontmatter: ") from None
    if not isinstance(node, MappingNode):
        msg = f"{what} frontmatter: expected keys and values, found {describe(node)}"
        raise A3sError(A3sErrorKind.BAD_FRONT_MATTER, msg, node.span)
    return node, text[end + len(fence) :].strip()


def _stem(source: Source) -> str:
    return source.name.rpartition("/")[2].removesuffix(".md")


# --- tools -------------------------------------------------------------------


def read_tool(source: Source) -> ToolSpec:
    """Return the tool that a file of ``tools/`` defines.

    Raises:
        A3sError: it defines none.

    """
    what = f"tool {source.name}"
    node, body = _header(source, what, "need `kind:`")
    header = A3sFields(node, A3sErrorKind.BAD_FRONT_MATTER, f"{what} frontmatter: ")
    kind = header.text("kind")
    match kind:
        case "script":
            prefix = f"{what} (kind=script)"
            fields = A3sFields(node, A3sErrorKind.BAD_FRONT_MATTER, f"{prefix} frontmatter: ")
            return _script(fields, prefix, _stem(source), body)
        case "mcp":
            return _mcp(
                A3sFields(node, A3sErrorKind.MCP_CONFIG, f"{what} (kind=mcp) {_NO_SERVER}: ")
            )
        case _:
            msg = f"{what} has unsupported kind `{kind}` (supported: `mcp`, `script`)"
            raise A3sError(A3sErrorKind.UNKNOWN_KIND, msg, header.span("kind"))


_NO_SERVER: Final = "is not a valid MCP server config"
_KEYS_TOOL_FILES: Final = frozenset(
    {"kind", "name", "description", "path", "allowed_tools", "limits"}
)


def _script(fields: A3sFields, what: str, stem: str, body: str) -> ScriptToolSpec:
    node = fields.node
    name, path = fields.optional_text("name"), fields.text("path")
    description = (fields.optional_text("description") or "").strip()
    allowed = fields.texts("allowed_tools")
    limits = None if is_null(node.get("limits")) else fields.mapping("limits")
    numbers = [limits.count(limit.key) if limits else None for limit in LIMITS]
    check_path(path, what, fields.span("path"))
    for limit, number in zip(LIMITS, numbers, strict=True):
        if limits and number is not None and not 1 <= number <= limit.largest:
            msg = f"{what}: limit {limit.key}={number} is out of range [1, {limit.largest}]"
            raise A3sError(A3sErrorKind.LIMIT, msg, limits.span(limit.key))
    listed = node.get("allowed_tools")
    return ScriptToolSpec(
        stem if name is None else name,
        description or body,
        path,
        tuple(text for text, _ in allowed),
        ScriptToolLimits(*numbers),
        omitted=is_null(listed),
        span=fields.span("name" if name is not None else "path"),
        list_span=listed.span if listed else None,
        spans=tuple(span for _, span in allowed),
        unknown=_unknown(node, _KEYS_TOOL_FILES),
        unknown_limits=_unknown(limits.node, frozenset(limit.key for limit in LIMITS))
        if limits
        else (),
    )


def _unknown(node: MappingNode, known: frozenset[str]) -> tuple[tuple[str, Span], ...]:
    return tuple((entry.name, entry.key.span) for entry in node.entries if entry.name not in known)


def _mcp(fields: A3sFields) -> McpTool:
    name, transport = fields.text("name"), fields.node.get("transport")
    if transport is None:
        fields.fail("missing field `transport`")
    unapplied = tuple(unapplied_keys(fields.node, _SERVER_KEYS))
    return McpTool(name, repr(plain(transport)), fields.span("name"), unapplied)


# A server has more keys than these; a schedule may.
_SERVER_KEYS: Final = {"": Keys("kind name description transport".split(), is_open=True)}
_SCHEDULE_KEYS: Final = {"": Keys("cron name enabled".split(), is_open=True)}

_DRIVE: Final = re.compile(r"[A-Za-z]:")


def check_path(path: str, what: str, span: Span | None = None) -> None:
    """Refuse a path that may not name the source of a script.

    Raises:
        A3sError: it is no script, absolute, or leads up.

    """
    if not path.endswith((".js", ".mjs")):
        msg = f"{what} path `{path}` must point to a .js or .mjs file"
        raise A3sError(A3sErrorKind.SCRIPT_PATH_EXTENSION, msg, span)
    if path.startswith(("/", "\\")) or _DRIVE.match(path):
        msg = f"{what}: script path must be relative to the workspace"
        raise A3sError(A3sErrorKind.SCRIPT_PATH_ABSOLUTE, msg, span)
    if ".." in re.split(r"[/\\]", path):
        msg = f"{what}: script path must not contain parent directory traversal"
        raise A3sError(A3sErrorKind.SCRIPT_PATH_ESCAPE, msg, span)


# --- schedules ---------------------------------------------------------------


def read_schedule(source: Source) -> Schedule:
    """Return the schedule that a file of ``schedules/`` defines.

    Raises:
        A3sError: it has no header, or the header says no time.

    """
    what = f"schedule {source.name}"
    node, _ = _header(source, what, "need `cron:`")
    fields = A3sFields(node, A3sErrorKind.SCHEDULE, f"{what} frontmatter: ")
    cron, name = fields.text("cron"), fields.optional_text("name")
    enabled = is_null(node.get("enabled")) or fields.truth("enabled")
    stem = _stem(source)
    unapplied = tuple(unapplied_keys(node, _SCHEDULE_KEYS))
    return Schedule(stem if name is None else name, cron, enabled, fields.span("cron"), unapplied)


# Agent directories: instructions, tools and schedules in one folder, all or nothing.


@attrs.frozen
class AgentDir:
    """One directory.

    Attributes:
        root: the folder, relative to the tree.
        instructions: what the agent is told.
        tools: in the order of their files.
        schedules: likewise.
        acl: the text of ``agent.acl``, which is not read.
        skipped: tool files that are no files of the folder.
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
        A3sError: anything in it is wrong; nothing of it is in force then.

    """
    prefix = f"{root}/" if root else ""
    there = [path for path in tree.paths() if path.startswith(prefix)]
    outside = {p.path: p.message for p in tree.problems() if p.path.startswith(prefix)}
    if not there and not outside:
        raise A3sError(
            A3sErrorKind.NO_DIRECTORY, f"agent directory not found: {root or '.'}", file=root
        )
    instructions = f"{prefix}instructions.md"
    if instructions in outside:
        msg = (
            f"agent dir {root or '.'} instructions.md must be a regular file"
            " inside the agent directory"
        )
        raise A3sError(A3sErrorKind.ESCAPES, msg, file=instructions)
    if instructions not in there:
        msg = f"agent dir {root or '.'} is missing required instructions.md: {instructions}"
        raise A3sError(A3sErrorKind.NO_INSTRUCTIONS, msg, file=root or ".")
    acl = f"{prefix}agent.acl"
    if acl in outside:
        raise A3sError(
            A3sErrorKind.ESCAPES, "agent.acl must stay inside the agent directory", file=acl
        )
    tools, names = [], dict[str, ToolSpec]()
    files = [instructions, *([acl] if acl in there else [])]
    for path in _direct(there, f"{prefix}tools/"):
        tool = read_tool(tree.source(path))
        if tool.name in names:
            msg = f"duplicate tool name `{tool.name}` in {path}"
            raise A3sError(A3sErrorKind.DUPLICATE_TOOL, msg, tool.span, file=path)
        names[tool.name] = tool
        tools.append(tool)
        files.append(path)
    schedules = []
    for path in _direct(there, f"{prefix}schedules/"):
        schedules.append(read_schedule(tree.source(path)))
        files.append(path)
    return AgentDir(
        root,
        tree.source(instructions).text,
        tuple(tools),
        tuple(schedules),
        tree.source(acl).text if acl in there else None,
        tuple(path for path in outside if path.startswith(f"{prefix}tools/")),
        tuple(files),
    )


def _direct(paths: list[str], folder: str) -> list[str]:
    """Return the Markdown files right in *folder*, sorted."""
    inside = [path for path in paths if path.startswith(folder) and path.endswith(".md")]
    return sorted(path for path in inside if "/" not in path[len(folder) :])


def register(
    directory: AgentDir, built_in: frozenset[str]
) -> tuple[tuple[ToolSpec, ...], tuple[ToolSpec, ...]]:
    """Return the tools that the host registers, and those it refuses.

    It refuses a tool with the name of one that it has itself, and warns.
    """
    kept = tuple(tool for tool in directory.tools if tool.name not in built_in)
    return kept, tuple(tool for tool in directory.tools if tool.name in built_in)


# ``a3s.session.yaml``: what a program that embeds A3S sets in code, written down.
#
# A3S has no such file; sessions are made by programs. To say what every agent may
# do, somebody must say what the session may do, so this package reads it here.
# `README.md` beside this module says what it may hold. Keys that are not known
# are refused: one that is misspelt would be a rule that is not there.


SESSION_FILE: Final = "a3s.session.yaml"

_KEYS_SESSION_FILE: Final = ("version", "permissions", "confirmation", "style", "auto_delegation")

# Style -> the table it brings, or "" for none.
_STYLES: Final = {
    "explore": "explore",
    "plan": "plan",
    "verification": "verification",
    "code-review": "verification",
    "general-purpose": "",
}


@attrs.frozen
class AutoDelegation:
    """When the host starts agents by itself, and whether the model is shown how to.

    None of it denies anything: the host calls it no security sandbox.

    Attributes:
        enabled: whether it starts agents by itself.
        auto_parallel: whether several at a time.
        allow_manual_delegation: whether the model is shown the tools that start agents.
        min_confidence: how sure it must be, from 0 to 1, or None.
        max_tasks: agents it starts at most, or None.

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
        permissions: of the session; None where it has none, which asks.
        provider: who confirms.
        style: the policy of its style, which cannot be widened, or None.
        auto_delegation: when agents are started unasked; it denies nothing.
        span: where the permissions are written.
        confirmation_span: where it is written who confirms.
        hiding_span: where it is written that the tools that start agents are hidden.

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
        """Return whether the model is shown *tool*. It is no authority to call it."""
        if tool in SPAWNING and not self.auto_delegation.allow_manual_delegation:
            return False
        return all(p.visible(tool) for p in (self.permissions, self.style) if p is not None)


_Value = TypeVar("_Value")


@attrs.define
class _Mistakes:
    """What is wrong with one file; all of it is told at once."""

    found: list[A3sError] = attrs.field(factory=list)

    def attempt(self, read: Callable[[], _Value], otherwise: _Value) -> _Value:
        """Return what *read* returns, or *otherwise* where it finds a mistake."""
        try:
            return read()
        except A3sErrors as several:
            self.found += [one for one in several.errors if isinstance(one, A3sError)]
        except A3sError as one:
            self.found.append(one)
        return otherwise

    def check(self) -> None:
        """Raise what was found, if anything."""
        if self.found:
            raise A3sErrors(self.found) if self.found[1:] else self.found[0]


def read_session(source: Source) -> SessionSettings:
    """Return the settings that *source* writes down.

    Raises:
        A3sError: a key or a value is none; every mistake is told.

    """
    try:
        node = read_yaml(source)
    except PolicyError as error:
        every = error.errors if isinstance(error, PolicyErrors) else (error,)
        told = [A3sError(A3sErrorKind.POLICY_PARSE, e.message, e.span, help=e.help) for e in every]
        raise A3sErrors(told) from None
    if not isinstance(node, MappingNode):
        msg = f"expected keys and values, found {describe(node)}"
        raise A3sError(
            A3sErrorKind.POLICY_PARSE, msg, source.whole(), help=_known(_KEYS_SESSION_FILE)
        )
    fields, mistakes = A3sFields(node, A3sErrorKind.POLICY_PARSE, ""), _Mistakes()
    mistakes.found += _unknown_of_session_file(fields, _KEYS_SESSION_FILE)
    profile = mistakes.attempt(lambda: _profile(fields), NEWEST)
    inner = mistakes.attempt(lambda: fields.mapping("permissions"), None)
    policy = None
    if inner is not None:
        policy = mistakes.attempt(lambda: permissions(inner, profile), None)
        known = ("deny", "allow", "ask", "default_decision", "enabled")
        mistakes.found += [_stranger(*pair, known) for pair in unknown_permissions(inner)]
    names = [provider.value for provider in Provider]
    confirmation = mistakes.attempt(lambda: _one_of(fields, "confirmation", names), None)
    style = mistakes.attempt(lambda: _style(fields, profile), None)
    switches = mistakes.attempt(lambda: fields.mapping("auto_delegation"), None)
    delegation = AutoDelegation() if switches is None else _delegation(switches, mistakes)
    mistakes.check()
    return SessionSettings(
        profile,
        policy,
        Provider(confirmation or "manager"),
        style,
        delegation,
        span=inner.node.span if inner else None,
        confirmation_span=fields.span("confirmation"),
        hiding_span=switches.span("allow_manual_delegation") if switches else None,
    )


def _known(keys: tuple[str, ...] | list[str]) -> str:
    return "known are " + ", ".join(f"`{key}`" for key in keys)


def _unknown_of_session_file(fields: A3sFields, known: tuple[str, ...]) -> list[A3sError]:
    strangers = [entry for entry in fields.node.entries if entry.name not in known]
    return [_stranger(entry.name, entry.key.span, known) for entry in strangers]


def _stranger(name: str, span: Span, known: tuple[str, ...]) -> A3sError:
    return A3sError(A3sErrorKind.POLICY_PARSE, f"unknown key `{name}`", span, help=_known(known))


def _delegation(fields: A3sFields, mistakes: _Mistakes) -> AutoDelegation:
    mistakes.found += _unknown_of_session_file(
        fields, tuple(f.name for f in attrs.fields(AutoDelegation))
    )

    def switch(key: str, *, absent: bool) -> bool:
        written = fields.node.get(key) is not None
        return mistakes.attempt(lambda: fields.truth(key), absent) if written else absent

    return AutoDelegation(
        switch("enabled", absent=False),
        switch("auto_parallel", absent=False),
        switch("allow_manual_delegation", absent=True),
        mistakes.attempt(lambda: _confidence(fields), None),
        mistakes.attempt(lambda: fields.count("max_tasks"), None),
    )


def _confidence(fields: A3sFields) -> float | None:
    node = fields.node.get("min_confidence")
    if node is None:
        return None
    value = node.value if isinstance(node, ScalarNode) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        fields.fail(
            f"expected a number from 0 to 1 at `min_confidence`, found {describe(node)}", node.span
        )
    return float(value)


def _profile(fields: A3sFields) -> A3sProfile:
    node = fields.node.get("version")
    if node is None:
        return NEWEST
    text = node.raw.strip("\"'") if isinstance(node, ScalarNode) else ""
    try:
        return A3sProfile.of(text)
    except ValueError as error:
        help_ = 'write the version in quotes, as in `version: "9.0"`'
        raise A3sError(A3sErrorKind.POLICY_PARSE, str(error), node.span, help=help_) from None


def _style(fields: A3sFields, profile: A3sProfile) -> PermissionPolicy | None:
    style = _one_of(fields, "style", list(_STYLES))
    table = _STYLES[style] if style else ""
    return policy_of(table, profile) if table and profile.since(8, 3) else None


def _one_of(fields: A3sFields, key: str, known: list[str]) -> str | None:
    said = fields.optional_text(key)
    if said is not None and said not in known:
        msg = f"expected a value of `{key}`, found `{said}`"
        raise A3sError(fields.kind, msg, fields.span(key), help=_known(known))
    return said
