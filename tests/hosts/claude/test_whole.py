"""Rules for compound commands as a whole, compared with one another, and findings about them."""

from __future__ import annotations

import json

import pytest

from policy.compare.tables import differences
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.claude.front_end import load
from policy.hosts.workspace import load_tree
from tests.claude_session import table

pytest.importorskip("tree_sitter_bash")

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY


@pytest.mark.parametrize(
    ("before", "after", "call"),
    [
        ({"deny": ["Read(src/**)"]}, {"deny": ["Read(src)"]}, {"command": "popd; cat x"}),
        ({"allow": ["Bash(a {b,c} *)"]}, {"allow": ["Bash(a {b,c})", "Bash(a {b,c} *)"]}, None),
    ],
)
def test_rules_that_match_the_same_in_another_form_differ(before, after, call) -> None:
    tables = table(**before), table(**after)
    assert tables[0] != tables[1]
    assert tables[0].hash != tables[1].hash
    comparison = differences(tables[0], tables[1])
    shown = [each for each in comparison.differences if each.tool == "Bash"]
    assert comparison.exact
    assert shown
    assert call in (None, shown[0].call)


def test_rules_for_edits_and_for_reads_do_not_differ_for_reads_behind_links() -> None:
    lists = [{"allow": [f"{tool}(//opt/**)", "Edit(src/**)"]} for tool in ("Edit", "Read")]
    links = {"/srv/app/src/x": "/opt/x"}
    path = {"file_path": "/srv/app/src/x/q7z"}
    before, after = (table(links=links, **each) for each in lists)
    assert [each.decide("Read", path).effect for each in (before, after)] == [ASK, ASK]
    found = differences(before, after).differences
    assert not any(each.tool == "Read" and not each.widened for each in found)


def test_a_rule_about_whole_pipes_counts_where_no_other_rule_allows_them() -> None:
    tables = table(allow=["Bash"]), table(allow=["Bash"], ask=["Bash(* | tee)"])
    (shown,) = [e for e in differences(tables[0], tables[1]).differences if e.tool == "Bash"]
    assert shown.call == {"command": "npm | tee"}


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
