"""The tools of A3S: what a rule speaks of in a call of each, and their lanes."""

from __future__ import annotations

import enum
from typing import Final

from policy.dialect import Argument, ArgumentKind, Dialect
from policy.hosts.a3s.versions import Profile

__all__ = ["MODES", "QUERIES", "SHIPPED", "SPAWNING", "Lane", "dialect", "lane_of"]

# The modes of `search`, each a tool of its own before there was one for all.
MODES: Final = ("grep", "glob", "bm25")

# The tools that start agents. An agent that was started has none of them.
SPAWNING: Final = ("task", "parallel_task")

# The tools of the host itself in any version, by which a rule for no tool is told.
SHIPPED: Final = frozenset(
    "bash read write edit download search grep glob ls list_files git patch batch program skill"
    " task parallel_task web_fetch web_search update_plan generate_object dynamic_workflow"
    " code_symbols code_navigation code_diagnostics runtime".split()
)

_TEXT: Final = ArgumentKind.LENIENT


def _arguments(profile: Profile) -> dict[str, Argument]:
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


def dialect(profile: Profile) -> Dialect:
    """Return how the host names tools and reads calls.

    A rule that names one tool ignores the case of its letters. Of a tool that
    is not listed here a rule sees all arguments, as JSON.
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


_DIALECTS: Final[dict[Profile, Dialect]] = {}


class Lane(enum.Enum):
    """Where the host queues a call. No tool is in the last two."""

    QUERY = "query"
    EXECUTE = "execute"
    CONTROL = "control"
    GENERATE = "generate"

    __hash__ = object.__hash__


# The tools of the first lane, in this case only; all others are in the second.
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
