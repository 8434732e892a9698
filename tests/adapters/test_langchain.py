"""LangChain: agents with a model that is played."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from policy.adapters import Guard
from tests.adapters import Broken, runtime

pytestmark = runtime("'.[langchain]'", "langchain")


def model(
    *calls: tuple[str, dict[str, Any]],
    offered: list[list[str]] | None = None,
    at_once: bool = False,
) -> Any:
    """Return a model that makes *calls* one by one, and then repeats the last result."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Played(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "played"

        def bind_tools(self, tools: Any, **_: Any) -> Any:
            if offered is not None:
                offered.append([getattr(tool, "name", None) or tool["type"] for tool in tools])
            return self

        def _generate(self, messages: Any, *_: Any, **__: Any) -> Any:
            results = [message for message in messages if isinstance(message, ToolMessage)]
            left = calls if at_once and not results else calls[len(results) : len(results) + 1]
            if left:
                made = [
                    {"name": name, "args": args, "id": f"call{number}"}
                    for number, (name, args) in enumerate(left, len(results))
                ]
                message = AIMessage(content="", tool_calls=made)
            else:
                message = AIMessage(content=results[-1].content if results else "nothing")
            return ChatResult(generations=[ChatGeneration(message=message)])

    return Played()


class Team:
    """Agents below one guard, and what their tools did."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self.ran: list[str] = []

    def tools(self) -> list[Any]:
        from langchain_core.tools import tool

        @tool
        def shell(command: str) -> str:
            """Run a command."""
            self.ran.append(command)
            return f"ran {command}"

        @tool
        def look() -> str:
            """Look around."""
            self.ran.append("look")
            return "seen"

        @tool
        def send(to: str) -> str:
            """Send a message."""
            self.ran.append(to)
            return "sent"

        @tool
        def erase() -> str:
            """Erase all."""
            self.ran.append("erase")
            return "erased"

        return [shell, look, send, erase]

    def agent(self, name: str, played: Any, *more: Any, **options: Any) -> Any:
        from langchain.agents import create_agent

        from policy.adapters.langchain import PolicyMiddleware

        guard = self.guard if name == "main" else self.guard.agent(name)
        tools = [*self.tools(), *more]
        return create_agent(played, tools, middleware=[PolicyMiddleware(guard)], **options)

    def starter(self, name: str, agent: Any, *, is_async: bool = False) -> Any:
        from langchain_core.tools import StructuredTool

        def start(task: str) -> str:
            return told(agent.invoke(say(task)))

        async def astart(task: str) -> str:
            return told(await agent.ainvoke(say(task)))

        if is_async:
            return StructuredTool.from_function(
                coroutine=astart, name=f"ask_{name}", description="d"
            )
        return StructuredTool.from_function(start, name=f"ask_{name}", description="d")


def say(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


def told(state: dict[str, Any]) -> str:
    return str(state["messages"][-1].content)


@pytest.fixture
def team(guard: Guard) -> Team:
    return Team(guard)


def run(agent: Any, *, is_async: bool) -> str:
    return told(asyncio.run(agent.ainvoke(say("go"))) if is_async else agent.invoke(say("go")))


@pytest.mark.parametrize("is_async", [False, True])
def test_a_denied_call_does_not_run_and_the_model_is_told(team: Team, is_async: bool) -> None:
    played = model(("shell", {"command": "ls x"}), ("shell", {"command": "rm x"}))

    text = run(team.agent("main", played), is_async=is_async)
    assert team.ran == ["ls x"]
    assert "rule `Bash(rm *)` of `main`" in text
    assert "allowed `Bash(ls *)`" in text


@pytest.mark.parametrize("way", ["invoke", "stream", "astream", "batch"])
def test_calls_of_one_message_are_decided_each(team: Team, way: str) -> None:
    calls = [("shell", {"command": "ls x"}), ("shell", {"command": "rm x"}), ("erase", {})]
    agent = team.agent("main", model(*calls, ("look", {}), at_once=True))

    async def astream() -> None:
        async for _ in agent.astream(say("go"), stream_mode=["messages", "updates"]):
            pass

    if way == "astream":
        asyncio.run(astream())
    elif way == "batch":
        agent.batch([say("go"), say("go")])
    else:
        list(getattr(agent, way)(say("go")))
    assert sorted(set(team.ran)) == ["look", "ls x"]


@pytest.mark.parametrize("is_async", [False, True])
def test_tools_that_can_never_be_allowed_are_not_offered(team: Team, is_async: bool) -> None:
    offered: list[list[str]] = []
    agent = team.agent("main", model(offered=offered), {"type": "web_search_20250305"})

    run(agent, is_async=is_async)
    assert offered == [["shell", "look", "send"]]


def test_a_tool_of_the_provider_is_offered_where_all_its_calls_are_allowed(team: Team) -> None:
    offered: list[list[str]] = []
    guard = Guard(team.guard.chain, names={"web_search_20250305": "look", "bash_1": "Bash"})
    tools = ({"type": "web_search_20250305"}, {"type": "bash_1"})

    run(Team(guard).agent("main", model(offered=offered), *tools), is_async=False)
    assert offered[0][-1] == "web_search_20250305"
    assert "bash_1" not in offered[0]


@pytest.mark.parametrize(
    ("answer", "ran"),
    [
        ({"decisions": [{"type": "approve"}]}, ["bob"]),
        ({"decisions": [{"type": "reject", "message": "no"}]}, []),
        ({"decisions": []}, []),
        ({"decisions": [{"type": "approve"}, {"type": "reject"}]}, []),
        (True, []),
    ],
)
def test_an_asked_call_interrupts_the_graph_and_runs_when_it_is_approved(
    team: Team, answer: Any, ran: list[str]
) -> None:
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    agent = team.agent("main", model(("send", {"to": "bob"})), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    state = agent.invoke(say("go"), config)

    (request,) = state["__interrupt__"]
    (action,) = request.value["action_requests"]
    assert (action["name"], action["args"]) == ("send", {"to": "bob"})
    assert not team.ran
    text = told(agent.invoke(Command(resume=answer), config))
    assert team.ran == ran
    assert text == "sent" if ran else "not approved" in text


@pytest.mark.parametrize("approved", ["bob", "eve"])
def test_of_two_asked_calls_the_one_runs_that_is_approved(team: Team, approved: str) -> None:
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    played = model(("send", {"to": "bob"}), ("send", {"to": "eve"}), at_once=True)
    agent = team.agent("main", played, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    answers = {}
    for one in agent.invoke(say("go"), config)["__interrupt__"]:
        (action,) = one.value["action_requests"]
        kind = "approve" if action["args"]["to"] == approved else "reject"
        answers[one.id] = {"decisions": [{"type": kind}]}
    agent.invoke(Command(resume=answers), config)
    assert team.ran == [approved]


@pytest.mark.parametrize("is_async", [False, True])
def test_an_agent_that_a_tool_runs_gets_the_narrower_chain(team: Team, is_async: bool) -> None:
    offered: list[list[str]] = []
    calls = [("shell", {"command": f"{word} x"}) for word in ("ls", "cat", "rm")]
    inner = team.agent("explore", model(*calls, ("send", {"to": "x"}), offered=offered))
    start = team.starter("explore", inner, is_async=is_async)

    text = run(team.agent("main", model(("ask_explore", {"task": "go"})), start), is_async=is_async)
    assert team.ran == ["ls x"]
    assert offered[0] == ["shell", "look"]
    assert "no rule grants it" in text


@pytest.mark.parametrize("is_async", [False, True])
def test_an_agent_cannot_widen_its_chain(team: Team, is_async: bool) -> None:
    """By its own policy it may do all but look."""
    calls = [("erase", {}), ("shell", {"command": "rm x"}), ("look", {})]
    inner = team.agent("careless", model(*calls))
    start = team.starter("careless", inner, is_async=is_async)
    played = model(("ask_careless", {"task": "go"}))

    run(team.agent("main", played, start), is_async=is_async)
    assert not team.ran
    # And nobody started this one.
    run(inner, is_async=is_async)
    assert not team.ran


def test_an_exception_in_the_checker_denies() -> None:
    team = Team(Guard(Broken()))

    assert "could not be asked" in run(team.agent("main", model(("look", {}))), is_async=False)
    assert not team.ran


def test_agents_at_once_keep_their_chains(team: Team) -> None:
    names = ["explore", "careless"] * 6
    starters = [
        team.starter(name, team.agent(name, model(("look", {}))), is_async=True)
        for name in names[:2]
    ]

    async def one(name: str) -> str:
        agent = team.agent("main", model((f"ask_{name}", {"task": "go"})), *starters)
        return told(await agent.ainvoke(say("go")))

    async def all_() -> list[str]:
        return await asyncio.gather(*map(one, names))

    texts = asyncio.run(all_())
    assert [text == "seen" for text in texts] == [True, False] * 6
    assert team.ran == ["look"] * 6
