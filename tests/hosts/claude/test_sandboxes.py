"""What a sandbox and the server of the desktop program come to, as the documentation tells."""

from __future__ import annotations

import json

import pytest

from policy.analysis.diff import diff_workspaces
from policy.compare.tables import differences
from policy.core import values
from policy.core.decision import Decision
from policy.files.trees import Memory
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.hosts.workspace import load_tree
from policy.tables.chain import Chain

SANDBOXED = ClaudeOptions(sandboxed=True, cwd="/srv/app")


def decide(
    tool: str, call: dict[str, object], options: ClaudeOptions, **lists: list[str]
) -> Decision:
    files = {".claude/settings.json": json.dumps({"permissions": lists})}
    (project,) = load(Memory(files), options)
    return Chain.start("main", project.enforced).decide(tool, call)


def run(
    options: ClaudeOptions, command: str = "npm test", *, outside: bool = False, **lists
) -> str:
    call = {"command": command, **({"dangerouslyDisableSandbox": True} if outside else {})}
    return str(decide("Bash", call, options, **lists).effect)


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "dontAsk"])
def test_commands_in_a_sandbox_are_auto_allowed_except_those_that_rules_name(mode: str) -> None:
    options = ClaudeOptions(sandboxed=True, cwd="/srv/app", mode=mode)
    asked = "deny" if mode == "dontAsk" else "ask"

    assert run(options) == run(options, ask=["Bash"]) == run(options, ask=["Bash(*)"]) == "allow"
    assert run(options, ask=["Bash(npm *)"]) == asked
    assert run(options, deny=["Bash(npm *)"]) == "deny"
    assert run(options, "rm -rf /") == asked
    assert run(options, "make > .git/config") == asked
    assert run(ClaudeOptions(cwd="/srv/app", mode=mode)) == asked


def test_a_plan_asks_for_commands_in_a_sandbox_too() -> None:
    options = ClaudeOptions(sandboxed=True, cwd="/srv/app", mode="plan")

    assert run(options) == run(options, ask=["Bash"]) == "ask"


def test_a_command_that_is_to_run_outside_is_asked_for() -> None:
    assert run(SANDBOXED, outside=True) == "ask"
    assert run(SANDBOXED, outside=True, deny=["Bash(dangerouslyDisableSandbox:true)"]) == "deny"


def test_a_sandbox_is_about_commands_alone() -> None:
    edit = {"file_path": "/srv/app/a"}

    assert str(decide("Edit", edit, SANDBOXED).effect) == "ask"
    assert str(decide("Monitor", {"command": "make"}, SANDBOXED).effect) == "ask"


def settings(**given: object) -> dict[str, str]:
    return {".claude/settings.json": json.dumps(given)}


def enforced(
    files: dict[str, str], start: str, command: str, options: ClaudeOptions = SANDBOXED
) -> str:
    (project,) = load(Memory(files), values.evolve(options, sandboxed=False))
    chain = Chain.start(start, project.enforced)
    return str(chain.decide("Bash", {"command": command}).effect)


@pytest.mark.parametrize(
    ("sandbox", "told"),
    [
        ({"enabled": True}, True),
        ({"enabled": True, "autoAllowBashIfSandboxed": True}, True),
        ({"enabled": True, "autoAllowBashIfSandboxed": False}, False),
        ({"enabled": False, "autoAllowBashIfSandboxed": True}, False),
        ({"autoAllowBashIfSandboxed": True}, False),
        ({}, False),
    ],
)
def test_settings_that_auto_allow_commands_in_a_sandbox_are_reported_beside_main(
    sandbox: dict[str, object], *, told: bool
) -> None:
    files = settings(sandbox=sandbox)
    (project,) = load(Memory(files), ClaudeOptions(cwd="/srv/app"))

    assert project.variants == (("main in a sandbox",) if told else ())
    assert ("sandbox-runs-unasked" in {f.code for f in project.findings}) is told
    assert enforced(files, "main", "npm test") == "ask"
    if told:
        assert enforced(files, "main in a sandbox", "npm test") == "allow"


def test_the_strongest_settings_that_say_something_of_a_sandbox_decide() -> None:
    on = {"sandbox": {"enabled": True}}
    off = {"sandbox": {"autoAllowBashIfSandboxed": False}}
    files = {
        ".claude/settings.json": json.dumps(on),
        ".claude/settings.local.json": json.dumps(off),
    }
    (project,) = load(Memory(files), ClaudeOptions(cwd="/srv/app"))
    assert project.variants == ()

    files = {
        ".claude/settings.json": json.dumps(off),
        ".claude/settings.local.json": json.dumps({"sandbox": {"autoAllowBashIfSandboxed": True}}),
        "a/.claude/settings.json": json.dumps(on),
    }
    assert [p.variants for p in load(Memory(files), ClaudeOptions(cwd="/srv/app"))] == [
        (),
        ("main in a sandbox",),
    ]


def test_rules_and_exclusions_hold_in_a_sandbox() -> None:
    files = settings(
        permissions={"allow": ["Bash(docker ps)"], "ask": ["Bash(npm *)"], "deny": ["Bash(rm *)"]},
        sandbox={"enabled": True, "excludedCommands": ["docker", "docker *"]},
    )
    says = {
        command: enforced(files, "main in a sandbox", command)
        for command in ("make", "npm test", "rm a", "docker ps", "docker run x", "xargs make")
    }
    assert says == {
        "make": "allow",
        "npm test": "ask",
        "rm a": "deny",
        "docker ps": "allow",
        "docker run x": "ask",
        "xargs make": "allow",
    }


@pytest.mark.parametrize("command", ["npm test &", "npm test; $x", "npm test > /etc/x"])
def test_a_rule_that_allows_takes_nothing_from_what_a_sandbox_lets_run(command: str) -> None:
    """As the text of 2.1.329 has it: no rule that allows is asked where one lets it run."""
    without, with_ = (
        settings(
            permissions={"allow": allow}, sandbox={"enabled": True, "excludedCommands": ["ls"]}
        )
        for allow in ([], ["Bash(npm test)", "Bash(ls)"])
    )
    assert enforced(without, "main in a sandbox", command) == "allow"
    assert enforced(with_, "main in a sandbox", command) == "allow"
    # What runs outside a rule allows, so far as it allows any such command.
    outside = command.replace("npm test", "ls")
    assert enforced(with_, "main in a sandbox", "ls") == "allow"
    assert (
        enforced(with_, "main in a sandbox", outside) == enforced(with_, "main", outside) == "ask"
    )


def test_agents_that_are_started_in_a_sandbox_have_it_too() -> None:
    (project,) = load(Memory(settings(sandbox={"enabled": True})), ClaudeOptions(cwd="/srv/app"))
    chain = Chain.start("main in a sandbox", project.enforced).spawn("general-purpose")
    assert str(chain.decide("Bash", {"command": "make"}).effect) == "allow"


def test_a_change_that_switches_a_sandbox_on_widens() -> None:
    old, new = ({}, {"sandbox": {"enabled": True}})
    changes = diff_workspaces(
        load_tree(Memory(settings(permissions={}, **old))),
        load_tree(Memory(settings(permissions={}, **new))),
    ).changes
    assert [(c.chain, c.direction, c.readings, c.difference.tool) for c in changes] == [
        (("main in a sandbox",), "widened", ("enforced",), "Bash")
    ]


@pytest.mark.parametrize(
    "more",
    [
        {"sandbox": {"enabled": "yes"}},
        {"sandbox": {"enabled": None}},
        {"sandbox": {"network": 5}},
        {"sandbox": {"filesystem": {"denyRead": [5]}}},
        {"sandbox": {"excludedCommands": "docker"}},
        {"availableModels": "opus"},
        {"statusLine": {"type": "x", "command": "y"}},
        {"enabledPlugins": {"a@b": 5}},
        {"quietHours": {"start": "99"}},
        {"worktree": 5},
    ],
    ids=json.dumps,
)
def test_one_value_of_a_wrong_type_anywhere_costs_the_whole_file(more: dict[str, object]) -> None:
    """Observed with 2.1.329: `ls` is read only, and what denies it is no longer in force."""
    files = settings(permissions={"deny": ["Bash(ls)"]}, **more)
    assert enforced(files, "main", "ls") == "allow"


@pytest.mark.parametrize(
    "more",
    [
        {"sandbox": {"other": 5}},
        {"enabledMcpjsonServers": "x"},
        {"extraKnownMarketplaces": {"x": 5}},
        {"allowedMcpServers": [5]},
        {"effortLevel": 5},
        {"theme": 7},
        {"env": {"A": [5]}},
    ],
    ids=json.dumps,
)
def test_of_some_keys_the_host_skips_a_wrong_value(more: dict[str, object]) -> None:
    files = settings(permissions={"deny": ["Bash(ls)"]}, **more)
    assert enforced(files, "main", "ls") == "deny"


def test_a_sandbox_is_compared_with_a_rule_that_allows_every_command() -> None:
    rules = {".claude/settings.json": json.dumps({"permissions": {"allow": ["Bash"]}})}
    boxed, plain = (
        Chain.start("main", load(Memory(files), values.evolve(SANDBOXED, sandboxed=on))[0].enforced)
        for on, files in ((True, {".claude/settings.json": "{}"}), (False, rules))
    )
    call = {"command": "git status &"}
    assert str(boxed.decide("Bash", call).effect) == "allow"
    assert str(plain.decide("Bash", call).effect) == "ask"
    compared = differences(boxed.table, plain.table)
    shown = {(str(d.before.effect), str(d.after.effect)) for d in compared.differences}
    assert ("allow", "ask") in shown
