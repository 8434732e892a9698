"""The examples of `docs/embed.md` are run, each with the library that it is for."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.conftest import TEAM

PAGE = (Path(__file__).parents[2] / "docs/embed.md").read_text("utf-8").partition("## A guard")[2]
FIRST, *EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def _fastmcp() -> dict[str, Any]:
    from fastmcp import FastMCP

    return {"server": FastMCP("server")}


def _claude() -> dict[str, Any]:
    from claude_agent_sdk import ClaudeAgentOptions

    async def can_use_tool(tool: str, arguments: object, context: object) -> None: ...

    return {"options": ClaudeAgentOptions(), "can_use_tool": can_use_tool}


def _langchain() -> dict[str, Any]:
    from langchain.agents import create_agent
    from langgraph.checkpoint.memory import InMemorySaver

    from tests.adapters.test_langchain import model

    return {
        "create_agent": create_agent,
        "checkpointer": InMemorySaver(),
        "model": model(),
        "tools": [],
    }


def _pydantic_ai() -> dict[str, Any]:
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    return {"Agent": Agent, "model": TestModel(), "tools": []}


def _openai_agents() -> dict[str, Any]:
    from agents import Agent

    return {"Agent": Agent, "tools": []}


def _google_adk() -> dict[str, Any]:
    from google.adk.agents import LlmAgent
    from google.adk.apps import App

    return {"App": App, "main_agent": LlmAgent(name="main", model="played")}


# The first word of an example -> its library, and what it takes for granted.
NEEDS: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "FastMCP": ("fastmcp", _fastmcp),
    "Claude": ("claude_agent_sdk", _claude),
    "LangChain": ("langchain", _langchain),
    "Pydantic": ("pydantic_ai", _pydantic_ai),
    "OpenAI": ("agents", _openai_agents),
    "Google": ("google.adk", _google_adk),
}


def _word(example: str) -> str:
    return re.split(r"\W", example.removeprefix("# "), maxsplit=1)[0]


def _setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    (tmp_path / "team.policy").write_text(TEAM)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(FIRST, names)  # noqa: S102  # it is our page
    return names


def test_the_guard_of_the_page_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = _setting(tmp_path, monkeypatch)

    assert names["guard"].named("run_shell") == "Bash"
    assert names["explorer"].name == "explore"


def test_there_is_an_example_for_every_adapter() -> None:
    assert sorted(map(_word, EXAMPLES)) == sorted(NEEDS)


@pytest.mark.adapters
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("example", EXAMPLES, ids=_word)
def test_an_example_of_the_page_runs(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, given = NEEDS[_word(example)]
    try:
        missing = find_spec(library) is None
    except ModuleNotFoundError:
        missing = True
    if missing:
        pytest.skip(f"`{library}` is not installed")
    exec(example, _setting(tmp_path, monkeypatch) | given())  # noqa: S102  # it is our page
