"""Examples beside rules: what holds, what refuses a file, and what is said of it."""

from __future__ import annotations

import pytest

from policy.core.errors import PolicyErrors
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts.notation import Unmet, project
from policy.hosts.workspace import load_tree
from tests.underline import assert_underlines


def unmet(*statements: str) -> tuple[str, ...]:
    """Return what is said of an agent of these statements; nothing where it loads."""
    text = "agent main {\n" + "".join(f"    {line}\n" for line in statements) + "}\n"
    try:
        project(Source("team.policy", text))
    except Unmet as error:
        return tuple(one.message for one in error.errors)
    return ()


@pytest.mark.parametrize(
    "statements",
    [
        ("allow Bash(git *)", "expect allow Bash(git log)"),
        # What another rule with the same effect decides first is decided by this one too.
        ("allow Bash(git *)", "allow Bash(git log *)", "expect allow Bash(git log)"),
        # Two rules decide a compound command together.
        ("allow Bash(ls)", "allow Bash(git *)", "expect allow Bash(git log && ls)"),
        # An example may stand anywhere among the rules.
        ("allow Read", "ask Bash", "deny Bash(rm *)", "expect deny Edit(a)", "expect allow Read(a)"),
        # What a rule leaves alone, nothing grants or another denies.
        ("allow Bash(git *)", "expect deny Bash(gitk)"),
        ("allow Bash(git *)", "expect deny Bash(git push)", "deny Bash(git push)"),
        ("inherit", "deny Bash(rm *)", "expect deny Bash(rm x)", "expect allow Bash(ls)"),
        ("allow WebFetch(domain:*.com)", "expect allow WebFetch(a.com)", "expect deny WebFetch(a.org)"),
        ("allow Task(model:opus)", 'expect allow Task({"model": "opus", "subagent_type": "main"})'),
    ],
)  # fmt: skip
def test_an_example_that_holds_says_nothing(statements) -> None:
    assert unmet(*statements) == ()


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (("allow Bash(git *)", "expect deny Bash(git push)"), "`allow Bash(git *)` on line 2"),
        (("allow Bash(git *)", "expect allow Bash(gitk)"), "expected allow, found deny: no rule"),
        (
            ("allow Bash(git *)", "expect allow Bash(git push)", "deny Bash(git push)"),
            "found deny: `deny Bash(git push)` on line 4 decides it",
        ),
        (("inherit", "deny Edit", "expect deny Bash(ls)"), "found allow: no rule matches it"),
        (("allow mcp__*", "expect allow mcp__*"), "expected one tool, found `mcp__*`"),
    ],
)  # fmt: skip
def test_an_example_that_does_not_hold_says_what_decided_instead(statements, said) -> None:
    (message,) = unmet(*statements)
    assert said in message


def test_the_example_is_underlined() -> None:
    text = "agent main {\n    allow Read\n    expect allow Read(a), Edit(b)\n}\n"
    with pytest.raises(PolicyErrors) as caught:
        project(Source("team.policy", text))
    assert_underlines(caught.value.errors[0], "Edit(b)")


def test_an_example_that_does_not_hold_refuses_its_file_alone() -> None:
    files = {
        "a.policy": "agent main {\n    allow Read\n    expect deny Read(a)\n}\n",
        "b.policy": "agent main {\n    allow Read\n    expect allow Read(a)\n}\n",
    }
    workspace = load_tree(Memory(files))
    assert [len(one.agents) for one in workspace.projects] == [0, 1]
    assert [one.code for one in workspace.findings] == ["unmet-expectation"]
