"""OpenAI Agents: agents with a model that is played."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import policy
from policy.adapters import CallDenied, Guard
from tests.adapters import Broken, runtime

pytestmark = runtime("'.[openai-agents]'", "agents")


def model(
    *calls: tuple[str, dict[str, Any]],
    offered: list[list[str]] | None = None,
    at_once: bool = False,
) -> Any:
    """Return a model that makes *calls* one by one, and then repeats the last result."""
    from agents import Model, ModelResponse, Usage
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    class Played(Model):
        async def get_response(self, **given: Any) -> Any:
            items, tools, handoffs = given["input"], given["tools"], given["handoffs"]
            if offered is not None:
                offered.append([tool.name for tool in (*tools, *_named(handoffs))])
            items = [items] if isinstance(items, str) else list(items)
            results = [i["output"] for i in items if isinstance(i, dict) and "output" in i]
            left = calls if at_once and not results else calls[len(results) : len(results) + 1]
            if left:
                output: Any = [
                    ResponseFunctionToolCall(
                        type="function_call",
                        call_id=f"call{number}",
                        name=name,
                        arguments=json.dumps(arguments),
                    )
                    for number, (name, arguments) in enumerate(left, len(results))
                ]
            else:
                text = ResponseOutputText(
                    type="output_text", text=str(results[-1:]), annotations=[]
                )
                output = [
                    ResponseOutputMessage(
                        id="m", type="message", role="assistant", status="completed", content=[text]
                    )
                ]
            return ModelResponse(output=output, usage=Usage(), response_id=None)

        async def stream_response(self, *given: Any, **_: Any) -> Any:
            from openai.types.responses import Response, ResponseCompletedEvent

            _, items, _, tools, _, handoffs, *_ = given
            made = await self.get_response(input=items, tools=tools, handoffs=handoffs)
            response = Response(
                id="r", created_at=0, model="m", object="response", output=made.output,
                tool_choice="auto", tools=[], parallel_tool_calls=True,
            )  # fmt: skip
            yield ResponseCompletedEvent(
                type="response.completed", response=response, sequence_number=0
            )

    return Played()


def _named(handoffs: Any) -> Any:
    from types import SimpleNamespace

    return [SimpleNamespace(name=one.tool_name) for one in handoffs]


class Team:
    """Agents below one guard, and what their tools did."""

    def __init__(self, guard: Guard) -> None:
        from agents import set_tracing_disabled

        set_tracing_disabled(True)
        self.guard = guard
        self.ran: list[str] = []

    def plain(self, name: str, played: Any, *more: Any, **options: Any) -> Any:
        from agents import Agent, function_tool

        @function_tool
        def shell(command: str) -> str:
            self.ran.append(command)
            return f"ran {command}"

        @function_tool
        async def look() -> str:
            self.ran.append("look")
            return "seen"

        @function_tool
        def send(to: str) -> str:
            self.ran.append(to)
            return "sent"

        @function_tool
        def erase() -> str:
            self.ran.append("erase")
            return "erased"

        return Agent(name=name, model=played, tools=[shell, look, send, erase, *more], **options)

    def agent(self, name: str, played: Any, *more: Any, **options: Any) -> Any:
        from policy.adapters.openai_agents import guarded

        guard = self.guard if name == "main" else self.guard.agent(name)
        return guarded(self.plain(name, played, *more, **options), guard)


def start(name: str, agent: Any) -> Any:
    return agent.as_tool(tool_name=f"ask_{name}", tool_description="d")


async def arun(agent: Any, given: Any = "go") -> Any:
    from agents import Runner

    return await Runner.run(agent, given)


def run(agent: Any, given: Any = "go") -> Any:
    return asyncio.run(arun(agent, given))


@pytest.fixture
def team(guard: Guard) -> Team:
    return Team(guard)


def test_a_denied_call_does_not_run_and_the_model_is_told(team: Team) -> None:
    played = model(("shell", {"command": "ls x"}), ("shell", {"command": "rm x"}))

    text = run(team.agent("main", played)).final_output
    assert team.ran == ["ls x"]
    assert "rule `Bash(rm *)` of `main`" in text
    assert "allowed `Bash(ls *)`" in text


@pytest.mark.parametrize(
    ("tool", "text", "told"),
    [
        ("shell", '{"command": "ls x"', "the policy could not be asked"),
        ("send", '{"to": "bob"}', "not approved"),
    ],
)
def test_a_tool_that_is_run_past_the_run_decides_all_the_same(
    team: Team, tool: str, text: str, told: str
) -> None:
    agent = team.agent("main", model())

    async def invoke() -> Any:
        from agents import RunContextWrapper
        from agents.tool_context import ToolContext

        tools = await agent.get_all_tools(RunContextWrapper(None))
        (found,) = (one for one in tools if one.name == tool)
        context = ToolContext(None, tool_name=tool, tool_call_id="1", tool_arguments=text)
        return await found.on_invoke_tool(context, text)

    assert told in asyncio.run(invoke())
    assert not team.ran


@pytest.mark.parametrize("streamed", [False, True])
def test_calls_of_one_message_are_decided_each(team: Team, streamed: bool) -> None:
    from agents import Runner

    calls = [("shell", {"command": "ls x"}), ("shell", {"command": "rm x"}), ("look", {})]
    agent = team.agent("main", model(*calls, at_once=True))

    async def stream() -> None:
        async for _ in Runner.run_streamed(agent, "go").stream_events():
            pass

    asyncio.run(stream() if streamed else arun(agent))
    assert sorted(team.ran) == ["look", "ls x"]


def test_tools_that_can_never_be_allowed_are_not_offered(team: Team) -> None:
    from agents import CodeInterpreterTool, WebSearchTool

    offered: list[list[str]] = []
    named = Guard(team.guard.chain, names={"web_search": "look", "shell": "Bash"})
    hosted = [WebSearchTool(), CodeInterpreterTool({"type": "code_interpreter", "container": "c"})]

    run(Team(named).agent("main", model(offered=offered), *hosted))
    assert offered == [["shell", "look", "send", "web_search"]]


@pytest.mark.parametrize("approved", [True, False])
def test_an_asked_call_interrupts_the_run_and_runs_when_it_is_approved(
    team: Team, approved: bool
) -> None:
    agent = team.agent("main", model(("send", {"to": "bob"})))
    first = run(agent)

    (asked,) = first.interruptions
    assert json.loads(asked.raw_item.arguments) == {"to": "bob"}
    assert not team.ran
    state = first.to_state()
    (state.approve if approved else state.reject)(asked)
    second = run(agent, state)
    assert team.ran == (["bob"] if approved else [])
    assert ("sent" in second.final_output) is approved


def test_an_approval_that_was_written_down_is_good_after_it_was_read_again(team: Team) -> None:
    from agents import RunState

    agent = team.agent("main", model(("send", {"to": "bob"})))
    text = run(agent).to_state().to_string()

    async def resume() -> Any:
        state = await RunState.from_string(agent, text)
        for asked in state.get_interruptions():
            state.approve(asked)
        return await arun(agent, state)

    assert "sent" in asyncio.run(resume()).final_output
    assert team.ran == ["bob"]


def test_a_tool_that_needs_approval_by_itself_still_does(team: Team) -> None:
    from agents import function_tool

    @function_tool(needs_approval=True)
    def ask_explorer() -> str:
        team.ran.append("asked")
        return "asked"

    agent = team.agent("main", model(("ask_explorer", {})), ask_explorer)
    assert len(run(agent).interruptions) == 1
    assert not team.ran


def test_an_agent_that_a_tool_runs_gets_the_narrower_chain(team: Team) -> None:
    offered: list[list[str]] = []
    calls = [("shell", {"command": f"{word} x"}) for word in ("ls", "cat", "rm")]
    inner = team.agent("explore", model(*calls, offered=offered))

    played = model(("ask_explore", {"input": "go"}))
    text = run(team.agent("main", played, start("explore", inner))).final_output
    assert team.ran == ["ls x"]
    assert offered[0] == ["shell", "look"]
    assert "rule `Bash(rm *)` of `main`" in text


def test_an_agent_cannot_widen_its_chain(team: Team) -> None:
    """By its own policy it may do all but look."""
    offered: list[list[str]] = []
    inner = team.agent("careless", model(("shell", {"command": "rm x"}), offered=offered))

    run(team.agent("main", model(("ask_careless", {"input": "go"})), start("careless", inner)))
    assert not team.ran
    assert offered[0] == ["shell", "send"]
    # And nobody started this one.
    offered.clear()
    run(team.agent("careless", model(offered=offered)))
    assert offered == [[]]


HANDOFFS = """
root main
agent main {
    allow     shell(*), Task(explore, main)
    ask       Task(careful)
}
agent explore {
    allow     shell(ls *), Task(main)
}
agent careful {
    allow     shell(*)
}
"""


@pytest.fixture
def handing(tmp_path: Path) -> Team:
    (tmp_path / "handing").mkdir()
    (tmp_path / "handing/x.policy").write_text(HANDOFFS)
    return Team(Guard(policy.load(tmp_path / "handing").chain("main")))


def test_a_handoff_narrows_the_chain_also_on_the_way_back(handing: Team) -> None:
    offered: list[list[str]] = []
    command = {"command": "rm x"}
    calls = [
        *(("shell", command), ("transfer_to_explore", {}), ("shell", command)),
        *(("transfer_to_main", {}), ("shell", command), ("shell", {"command": "ls x"})),
    ]
    played = model(*calls, offered=offered)
    explore, careful = handing.plain("explore", played), handing.plain("careful", played)
    main = handing.plain("main", played, handoffs=[explore, careful])
    explore.handoffs = [main]
    from policy.adapters.openai_agents import guarded

    result = run(guarded(main, handing.guard))
    assert handing.ran == ["rm x", "ls x"]
    assert result.last_agent.guard.chain.names == ("main", "explore", "main")
    # To be asked for is not to be had on the way to another agent.
    assert offered[0] == ["shell", "transfer_to_explore"]


def test_a_handoff_that_is_added_later_is_decided_or_refused(handing: Team) -> None:
    from policy.adapters.openai_agents import guarded

    command = {"command": "rm x"}
    calls = [("transfer_to_explore", {}), ("shell", command)]
    played = model(*calls)
    explore = handing.plain("explore", played)
    main = guarded(handing.plain("main", played), handing.guard)
    result = run(main.clone(handoffs=[explore]))
    assert result.last_agent.guard.chain.names == ("main", "explore")
    assert handing.ran == []
    main.handoffs.append(explore)
    with pytest.raises(TypeError, match="behind the guard"):
        run(main)


def test_a_handoff_that_is_denied_does_not_lead_anywhere(team: Team) -> None:
    from agents import RunContextWrapper

    agent = team.agent("main", model(), handoffs=[team.plain("nobody", model())])
    (one,) = agent.handoffs

    with pytest.raises(CallDenied, match="`nobody` may not be started here"):
        asyncio.run(one.on_invoke_handoff(RunContextWrapper(None), ""))


def test_an_exception_in_the_checker_denies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Guard, "offered", lambda self, tools: list(tools))
    team = Team(Guard(Broken()))

    assert "could not be asked" in run(team.agent("main", model(("look", {})))).final_output
    assert not team.ran


def test_agents_at_once_keep_their_chains(team: Team) -> None:
    names = ["explore", "careless"] * 6
    offered: dict[str, list[list[str]]] = {name: [] for name in names}
    call = ("shell", {"command": "ls x"})
    starters = [
        start(name, team.agent(name, model(call, offered=offered[name]))) for name in names[:2]
    ]

    async def one(name: str) -> str:
        played = model((f"ask_{name}", {"input": "go"}))
        return str((await arun(team.agent("main", played, *starters))).final_output)

    async def all_() -> list[str]:
        return await asyncio.gather(*map(one, names))

    assert all("ran ls x" in text for text in asyncio.run(all_()))
    # `look` is explore's, and denied to careless.
    assert offered["explore"] == [["shell", "look"]] * 12
    assert offered["careless"] == [["shell", "send"]] * 12
