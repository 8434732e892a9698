"""What the definition of an agent says: `SubAgentDef` and what it is made of.

Presence counts, not emptiness: ``allow: []`` is a list of no tools, and no
``allow`` is none. All values are immutable and compare by what they say;
where it is written is beside them.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from pathlib import Path

import attrs

from policy.documents.node import Node
from policy.source import Source, Span

__all__ = [
    "AllowList",
    "Both",
    "DenyList",
    "HookDef",
    "HookMatcher",
    "Hooks",
    "InheritAll",
    "MemoryScope",
    "PermissionMode",
    "Permissions",
    "Profile",
    "SkillFilter",
    "SubAgentDef",
    "ToolPolicy",
    "default_template",
]


class Profile(enum.Enum):
    """Which Zeph: the one that exists, the one its issue 970 asks for, the one specified."""

    ZEPH = "zeph"
    ISSUE_970 = "issue-970"
    SPEC = "zeph-spec"

    __hash__ = object.__hash__


@attrs.frozen
class InheritAll:
    """No list: every tool."""


@attrs.frozen
class AllowList:
    """``tools.allow``: these tools."""

    tools: tuple[str, ...] = ()


@attrs.frozen
class DenyList:
    """``tools.deny``: every tool but these."""

    tools: tuple[str, ...] = ()


@attrs.frozen
class Both:
    """``tools.allow`` beside ``tools.deny``, as issue 970 has it."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


ToolPolicy = InheritAll | AllowList | DenyList | Both


class PermissionMode(enum.Enum):
    """What is asked before a call; of an agent only ``plan`` changes anything."""

    DEFAULT = "default"
    ACCEPT_EDITS = "accept_edits"
    DONT_ASK = "dont_ask"
    BYPASS_PERMISSIONS = "bypass_permissions"
    PLAN = "plan"

    __hash__ = object.__hash__


class MemoryScope(enum.Enum):
    """Where an agent keeps what it remembers."""

    USER = "user"
    PROJECT = "project"
    LOCAL = "local"

    __hash__ = object.__hash__


@attrs.frozen
class Permissions:
    """``permissions``, with what holds where nothing is said."""

    secrets: tuple[str, ...] = ()
    max_turns: int = 20
    background: bool = False
    timeout_secs: int = 600
    ttl_secs: int = 300
    permission_mode: PermissionMode = PermissionMode.DEFAULT
    max_history_messages: int = 200
    worktree: bool = False


@attrs.frozen
class SkillFilter:
    """``skills``: globs of the skills an agent sees (`policy.hosts.zeph.skills`)."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@attrs.frozen
class HookDef:
    """What a hook does. It is never run here.

    Attributes:
        kind: ``command`` or ``mcp_tool``.
        command: the command of the first kind.
        server: the server of the second.
        tool: and the tool there.
        arguments: and what it is called with, as written, or None.
        timeout_secs: how long it may take.
        fail_closed: what its author wants of a failure; Zeph goes on all the same.
        condition: ``if``, or None.

    """

    kind: str
    command: str = ""
    server: str = ""
    tool: str = ""
    arguments: Node | None = None
    timeout_secs: int = 30
    fail_closed: bool = False
    condition: str | None = None


@attrs.frozen
class HookMatcher:
    """The tools that hooks belong to (`policy.hosts.zeph.hooks`)."""

    matcher: str
    hooks: tuple[HookDef, ...] = ()


@attrs.frozen
class Hooks:
    """``hooks``: what runs before and after calls."""

    pre_tool_use: tuple[HookMatcher, ...] = ()
    post_tool_use: tuple[HookMatcher, ...] = ()

    def __len__(self) -> int:
        return len(self.pre_tool_use) + len(self.post_tool_use)


@attrs.frozen(slots=False)
class SubAgentDef:
    """One agent.

    Attributes:
        name: as it is started by.
        description: one line.
        model: ``inherit`` or a name, or None.
        tools: the lists ``tools.allow`` and ``tools.deny``.
        disallowed_tools: ``tools.except``, which is asked first.
        permissions: limits, and the mode.
        skills: the skills it sees.
        system_prompt: the text below the header, without the blanks around it.
        hooks: what runs before and after its calls.
        memory: where it keeps what it remembers, or None.
        allowed_spawns: the agents it may start, None being any (issue 970).
        source: ``<scope>/<file>``, never a whole path, or None.
        file_path: the file it was read from, for those who edit it.
        text: the whole file.
        spans: where what is written, by names such as ``tools.allow[0]``.
        ignored: keys that are written and mean nothing.

    """

    name: str
    description: str
    model: str | None = None
    tools: ToolPolicy = InheritAll()
    disallowed_tools: tuple[str, ...] = ()
    permissions: Permissions = Permissions()
    skills: SkillFilter = SkillFilter()
    system_prompt: str = ""
    hooks: Hooks = Hooks()
    memory: MemoryScope | None = None
    allowed_spawns: tuple[str, ...] | None = None
    source: str | None = attrs.field(default=None, eq=False)
    file_path: Path | None = attrs.field(default=None, eq=False, repr=False)
    text: Source | None = attrs.field(default=None, eq=False, repr=False)
    spans: Mapping[str, Span] = attrs.field(factory=dict, eq=False, repr=False)
    ignored: tuple[tuple[str, Span], ...] = attrs.field(default=(), eq=False, repr=False)

    def span(self, *names: str) -> Span | None:
        """Return where the first of *names* is written that is written at all."""
        return next((self.spans[name] for name in names if name in self.spans), None)


def default_template(name: str, description: str) -> SubAgentDef:
    """Return a definition to start from: every tool, nothing else said."""
    return SubAgentDef(name, description)
