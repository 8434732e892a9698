"""What people declare for Claude Code, as small examples whose meaning is worked out.

Each is a set of files and a call. Nothing here says what comes of it:
`policy.hosts.claude.declared_page` loads the files and decides the call in both
readings, and prints what it finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

__all__ = ["DIFFERENCES", "TRAPS", "Trap"]


@attrs.frozen
class Trap:
    """An example.

    Attributes:
        title: what is declared.
        tool: of the call.
        input: its arguments.
        permissions: of the project's settings, or "".
        agents: name -> front matter without the name.
        chain: the agents below the main conversation.
    """

    title: str
    tool: str
    input: Mapping[str, object] = attrs.field(factory=dict)
    permissions: str = ""
    agents: Mapping[str, str] = attrs.field(factory=dict)
    chain: tuple[str, ...] = ()


_PUSH: Final = {"command": "git push"}
_ENV: Final = {"file_path": "/srv/app/.env"}
_EDIT: Final = {"file_path": "/srv/app/a.py"}


def _agent(name: str, front: str) -> dict[str, str]:
    return {name: "description: d\n" + front}


TRAPS: Final = (
    Trap(
        "`tools: Read, Bash(git *)` of an agent",
        "Bash",
        {"command": "make"},
        agents=_agent("a", "tools: Read, Bash(git *)"),
        chain=("a",),
    ),
    Trap(
        "`disallowedTools: Bash(git *)` of an agent",
        "Bash",
        {"command": "ls"},
        agents=_agent("a", "disallowedTools: Bash(git *)"),
        chain=("a",),
    ),
    Trap(
        "`tools: Agent(b), Read` of an agent that starts `c`",
        "Agent",
        {"subagent_type": "c"},
        agents={
            **_agent("a", "tools: Agent(b), Read"),
            **_agent("b", "tools: Read"),
            **_agent("c", "tools: Bash"),
        },
        chain=("a",),
    ),
    Trap(
        "`tools: Read, Agent` above an agent without a list",
        "Bash",
        {"command": "ls"},
        agents={**_agent("a", "tools: Read, Agent"), **_agent("b", "color: red")},
        chain=("a", "b"),
    ),
    Trap(
        "`tools: Read` beside `memory: project`",
        "Write",
        _EDIT,
        '"allow": ["Edit(**)"]',
        _agent("a", "tools: Read\nmemory: project"),
        ("a",),
    ),
    Trap(
        "`allowed-tools: Read` of an agent",
        "Bash",
        {"command": "ls"},
        agents=_agent("a", "allowed-tools: Read"),
        chain=("a",),
    ),
    Trap(
        "`permissionMode: acceptEdits` of an agent",
        "Edit",
        _EDIT,
        agents=_agent("a", "permissionMode: acceptEdits"),
        chain=("a",),
    ),
    Trap(
        "`permissionMode: bypassPermissions` of an agent",
        "Edit",
        _EDIT,
        agents=_agent("a", "permissionMode: bypassPermissions"),
        chain=("a",),
    ),
    Trap(
        "`disallowedTools: mcp__github` of an agent",
        "mcp__github__push",
        agents=_agent("a", "disallowedTools: mcp__github"),
        chain=("a",),
    ),
    Trap("a rule of `deny` for `Write(.env)`", "Write", _ENV, '"deny": ["Write(.env)"]'),
    Trap(
        "a rule of `deny` for `Read(/etc/**)`",
        "Read",
        {"file_path": "/etc/passwd"},
        '"deny": ["Read(/etc/**)"], "allow": ["Read"]',
    ),
    Trap(
        "a rule of `deny` for `Read(.env)`, and a call that edits it",
        "Edit",
        _ENV,
        '"deny": ["Read(.env)"]',
    ),
    Trap(
        "a rule of `ask` for `Read(.env)`, and a command that reads it",
        "Bash",
        {"command": "cat .env"},
        '"ask": ["Read(.env)"]',
    ),
    Trap(
        "a rule of `ask` for `Agent(Explore)`",
        "Agent",
        {"subagent_type": "Explore"},
        '"ask": ["Agent(Explore)"]',
    ),
    Trap(
        "a rule of `ask` for `Bash(git push)` and one of `deny` for `Bash(git *)`",
        "Bash",
        _PUSH,
        '"ask": ["Bash(git push)"], "deny": ["Bash(git *)"]',
    ),
    Trap(
        "a rule of `allow` for `Edit(src/**)`, and a `src` further down",
        "Edit",
        {"file_path": "/srv/app/lib/src/a.py"},
        '"allow": ["Edit(src/**)"]',
    ),
    Trap("a rule of `allow` for `*`", "Bash", _PUSH, '"allow": ["*"]'),
    Trap(
        "a rule of `deny` for `Monitor(make)`",
        "Monitor",
        {"command": "make"},
        '"deny": ["Monitor(make)"]',
    ),
    Trap(
        'a rule of `deny` for `Bash(git push)` beside `"defaultMode": "nope"`',
        "Bash",
        _PUSH,
        '"deny": ["Bash(git push)"], "defaultMode": "nope"',
    ),
    Trap(
        "a rule of `deny` for `Bash(timeout:5*)`",
        "Bash",
        {"command": "ls", "timeout": 50},
        '"deny": ["Bash(timeout:5*)"]',
    ),
    Trap(
        "a rule of `deny` for `mcp__*__push`", "mcp__github__push", {}, '"deny": ["mcp__*__push"]'
    ),
    Trap(
        '`"defaultMode": "bypassPermissions"` of a project',
        "Edit",
        _EDIT,
        '"defaultMode": "bypassPermissions"',
    ),
    Trap(
        '`"defaultMode": "plan"` and a rule of `allow` for `Edit(**)`',
        "Edit",
        _EDIT,
        '"defaultMode": "plan", "allow": ["Edit(**)"]',
    ),
)

# What the documentation says, what 2.1.329 was observed to do.
DIFFERENCES: Final = (
    (
        "`deny` for `Bash(curl *)` does not stop `/usr/bin/curl`, nor `git 'push'` be stopped",
        "rules that deny or ask look through folders, quotes, `env`, `sudo` and more",
    ),
    ("`deny` decides before `ask`", "an `ask` without a star decides before a `deny` with one"),
    ("`ask` for `Agent(name)` or `Skill(name)` asks", "neither does"),
    ("starting an agent is denied in the mode `dontAsk`", "it needs no permission in any mode"),
    ("every skill is asked for", "those without `allowed-tools` and hooks are not"),
    (
        "an agent's `acceptEdits` counts below a plan",
        "the plan holds, unless the agent says `dontAsk`",
    ),
    ("`--agent` takes the mode of the agent", "it does not without a terminal"),
    ("`./x` is relative to the working folder", "it is `x`, which is found at any depth"),
    (
        "a pattern that cannot be used guards the path as written in `deny`",
        "it guards nothing",
    ),
    (
        "`sed -i` and commands behind wrappers are accepted edits",
        "they are asked for; of those behind wrappers only `mkdir` is not",
    ),
    ("`Monitor(...)` takes the rules of `Bash(...)`", "it is never consulted; `Bash(...)` is"),
    (
        "a value that is wrong is skipped",
        "the whole file is, unless an administrator's or an entry of a list of rules",
    ),
    (
        "`allow` for `Bash(awk *)`, or a star alone, allows every command that it matches",
        "`awk -f x`, `hash x`, `script x` and more are asked for unless a rule is just that",
    ),
    ("`Read(*)` is `Read`", "it is in `deny`; in `allow` it is what is in the working folder"),
    (
        "paths are compared without regard to case",
        "those of rules are; a working folder counts in its own letters only",
    ),
    ("`disallowed-tools` of a skill take tools away", "the tools stay, and their calls are denied"),
)
