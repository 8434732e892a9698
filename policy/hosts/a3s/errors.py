"""What A3S refuses, by kind and in its own words."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from policy.errors import PolicyError, PolicyErrors
from policy.source import Span

__all__ = ["A3sError", "A3sErrors", "Kind"]


class Kind(enum.Enum):
    """The kinds of errors. The values are a contract: add, never rename."""

    # agent files
    AGENT_PARSE = "agent_parse"
    NAME_REQUIRED = "agent_name_required"
    NO_FRONT_MATTER = "no_frontmatter"
    UNKNOWN_AGENT = "unknown_agent"
    ALIAS_CONFLICT = "alias_conflict"
    # permissions
    POLICY_PARSE = "policy_parse"
    RULE = "malformed_rule"  # in strict reading only
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


class A3sError(PolicyError):
    """A mistake as A3S reports it, and where it is.

    Attributes:
        kind: of the error.

    """

    def __init__(
        self, kind: Kind, message: str, span: Span | None = None, *, help: str = "", file: str = ""
    ) -> None:
        super().__init__(message, span, help=help, file=file)
        self.kind = kind


class A3sErrors(A3sError, PolicyErrors):
    """Every independent mistake of one file; the kind is that of the first."""

    def __init__(self, errors: Iterable[A3sError]) -> None:
        PolicyErrors.__init__(self, errors)
        self.kind = next(error.kind for error in self.errors if isinstance(error, A3sError))

    __str__ = PolicyErrors.__str__
