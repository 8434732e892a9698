"""Definitions of agents of Zeph: reads and writes their files."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from policy.core import expressions as re
from policy.core import limits
from policy.core.effect import Effect
from policy.core.finding import Finding
from policy.core.source import Place, Source, Span, place_of
from policy.core.values import attributes, evolve, field, frozen, stated
from policy.files.nodes import Node, python_value
from policy.files.text import BYTE_ORDER_MARK, has_byte_order_mark
from policy.files.toml_nodes import read_toml
from policy.files.writing import write_beside
from policy.files.yaml_nodes import read_yaml
from policy.hosts.data import FindingTexts, host_table
from policy.hosts.fields import ErrorTexts, Fields, HostError, Keys
from policy.tables.dialect import BLANKS

TOOLS: Final = host_table("zeph", "tools")
PROGRAMS: Final[dict[str, list[str]]] = TOOLS["programs"]
GROUPS: Final[dict[str, list[str]]] = TOOLS["groups"]
KNOWN: Final = frozenset(name for names in GROUPS.values() for name in names)
SHELLS: Final = frozenset(TOOLS["shells"])
EDITING: Final = tuple(GROUPS["editing"])
(WORKING_DIRECTORY,) = GROUPS["worktree"]

find: Final = FindingTexts("policy.hosts.zeph")
refused: Final = ErrorTexts("zeph")

# Names a session without a file in findings.
SESSION: Final = "<session>"

# The largest definition that Zeph reads.
DEFINITION_BYTES: Final = min(256 * 1024, limits.FILE_BYTES)


def normalize(name: str) -> str:
    """Return the id that *name* stands for, e.g. ``bash`` for ``Bash(cargo *)``."""
    return name.partition("(")[0].strip(BLANKS).lower()


def intersect_allowlists(
    one: Iterable[str] | None, other: Iterable[str] | None, *, exactly: bool = False
) -> frozenset[str] | None:
    """Return the tools that both lists allow; None is no restriction, an empty list no tool.

    If *exactly*, names in another case are dropped, as in Zeph.
    """
    if one is None or other is None:
        given = one if other is None else other
        return None if given is None else frozenset(given)
    if exactly:
        return frozenset(one) & frozenset(other)
    wanted = set(map(normalize, other))
    return frozenset(name for name in one if normalize(name) in wanted)


def upstream_text(error: HostError) -> str:
    """Return the text that Zeph prints for *error*."""
    printed = host_table("zeph", "errors")[error.kind].get("printed", "{message}")
    return str(printed).format(file=error.file or "<unknown>", message=error.message)


class ZephProfile(enum.Enum):
    """The program Zeph, the proposal of its issue 970, or its specification."""

    ZEPH = "zeph"
    ISSUE_970 = "issue-970"
    SPEC = "zeph-spec"


@frozen
class ToolPolicy:
    """The lists ``tools.allow`` and ``tools.deny``; None is an absent list.

    Without both, an agent has every tool. A definition with both needs the proposal of issue 970.
    """

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] | None = None

    @property
    def is_both(self) -> bool:
        """Whether it has both lists."""
        return self.allow is not None and self.deny is not None

    @property
    def restricts(self) -> bool:
        """Whether the agent has only tools in `allow`, which with `deny` must not be empty."""
        return bool(self.allow) or (self.allow is not None and self.deny is None)


class PermissionMode(enum.Enum):
    """The permission mode; of an agent only ``plan`` has an effect."""

    DEFAULT = "default"
    ACCEPT_EDITS = "accept_edits"
    DONT_ASK = "dont_ask"
    BYPASS_PERMISSIONS = "bypass_permissions"
    PLAN = "plan"


class MemoryScope(enum.Enum):
    """The scope of the memory of an agent."""

    USER = "user"
    PROJECT = "project"
    LOCAL = "local"


@frozen
class Permissions:
    """``permissions`` of a definition, with defaults."""

    secrets: tuple[str, ...] = ()
    max_turns: int = 20
    background: bool = False
    timeout_secs: int = 600
    ttl_secs: int = 300
    permission_mode: PermissionMode = PermissionMode.DEFAULT
    max_history_messages: int = 200
    worktree: bool = False


@frozen
class SkillFilter:
    """``skills`` of a definition: globs over the skills that the agent sees."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@frozen
class HookDef:
    """One hook, a ``command`` or an ``mcp_tool``. No hook is run here."""

    kind: str
    command: str = ""
    server: str = ""
    tool: str = ""
    arguments: Node | None = None  # of the tool, as written
    timeout_secs: int = 30
    fail_closed: bool = False  # Zeph ignores it
    condition: str | None = None


@frozen
class HookMatcher:
    """A matcher over tools, with its hooks."""

    matcher: str
    hooks: tuple[HookDef, ...] = ()


@frozen
class SubAgentDef:
    """The definition of one agent."""

    name: str
    description: str
    model: str | None = None
    tools: ToolPolicy = ToolPolicy()
    disallowed_tools: tuple[str, ...] = ()  # ``tools.except``, which is tried first
    permissions: Permissions = Permissions()
    skills: SkillFilter = SkillFilter()
    system_prompt: str = ""  # the text below the header, without blanks around it
    # `PreToolUse` or `PostToolUse` -> its hooks.
    hooks: Mapping[str, tuple[HookMatcher, ...]] = field(factory=dict, hash=False)
    memory: MemoryScope | None = None
    # The agents that it may start; None is any (issue 970).
    allowed_spawns: tuple[str, ...] | None = None
    source: str | None = field(default=None, eq=False)  # ``<scope>/<file>``, never a whole path
    file_path: Path | None = field(default=None, eq=False, repr=False)
    text: Source | None = field(default=None, eq=False, repr=False)  # the whole file
    # Key such as ``tools.allow[0]`` -> its span.
    spans: Mapping[str, Span] = field(factory=dict, eq=False, repr=False)
    unapplied: tuple[Finding, ...] = field(
        default=(), eq=False, repr=False
    )  # keys that Zeph ignores

    def span(self, *names: str) -> Span | None:
        """Return the span of the first of the keys *names* that the file has."""
        return next((self.spans[name] for name in names if name in self.spans), None)

    def place(self, name: str) -> Place | None:
        """Return the place of the key *name*."""
        return place_of(self.span(name))

    @property
    def lists(self) -> Iterator[tuple[str, tuple[str, ...], Effect]]:
        """The lists of tools in the file: key below ``tools``, names, and effect."""
        yield "except", self.disallowed_tools, Effect.DENY
        if self.tools.deny is not None:
            yield "deny", self.tools.deny, Effect.DENY
        if self.tools.allow is not None:
            yield "allow", self.tools.allow, Effect.ALLOW

    @property
    def named_tools(self) -> Iterator[tuple[str, Effect, Span | None]]:
        """Every name in these lists, with its effect and span."""
        for key, names, effect in self.lists:
            for index, name in enumerate(names):
                yield name, effect, self.span(f"tools.{key}[{index}]")


def default_template(name: str, description: str) -> SubAgentDef:
    """Return a definition with every tool, and defaults for all else."""
    return SubAgentDef(name, description)


# The header ends at the first line break before the same three signs; the body follows them.
_OPENING: Final = re.compile(r"(---|\+\+\+)\r?\n")


def is_toml(source: Source) -> bool:
    """Return whether the header of a definition is TOML, which is deprecated."""
    return source.text.startswith("+++")


def parse(text: str | Source, profile: ZephProfile = ZephProfile.ZEPH) -> SubAgentDef:
    """Return the definition in *text*, a whole file.

    Raises HostError: ``Parse``, with all mistakes in syntax, types and keys; or ``Invalid``, the
    first value that Zeph refuses.
    """
    source = text if isinstance(text, Source) else Source("<unknown>", text)
    opening, is_typed, first = _OPENING.match(source.text), is_toml(source), source.span(0, 3)
    if has_byte_order_mark(source):
        mark = source.span(0, 1 if source.text.startswith(BYTE_ORDER_MARK) else 0)
        raise refused("Parse", mark, "byte_order_mark")
    if opening is None:
        raise refused("Parse", source.whole(), "no_header")
    end = source.text.find("\n" + opening[1], opening.end())
    if end < 0:
        language = "TOML" if is_typed else "YAML"
        raise refused("Parse", first, "no_end", signs=opening[1], language=language)
    # The header includes the line break, so that a mistake at its end has a line to show.
    read = partial(read_toml if is_typed else read_yaml, source, opening.end(), end + 1)
    root = Fields.read(read, "Parse", at=first, typed=is_typed)
    body = source.text[end + 4 :].strip(BLANKS)
    definition = evolve(_definition(root, profile), system_prompt=body, text=source)
    root.check()
    span = definition.span
    if definition.name.strip(BLANKS) and not definition.description.strip(BLANKS):
        raise refused("Invalid", span("description"), "empty_description")
    validate_name(definition.name, span("name"))
    if _CONTROL.search(definition.description):
        raise refused("Invalid", span("description"), "control")
    if definition.tools.is_both and profile is not ZephProfile.ISSUE_970:
        raise refused("Invalid", span("tools.conflict"), "lists")
    return definition


_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def validate_name(name: str, span: Span | None = None) -> None:
    """Raise HostError, kind ``Invalid``, for a name that cannot be the name of a file."""
    if not name.strip(BLANKS):
        raise refused("Invalid", span, "empty_name")
    if not _NAME.fullmatch(name):
        raise refused("Invalid", span, "name", name=name)


_EVENTS: Final = ("PreToolUse", "PostToolUse")
_MISPLACED: Final = TOOLS["misplaced"]
_KEYS: Final = {"skills": Keys(attributes(SkillFilter)), "hooks": Keys(_EVENTS)}


def _definition(root: Fields, profile: ZephProfile) -> SubAgentDef:
    is_970 = profile is ZephProfile.ISSUE_970
    top = "name description model tools permissions skills hooks memory".split()
    root.known(*top, *(("allowed_spawns",) if is_970 else ()), hints=_MISPLACED)
    skills, hooks, permissions = map(root.below, ("skills", "hooks", "permissions"))
    permissions.known(*attributes(Permissions), hints=_MISPLACED)
    tools, disallowed = _tools(root.below("tools"), profile)
    return SubAgentDef(
        name=root.text("name"),
        description=root.text("description"),
        model=root.optional("model"),
        tools=tools,
        disallowed_tools=disallowed,
        permissions=permissions.values(Permissions()),
        skills=skills.values(SkillFilter()),
        hooks={event: found for event in _EVENTS if (found := _matchers(hooks, event))},
        memory=root.optional_choice("memory", MemoryScope),
        allowed_spawns=root.optional_texts("allowed_spawns") if is_970 else None,
        spans=root.spans,
        unapplied=root.unapplied(_KEYS),
    )


def _tools(fields: Fields, profile: ZephProfile) -> tuple[ToolPolicy, tuple[str, ...]]:
    fields.known("allow", "deny", "except", hints=_MISPLACED)
    allow, deny = fields.optional_texts("allow"), fields.optional_texts("deny")
    disallowed = fields.texts("except")
    if profile is ZephProfile.ISSUE_970 and (allow is not None or deny is not None):
        # In this profile an empty list is an absent one.
        return ToolPolicy(allow or (), deny or ()), disallowed
    if entry := fields.entry("deny"):
        fields.spans["tools.conflict"] = entry.key.span
    return ToolPolicy(allow, deny), disallowed


def _matchers(fields: Fields, event: str) -> tuple[HookMatcher, ...]:
    matchers = []
    for below in fields.each(event):
        name = below.text("matcher")
        if below.node is not None and below.entry("hooks") is None:
            below.missing("hooks")
        matchers.append(HookMatcher(name, tuple(map(_hook, below.each("hooks")))))
    return tuple(matchers)


def _hook(fields: Fields) -> HookDef:
    kind = fields.text("type")
    if kind and kind not in _HOOK_KEYS and fields.node is not None:
        message = f"unknown variant `{kind}`, expected `command` or `mcp_tool`"
        fields.note(message, fields.span("type"))
    texts = {key: fields.text(key) for key in _HOOK_KEYS.get(kind, ())}
    command, server, tool = (texts.get(key, "") for key in ("command", "server", "tool"))
    args = fields.below("args").node if kind == "mcp_tool" else None
    timeout, closed = fields.number("timeout_secs", 30), fields.truth("fail_closed")
    return HookDef(kind, command, server, tool, args, timeout, closed, fields.optional("if"))


# Kind of hook -> the keys that it must have.
_HOOK_KEYS: Final = {"command": ("command",), "mcp_tool": ("server", "tool")}


def serialize_to_markdown(definition: SubAgentDef) -> str:
    """Return the text of a file that parses to *definition*."""
    lines = [f"{key}: {_written(value)}" for key, value in header(definition).items()]
    body = f"\n{definition.system_prompt}\n" if definition.system_prompt else ""
    return "\n".join(["---", *lines, "---", body])


def header(definition: SubAgentDef) -> dict[str, object]:
    """Return the keys of the header, without values that are defaults."""
    spawns, hooks = definition.allowed_spawns, {}
    for event, found in definition.hooks.items():
        hooks[event] = [
            {"matcher": one.matcher, "hooks": list(map(_written_hook, one.hooks))} for one in found
        ]
    keys = {
        "name": definition.name,
        "description": definition.description,
        "model": definition.model,
        "tools": dict(_written_lists(definition)) or None,
        "permissions": _stated(definition.permissions) or None,
        "skills": _stated(definition.skills) or None,
        "hooks": hooks or None,
        "memory": definition.memory.value if definition.memory else None,
        "allowed_spawns": None if spawns is None else list(spawns),
    }
    return {key: value for key, value in keys.items() if value is not None}


def _written_lists(definition: SubAgentDef) -> Iterator[tuple[str, list[str]]]:
    """Yield the lists of tools, in the reverse order of their precedence."""
    for key, names, _ in reversed([*definition.lists]):
        if names or key != "except":
            yield key, list(names)


def _stated(value: Permissions | SkillFilter | HookDef) -> dict[str, object]:
    """Return the attributes that differ from their defaults, as values of YAML."""
    found = {}
    for name, one in dict(stated(value)).items():
        key = {"kind": "type", "arguments": "args", "condition": "if"}.get(name, name)
        value_of_one = python_value(one) if isinstance(one, Node) else getattr(one, "value", one)
        found[key] = list(one) if isinstance(one, tuple) else value_of_one
    return found


def _written_hook(hook: HookDef) -> dict[str, object]:
    return {**dict.fromkeys(("type", *_HOOK_KEYS[hook.kind]), ""), **_stated(hook)}


def _written(value: object) -> str:
    """Return *value* as JSON, which all readers of YAML understand in the same way."""
    text = json.dumps(value, ensure_ascii=False)
    # Some characters are valid in JSON and not in YAML.
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)


def as_derived(definition: SubAgentDef) -> str:
    """Return *definition* as Zeph's derived serializer writes it, which no reader accepts."""
    keys = header(definition)
    tools = definition.tools
    listed: object = "InheritAll"
    if tools != ToolPolicy():
        tag = "Both" if tools.is_both else "DenyList" if tools.allow is None else "AllowList"
        listed = {tag: dict(_written_lists(definition))}
    keys |= {"tools": listed, "disallowed_tools": list(definition.disallowed_tools)}
    lines = (f"{key}: {_written(value)}" for key, value in keys.items())
    return "\n".join(["---", *lines, "---", ""])


def as_zeph_saves(definition: SubAgentDef) -> SubAgentDef:
    """Return *definition* as it is after Zeph has saved and read it.

    Zeph never writes the length of the history, nor permissions of which only `worktree` is set.
    """
    usual = Permissions()
    saved = evolve(definition.permissions, max_history_messages=usual.max_history_messages)
    if evolve(saved, worktree=usual.worktree) == usual:
        saved = usual
    return evolve(definition, permissions=saved)


def save_atomic(definition: SubAgentDef, folder: str | Path) -> Path:
    """Write *definition* to ``<folder>/<name>.md`` atomically; return it. Raises HostError."""
    validate_name(definition.name)
    target = Path(folder) / f"{definition.name}.md"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        written = write_beside(target, serialize_to_markdown(definition).encode(), 0o600)
        try:
            written.replace(target)
        finally:
            written.unlink(missing_ok=True)
    except OSError as error:
        raise _failed(target, error) from None
    return target


def delete_file(path: str | Path) -> None:
    """Remove the file of a definition. Raises HostError: of kind ``Io``."""
    try:
        Path(path).unlink()
    except OSError as error:
        raise _failed(Path(path), error) from None


def _failed(path: Path, error: OSError) -> HostError:
    return refused("Io", file=str(path), why=str(error.strerror or error).lower())
