"""Definitions of agents: text to `SubAgentDef`."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, TypeVar

import attrs

from policy.core import limits
from policy.core.errors import PolicyError, PolicyErrors
from policy.core.source import Source, Span
from policy.files.frontmatter import HeaderLanguage as Language
from policy.files.nodes import MappingNode, Node, NodeEntry, ScalarNode, SequenceNode, describe
from policy.files.text import BYTE_ORDER_MARK, has_byte_order_mark
from policy.files.toml_nodes import read_toml
from policy.files.yaml_nodes import read_yaml
from policy.hosts.zeph.names import ZephError, ZephErrorKind, ZephErrors
from policy.tables.dialect import BLANKS

__all__ = [
    "TOO_LARGE",
    "U32",
    "U64",
    "AllowList",
    "Both",
    "DenyList",
    "Framed",
    "HeaderFields",
    "HookDef",
    "HookMatcher",
    "Hooks",
    "InheritAll",
    "MemoryScope",
    "PermissionMode",
    "Permissions",
    "SkillFilter",
    "SubAgentDef",
    "ToolPolicy",
    "ZephProfile",
    "default_template",
    "frame",
    "parse",
    "validate_name",
]


class ZephProfile(enum.Enum):
    """Which Zeph: the one that exists, the one its issue 970 asks for, the one specified."""

    ZEPH = "zeph"
    ISSUE_970 = "issue-970"
    SPEC = "zeph-spec"

    __hash__ = object.__hash__


@attrs.frozen
class InheritAll:
    """No list: every tool."""


@attrs.frozen
class AllowList:
    """``tools.allow``: these tools."""

    tools: tuple[str, ...] = ()


@attrs.frozen
class DenyList:
    """``tools.deny``: every tool but these."""

    tools: tuple[str, ...] = ()


@attrs.frozen
class Both:
    """``tools.allow`` beside ``tools.deny``, as issue 970 has it."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


ToolPolicy = InheritAll | AllowList | DenyList | Both


class PermissionMode(enum.Enum):
    """What is asked before a call; of an agent only ``plan`` changes anything."""

    DEFAULT = "default"
    ACCEPT_EDITS = "accept_edits"
    DONT_ASK = "dont_ask"
    BYPASS_PERMISSIONS = "bypass_permissions"
    PLAN = "plan"

    __hash__ = object.__hash__


class MemoryScope(enum.Enum):
    """Where an agent keeps what it remembers."""

    USER = "user"
    PROJECT = "project"
    LOCAL = "local"

    __hash__ = object.__hash__


@attrs.frozen
class Permissions:
    """``permissions``, with what holds where nothing is said."""

    secrets: tuple[str, ...] = ()
    max_turns: int = 20
    background: bool = False
    timeout_secs: int = 600
    ttl_secs: int = 300
    permission_mode: PermissionMode = PermissionMode.DEFAULT
    max_history_messages: int = 200
    worktree: bool = False


@attrs.frozen
class SkillFilter:
    """``skills``: globs of the skills an agent sees (`policy.hosts.zeph.spawning`)."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@attrs.frozen
class HookDef:
    """What a hook does. It is never run here.

    Attributes:
        kind: ``command`` or ``mcp_tool``.
        command: the command of the first kind.
        server: the server of the second.
        tool: and the tool there.
        arguments: and what it is called with, as written, or None.
        timeout_secs: how long it may take.
        fail_closed: what its author wants of a failure; Zeph goes on all the same.
        condition: ``if``, or None.

    """

    kind: str
    command: str = ""
    server: str = ""
    tool: str = ""
    arguments: Node | None = None
    timeout_secs: int = 30
    fail_closed: bool = False
    condition: str | None = None


@attrs.frozen
class HookMatcher:
    """The tools that hooks belong to (`policy.hosts.zeph.findings`)."""

    matcher: str
    hooks: tuple[HookDef, ...] = ()


@attrs.frozen
class Hooks:
    """``hooks``: what runs before and after calls."""

    pre_tool_use: tuple[HookMatcher, ...] = ()
    post_tool_use: tuple[HookMatcher, ...] = ()

    def __len__(self) -> int:
        return len(self.pre_tool_use) + len(self.post_tool_use)


@attrs.frozen(slots=False)
class SubAgentDef:
    """One agent.

    Attributes:
        name: as it is started by.
        description: one line.
        model: ``inherit`` or a name, or None.
        tools: the lists ``tools.allow`` and ``tools.deny``.
        disallowed_tools: ``tools.except``, which is asked first.
        permissions: limits, and the mode.
        skills: the skills it sees.
        system_prompt: the text below the header, without the blanks around it.
        hooks: what runs before and after its calls.
        memory: where it keeps what it remembers, or None.
        allowed_spawns: the agents it may start, None being any (issue 970).
        source: ``<scope>/<file>``, never a whole path, or None.
        file_path: the file it was read from, for those who edit it.
        text: the whole file.
        spans: where what is written, by names such as ``tools.allow[0]``.
        ignored: keys that are written and mean nothing.

    """

    name: str
    description: str
    model: str | None = None
    tools: ToolPolicy = InheritAll()
    disallowed_tools: tuple[str, ...] = ()
    permissions: Permissions = Permissions()
    skills: SkillFilter = SkillFilter()
    system_prompt: str = ""
    hooks: Hooks = Hooks()
    memory: MemoryScope | None = None
    allowed_spawns: tuple[str, ...] | None = None
    source: str | None = attrs.field(default=None, eq=False)
    file_path: Path | None = attrs.field(default=None, eq=False, repr=False)
    text: Source | None = attrs.field(default=None, eq=False, repr=False)
    spans: Mapping[str, Span] = attrs.field(factory=dict, eq=False, repr=False)
    ignored: tuple[tuple[str, Span], ...] = attrs.field(default=(), eq=False, repr=False)

    def span(self, *names: str) -> Span | None:
        """Return where the first of *names* is written that is written at all."""
        return next((self.spans[name] for name in names if name in self.spans), None)


def default_template(name: str, description: str) -> SubAgentDef:
    """Return a definition to start from: every tool, nothing else said."""
    return SubAgentDef(name, description)


# Where the header of a definition starts and ends, to the byte as Zeph has it.
#
# The first bytes are three dashes, or three plus signs, and a line break. The
# header ends at the first line break that is followed by the same three signs,
# whatever stands behind them; that is the start of the body.


@attrs.frozen
class Framed:
    """A definition taken apart: offsets of its header, and the text below it."""

    language: Language
    start: int
    end: int
    body: str


_OPENING: Final = re.compile(r"(---|\+\+\+)\r?\n")
_NAMES: Final = {"---": "YAML", "+++": "TOML"}
_LANGUAGES: Final = {"---": Language.YAML, "+++": Language.TOML}
_MISSING: Final = (
    "missing frontmatter delimiters: expected `---` (YAML) or `+++` (TOML, deprecated)"
)


def frame(source: Source) -> Framed:
    """Return the parts of *source*.

    Raises:
        ZephError: there is no header, or it is never closed.

    """
    opening = _OPENING.match(source.text)
    if has_byte_order_mark(source):
        first = source.span(0, 1 if source.text.startswith(BYTE_ORDER_MARK) else 0)
        help_ = "save the file without a byte order mark"
        raise ZephError(ZephErrorKind.PARSE, _MISSING, first, help=help_)
    if opening is None:
        help_ = "make `---` the whole first line of the file"
        raise ZephError(ZephErrorKind.PARSE, _MISSING, source.whole(), help=help_)
    signs, start = opening[1], opening.end()
    end = source.text.find("\n" + signs, start)
    if end < 0:
        raise ZephError(
            ZephErrorKind.PARSE,
            f"missing closing `{signs}` delimiter for {_NAMES[signs]} frontmatter",
            source.span(0, 3),
            help=f"write `{signs}` on a line of its own behind the last key",
        )
    # The line break belongs to the header, so that a mistake at its end has a line.
    return Framed(_LANGUAGES[signs], start, end + 1, source.text[end + 4 :].strip(BLANKS))


# Values of a header, by type: what is there, as what it must be, or a mistake with its place.
#
# Types are taken as Zeph takes them. A plain word of YAML is text wherever text
# is wanted, also ``5`` or ``null``; TOML says itself what is text. A key of YAML
# with nothing behind it is an empty list or an empty mapping where one is
# wanted; ``null`` is neither.


U32 = 2**32 - 1
U64 = 2**64 - 1

_E = TypeVar("_E", bound=enum.Enum)


@attrs.define
class HeaderFields:
    """The keys of one mapping, taken out one after the other.

    Attributes:
        node: the mapping; None where there is none.
        path: what its keys are called from the top, with a dot at its end.
        typed: whether plain words have types, as in TOML.
        errors: every mistake that was met.
        spans: where each value that was taken is written.

    """

    node: MappingNode | None
    path: str
    typed: bool
    errors: list[ZephError]
    spans: dict[str, Span]

    def entry(self, name: str) -> NodeEntry | None:
        """Return the key and value of *name*, or None."""
        return None if self.node is None else self.node.entry(name)

    def known(self, *names: str) -> None:
        """Note every key that is none of *names*."""
        for entry in self.node.entries if self.node else ():
            if entry.name not in names:
                listed = ", ".join(f"`{name}`" for name in names)
                message = f"unknown field `{entry.name}`, expected one of {listed}"
                help_ = _SPELT.get(entry.name, "")
                self.errors.append(
                    ZephError(ZephErrorKind.PARSE, message, entry.key.span, help=help_)
                )

    def unknown(self, *names: str) -> list[tuple[str, Span]]:
        """Return every key that is none of *names*, where those are passed over."""
        entries = self.node.entries if self.node else ()
        return [
            (self.path + entry.name, entry.key.span) for entry in entries if entry.name not in names
        ]

    def below(self, name: str) -> HeaderFields:
        """Return the keys of the mapping at *name*; none where it is not there."""
        entry = self.entry(name)
        node: MappingNode | None = None
        if entry is not None:
            self.spans[self.path + name] = entry.key.span
            if isinstance(entry.value, MappingNode):
                node = entry.value
            elif not self._empty(entry.value):
                self.wrong(entry.value, "keys and values")
        return HeaderFields(node, f"{self.path}{name}.", self.typed, self.errors, self.spans)

    def item(self, node: Node, name: str) -> HeaderFields:
        """Return the keys of *node*, which is called *name* here and must be a mapping."""
        path = f"{self.path}{name}"
        self.spans[path] = node.span
        keys = node if isinstance(node, MappingNode) else None
        if keys is None:
            self.wrong(node, "keys and values")
        return HeaderFields(keys, f"{path}.", self.typed, self.errors, self.spans)

    def text(self, name: str, default: str | None = None) -> str:
        """Return the text at *name*. Without a default it must be there."""
        entry = self.entry(name)
        if entry is None:
            if default is None:
                self.missing(name)
            return default or ""
        return self._text(entry.value, self.path + name)

    def optional(self, name: str) -> str | None:
        """Return the text at *name*, or None where it is null or not there."""
        entry = self.entry(name)
        if entry is None or (isinstance(entry.value, ScalarNode) and entry.value.value is None):
            return None
        return self._text(entry.value, self.path + name)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the list of texts at *name*; none where it is not there."""
        entry = self.entry(name)
        return () if entry is None else self._texts(entry.value, self.path + name)

    def optional_texts(self, name: str) -> tuple[str, ...] | None:
        """Return the list of texts at *name*, or None where it is null or not there."""
        entry = self.entry(name)
        if entry is None or (isinstance(entry.value, ScalarNode) and entry.value.value is None):
            return None
        return self._texts(entry.value, self.path + name)

    def number(self, name: str, default: int, most: int) -> int:
        """Return the number at *name*, from 0 to *most*."""
        value = self._scalar(name)
        if value is None:
            return default
        number = value.value if self.typed else _whole(value)
        if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= most:
            return number
        self.wrong(value, f"a whole number from 0 to {most}")
        return default

    def truth(self, name: str, *, default: bool) -> bool:
        """Return the truth value at *name*."""
        value = self._scalar(name)
        if value is None:
            return default
        if isinstance(value.value, bool):
            return value.value
        self.wrong(value, "`true` or `false`")
        return default

    def choice(self, name: str, default: _E, among: Iterable[_E] | None = None) -> _E:
        """Return the member that the text at *name* is, of the kind of *default* or of *among*."""
        entry = self.entry(name)
        found = None if entry is None else self._member(entry, among or type(default))
        return default if found is None else found

    def optional_choice(self, name: str, kind: type[_E]) -> _E | None:
        """Return the member of *kind* at *name*, or None where it is null or not there."""
        entry = self.entry(name)
        if entry is None or (isinstance(entry.value, ScalarNode) and entry.value.value is None):
            return None
        return self._member(entry, kind)

    def _member(self, entry: NodeEntry, members: Iterable[_E]) -> _E | None:
        known = {member.value: member for member in members}
        text = self._text(entry.value, self.path + entry.name)
        if text not in known and isinstance(entry.value, ScalarNode):
            listed = ", ".join(f"`{value}`" for value in known)
            message = f"unknown variant `{text}`, expected one of {listed}"
            self.errors.append(ZephError(ZephErrorKind.PARSE, message, entry.value.span))
        return known.get(text)

    def sequence(self, name: str) -> tuple[Node, ...]:
        """Return the items of the list at *name*; none where it is not there."""
        entry = self.entry(name)
        if entry is None:
            return ()
        if isinstance(entry.value, SequenceNode):
            return entry.value.items
        if not self._empty(entry.value):
            self.wrong(entry.value, "a list")
        return ()

    def missing(self, name: str) -> None:
        """Note that *name* must be there."""
        span = self.node.span if self.node else None
        if span is not None:
            span = span.source.span(span.start, min(span.end, span.start + 1))
        self.errors.append(
            ZephError(ZephErrorKind.PARSE, f"missing field `{self.path}{name}`", span)
        )

    def wrong(self, node: Node, expected: str) -> None:
        """Note that *node* is not what is expected."""
        message = f"invalid type: found {describe(node)}, expected {expected}"
        self.errors.append(ZephError(ZephErrorKind.PARSE, message, node.span))

    def _empty(self, node: Node) -> bool:
        return not self.typed and isinstance(node, ScalarNode) and not node.raw

    def _scalar(self, name: str) -> ScalarNode | None:
        entry = self.entry(name)
        if entry is None:
            return None
        self.spans[self.path + name] = entry.value.span
        if isinstance(entry.value, ScalarNode):
            return entry.value
        self.wrong(entry.value, "a single value")
        return None

    def _text(self, node: Node, path: str) -> str:
        self.spans[path] = node.span
        if isinstance(node, ScalarNode):
            if isinstance(node.value, str):
                return node.value
            if not self.typed:
                return node.raw
        self.wrong(node, "text")
        return ""

    def _texts(self, node: Node, path: str) -> tuple[str, ...]:
        self.spans[path] = node.span
        if not isinstance(node, SequenceNode):
            if not self._empty(node):
                self.wrong(node, "a list of names")
            return ()
        return tuple(self._text(item, f"{path}[{i}]") for i, item in enumerate(node.items))


# Digits behind a nought are no number, and a number may be of another base.
_WHOLE: Final = re.compile(r"\+?(?:0x[0-9a-fA-F]+|0o[0-7]+|0b[01]+|0|[1-9][0-9]*)")


def _whole(scalar: ScalarNode) -> int | None:
    plain = not scalar.quoted and _WHOLE.fullmatch(scalar.raw)
    return int(scalar.raw, 0) if plain and len(scalar.raw) <= _DIGITS else None


# More than the largest number of any key has, in any base.
_DIGITS: Final = 80

_ELSEWHERE = "it belongs below `permissions`"
_SPELT = {
    "disallowed_tools": "write these names below `tools`, as `except`",
    "disallowedTools": "write these names below `tools`, as `except`",
    "max_turns": _ELSEWHERE,
    "permission_mode": _ELSEWHERE,
    "permissionMode": "write `permission_mode`, below `permissions`",
    "background": _ELSEWHERE,
    "worktree": _ELSEWHERE,
    "secrets": _ELSEWHERE,
    "allowed_spawns": "this Zeph has no such key, so an agent with it is not loaded at all",
}


# Text to `SubAgentDef`: types first, then what may not be, in the order Zeph asks.


TOO_LARGE: Final = "definition file exceeds maximum size of 256 KiB"


def parse(text: str | Source, profile: ZephProfile = ZephProfile.ZEPH) -> SubAgentDef:
    """Return the definition that *text*, a whole file, is.

    Args:
        text: header and body, as text or as a file.
        profile: which Zeph reads it.

    Raises:
        ZephError: of kind ``Parse`` for delimiters, syntax, types and keys, of
            kind ``Invalid`` for what may not be. All of the first kind at once.

    """
    source = text if isinstance(text, Source) else Source("<unknown>", text)
    framed = frame(source)
    root = HeaderFields(_header(source, framed), "", framed.language is Language.TOML, [], {})
    definition = _definition(root, framed, source, profile)
    if root.errors:
        raise root.errors[0] if len(root.errors) == 1 else ZephErrors(root.errors)
    _validate(definition, profile)
    return definition


def _header(source: Source, framed: Framed) -> MappingNode:
    read = read_toml if framed.language is Language.TOML else read_yaml
    try:
        node = read(source, framed.start, framed.end)
    except PolicyErrors as errors:
        raise ZephErrors(_as_parse(error) for error in errors.errors) from None
    except PolicyError as error:
        raise _as_parse(error) from None
    if not isinstance(node, MappingNode):
        message = "expected keys and values between the delimiters"
        raise ZephError(ZephErrorKind.PARSE, message, source.span(0, 3))
    return node


def _as_parse(error: PolicyError) -> ZephError:
    return ZephError(
        ZephErrorKind.PARSE, error.message, error.span, help=error.help, file=error.file
    )


_TOP: Final = (
    "name", "description", "model", "tools", "permissions", "skills", "hooks", "memory",
)  # fmt: skip


def _definition(
    root: HeaderFields, framed: Framed, source: Source, profile: ZephProfile
) -> SubAgentDef:
    is_970 = profile is ZephProfile.ISSUE_970
    root.known(*_TOP, *(("allowed_spawns",) if is_970 else ()))
    skills, hooks = root.below("skills"), root.below("hooks")
    tools, disallowed = _tools(root.below("tools"), profile)
    return SubAgentDef(
        name=root.text("name"),
        description=root.text("description"),
        model=root.optional("model"),
        tools=tools,
        disallowed_tools=disallowed,
        permissions=_permissions(root.below("permissions")),
        skills=SkillFilter(skills.texts("include"), skills.texts("exclude")),
        system_prompt=framed.body,
        hooks=Hooks(_matchers(hooks, "PreToolUse"), _matchers(hooks, "PostToolUse")),
        memory=root.optional_choice("memory", MemoryScope),
        allowed_spawns=root.optional_texts("allowed_spawns") if is_970 else None,
        text=source,
        spans=root.spans,
        ignored=(
            *skills.unknown("include", "exclude"),
            *hooks.unknown("PreToolUse", "PostToolUse"),
        ),
    )


def _tools(fields: HeaderFields, profile: ZephProfile) -> tuple[ToolPolicy, tuple[str, ...]]:
    fields.known("allow", "deny", "except")
    allow, deny = fields.optional_texts("allow"), fields.optional_texts("deny")
    disallowed = fields.texts("except")
    if profile is ZephProfile.ISSUE_970 and (allow is not None or deny is not None):
        # An empty list says nothing there, so that it need not be told from none.
        return Both(allow or (), deny or ()), disallowed
    if allow is not None and deny is not None:
        entry = fields.entry("deny")
        if entry is not None:
            fields.spans["tools.conflict"] = entry.key.span
        return Both(allow, deny), disallowed
    if allow is not None:
        return AllowList(allow), disallowed
    return (InheritAll() if deny is None else DenyList(deny)), disallowed


def _permissions(fields: HeaderFields) -> Permissions:
    fields.known(
        "secrets", "max_turns", "background", "timeout_secs", "ttl_secs", "permission_mode",
        "max_history_messages", "worktree",
    )  # fmt: skip
    return Permissions(
        fields.texts("secrets"),
        fields.number("max_turns", 20, U32),
        fields.truth("background", default=False),
        fields.number("timeout_secs", 600, U64),
        fields.number("ttl_secs", 300, U64),
        fields.choice("permission_mode", PermissionMode.DEFAULT),
        fields.number("max_history_messages", 200, U64),
        fields.truth("worktree", default=False),
    )


def _matchers(fields: HeaderFields, event: str) -> tuple[HookMatcher, ...]:
    matchers = []
    for index, item in enumerate(fields.sequence(event)):
        below = fields.item(item, f"{event}[{index}]")
        name = below.text("matcher")
        if below.node is not None and below.entry("hooks") is None:
            below.missing("hooks")
        hooks = tuple(
            _hook(below.item(hook, f"hooks[{number}]"))
            for number, hook in enumerate(below.sequence("hooks"))
        )
        matchers.append(HookMatcher(name, hooks))
    return tuple(matchers)


def _hook(fields: HeaderFields) -> HookDef:
    kind = fields.text("type")
    is_command, is_tool = kind == "command", kind == "mcp_tool"
    if kind and not is_command and not is_tool and fields.node is not None:
        message = f"unknown variant `{kind}`, expected `command` or `mcp_tool`"
        span = fields.spans.get(fields.path + "type")
        fields.errors.append(ZephError(ZephErrorKind.PARSE, message, span))
    args = fields.below("args").node if is_tool else None
    return HookDef(
        kind,
        fields.text("command") if is_command else "",
        fields.text("server") if is_tool else "",
        fields.text("tool") if is_tool else "",
        args,
        fields.number("timeout_secs", 30, U64),
        fields.truth("fail_closed", default=False),
        fields.optional("if"),
    )


# --- what may not be ------------------------------------------------------------

_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def validate_name(name: str, span: Span | None = None) -> None:
    """Refuse a name that could be no file.

    Raises:
        ZephError: of kind ``Invalid``.

    """
    if not name.strip(BLANKS):
        raise ZephError(ZephErrorKind.INVALID, "name must not be empty", span)
    if not _NAME.fullmatch(name):
        message = (
            f"name '{name}' is invalid: must match ^[a-zA-Z0-9][a-zA-Z0-9_-]{{0,63}}$"
            " (ASCII only, no spaces or special characters)"
        )
        raise ZephError(ZephErrorKind.INVALID, message, span)


def _validate(definition: SubAgentDef, profile: ZephProfile) -> None:
    span = definition.span
    if not definition.name.strip(BLANKS):
        validate_name(definition.name, span("name"))
    if not definition.description.strip(BLANKS):
        message = "description must not be empty"
        raise ZephError(ZephErrorKind.INVALID, message, span("description"))
    validate_name(definition.name, span("name"))
    if _CONTROL.search(definition.description):
        message = "description must not contain control characters"
        raise ZephError(
            ZephErrorKind.INVALID,
            message,
            span("description"),
            help="write it on one line, in quotes",
        )
    if isinstance(definition.tools, Both) and profile is not ZephProfile.ISSUE_970:
        message = "tools.allow and tools.deny are mutually exclusive"
        raise ZephError(
            ZephErrorKind.INVALID, message, span("tools.conflict"),
            help="write what `allow` grants too much of below `except`",
        )  # fmt: skip


def check_size(size: int, file: str) -> None:
    """Refuse a file that is larger than Zeph reads.

    Raises:
        ZephError: of kind ``Parse``.

    """
    if size > DEFINITION_BYTES:
        raise ZephError(ZephErrorKind.PARSE, TOO_LARGE, file=file)


# Of one definition, as upstream has it.
DEFINITION_BYTES: Final = min(256 * 1024, limits.FILE_BYTES)
