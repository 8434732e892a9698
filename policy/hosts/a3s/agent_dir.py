"""Agent directories: instructions, tools and schedules in one folder, all or nothing."""

from __future__ import annotations

import attrs

from policy.files.opening import Tree
from policy.hosts.a3s.errors import A3sError, Kind
from policy.hosts.a3s.scripts import ScriptToolSpec
from policy.hosts.a3s.tool_files import McpTool, Schedule, ToolSpec, read_schedule, read_tool

__all__ = ["AgentDir", "McpTool", "Schedule", "ToolSpec", "load_agent_dir", "register"]


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
            msg = f"duplicate tool name `{tool.name}` in {path}"
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


def register(
    directory: AgentDir, built_in: frozenset[str]
) -> tuple[tuple[ToolSpec, ...], tuple[ToolSpec, ...]]:
    """Return the tools that the host registers, and those it refuses.

    It refuses a tool with the name of one that it has itself, and warns.
    """
    kept = tuple(tool for tool in directory.tools if tool.name not in built_in)
    return kept, tuple(tool for tool in directory.tools if tool.name in built_in)
