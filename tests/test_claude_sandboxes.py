"""What a sandbox and the server of the desktop program come to, as the documentation tells."""

from __future__ import annotations

import json

import pytest

from policy.chain import Chain
from policy.decision import Decision
from policy.files.opening import Memory
from policy.hosts.claude import Options, load

SANDBOXED = Options(sandboxed=True, cwd="/srv/app")


def decide(tool: str, call: dict[str, object], options: Options, **lists: list[str]) -> Decision:
    files = {".claude/settings.json": json.dumps({"permissions": lists})}
    (project,) = load(Memory(files), options)
    return Chain.start("main", project.enforced).decide(tool, call)


def run(options: Options, command: str = "npm test", *, outside: bool = False, **lists) -> str:
    call = {"command": command, **({"dangerouslyDisableSandbox": True} if outside else {})}
    return str(decide("Bash", call, options, **lists).effect)


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "dontAsk"])
def test_commands_in_a_sandbox_run_unasked_but_for_what_rules_say_of_them(mode: str) -> None:
    options = Options(sandboxed=True, cwd="/srv/app", mode=mode)
    asked = "deny" if mode == "dontAsk" else "ask"

    assert run(options) == run(options, ask=["Bash"]) == run(options, ask=["Bash(*)"]) == "allow"
    assert run(options, ask=["Bash(npm *)"]) == asked
    assert run(options, deny=["Bash(npm *)"]) == "deny"
    assert run(options, "rm -rf /") == asked
    assert run(options, "make > .git/config") == asked
    assert run(Options(cwd="/srv/app", mode=mode)) == asked


def test_a_plan_asks_for_commands_in_a_sandbox_too() -> None:
    options = Options(sandboxed=True, cwd="/srv/app", mode="plan")

    assert run(options) == run(options, ask=["Bash"]) == "ask"


def test_a_command_that_is_to_run_outside_is_asked_for() -> None:
    assert run(SANDBOXED, outside=True) == "ask"
    assert run(SANDBOXED, outside=True, deny=["Bash(dangerouslyDisableSandbox:true)"]) == "deny"


def test_a_sandbox_is_about_commands_alone() -> None:
    edit = {"file_path": "/srv/app/a"}

    assert str(decide("Edit", edit, SANDBOXED).effect) == "ask"
    assert str(decide("Monitor", {"command": "make"}, SANDBOXED).effect) == "ask"


def test_a_tool_that_is_denied_is_denied_of_the_server_that_does_the_same() -> None:
    cowork, other = Options(cowork=True), Options()
    for tool, name in (("Bash", "bash"), ("WebFetch", "web_fetch")):
        called = f"mcp__workspace__{name}"
        assert str(decide(called, {}, cowork, deny=[tool], allow=[called]).effect) == "deny"
        assert (
            str(decide(called, {}, cowork, deny=[f"{tool}(x)"], allow=[called]).effect) == "allow"
        )
        assert str(decide(called, {}, cowork, allow=[tool]).effect) == "ask"
        assert str(decide(called, {}, other, deny=[tool], allow=[called]).effect) == "allow"
