"""Files of an agent directory: a header and a text, each a tool or a schedule."""

from __future__ import annotations

import re
from typing import Final

import attrs

from policy.documents.node import Mapping, describe, plain
from policy.documents.yaml_nodes import read_yaml
from policy.errors import PolicyError
from policy.hosts.a3s.errors import A3sError, Kind
from policy.hosts.a3s.reading_nodes import Fields, first_of, is_null
from policy.hosts.a3s.scripts import LIMITS, ScriptToolLimits, ScriptToolSpec
from policy.hosts.keys import Keys, Unapplied, unapplied_keys
from policy.source import Source, Span

__all__ = ["McpTool", "Schedule", "ToolSpec", "check_path", "read_schedule", "read_tool"]


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


def _header(source: Source, what: str, need: str) -> tuple[Mapping, str]:
    """Return the keys of the header and the text below it."""
    text = source.text
    opening = _OPENING.match(text)
    start = opening.end() if opening else 0
    found = [(text.find(fence, start), fence) for fence in _CLOSING]
    end, fence = next((pair for pair in found if pair[0] >= 0), (-1, ""))
    if opening is None or end < 0:
        msg = f"{what} has no YAML frontmatter ({need})"
        help_ = "start the file with `---`, the keys, and `---` on a line of its own"
        raise A3sError(Kind.NO_FRONT_MATTER, msg, source.whole(), help=help_)
    try:
        node = read_yaml(source, start, end)
    except PolicyError as error:
        raise first_of(error, Kind.BAD_FRONT_MATTER, f"{what} frontmatter: ") from None
    if not isinstance(node, Mapping):
        msg = f"{what} frontmatter: expected keys and values, found {describe(node)}"
        raise A3sError(Kind.BAD_FRONT_MATTER, msg, node.span)
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
    header = Fields(node, Kind.BAD_FRONT_MATTER, f"{what} frontmatter: ")
    kind = header.text("kind")
    match kind:
        case "script":
            prefix = f"{what} (kind=script)"
            fields = Fields(node, Kind.BAD_FRONT_MATTER, f"{prefix} frontmatter: ")
            return _script(fields, prefix, _stem(source), body)
        case "mcp":
            return _mcp(Fields(node, Kind.MCP_CONFIG, f"{what} (kind=mcp) {_NO_SERVER}: "))
        case _:
            msg = f"{what} has unsupported kind `{kind}` (supported: `mcp`, `script`)"
            raise A3sError(Kind.UNKNOWN_KIND, msg, header.span("kind"))


_NO_SERVER: Final = "is not a valid MCP server config"
_KEYS: Final = frozenset({"kind", "name", "description", "path", "allowed_tools", "limits"})


def _script(fields: Fields, what: str, stem: str, body: str) -> ScriptToolSpec:
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
            raise A3sError(Kind.LIMIT, msg, limits.span(limit.key))
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
        unknown=_unknown(node, _KEYS),
        unknown_limits=_unknown(limits.node, frozenset(limit.key for limit in LIMITS))
        if limits
        else (),
    )


def _unknown(node: Mapping, known: frozenset[str]) -> tuple[tuple[str, Span], ...]:
    return tuple((entry.name, entry.key.span) for entry in node.entries if entry.name not in known)


def _mcp(fields: Fields) -> McpTool:
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
        raise A3sError(Kind.SCRIPT_PATH_EXTENSION, msg, span)
    if path.startswith(("/", "\\")) or _DRIVE.match(path):
        msg = f"{what}: script path must be relative to the workspace"
        raise A3sError(Kind.SCRIPT_PATH_ABSOLUTE, msg, span)
    if ".." in re.split(r"[/\\]", path):
        msg = f"{what}: script path must not contain parent directory traversal"
        raise A3sError(Kind.SCRIPT_PATH_ESCAPE, msg, span)


# --- schedules ---------------------------------------------------------------


def read_schedule(source: Source) -> Schedule:
    """Return the schedule that a file of ``schedules/`` defines.

    Raises:
        A3sError: it has no header, or the header says no time.

    """
    what = f"schedule {source.name}"
    node, _ = _header(source, what, "need `cron:`")
    fields = Fields(node, Kind.SCHEDULE, f"{what} frontmatter: ")
    cron, name = fields.text("cron"), fields.optional_text("name")
    enabled = is_null(node.get("enabled")) or fields.truth("enabled")
    stem = _stem(source)
    unapplied = tuple(unapplied_keys(node, _SCHEDULE_KEYS))
    return Schedule(stem if name is None else name, cron, enabled, fields.span("cron"), unapplied)
