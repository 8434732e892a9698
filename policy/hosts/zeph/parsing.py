"""Text to `SubAgentDef`: types first, then what may not be, in the order Zeph asks."""

from __future__ import annotations

import re
from typing import Final

from policy import limits
from policy.dialect import BLANKS
from policy.documents.frontmatter import Kind as Language
from policy.documents.node import Mapping
from policy.documents.toml_nodes import read_toml
from policy.documents.yaml_nodes import read_yaml
from policy.errors import PolicyError, PolicyErrors
from policy.hosts.zeph.definition import (
    AllowList,
    Both,
    DenyList,
    HookDef,
    HookMatcher,
    Hooks,
    InheritAll,
    MemoryScope,
    PermissionMode,
    Permissions,
    Profile,
    SkillFilter,
    SubAgentDef,
    ToolPolicy,
)
from policy.hosts.zeph.errors import Kind, ZephError, ZephErrors
from policy.hosts.zeph.fields import U32, U64, Fields
from policy.hosts.zeph.framing import Framed, frame
from policy.source import Source, Span

__all__ = ["TOO_LARGE", "parse", "validate_name"]

TOO_LARGE: Final = "definition file exceeds maximum size of 256 KiB"


def parse(text: str | Source, profile: Profile = Profile.ZEPH) -> SubAgentDef:
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
    root = Fields(_header(source, framed), "", framed.language is Language.TOML, [], {})
    definition = _definition(root, framed, source, profile)
    if root.errors:
        raise root.errors[0] if len(root.errors) == 1 else ZephErrors(root.errors)
    _validate(definition, profile)
    return definition


def _header(source: Source, framed: Framed) -> Mapping:
    read = read_toml if framed.language is Language.TOML else read_yaml
    try:
        node = read(source, framed.start, framed.end)
    except PolicyErrors as errors:
        raise ZephErrors(_as_parse(error) for error in errors.errors) from None
    except PolicyError as error:
        raise _as_parse(error) from None
    if not isinstance(node, Mapping):
        message = "expected keys and values between the delimiters"
        raise ZephError(Kind.PARSE, message, source.span(0, 3))
    return node


def _as_parse(error: PolicyError) -> ZephError:
    return ZephError(Kind.PARSE, error.message, error.span, help=error.help, file=error.file)


_TOP: Final = (
    "name", "description", "model", "tools", "permissions", "skills", "hooks", "memory",
)  # fmt: skip


def _definition(root: Fields, framed: Framed, source: Source, profile: Profile) -> SubAgentDef:
    is_970 = profile is Profile.ISSUE_970
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


def _tools(fields: Fields, profile: Profile) -> tuple[ToolPolicy, tuple[str, ...]]:
    fields.known("allow", "deny", "except")
    allow, deny = fields.optional_texts("allow"), fields.optional_texts("deny")
    disallowed = fields.texts("except")
    if profile is Profile.ISSUE_970 and (allow is not None or deny is not None):
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


def _permissions(fields: Fields) -> Permissions:
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


def _matchers(fields: Fields, event: str) -> tuple[HookMatcher, ...]:
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


def _hook(fields: Fields) -> HookDef:
    kind = fields.text("type")
    is_command, is_tool = kind == "command", kind == "mcp_tool"
    if kind and not is_command and not is_tool and fields.node is not None:
        message = f"unknown variant `{kind}`, expected `command` or `mcp_tool`"
        span = fields.spans.get(fields.path + "type")
        fields.errors.append(ZephError(Kind.PARSE, message, span))
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
        raise ZephError(Kind.INVALID, "name must not be empty", span)
    if not _NAME.fullmatch(name):
        message = (
            f"name '{name}' is invalid: must match ^[a-zA-Z0-9][a-zA-Z0-9_-]{{0,63}}$"
            " (ASCII only, no spaces or special characters)"
        )
        raise ZephError(Kind.INVALID, message, span)


def _validate(definition: SubAgentDef, profile: Profile) -> None:
    span = definition.span
    if not definition.name.strip(BLANKS):
        validate_name(definition.name, span("name"))
    if not definition.description.strip(BLANKS):
        message = "description must not be empty"
        raise ZephError(Kind.INVALID, message, span("description"))
    validate_name(definition.name, span("name"))
    if _CONTROL.search(definition.description):
        message = "description must not contain control characters"
        raise ZephError(
            Kind.INVALID, message, span("description"), help="write it on one line, in quotes"
        )
    if isinstance(definition.tools, Both) and profile is not Profile.ISSUE_970:
        message = "tools.allow and tools.deny are mutually exclusive"
        raise ZephError(
            Kind.INVALID, message, span("tools.conflict"),
            help="write what `allow` grants too much of below `except`",
        )  # fmt: skip


def check_size(size: int, file: str) -> None:
    """Refuse a file that is larger than Zeph reads.

    Raises:
        ZephError: of kind ``Parse``.

    """
    if size > DEFINITION_BYTES:
        raise ZephError(Kind.PARSE, TOO_LARGE, file=file)


# Of one definition, as upstream has it.
DEFINITION_BYTES: Final = min(256 * 1024, limits.FILE_BYTES)
