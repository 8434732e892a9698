"""Google ADK: runners with a model that is played."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import policy
from policy.adapters import Guard
from tests.adapters import Broken, runtime

pytestmark = runtime("'.[google-adk]'", "google.adk")

Call = tuple[str, dict[str, Any]]


def model(*calls: Call, offered: list[set[str]] | None = None, at_once: bool = False) -> Any:
    """Return a model that makes *calls*, one by one or at once, and then repeats the last result."""
    from google.adk.models import BaseLlm, LlmResponse
    from google.genai import types

    made = 0

    class Played(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            nonlocal made
            if offered is not None:
                offered.append(_offered(llm_request))
            parts = [p for c in llm_request.contents for p in c.parts or []]
            results = [p.function_response.response for p in parts if p.function_response]
            if stream:
                said = types.Content(role="model", parts=[types.Part(text="well, ")])
                yield LlmResponse(content=said, partial=True)
            if made < len(calls):
                now = calls[made:] if at_once else calls[made : made + 1]
                made += len(now)
                called = [types.FunctionCall(name=name, args=args) for name, args in now]
                parts = [types.Part(function_call=call) for call in called]
            else:
                parts = [types.Part(text=str(results[-1:]))]
            yield LlmResponse(content=types.Content(role="model", parts=parts))

    return Played(model="played")


def _offered(request: Any) -> set[str]:
    names: set[str] = set()
    for tool in request.config.tools or []:
        names |= {one.name for one in tool.function_declarations or []}
        names |= {
            field
            for field in type(tool).model_fields
            if field != "function_declarations" and getattr(tool, field) is not None
        }
    return names


class Team:
    """Agents below one guard, and what their tools did."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self.ran: list[str] = []

    def agent(self, name: str, played: Any, *more: Any, **options: Any) -> Any:
        from google.adk.agents import LlmAgent

        def shell(command: str) -> str:
            """Run a command."""
            self.ran.append(command)
            return f"ran {command}"

        async def look() -> str:
            """Look around."""
            self.ran.append("look")
            return "seen"

        def send(to: str) -> str:
            """Send a message."""
            self.ran.append(to)
            return "sent"

        def erase() -> str:
            """Erase all."""
            self.ran.append("erase")
            return "erased"

        tools = [shell, look, send, erase, *more]
        return LlmAgent(name=name, model=played, tools=tools, **options)

    def runner(self, agent: Any) -> Runner:
        return Runner(agent, self.guard)


class Runner:
    """A session with an agent."""

    def __init__(self, agent: Any, guard: Guard) -> None:
        from google.adk.apps import App
        from google.adk.runners import InMemoryRunner

        from policy.adapters.google_adk import PolicyPlugin

        app = App(name="app", root_agent=agent, plugins=[PolicyPlugin(guard)])
        self.runner = InMemoryRunner(app=app)
        self.session: Any = None

    async def arun(self, *parts: Any, streamed: bool = False) -> list[Any]:
        from google.adk.agents.run_config import RunConfig, StreamingMode
        from google.genai import types

        if self.session is None:
            service = self.runner.session_service
            self.session = await service.create_session(app_name="app", user_id="u")
        message = types.Content(role="user", parts=[*parts] or [types.Part(text="go")])
        return [
            event
            async for event in self.runner.run_async(
                user_id="u",
                session_id=self.session.id,
                new_message=message,
                run_config=RunConfig(
                    streaming_mode=StreamingMode.SSE if streamed else StreamingMode.NONE
                ),
            )
        ]

    def run(self, *parts: Any) -> str:
        return text(asyncio.run(self.arun(*parts)))


def text(events: list[Any]) -> str:
    parts = [p for e in events if e.content for p in e.content.parts or []]
    return str([p.text or (p.function_response and p.function_response.response) for p in parts])


def run_by_tool(agent: Any) -> Any:
    from google.adk.tools.agent_tool import AgentTool

    return AgentTool(agent)


@pytest.fixture
def team(guard: Guard) -> Team:
    return Team(guard)


def test_a_denied_call_does_not_run_and_the_model_is_told(team: Team) -> None:
    played = model(("shell", {"command": "ls x"}), ("shell", {"command": "rm x"}))

    said = team.runner(team.agent("main", played)).run()
    assert team.ran == ["ls x"]
    assert "rule `Bash(rm *)` of `main`" in said
    assert "allowed `Bash(ls *)`" in said


def test_tools_that_can_never_be_allowed_are_not_offered(team: Team) -> None:
    offered: list[set[str]] = []
    others = [run_by_tool(team.agent(name, model())) for name in ("explore", "careful", "nobody")]

    team.runner(team.agent("main", model(offered=offered), *others)).run()
    assert offered == [{"shell", "look", "send", "explore", "careful"}]


def test_a_tool_of_the_model_is_offered_where_all_its_calls_are_allowed(team: Team) -> None:
    from google.adk.models import LlmRequest
    from google.genai import types

    from policy.adapters.google_adk import PolicyPlugin

    plugin = PolicyPlugin(Guard(team.guard.chain, names={"google_search": "look"}))
    search, code = types.GoogleSearch(), types.ToolCodeExecution()
    both = types.Tool(google_search=search, code_execution=code)
    request = LlmRequest(config=types.GenerateContentConfig(tools=[both]))

    class Context:
        def get_invocation_context(self) -> Any:
            return type("Invocation", (), {"agent": team.agent("main", model())})

    asked = plugin.before_model_callback(callback_context=Context(), llm_request=request)
    assert asyncio.run(asked) is None
    assert _offered(request) == {"google_search"}


@pytest.mark.parametrize("granted", [True, False])
def test_code_that_a_model_writes_is_run_where_the_policy_allows_any(
    tmp_path: Path, granted: bool
) -> None:
    from google.adk.agents import LlmAgent
    from google.adk.code_executors import UnsafeLocalCodeExecutor
    from google.adk.models import BaseLlm, LlmResponse
    from google.genai import types

    asked: list[object] = []
    file = tmp_path / "ran"

    class Played(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            asked.append(llm_request)
            code = f"```python\nopen({str(file)!r}, 'w').close()\n```"
            text = code if len(asked) == 1 else "done"
            content = types.Content(role="model", parts=[types.Part(text=text)])
            yield LlmResponse(content=content)

    allowed = "look, code_execution" if granted else "look, code_execution(x)"
    (tmp_path / "x.policy").write_text(f"root main\nagent main {{ allow {allowed} }}\n")
    team = Team(Guard(policy.load(tmp_path).chain("main")))
    agent = LlmAgent(
        name="main", model=Played(model="played"), code_executor=UnsafeLocalCodeExecutor()
    )
    team.runner(agent).run()
    assert file.exists() is granted
    assert bool(asked) is granted


@pytest.mark.parametrize("streamed", [False, True])
def test_calls_of_one_message_are_decided_each(team: Team, streamed: bool) -> None:
    commands = [f"{program} {number}" for number in range(4) for program in ("ls", "rm")]
    calls = [("shell", {"command": command}) for command in commands]
    agent = team.agent("main", model(*calls, ("send", {"to": "bob"}), ("look", {}), at_once=True))

    events = asyncio.run(team.runner(agent).arun(streamed=streamed))
    assert sorted(team.ran) == sorted(["look", *(one for one in commands if one[:2] == "ls")])
    parts = [part for event in events if event.content for part in event.content.parts or []]
    given = [part.function_response.response for part in parts if part.function_response]
    assert sum("rule `Bash(rm *)` of `main`" in str(one) for one in given) == 4
    confirmations = [event.actions.requested_tool_confirmations for event in events]
    assert sum(map(len, confirmations)) == 1  # of `send`, which waits
    assert any(event.partial for event in events) is streamed


@pytest.mark.parametrize("approved", [True, False])
def test_an_asked_call_requests_a_confirmation_and_runs_when_it_is_given(
    team: Team, approved: bool
) -> None:
    from google.genai import types

    runner = team.runner(team.agent("main", model(("send", {"to": "bob"}))))
    events = asyncio.run(runner.arun())
    (asked,) = (
        part.function_call
        for event in events
        for part in event.content.parts
        if part.function_call and part.function_call.name == "adk_request_confirmation"
    )

    assert "rule `send` of `main`" in str(asked.args)
    assert not team.ran
    answer = types.FunctionResponse(id=asked.id, name=asked.name, response={"confirmed": approved})
    said = runner.run(types.Part(function_response=answer))
    assert team.ran == (["bob"] if approved else [])
    assert ("sent" in said) is approved
    assert ("not approved" in said) is not approved


def test_an_agent_that_a_tool_runs_gets_the_narrower_chain(team: Team) -> None:
    offered: list[set[str]] = []
    calls = [("shell", {"command": f"{word} x"}) for word in ("ls", "cat", "rm")]
    inner = team.agent("explore", model(*calls, offered=offered))
    played = model(("explore", {"request": "go"}))

    said = team.runner(team.agent("main", played, run_by_tool(inner))).run()
    assert team.ran == ["ls x"]
    assert offered[0] == {"shell", "look"}
    assert "rule `Bash(rm *)` of `main`" in said


def test_an_agent_cannot_widen_its_chain(team: Team) -> None:
    """By its own policy it may do all but look."""
    offered: list[set[str]] = []
    calls = [("shell", {"command": "rm x"}), ("erase", {}), ("look", {})]
    inner = team.agent("careless", model(*calls, offered=offered))
    played = model(("careless", {"request": "go"}))

    team.runner(team.agent("main", played, run_by_tool(inner))).run()
    assert not team.ran
    assert offered[0] == {"shell", "send"}


def test_an_agent_that_is_transferred_to_gets_the_narrower_chain(team: Team) -> None:
    offered: list[set[str]] = []
    calls = [("shell", {"command": "cat x"}), ("shell", {"command": "ls x"})]
    explore = team.agent("explore", model(*calls, offered=offered))
    played = model(("transfer_to_agent", {"agent_name": "explore"}))
    runner = team.runner(team.agent("main", played, sub_agents=[explore]))

    runner.run()
    assert team.ran == ["ls x"]
    assert offered[0] == {"shell", "look", "transfer_to_agent"}


@pytest.mark.parametrize("target", ["careful", "nobody", "careless"])
def test_a_transfer_that_is_asked_for_denied_or_sideways_does_not_happen(
    team: Team, target: str
) -> None:
    """`careful` has to be asked for, `nobody` is denied, and explore is beside `careless`."""
    calls = [("shell", {"command": "ls reached"})]
    other = team.agent(target, model(*calls))
    transfer = ("transfer_to_agent", {"agent_name": target})
    if target == "careless":
        explore = team.agent("explore", model(transfer))
        first = ("transfer_to_agent", {"agent_name": "explore"})
        root = team.agent("main", model(first), sub_agents=[explore, other])
    else:
        root = team.agent("main", model(transfer), sub_agents=[other])

    said = team.runner(root).run()
    assert not team.ran
    assert "not" in said


BESIDE = """
root main
agent main { allow shell, Task(explore, careless)
    ask Task(careful) }
agent explore { allow shell(ls *), Task(careless) }
agent careless { allow shell }
agent careful { allow shell }
"""


@pytest.fixture
def beside(tmp_path: Path) -> Team:
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside/x.policy").write_text(BESIDE)
    return Team(Guard(policy.load(tmp_path / "beside").chain("main")))


def test_a_transfer_to_the_agent_beside_would_lead_out_of_the_chain(beside: Team) -> None:
    """Explore may start `careless`, which is not below it here, and has more from `main`."""
    careless = beside.agent("careless", model(("shell", {"command": "rm x"})))
    explore = beside.agent("explore", model(("transfer_to_agent", {"agent_name": "careless"})))
    played = model(("transfer_to_agent", {"agent_name": "explore"}))

    said = beside.runner(beside.agent("main", played, sub_agents=[explore, careless])).run()
    assert not beside.ran
    assert "This agent may not transfer to `careless`." in said


def test_an_agent_that_needs_approval_has_no_calls_without_it(
    beside: Team,
) -> None:
    from google.adk.agents import SequentialAgent

    careful = beside.agent("careful", model(("shell", {"command": "ls x"})))
    explore = beside.agent("explore", model(("shell", {"command": "ls y"})))
    steps = SequentialAgent(name="steps", sub_agents=[careful, explore])
    beside.agent("main", model(), sub_agents=[steps])

    from google.adk.tools.function_tool import FunctionTool

    from policy.adapters.google_adk import PolicyPlugin

    def shell(command: str) -> None: ...

    def answer(agent: Any) -> Any:
        context = type("Context", (), {"tool_confirmation": None})()
        context.get_invocation_context = lambda: type("Invocation", (), {"agent": agent})
        plugin, tool = PolicyPlugin(beside.guard), FunctionTool(shell)
        given = {"command": "ls x"}
        return asyncio.run(
            plugin.before_tool_callback(tool=tool, tool_args=given, tool_context=context)
        )

    assert answer(explore) is None
    assert answer(careful) == {"error": "The agent `careful` may not be started here."}


def test_an_agent_may_transfer_back_to_the_agent_that_started_it(team: Team) -> None:
    back = ("transfer_to_agent", {"agent_name": "main"})
    explore = team.agent("explore", model(back))
    calls = [("transfer_to_agent", {"agent_name": "explore"}), ("shell", {"command": "ls x"})]
    root = team.agent("main", model(*calls), sub_agents=[explore])

    team.runner(root).run()
    assert team.ran == ["ls x"]


def test_an_agent_that_is_not_the_one_of_the_guard_is_denied(team: Team) -> None:
    offered: list[set[str]] = []

    said = team.runner(team.agent("explore", model(("look", {}), offered=offered))).run()
    assert offered[0] == set()
    assert not team.ran
    assert said


def test_an_exception_in_the_checker_denies() -> None:
    from google.adk.tools.function_tool import FunctionTool

    from policy.adapters.google_adk import PolicyPlugin

    team = Team(Guard(Broken()))
    said = team.runner(team.agent("main", model(("look", {})))).run()
    assert not team.ran
    assert said
    # And where the tool was offered before the checker failed.
    plugin = PolicyPlugin(Guard(Broken()))
    tool = FunctionTool(lambda: None)
    asked = plugin.before_tool_callback(tool=tool, tool_args={}, tool_context=None)
    assert asyncio.run(asked) == {"error": "This call is denied: the policy could not be asked."}


def test_agents_at_once_keep_their_chains(team: Team) -> None:
    names = ["explore", "careless"] * 6
    offered: dict[str, list[set[str]]] = {name: [] for name in names}

    async def one(name: str) -> str:
        inner = team.agent(name, model(("shell", {"command": "ls x"}), offered=offered[name]))
        root = team.agent("main", model((name, {"request": "go"})), run_by_tool(inner))
        return text(await team.runner(root).arun())

    async def all_() -> list[str]:
        return await asyncio.gather(*map(one, names))

    assert all("ran ls x" in said for said in asyncio.run(all_()))
    # `look` is explore's, and denied to careless.
    assert offered["explore"] == [{"shell", "look"}] * 12
    assert offered["careless"] == [{"shell", "send"}] * 12
