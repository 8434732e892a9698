"""The tools of Zeph, and the kinds of its errors."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Final

from policy.hosts.errors import HostError
from policy.tables.dialect import BLANKS

__all__ = [
    "EDITING",
    "KNOWN",
    "NETWORK",
    "PEERS",
    "QUARANTINED",
    "READ_ONLY",
    "SHELLS",
    "WORKING_DIRECTORY",
    "ZephErrorKind",
    "intersect_allowlists",
    "normalize",
    "upstream_text",
]


# The tools that a memory needs for its files.
EDITING: Final = ("read", "write", "edit")

# Denied to an agent in a worktree of its own.
WORKING_DIRECTORY: Final = "set_working_directory"

# Names that people write for the shell, whose id is `bash`.
SHELLS: Final = frozenset({"shell", "sh", "zsh", "terminal"})

# The tools that autonomy `readonly` leaves.
READ_ONLY: Final = (
    "read",
    "find_path",
    "grep",
    "list_directory",
    "web_scrape",
    "fetch",
    "load_skill",
    "invoke_skill",
)

# The tools that quarantine denies. `web_search` is not among them.
QUARANTINED: Final = (
    "bash",
    "write",
    "edit",
    "delete_path",
    "move_path",
    "copy_path",
    "create_directory",
    "web_scrape",
    "fetch",
    "diagnostics",
    "memory_save",
    "load_skill",
    "invoke_skill",
)

# The tools whose only purpose is the network.
NETWORK: Final = ("web_scrape", "fetch", "web_search")

# The tools with which agents of a group talk to one another.
PEERS: Final = ("send_peer_message", "check_messages", "list_peers")

KNOWN: Final = frozenset({*READ_ONLY, *QUARANTINED, *NETWORK, *PEERS, *EDITING, WORKING_DIRECTORY})


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


# What Zeph prints for kinds that add to the message.
_TEXTS: Final[dict[enum.Enum, str]] = {
    ZephErrorKind.PARSE: "parse error in {file}: {message}",
    ZephErrorKind.INVALID: "invalid definition: {message}",
    ZephErrorKind.NOT_FOUND: "agent not found: {message}",
    ZephErrorKind.IO: "I/O error at {file}: {message}",
    ZephErrorKind.SPAWN: "spawn failed: {message}",
    ZephErrorKind.CANCELLED: "cancelled",
    ZephErrorKind.INVALID_COMMAND: "invalid command: {message}",
    ZephErrorKind.TRANSCRIPT: "transcript error: {message}",
    ZephErrorKind.MEMORY: "memory error for agent {message}",  # "'NAME': REASON"
    ZephErrorKind.LLM: "LLM call failed: {message}",
    ZephErrorKind.CHANNEL: "channel send failed: {message}",
    ZephErrorKind.TASK_PANIC: "task panicked: {message}",
    ZephErrorKind.WORKTREE_SETUP: "worktree setup failed: {message}",
    ZephErrorKind.DURABLE: "durable error: {message}",
    ZephErrorKind.FILE_LOAD: "failed to load policy file {file}: {message}",
    ZephErrorKind.FILE_TOO_LARGE: "{message}: {file}",
    ZephErrorKind.FILE_ESCAPES_ROOT: "{message}: {file}",
    ZephErrorKind.FILE_PARSE: "failed to parse policy file {file}: {message}",
}


def upstream_text(error: HostError) -> str:
    """Return the text that Zeph prints for *error*."""
    text = _TEXTS.get(error.kind, "{message}")
    return text.format(file=error.file or "<unknown>", message=error.message)
