"""What is worth offering: shown by a call where one of the rules has it, searched for elsewhere."""

from __future__ import annotations

import pytest

from policy.adapters.messages import may_call
from tests.strategies import table


@pytest.mark.parametrize(
    ("rules", "tool"),
    [
        ("allow Bash(git *)", "Bash"),
        ("ask Read(src/**)", "Read"),
        ("allow WebFetch(domain:*.example.com)", "WebFetch"),
        ("deny Bash(git push *)\nallow Bash(git push *)\nallow Bash(npm *)", "Bash"),
    ],
)
def test_a_tool_that_a_rule_grants_needs_no_search(monkeypatch, rules, tool) -> None:
    monkeypatch.setattr("policy.compare.compare.compare", None)
    assert may_call(table(*rules.splitlines()), tool)


@pytest.mark.parametrize(
    ("rules", "is_offered"),
    [
        ("deny Bash(g*)\nallow Bash(git *)\nallow Bash(go *)", False),
        ("deny Bash(* x)\nallow Bash(git *)", True),  # `git`, or `git y`
        ("deny Bash\nallow Bash(git *)", False),
    ],
)
def test_what_other_rules_deny_is_searched_for(rules, is_offered) -> None:
    assert may_call(table(*rules.splitlines()), "Bash") is is_offered


def test_a_chain_of_which_each_grants_something_and_together_nothing_is_offered_nothing() -> None:
    met = table("allow Bash(git *)") & table("allow Bash(npm *)")
    assert not may_call(met, "Bash")
    assert may_call(table("allow Bash(git *)") & table("ask Bash(* log)"), "Bash")
