"""What changed in Claude Code from one version to the next, as far as it decides calls.

2.1.329 was run and observed. What is said of other versions is read from their
release notes and the documentation.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from policy.core import values
from policy.hosts.claude.data import table
from policy.hosts.fields import version_of

__all__ = ["CHANGES", "UNTOLD", "Behaviour", "behaviour"]


@values.frozen
class Behaviour:
    """How one version behaves, where versions differ.

    Attributes:
        depth: levels of agents below the main conversation.
        bypass_of_agents: whether a definition may set ``bypassPermissions``.
        mcp_in_disallowed: whether patterns of MCP tools in `disallowedTools` count.
        lsp_in_background: whether an agent in the background has `LSP`.
        refuses_no_tools: whether an agent whose list names no tool is not started.
        tool_globs: whether `deny` and `ask` take a glob for the tool.
        parameters: whether `deny` and `ask` take ``Tool(name:value)``.
        host_wildcards: whether a domain may have a ``*``.
        folder_in_place: whether ``src/**`` in `allow` is that of the working folder alone.
        read_blocks_edit: whether a file that may not be read may not be edited.
        read_blocks_write: whether it may not be written.
        plan_before_rules: whether a plan holds edits back that a rule allows.
        auto_of_project: whether a project may choose the mode ``auto``.
        bypass_of_project: whether a project may choose ``bypassPermissions``.
        lock_binds_skills: whether skills allow nothing where only an administrator's rules do.
        forks: whether agents may be started as forks, without a switch.
        switch_binds_agents: whether the switch against `bypassPermissions` binds definitions.
        in_background: whether agents are started in the background unless one says otherwise.
        skills_take_away: whether `disallowed-tools` of a skill counts.
        bypass_of_guarded: whether `bypassPermissions` is for guarded files too.
        colon_star_inside: whether a rule with ``:*`` before its end is loaded.
        nested_skills: whether a rule that denies a skill denies those of its name in folders.
        reads_kept_inside: whether a setting blocks reads outside working folders.
        monitor_judged: whether `auto` leaves to a model what rules for `Monitor` allow.
        longest_command: beyond how many characters a command is asked for; 0 is never.
        local_at_root: whether the local settings of a folder above count.
        manual_is_mode: whether a mode may be called ``manual``.
        servers_may_ask: whether a server can want the user asked each time.
        named_agents_denied: whether a rule that denies an agent counts where a call names
            the agent that it starts.
        known_hosts_ruled: whether rules count for hosts that are auto-allowed.
        loose_types: whether an agent is found by its name in other letters.
        skill_folders: whether rules of a skill name its folder by a variable.
        skill_prefixes: whether ``Skill(name *)`` applies to every skill that begins so.
        text_behind_refused: whether a rule with text behind its parentheses is none.
        input_is_read: whether what a command reads from by ``<`` is a file that is read.
        removals_asked: whether the user alone allows critical removals in `auto`.
        background_asks: whether an agent in the background can ask the user.
        unopened_programs: the programs whose operands are not looked at as files.
        assignments_asked: whether a command that only sets a variable is asked for where the
            variable is not known.
        links_ruled: whether rules for the name of a folder of the system that is a link hold
            where it leads.
    """

    depth: int = 3
    bypass_of_agents: bool = False
    mcp_in_disallowed: bool = True
    lsp_in_background: bool = True
    refuses_no_tools: bool = True
    tool_globs: bool = True
    parameters: bool = True
    host_wildcards: bool = True
    folder_in_place: bool = True
    read_blocks_edit: bool = True
    read_blocks_write: bool = True
    plan_before_rules: bool = True
    auto_of_project: bool = False
    bypass_of_project: bool = False
    lock_binds_skills: bool = True
    forks: bool = True
    switch_binds_agents: bool = True
    in_background: bool = True
    skills_take_away: bool = True
    bypass_of_guarded: bool = True
    colon_star_inside: bool = True
    nested_skills: bool = True
    reads_kept_inside: bool = True
    monitor_judged: bool = True
    longest_command: int = 10_000
    local_at_root: bool = True
    manual_is_mode: bool = True
    servers_may_ask: bool = True
    named_agents_denied: bool = True
    known_hosts_ruled: bool = True
    loose_types: bool = True
    skill_folders: bool = True
    skill_prefixes: bool = True
    text_behind_refused: bool = True
    input_is_read: bool = True
    removals_asked: bool = True
    background_asks: bool = True
    unopened_programs: frozenset[str] = frozenset()
    assignments_asked: bool = True
    links_ruled: bool = True


def _set_of_list(value: object) -> object:
    return frozenset(value) if isinstance(value, list) else value


@values.frozen
class VersionChange:
    """What was otherwise before a version.

    Attributes:
        since: the version that changed it.
        field: of `Behaviour`.
        before: what it was in every version before.
    """

    since: str
    field: str
    before: Any = values.field(converter=_set_of_list)


_DATA: Final = table("versions")

# Versions before this one are refused. Before 2.1.113 `deny` and `ask` did not look behind some
# wrappers, and rules with a star allowed some programs that start others; this is stricter.
OLDEST: Final = "2.1.101"

# The newest first: each says what held before it.
CHANGES: Final = tuple(VersionChange(**each) for each in _DATA["changes"])

# What release notes report besides, and no profile does otherwise: since when, what, and why not.
UNTOLD: Final = tuple(
    (each["since"], each["what"], each["why_not"]) for each in _DATA["unmodelled"]
)


@lru_cache(maxsize=64)  # asked at every step of every chain
def behaviour(version: str) -> Behaviour:
    """Return how *version*, such as ``2.1.329``, behaves.

    Raises:
        ValueError: it is no version, or one before `OLDEST`.

    """
    asked = version_of(version, "claude-code", "2.1.329")
    if asked < version_of(OLDEST, "claude-code", "2.1.329"):
        msg = f"expected version {OLDEST} or a later one, found `{version}`"
        raise ValueError(msg)
    found = Behaviour()
    for change in CHANGES:
        if asked < version_of(change.since, "claude-code", "2.1.329"):
            found = values.evolve(found, **{change.field: change.before})
    return found
