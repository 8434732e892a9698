"""The hooks of Claude Code 2.1.329: when they run, and what one wrong value costs."""

from __future__ import annotations

from typing import Final

from policy.documents.shapes import Kind, Listed, Named, Shape, Word

__all__ = ["EVENTS", "FIELDS", "GUARDS", "OF_FILES", "TOOL_EVENTS", "TYPES", "UNSCANNED"]

# A wrong value below one of these costs the whole settings file, below another nothing.
GUARDS: Final = ("PreToolUse", "PermissionRequest")

# Whose matcher is about the tool of a call, and whose hooks may have an `if`.
TOOL_EVENTS: Final = frozenset({*GUARDS, "PostToolUse", "PostToolUseFailure", "PermissionDenied"})

EVENTS: Final = TOOL_EVENTS | frozenset(
    "ConfigChange CwdChanged Elicitation ElicitationResult FileChanged InstructionsLoaded"
    " Notification PostCompact PostToolBatch PreCompact SessionEnd SessionStart Setup Stop"
    " StopFailure SubagentStart SubagentStop TaskCompleted TaskCreated TeammateIdle"
    " UserPromptExpansion UserPromptSubmit WorktreeCreate WorktreeRemove MessageDisplay".split()
)

# Keys of a front matter below which no hook is looked for.
UNSCANNED: Final = frozenset({"metadata", "mcpServers", "lspServers"})

# Type of a hook -> the fields it needs.
TYPES: Final = {
    "command": ("command",),
    "prompt": ("prompt",),
    "agent": ("prompt",),
    "http": ("url",),
    "mcp_tool": ("server", "tool"),
}

# What the fields of a hook must be where they are given.
FIELDS: Final[dict[str, Shape]] = {
    "args": Listed(Kind.TEXT, "a list of strings"),
    "async": Kind.TRUTH,
    "asyncRewake": Kind.TRUTH,
    "command": Kind.TEXT,
    "headers": Named(),
    "if": Kind.TEXT,
    "model": Kind.TEXT,
    "once": Kind.TRUTH,
    "prompt": Kind.TEXT,
    "server": Kind.TEXT,
    "shell": Word("bash", "powershell"),
    "statusMessage": Kind.TEXT,
    "timeout": Kind.SECONDS,
    "tool": Kind.TEXT,
    "url": Kind.ADDRESS,
}

# The tools a condition on which may name files.
OF_FILES: Final = ("Read", "Edit", "Write", "NotebookEdit")
