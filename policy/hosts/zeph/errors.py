"""What Zeph refuses, by its own kinds and in its own words."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from policy.errors import PolicyError, PolicyErrors
from policy.source import Span

__all__ = ["Kind", "ZephError", "ZephErrors"]


class Kind(enum.Enum):
    """The kinds of errors of Zeph.

    Those of an agent at work are there for whoever runs one; nothing here raises them.
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
    # Of an agent at work.
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
    PATHS = "String"  # the search path is refused with a bare text
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


# How Zeph prints those whose text is not all of it.
_TEXTS = {
    Kind.PARSE: "parse error in {file}: {message}",
    Kind.INVALID: "invalid definition: {message}",
    Kind.NOT_FOUND: "agent not found: {message}",
    Kind.IO: "I/O error at {file}: {message}",
    Kind.SPAWN: "spawn failed: {message}",
    Kind.CANCELLED: "cancelled",
    Kind.INVALID_COMMAND: "invalid command: {message}",
    Kind.TRANSCRIPT: "transcript error: {message}",
    Kind.MEMORY: "memory error for agent {message}",  # "'NAME': REASON"
    Kind.LLM: "LLM call failed: {message}",
    Kind.CHANNEL: "channel send failed: {message}",
    Kind.TASK_PANIC: "task panicked: {message}",
    Kind.WORKTREE_SETUP: "worktree setup failed: {message}",
    Kind.DURABLE: "durable error: {message}",
    Kind.FILE_LOAD: "failed to load policy file {file}: {message}",
    Kind.FILE_TOO_LARGE: "{message}: {file}",
    Kind.FILE_ESCAPES_ROOT: "{message}: {file}",
    Kind.FILE_PARSE: "failed to parse policy file {file}: {message}",
}


class ZephError(PolicyError):
    """A mistake as Zeph reports it, and where it is.

    Attributes:
        kind: of the error.

    """

    def __init__(
        self, kind: Kind, message: str, span: Span | None = None, *, help: str = "", file: str = ""
    ) -> None:
        super().__init__(message, span, help=help, file=file)
        self.kind = kind

    @property
    def upstream(self) -> str:
        """The text that Zeph prints."""
        text = _TEXTS.get(self.kind, "{message}")
        return text.format(file=self.file or "<unknown>", message=self.message)


class ZephErrors(ZephError, PolicyErrors):
    """Every independent mistake of one definition; the kind is that of the first."""

    def __init__(self, errors: Iterable[ZephError]) -> None:
        PolicyErrors.__init__(self, errors)
        self.kind = next(error.kind for error in self.errors if isinstance(error, ZephError))

    __str__ = PolicyErrors.__str__
