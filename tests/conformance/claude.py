"""Claude Code: a case becomes files in memory, and its call a decision of the enforced reading."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from policy.analysis.lint import lint
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts.claude.data.tools import BUILT_IN
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.hosts.claude.options import VERSION
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace
from policy.tables.chain import Chain, SpawnDenied
from tests.conformance.suite import Case

__all__ = ["decide"]

_REASONS = {
    Reason.UNAVAILABLE.value: "unavailable",
    Reason.NO_TOOLS.value: "error:zero-tools",
    Reason.MALFORMED.value: "error:input",
    "depth": "unavailable",
}


_BAD_INPUT = "error:input"
_INPUT_ERRORS = {"error:input", "error:subagent-type-required"}


def decide(case: Case) -> tuple[str, str]:
    """Return what *case* must get and what it gets."""
    observed = case.get("observed", {}).get("result")
    expected = str(case["expected"] if observed in (None, "none") else observed)
    if _is_undescribed(case):
        return expected, "unavailable"
    tree = _tree(case)
    project = _project(case, tree)
    call = case["call"]
    if call is None or expected.startswith("lint:"):
        return expected, _finding(tree, project, expected)
    got = _decided(project, case)
    # What is wrong with the input of a call is the host's to name.
    return expected, expected if got == _BAD_INPUT and expected in _INPUT_ERRORS else got


def _is_undescribed(case: Case) -> bool:
    """Return whether a case is of a session that no options describe."""
    env, call = case.get("env") or {}, case.get("call") or {}
    tool = call.get("tool")
    return (
        env.get("version", VERSION) != VERSION
        or (env.get("os", "linux") != "linux" and tool != "PowerShell")
        or any(key in env for key in ("pretooluse", "cowork"))
        or env.get("run") == "teammate"
    )


def _finding(tree: Memory, project: Project, expected: str) -> str:
    # What shows in the tables of every host alike is among these.
    found = lint(tree, Workspace("", (project,))).findings
    codes = [finding.code for finding in (*project.findings, *found)]
    name = expected.partition(":")[2]
    name = _NAMES.get(name, name)
    if name in codes:
        return expected
    return ", ".join(dict.fromkeys(codes)) or "none"


# What the cases call a finding -> its name here.
_NAMES = {"deny-shadowed-allow": "shadowed-rule"}


def _decided(project: Project, case: Case) -> str:
    try:
        chain = Chain.start("main", project.enforced)
        for agent in case.get("chain", ()):
            chain = chain.spawn(agent)
    except SpawnDenied as denied:
        return _REASONS.get(denied.reason, "deny")
    call = case["call"]
    decision = chain.decide(call["tool"], call["input"])
    return _word(decision)


def _word(decision: Decision) -> str:
    if decision.effect is Effect.DENY:
        return _REASONS.get(decision.reason.value, "deny")
    if decision.effect is Effect.ASK and decision.reason is Reason.CLASSIFIER:
        return "classifier"
    return str(decision.effect)


def _tree(case: Case) -> Memory:
    settings, env = _settings(case), case.get("env") or {}
    files: dict[str, str] = {}
    for scope, name in (("project", "settings.json"), ("local", "settings.local.json")):
        if scope in settings:
            files[f".claude/{name}"] = _text(settings[scope])
    for name, front in (case.get("agents") or {}).items():
        files.update(_agent(name, front))
    started = re.sub(
        "[ _]+", "-", (case["call"] or {}).get("input", {}).get("subagent_type", "").lower()
    )
    named = {name.lower() for name in (*(case.get("agents") or {}), *BUILT_IN)}
    if re.fullmatch("[a-z0-9-]+", started) and started not in named:
        # A case that starts an agent takes it for granted.
        files.setdefault(f".claude/agents/{started}.md", _front_matter(_PLAIN | {"name": started}))
    for name, front in (env.get("skills") or {}).items():
        files[f".claude/skills/{name}/SKILL.md"] = _front_matter(front or {})
    given = env.get("files") or {}
    files.update({path: text for path, text in given.items() if not path.startswith("/")})
    return Memory(files)


def _project(case: Case, tree: Memory) -> Project:
    settings, env = _settings(case), case.get("env") or {}
    options = ClaudeOptions(
        mode=case.get("mode"),
        cwd=case.get("cwd") or "/srv/app",
        home=env.get("home", "/home/alice"),
        trusted=env.get("trusted", True) is True,
        local_tracked=env.get("local_file") == "tracked",
        main_agent=case.get("main_agent") or "",
        depth=env.get("max_spawn_depth"),
        background={"background": True, "foreground": False}.get(env.get("run", "")),
        user=_source("user", settings),
        managed=_source("managed", settings),
        command_line=_source("cli", settings),
        flag=_source("settings_flag", settings, _flag_file(settings.get("settings_flag"))),
        flag_folder=_flag_file(settings.get("settings_flag")).rpartition("/")[0],
        servers={name: tuple(tools) for name, tools in env["mcp"].items()}
        if "mcp" in env
        else None
        if _speaks_of_servers(case)
        else {},
        interactive=(*env.get("requires_user_interaction", ()), *env.get("org_ask", ())),
        preapproved=tuple(env["preapproved"]) if "preapproved" in env else None,
        aliases=env.get("aliases") or {},
        links=env.get("symlinks") or {},
        active_skill=env.get("active_skill") or "",
        sandboxed=env.get("sandbox") == "auto-allow" and env.get("sandboxable", True) is True,
    )
    (project,) = load(tree, options)
    return project


_PLAIN = {"description": "d"}


def _speaks_of_servers(case: Case) -> bool:
    """Return whether a case has a server that it does not describe: else there is none."""
    return "mcp__" in (case["call"] or {}).get("tool", "")


def _text(settings: object) -> str:
    return settings if isinstance(settings, str) else json.dumps(settings)


def _settings(case: Case) -> Mapping[str, Any]:
    """Return the settings of a case, with the switch that all were run with but those of `auto`."""
    modes = [case.get("mode"), *(each.get("permissionMode") for each in _agents(case))]
    user = case["settings"].get("user") or {}
    switched_on = "auto" in modes or (case.get("env") or {}).get("auto_available")
    if switched_on or not isinstance(user, dict):
        return case["settings"]
    rules = user.get("permissions") or {}
    if not isinstance(rules, dict):
        return case["settings"]
    switched = {**user, "permissions": {"disableAutoMode": "disable", **rules}}
    env = case.get("env") or {}
    given = {n: value for n, value in env.items() if n.startswith("CLAUDE_CODE_")}
    if given:
        switched["env"] = {**given, **user.get("env", {})}
    return {**case["settings"], "user": switched}


def _agents(case: Case) -> list[Mapping[str, Any]]:
    return [each for each in (case.get("agents") or {}).values() if isinstance(each, dict)]


def _source(scope: str, settings: Mapping[str, Any], name: str = "") -> Source | None:
    return Source(name or f"<{scope}>", _text(settings[scope])) if scope in settings else None


def _flag_file(settings: object) -> str:
    return str(settings.get("file") or "") if isinstance(settings, Mapping) else ""


def _agent(name: str, front: Mapping[str, Any]) -> dict[str, str]:
    name, _, scope = name.partition("@")
    if scope == "user":
        return {}  # only the stronger scope is read here
    plugin, _, short = name.partition(":")
    keys = {key: value for key, value in front.items() if key != "source"}
    if front.get("source") == "plugin" and short:
        return {
            # Where the session is: nothing here says which plugins it has.
            ".claude-plugin/plugin.json": json.dumps({"name": plugin}),
            f"agents/{short}.md": _front_matter({"name": short, **keys}),
        }
    return {f".claude/agents/{name.replace(':', '-')}.md": _front_matter({"name": name, **keys})}


def _front_matter(keys: Mapping[str, Any]) -> str:
    lines = ["---"]
    for key, value in keys.items():
        raw = (
            value["__raw__"]
            if isinstance(value, Mapping) and "__raw__" in value
            else json.dumps(value)
        )
        lines.append(f"{key}: {raw}")
    return "\n".join([*lines, "---", "", "Text.", ""])
