"""Read-only programs, and calls that depend on how a session is started, as observed of 2.1.329."""

from __future__ import annotations

import json

import pytest

from policy.commands.knowledge import Program
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.claude.data.programs import EDITING_PROGRAMS, READ_ONLY_PROGRAMS
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.tables.chain import Chain
from tests.claude_session import decide, table

pytest.importorskip("tree_sitter_bash")


def programs(known: dict[str, Program], before: str = "") -> list[tuple[str, Program]]:
    found = []
    for name, program in known.items():
        found.append((f"{before}{name}", program))
        found += programs(dict(program.subcommands), f"{before}{name} ")
    return found


ALL = programs(dict(READ_ONLY_PROGRAMS)) + programs(dict(EDITING_PROGRAMS))

# With any option of these the host runs them, and asks for some by name.
ANY_OPTION = frozenset(
    "ls cat stat diff cmp rev tac nl column od hexdump strings comm paste fold fmt expand unexpand"
    " tsort pr numfmt wc head tail cut readlink realpath du df basename dirname tr id uname free cal"
    " true false seq expr locale sleep groups uptime nproc type echo find jq mkdir rm rmdir".split()
) | {"[", "[[", "docker ps", "docker images"}


def test_only_listed_programs_are_read_only_with_any_option():
    assert {name for name, known in ALL if known.harmless and known.flags is None} == ANY_OPTION


@pytest.mark.parametrize("option", ["--nosuch", "--nosuch=1", "-\u00e9", "-_"])
def test_an_option_that_was_not_seen_to_run_is_asked_for(option):
    rules = table()
    for name, known in ALL:
        if known.harmless and known.flags is not None:
            asked = rules.decide("Bash", {"command": f"{name} {option} a"})
            assert asked.effect is Effect.ASK, name


def test_in_a_plan_a_model_decides_where_there_is_one():
    (judged,) = load(Memory({".claude/settings.json": "{}"}), ClaudeOptions(mode="plan"))
    switch = '{"permissions": {"disableAutoMode": "disable"}}'
    (asked,) = load(Memory({".claude/settings.json": switch}), ClaudeOptions(mode="plan"))
    reasons = [
        Chain.start("main", each.enforced).decide("Bash", {"command": "make"}).reason
        for each in (judged, asked)
    ]
    assert reasons == [Reason.CLASSIFIER, Reason.DEFAULT]


def test_a_switch_against_bypassing_permissions_is_stronger_than_the_flag():
    switch = '{"permissions": {"disableBypassPermissionsMode": "disable"}}'
    options = ClaudeOptions(mode="bypassPermissions")
    (project,) = load(Memory({".claude/settings.json": switch}), options)
    decision = Chain.start("main", project.enforced).decide("Bash", {"command": "make"})
    assert decision.effect is Effect.ASK


@pytest.mark.parametrize("rule", ["Agent", "Task", "Agent(*)", "Agent(nosuch)"])
def test_a_rule_that_allows_agents_adds_none(rule):
    settings = json.dumps({"permissions": {"allow": [rule]}})
    (project,) = load(Memory({".claude/settings.json": settings}), ClaudeOptions())
    main = Chain.start("main", project.enforced)
    assert main.decide("Agent", {"subagent_type": "nosuch"}).effect is Effect.DENY
    assert main.decide("Agent", {"subagent_type": "Explore"}).effect is Effect.ALLOW


MISREAD = ["x~1", "a~2/b", "x.", "a /b", ".../x", "x.con", "y.LPT9"]


@pytest.mark.parametrize("name", MISREAD)
def test_a_file_that_windows_takes_for_another_is_asked_for(name):
    settings = json.dumps({"permissions": {"allow": ["Bash", "Edit(/**)", "Read(/**)"]}})
    for mode in ("default", "acceptEdits"):
        options = ClaudeOptions(cwd="/srv/app", home="/home/alice", mode=mode)
        (project,) = load(Memory({".claude/settings.json": settings}), options)
        chain = Chain.start("main", project.enforced)
        for tool in ("Edit", "Write", "Read"):
            assert chain.decide(tool, {"file_path": f"/srv/app/{name}"}).effect is Effect.ASK
        for command in ("echo a > '{}'", "touch '{}'", "rm '{}'", "cp a '{}'"):
            asked = chain.decide("Bash", {"command": command.format(name)})
            assert asked.effect is Effect.ASK, command
        assert chain.decide("Bash", {"command": f"cat '{name}'"}).effect is Effect.ALLOW
    assert decide(f"touch '{name}'", mode="bypassPermissions") is Effect.ALLOW
