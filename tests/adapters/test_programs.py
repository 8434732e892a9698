"""The programs of `docs/examples/runtimes`, each with a scripted model, in an empty project."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.adapters import runtime

PROGRAMS = Path(__file__).parents[2] / "docs" / "examples" / "runtimes"

# What the model calls.
CALLS = (
    ("run_shell", {"command": "ls src"}),
    ("run_shell", {"command": "touch made"}),
    ("read_file", {"path": ".env"}),
)


def program(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"{name}_team", PROGRAMS / f"{name}_team.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").write_text("print('seen')")
    (tmp_path / ".env").write_text("a secret")
    return tmp_path


def check(project: Path, *said: str) -> None:
    """Check what the model read of `CALLS`: the first ran, the others did not."""
    text = "\n".join(said)
    assert "app.py" in text
    assert "rule `Read(.env)` of `main`" in text
    assert "a secret" not in text
    assert not (project / "made").exists()


def test_there_is_a_program_for_every_adapter() -> None:
    named = {path.stem.removesuffix("_team") for path in PROGRAMS.glob("*_team.py")}
    adapters = Path(__file__).parents[2] / "policy" / "adapters"
    assert all((adapters / f"{name}.py").exists() for name in named)
    assert len(named) == 6


LANGCHAIN, PYDANTIC, OPENAI, GOOGLE, CLAUDE, FASTMCP = (
    runtime(f"'.[{name}]'", library)
    for name, library in (
        ("langchain", "langchain"),
        ("pydantic-ai", "pydantic_ai"),
        ("openai-agents", "agents"),
        ("google-adk", "google.adk"),
        ("claude-agent-sdk", "claude_agent_sdk"),
        ("fastmcp", "fastmcp"),
    )
)


def marked(*marks: Any) -> Any:
    def decorate(test: Any) -> Any:
        for mark in marks:
            test = mark(test)
        return test

    return decorate


@marked(*LANGCHAIN)
def test_langchain(project: Path) -> None:
    from tests.adapters.test_langchain import model, say

    agent = program("langchain").team(model(*CALLS), project)
    state = agent.invoke(say("go"), {"configurable": {"thread_id": "1"}})
    check(project, *(str(message.content) for message in state["messages"]))


@marked(*PYDANTIC)
def test_pydantic_ai(project: Path) -> None:
    from tests.adapters.test_pydantic_ai import model

    team = program("pydantic_ai").team
    said = asyncio.run(team(model(*CALLS), project).run("go")).all_messages_json().decode()
    check(project, said)


@marked(*OPENAI)
def test_openai_agents(project: Path) -> None:
    from agents import Runner, set_tracing_disabled

    from tests.adapters.test_openai_agents import model

    set_tracing_disabled(True)
    team = program("openai_agents").team
    result = asyncio.run(Runner.run(team(model(*CALLS), project), "go"))
    check(project, str(result.to_input_list()))


@marked(*GOOGLE)
def test_google_adk(project: Path) -> None:
    from tests.adapters.test_google_adk import model, text

    runner = program("google_adk").team(model(*CALLS), project)
    check(project, text(asyncio.run(runner.run_debug("go", quiet=True))))


@marked(*CLAUDE)
def test_claude_agent_sdk(project: Path) -> None:
    options = program("claude_agent_sdk").team(project, setting_sources=[])
    (matcher,) = options.hooks["PreToolUse"]
    (hook,) = matcher.hooks

    def answer(tool: str, **arguments: str) -> str:
        event = {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": arguments}
        return str(asyncio.run(hook(event, "1", {})))

    assert "deny" not in answer("Bash", command="ls src")
    assert "rule `Read(.env)` of `main`" in answer("Read", file_path=str(project / ".env"))
    assert "deny" in answer("Bash", command="touch made")


@marked(*FASTMCP)
def test_fastmcp(project: Path) -> None:
    from fastmcp import Client

    async def run() -> list[str]:
        said = []
        async with Client(program("fastmcp").team(project)) as client:
            for name, arguments in CALLS:
                result = await client.call_tool(name, arguments, raise_on_error=False)
                said.append(result.content[0].text)
        return said

    check(project, *asyncio.run(run()))
