"""The agents and pools of Claude Code 2.1.329."""

from __future__ import annotations

from typing import Final

from policy.inputs import Input, InputKind

__all__ = [
    "BACKGROUND",
    "BUILT_IN",
    "FIELDS",
    "FORK",
    "GENERAL",
    "MEMORY_TOOLS",
    "MODES",
    "NEVER_BELOW",
    "OF_TEAMS",
    "STARTING",
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

# What an agent may be called: no text by which somebody else is, and none of an id.
_TAKEN: Final = (
    r"main|team-lead|user|system|a(?:[\w-]+-)?[0-9a-f]{16}"
    r"|local_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?:session|cse)_(?:vrtx_|bdrk_)?(?:staging_|local_)?01[1-9a-z]{22}"
)
_CALLED: Final = rf"(?=[A-Za-z0-9_-]{{1,64}}\Z)(?!(?i:{_TAKEN})\Z)[A-Za-z0-9].*"

# What the call that starts an agent may say of some things; it is refused where it says more
# (`InputValidationError`, 2.1.329).
STARTING: Final = (
    Input("description"),
    Input("effort", words=("lower", "higher", "low", "medium", "high", "xhigh", "max")),
    Input("isolation", words=("remote", "worktree")),
    Input("mode", words=(*MODES, "manual")),
    Input("model", words=("fable", "haiku", "opus", "sonnet")),
    Input("name", spelling=_CALLED),
    Input("prompt"),
    Input("run_in_background", InputKind.FLAG),
    Input("subagent_type"),
    Input("team_name"),
)

# The keys of an agent's front matter that mean something.
FIELDS: Final = frozenset(
    "background color description disallowedTools effort hooks initialPrompt isolation maxTurns"
    " mcpServers memory model name permissionMode skills tools".split()
)
