"""Versions of A3S Code, the kinds of its errors, and its tools."""

from __future__ import annotations

import enum
from typing import Final

from policy.hosts.versions import HostVersion, Since
from policy.tables.dialect import Argument, ArgumentKind, Dialect

__all__ = [
    "MODES",
    "NEWEST",
    "QUERIES",
    "SHIPPED",
    "SPAWNING",
    "A3sErrorKind",
    "A3sProfile",
    "Lane",
    "dialect",
    "lane_of",
]


class A3sProfile(HostVersion):
    """One version of A3S, and what differs in it."""

    HOST = "a3s"
    EXAMPLE = "9"

    # An agent without permissions of its own has those of its parent.
    children_are_checked = Since(2, 5)
    # The permissions of the session bound the calls of a script.
    governs_inner_calls = Since(5)
    # A tool that no rule allows is not shown to the model.
    hides_tools = Since(5, 2, 8)
    # The permissions of the parent bound an agent that has its own.
    parent_bounds = Since(5, 3, 1)
    # `search` stands for `grep`, `glob` and `bm25`.
    one_search = Since(6, 8)
    # A hook may answer for the person who would confirm.
    has_request_hooks = Since(6, 9)
    # The style of a session is a bound of its own.
    has_styles = Since(8, 3)
    # There is a tool `update_plan`.
    has_plan_tool = Since(8, 4)
    # `lane:query` may stand among the rules that allow.
    has_lanes = Since(9)
    # Only a person confirms; before, a timeout or a trusted lane did as well.
    waits_for_people = Since(9)


NEWEST: Final = A3sProfile((9, 1, 2))


# --- errors ---------------------------------------------------------------------------


class A3sErrorKind(enum.Enum):
    """The kinds of errors. The values are a contract: add, never rename."""

    # agent files
    AGENT_PARSE = "agent_parse"
    NAME_REQUIRED = "agent_name_required"
    NO_FRONT_MATTER = "no_frontmatter"
    UNKNOWN_AGENT = "unknown_agent"
    ALIAS_CONFLICT = "alias_conflict"
    # permissions
    POLICY_PARSE = "policy_parse"
    RULE = "malformed_rule"  # only of `PermissionRule.checked`
    PERMISSIVE = "permissive_removed"
    # agent directories and script tools
    NO_DIRECTORY = "agent_dir_not_found"
    NO_INSTRUCTIONS = "missing_instructions"
    ESCAPES = "escapes_directory"
    BAD_FRONT_MATTER = "bad_frontmatter"
    MCP_CONFIG = "mcp_config"
    UNKNOWN_KIND = "unknown_kind"
    DUPLICATE_TOOL = "duplicate_tool_name"
    SCRIPT_PATH_ABSOLUTE = "script_path_absolute"
    SCRIPT_PATH_ESCAPE = "script_path_escape"
    SCRIPT_PATH_EXTENSION = "script_path_extension"
    LIMIT = "limit_out_of_range"
    SCHEDULE = "schedule_cron_required"
    # the `program` tool
    PROGRAM_TYPE = "unsupported_program_type"
    LANGUAGE = "unsupported_language"
    SOURCE_SIZE = "script_source_too_large"
    SOURCE_FORBIDDEN = "script_source_forbidden"
    NO_ENTRY_POINT = "script_no_entrypoint"
    TOO_MANY_CALLS = "max_tool_calls_exceeded"
    # starting agents
    TASK_ARGUMENTS = "task_arguments"

    __hash__ = object.__hash__


# --- tools: the argument that a rule sees, and their lanes ----------------------------


# The modes of `search`, each of which was a tool of its own before.
MODES: Final = ("grep", "glob", "bm25")

# The tools that start agents. A started agent has none of them.
SPAWNING: Final = ("task", "parallel_task")

# The tools of the host itself in any version.
SHIPPED: Final = frozenset(
    "bash read write edit download search grep glob ls list_files git patch batch program skill"
    " task parallel_task web_fetch web_search update_plan generate_object dynamic_workflow"
    " code_symbols code_navigation code_diagnostics runtime".split()
)

_TEXT: Final = ArgumentKind.LENIENT


def _arguments(profile: A3sProfile) -> dict[str, Argument]:
    path = Argument(_TEXT, ("file_path",), absent="")
    arguments = {
        "bash": Argument(_TEXT, ("command",), absent=""),
        "read": Argument(ArgumentKind.FILES, ("file_path", "files"), absent=""),
        "write": path,
        "edit": path,
        "download": path,
        "ls": Argument(_TEXT, ("path",), absent=""),
    }
    if profile.one_search:
        arguments["search"] = Argument(ArgumentKind.JOINED, ("mode", "query", "path"))
    else:
        arguments["glob"] = Argument(_TEXT, ("pattern",), absent="")
        arguments["grep"] = Argument(ArgumentKind.JOINED, ("pattern", "path"))
    return arguments


def dialect(profile: A3sProfile) -> Dialect:
    """Return how the host names tools and reads calls.

    A rule that names one tool ignores case. A rule for a tool without an entry here sees all
    arguments, as JSON.
    """
    found = _DIALECTS.get(profile)
    if found is None:
        found = _DIALECTS[profile] = Dialect(
            str(profile),
            arguments=_arguments(profile),
            other=Argument(ArgumentKind.JSON, ()),
            fold_names=True,
        )
    return found


_DIALECTS: Final[dict[A3sProfile, Dialect]] = {}


class Lane(enum.Enum):
    """The queues of the host. No tool is in the last two."""

    QUERY = "query"
    EXECUTE = "execute"
    CONTROL = "control"
    GENERATE = "generate"

    __hash__ = object.__hash__


# The tools of the query lane, with these exact names; every other tool is in the execute lane.
QUERIES: Final = (
    "read",
    "ls",
    "list_files",
    "search",
    "web_fetch",
    "web_search",
    "code_symbols",
    "code_navigation",
    "code_diagnostics",
)


def lane_of(tool: str) -> Lane:
    """Return the lane of a call of *tool*."""
    return Lane.QUERY if tool in QUERIES else Lane.EXECUTE
