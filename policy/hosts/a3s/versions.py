"""Versions of A3S Code, its tools, the kinds of its errors, and the texts of its findings."""

from __future__ import annotations

import enum
from functools import cache
from typing import Final

from policy.hosts.data import FindingTexts, arguments_of, host_table
from policy.hosts.versions import HostVersion, Since
from policy.tables.dialect import Argument, ArgumentKind, Dialect

__all__ = [
    "MODES",
    "NEWEST",
    "QUERIES",
    "SHIPPED",
    "SPAWNING",
    "TOOLS",
    "A3sErrorKind",
    "A3sProfile",
    "Lane",
    "dialect",
    "finding",
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


finding: Final = FindingTexts("policy.hosts.a3s")

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


# --- tools: the argument that a rule sees, and their lanes ----------------------------


TOOLS: Final = host_table("a3s", "tools")
MODES: Final = tuple(TOOLS["modes"])
SPAWNING: Final = tuple(TOOLS["spawning"])
SHIPPED: Final = frozenset(TOOLS["shipped"])
QUERIES: Final = tuple(TOOLS["queries"])


@cache
def dialect(profile: A3sProfile) -> Dialect:
    """Return how the host names tools and reads calls.

    A rule that names one tool ignores case. A rule for a tool without an entry here sees all
    arguments, as JSON.
    """
    searches = TOOLS["one_search" if profile.one_search else "several_searches"]
    return Dialect(
        str(profile),
        arguments=arguments_of({**TOOLS["arguments"], **searches}),
        other=Argument(ArgumentKind.JSON, ()),
        fold_names=True,
    )


class Lane(enum.Enum):
    """The queues of the host. No tool is in the last two."""

    QUERY = "query"
    EXECUTE = "execute"
    CONTROL = "control"
    GENERATE = "generate"


def lane_of(tool: str) -> Lane:
    """Return the lane of a call of *tool*."""
    return Lane.QUERY if tool in QUERIES else Lane.EXECUTE
