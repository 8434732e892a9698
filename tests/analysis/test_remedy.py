"""What `policy check` proposes for a call that no rule allows: it is allowed then."""

from __future__ import annotations

import pytest

from policy.analysis.remedy import remedy
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree

TEAM = """\
root main

agent main {
    allow     Read, Bash(git diff *), Task(helper)
    deny      Bash(git push --force *)
}

agent helper {
    allow     Read
}
"""

CALLS = [
    ("Bash", {"command": "npm test"}, ("Bash(npm test)",)),
    ("Bash", {"command": "git diff a && make all; ls"}, ("Bash(make all)", "Bash(ls)")),
    ("Edit", {"file_path": "docs/a.md"}, ("Edit(docs/a.md)",)),
    ("WebFetch", {"url": "https://docs.example.com/x"}, ("WebFetch(domain:docs.example.com)",)),
    ("Skill", {}, ("Skill",)),
]


def chain(text: str, *names: str):
    return load_tree(Memory({"t.policy": text})).chain(*names)


@pytest.mark.parametrize(("tool", "call", "rules"), CALLS)
@pytest.mark.parametrize("names", [("main",), ("main", "helper")])
def test_a_call_is_allowed_once_its_rules_are_written(tool, call, rules, names) -> None:
    assert chain(TEAM, *names).decide(tool, call).effect is Effect.DENY
    found = remedy(chain(TEAM, *names), tool, call)
    assert found is not None
    assert set(rules) <= set(found.rules)
    text = TEAM
    for name in found.links:
        head, tail = text.split(f"agent {name} {{\n    allow     ")
        text = f"{head}agent {name} {{\n    allow     {', '.join(found.rules)}, {tail}"
    assert chain(text, *names).decide(tool, call).effect is Effect.ALLOW


@pytest.mark.parametrize(
    ("tool", "call"),
    [
        ("Bash", {"command": "git push --force x"}),  # a rule denies it
        ("Bash", {"command": "make $(x)"}),  # what it runs is not known
        ("Bash", {"command": "ls *"}),  # a star in a rule stands for more
        ("Bash", {"command": 3}),
    ],
)
def test_nothing_is_proposed_that_would_not_do(tool, call) -> None:
    assert remedy(chain(TEAM, "main"), tool, call) is None
