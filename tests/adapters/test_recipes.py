"""The recipes are run as they are written, each with its library where it is installed."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from policy.adapters import Guard
from tests.adapters import Broken, runtime
from tests.adapters.conftest import STARTS

RECIPES = (Path(__file__).parents[2] / "policy/adapters/RECIPES.md").read_text("utf-8")
Calls = list[tuple[str, dict[str, Any]]]


def recipe(title: str) -> dict[str, Any]:
    """Return what the recipe below a title defines."""
    section = RECIPES.partition(f"## {title}\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)  # noqa: S102  # it is our page
    return names


def test_the_recipes_are_there() -> None:
    assert re.findall(r"^## (.*)$", RECIPES, re.MULTILINE) == ["AutoGen", "smolagents", "CrewAI"]


class TestAutoGen:
    pytestmark = runtime("autogen-agentchat autogen-ext", "autogen_ext")

    def agent(self, ran: list[str], guard: Guard, calls: Calls, *more: Any, ask: Any = None) -> Any:
        from autogen_agentchat.agents import AssistantAgent
        from autogen_core import FunctionCall
        from autogen_core.models import CreateResult, RequestUsage
        from autogen_core.tools import FunctionTool
        from autogen_ext.models.replay import ReplayChatCompletionClient

        async def shell(command: str) -> str:
            ran.append(command)
            return f"ran {command}"

        async def look() -> str:
            ran.append("look")
            return "seen"

        async def send(to: str) -> str:
            ran.append(to)
            return "sent"

        async def erase() -> str:
            ran.append("erase")
            return "erased"

        tools = [FunctionTool(one, "d") for one in (shell, look, send, erase)]
        spent = RequestUsage(prompt_tokens=1, completion_tokens=1)
        made = [
            CreateResult(
                finish_reason="function_calls",
                content=[FunctionCall(id=str(n), name=name, arguments=json.dumps(given))],
                usage=spent,
                cached=False,
            )
            for n, (name, given) in enumerate(calls)
        ]
        info = {
            "vision": False,
            "function_calling": True,
            "json_output": False,
            "family": "unknown",
            "structured_output": False,
        }
        workbench = recipe("AutoGen")["PolicyWorkbench"]([*tools, *more], guard, ask)
        self.workbench = workbench
        return AssistantAgent(
            guard.name,
            ReplayChatCompletionClient([*made, "done"], model_info=info),
            workbench=workbench,
            max_tool_iterations=len(calls) or 1,
            reflect_on_tool_use=False,
        )

    async def said(self, agent: Any) -> str:
        result = await agent.run(task="go")
        return str(result.messages)

    def test_a_denied_call_does_not_run_and_the_model_is_told(self, guard: Guard) -> None:
        ran: list[str] = []
        calls: Calls = [("shell", {"command": "ls x"}), ("shell", {"command": "rm x"})]

        said = asyncio.run(self.said(self.agent(ran, guard, calls)))
        assert ran == ["ls x"]
        assert "rule `Bash(rm *)` of `main`" in said

    def test_an_asked_call_is_put_to_a_person(self, guard: Guard) -> None:
        ran: list[str] = []
        answers = iter([True, False])

        async def ask(verdict: Any) -> bool:
            assert "bob" in verdict.message
            return next(answers)

        for expected in (["bob"], ["bob"]):
            agent = self.agent(ran, guard, [("send", {"to": "bob"})], ask=ask)
            asyncio.run(self.said(agent))
            assert ran == expected

    def test_an_agent_that_a_tool_runs_gets_the_narrower_chain(self, guard: Guard) -> None:
        from autogen_core.tools import FunctionTool

        ran: list[str] = []
        calls: Calls = [("shell", {"command": f"{word} x"}) for word in ("ls", "cat", "rm")]

        async def ask_explore() -> str:
            return await self.said(self.agent(ran, guard.agent("explore"), calls))

        tool = FunctionTool(ask_explore, "d")
        said = asyncio.run(self.said(self.agent(ran, guard, [("ask_explore", {})], tool)))
        assert ran == ["ls x"]
        assert "rule `Bash(rm *)` of `main`" in said

    def test_tools_are_left_out_and_an_exception_in_the_checker_denies(self, guard: Guard) -> None:
        ran: list[str] = []
        self.agent(ran, guard, [])
        listed = asyncio.run(self.workbench.list_tools())
        assert [tool["name"] for tool in listed] == ["shell", "look", "send"]

        self.agent(ran, Guard(Broken()), [])
        told = asyncio.run(self.workbench.call_tool("look"))
        assert told.is_error
        assert "could not be asked" in told.to_text()
        assert not ran


class TestSmolagents:
    pytestmark = runtime("smolagents", "smolagents")

    def agent(
        self, ran: list[str], guard: Guard, calls: Calls, ask: Any = None, **options: Any
    ) -> Any:
        from smolagents import Model, tool
        from smolagents.models import (
            ChatMessage,
            ChatMessageToolCall,
            ChatMessageToolCallFunction,
            MessageRole,
        )

        @tool
        def shell(command: str) -> str:
            """Run a command.

            Args:
                command: it.
            """
            ran.append(command)
            return f"ran {command}"

        @tool
        def look() -> str:
            """Look around."""
            ran.append("look")
            return "seen"

        @tool
        def send(to: str) -> str:
            """Send a message.

            Args:
                to: whom.
            """
            ran.append(to)
            return "sent"

        made = iter([*calls, ("final_answer", {"answer": "done"})])

        class Played(Model):
            def generate(self, messages: Any, **_: Any) -> Any:
                name, arguments = next(made)
                function = ChatMessageToolCallFunction(name=name, arguments=arguments)
                call = ChatMessageToolCall(id="1", type="function", function=function)
                return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])

        return recipe("smolagents")["PolicyAgent"](
            tools=[shell, look, send], model=Played(), guard=guard, ask=ask, verbosity_level=0,
            max_steps=len(calls) + 1, **options,
        )  # fmt: skip

    def said(self, agent: Any) -> str:
        agent.run("go")
        return str([getattr(step, "observations", "") for step in agent.memory.steps])

    def test_a_denied_call_does_not_run_and_the_model_is_told(self, guard: Guard) -> None:
        ran: list[str] = []
        calls: Calls = [("shell", {"command": "ls x"}), ("shell", {"command": "rm x"})]

        said = self.said(self.agent(ran, guard, calls))
        assert ran == ["ls x"]
        assert "rule `Bash(rm *)` of `main`" in said

    def test_what_a_value_stands_for_is_decided(self, guard: Guard) -> None:
        ran: list[str] = []
        calls: Calls = [("shell", {"command": name}) for name in ("one", "two", "three")]
        agent = self.agent(ran, guard, calls)
        state = {"one": "ls x", "two": "rm x", "three": "one"}

        agent.run("go", additional_args=state)
        assert ran == ["ls x"]

    def test_an_asked_call_is_put_to_a_person(self, guard: Guard) -> None:
        ran: list[str] = []
        for answer in (True, False):
            agent = self.agent(ran, guard, [("send", {"to": "bob"})], lambda _, a=answer: a)
            self.said(agent)
        assert ran == ["bob"]

    def test_a_managed_agent_gets_the_narrower_chain(self, guard: Guard) -> None:
        ran: list[str] = []
        starting = Guard(guard.chain, names={"shell": "Bash"}, starts={"explore": "explore"})
        calls: Calls = [("shell", {"command": f"{word} x"}) for word in ("ls", "cat", "rm")]
        inner = self.agent(ran, starting.agent("explore"), calls, name="explore", description="d")
        outer = self.agent(ran, starting, [("explore", {"task": "go"})], managed_agents=[inner])

        outer.run("go")
        assert ran == ["ls x"]
        ran.clear()
        self.said(self.agent(ran, starting.agent("explore"), calls))
        assert not ran

    def test_an_exception_in_the_checker_denies(self) -> None:
        ran: list[str] = []

        assert "could not be asked" in self.said(self.agent(ran, Guard(Broken()), [("look", {})]))
        assert not ran


class TestCrewAI:
    pytestmark = runtime("crewai", "crewai")

    def tools(self, ran: list[str]) -> list[Any]:
        from crewai.tools import tool

        @tool("shell")
        def shell(command: str) -> str:
            """Run a command."""
            ran.append(command)
            return f"ran {command}"

        @tool("look")
        def look() -> str:
            """Look around."""
            ran.append("look")
            return "seen"

        @tool("send")
        def send(to: str) -> str:
            """Send a message."""
            ran.append(to)
            return "sent"

        @tool("erase")
        def erase() -> str:
            """Erase all."""
            ran.append("erase")
            return "erased"

        return [shell, look, send, erase]

    def guarded(self, ran: list[str], guard: Guard, **options: Any) -> dict[str, Any]:
        tools = recipe("CrewAI")["guarded_tools"](self.tools(ran), guard, **options)
        return {tool.name: tool for tool in tools}

    def test_a_crew_does_not_run_what_is_denied_and_its_model_is_told(
        self, guard: Guard, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("CREWAI_DISABLE_TELEMETRY", "OTEL_SDK_DISABLED", "CREWAI_TRACING_ENABLED"):
            monkeypatch.setenv(name, "false" if "TRACING" in name else "true")
        from crewai import Agent, BaseLLM, Crew, Task

        ran: list[str] = []
        heard: list[str] = []
        made = iter(
            [
                'Thought: x\nAction: shell\nAction Input: {"command": "ls x"}',
                'Thought: x\nAction: shell\nAction Input: {"command": "rm x"}',
                "Thought: x\nFinal Answer: done",
            ]
        )

        class Played(BaseLLM):
            def call(self, messages: Any, *_: Any, **__: Any) -> str:
                heard.append(str(messages))
                return next(made)

            def supports_function_calling(self) -> bool:
                return False

        agent = Agent(
            role="main", goal="g", backstory="b", llm=Played(model="played"),
            tools=list(self.guarded(ran, guard).values()), allow_delegation=False,
        )  # fmt: skip
        Crew(
            agents=[agent], tasks=[Task(description="go", expected_output="x", agent=agent)]
        ).kickoff()
        assert ran == ["ls x"]
        assert "rule `Bash(rm *)` of `main`" in heard[-1]

    def test_tools_are_left_out_and_asked_for(self, guard: Guard) -> None:
        ran: list[str] = []
        assert list(self.guarded(ran, guard)) == ["shell", "look", "send"]
        for answer in (True, False):
            tools = self.guarded(ran, guard, ask=lambda _, a=answer: a)
            tools["send"].run(to="bob")
        assert ran == ["bob"]

    def test_an_agent_that_a_tool_runs_gets_the_narrower_chain(self, guard: Guard) -> None:
        ran: list[str] = []
        explore = guard.agent("explore")

        def inside() -> list[str]:
            tools = self.guarded(ran, explore)
            return [tools["shell"].run(command=f"{word} x") for word in ("ls", "cat")]

        first, second = guard.call("ask_explore", {}, inside)
        assert first == "ran ls x"
        assert "no rule grants it" in second
        assert ran == ["ls x"]
        assert STARTS

    def test_an_exception_in_the_checker_denies(self) -> None:
        ran: list[str] = []
        guarded = recipe("CrewAI")["guarded"]

        said = guarded(self.tools(ran)[1], Guard(Broken())).run()
        assert "could not be asked" in said
        assert not ran
