"""Agent directories: instructions, tools and schedules in one folder, all or nothing."""

from __future__ import annotations

import re
from typing import Final, NoReturn

import attrs

from policy.documents.node import Mapping, Node, Scalar, Sequence, describe, plain
from policy.documents.yaml_nodes import read_yaml
from policy.errors import PolicyError
from policy.hosts.a3s.agent_files import header_of
from policy.hosts.a3s.errors import A3sError, Kind
from policy.hosts.a3s.reading_nodes import first_of
from policy.hosts.a3s.scripts import LIMITS, ScriptToolLimits, ScriptToolSpec
from policy.source import Source, Span
from policy.tree import Tree

__all__ = ["AgentDir", "McpTool", "Schedule", "ToolSpec", "load_agent_dir", "register"]


@attrs.frozen
class McpTool:
    """A server of tools, whose tools are governed like any others."""

    name: str
    transport: object = attrs.field(hash=False)
    span: Span | None = attrs.field(default=None, eq=False, repr=False)


ToolSpec = ScriptToolSpec | McpTool


@attrs.frozen
class Schedule:
    """A time at which the agent starts with nobody there."""

    name: str
    cron: str
    enabled: bool = True
    span: Span | None = attrs.field(default=None, eq=False, repr=False)


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
        raise A3sError(Kind.NO_DIRECTORY, f"agent directory not found: {root or '.'}", file=root)
    instructions = f"{prefix}instructions.md"
    if instructions in outside:
        msg = (
            f"agent dir {root or '.'} instructions.md must be a regular file"
            " inside the agent directory"
        )
        raise A3sError(Kind.ESCAPES, msg, file=instructions)
    if instructions not in there:
        msg = f"agent dir {root or '.'} is missing required instructions.md: {instructions}"
        raise A3sError(Kind.NO_INSTRUCTIONS, msg, file=root or ".")
    acl = f"{prefix}agent.acl"
    if acl in outside:
        raise A3sError(Kind.ESCAPES, "agent.acl must stay inside the agent directory", file=acl)
    tools, names = [], dict[str, ToolSpec]()
    files = [instructions, *([acl] if acl in there else [])]
    for path in _direct(there, f"{prefix}tools/"):
        tool = read_tool(tree.source(path))
        if tool.name in names:
            msg = f"duplicate tool name `{tool.name}` in {prefix}tools"
            raise A3sError(Kind.DUPLICATE_TOOL, msg, tool.span, file=path)
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


# --- tools -------------------------------------------------------------------


def read_tool(source: Source) -> ToolSpec:
    """Return the tool that a file of ``tools/`` defines.

    Raises:
        A3sError: it defines none.

    """
    stem = source.name.rpartition("/")[2].removesuffix(".md")
    header, body = _header(source, f"tool {stem}", "(need `kind:`)")
    reader = _Tool(header, stem, body)
    kind = reader.text("kind", required=True)
    match kind:
        case "script":
            return reader.script()
        case "mcp":
            return reader.mcp()
        case _:
            msg = f"tool {stem} has unsupported kind `{kind}` (supported: `mcp`, `script`)"
            raise A3sError(Kind.UNKNOWN_KIND, msg, reader.span("kind"))


def _header(source: Source, what: str, need: str) -> tuple[Mapping, str]:
    try:
        start, end, body = header_of(source)
    except A3sError as error:
        msg = f"{what} has no YAML frontmatter {need}"
        raise A3sError(Kind.NO_FRONT_MATTER, msg, error.span) from None
    try:
        node = read_yaml(source, start, end)
    except PolicyError as error:
        raise first_of(
            error,
            lambda text, span: A3sError(Kind.BAD_FRONT_MATTER, f"{what} frontmatter: {text}", span),
        ) from None
    if not isinstance(node, Mapping):
        msg = f"{what} frontmatter: expected keys and values"
        raise A3sError(Kind.BAD_FRONT_MATTER, msg, node.span)
    return node, source.text[body:].strip()


@attrs.frozen
class _Tool:
    node: Mapping
    stem: str
    body: str

    def span(self, key: str) -> Span:
        """Return where the value of *key* is written, or the header."""
        found = self.node.get(key)
        return found.span if found else self.node.span

    def text(self, key: str, *, required: bool = False) -> str | None:
        """Return the text at *key*."""
        node = self.node.get(key)
        if node is None or (isinstance(node, Scalar) and node.value is None):
            if required:
                self.fail(f"missing field `{key}`", self.node.span)
            return None
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            self.fail(f"expected a string at `{key}`, found {describe(node)}", node.span)
        return str(node.value)

    def fail(self, message: str, span: Span) -> NoReturn:
        """Refuse the header."""
        raise A3sError(Kind.BAD_FRONT_MATTER, f"tool {self.stem} frontmatter: {message}", span)

    def script(self) -> ScriptToolSpec:
        """Return the script that the header describes."""
        path = self.text("path", required=True) or ""
        span = self.span("path")
        check_path(path, f"tool {self.stem} (kind=script)", span)
        listed = self.node.get("allowed_tools")
        name = self.node.get("name")
        return ScriptToolSpec(
            self.text("name") or self.stem,
            self.text("description") or self.body,
            path,
            self._names(listed),
            self._limits(self.node.get("limits")),
            omitted=listed is None,
            span=name.span if name else span,
            list_span=listed.span if listed else None,
        )

    def _names(self, node: Node | None) -> tuple[str, ...]:
        if node is None or (isinstance(node, Scalar) and node.value is None):
            return ()
        if not isinstance(node, Sequence):
            self.fail(f"expected a list at `allowed_tools`, found {describe(node)}", node.span)
        for item in node.items:
            if not isinstance(item, Scalar) or not isinstance(item.value, str):
                self.fail(
                    f"expected a string in `allowed_tools`, found {describe(item)}", item.span
                )
        return tuple(str(item.value) for item in node.items if isinstance(item, Scalar))

    def _limits(self, node: Node | None) -> ScriptToolLimits:
        if node is None or (isinstance(node, Scalar) and node.value is None):
            return ScriptToolLimits()
        if not isinstance(node, Mapping):
            self.fail(f"expected a mapping at `limits`, found {describe(node)}", node.span)
        return ScriptToolLimits(*(self._limit(node, limit.key, limit.largest) for limit in LIMITS))

    def _limit(self, node: Mapping, key: str, largest: int) -> int | None:
        value = node.get(key)
        if value is None or (isinstance(value, Scalar) and value.value is None):
            return None
        if not isinstance(value, Scalar) or type(value.value) is not int or value.value < 0:
            self.fail(
                f"expected an unsigned number at `{key}`, found {describe(value)}", value.span
            )
        if not 1 <= value.value <= largest:
            msg = f"tool {self.stem} limit {key}={value.value} is out of range [1, {largest}]"
            raise A3sError(Kind.LIMIT, msg, value.span)
        return value.value

    def mcp(self) -> McpTool:
        """Return the server that the header describes."""
        transport = self.node.get("transport")
        name = self.node.get("name")
        named = isinstance(name, Scalar) and isinstance(name.value, str) and name.value
        missing = "name" if not named else "transport" if transport is None else ""
        if missing or transport is None:
            msg = (
                f"tool {self.stem} (kind=mcp) is not a valid MCP server config:"
                f" missing field `{missing}`"
            )
            raise A3sError(Kind.MCP_CONFIG, msg, self.node.span)
        return McpTool(str(named), repr(plain(transport)), name.span if name else None)


_DRIVE: Final = re.compile(r"[A-Za-z]:")


def check_path(path: str, what: str, span: Span | None = None) -> None:
    """Refuse a path that may not name the source of a script.

    Raises:
        A3sError: it is blank, absolute, leads up, or is no script.

    """
    if not path.strip():
        raise A3sError(Kind.SCRIPT_PATH_EMPTY, f"{what} script path cannot be empty", span)
    if path.startswith(("/", "\\")) or _DRIVE.match(path):
        msg = f"{what} script path must be relative to the workspace"
        raise A3sError(Kind.SCRIPT_PATH_ABSOLUTE, msg, span)
    if ".." in re.split(r"[/\\]", path):
        msg = f"{what} script path must not contain parent directory traversal"
        raise A3sError(Kind.SCRIPT_PATH_ESCAPE, msg, span)
    if not path.endswith((".js", ".mjs")):
        msg = f"{what} path `{path}` must point to a .js or .mjs file"
        raise A3sError(Kind.SCRIPT_PATH_EXTENSION, msg, span)


# --- schedules ---------------------------------------------------------------


def read_schedule(source: Source) -> Schedule:
    """Return the schedule that a file of ``schedules/`` defines.

    Raises:
        A3sError: it has no header, or the header says no time.

    """
    stem = source.name.rpartition("/")[2].removesuffix(".md")
    node, _ = _header(source, f"schedule {stem}", "(need `cron:`)")
    cron, name, enabled = node.get("cron"), node.get("name"), node.get("enabled")
    if not isinstance(cron, Scalar) or not isinstance(cron.value, str) or not cron.value.strip():
        span = cron.span if cron else node.span
        raise A3sError(Kind.SCHEDULE, f"schedule {stem} has no `cron`", span)
    named = name.value if isinstance(name, Scalar) and isinstance(name.value, str) else stem
    off = isinstance(enabled, Scalar) and enabled.value is False
    return Schedule(named, cron.value, not off, cron.span)


def register(
    directory: AgentDir, built_in: frozenset[str]
) -> tuple[tuple[ToolSpec, ...], tuple[ToolSpec, ...]]:
    """Return the tools that are registered, and those whose name is taken by the host."""
    kept = tuple(tool for tool in directory.tools if tool.name not in built_in)
    return kept, tuple(tool for tool in directory.tools if tool.name in built_in)
