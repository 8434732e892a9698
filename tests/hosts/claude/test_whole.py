"""Rules for compound commands as a whole, and findings about them."""

from __future__ import annotations

import json

import pytest

from policy.files.trees import Memory
from policy.hosts.claude.front_end import load
from policy.hosts.workspace import load_tree

pytest.importorskip("tree_sitter_bash")


@pytest.mark.parametrize(
    ("effect", "dead", "lives"),
    [
        (
            "allow",
            ("a | b", "a | b *", "a && b *", "a; b x | c"),
            ("a && b", "a && b:*", "a '|' b *"),
        ),
        ("deny", ("a && b *", "a; b * c"), ("a && b", "a | b *", "a && b:*", "a {b} && c *")),
        ("ask", ("a && b", "a && b *"), ("a | b", "a *")),
    ],
)
def test_a_rule_for_a_compound_command_that_matches_none_is_reported(effect, dead, lives) -> None:
    for rules, told in ((dead, True), (lives, False)):
        for text in rules:
            settings = json.dumps({"permissions": {effect: [f"Bash({text})"]}})
            (project,) = load(Memory({".claude/settings.json": settings}))
            codes = {finding.code for finding in project.findings}
            assert ("dead-compound-rule" in codes) is told, text


def test_a_file_of_a_project_in_an_unknown_folder_is_no_critical_path() -> None:
    settings = '{"permissions": {"allow": ["Bash", "Edit(//*/**)"]}}'
    chain = load_tree(Memory({".claude/settings.json": settings})).chain("main")
    for command in ("rmdir a", "rm -rf a", "cd x && rmdir a"):
        assert chain.decide("Bash", {"command": command}).effect == "allow", command
    for command in ("rm -rf /a", "rm -rf ~"):
        assert chain.decide("Bash", {"command": command}).effect != "allow", command
    assert chain.decide("Edit", {"file_path": "src/a"}).effect == "allow"
    assert chain.decide("Edit", {"file_path": "a"}).effect == "ask"
