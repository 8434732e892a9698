"""FastMCP: a server and its client, in both eras of the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import policy
from policy.adapters import Guard
from policy.tables.chain import Chain
from tests.adapters import Broken, runtime

pytestmark = runtime("'.[fastmcp]'", "fastmcp")

# Before 2026-07-28 a server asks in a request of its own, since then in a result.
ERAS = ["legacy", "2026-07-28"]


class Server:
    """A server with its middleware, and what ran on it."""

    def __init__(self, guard: Guard, **options: Any) -> None:
        from fastmcp import FastMCP

        from policy.adapters.fastmcp import PolicyMiddleware

        self.ran: list[object] = []
        self.mcp = FastMCP("server")
        self.mcp.add_middleware(PolicyMiddleware(guard, **options))

        @self.mcp.tool
        def shell(command: str) -> str:
            self.ran.append(command)
            return f"ran {command}"

        @self.mcp.tool
        def look() -> str:
            self.ran.append("look")
            return "seen"

        @self.mcp.tool
        def send(to: str) -> str:
            self.ran.append(to)
            return "sent"

        @self.mcp.tool
        def erase() -> str:
            self.ran.append("erase")
            return "erased"

        @self.mcp.tool
        async def ask_explorer(command: str) -> str:
            result = await self.mcp.call_tool("shell", {"command": command})
            return str(result.content[0].text)

        @self.mcp.resource("notes://today")
        def today() -> str:
            self.ran.append("today")
            return "sunny"

        @self.mcp.resource("notes://day/{day}")
        def day(day: str) -> str:
            self.ran.append(day)
            return f"day {day}"

        @self.mcp.prompt
        def review(what: str) -> str:
            self.ran.append(what)
            return f"review {what}"

    def call(
        self, tool: str, era: str = ERAS[0], answer: Any = None, **arguments: str
    ) -> tuple[bool, str]:
        """Return whether a call is an error, and what the model reads."""

        async def run() -> tuple[bool, str]:
            async with self.client(era, answer) as client:
                result = await client.call_tool(tool, arguments, raise_on_error=False)
                return result.is_error, result.content[0].text

        return asyncio.run(run())

    def client(self, era: str, answer: Any = None) -> Any:
        from fastmcp import Client

        return Client(self.mcp, elicitation_handler=answer, mode=era)


@pytest.mark.parametrize("era", ERAS)
def test_a_denied_call_does_not_run_and_the_model_is_told(guard: Guard, era: str) -> None:
    server = Server(guard)

    assert server.call("shell", era, command="ls x") == (False, "ran ls x")
    failed, text = server.call("shell", era, command="rm x")
    assert failed
    assert "rule `Bash(rm *)` of `main`" in text
    assert "allowed `Bash(ls *)`" in text
    assert server.ran == ["ls x"]


@pytest.mark.parametrize("era", ERAS)
def test_tools_that_can_never_be_allowed_are_not_listed(guard: Guard, era: str) -> None:
    async def listed() -> set[str]:
        async with Server(guard).client(era) as client:
            return {tool.name for tool in await client.list_tools()}

    assert asyncio.run(listed()) == {"shell", "look", "send", "ask_explorer"}


def test_another_name_of_a_tool_is_no_way_around_a_rule(tmp_path: Path) -> None:
    """Servers run tools under hashed names too, for the applications that come with them."""
    (tmp_path / "x.policy").write_text("root main\nagent main { allow *\ndeny erase }\n")
    server = Server(Guard(policy.load(tmp_path).chain("main")))

    for name in ("erase", "0123456789ab_erase"):
        failed, text = server.call(name)
        assert failed
        assert "rule `erase` of `main`" in text


def _answering(asked: list[str], answer: Callable[[], Any]) -> Any:
    async def handler(message: str, response_type: Any, params: Any, context: Any) -> Any:
        asked.append(message)
        (field,) = params.requested_schema["properties"]
        found = answer()
        return {field: found} if isinstance(found, bool) else found

    return handler


@pytest.mark.parametrize("era", ERAS)
def test_an_asked_call_is_put_to_the_client(guard: Guard, era: str) -> None:
    from fastmcp.client.elicitation import ElicitResult

    asked: list[str] = []
    server = Server(guard)

    def with_(answer: Any) -> tuple[bool, str]:
        return server.call("send", era, _answering(asked, lambda: answer), to="bob")

    assert with_(True) == (False, "sent")
    assert server.ran == ["bob"]
    assert "bob" in asked[0]
    for refusal in (False, ElicitResult(action="decline"), ElicitResult(action="cancel")):
        failed, text = with_(refusal)
        assert failed
        assert "not approved" in text
    assert server.ran == ["bob"]
    assert len(asked) == 4


@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_cannot_ask_has_the_call_denied(guard: Guard, era: str) -> None:
    server = Server(guard)

    failed, text = server.call("send", era, to="bob")
    assert failed
    assert "not approved" in text
    assert not server.ran


def test_an_approval_is_good_for_the_call_that_was_shown_and_for_no_other(guard: Guard) -> None:
    from mcp.shared.exceptions import MCPError
    from mcp_types import ElicitResult, InputRequiredResult

    server = Server(guard)
    yes = {"agent-policy": ElicitResult(action="accept", content={"allow": True})}

    async def run() -> list[bool]:
        async with server.client(ERAS[1], _answering([], lambda: True)) as client:
            session = client.session
            first = await session.call_tool("send", {"to": "bob"}, allow_input_required=True)
            assert isinstance(first, InputRequiredResult)
            failed = []
            for to in ("eve", "bob"):
                try:
                    result = await session.call_tool(
                        "send", {"to": to}, input_responses=yes, request_state=first.request_state
                    )
                    failed.append(result.is_error)
                except MCPError:  # the library knows its own states too
                    failed.append(True)
            return failed

    assert asyncio.run(run()) == [True, False]
    assert server.ran == ["bob"]


def test_an_exception_in_the_checker_denies(chain: Chain) -> None:
    def unknown(context: object) -> Chain:
        raise KeyError("who")

    for server in (Server(Guard(Broken())), Server(Guard(chain), chain_of=unknown)):
        failed, text = server.call("look")
        assert (failed, text) == (True, "This call is denied: the policy could not be asked.")
        assert not server.ran


def test_a_tool_that_calls_another_stays_within_the_chain(guard: Guard) -> None:
    server = Server(guard)

    assert server.call("ask_explorer", command="ls x") == (False, "ran ls x")
    failed, text = server.call("ask_explorer", command="rm x")
    assert failed
    assert "Bash(rm *)" in text
    assert server.ran == ["ls x"]


@pytest.mark.parametrize("era", ERAS)
def test_calls_of_one_client_at_once_are_decided_each_while_tools_tell_how_far_they_are(
    chain: Chain, era: str
) -> None:
    from fastmcp.server.dependencies import get_context

    server = Server(Guard(chain, names={"shell": "Bash", "watch": "look"}))
    told: list[float] = []

    @server.mcp.tool
    async def watch() -> str:
        for step in range(3):
            await get_context().report_progress(step, 3)
            await asyncio.sleep(0)
        # The tool that it calls is its own call, in the same chain.
        inner = await server.mcp.call_tool("shell", {"command": "ls inner"})
        return str(inner.content[0].text)

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append(done)

    async def run() -> list[tuple[bool, str]]:
        async with server.client(era, _answering([], lambda: True)) as client:

            async def call(tool: str, **arguments: str) -> tuple[bool, str]:
                result = await client.call_tool(
                    tool, arguments, raise_on_error=False, progress_handler=progress
                )
                return result.is_error, result.content[0].text

            asked = [
                one
                for number in range(5)
                for one in (
                    call("shell", command=f"ls {number}"),
                    call("shell", command=f"rm {number}"),
                    call("send", to=f"bob {number}"),
                    call("erase"),
                    call("watch"),
                )
            ]
            return await asyncio.gather(*asked)

    results = asyncio.run(run())
    assert [failed for failed, _ in results] == [False, True, False, True, False] * 5
    expected = [f"{what} {number}" for number in range(5) for what in ("ls", "bob")]
    expected += ["ls inner"] * 5
    assert sorted(told) == sorted([0, 1, 2] * 5)
    assert sorted(map(str, server.ran)) == sorted(expected)


def test_every_client_is_asked_for_by_the_chain_it_has_and_calls_at_once_do_not_mix(
    chain: Chain,
) -> None:
    chains = {"main": chain, "explore": chain.spawn("explore")}
    guard = Guard(chain, names={"shell": "Bash"})
    server = Server(guard, chain_of=lambda context: chains[_who(context)])

    async def call(who: str, number: int) -> tuple[str, bool]:
        from fastmcp import Client

        async with Client(server.mcp, client_info=_info(who)) as client:
            result = await client.call_tool(
                "send" if number % 2 else "shell",
                {"to": "x"} if number % 2 else {"command": f"ls {who}"},
                raise_on_error=False,
            )
            return result.content[0].text, result.is_error

    async def run() -> list[tuple[str, bool]]:
        calls = [call(who, number) for number in range(8) for who in chains]
        return await asyncio.gather(*calls)

    results = asyncio.run(run())
    assert {text for text, failed in results if not failed} == {"ran ls main", "ran ls explore"}
    assert sorted(text for text, failed in results if failed) == sorted(
        ["This call needs the approval of a person, and was not approved."] * 4
        + [text for text, failed in results if failed and "no rule grants it" in text]
    )
    assert sum("no rule grants it" in text for text, _ in results) == 4


# --- resources and prompts -------------------------------------------------------

_READS = """
root main
agent main {
    allow look, read_resource(uri:notes://day/1), get_prompt(review)
    ask   read_resource(uri:notes://today)
}
"""


def _reading(folder: Path, text: str, **options: Any) -> Server:
    (folder / "team.policy").write_text(text)
    return Server(Guard(policy.load(folder).chain("main")), **options)


def _got(server: Server, era: str, answer: Any = None) -> dict[str, object]:
    """Return what a client reads, by what; and what is listed."""

    async def run() -> dict[str, object]:
        found: dict[str, object] = {}
        async with server.client(era, answer) as client:
            for uri in ("notes://today", "notes://day/1", "notes://day/2"):
                try:
                    found[uri] = (await client.read_resource(uri))[0].text
                except Exception as error:  # noqa: BLE001
                    found[uri] = error
            try:
                got = await client.get_prompt("review", {"what": "x"})
                found["review"] = got.messages[0].content.text
            except Exception as error:  # noqa: BLE001
                found["review"] = error
            found["listed"] = [
                *(str(one.uri) for one in await client.list_resources()),
                *(one.uri_template for one in await client.list_resource_templates()),
                *(one.name for one in await client.list_prompts()),
            ]
        return found

    return asyncio.run(run())


_ALL = ["notes://today", "notes://day/{day}", "review"]


@pytest.mark.parametrize("era", ERAS)
def test_what_no_rule_grants_is_neither_read_nor_listed(guard: Guard, era: str) -> None:
    server = Server(guard)
    *refused, listed = _got(server, era).values()
    assert all(isinstance(each, Exception) for each in refused)
    assert listed == []
    assert not server.ran


@pytest.mark.parametrize("era", ERAS)
def test_resources_and_prompts_are_decided_as_calls(tmp_path: Path, era: str) -> None:
    server = _reading(tmp_path, _READS)
    got = _got(server, era)
    assert (got["notes://day/1"], got["review"]) == ("day 1", "review x")
    assert isinstance(got["notes://today"], Exception)  # this client cannot be asked
    assert isinstance(got["notes://day/2"], Exception)
    assert got["listed"] == _ALL
    assert server.ran == ["1", "x"]


def test_an_approved_resource_is_read(tmp_path: Path) -> None:
    asked: list[str] = []
    server = _reading(tmp_path, _READS)
    for answer, reads in ((True, True), (False, False)):
        got = _got(server, ERAS[0], _answering(asked, lambda answer=answer: answer))
        assert (got["notes://today"] == "sunny") is reads
    assert len(asked) == 2
    assert "notes://today" in asked[0]
    # Since 2026-07-28 only a tool has a result in whose place there is a question.
    got = _got(server, ERAS[1], _answering(asked, lambda: True))
    assert isinstance(got["notes://today"], Exception)


@pytest.mark.parametrize("era", ERAS)
def test_they_pass_undecided_where_the_application_says_so(guard: Guard, era: str) -> None:
    server = Server(guard, resources=None, prompts=None)
    *read, listed = _got(server, era).values()
    assert read == ["sunny", "day 1", "day 2", "review x"]
    assert listed == _ALL


def test_an_exception_in_the_checker_reads_nothing(chain: Chain) -> None:
    def unknown(context: object) -> Chain:
        raise KeyError("who")

    for server in (Server(Guard(Broken())), Server(Guard(chain), chain_of=unknown)):
        *refused, listed = _got(server, ERAS[0]).values()
        assert all(isinstance(each, Exception) for each in refused)
        assert listed == []
        assert not server.ran


def test_what_a_resource_calls_stays_within_the_chain(tmp_path: Path) -> None:
    server = _reading(tmp_path, "root main\nagent main { allow read_resource, look }\n")

    @server.mcp.resource("notes://all")
    async def every() -> str:
        found = [await server.mcp.call_tool("look", {})]
        try:
            await server.mcp.call_tool("erase", {})
        except Exception as error:  # noqa: BLE001
            return f"{found[0].content[0].text}, {error}"
        return "erased"

    async def run() -> str:
        async with server.client(ERAS[0]) as client:
            return str((await client.read_resource("notes://all"))[0].text)

    assert asyncio.run(run()).startswith("seen, ")
    assert server.ran == ["look"]


def _who(context: Any) -> str:
    return str(context.fastmcp_context.session.client_params.client_info.name)


def _info(who: str) -> Any:
    from mcp_types import Implementation

    return Implementation(name=who, version="1")
