"""The agents and pools of Claude Code 2.1.329."""

from __future__ import annotations

from typing import Final

__all__ = [
    "BACKGROUND",
    "BUILT_IN",
    "CHOICES",
    "FIELDS",
    "FORK",
    "GENERAL",
    "MEMORY_TOOLS",
    "MODES",
    "NEVER_BELOW",
    "OF_TEAMS",
]

GENERAL: Final = "general-purpose"
FORK: Final = "fork"

# Agent -> the tools it has (None is all), the tools it has not.
BUILT_IN: Final[dict[str, tuple[tuple[str, ...] | None, tuple[str, ...]]]] = {
    "Explore": (None, ("Agent", "Edit", "NotebookEdit", "Write")),
    "Plan": (None, ("Agent", "Edit", "NotebookEdit", "Write")),
    "claude": (None, ()),
    FORK: (None, ()),
    GENERAL: (None, ()),
    "statusline-setup": (("Read", "Edit"), ()),
}

# No agent below the main conversation has these.
NEVER_BELOW: Final = frozenset(
    "AskUserQuestion EndConversation EnterPlanMode ExitPlanMode ScheduleWakeup TaskOutput"
    " WaitForMcpServers Workflow".split()
)

# An agent in the background has at most these, and what servers offer.
BACKGROUND: Final = frozenset(
    "Agent Artifact Bash Edit EnterWorktree ExitPlanMode ExitWorktree Glob Grep LSP Monitor"
    " NotebookEdit PowerShell Read SendMessage Skill SubagentHandback TaskStop"
    " TodoWrite ToolSearch WebFetch WebSearch Write".split()
)

# What a member of a team has as well.
OF_TEAMS: Final = frozenset("SendMessage TaskCreate TaskGet TaskList TaskUpdate".split())

# What `memory` gives an agent, whatever its lists say.
MEMORY_TOOLS: Final = ("Read", "Write", "Edit")

MODES: Final = ("default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")

# What the call that starts an agent may say of some things; it is refused where it says more
# (`InputValidationError`, 2.1.329).
CHOICES: Final = {
    "Agent": (
        ("model", ("fable", "haiku", "opus", "sonnet")),
        ("isolation", ("remote", "worktree")),
        ("mode", (*MODES, "manual")),
    ),
}

# The keys of an agent's front matter that mean something.
FIELDS: Final = frozenset(
    "background color description disallowedTools effort hooks initialPrompt isolation maxTurns"
    " mcpServers memory model name permissionMode skills tools".split()
)
