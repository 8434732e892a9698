"""What is declared, and what the host does: a page made from the front end.

``python -m tests.hosts.claude.declared_page`` prints `policy/hosts/claude/DECLARED.md`, which a test
compares with the page that is kept.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Final

from policy.core import values
from policy.core.decision import Reason
from policy.files.trees import Memory
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.hosts.claude.options import VERSION
from policy.hosts.project import Project
from policy.tables.chain import Chain, SpawnDenied

__all__ = ["DIFFERENCES", "TRAPS", "ExampleTrap", "page"]


@values.frozen
class ExampleTrap:
    """What a file declares, and a call that shows what the host does.

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
    input: Mapping[str, object] = values.field(factory=dict)
    permissions: str = ""
    agents: Mapping[str, str] = values.field(factory=dict)
    chain: tuple[str, ...] = ()


_PUSH: Final = {"command": "git push"}
_ENV: Final = {"file_path": "/srv/app/.env"}
_EDIT: Final = {"file_path": "/srv/app/a.py"}


def _agent(name: str, front: str) -> dict[str, str]:
    return {name: "description: d\n" + front}


TRAPS: Final = (
    ExampleTrap(
        "`tools: Read, Bash(git *)` of an agent",
        "Bash",
        {"command": "make"},
        agents=_agent("a", "tools: Read, Bash(git *)"),
        chain=("a",),
    ),
    ExampleTrap(
        "`disallowedTools: Bash(git *)` of an agent",
        "Bash",
        {"command": "ls"},
        agents=_agent("a", "disallowedTools: Bash(git *)"),
        chain=("a",),
    ),
    ExampleTrap(
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
    ExampleTrap(
        "`tools: Read, Agent` above an agent without a list",
        "Bash",
        {"command": "ls"},
        agents={**_agent("a", "tools: Read, Agent"), **_agent("b", "color: red")},
        chain=("a", "b"),
    ),
    ExampleTrap(
        "`tools: Read` beside `memory: project`",
        "Write",
        _EDIT,
        '"allow": ["Edit(**)"]',
        _agent("a", "tools: Read\nmemory: project"),
        ("a",),
    ),
    ExampleTrap(
        "`allowed-tools: Read` of an agent",
        "Bash",
        {"command": "ls"},
        agents=_agent("a", "allowed-tools: Read"),
        chain=("a",),
    ),
    ExampleTrap(
        "`permissionMode: acceptEdits` of an agent",
        "Edit",
        _EDIT,
        agents=_agent("a", "permissionMode: acceptEdits"),
        chain=("a",),
    ),
    ExampleTrap(
        "`permissionMode: bypassPermissions` of an agent",
        "Edit",
        _EDIT,
        agents=_agent("a", "permissionMode: bypassPermissions"),
        chain=("a",),
    ),
    ExampleTrap(
        "`disallowedTools: mcp__github` of an agent",
        "mcp__github__push",
        agents=_agent("a", "disallowedTools: mcp__github"),
        chain=("a",),
    ),
    ExampleTrap("a rule of `deny` for `Write(.env)`", "Write", _ENV, '"deny": ["Write(.env)"]'),
    ExampleTrap(
        "a rule of `deny` for `Read(/etc/**)`",
        "Read",
        {"file_path": "/etc/passwd"},
        '"deny": ["Read(/etc/**)"], "allow": ["Read"]',
    ),
    ExampleTrap(
        "a rule of `deny` for `Read(.env)`, and a call that edits it",
        "Edit",
        _ENV,
        '"deny": ["Read(.env)"]',
    ),
    ExampleTrap(
        "a rule of `ask` for `Read(.env)`, and a command that reads it",
        "Bash",
        {"command": "cat .env"},
        '"ask": ["Read(.env)"]',
    ),
    ExampleTrap(
        "a rule of `ask` for `Agent(Explore)`",
        "Agent",
        {"subagent_type": "Explore"},
        '"ask": ["Agent(Explore)"]',
    ),
    ExampleTrap(
        "a rule of `ask` for `Bash(git push)` and one of `deny` for `Bash(git *)`",
        "Bash",
        _PUSH,
        '"ask": ["Bash(git push)"], "deny": ["Bash(git *)"]',
    ),
    ExampleTrap(
        "a rule of `allow` for `Edit(src/**)`, and a `src` further down",
        "Edit",
        {"file_path": "/srv/app/lib/src/a.py"},
        '"allow": ["Edit(src/**)"]',
    ),
    ExampleTrap("a rule of `allow` for `*`", "Bash", _PUSH, '"allow": ["*"]'),
    ExampleTrap(
        "a rule of `deny` for `Monitor(make)`",
        "Monitor",
        {"command": "make"},
        '"deny": ["Monitor(make)"]',
    ),
    ExampleTrap(
        'a rule of `deny` for `Bash(git push)` beside `"defaultMode": "nope"`',
        "Bash",
        _PUSH,
        '"deny": ["Bash(git push)"], "defaultMode": "nope"',
    ),
    ExampleTrap(
        "a rule of `deny` for `Bash(timeout:5*)`",
        "Bash",
        {"command": "ls", "timeout": 50},
        '"deny": ["Bash(timeout:5*)"]',
    ),
    ExampleTrap(
        "a rule of `deny` for `mcp__*__push`", "mcp__github__push", {}, '"deny": ["mcp__*__push"]'
    ),
    ExampleTrap(
        '`"defaultMode": "bypassPermissions"` of a project',
        "Edit",
        _EDIT,
        '"defaultMode": "bypassPermissions"',
    ),
    ExampleTrap(
        '`"defaultMode": "plan"` and a rule of `allow` for `Edit(**)`',
        "Edit",
        _EDIT,
        '"defaultMode": "plan", "allow": ["Edit(**)"]',
    ),
)

# What the documentation says, what 2.1.329 was observed to do.
DIFFERENCES: Final = (
    (
        "`deny` for `Bash(curl *)` does not match `/usr/bin/curl`, and `Bash(git push)` not `git 'push'`",
        "rules that deny or ask match behind folders, quotes, `env`, `sudo` and more",
    ),
    ("`deny` decides before `ask`", "an `ask` without a star decides before a `deny` with one"),
    ("`ask` for `Agent(name)` or `Skill(name)` asks", "neither asks"),
    ("starting an agent is denied in the mode `dontAsk`", "it needs no permission in any mode"),
    ("every skill is asked for", "those without `allowed-tools` and hooks are not"),
    (
        "an agent's `acceptEdits` counts below a plan",
        "the plan holds, unless the agent has `dontAsk`",
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
    ("`Monitor(...)` takes the rules of `Bash(...)`", "only `Bash(...)` is consulted"),
    (
        "a value that is wrong is skipped",
        "the whole file is skipped; in an administrator's file or a list of rules, the value is",
    ),
    (
        "`allow` for `Bash(awk *)`, or a star alone, allows every command that it matches",
        "`awk -f x`, `hash x`, `script x` and more are asked for unless a rule is just that",
    ),
    ("`Read(*)` is `Read`", "in `deny` it is; in `allow` it covers the working folder only"),
    (
        "paths are compared without regard to case",
        "the paths of rules are; the path of a working folder is not",
    ),
    ("`disallowed-tools` of a skill take tools away", "the tools stay, and their calls are denied"),
)


# --- the page -------------------------------------------------------------------------

_HEAD: Final = """\
# Claude Code: declared, but does

What files declare, and what the host does. The column *declared* is the attenuated reading, in which a
chain only narrows. The column *{observed}* is what that version was observed to enforce. `python -m tests.hosts.claude.declared_page` prints this page.
"""


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join(
        [
            _HEAD.format(observed=VERSION),
            *_traps(),
            "",
            f"## Where the documentation differs from {VERSION}\n",
            "| documentation | observed |",
            "| --- | --- |",
            *(f"| {says} | {does} |" for says, does in DIFFERENCES),
            "",
        ]
    )


def _traps() -> Iterator[str]:
    yield f"| files | call | declared | {VERSION} | findings |"
    yield "| --- " * 5 + "|"
    for trap in TRAPS:
        project = _project(trap)
        codes = dict.fromkeys(
            f"[`{each.code}`](../../analysis/catalogue/{each.code}.md)" for each in project.findings
        )
        call = f"`{trap.tool}` `{json.dumps(dict(trap.input))}`"
        if trap.chain:
            call = f"{'>'.join(trap.chain)}: {call}"
        does = [_decided(trap, project, reading) for reading in ("attenuated", "enforced")]
        cells = [trap.title, call, *does, " ".join(codes)]
        yield "| " + " | ".join(cells) + " |"


def _project(trap: ExampleTrap) -> Project:
    files = {".claude/settings.json": f'{{"permissions": {{{trap.permissions}}}}}'}
    for name, front in trap.agents.items():
        files[f".claude/agents/{name}.md"] = f"---\nname: {name}\n{front}\n---\n"
    (project,) = load(Memory(files), ClaudeOptions(cwd="/srv/app", home="/home/user"))
    return project


def _decided(trap: ExampleTrap, project: Project, reading: str) -> str:
    try:
        chain = Chain.start("main", project.reading(reading))
        for agent in trap.chain:
            chain = chain.spawn(agent)
    except SpawnDenied as denied:
        return f"not started ({denied.reason})"
    decision = chain.decide(trap.tool, dict(trap.input))
    unavailable = decision.reason is Reason.UNAVAILABLE
    return "no such tool" if unavailable else str(decision.effect)


if __name__ == "__main__":
    sys.stdout.write(page())
