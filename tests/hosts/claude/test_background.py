"""Background commands, where a rule allows every command: what needs more than one decision."""

from __future__ import annotations

import pytest

from policy.compare.tables import differences
from policy.core.effect import Effect
from tests.claude_session import table
from tests.standings import shadowing

pytest.importorskip("tree_sitter_bash")


def test_who_runs_commands_by_another_name_asks_alike():
    rules = table(allow=["Monitor", "Bash(npm test)"])
    call = {"command": "npm test &", "description": "x"}
    assert rules.decide("Monitor", call).effect is Effect.ASK


def test_it_is_not_redundant():
    rules = table(allow=["Bash", "Bash(npm *)", "Bash(npm test)"])
    standing = {each.rule.rule: each.what for each in shadowing(rules)}
    assert standing == {"Bash": "live", "Bash(npm *)": "live", "Bash(npm test)": "redundant"}


def test_another_rule_makes_every_background_command_a_question():
    before, after = table(allow=["Bash"]), table(allow=["Bash", "Bash(npm *)"])

    found = differences(before, after).differences
    assert [(each.call["command"], each.effects) for each in found if each.tool == "Bash"] == [
        ("npm start &", (Effect.ALLOW, Effect.ASK))
    ]
    assert differences(after, before).differences[0].effects == (Effect.ASK, Effect.ALLOW)
