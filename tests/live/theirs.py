"""What the real program does with calls: a session is built, run, and its answers are read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import attrs

from tests.live import sandbox
from tests.live.oddities import FILES as ODD_FILES
from tests.live.scenario import CWD, FLAG_FOLDER, HOME, Call, Scenario
from tests.live.vocabulary import NOTEBOOKS

__all__ = ["Answer", "decide", "whole"]

_ARGUMENTS = (
    *("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
    *("--permission-prompt-tool", "stdio", "--max-turns", "2000"),
)

# Files that calls speak of. A call of an edit finds the text `x` in each.
_FILES = {
    f"{CWD}/{name}": "x\n"
    for name in (
        *("a", "b", "a.py", "a.txt", "b.txt", "README.md", ".env", ".env.local"),
        *("src/a.py", "src/b.py", "src/sub/c.py", "src/a.txt", "tests/t.py", "docs/a.md"),
        *(
            "conf/a/.env",
            "prod.env",
            ".ENV",
            "secrets/k",
            "conf/.env",
            "build/o",
            "a b.txt",
            ".vscode/x.json",
            ".idea/x",
        ),
        *("a~1.py", "x.", "y.con", ".../x"),
        *("SRC/a.py", ".gitmodules", ".github/w.yml", "node_modules/m/i.js"),
    )
} | {
    "/srv/.env": "x\n",
    "/srv/docs/a.md": "x\n",
    "/srv/docs/sub/b.md": "x\n",
    "/srv/other/f": "x\n",
    "/opt/data/x": "x\n",
    "/opt/data/x~1": "x\n",
    "/opt/data/sub/y": "x\n",
    f"{HOME}/x": "x\n",
    f"{HOME}/.bashrc": "# x\n",
    f"{HOME}/.ssh/id_rsa": "x\n",
    f"{HOME}/notes/n.md": "x\n",
    "/data/d/f": "x\n",
    f"{CWD}/.git/HEAD": "ref: refs/heads/main\n",
    f"{CWD}/Makefile": "# x\n",
    f"{CWD}/package.json": '{"x": 1}\n',
}

_NOTEBOOK = {
    "cells": [{"cell_type": "code", "id": "c", "metadata": {}, "source": [], "outputs": []}],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}
_FILES |= ODD_FILES | dict.fromkeys(NOTEBOOKS, json.dumps(_NOTEBOOK))

# What the input of a call needs besides what decides.
_REST: dict[str, dict[str, Any]] = {
    "Bash": {"description": "d"},
    "Edit": {"old_string": "x", "new_string": "y"},
    "Write": {"content": "y"},
    "NotebookEdit": {"new_source": "y", "cell_id": "c"},
    "WebFetch": {"prompt": "p"},
    "Monitor": {"description": "d", "timeout_ms": 3000, "persistent": False},
    "Agent": {"description": "d", "prompt": "idle"},
}

# The first expression that is found tells the outcome of an error.
_ERRORS = (
    (r"No such tool available", "unavailable"),
    (r"cannot be used with Skill tool|disabled for model invocation", "unavailable"),
    (r"^PreToolUse:\w+ hook error", "deny"),
    (r"zero tools", "unspawned"),
    (r"InputValidationError|is missing|unexpected parameter|not been read yet", ""),
    (r"String to replace not found|No changes to make|Unknown skill|Invalid URL", ""),
    (
        r"^Exit code|^File does not exist|Unable to verify if domain|WebFetch cannot fetch|EISDIR|ENOENT|EACCES",
        "allow",
    ),
    (r"EROFS|timed out|Path does not exist|ENOTDIR|Is a directory", "allow"),
    (r"^Permission for this tool use was denied", "deny"),
    (r"has been denied|is denied by|deny rule|Permission to|denied by|denied access", "deny"),
    (r"don.t ask mode|not allowed|blocks reads|Agent type .* not found|is blocked", "deny"),
    (r"blocked by|outside the working directories", "deny"),
)


@attrs.frozen
class Answer:
    """What became of a call; ``word`` is "" where it was not decided, and ``told`` says why."""

    word: str
    told: str = ""


@attrs.define
class _Script:
    """The calls of every agent of a session, and where the answer of each is."""

    background: bool
    actors: list[list[dict[str, Any]]] = attrs.field(factory=lambda: [[]])
    granted: list[str] = attrs.field(factory=list)
    spawned: dict[tuple[str, ...], int] = attrs.field(factory=lambda: {(): 0})
    spawns: list[str] = attrs.field(factory=lambda: [""])

    def actor(self, chain: tuple[str, ...]) -> int:
        """Return the number of the agent at the end of *chain*, which is started if need be."""
        if chain not in self.spawned:
            parent = self.actor(chain[:-1])
            number = self.spawned[chain] = len(self.actors)
            self.actors.append([])
            start = {
                "subagent_type": chain[-1],
                "description": "d",
                "prompt": f"ACTOR:{number}: go",
                "run_in_background": self.background,
            }
            self.spawns.append(self.add(parent, "Agent", start, granted=True))
        return self.spawned[chain]

    def add(self, actor: int, tool: str, given: dict[str, Any], *, granted: bool = False) -> str:
        """Add a call, and return by which name its answer is found."""
        use = f"toolu_{actor}x{len(self.actors[actor])}"
        self.actors[actor].append({"tool": tool, "input": given})
        if granted:
            self.granted.append(use)
        return use


def decide(scenario: Scenario, calls: Sequence[Call]) -> list[Answer]:
    """Return what the program does with each of *calls*, in one session.

    Raises `RuntimeError` where the session cannot be run.
    """
    script = _Script(scenario.background)
    uses = []
    if scenario.skill:
        script.add(0, "Skill", {"skill": scenario.skill}, granted=True)
    for call in sorted(calls, key=lambda call: (len(call.chain), call.tool == "Skill")):
        actor = script.actor(call.chain)
        file = call.input.get("file_path") or call.input.get("notebook_path") or ""
        if call.tool in ("Edit", "NotebookEdit"):  # of a file that was read, or they are invalid
            script.add(actor, "Read", {"file_path": file}, granted=True)
        uses.append((call, actor, script.add(actor, call.tool, whole(call))))
    answers = sandbox.run(_session(scenario, script), _etc(scenario))
    found = {id(call): _read(answers, script, call, actor, use) for call, actor, use in uses}
    return [found[id(call)] for call in calls]


def whole(call: Call) -> dict[str, Any]:
    """Return the input of a call, with what it needs besides what decides."""
    return {**_REST.get(call.tool, {}), **call.input}


def _session(scenario: Scenario, script: _Script) -> dict[str, Any]:
    scopes = scenario.scopes()
    files = {**_FILES, **{f"{CWD}/{name}": text for name, text in scenario.files()}}
    if "user" in scopes:
        files[f"{HOME}/.claude/settings.json"] = json.dumps(scopes["user"])
    trust = {CWD: {"hasTrustDialogAccepted": True}} if scenario.trusted else {}
    start = {"hasCompletedOnboarding": True, "projects": trust}
    args = [*_ARGUMENTS, *_flags(scenario)]
    env = {}
    if scenario.depth is not None:
        env["CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH"] = str(scenario.depth)
    calls = sum(map(len, script.actors))
    # The program keeps its own state in this file, so it is put there once only.
    return {
        "home": HOME,
        "cwd": CWD,
        "files": files,
        "once": {
            f"{HOME}/.claude.json": json.dumps({**start, "bypassPermissionsModeAccepted": True})
        },
        "links": dict(scenario.links),
        "args": args,
        "env": env,
        "classifier": scenario.automatic,
        "actors": script.actors,
        "granted": script.granted,
        "spawns": script.spawns,
        "seconds": 60 + 6 * calls,  # of a busy machine; an idle one takes 2 + calls / 6
    }


def _flags(scenario: Scenario) -> list[str]:
    flags: list[str] = []
    permissions = scenario.settings.get("cli", {}).get("permissions", {})
    for name, key in (("--allowedTools", "allow"), ("--disallowedTools", "deny")):
        if permissions.get(key):
            flags += [name, *permissions[key]]
    if "flag" in scenario.settings:
        flags += ["--settings", f"{FLAG_FOLDER}/settings.json"]
    if scenario.main_agent:
        flags += ["--agent", scenario.main_agent]
    if scenario.mode is not None:
        flags += ["--permission-mode", scenario.mode]
    if scenario.mode == "bypassPermissions":
        flags.append("--allow-dangerously-skip-permissions")
    if scenario.servers:
        servers = {
            name: {"command": "/usr/bin/python3", "args": ["/live/inside/server.py", *tools]}
            for name, tools in scenario.servers.items()
        }
        flags += ["--mcp-config", json.dumps({"mcpServers": servers})]
    return flags


def _etc(scenario: Scenario) -> dict[str, str]:
    places = {"managed": "claude-code/managed-settings.json", "flag": "policies/settings.json"}
    return {
        place: json.dumps(scenario.settings[scope])
        for scope, place in places.items()
        if scope in scenario.settings
    }


def _read(answers: dict[str, Any], script: _Script, call: Call, actor: int, use: str) -> Answer:
    if use in answers["asked"]:
        return Answer("ask", answers["asked"][use])
    if use in answers["classified"]:
        return Answer("classifier")
    if use not in answers["results"]:
        return _unreached(answers, script, actor)
    error, told = answers["results"][use]
    told = told[:200]
    if not error:
        failed = call.tool == "Agent" and use in answers["failed"]  # it was started, and refused
        return Answer("unspawned" if failed else "allow", told)
    for pattern, word in _ERRORS:
        if re.search(pattern, told):
            return Answer(word, told)
    return Answer("", f"not understood: {told}")


def _unreached(answers: dict[str, Any], script: _Script, actor: int) -> Answer:
    """Return why an agent did not make a call: it was not started, or the session ended."""
    if actor in answers["started"] or not actor:
        return Answer("", f"the session ended before: {answers['errors'][-200:]}")
    use = script.spawns[actor]
    error, told = answers["results"].get(use, (False, ""))
    if error or use in answers["failed"]:
        return Answer("unspawned", told[:200])
    parent = int(use.removeprefix("toolu_").partition("x")[0])
    return _unreached(answers, script, parent) if not told else Answer("", "its agent is silent")
