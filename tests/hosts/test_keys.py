"""Keys in sections about permissions that are not applied are reported, in every host."""

from __future__ import annotations

import json

import pytest

from policy.core.source import Source
from policy.files.json_nodes import read_json
from policy.files.trees import Memory
from policy.hosts.fields import Keys, unapplied_keys
from policy.hosts.workspace import load_tree


def named(document: object, sections: dict[str, Keys]) -> list[tuple[str, str, bool]]:
    node = read_json(Source("x.json", json.dumps(document)))
    found = [(one.message.split("`"), one.help) for one in unapplied_keys(node, sections)]
    return [(name, help_, "decides calls" in why) for (_, name, why), help_ in found]


def test_a_section_that_is_closed_names_every_key_that_is_not_known() -> None:
    sections = {"a": Keys(("deny",)), "a.b": Keys(("c",))}
    document = {"a": {"deny": 1, "denny": 1, "x": 1, "b": {"c": 1, "d": 1}}, "x": 1}
    assert named(document, sections) == [
        ("a.denny", "did you mean `deny`?", False),
        ("a.x", "", False),
        ("a.b.d", "", False),
    ]


def test_a_section_that_is_open_names_keys_that_are_nearly_known_or_about_permissions() -> None:
    sections = {"": Keys(("limits",), is_open=True)}
    document = {"limits": 1, "limts": 1, "color": 1, "allowedTools": 1, "_comment_deny": 1}
    assert named(document, sections) == [
        ("limts", "did you mean `limits`?", False),
        ("allowedTools", "", False),
    ]


def test_a_key_that_is_known_and_not_applied_is_named_where_its_value_does_something() -> None:
    sections = {"a": Keys((), {"paths": [], "gate": {"on": False}, "b": None})}
    for silent in ({"paths": []}, {"gate": {"on": False, "x": 1}}, {"gate": {}}):
        assert named({"a": silent}, sections) == []
    for said in ({"paths": ["x"]}, {"gate": {"on": True}}, {"gate": 1}, {"b": False}):
        (name,) = said
        assert named({"a": said}, sections) == [(f"a.{name}", "", True)]


def test_sections_lie_in_lists_and_below_names_that_anybody_chooses() -> None:
    sections = {"a.*.[].b": Keys(("c",))}
    document = {"a": {"x": [{"b": {"c": 1, "d": 1}}, {"b": {"e": 1}}, 1], "y": 1}}
    assert [name for name, _, _ in named(document, sections)] == ["a.x.b.d", "a.x.b.e"]


AGENT = "---\nname: a\ndescription: b\n---\n"
ROLE = {"instructions.md": "role"}


@pytest.mark.parametrize(
    ("files", "places"),
    [
        (
            {".claude/settings.json": '{"sandbox": {"enabld": true,\n"network": {"deny": []}}}'},
            [".claude/settings.json:1:14", ".claude/settings.json:2:13"],
        ),
        ({".claude/settings.json": '{"allowedTools": ["Bash"]}'}, [".claude/settings.json:1:2"]),
        ({".claude/settings.json": '{"permission": {"deny": []}}'}, [".claude/settings.json:1:2"]),
        ({".claude/settings.json": '{"deniedMcpServers": []}'}, [".claude/settings.json:1:2"]),
        (
            {
                ".claude/settings.json": '{"hooks": {"PreToolUse": [{"matchers": "Bash", "hooks":'
                ' [{"type": "command", "command": "x", "blocking": true}]}]}}'
            },
            [".claude/settings.json:1:28", ".claude/settings.json:1:94"],
        ),
        (
            {
                ".zeph/agents/a.md": AGENT,
                "config/default.toml": "[agents]\nenabled = true\nallowed = ['x']\n",
            },
            ["config/default.toml:3:1"],
        ),
        (
            ROLE
            | {"tools/a.md": "---\nkind: mcp\nname: a\ntransport: x\nallowed_tools: []\n---\n"},
            ["tools/a.md:5:1"],
        ),
        (ROLE | {"schedules/a.md": "---\ncron: x\ndeny: [bash]\n---\n"}, ["schedules/a.md:3:1"]),
        (ROLE | {"agent.acl": "x"}, ["agent.acl:1:1"]),
    ],
)
def test_a_key_about_permissions_that_is_not_applied_is_a_finding_with_its_place(
    files: dict[str, str], places: list[str]
) -> None:
    findings = load_tree(Memory(files)).findings
    assert [str(f.place) for f in findings if f.code == "key-not-applied"] == places


@pytest.mark.parametrize(
    "files",
    [
        {".claude/settings.json": '{"sandbox": {"enabled": true}, "model": "x", "unheard": 1}'},
        {".claude/settings.json": '{"hooks": {"Stop": [{"hooks": [{"type": "prompt", "prompt":'
                                  ' "x", "timeout": 3}]}]}}'},
        {".zeph/agents/a.md": AGENT, "config/default.toml": "[agents]\nenabled = true\n"},
        ROLE | {"tools/a.md": "---\nkind: mcp\nname: a\ntransport: x\ncommand: x\n---\n"},
        ROLE | {"schedules/a.md": "---\ncron: x\nname: y\n---\n", "agent.acl": "\n"},
    ],
)  # fmt: skip
def test_keys_that_are_applied_or_say_nothing_are_not_named(files: dict[str, str]) -> None:
    findings = load_tree(Memory(files)).findings
    assert "key-not-applied" not in {finding.code for finding in findings}
