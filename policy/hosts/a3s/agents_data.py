"""The agents that A3S ships, its kinds of workers, and the names both go by."""

from __future__ import annotations

from typing import Final

import attrs

from policy.effect import Effect
from policy.hosts.a3s.permissions import PermissionPolicy
from policy.hosts.a3s.versions import Profile

__all__ = ["AGENT_ALIASES", "KINDS", "SHIPPED_AGENTS", "Preset", "Shipped", "kind_of", "policy_of"]

_READING: Final = ("read", "search", "ls")
_WEB: Final = ("web_fetch", "web_search")
_CHANGING: Final = ("write", "edit", "download")
_STARTING: Final = ("task", "parallel_task")
# Each is a prefix without a boundary, so that `lsof` and `find . -delete` pass too.
_LOOKING: Final = tuple(f"Bash({name}:*)" for name in "ls cat head tail find wc".split())

# Name of a table -> what it allows, what it denies, and its default.
_TABLES: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...], Effect]]] = {
    "explore": (
        (*_READING, *_WEB, "update_plan", *_LOOKING),
        (*_CHANGING, *_STARTING, "Bash(rm:*)", "Bash(mv:*)", "Bash(cp:*)"),
        Effect.DENY,
    ),
    "plan": ((*_READING, "update_plan"), (*_CHANGING, "bash", *_STARTING), Effect.DENY),
    "verification": (
        (*_READING, "bash", *_WEB, "update_plan"),
        (*_CHANGING, *_STARTING),
        Effect.DENY,
    ),
    "general": (
        (
            *("read", "write", "edit", "search", "ls", "bash", *_WEB, "download", "git"),
            *("patch", "batch", "generate_object"),
        ),
        _STARTING,
        Effect.ASK,
    ),
    "": ((), (), Effect.ASK),
}


def policy_of(table: str, profile: Profile) -> PermissionPolicy:
    """Return the policy of the table of that name, as a version has it."""
    allow, deny, default = _TABLES[table]
    if not profile.one_search:
        allow = tuple(name for tool in allow for name in _before_search(tool))
    if not profile.has_plan_tool:
        allow = tuple(tool for tool in allow if tool != "update_plan")
    return PermissionPolicy.of(allow=allow, deny=deny, default=default, profile=profile)


def _before_search(tool: str) -> tuple[str, ...]:
    return ("grep", "glob") if tool == "search" else (tool,)


@attrs.frozen
class Shipped:
    """An agent of the host itself.

    Attributes:
        table: the name of its table.
        description: one line.
        hidden: whether it is left out of lists.
        tool_free: whether it has no tool.
        confirmation: who confirms what it asks for, or "".

    """

    table: str
    description: str
    hidden: bool = False
    tool_free: bool = False
    confirmation: str = ""


SHIPPED_AGENTS: Final = {
    "explore": Shipped("explore", "looks things up"),
    "plan": Shipped("plan", "makes plans"),
    "verification": Shipped("verification", "checks what was done"),
    "review": Shipped("verification", "reviews changes"),
    "general": Shipped("general", "does any task"),
    "deep-research": Shipped(
        "", "researches at length", hidden=True, confirmation="inherit_parent"
    ),
    "loop-planner": Shipped("", "plans a loop", hidden=True, tool_free=True),
    "loop-checker": Shipped("", "checks a loop", hidden=True, tool_free=True),
}

# Other names of agents; case counts.
AGENT_ALIASES: Final = {
    "general-purpose": "general",
    "general_purpose": "general",
    "generalpurpose": "general",
    "verify": "verification",
    "verifier": "verification",
    "code-review": "review",
    "code_reviewer": "review",
    "reviewer": "review",
    "deepresearch": "deep-research",
    "deep_research": "deep-research",
}


@attrs.frozen
class Preset:
    """A kind of worker: the table it has, and the steps it may take."""

    table: str
    max_steps: int


KINDS: Final = {
    "read_only": Preset("explore", 20),
    "planner": Preset("plan", 30),
    "implementer": Preset("general", 50),
    "verifier": Preset("verification", 30),
    "reviewer": Preset("verification", 25),
    "custom": Preset("", 30),
}

_KIND_ALIASES: Final = {
    "readonly": "read_only",
    "read-only": "read_only",
    "explore": "read_only",
    "plan": "planner",
    "implementation": "implementer",
    "general": "implementer",
    "verification": "verifier",
    "verify": "verifier",
    "review": "reviewer",
    "code-review": "reviewer",
}


def kind_of(name: str) -> Preset | None:
    """Return the kind of worker of that name, or None."""
    return KINDS.get(_KIND_ALIASES.get(name, name))
