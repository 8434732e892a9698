"""Packed policies are the compiled ones."""

from __future__ import annotations

import json

import policy
from policy.adapters.hook.packed import packed, unpacked
from policy.adapters.hook.protection import protected
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree
from policy.tables.compiled import compiled_from_json, compiled_to_json
from tests.hook.session import POLICY

SETTINGS = {
    "permissions": {
        "allow": ["Bash(npm run *)", "Read(./docs/**)", "WebFetch(domain:*.example.com)"],
        "ask": ["Bash(npm publish *)", "Read(//etc/[a-c]?/{x,y}*)"],
        "deny": ["Read(./private/**)", "Bash(curl *)", "mcp__db__*", "Agent(model:opus)"],
    }
}
FILES = {
    "team.policy": POLICY,
    ".claude/settings.json": json.dumps(SETTINGS),
    ".claude/agents/a.md": "---\nname: a\ndescription: d\ntools: Read, Bash\n---\n",
}


def test_what_is_unpacked_equals_what_was_packed() -> None:
    compiled = compiled_from_json(compiled_to_json(load_tree(Memory(FILES))).encode(), "x.json")
    found = unpacked(packed(compiled))
    assert (found.label, found.hash) == (compiled.label, compiled.hash)
    assert [project.title for project in found.projects] == [p.title for p in compiled.projects]
    for one, two in zip(found.projects, compiled.projects, strict=True):
        assert one.starts == two.starts
        ours, theirs = one.attenuated, two.attenuated
        assert (ours.agents, ours.calls) == (theirs.agents, theirs.calls)
        for mine, known in ((ours.tables, theirs.tables), (ours.roots, theirs.roots)):
            assert mine == known
            for agent, table in mine.items():
                assert table.hash == known[agent].hash
                for part, other in zip(table.use.parts, known[agent].use.parts, strict=True):
                    assert tuple(part.rules.entries) == other.rules.entries
                    assert [e.place for e in part.rules.entries] == [
                        e.place for e in other.rules.entries
                    ]
                    assert part.links == other.links


def test_a_rule_is_read_when_its_tool_is_called() -> None:
    compiled = compiled_from_json(compiled_to_json(load_tree(Memory(FILES))).encode(), "x.json")
    found = unpacked(packed(compiled))
    (project,) = (each for each in found.projects if each.host == "policy")
    table = project.attenuated.start("main").table
    entries = table.use.parts[0].rules.entries
    assert policy.Effect.ALLOW is table.decide("mcp__db__query", {}).effect
    assert 0 < entries._entry.cache_info().currsize < len(entries)


def test_a_chain_of_protected_tables_asks_before_a_policy_is_written() -> None:
    text = "agent main {\n    allow Edit, Task(worker)\n    delegate *\n}\nagent worker {\n    allow Edit\n}\n"
    compiled = compiled_from_json(compiled_to_json(load_tree(Memory({"a.policy": text}))).encode())
    (project,) = protected(compiled, ("/etc/own.json",)).projects
    chain = policy.Chain.start("main", project.attenuated).spawn("worker")
    for path, effect in (("a.policy", "ask"), ("/etc/own.json", "ask"), ("a.py", "allow")):
        assert str(chain.decide("Edit", {"file_path": path}).effect) == effect
