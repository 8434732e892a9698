"""Hooks of Claude Code: what one wrong value costs, which calls each sees (2.1.329, observed)."""

from __future__ import annotations

import json

import pytest

from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.claude.front_end import load
from policy.hosts.claude.hooks import takes
from policy.hosts.project import Project
from policy.tables.chain import Chain

GUARD = {"type": "command", "command": "./guard.sh"}


def only(files: dict[str, str]) -> Project:
    (project,) = load(Memory(files))
    return project


def hooked(hook: object, event: str = "PreToolUse", **group: object) -> dict[str, object]:
    return {"hooks": {event: [{"hooks": [hook], **group}]}}


def findings(settings: object) -> dict[str, str]:
    project = only({".claude/settings.json": json.dumps(settings)})
    return {found.code: found.message for found in project.findings}


# --- what a wrong value costs ----------------------------------------------------------


def is_void(settings: dict[str, object]) -> bool:
    """Return whether a denial beside these settings is lost."""
    files = {".claude/settings.json": json.dumps({**settings, "permissions": {"deny": ["Read"]}})}
    chain = Chain.start("main", only(files).enforced)
    return chain.decide("Read", {"file_path": "a"}).effect is not Effect.DENY


@pytest.mark.parametrize(
    "settings",
    [
        {"hooks": {"PreToolUse": {}}},
        {"hooks": {"PermissionRequest": {}}},
        {"hooks": {"PreToolUse": ["x"]}},
        {"hooks": {"PreToolUse": [{"matcher": "Bash"}]}},
        {"hooks": {"PreToolUse": [{"matcher": "Bash", "command": "x"}]}},
        {"hooks": {"PreToolUse": [{"hooks": None}]}},
        hooked("x"),
        hooked({"command": "x"}),
        hooked({"type": "nope", "command": "x"}),
        hooked({"type": "command"}),
        hooked({"type": "prompt"}),
        hooked({"type": "http", "url": "x"}),
        hooked({"type": "mcp_tool"}),
        hooked({**GUARD, "timeout": 0}),
        hooked({**GUARD, "timeout": "5"}),
        hooked({**GUARD, "async": "yes"}),
        hooked({**GUARD, "shell": "fish"}),
        hooked({**GUARD, "args": "a"}),
        hooked({**GUARD, "if": 5}),
        hooked(GUARD, matcher=5),
        hooked(GUARD, matcher=None),
    ],
    ids=json.dumps,
)
def test_a_wrong_value_of_a_hook_that_guards_calls_voids_the_file(
    settings: dict[str, object],
) -> None:
    assert is_void(settings)
    assert "wrong-type" in findings(settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"hooks": []},
        {"hooks": "x"},
        {"hooks": {"PreToolUse": None}},
        {"hooks": {"PreToolUse": [{"hooks": []}]}},
        {"hooks": {"PostToolUse": {}}},
        {"hooks": {"Stop": "x"}},
        {"hooks": {"preToolUse": "x"}},
        hooked({**GUARD, "timeout": 1.5, "shell": "bash", "args": ["a"], "blocking": True}),
        hooked({"type": "http", "url": "http://example.com/"}),
        hooked({"type": "mcp_tool", "server": "s", "tool": "t"}),
        hooked({**GUARD, "if": ""}),
        hooked(GUARD, matcher="["),
    ],
    ids=json.dumps,
)
def test_any_other_value_of_hooks_costs_nothing_else(settings: dict[str, object]) -> None:
    assert not is_void(settings)


# --- which calls a hook sees -------------------------------------------------------------

TOOLS = ("Bash", "Edit", "Read", "Agent", "mcp__github__get_issue", "Monitor", "NotebookEdit")


@pytest.mark.parametrize(
    ("matcher", "taken"),
    [
        ("", TOOLS),
        ("*", TOOLS),
        (".*", TOOLS),
        ("Bash", ("Bash", "Monitor")),
        ("Bash, Edit", ("Bash", "Edit", "Monitor")),
        ("Bash|Edit", ("Bash", "Edit", "Monitor")),
        ("Read|", ("Read",)),
        ("Bash ", ("Bash", "Monitor")),
        ("Task", ("Agent",)),
        ("bash", ()),
        ("Ba", ()),
        ("Bas.", ("Bash", "Monitor")),
        ("^Bash$", ("Bash", "Monitor")),
        ("Edit|Bash*", ("Bash", "Edit", "Monitor", "NotebookEdit")),
        ("WebFetch|.it", ("Edit", "mcp__github__get_issue", "Monitor", "NotebookEdit")),
        ("mcp__github", ()),
        ("mcp__github__*", ("mcp__github__get_issue",)),
        ("mcp__.*", ("mcp__github__get_issue",)),
        ("Bash(git *)", ()),
        ("[", ()),
        ("*|x", ()),
        ("(?i)bash", ()),
        ("Edit Write", ()),
        ("Edit;Write", ()),
    ],
)
def test_a_matcher_takes_whole_names_or_is_an_expression(
    matcher: str, taken: tuple[str, ...]
) -> None:
    assert tuple(tool for tool in TOOLS if takes(matcher, tool)) == taken


@pytest.mark.parametrize("matcher", ["(?!Bash)", "(a+)+b", "[a-z]+", "a*b*c*d*e*f*g*", r"(.)\1"])
def test_an_expression_that_may_take_long_is_not_tried(matcher: str) -> None:
    assert takes(matcher, "Bash") is None


# --- findings ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (hooked(GUARD, matcher="Bash(git *)"), "the matcher `Bash(git *)` takes no tool"),
        (hooked(GUARD, matcher="mcp__github"), "takes no tool"),
        (hooked(GUARD, "preToolUse"), "`preToolUse` is no event"),
        (hooked({**GUARD, "if": "Bash(a)"}, "Stop"), "only hooks about the calls of tools"),
        (hooked({**GUARD, "if": "Bash(a *)|Bash(b *)"}), "this is several"),
        (hooked({**GUARD, "if": "Edit|Write"}), "this is several"),
        (hooked({**GUARD, "if": "Bash(a"}), "the condition is no rule"),
        (hooked({**GUARD, "if": "Nope"}), "no tool `Nope`"),
    ],
)
def test_a_hook_that_never_runs_is_found(settings: object, why: str) -> None:
    assert why in findings(settings)["hook-never-fires"]


@pytest.mark.parametrize(
    "settings",
    [
        hooked(GUARD),
        hooked(GUARD, matcher="mcp__github__.*"),
        hooked(GUARD, matcher="mcp__github__push"),
        hooked(GUARD, matcher="^Notebook"),
        hooked(GUARD, "SessionStart", matcher="resume"),
        hooked(GUARD, matcher="(?!Bash)"),
        hooked({**GUARD, "if": "Bash(ls *)"}, matcher="Monitor"),
        hooked({**GUARD, "if": "mcp__github__push"}),
    ],
)
def test_a_hook_that_may_run_is_left_alone(settings: object) -> None:
    assert "hook-never-fires" not in findings(settings)


def test_hooks_of_agents_and_skills_are_read_as_those_of_settings_are() -> None:
    front = "hooks:\n  PreToolUse:\n    - matcher: bash\n      hooks:\n        - type: command\n          command: x\n"
    for path in (".claude/agents/a.md", ".claude/skills/a/SKILL.md", ".claude/commands/a.md"):
        project = only({path: f"---\nname: a\ndescription: d\n{front}---\n"})
        assert "hook-never-fires" in {found.code for found in project.findings}, path


def test_agents_of_plugins_have_no_hooks_and_bring_no_servers() -> None:
    front = "hooks:\n  PreToolUse: []\nmcpServers:\n  - s: {command: x}\n"
    files = {
        ".claude-plugin/plugin.json": json.dumps({"name": "p"}),
        "agents/a.md": f"---\nname: a\ndescription: d\n{front}---\n",
        "agents/b.md": "---\nname: b\ndescription: d\n---\n",
    }
    project = only(files)
    said = [f.message for f in project.findings if f.code == "plugin-agent-field-ignored"]
    assert [name for name in ("hooks", "mcpServers") if f"`{name}`" in " ".join(said)] == [
        "hooks",
        "mcpServers",
    ]
    for name in ("p:a", "p:b"):
        chain = Chain.start("main", project.enforced).spawn(name)
        assert chain.decide("mcp__s__x", {}).effect is Effect.ASK


def test_the_strongest_settings_that_speak_of_hooks_say_whether_they_run() -> None:
    off, on = json.dumps({"disableAllHooks": True}), json.dumps({"disableAllHooks": False})
    names = (".claude/settings.json", ".claude/settings.local.json")
    both = only(dict(zip(names, (off, on), strict=True)))
    assert "hooks-disabled" not in {found.code for found in both.findings}
    both = only(dict(zip(names, (on, off), strict=True)))
    assert [found.place.file for found in both.findings if found.code == "hooks-disabled"] == [
        names[1]
    ]


def test_hooks_that_guard_the_ways_to_edit_one_by_one_guard_them_all() -> None:
    groups = [{"matcher": name, "hooks": [GUARD]} for name in ("Edit", "Write", "NotebookEdit")]
    assert "hook-misses-tools" not in findings({"hooks": {"PreToolUse": groups}})
    assert "hook-misses-tools" in findings({"hooks": {"PreToolUse": groups[:2]}})


def test_an_asynchronous_hook_guards_nothing_and_misses_nothing() -> None:
    found = findings(hooked({**GUARD, "async": True, "if": "Edit(a)"}, matcher="Edit"))
    assert "hook-misses-tools" not in found
