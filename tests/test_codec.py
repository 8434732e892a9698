"""Tables as JSON: one text a table, and nothing is taken on trust."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

import policy
from policy.codec import table_from_json, table_to_json
from policy.compile import compile_policy
from policy.hosts.notation import SEMANTICS, policies
from policy.parse import parse_notation
from policy.source import Source
from policy.table import NOTHING, UNRESTRICTED, Table
from tests.strategies import tables

TEXT = """
agent lead {
    allow     Read(src/[a-c]*.py), Bash(git *), WebFetch(domain:*.example.com), Task(explore, "a b")
    ask       Bash(git push *), Task(model:opus*)
    deny      mcp__*, Read(.env)
    delegate  Read
    trust     verified
    limit     depth 2, turns 20
}
"""


def _lead() -> Table:
    (lead,) = policies(parse_notation(Source("team.policy", TEXT)))
    return compile_policy(lead, SEMANTICS)


@given(tables)
def test_a_table_survives_the_round_trip_byte_for_byte(table: Table) -> None:
    text = table_to_json(table)
    again = table_from_json(text)
    assert again == table
    assert again.hash == table.hash
    assert table_to_json(again) == text


@pytest.mark.parametrize("table", [UNRESTRICTED, NOTHING, _lead()], ids=["top", "bottom", "lead"])
def test_known_tables_survive_the_round_trip(table: Table) -> None:
    assert table_from_json(table_to_json(table)) == table


def test_what_is_read_back_decides_and_explains_alike() -> None:
    table = _lead()
    again = table_from_json(table_to_json(table))
    for tool, call in (
        ("Bash", {"command": "git push origin"}),
        ("Bash", {"command": "git status && rm -rf /"}),
        ("Read", {"file_path": "src/apple.py"}),
        ("Task", {"subagent_type": "explore", "model": "opus-5"}),
        ("mcp__x__y", {}),
    ):
        assert again.decide(tool, call) == table.decide(tool, call)


def test_the_tables_of_a_host_survive_the_round_trip() -> None:
    folder = {
        ".claude/settings.json": '{"permissions": {"allow": ["Bash(npm test:*)"], "deny": ["Read(.env)"]}}',
        ".claude/agents/a.md": "---\nname: a\ndescription: d\ntools: Read, Bash(git *)\n---\n",
    }
    from policy.files import Memory
    from policy.workspace import load_tree

    for reading in ("attenuated", "enforced"):
        table = load_tree(Memory(folder)).chain("main", "a", reading=reading).table
        text = table_to_json(table)
        assert table_from_json(text) == table
        assert table_to_json(table_from_json(text)) == text


def _changed(change: Any) -> str:
    document = json.loads(table_to_json(_lead()))
    change(document)
    return json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n"


def _widen(document: dict) -> None:
    document["rules"][0]["default"] = "allow"


def _drop(document: dict) -> None:
    del document["rules"][0]["entries"][0]
    del document["sources"]["rules"][0][0]


def _move(document: dict) -> None:
    document["sources"]["rules"][0][0]["place"]["line"] = 99


@pytest.mark.parametrize(
    "change",
    [
        _widen,
        _drop,
        _move,
        lambda d: d.update(hash="sha256:" + "0" * 64),
        lambda d: d["sources"].update(hash="sha256:" + "0" * 64),
        lambda d: d.update(version=2),
        lambda d: d.update(version=True),
        lambda d: d.update(more=1),
        lambda d: d.pop("rules"),
        lambda d: d.update(use="all"),
        lambda d: d.update(use=[]),
        lambda d: d.update(use=[0, 0]),
        lambda d: d["rules"][0].update(dialect=7),
        lambda d: d["rules"][0].update(dialect=-1),
        lambda d: d["rules"][0].update(dialect=True),
        lambda d: d["sources"].update(use=["lead"]),
        lambda d: d["rules"][0]["entries"][0].update(effect="grant"),
        lambda d: d["rules"][0]["entries"][0].update(effect=None),
        lambda d: d["rules"][0]["entries"][0].update(alow=1),
        lambda d: d["rules"][0]["entries"][0].update(pattern={"kind": "text", "tokens": "*"}),
        lambda d: d["rules"][0]["entries"][0].update(
            pattern={"kind": "text", "tokens": ["a", "b"]}
        ),
        lambda d: d["bounds"].update(trust="absolute"),
        lambda d: d["bounds"].update(depth="2"),
        lambda d: d.update(delegate=False),
    ],
)
def test_a_changed_text_is_refused(change: Any) -> None:
    with pytest.raises(policy.PolicyError):
        table_from_json(_changed(change))


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "{", "{}", "[" * 100_000, '{"agent-policy": NaN}', "\x80\x04K\x01."],
)
def test_what_is_no_table_is_refused(text: str) -> None:
    with pytest.raises(policy.PolicyError):
        table_from_json(text)


def test_a_text_that_is_laid_out_otherwise_is_refused() -> None:
    text = table_to_json(_lead())
    with pytest.raises(policy.PolicyError):
        table_from_json(json.dumps(json.loads(text), indent=1))
