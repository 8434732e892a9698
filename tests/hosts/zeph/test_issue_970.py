"""What issue 970 asks for: rows 1.1 to 1.16, beside what Zeph as shipped does."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest

import policy
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts import zeph
from policy.hosts.fields import HostError
from policy.hosts.workspace import load_tree
from policy.hosts.zeph.definition import ToolPolicy, ZephProfile, parse
from policy.hosts.zeph.spawning import SpawnContext, SubAgentManager, ZephOptions
from policy.tables.chain import Chain, SpawnDenied

OPTIONS = ZephOptions(ZephProfile.ISSUE_970)
ASKED = SimpleNamespace(HOST=zeph.HOST, load=partial(zeph.load, options=OPTIONS))


def _text(name: str, keys: str = "") -> str:
    return f"---\nname: {name}\ndescription: b\n{keys}---\n"


def _workspace(**keys: str) -> policy.Workspace:
    files = {f".zeph/agents/{name}.md": _text(name, text) for name, text in keys.items()}
    return load_tree(Memory(files), front_ends=[ASKED])


READINGS = pytest.mark.parametrize("reading", ["enforced", "attenuated"])


def _allowed(chain: Chain, *tools: str) -> list[str]:
    return [tool for tool in tools if chain.decide(tool, {}).effect is Effect.ALLOW]


@READINGS
@pytest.mark.parametrize(
    ("lists", "allowed"),
    [
        ("{allow: [shell, web_scrape], deny: [shell, delete_file]}", ["web_scrape"]),
        ("{deny: ['*']}", []),
        ("{allow: [shell], deny: ['*']}", []),
        ("{allow: [], deny: []}", ["shell", "web_scrape", "delete_file"]),
        ("{allow: []}", ["shell", "web_scrape", "delete_file"]),
        ("{allow: [], deny: [shell]}", ["web_scrape", "delete_file"]),
        ("{allow: [Shell]}", ["shell"]),
        ("{deny: [shell], except: [web_scrape]}", ["delete_file"]),
    ],
)
def test_deny_is_asked_first_then_a_list_that_is_not_empty(
    reading: str, lists: str, allowed: list[str]
) -> None:
    chain = _workspace(a=f"tools: {lists}\n").chain("main", "a", reading=reading)
    assert _allowed(chain, "shell", "web_scrape", "delete_file") == allowed


@READINGS
@pytest.mark.parametrize(
    ("keys", "startable"),
    [
        ("", ["a", "explore", "worker"]),
        ("allowed_spawns: null\n", ["a", "explore", "worker"]),
        ("allowed_spawns: []\n", []),
        ("allowed_spawns: [explore, other]\n", ["explore"]),
        ("allowed_spawns: [explore]\ntools: {deny: ['*']}\n", ["explore"]),
        ("allowed_spawns: [explore]\ntools: {allow: [read]}\n", ["explore"]),
    ],
)
def test_an_agent_starts_those_that_it_lists(reading: str, keys: str, startable: list[str]) -> None:
    workspace = _workspace(a=keys, explore="", worker="")
    chain = workspace.chain("main", "a", reading=reading)
    found = []
    for name in ("a", "explore", "worker"):
        try:
            chain.spawn(name)
        except SpawnDenied as denied:
            assert denied.agent == name
            assert (denied.link, denied.reason) == ("a", "rule")
            assert f"`{name}` may not be started here: deny allowed_spawns (a at" in str(denied)
        else:
            found.append(name)
    assert found == startable


def test_every_link_must_allow_a_start_where_only_the_last_is_asked() -> None:
    workspace = _workspace(a="allowed_spawns: [b]\n", b="", c="")
    workspace.chain("main", "a", "b", "c", reading="enforced")
    with pytest.raises(SpawnDenied) as caught:
        workspace.chain("main", "a", "b", "c")
    assert (caught.value.agent, caught.value.link) == ("c", "a")


@pytest.mark.parametrize(
    ("lists", "startable"),
    [
        ("{allow: [read, 'Task(explore, other)']}", ["explore"]),
        ("{allow: [read, Task]}", ["explore", "worker"]),
        ("{allow: [read]}", ["explore", "worker"]),
        ("{deny: [Task(worker)]}", ["explore"]),
        ("{except: [Task]}", []),
    ],
)
def test_entries_for_the_task_are_about_starts(lists: str, startable: list[str]) -> None:
    chain = _workspace(a=f"tools: {lists}\n", explore="", worker="").chain("main", "a")
    found = [n for n in ("explore", "worker") if chain.spawning(n).effect is Effect.ALLOW]
    assert found == startable


def test_a_list_of_starts_and_entries_for_the_task_are_met() -> None:
    keys = "allowed_spawns: [explore, worker]\ntools: {allow: [Task(worker), Task(other)]}\n"
    chain = _workspace(a=keys, explore="", worker="", other="").chain("main", "a")
    names = ("explore", "worker", "other")
    assert [n for n in names if chain.spawning(n).effect is Effect.ALLOW] == ["worker"]


def test_the_manager_refuses_with_an_error_of_its_own() -> None:
    definitions = {
        "a": parse(_text("a", "allowed_spawns: []\n"), ZephProfile.ISSUE_970),
        "b": parse(_text("b")),
    }
    with pytest.raises(HostError) as caught:
        SubAgentManager(definitions).check_spawn("b", parent=definitions["a"])
    assert caught.value.kind == "SpawnDenied"
    assert "agent 'b'" in caught.value.message


def test_zeph_as_shipped_refuses_what_the_issue_asks_for() -> None:
    with pytest.raises(HostError) as caught:
        parse(_text("a", "allowed_spawns: [explore]\n"))
    assert caught.value.kind == "Parse"
    assert "unknown field `allowed_spawns`" in caught.value.message
    with pytest.raises(HostError) as caught:
        parse(_text("a", "tools: {allow: [x], deny: [y]}\n"))
    assert caught.value.kind == "Invalid"
    definition = parse(_text("a", "tools: {allow: [x], deny: [y]}\n"), ZephProfile.ISSUE_970)
    assert definition.tools == ToolPolicy(("x",), ("y",))


def test_what_an_empty_list_means_is_said() -> None:
    workspace = _workspace(a="tools: {allow: []}\n")
    assert [f.code for f in workspace.findings] == ["empty-allow-grants-all"]


@READINGS
def test_nothing_that_is_inherited_is_lost_to_an_empty_list(reading: str) -> None:
    options = ZephOptions(ZephProfile.ISSUE_970, context=SpawnContext(inherited_tool_allowlist=[]))
    definition = parse(_text("a", "tools: {allow: []}\n"), ZephProfile.ISSUE_970)
    project = zeph.project({"a": definition}, options)
    chain = Chain.start("main", project.reading(reading)).spawn("a")
    assert _allowed(chain, "read", "bash") == []
