"""claude-agent-sdk: the program that it brings, offline, with a model that is played."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import policy
from policy.adapters import Guard
from policy.core.effect import Effect
from policy.tables.chain import Chain
from tests.adapters import Broken, runtime

pytestmark = runtime("'.[claude-agent-sdk]'", "claude_agent_sdk")

TEAM = """
root main

agent main {
    allow     Bash(touch *), Bash(mkdir *), Task(explore)
    ask       Bash(cp *)
    deny      Bash(touch secret*)
}

agent explore {
    allow     Bash(touch *), Bash(rmdir *), Task(explore)
    limit     depth 1
}
"""

AGENT = {"description": "looks", "prompt": "look"}


def bash(command: str) -> dict[str, Any]:
    return {"tool": "Bash", "input": {"command": command, "description": "d"}}


def start(actor: int) -> dict[str, Any]:
    inputs = {
        "description": "d",
        "prompt": f"ACTOR:{actor}: go",
        "subagent_type": "explore",
        "run_in_background": False,
    }
    return {"tool": "Agent", "input": inputs}


class Session:
    """One session of the program, and what became of its calls."""

    def __init__(self, guard: Guard, folder: Path, ask: Any = None) -> None:
        self.guard, self.folder, self.ask = guard, folder, ask

    def run(self, *actors: list[dict[str, Any]]) -> dict[str, tuple[bool, str]]:
        """Play the model of the main conversation and its agents; return the results by call."""
        from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions, ClaudeSDKClient

        from policy.adapters.claude_agent_sdk import guarded
        from tests.live.inside.model import Files, Model, serve

        model = Model(list(actors), Files({}, {}))
        quiet = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC DISABLE_TELEMETRY DISABLE_ERROR_REPORTING"
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        options = ClaudeAgentOptions(
            cwd=work,
            setting_sources=[],
            agents={"explore": AgentDefinition(**AGENT)},
            env={
                "HOME": str(home),
                "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{serve(model)}",
                "ANTHROPIC_API_KEY": "dummy-not-a-key",
                "CLAUDE_CODE_MAX_RETRIES": "1",
                "DISABLE_AUTOUPDATER": "1",
                **dict.fromkeys(quiet.split(), "1"),
            },
        )

        async def run() -> None:
            async with ClaudeSDKClient(guarded(options, self.guard, ask=self.ask)) as client:
                await client.query("ACTOR:0: go")
                async for _ in client.receive_response():
                    pass

        asyncio.run(asyncio.wait_for(run(), 600))
        return {use: (bool(failed), text) for use, (failed, text) in model.results.items()}

    def files(self) -> set[str]:
        return {path.name for path in (self.folder / "work").iterdir()}


@pytest.fixture
def chain(tmp_path: Path) -> Chain:
    (tmp_path / "team.policy").write_text(TEAM)
    workspace = policy.load(tmp_path / "team.policy")
    assert not workspace.findings
    return workspace.chain("main")


@pytest.fixture
def guard(chain: Chain, tmp_path: Path) -> Guard:
    return Guard(chain, project=tmp_path / "work")


def test_a_denied_call_does_not_run_and_the_model_is_told(guard: Guard, tmp_path: Path) -> None:
    session = Session(guard, tmp_path)
    results = session.run([bash("touch a"), bash("touch secret1"), bash("rmdir x")])

    assert session.files() == {"a"}
    failed, text = results["toolu_0x1"]
    assert failed
    assert "rule `Bash(touch secret*)` of `main`" in text
    assert "no rule grants it" in results["toolu_0x2"][1]


def test_an_asked_call_reaches_can_use_tool(guard: Guard, tmp_path: Path) -> None:
    from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny

    asked: list[str] = []

    async def ask(tool: str, arguments: dict[str, Any], context: Any) -> Any:
        asked.append(arguments["command"])
        if arguments["command"] == "cp a b":
            return PermissionResultAllow(updated_input=arguments)
        return PermissionResultDeny(message="the person said no")

    session = Session(guard, tmp_path, ask)
    results = session.run([bash("touch a"), bash("cp a b"), bash("cp a c"), bash("rmdir x")])

    assert asked == ["cp a b", "cp a c"]
    assert session.files() == {"a", "b"}
    assert "the person said no" in results["toolu_0x2"][1]


def test_without_a_person_to_ask_an_asked_call_is_denied(guard: Guard, tmp_path: Path) -> None:
    session = Session(guard, tmp_path)
    results = session.run([bash("touch a"), bash("cp a b")])

    assert session.files() == {"a"}
    assert results["toolu_0x1"][0]


def test_an_agent_gets_the_narrower_chain_and_cannot_widen_it(guard: Guard, tmp_path: Path) -> None:
    session = Session(guard, tmp_path)
    results = session.run(
        [bash("mkdir d"), start(1), bash("mkdir e")],
        [bash("touch a"), bash("mkdir f"), bash("rmdir d"), bash("touch secret1"), start(2)],
        [bash("touch b")],
    )

    assert session.files() == {"a", "b", "d", "e"}
    # `rmdir` is granted to explore, and not to main; `mkdir` to main alone.
    assert [results[f"toolu_1x{number}"][0] for number in range(4)] == [False, True, True, True]


def test_an_exception_in_the_checker_denies(tmp_path: Path) -> None:
    session = Session(Guard(Broken()), tmp_path)
    results = session.run([bash("touch a")])

    assert not session.files()
    assert "the policy could not be asked" in results["toolu_0x0"][1]


# --- without the program ------------------------------------------------------------


def event(tool: str, arguments: object, agent: str | None = None, kind: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {"tool_name": tool, "tool_input": arguments}
    return found if agent is None else found | {"agent_id": agent, "agent_type": kind}


def test_an_agent_without_a_known_start_is_denied(guard: Guard) -> None:
    from policy.adapters.claude_agent_sdk import PolicyHook

    hook = PolicyHook(guard)
    call = event("Bash", {"command": "touch a"}, "a1", "explore")

    def answered() -> str:
        answer = asyncio.run(hook(call, None, None))["hookSpecificOutput"]
        return str(answer["permissionDecision"])

    assert answered() == "deny"
    assert hook.verdict(event("Agent", {"subagent_type": "explore"})).effect is Effect.ALLOW
    assert answered() == "allow"


def test_an_agent_of_a_type_that_was_started_in_two_chains_has_what_both_grant(
    tmp_path: Path,
) -> None:
    from policy.adapters.claude_agent_sdk import PolicyHook

    text = (
        "root main\n"
        "agent main { allow Bash, Task(wide, narrow, worker) }\n"
        "agent wide { allow Bash, Task(worker) }\n"
        "agent narrow { allow Bash(ls *), Task(worker) }\n"
        "agent worker { allow Bash }\n"
    )
    (tmp_path / "team.policy").write_text(text)
    hook = PolicyHook(Guard(policy.load(tmp_path).chain("main")))

    def effect(command: str, agent: str | None = None, kind: str = "") -> Effect:
        return hook.verdict(event("Bash", {"command": command}, agent, kind)).effect

    def starts(kind: str, agent: str | None = None, own: str = "") -> Effect:
        return hook.verdict(event("Agent", {"subagent_type": kind}, agent, own)).effect

    for kind in ("wide", "narrow"):
        assert starts(kind) is Effect.ALLOW
        assert effect("ls x", kind, kind) is Effect.ALLOW
    assert starts("worker", "wide", "wide") is Effect.ALLOW
    assert effect("touch x", "w1", "worker") is Effect.ALLOW
    assert starts("worker", "narrow", "narrow") is Effect.ALLOW
    # The first was there before anybody else started one; of the second nobody knows by whom.
    assert effect("touch x", "w1", "worker") is Effect.ALLOW
    assert effect("touch x", "w2", "worker") is Effect.DENY
    assert effect("ls x", "w2", "worker") is Effect.ALLOW


def test_events_that_make_no_sense_are_denied(guard: Guard) -> None:
    from policy.adapters.claude_agent_sdk import PolicyHook

    hook = PolicyHook(guard)
    for one in ({}, None, event("Bash", None), event("Bash", {"command": 7}), event("Agent", {})):
        answer = asyncio.run(hook(one, None, None))
        assert json.dumps(answer)
        assert answer["hookSpecificOutput"]["permissionDecision"] == "deny", one
