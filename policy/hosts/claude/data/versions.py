"""What changed in Claude Code from one version to the next, as far as it decides calls.

2.1.329 was run and observed. What is said of other versions is read from their
release notes and the documentation.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import attrs

from policy.hosts.versions import version_of

__all__ = ["CHANGES", "UNTOLD", "Behaviour", "VersionChange", "behaviour"]


@attrs.frozen
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
        modes_of_agents: whether `permissionMode` of an agent counts.
        disallowed_of_agents: whether `disallowedTools` of an agent counts.
        unknown_programs: the programs that are asked for though they only look.
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
        known_hosts_ruled: whether rules count for hosts that are fetched from unasked.
        loose_types: whether an agent is found by its name in other letters.
        skill_prefixes: whether ``Skill(name *)`` speaks of every skill that begins so.
        deny_before_hook: whether a rule that denies counts where a hook asks.
        rules_bind_hooks: whether rules count where a hook allows.
        links_checked: whether a link is followed to the file that it leads to.
        tool_is_agent: whether the tool that starts agents is called `Agent`, not `Task`.
        type_lists: whether a list of types counts in the agent of a session.
        star_is_every: whether ``Bash(*)`` is `Bash`.
        agents_denied: whether `deny` may name one agent.
        server_stars: whether a rule may end in a star for the tools of a server.
        command_stars: whether a star anywhere in a rule for `Bash` is any text.
        text_behind_refused: whether a rule with text behind its parentheses is none.
        input_is_read: whether what a command reads from by ``<`` is a file that is read.
        removals_asked: whether nobody but the user allows critical removals in `auto`.
        background_asks: whether an agent in the background can ask the user.
        unseen_wrappers: the wrappers behind which `deny` and `ask` do not look.
        unguarded_programs: the programs that start others, or remove files, and that a rule
            with a star allows all the same.
        unopened_programs: the programs whose operands are not looked at as files.
        assignments_asked: whether a command that sets a variable, and does nothing else, is
            asked for where nobody knows the variable.
        managed_asks_first: whether what an administrator asks for comes before what others allow.
        links_ruled: whether rules for the name of a folder of the system that is a link hold
            where it leads.
        stars_end: whether a star of a rule that allows ends where another command begins.
        blanks_folded: whether a rule that allows takes more blanks between words for one.
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
    modes_of_agents: bool = True
    disallowed_of_agents: bool = True
    unknown_programs: frozenset[str] = frozenset()
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
    skill_prefixes: bool = True
    deny_before_hook: bool = True
    rules_bind_hooks: bool = True
    links_checked: bool = True
    tool_is_agent: bool = True
    type_lists: bool = True
    star_is_every: bool = True
    agents_denied: bool = True
    server_stars: bool = True
    command_stars: bool = True
    text_behind_refused: bool = True
    input_is_read: bool = True
    removals_asked: bool = True
    background_asks: bool = True
    unseen_wrappers: frozenset[str] = frozenset()
    unguarded_programs: frozenset[str] = frozenset()
    unopened_programs: frozenset[str] = frozenset()
    assignments_asked: bool = True
    managed_asks_first: bool = True
    links_ruled: bool = True
    stars_end: bool = True
    blanks_folded: bool = True


@attrs.frozen
class VersionChange:
    """What was otherwise before a version.

    Attributes:
        since: the version that changed it.
        field: of `Behaviour`.
        before: what it was in every version before.
    """

    since: str
    field: str
    before: Any


_SINCE_72: Final = frozenset("fd fdfind lsof pgrep ss tput".split())
_SINCE_71: Final = frozenset("cmp comm expr fmt getconf numfmt pr printf seq test tsort".split())

_SINCE_113: Final = frozenset("env ionice setsid sudo watch".split())
_STARTING_SINCE_113: Final = frozenset("find flock ionice setsid watch".split())

# The newest first: each says what held before it.
CHANGES: Final = (
    VersionChange("2.1.282", "colon_star_inside", before=False),
    VersionChange("2.1.282", "lock_binds_skills", before=False),
    VersionChange("2.1.281", "removals_asked", before=False),
    VersionChange("2.1.280", "lsp_in_background", before=False),
    VersionChange("2.1.269", "unopened_programs", before=frozenset({"tee"})),
    VersionChange("2.1.268", "links_ruled", before=False),
    VersionChange("2.1.267", "bypass_of_agents", before=True),
    VersionChange("2.1.260", "nested_skills", before=False),
    VersionChange("2.1.260", "text_behind_refused", before=False),
    VersionChange("2.1.257", "input_is_read", before=False),
    VersionChange("2.1.257", "bypass_of_project", before=True),
    VersionChange("2.1.257", "reads_kept_inside", before=False),
    VersionChange("2.1.236", "monitor_judged", before=False),
    VersionChange("2.1.233", "input_is_read", before=True),
    VersionChange("2.1.232", "input_is_read", before=False),
    VersionChange("2.1.232", "forks", before=False),
    VersionChange("2.1.228", "read_blocks_write", before=False),
    VersionChange("2.1.223", "switch_binds_agents", before=False),
    VersionChange("2.1.219", "depth", before=1),
    VersionChange("2.1.217", "depth", before=5),
    VersionChange("2.1.214", "folder_in_place", before=False),
    VersionChange("2.1.214", "longest_command", before=0),
    VersionChange("2.1.211", "local_at_root", before=False),
    VersionChange("2.1.208", "refuses_no_tools", before=False),
    VersionChange("2.1.208", "read_blocks_edit", before=False),
    VersionChange("2.1.200", "manual_is_mode", before=False),
    VersionChange("2.1.199", "servers_may_ask", before=False),
    VersionChange("2.1.198", "in_background", before=False),
    VersionChange("2.1.186", "background_asks", before=False),
    VersionChange("2.1.186", "named_agents_denied", before=False),
    VersionChange("2.1.178", "parameters", before=False),
    VersionChange("2.1.178", "mcp_in_disallowed", before=False),
    VersionChange("2.1.172", "depth", before=1),
    VersionChange("2.1.172", "host_wildcards", before=False),
    VersionChange("2.1.166", "tool_globs", before=False),
    VersionChange("2.1.162", "known_hosts_ruled", before=False),
    VersionChange("2.1.152", "skills_take_away", before=False),
    VersionChange("2.1.145", "assignments_asked", before=False),
    VersionChange("2.1.142", "auto_of_project", before=True),
    VersionChange("2.1.140", "loose_types", before=False),
    VersionChange("2.1.139", "skill_prefixes", before=False),
    VersionChange("2.1.136", "plan_before_rules", before=False),
    VersionChange("2.1.126", "bypass_of_guarded", before=False),
    VersionChange("2.1.113", "unseen_wrappers", before=_SINCE_113),
    VersionChange("2.1.113", "unguarded_programs", before=_STARTING_SINCE_113),
    VersionChange("2.1.101", "deny_before_hook", before=False),
    VersionChange("2.1.98", "blanks_folded", before=False),
    VersionChange("2.1.89", "links_checked", before=False),
    VersionChange("2.1.78", "bypass_of_guarded", before=True),
    VersionChange("2.1.77", "rules_bind_hooks", before=False),
    VersionChange("2.1.74", "managed_asks_first", before=False),
    VersionChange("2.1.72", "unknown_programs", before=_SINCE_72),
    VersionChange("2.1.71", "unknown_programs", before=_SINCE_71 | _SINCE_72),
    VersionChange("2.1.63", "tool_is_agent", before=False),
    VersionChange("2.1.33", "type_lists", before=False),
    VersionChange("2.1.20", "star_is_every", before=False),
    VersionChange("2.1.7", "stars_end", before=False),
    VersionChange("2.1.0", "command_stars", before=False),
    VersionChange("2.1.0", "agents_denied", before=False),
    VersionChange("2.0.70", "server_stars", before=False),
    VersionChange("2.0.43", "modes_of_agents", before=False),
    VersionChange("2.0.30", "disallowed_of_agents", before=False),
)

# What release notes tell of besides, and no profile does otherwise: since when, what, and why not.
UNTOLD: Final = (
    (
        "2.1.287",
        "plugins may check calls behind rules and hooks (`tool.check`)",
        "their code is not read: it may allow what is said to be asked for",
    ),
    (
        "2.1.283",
        "a session in a terminal begins in `auto` where nothing else is said",
        "every profile is that of a session without one; say `--mode auto`",
    ),
    (
        "2.1.260",
        "a rule that denies a pattern which is none guards the file of that name",
        "2.1.329 was observed not to",
    ),
    (
        "2.1.246",
        "a rule with a star before the subcommand is warned of (2.1.210, 2.1.3: of others)",
        "what `lint` says is the same of every version",
    ),
    (
        "2.1.238",
        "servers that an agent defines for itself need trust",
        "which tools they offer is not told by files",
    ),
    (
        "2.1.218",
        "hooks in front matter need trust",
        "hooks are not run here, and what they refuse is refused besides",
    ),
    (
        "2.1.260",
        "rules for paths with parentheses hold",
        "what they were before is not said; one that denies holds in every profile",
    ),
    (
        "2.1.257",
        "rules of `ask` hold for parts of commands in `auto` and `bypassPermissions`",
        "the notes of 2.1.98 say so too; asking is the stricter",
    ),
    (
        "2.1.257",
        "rules that deny files hold for `tac` and `egrep`",
        "whether these ran unasked before is not said; denying is the stricter",
    ),
    (
        "2.1.212",
        "plans ask for commands that write",
        "2.1.329 asks for those alone that no rule allows, as every profile does",
    ),
    (
        "2.1.212",
        "the parameter `mode` of a call that starts an agent is ignored",
        "whose agents took it, and which modes, is not said: an agent may have had a wider one",
    ),
    (
        "2.1.163",
        "rules that deny files of the home folder hold for `$HOME/...` in commands",
        "denying is the stricter",
    ),
    (
        "2.1.147",
        "several `Agent(...)` count in a list of an agent of a plugin",
        "which of them counted before is not said; it was no more than all",
    ),
    (
        "2.1.119",
        "lists of the agent that a session without a terminal is started as hold",
        "which it had before is not said; every profile holds them",
    ),
    (
        "2.1.98",
        "`/dev/tcp` in a redirection is asked for",
        "what it was before is not said; asking is the stricter",
    ),
    (
        "2.1.78",
        "a rule that denies a tool of a server takes it away",
        "it denied the calls before, so that nothing is granted in either",
    ),
    (
        "1.0.123",
        "rules for commands hold where something is redirected",
        "what they were before is not said",
    ),
)


@lru_cache(maxsize=64)  # asked at every step of every chain
def behaviour(version: str) -> Behaviour:
    """Return how *version*, such as ``2.1.329``, behaves. Raises ValueError for what is none."""
    asked = version_of(version, "claude-code", "2.1.329")
    found = Behaviour()
    for change in CHANGES:
        if asked < version_of(change.since, "claude-code", "2.1.329"):
            found = attrs.evolve(found, **{change.field: change.before})
    return found
