"""Pydantic AI: agents with a model that is played."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import policy
from policy.adapters import Guard
from tests.adapters import Broken, runtime

pytestmark = runtime("'.[pydantic-ai]'", "pydantic_ai")

Calls = tuple[tuple[str, dict[str, Any]], ...]


def model(*calls: tuple[str, dict[str, Any]], offered: list[list[str]] | None = None) -> Any:
    """Return a model that makes *calls* one by one, and then repeats the last result."""
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    def play(messages: Any, info: Any) -> Any:
        if offered is not None:
            offered.append([tool.name for tool in info.function_tools])
        results = [p for m in messages for p in m.parts if isinstance(p, ToolReturnPart)]
        if len(results) < len(calls):
            return ModelResponse(parts=[ToolCallPart(*calls[len(results)])])
        said = results[-1].model_response_str() if results else "nothing"
        return ModelResponse(parts=[TextPart(said)])

    return FunctionModel(play)


class Team:
    """Agents below one guard, and what their tools did."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self.ran: list[str] = []

    def agent(self, name: str, played: Any, *more: Any, **options: Any) -> Any:
        from pydantic_ai import Agent

        from policy.adapters.pydantic_ai import PolicyCapability

        guard = self.guard if name == "main" else self.guard.agent(name)
        agent = Agent(played, tools=more, capabilities=[PolicyCapability(guard)], **options)

        @agent.tool_plain
        def shell(command: str) -> str:
            self.ran.append(command)
            return f"ran {command}"

        @agent.tool_plain
        async def look() -> str:
            self.ran.append("look")
            return "seen"

        @agent.tool_plain
        def send(to: str) -> str:
            self.ran.append(to)
            return "sent"

        @agent.tool_plain
        def erase() -> str:
            self.ran.append("erase")
            return "erased"

        return agent

    def starter(self, name: str, agent: Any, *, is_async: bool = True) -> Any:
        from pydantic_ai import Tool

        def start(task: str) -> str:
            return str(asyncio.run(agent.run(task)).output)

        async def astart(task: str) -> str:
            return str((await agent.run(task)).output)

        return Tool(astart if is_async else start, name=f"ask_{name}")


def run(agent: Any, *arguments: Any, **options: Any) -> Any:
    return asyncio.run(agent.run(*arguments, **options))


@pytest.fixture
def team(guard: Guard) -> Team:
    return Team(guard)


def test_a_denied_call_does_not_run_and_the_model_is_told(team: Team) -> None:
    played = model(("shell", {"command": "ls x"}), ("shell", {"command": "rm x"}))

    text = run(team.agent("main", played), "go").output
    assert team.ran == ["ls x"]
    assert "rule `Bash(rm *)` of `main`" in text
    assert "allowed `Bash(ls *)`" in text


@pytest.mark.parametrize("way", ["run", "stream"])
def test_calls_of_one_message_are_decided_each(team: Team, way: str) -> None:
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import DeltaToolCall, FunctionModel

    calls = [("shell", {"command": "ls x"}), ("shell", {"command": "rm x"}), ("look", {})]

    def is_first(messages: Any) -> bool:
        return not any(isinstance(p, ToolReturnPart) for m in messages for p in m.parts)

    def play(messages: Any, _: Any) -> Any:
        if is_first(messages):
            return ModelResponse(parts=[ToolCallPart(*call) for call in calls])
        return ModelResponse(parts=[TextPart("done")])

    async def stream(messages: Any, _: Any) -> Any:
        if is_first(messages):
            yield {
                number: DeltaToolCall(name, json.dumps(given), tool_call_id=f"call{number}")
                for number, (name, given) in enumerate(calls)
            }
        else:
            yield "done"

    agent = team.agent("main", FunctionModel(play, stream_function=stream))

    async def streamed() -> None:
        async with agent.run_stream("go") as result:
            await result.get_output()

    asyncio.run(streamed() if way == "stream" else agent.run("go"))
    assert sorted(team.ran) == ["look", "ls x"]


def test_tools_that_are_added_later_are_decided(team: Team) -> None:
    from pydantic_ai import Tool
    from pydantic_ai.toolsets import FunctionToolset

    def drop() -> str:
        team.ran.append("drop")
        return "dropped"

    offered: list[list[str]] = []
    agent = team.agent("main", model(("look", {}), offered=offered))
    run(agent, "go", toolsets=[FunctionToolset([drop])])
    with agent.override(tools=[Tool(drop), Tool(drop, name="look")]):
        run(agent, "go")
    assert {"drop"} & {name for names in offered for name in names} == set()
    assert team.ran == ["look", "drop"]  # which the program itself calls `look`


def test_arguments_are_decided_as_they_were_given(tmp_path: Path) -> None:
    from pydantic_ai import Tool

    (tmp_path / "x.policy").write_text("root main\nagent main { allow Read(src/**) }\n")
    team = Team(Guard(policy.load(tmp_path).chain("main"), project=tmp_path))

    def read(path: Path) -> str:
        team.ran.append(str(path))
        return "text"

    calls = [("Read", {"path": name}) for name in ("src/a", f"{tmp_path}/src/b", "etc/c")]
    run(team.agent("main", model(*calls), Tool(read, name="Read")), "go")
    assert team.ran == ["src/a", f"{tmp_path}/src/b"]


def test_a_hook_that_changes_a_call_does_not_get_past_the_checker(team: Team) -> None:
    from dataclasses import dataclass

    from pydantic_ai import Agent
    from pydantic_ai.capabilities import AbstractCapability

    from policy.adapters.pydantic_ai import PolicyCapability

    @dataclass
    class Changing(AbstractCapability):
        async def before_tool_execute(
            self, ctx: Any, *, call: Any, tool_def: Any, args: Any
        ) -> Any:
            return {"command": "rm x"}

    for capabilities in ([Changing()], [], [Changing()]):
        guarded = PolicyCapability(team.guard)
        both = [guarded, *capabilities] if team.ran else [*capabilities, guarded]
        agent = Agent(model(("shell", {"command": "ls x"})), capabilities=both)

        @agent.tool_plain
        def shell(command: str) -> str:
            team.ran.append(command)
            return command

        text = run(agent, "go").output
        assert ("Bash(rm *)" in text) is bool(capabilities)
    assert team.ran == ["ls x"]


@pytest.mark.parametrize("first", [True, False])
def test_a_toolset_of_another_capability_that_changes_a_call_does_not_either(
    team: Team, first: bool
) -> None:
    from dataclasses import dataclass

    from pydantic_ai import Agent
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.toolsets import WrapperToolset

    from policy.adapters.pydantic_ai import PolicyCapability

    class Changed(WrapperToolset):
        async def call_tool(self, name: str, tool_args: Any, ctx: Any, tool: Any) -> Any:
            return await super().call_tool(name, {"command": "rm x"}, ctx, tool)

    @dataclass
    class Changing(AbstractCapability):
        def get_wrapper_toolset(self, toolset: Any) -> Any:
            return Changed(toolset)

    both = [Changing(), PolicyCapability(team.guard)]
    agent = Agent(model(("shell", {"command": "ls x"})), capabilities=both if first else both[::-1])

    @agent.tool_plain
    def shell(command: str) -> str:
        team.ran.append(command)
        return command

    assert "Bash(rm *)" in run(agent, "go").output
    assert not team.ran


def test_tools_that_can_never_be_allowed_are_not_offered(team: Team) -> None:
    offered: list[list[str]] = []

    run(team.agent("main", model(offered=offered)), "go")
    assert offered == [["shell", "look", "send"]]


def test_a_tool_of_the_provider_is_offered_where_all_its_calls_are_allowed(guard: Guard) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.native_tools import CodeExecutionTool, WebSearchTool
    from pydantic_ai.profiles import ModelProfile

    from policy.adapters.pydantic_ai import PolicyCapability

    seen: list[list[str]] = []

    def play(messages: Any, info: Any) -> Any:
        seen.append([tool.kind for tool in info.model_request_parameters.native_tools])
        return ModelResponse(parts=[TextPart("done")])

    both = frozenset({WebSearchTool, CodeExecutionTool})
    played = FunctionModel(play, profile=ModelProfile(supported_native_tools=both))
    named = Guard(guard.chain, names={"web_search": "look", "code_execution": "Bash"})
    capabilities = [PolicyCapability(named)]
    from pydantic_ai.capabilities import NativeTool

    natives = [NativeTool(WebSearchTool()), NativeTool(CodeExecutionTool())]
    run(Agent(played, capabilities=[*natives, *capabilities]), "go")
    assert seen == [["web_search"]]


def test_a_tool_that_is_run_outside_is_offered_where_all_its_calls_are_allowed(
    guard: Guard,
) -> None:
    from pydantic_ai import Agent, DeferredToolRequests, ToolDefinition
    from pydantic_ai.toolsets import ExternalToolset

    from policy.adapters.pydantic_ai import PolicyCapability

    offered: list[list[str]] = []
    outside = ExternalToolset([ToolDefinition(name=name) for name in ("look", "shell", "send")])
    agent = Agent(
        model(offered=offered),
        toolsets=[outside],
        capabilities=[PolicyCapability(guard)],
        output_type=[str, DeferredToolRequests],
    )

    run(agent, "go")
    # Of the others some calls are denied, or asked for.
    assert offered == [["look"]]


@pytest.mark.parametrize("approved", [True, False])
def test_an_asked_call_is_deferred_and_runs_when_it_is_approved(team: Team, approved: bool) -> None:
    from pydantic_ai import DeferredToolRequests, DeferredToolResults

    agent = team.agent(
        "main", model(("send", {"to": "bob"})), output_type=[str, DeferredToolRequests]
    )
    first = run(agent, "go")
    (call,) = first.output.approvals

    assert call.args == {"to": "bob"}
    assert "rule `send` of `main`" in first.output.metadata[call.tool_call_id]["message"]
    assert not team.ran
    results = DeferredToolResults(approvals={call.tool_call_id: approved})
    second = run(agent, None, message_history=first.all_messages(), deferred_tool_results=results)
    assert team.ran == (["bob"] if approved else [])
    assert (second.output == "sent") is approved


def test_an_approval_does_not_lift_a_denial(team: Team, tmp_path: Path) -> None:
    from pydantic_ai import DeferredToolRequests, DeferredToolResults

    deferred = [str, DeferredToolRequests]
    played = model(("send", {"to": "bob"}))
    first = run(team.agent("main", played, output_type=deferred), "go")
    (call,) = first.output.approvals
    (tmp_path / "other").mkdir()
    (tmp_path / "other/x.policy").write_text("root main\nagent main { deny send }\n")
    changed = Team(Guard(policy.load(tmp_path / "other").chain("main")))

    results = DeferredToolResults(approvals={call.tool_call_id: True})
    run(
        changed.agent("main", played, output_type=deferred),
        None,
        message_history=first.all_messages(),
        deferred_tool_results=results,
    )
    assert not changed.ran


@pytest.mark.parametrize("is_async", [False, True])
def test_an_agent_that_a_tool_runs_gets_the_narrower_chain(team: Team, is_async: bool) -> None:
    offered: list[list[str]] = []
    calls = [("shell", {"command": f"{word} x"}) for word in ("ls", "cat", "rm")]
    inner = team.agent("explore", model(*calls, offered=offered))
    start = team.starter("explore", inner, is_async=is_async)

    text = run(team.agent("main", model(("ask_explore", {"task": "go"})), start), "go").output
    assert team.ran == ["ls x"]
    assert offered[0] == ["shell", "look"]
    assert "rule `Bash(rm *)` of `main`" in text


def test_an_agent_cannot_widen_its_chain(team: Team) -> None:
    """By its own policy it may do all but look."""
    calls = [("shell", {"command": "rm x"}), ("shell", {"command": "rm y"})]
    inner = team.agent("careless", model(*calls))
    start = team.starter("careless", inner)

    run(team.agent("main", model(("ask_careless", {"task": "go"})), start), "go")
    assert not team.ran


def test_an_agent_that_was_not_started_is_offered_nothing(team: Team) -> None:
    offered: list[list[str]] = []

    run(team.agent("careless", model(offered=offered)), "go")
    assert offered == [[]]


def test_an_exception_in_the_checker_denies(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    from policy.adapters.pydantic_ai import PolicyToolset

    offered: list[list[str]] = []
    run(Team(Guard(Broken())).agent("main", model(offered=offered)), "go")
    assert offered == [[]]

    # And where the tool was offered before the checker failed.
    async def all_of_them(self: Any, ctx: Any) -> Any:
        return await self.wrapped.get_tools(ctx)

    monkeypatch.setattr(PolicyToolset, "get_tools", all_of_them)
    team = Team(Guard(Broken()))
    assert "could not be asked" in run(team.agent("main", model(("look", {}))), "go").output
    assert not team.ran


def test_agents_at_once_keep_their_chains(team: Team) -> None:
    names = ["explore", "careless"] * 6
    offered: dict[str, list[list[str]]] = {name: [] for name in names}
    call = ("shell", {"command": "ls x"})
    starters = [
        team.starter(name, team.agent(name, model(call, offered=offered[name])))
        for name in names[:2]
    ]

    async def one(name: str) -> str:
        agent = team.agent("main", model((f"ask_{name}", {"task": "go"})), *starters)
        return str((await agent.run("go")).output)

    async def all_() -> list[str]:
        return await asyncio.gather(*map(one, names))

    assert asyncio.run(all_()) == ["ran ls x"] * 12
    # `look` is explore's, and denied to careless.
    assert offered["explore"] == [["shell", "look"]] * 12
    assert offered["careless"] == [["shell", "send"]] * 12
