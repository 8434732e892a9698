"""The variables of Claude Code 2.1.329 that settings may set and that decide calls."""

from __future__ import annotations

from typing import Final

__all__ = ["AGENTS_OFF", "DEPTH", "FOREGROUND", "ON", "TOOLS_OFF"]

# What switches one on, in letters of any case.
ON: Final = frozenset({"1", "true", "yes", "on"})

# How many levels of agents may follow below the main conversation.
DEPTH: Final = "CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH"

# No agent is started in the background.
FOREGROUND: Final = "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"

# Variable -> the agents of the host that there are not.
AGENTS_OFF: Final = {"CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS": frozenset({"Explore", "Plan"})}

# Variable -> the tools that there are not.
TOOLS_OFF: Final = {
    "CLAUDE_CODE_DISABLE_CRON": ("CronCreate", "CronDelete", "CronList"),
    "CLAUDE_CODE_DISABLE_WEB_FETCH": ("WebFetch",),
    "CLAUDE_CODE_DISABLE_WORKFLOWS": ("Workflow",),
}
