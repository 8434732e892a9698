"""`policy mcp-proxy`: messages one by one, and the command in front of a server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import policy
from policy.adapters import Guard
from policy.adapters.mcp_proxy import ContentGate, Gate, Sent
from policy.cli import main
from tests.adapters import Broken, runtime
from tests.adapters.conftest import TEAM


def line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


def call(tool: str, arguments: Any, number: Any = 1, **more: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments, **more}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def initialize(capabilities: dict[str, Any]) -> bytes:
    params = {"protocolVersion": "2025-11-25", "capabilities": capabilities}
    return line({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})


def result(text: bytes) -> Any:
    return json.loads(text)["result"]


@pytest.fixture
def gate(guard: Guard) -> Gate:
    return Gate(guard)


def test_an_allowed_call_passes_byte_for_byte(gate: Gate) -> None:
    text = b'{ "id":1, "jsonrpc" :"2.0","method":"tools\\/call",  "params":{"name":"look"}}\n'

    assert gate.from_client(text) == Sent(to_server=text)


def test_a_denied_call_does_not_reach_the_server_and_the_model_is_told(gate: Gate) -> None:
    sent = gate.from_client(line(call("shell", {"command": "rm x"}, "a")))

    assert not sent.to_server
    assert json.loads(sent.to_client)["id"] == "a"
    (content,) = result(sent.to_client)["content"]
    assert result(sent.to_client)["isError"] is True
    assert "rule `Bash(rm *)` of `main`" in content["text"]


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 1, "method": "logging/x", "params": {"uri": "a", "Name": 1}},
        {"jsonrpc": "2.0", "id": 1, "method": "resources/unsubscribe", "params": {"uri": "a"}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 7, "result": {"roots": []}},
        {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {"cursor": "x"}},
    ],
)
def test_everything_else_passes_byte_for_byte(gate: Gate, message: Any) -> None:
    text = json.dumps(message, indent=None).encode() + b" \r\n"

    assert gate.from_client(text) == Sent(to_server=text)
    assert gate.from_server(text) == Sent(to_client=text)


def test_what_a_server_says_that_is_no_message_passes(gate: Gate) -> None:
    gate.from_client(line({"jsonrpc": "2.0", "id": 7, "method": "tools/list"}))

    for text in (b"starting up\n", b"[" * 100_000 + b"\n", b"\xff\n", b"7\n", b"\n"):
        assert gate.from_server(text) == Sent(to_client=text)


HIDDEN = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"erase","arguments":{}}}'


@pytest.mark.parametrize(
    "text",
    [
        # A reader that takes the first of two keys, or the last, or ignores their case.
        '{"id":1,"method":"ping","method":"tools/call","params":{"name":"erase"}}',
        '{"id":1,"method":"ping","Method":"tools/call","params":{"name":"erase"}}',
        '{"id":1,"METHOD":"tools/call","params":{"name":"erase"}}',
        '{"id":1,"method":"ping","\\u006dethod":"tools/call","params":{"name":"erase"}}',
        '{"id":1,"method":"tools/call","params":{"name":"look","name":"erase"}}',
        '{"id":1,"method":"tools/call","params":{"name":"look","Name":"erase"}}',
        '{"id":1,"method":"tools/call","params":{"name":"look"},"param\u017f":{"name":"erase"}}',
        '{"id":1,"method":"tools/call","params":{"name":"shell","arguments":{"command":"ls x"},"ARGUMENTS":{"command":"rm x"}}}',
        '{"id":1,"method":"tools/call","params":{"name":"shell","arguments":{"command":"ls x","command":"rm x"}}}',
        # A reader that ends lines at carriage returns.
        f'{{"jsonrpc":"2.0","method":"x","params":\r{HIDDEN}\r}}',
        # What is not JSON to all readers.
        '{"id":1,"method":"tools/call","params":{"name":"look","arguments":{"x":NaN}}}',
        '{"id":1,"method":"tools/call","params":{"name":"look","arguments":{"x":"\\ud800"}}}',
        "\ufeff" + HIDDEN,
        HIDDEN[:-1],
        HIDDEN + HIDDEN,
        f"[{HIDDEN}]",
        f"[[{HIDDEN}]]",
        '[{"jsonrpc": "2.0", "id": 7, "method": "ping"}]',
        "[]",
        "[" * 100_000,
        # Ids and shapes that are none.
        '{"id":true,"method":"tools/call","params":{"name":"look"}}',
        '{"id":1.5,"method":"tools/call","params":{"name":"look"}}',
        '{"id":{},"method":"tools/call","params":{"name":"look"}}',
        '{"id":1,"method":"tools/call","params":["look"]}',
        '{"id":1,"method":"tools/call","params":{"name":["look"]}}',
        '{"id":1,"method":"tools/call","params":{"name":"look","arguments":"x"}}',
        '{"id":1,"method":["tools/call"],"params":{"name":"erase"}}',
        "7",
        "null",
    ],
)  # fmt: skip
def test_what_the_server_may_read_otherwise_never_reaches_it(gate: Gate, text: str) -> None:
    sent = gate.from_client(text.encode() + b"\n")

    assert not sent.to_server
    assert json.loads(sent.to_client)["error"]["code"] in (-32700, -32600)


def test_a_call_without_an_id_does_not_reach_the_server(gate: Gate) -> None:
    message = call("look", {})
    del message["id"]

    assert gate.from_client(line(message)) == Sent()


def test_bytes_that_are_no_text_are_refused(gate: Gate) -> None:
    assert not gate.from_client(HIDDEN.encode().replace(b"erase", b"\xff")).to_server


def test_a_list_of_tools_loses_those_that_can_never_be_allowed(gate: Gate) -> None:
    tools = [{"name": name, "x": 1.50} for name in ("look", "erase", "shell")] + [{"odd": 1}, 7]
    listed = {"jsonrpc": "2.0", "id": 7, "result": {"tools": tools, "nextCursor": "n"}}

    assert gate.from_server(line(listed)) == Sent(to_client=line(listed))  # nobody asked
    gate.from_client(line({"jsonrpc": "2.0", "id": 7, "method": "tools/list"}))
    other = line({"jsonrpc": "2.0", "id": "7", "result": {"tools": tools}})
    assert gate.from_server(other) == Sent(to_client=other)
    found = result(gate.from_server(line(listed)).to_client)
    assert found == {"tools": [tools[0], tools[2]], "nextCursor": "n"}


# --- resources and prompts ----------------------------------------------------------

READING = """\
root main
agent main {
    allow look, read_resource(uri:notes://day/*), get_prompt(review)
    ask   read_resource(uri:notes://today)
    deny  read_resource(uri:notes://day/secret*)
}
"""


def reading(folder: Path, text: str = READING, **content: str | None) -> Gate:
    (folder / "reading.policy").write_text(text)
    guard = Guard(policy.load(folder).chain("main"))
    return Gate(guard, ContentGate(guard, **content))


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


GRANTED = [
    request("resources/read", uri="notes://day/1"),
    request("resources/subscribe", uri="notes://day/1"),
    request("prompts/get", name="review", arguments={"what": "x"}),
    request("completion/complete", ref={"type": "ref/prompt", "name": "review"}, argument={}),
    request("completion/complete", ref={"type": "ref/resource", "uri": "x://{a}"}, argument={}),
]
DENIED = [
    request("resources/read", uri="notes://day/secret"),
    request("resources/read", uri="NOTES://Day/secret"),
    request("resources/read", uri="other://day/1"),
    request("resources/read", uri="notes://today"),  # asked for, of a client that cannot ask
    request("resources/subscribe", uri="file:///etc/passwd"),
    request("prompts/get", name="other"),
    request("completion/complete", ref={"type": "ref/prompt", "name": "other"}, argument={}),
]


@pytest.mark.parametrize("message", GRANTED)
def test_a_resource_or_a_prompt_that_is_granted_passes(tmp_path: Path, message: Any) -> None:
    text = line(message)

    assert reading(tmp_path).from_client(text) == Sent(to_server=text)


@pytest.mark.parametrize("message", DENIED)
def test_a_resource_or_a_prompt_that_is_denied_does_not_reach_the_server(
    tmp_path: Path, message: Any
) -> None:
    sent = reading(tmp_path).from_client(line(message))

    assert not sent.to_server
    error = json.loads(sent.to_client)["error"]
    assert error["code"] == -32000
    assert "denied" in error["message"] or "not approved" in error["message"]


@pytest.mark.parametrize("message", [*GRANTED, *DENIED])
def test_a_policy_without_rules_for_them_denies_both(gate: Gate, message: Any) -> None:
    assert not gate.from_client(line(message)).to_server


@pytest.mark.parametrize(
    "message",
    [
        request("resources/read", uri="notes://day/1", URI="file:///etc/passwd"),
        request("resources/read", uri=["notes://day/1"]),
        request("resources/read", uri="notes://day/\ud800"),
        request("resources/read"),
        request("prompts/get", name="review", Name="other"),
        request("completion/complete", ref={"type": "ref/other", "name": "review"}),
        request("completion/complete", ref={"type": "ref/prompt", "name": "review", "Name": "x"}),
        [request("resources/read", uri="notes://day/1")],
        {"id": True, **{k: v for k, v in GRANTED[0].items() if k != "id"}},
    ],
)
def test_what_may_name_another_resource_never_reaches_the_server(
    tmp_path: Path, message: Any
) -> None:
    sent = reading(tmp_path).from_client(line(message))

    assert not sent.to_server
    assert json.loads(sent.to_client)["error"]["code"] == -32600


def test_a_resource_that_is_asked_for_is_put_to_the_client(tmp_path: Path) -> None:
    gate = reading(tmp_path)
    text = line(request("resources/read", uri="notes://today"))
    gate.from_client(initialize({"elicitation": {}}))
    for given, passes in (
        ({"action": "accept", "content": {"allow": True}}, True),
        ({"action": "decline"}, False),
    ):
        question = json.loads(gate.from_client(text).to_client)
        assert "notes://today" in question["params"]["message"]
        sent = gate.from_client(answer(question, **given))
        assert sent.to_server == (text if passes else b"")
        assert passes or "not approved" in json.loads(sent.to_client)["error"]["message"]
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    sent = gate.from_client(line(request("resources/read", uri="notes://today", _meta=meta)))
    assert "not approved" in json.loads(sent.to_client)["error"]["message"]


def test_lists_lose_what_can_never_be_granted(tmp_path: Path) -> None:
    gate = reading(tmp_path)
    uris = ["notes://day/1", "notes://day/secret", "notes://today", "x://y"]
    kinds: dict[str, tuple[str, list[Any], list[Any]]] = {
        "resources/list": (
            "resources",
            [*({"uri": uri} for uri in uris), {"odd": 1}],
            [{"uri": uris[0]}, {"uri": uris[2]}],
        ),
        "prompts/list": ("prompts", [{"name": "review"}, {"name": "x"}], [{"name": "review"}]),
        "resources/templates/list": ("resourceTemplates", [{"x": "a"}], [{"x": "a"}]),
    }
    nothing = reading(tmp_path, "root main\nagent main { allow look }\n")
    passing = reading(tmp_path, "agent main { allow look }\n", resources=None, prompts=None)
    for method, (key, listed, left) in kinds.items():
        told = line({"jsonrpc": "2.0", "id": 1, "result": {key: listed}})
        for each, kept in ((gate, left), (nothing, []), (passing, listed)):
            each.from_client(line(request(method)))
            assert result(each.from_server(told).to_client) == {key: kept}


# --- what is asked for --------------------------------------------------------------


def asked(gate: Gate) -> dict[str, Any]:
    sent = gate.from_client(line(call("send", {"to": "bob"})))
    assert not sent.to_server
    question = json.loads(sent.to_client)
    assert question["method"] == "elicitation/create"
    assert "bob" in question["params"]["message"]
    return dict(question)


def answer(question: dict[str, Any], **given: Any) -> bytes:
    return line({"jsonrpc": "2.0", "id": question["id"], "result": given})


@pytest.mark.parametrize("capability", [{}, {"form": {}}, {"form": {}, "url": {}}])
def test_an_asked_call_is_put_to_the_client_and_passes_when_it_is_approved(
    gate: Gate, capability: dict[str, Any]
) -> None:
    gate.from_client(initialize({"elicitation": capability}))
    yes = answer(asked(gate), action="accept", content={"allow": True})

    assert gate.from_client(yes) == Sent(to_server=line(call("send", {"to": "bob"})))
    # Once: the same answer again is one to a question of the server.
    assert gate.from_client(yes) == Sent(to_server=yes)


@pytest.mark.parametrize(
    "given",
    [
        {"action": "decline"},
        {"action": "cancel"},
        {"action": "accept"},
        {"action": "accept", "content": {"allow": False}},
        {"action": "accept", "content": {"allow": "true"}},
        {"action": "Accept", "content": {"allow": True}},
    ],
)
def test_no_other_answer_approves(gate: Gate, given: dict[str, Any]) -> None:
    gate.from_client(initialize({"elicitation": {}}))
    sent = gate.from_client(answer(asked(gate), **given))

    assert not sent.to_server
    assert json.loads(sent.to_client)["id"] == 1
    assert "not approved" in result(sent.to_client)["content"][0]["text"]


def test_an_error_in_the_place_of_an_answer_does_not_approve(gate: Gate) -> None:
    gate.from_client(initialize({"elicitation": {}}))
    question = asked(gate)
    error = {"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "no"}}

    assert "not approved" in str(result(gate.from_client(line(error)).to_client))


def test_a_call_that_was_cancelled_meanwhile_does_not_run(gate: Gate) -> None:
    gate.from_client(initialize({"elicitation": {}}))
    question = asked(gate)
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}

    gate.from_client(line(cancelled))
    late = answer(question, action="accept", content={"allow": True})
    assert b"tools/call" not in gate.from_client(late).to_server


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}, {"elicitation": None}])
def test_a_client_that_cannot_ask_has_the_call_denied(
    gate: Gate, capabilities: dict[str, Any]
) -> None:
    gate.from_client(initialize(capabilities))
    sent = gate.from_client(line(call("send", {"to": "bob"})))

    assert not sent.to_server
    assert "not approved" in str(result(sent.to_client))


def modern(to: str, *, elicits: bool = True, **more: Any) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}} if elicits else {},
    }
    return call("send", {"to": to}, 3, _meta=meta, **more)


def test_since_2026_a_question_takes_the_place_of_a_result(gate: Gate) -> None:
    first = result(gate.from_client(line(modern("bob"))).to_client)
    yes = {"agent-policy": {"action": "accept", "content": {"allow": True}}}
    state = first["requestState"]

    assert first["resultType"] == "input_required"
    assert "bob" in first["inputRequests"]["agent-policy"]["params"]["message"]
    sent = gate.from_client(line(modern("bob", inputResponses=yes, requestState=state)))
    assert json.loads(sent.to_server) == modern("bob")
    refused = [
        modern("eve", inputResponses=yes, requestState=state),
        modern("bob", inputResponses=yes),
        modern("bob", inputResponses=yes, requestState="policy:x"),
        modern("bob", inputResponses={"agent-policy": {"action": "decline"}}, requestState=state),
        modern("bob", elicits=False),
    ]
    for message in refused:
        sent = gate.from_client(line(message))
        assert not sent.to_server
        assert result(sent.to_client)["resultType"] == "complete"
        assert "not approved" in str(result(sent.to_client))


def test_an_exception_in_the_checker_denies() -> None:
    gate = Gate(Guard(Broken()))
    sent = gate.from_client(line(call("look", {})))

    assert not sent.to_server
    assert "could not be asked" in str(result(sent.to_client))


def test_an_exception_anywhere_else_refuses(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> object:
        raise RuntimeError

    monkeypatch.setattr(Guard, "check", broken)
    sent = gate.from_client(line(call("look", {})))
    assert not sent.to_server
    assert json.loads(sent.to_client)["id"] == 1


# --- the command --------------------------------------------------------------------

SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    with open("seen", "a") as seen:
        seen.write(message["method"] + " " + str(message.get("params", {}).get("name")) + "\\n")
    if message["method"] == "die":
        sys.exit(7)
    tools = [{"name": "look"}, {"name": "erase"}]
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": tools}}), flush=True)
"""


class Proxy:
    """The command in front of a server that writes down what it sees."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        (folder / "server.py").write_text(SERVER)
        (folder / "team.policy").write_text(TEAM)
        root = Path(__file__).parents[2]
        self.process = subprocess.Popen(
            [*(sys.executable, "-m", "policy", "mcp-proxy", *options)]
            + ([] if "--" in options else ["--", sys.executable, "server.py"]),
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(root)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def ask(self, message: Any) -> Any:
        self.process.stdin.write(line(message))
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self) -> tuple[int, str]:
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors.decode()

    @property
    def seen(self) -> list[str]:
        file = self.folder / "seen"
        return file.read_text().splitlines() if file.exists() else []


def test_the_command_stands_between_a_client_and_a_server(tmp_path: Path) -> None:
    proxy = Proxy(tmp_path, "--chain", "main>explore")

    listed = proxy.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert listed["result"]["tools"] == [{"name": "look"}]
    assert proxy.ask(call("look", {}, 2))["id"] == 2
    assert proxy.ask(call("send", {}, 3))["result"]["isError"]
    assert proxy.end()[0] == 0
    assert proxy.seen == ["tools/list None", "tools/call look"]


def test_the_status_of_the_command_is_that_of_the_server(tmp_path: Path) -> None:
    proxy = Proxy(tmp_path, "--chain", "main")
    proxy.process.stdin.write(line({"jsonrpc": "2.0", "id": 1, "method": "die"}))
    proxy.process.stdin.flush()

    # The client sends nothing more, and does not end either.
    assert proxy.process.wait(60) == 7
    proxy.end()


def test_the_tools_of_a_server_have_the_names_that_hosts_give_them(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    text = "root main\nagent main { allow mcp__box__look }\n"
    (tmp_path / "policies/x.policy").write_text(text)
    proxy = Proxy(tmp_path, *"--chain main --server box --policy policies".split())

    assert "tools" in proxy.ask(call("look", {}))["result"]
    told = proxy.ask(call("erase", {}))["result"]["content"][0]["text"]
    assert "`erase`" in told
    assert "Tools that may be called: `look`" in told
    proxy.end()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--chain", "main>nobody"), "`nobody` may not be started here"),
        (("--chain", "nobody"), "there is no agent `nobody`"),
        (("--chain", "main", "--policy", "missing"), "missing"),
        (("--chain", "main", "--"), "expected the command"),
        (("--chain", "main", "--", "/no/such/server"), "cannot be started"),
        ((), "--chain"),
    ],
)
def test_without_a_chain_a_policy_or_a_server_nothing_is_started(
    tmp_path: Path,
    options: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "team.policy").write_text(TEAM)
    monkeypatch.chdir(tmp_path)
    command = [] if "--" in options else ["--", sys.executable, "-c", "raise SystemExit(9)"]

    assert run_main(["mcp-proxy", *options, *command]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert not captured.out


def run_main(arguments: list[str]) -> object:
    try:
        return main(arguments)
    except SystemExit as end:
        return end.code


def test_a_policy_that_cannot_be_read_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.policy").write_text("root main\nagent main { allow Bash( }\n")
    (tmp_path / "team.policy").write_text(TEAM)
    monkeypatch.chdir(tmp_path)

    for chain in ("main", "other"):
        server = ["--", sys.executable, "-c", "raise SystemExit(9)"]
        assert run_main(["mcp-proxy", "--chain", chain, "--policy", "other.policy", *server]) == 2
        assert "other.policy" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_proxy_that_is_killed_takes_the_way_to_the_server_with_it(tmp_path: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        proxy = Proxy(tmp_path, "--chain", "main")
        proxy.ask(call("look", {}))
        proxy.process.send_signal(number)
        assert proxy.process.wait(60) != 0
        assert proxy.process.stdout.read() == b""  # the server has ended too
        proxy.end()


# --- the real library ---------------------------------------------------------------

FASTMCP = """
from fastmcp import FastMCP
server = FastMCP("server")

@server.tool
def look() -> str:
    return "seen"

@server.tool
def send(to: str) -> str:
    open("sent", "a").write(to)
    return "sent"

@server.tool
def erase() -> str:
    open("sent", "a").write("erased")
    return "erased"

server.run(show_banner=False)
"""


class TestWithFastMCP:
    pytestmark = runtime("'.[fastmcp]'", "fastmcp")

    @pytest.mark.parametrize(
        ("era", "approves"), [("legacy", True), ("2026-07-28", False), ("auto", True)]
    )
    def test_a_client_and_a_server_do_not_notice_it(
        self, tmp_path: Path, era: str, approves: bool
    ) -> None:
        import asyncio

        from fastmcp import Client
        from fastmcp.client.transports import StdioTransport

        (tmp_path / "server.py").write_text(FASTMCP)
        (tmp_path / "team.policy").write_text(TEAM)

        async def answer(message: str, kind: Any, params: Any, context: Any) -> Any:
            return {"allow": approves}

        command = [
            "-m",
            "policy",
            "mcp-proxy",
            "--chain",
            "main",
            "--",
            sys.executable,
            "server.py",
        ]
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

        async def run() -> list[Any]:
            way = StdioTransport(sys.executable, command, cwd=str(tmp_path), env=env)
            async with Client(way, mode=era, elicitation_handler=answer) as client:
                names = [tool.name for tool in await client.list_tools()]
                calls = [("look", {}), ("erase", {}), ("send", {"to": "bob"})]
                found = [
                    await client.call_tool(name, given, raise_on_error=False)
                    for name, given in calls
                ]
                return [names, *((one.is_error, one.content[0].text) for one in found)]

        names, look, erase, send = asyncio.run(asyncio.wait_for(run(), 60))
        assert names == ["look", "send"]
        assert look == (False, "seen")
        assert erase[0]
        assert "no rule grants it" in erase[1]
        assert send[0] is not approves
        sent = tmp_path / "sent"
        assert (sent.read_text() if sent.exists() else "") == ("bob" if approves else "")
