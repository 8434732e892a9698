"""What is said in a file of our own notation and hardly meant."""

from __future__ import annotations

import pytest

from policy.files.trees import Memory
from policy.hosts.workspace import load_tree


def found(*statements: str) -> list[tuple[str, str]]:
    """Return code and help of what is found in an agent that says this."""
    text = "agent main {\n" + "".join(f"    {line}\n" for line in statements) + "}\nagent b {\n}\n"
    findings = load_tree(Memory({"team.policy": text})).findings
    return [(finding.code, finding.help) for finding in findings]


@pytest.mark.parametrize(
    ("statement", "code", "help_"),
    [
        ("allow Raed", "unknown-tool", "did you mean `Read`?"),
        ("deny WebFecth", "unknown-tool", "did you mean `WebFetch`?"),
        ("allow bash(git *)", "unknown-tool", "did you mean `Bash`?"),
        ("deny Read(/etc/**)", "looks-absolute", "write `Read(//etc/**)`"),
        ("delegate Edit(/home/me/**)", "looks-absolute", "write `Edit(//home/me/**)`"),
        ("allow Task(bb)", "unknown-agent", "did you mean `b`?"),
        ("deny Agent(x, b)", "unknown-agent", "define it: `agent x { … }`"),
    ],
)
def test_a_slip_is_found_with_a_mend(statement, code, help_) -> None:
    ((known, text),) = found(statement)
    assert (known, text.startswith(help_)) == (code, True)


@pytest.mark.parametrize(
    "statement",
    [
        "allow read, bash, web_search",  # tools of other runtimes
        "allow mcp__raed, LSP, Reader2, Deploy(x)",
        "deny Read(//etc/**), Read(/src/**), Read(etc/x)",
        "allow Task(b), Task(*), Task(claude:x), Task(model:opus)",
    ],
)
def test_what_may_be_meant_is_not_reported(statement) -> None:
    assert found(statement) == []
