"""Rules that allow nothing where a model judges, as observed of 2.1.329."""

from __future__ import annotations

import json

import pytest

from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.tables.chain import Chain


def _effect(rule: str, command: str) -> Effect:
    user = Source("<user>", json.dumps({"permissions": {"allow": [rule]}}))
    (project,) = load(
        Memory({}), ClaudeOptions(mode="auto", cwd="/srv/app", home="/home/alice", user=user)
    )
    return Chain.start("main", project.enforced).decide("Bash", {"command": command}).effect


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("Bash(c*)", "czed 9"),  # csh begins so
        ("Bash(co*)", "cozed 9"),  # command
        ("Bash(bash)", "bash"),
        ("Bash(python3)", "python3"),
        ("Bash(python3 -m pytest *)", "python3 -m pytest a"),
        ("Bash(npm exec *)", "npm exec a"),
        ("Bash(timeout 5 *)", "timeout 5 zed"),
        ("Bash(FOO=1 *)", "FOO=1 zed"),
        ("Bash(/usr/bin/*)", "/usr/bin/zed"),
        ("Bash(../x*)", "../xa"),
        ("Bash(watch *)", "watch zed"),
        ("Bash(node18 *)", "node18 a"),
        ("Bash(- *)", "- a"),
        # The program allows these.
        ("Bash(g*)", "gzed 9"),
        ("Bash(python3 -m pytest.x *)", "python3 -m pytest.x a"),
        ("Bash(timeout 5 make *)", "timeout 5 make a"),
    ],
)
def test_a_rule_that_may_lead_to_a_runner_is_left_to_the_model(rule: str, command: str) -> None:
    assert _effect(rule, command) is Effect.ASK


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("Bash(python3 a.py)", "python3 a.py"),
        ("Bash(npm test *)", "npm test a"),
        ("Bash(zed:*)", "zed b"),
        ("Bash(zed -c *)", "zed -c a"),
        ("Bash(cargo run *)", "cargo run a"),
        ("Bash(sudoedit *)", "sudoedit a"),
    ],
)
def test_a_rule_for_another_program_allows_where_a_model_judges(rule: str, command: str) -> None:
    assert _effect(rule, command) is Effect.ALLOW


@pytest.mark.parametrize("tool", ["CronCreate", "CronDelete", "ScheduleWakeup", "SendMessage"])
def test_what_acts_later_or_elsewhere_is_judged_where_a_model_judges(tool: str) -> None:
    decisions = []
    for mode in ("auto", "default"):
        (project,) = load(Memory({}), ClaudeOptions(mode=mode, cwd="/srv/app", home="/home/alice"))
        decisions.append(Chain.start("main", project.enforced).decide(tool, {}))
    judged, alone = decisions
    assert (judged.effect, judged.reason) == (Effect.ASK, Reason.CLASSIFIER)
    assert alone.effect is Effect.ALLOW


def test_reads_kept_inside_are_asked_for_though_a_model_judges_the_rest():
    permissions = {"blockReadsOutsideWorkingDirectories": True}
    settings = json.dumps({"permissions": permissions})
    options = ClaudeOptions(cwd="/srv/app", home="/home/alice", mode="auto")
    (project,) = load(Memory({".claude/settings.json": settings}), options)
    chain = Chain.start("main", project.enforced)
    assert chain.decide("Bash", {"command": "eval ls"}).reason is Reason.PROTECTED
    # Its word may be a file: no command of several words is followed there.
    assert chain.decide("Bash", {"command": "dd x"}).reason is Reason.PROTECTED
    assert chain.decide("Bash", {"command": "dd"}).reason is Reason.CLASSIFIER
