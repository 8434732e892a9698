"""A session of Claude Code whose project says what is allowed: what most tests of it ask."""

from __future__ import annotations

import json

from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.tables.chain import Chain
from policy.tables.table import Table

__all__ = ["decide", "table"]


def table(
    mode: str = "default", links: dict[str, str] | None = None, **permissions: object
) -> Table:
    """Return what is in force in `/srv/app` where its settings say *permissions*."""
    settings = json.dumps({"permissions": permissions})
    options = ClaudeOptions(cwd="/srv/app", home="/home/alice", mode=mode, links=links or {})
    (project,) = load(Memory({".claude/settings.json": settings}), options)
    return Chain.start("main", project.enforced).table


def decide(command: str, mode: str = "default", **permissions: object) -> Effect:
    """Return what a command gets there."""
    return table(mode, **permissions).decide("Bash", {"command": command}).effect
