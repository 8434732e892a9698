"""The tools of Zeph, the kinds of its errors, and the texts of its findings."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Final

from policy.hosts.data import FindingTexts, host_table
from policy.hosts.errors import HostError
from policy.tables.dialect import BLANKS

__all__ = [
    "EDITING",
    "GROUPS",
    "KNOWN",
    "PROGRAMS",
    "SESSION",
    "SHELLS",
    "TOOLS",
    "WORKING_DIRECTORY",
    "ZephErrorKind",
    "find",
    "intersect_allowlists",
    "normalize",
    "upstream_text",
]


TOOLS: Final = host_table("zeph", "tools")
PROGRAMS: Final[dict[str, list[str]]] = TOOLS["programs"]
GROUPS: Final[dict[str, list[str]]] = TOOLS["groups"]
KNOWN: Final = frozenset(name for names in GROUPS.values() for name in names)
SHELLS: Final = frozenset(TOOLS["shells"])
EDITING: Final = tuple(GROUPS["editing"])
(WORKING_DIRECTORY,) = GROUPS["worktree"]

find: Final = FindingTexts("policy.hosts.zeph")

# Stands for the file of findings about a session that no file describes.
SESSION: Final = "<session>"


def normalize(name: str) -> str:
    """Return the id that *name* stands for, e.g. ``bash`` for ``Bash(cargo *)``."""
    return name.partition("(")[0].strip(BLANKS).lower()


def intersect_allowlists(
    one: Iterable[str] | None, other: Iterable[str] | None, *, exactly: bool = False
) -> frozenset[str] | None:
    """Return the tools that both lists allow; None is no restriction, an empty list no tool.

    Args:
        one: a list of tools, or None.
        other: a list of tools, or None.
        exactly: whether names are compared as written, as Zeph does here; then a name in
            another case is dropped.

    """
    if one is None or other is None:
        given = one if other is None else other
        return None if given is None else frozenset(given)
    if exactly:
        return frozenset(one) & frozenset(other)
    wanted = set(map(normalize, other))
    return frozenset(name for name in one if normalize(name) in wanted)


# --- errors ---------------------------------------------------------------------------


class ZephErrorKind(enum.Enum):
    """The kinds of errors of Zeph.

    Those of running agents are for programs that run them; nothing here raises them.
    """

    PARSE = "Parse"
    INVALID = "Invalid"
    NOT_FOUND = "NotFound"
    IO = "Io"
    CONCURRENCY_LIMIT = "ConcurrencyLimit"
    SESSION_SPAWN_LIMIT = "SessionSpawnLimit"
    MAX_DEPTH_EXCEEDED = "MaxDepthExceeded"
    DELEGATION_DENIED = "DelegationDenied"
    SPAWN_DENIED = "SpawnDenied"
    STILL_RUNNING = "StillRunning"
    AMBIGUOUS_ID = "AmbiguousId"
    # Of running agents.
    SPAWN = "Spawn"
    CANCELLED = "Cancelled"
    INVALID_COMMAND = "InvalidCommand"
    TRANSCRIPT = "Transcript"
    INTEGRITY = "Integrity"
    MEMORY = "Memory"
    LLM = "Llm"
    CHANNEL = "Channel"
    TASK_PANIC = "TaskPanic"
    WORKTREE_SETUP = "WorktreeSetup"
    DURABLE = "Durable"
    PATHS = "String"  # Zeph has no kind for a missing search path
    # Of the policies of a session.
    INVALID_GLOB = "InvalidGlob"
    INVALID_REGEX = "InvalidRegex"
    REGEX_TOO_LONG = "RegexTooLong"
    TOO_MANY_RULES = "TooManyRules"
    FILE_LOAD = "FileLoad"
    FILE_TOO_LARGE = "FileTooLarge"
    FILE_ESCAPES_ROOT = "FileEscapesRoot"
    FILE_PARSE = "FileParse"
    INVALID_PATTERN = "InvalidPattern"
    DEAD_PATTERN = "DeadPattern"
    ACCIDENTALLY_FULL = "AccidentallyFull"
    UNQUALIFIED_ID = "UnqualifiedId"


def upstream_text(error: HostError) -> str:
    """Return the text that Zeph prints for *error*."""
    text = str(host_table("zeph", "errors").get(error.kind.value, "{message}"))
    return text.format(file=error.file or "<unknown>", message=error.message)
