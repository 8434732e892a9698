"""Conversions: what is lost is reported, that is true, and nothing is granted in silence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.analysis.conversion.converting import Conversion, convert
from policy.analysis.inputs import NOTHING_READ
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.files.opening import open_tree
from policy.files.trees import Memory
from policy.hosts.front_ends import FRONT_ENDS
from policy.hosts.project import Project
from policy.hosts.workspace import load, load_tree
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.table import SPAWN_TOOL
from tests.conftest import FIXTURES
from tests.effort import examples

HOSTS = sorted(front_end.HOST for front_end in FRONT_ENDS)
# Without Claude Code, for which conversion takes longest.
OTHERS = [host for host in HOSTS if host not in ("policy", "claude-code")]

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY

# What each host calls a tool, and its argument; written down apart from the package.
THEIRS = {
    "policy": {},
    "claude-code": {"Task": ("Agent", "subagent_type")},
    "zeph": {
        "Bash": ("bash", "command"),
        "Read": ("read", "file_path"),
        "Write": ("write", "file_path"),
        "Edit": ("edit", "file_path"),
        "Glob": ("find_path", "path"),
        "Grep": ("grep", "path"),
        "LS": ("list_directory", "path"),
        "WebFetch": ("fetch", "url"),
        "WebSearch": ("web_search", "query"),
    },
    "a3s": {
        "Bash": ("bash", "command"),
        "Read": ("read", "file_path"),
        "Write": ("write", "file_path"),
        "Edit": ("edit", "file_path"),
        "Grep": ("search", "path"),
        "LS": ("ls", "path"),
        "WebFetch": ("web_fetch", "url"),
        "WebSearch": ("web_search", "query"),
    },
    "pikuri": {
        "Bash": ("bash", "command"),
        "Read": ("read", "path"),
        "Write": ("write", "path"),
        "Edit": ("edit", "path"),
        "Glob": ("glob", "path"),
        "Grep": ("grep", "path"),
        "LS": ("file_list", "path"),
        "WebFetch": ("fetch", "url"),
        "WebSearch": ("web_search", "query"),
    },
}
# The agents of a host that stand before those of a conversion from another host.
ABOVE = {"zeph": ("main",)}


def in_words_of(host: str, tool: str, call: dict[str, object]) -> tuple[str, dict[str, object]]:
    name, field = THEIRS[host].get(tool, (tool, ""))
    if not field or len(call) != 1:
        return name, call
    return name, {field: next(iter(call.values()))}


def project_of(files: dict[str, str] | Project, host: str) -> Project:
    if isinstance(files, Project):
        return files
    (found,) = [p for p in load_tree(Memory(files)).projects if p.host == host]
    return found


def chain_of(project: Project, names: tuple[str, ...], reading: str = "enforced") -> Chain | None:
    try:
        chain = Chain.start(names[0], project.reading(reading))
        for name in names[1:]:
            chain = chain.spawn(name)
    except SpawnDenied:
        return None
    return chain


def converted_chain(
    conversion: Conversion, source: Project, target: Project, names: tuple[str, ...]
) -> Chain | None:
    renamed = tuple(conversion.names.get(name, name) for name in names)
    above = ABOVE.get(target.host, ()) if source.host != target.host else ()
    return chain_of(target, (*above, *renamed))


def all_chains(project: Project, agents: list[str], depth: int) -> Iterator[tuple[str, ...]]:
    waiting = [(agent,) for agent in project.starts]
    while waiting:
        names = waiting.pop(0)
        if chain_of(project, names) is not None:
            yield names
            if len(names) < depth:
                waiting += [(*names, agent) for agent in agents]


def assert_losses_are_true(conversion: Conversion, source: Project, target: Project) -> None:
    for loss in conversion.losses:
        before = chain_of(source, loss.chain)
        after = converted_chain(conversion, source, target, loss.chain)
        if loss.tool == "Task":
            started = str(loss.call["subagent_type"])
            longer = (*loss.chain, started)
            if not conversion.losses or (longer[0] == started and before is None):
                continue
            said = {key: text for key, text in loss.call.items() if key != "subagent_type"}
            renamed = conversion.names.get(started, started)
            effects = [starting(before, started, said), starting(after, renamed, said)]
            assert effects == [loss.before.effect, loss.after.effect], loss
            continue
        assert before is not None and after is not None
        one = before.decide(*in_words_of(source.host, loss.tool, loss.call))
        other = after.decide(*in_words_of(target.host, loss.tool, loss.call))
        assert (one.effect, other.effect) == (loss.before.effect, loss.after.effect), loss


def starting(chain: Chain | None, agent: str, said: dict[str, object]) -> Effect:
    """What the call gets that starts an agent, and says something beside that."""
    tool, call = chain.reading.spawn_call(agent) if chain else ("", {})
    try:
        link = chain.spawn(agent).links[-1] if chain else None
    except SpawnDenied:
        link = None
    if said and tool == SPAWN_TOOL:  # the other hosts read the agent alone
        decided = chain.decide(tool, {**call, **said}).effect
        refused = link is None and chain.spawning(agent).effect is not DENY
        return DENY if refused else decided
    return DENY if link is None else ASK if link.confirm else ALLOW


_DESCRIBED = {"Task", *(tool for tools in THEIRS.values() for tool in tools)}


def family(tool: str) -> str:
    """Tools that nobody describes are told by one that the same rules speak of."""
    return tool if tool in _DESCRIBED else "another"


def assert_losses_are_complete(
    conversion: Conversion,
    source: Project,
    target: Project,
    calls: list[tuple[str, dict[str, object]]],
    agents: list[str],
) -> None:
    """Every call of a small universe, through every chain up to a depth."""
    unproven = {one.tool for one in conversion.unproven}
    told = {(family(loss.tool), loss.looser) for loss in conversion.losses}
    refused = bool(conversion.refusal())
    for names in all_chains(source, agents, 3):
        before = chain_of(source, names)
        after = converted_chain(conversion, source, target, names)
        assert before is not None
        if after is None:
            assert any(loss.tool == "Task" and not loss.looser for loss in conversion.losses)
            continue
        for tool, call in calls:
            was = before.decide(*in_words_of(source.host, tool, call)).effect
            now = after.decide(*in_words_of(target.host, tool, call)).effect
            if now > was:
                assert refused, (names, tool, call, was, now)
                assert tool in unproven or (family(tool), True) in told, (names, tool, call)
            if now < was and tool not in unproven and "*" not in unproven:
                assert (family(tool), False) in told, (names, tool, call, was, now)
        for agent, said in product(agents, SAID):
            renamed = conversion.names.get(agent, agent)
            was, now = starting(before, agent, said), starting(after, renamed, said)
            if now > was:
                assert refused, (names, agent, said, was, now)
            if now != was:
                assert ("Task", now > was) in told, (names, agent, said, was, now)
        for agent in agents:
            longer = (*names, agent)
            if chain_of(source, longer) is None:
                started = converted_chain(conversion, source, target, longer)
                assert started is None or refused, longer


# --- generated policies -------------------------------------------------------------

_PATHS = ["a", "a/b", "b", "/c", "~/d"]
CALLS: list[tuple[str, dict[str, object]]] = [
    *(("Bash", {"command": text}) for text in ["a", "a b", "b", "a; b", "a > b", "ls", "cat a", "a && a b", "git status"]),
    *((tool, {"file_path": path}) for tool in ("Read", "Edit", "Write") for path in _PATHS),
    *((tool, {"path": path}) for tool in ("Glob", "Grep", "LS") for path in ["a", "/c", "."]),
    *(("WebFetch", {"url": f"https://{host}/"}) for host in ["a.b", "c.a.b", "docs.python.org"]),
    ("WebSearch", {"query": "a"}),
    ("mcp__a__b", {"argument": "a"}),
    ("TodoWrite", {"todos": []}),
    ("NoSuchTool", {"argument": "a"}),
]  # fmt: skip

# What a call that starts an agent may say beside that.
SAID: list[dict[str, object]] = [{}, {"model": "opus"}, {"model": "haiku"}]

_MATCHERS = st.sampled_from(
    [
        "Bash", "Bash(a)", "Bash(a *)", "Bash(b)", "Bash(*)", "Bash(ls *)", "Bash(git status)",
        "Read", "Read(a/**)", "Read(.)", "Read(**/b)", "Read(//c)", "Edit", "Edit(a)", "Write",
        "Write(~/d)", "Glob", "Grep", "Grep(a)", "LS", "WebFetch", "WebFetch(domain:a.b)",
        "WebFetch(domain:*.a.b)", "WebSearch", "mcp__a__*", "mcp__*", "*", "TodoWrite",
        "Task(one)", "Task(two)", "Task", "Task(model:opus)", "Task(model:*)", "Bash(timeout:5)",
    ]
)  # fmt: skip
_STATEMENTS = st.tuples(
    st.sampled_from(["allow", "allow", "allow", "ask", "deny"]),
    st.lists(_MATCHERS, min_size=1, max_size=4),
)


def _agent(name: str, statements, *, inherit: bool, depth: int | None) -> str:
    lines = [f"    {effect} {', '.join(matchers)}" for effect, matchers in statements]
    lines += ["    inherit"] if inherit else []
    lines += [f"    limit depth {depth}"] if depth is not None else []
    return "\n".join([f"agent {name} {{", *lines, "}"])


@st.composite
def policies(draw) -> str:
    agents = [
        _agent(
            name,
            draw(st.lists(_STATEMENTS, max_size=3)),
            inherit=name != "main" and draw(st.booleans()),
            depth=draw(st.sampled_from([None, None, 1])),
        )
        for name in ("main", "one", "two")
    ]
    return "root main\n\n" + "\n\n".join(agents) + "\n"


AGENTS = ["main", "one", "two"]


def check(text: str, host: str) -> None:
    tree = Memory({"team.policy": text})
    (conversion,) = convert(tree, host)
    source = project_of({"team.policy": text}, "policy")
    target = project_of(dict(conversion.files), host)
    assert_losses_are_true(conversion, source, target)
    assert_losses_are_complete(conversion, source, target, CALLS, AGENTS)
    assert not conversion.looser, "where it can say less it does"


@pytest.mark.parametrize("host", OTHERS)
@given(text=policies())
@examples(8)
def test_what_is_lost_is_reported_and_true(host: str, text: str) -> None:
    check(text, host)


@given(text=policies())
@examples(3)
def test_what_is_lost_in_claude_code_is_reported_and_true(text: str) -> None:
    check(text, "claude-code")


@pytest.mark.slow
@pytest.mark.parametrize("host", [host for host in HOSTS if host != "policy"])
@given(text=policies())
@examples(40)
def test_what_is_lost_is_reported_and_true_at_length(host: str, text: str) -> None:
    check(text, host)


# --- generated files of hosts ---------------------------------------------------------


def _some(*texts: str, most: int = 4) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(texts), max_size=most, unique=True)


@st.composite
def claude_files(draw) -> dict[str, str]:
    rules = (
        "Bash(a)", "Bash(a:*)", "Bash(ls *)", "Read(a/**)", "Read(//c)", "Edit(a)", "Edit", "Write",
        "WebFetch(domain:a.b)", "WebFetch", "mcp__a__b", "Grep",
    )  # fmt: skip
    permissions: dict[str, object] = {
        "allow": draw(_some(*rules)),
        "ask": draw(_some(*rules, most=2)),
        "deny": draw(_some(*rules, "mcp__*", "Bash", "Agent(two)", "Agent(model:opus)", most=2)),
        "defaultMode": draw(st.sampled_from(["default", "acceptEdits", "dontAsk"])),
    }
    tools = draw(_some("Read", "Bash", "Edit", "Agent", "mcp__a__b", "WebFetch"))
    return {
        ".claude/settings.json": json.dumps({"permissions": permissions}),
        ".claude/agents/one.md": f"---\nname: one\ndescription: x\ntools: {json.dumps(tools)}\n---\n",
        ".claude/agents/two.md": "---\nname: two\ndescription: x\ndisallowedTools: Bash\n---\n",
    }


@st.composite
def zeph_files(draw) -> dict[str, str]:
    names = ("bash", "read", "edit", "Bash(a *)", "grep", "fetch", "mcp__a__b", "shell", "*")
    files = {}
    for name in ("one", "two"):
        key = draw(st.sampled_from(["allow", "deny"]))
        lists = {key: draw(_some(*names)), "except": draw(_some(*names, most=2))}
        tools = json.dumps(lists)
        files[f".zeph/agents/{name}.md"] = (
            f"---\nname: {name}\ndescription: x\ntools: {tools}\n---\n"
        )
    return files


@st.composite
def a3s_files(draw) -> dict[str, str]:
    rules = (
        "Bash(a:*)", "Bash(a)", "Bash(ls *)", "bash", "read", "Read(a/**)", "write", "search",
        "web_fetch", "mcp__a", "*", "lane:query",
    )  # fmt: skip

    def block(indent: str) -> str:
        lists = {key: draw(_some(*rules, most=3)) for key in ("deny", "allow", "ask")}
        lines = [f"{indent}{key}: {json.dumps(found)}" for key, found in lists.items()]
        default = draw(st.sampled_from(["deny", "ask", "allow"]))
        return "\n".join([*lines, f"{indent}default_decision: {default}", ""])

    session = 'version: "9.0"\npermissions:\n' + block("  ")
    agent = "name: one\ndescription: x\npermissions:\n" + block("  ")
    return {"a3s.session.yaml": session, ".a3s/agents/one.yaml": agent}


@st.composite
def pikuri_files(draw) -> dict[str, str]:
    own = draw(_some("read", "bash", "write", "grep"))
    theirs = [tool for tool in draw(_some("fetch", "edit", "web_search")) if tool not in own]
    lines = ["host: main", draw(st.sampled_from(["workspace: allow_all", "confirmer: terminal"]))]
    lines += ["register:", "  - tool: glob"]
    lines += [f"  - tool: {tool}" for tool in own] + [f"  - sub_agent_tool: {t}" for t in theirs]
    names = json.dumps([*own[:1], *theirs])
    lines += ["  - personas:", f"      - {{name: one, description: x, tool_names: {names}}}"]
    return {"pikuri.host.yaml": "\n".join([*lines, ""])}


FILES = {
    "claude-code": claude_files(),
    "zeph": zeph_files(),
    "a3s": a3s_files(),
    "pikuri": pikuri_files(),
}


def check_files(files: dict[str, str], host: str, to: str) -> None:
    (conversion,) = convert(Memory(files), to)
    source, target = project_of(files, host), project_of(dict(conversion.files), to)
    assert_losses_are_true(conversion, source, target)
    assert_losses_are_complete(conversion, source, target, CALLS, ["one", "two"])
    assert not conversion.looser, "where it can say less it does"


@pytest.mark.parametrize("host", OTHERS)
@given(data=st.data())
@examples(6)
def test_generated_files_of_a_host_become_our_own(host: str, data) -> None:
    check_files(data.draw(FILES[host]), host, "policy")


@pytest.mark.slow
@pytest.mark.parametrize("host", FILES)
@pytest.mark.parametrize("to", HOSTS)
@given(data=st.data())
@examples(5)
def test_generated_files_of_every_host_become_those_of_every_other(
    host: str, to: str, data
) -> None:
    if host != to:
        check_files(data.draw(FILES[host]), host, to)


# --- files of hosts --------------------------------------------------------------------

_SOURCES = {
    "claude-settings-and-agents": "claude-code",
    "command/team": "policy",
    "zeph-memory-widens": "zeph",
    "a3s-allow-before-ask": "a3s",
    "pikuri-two-pools": "pikuri",
}


@pytest.mark.parametrize(
    ("fixture", "host"),
    [
        (fixture, host)
        for fixture, own in _SOURCES.items()
        for host in ("policy", *OTHERS)
        if own != host
    ],
)
def test_files_of_every_host_become_those_of_every_other(fixture: str, host: str) -> None:
    tree = open_tree(str(FIXTURES / fixture))
    for conversion in convert(tree, host):
        source = next(p for p in load_tree(tree).projects if p.title == conversion.source)
        assert not conversion.looser
        target = project_of(dict(conversion.files), host)
        assert_losses_are_true(conversion, source, target)


@pytest.mark.parametrize("fixture", ["command/team", "zeph-memory-widens"])
def test_files_of_other_hosts_become_settings_of_claude_code(fixture: str) -> None:
    tree = open_tree(str(FIXTURES / fixture))
    (conversion,) = convert(tree, "claude-code")
    source = next(p for p in load_tree(tree).projects if p.title == conversion.source)
    assert not conversion.looser
    assert_losses_are_true(conversion, source, project_of(dict(conversion.files), "claude-code"))


@pytest.mark.parametrize("host", OTHERS)
def test_there_and_back_grants_no_more(host: str) -> None:
    text = (FIXTURES / "command/team/team.policy").read_text()
    (there,) = convert(Memory({"team.policy": text}), host)
    (back,) = convert(Memory(dict(there.files)), "policy")
    source = project_of({"team.policy": text}, "policy")
    target = project_of(dict(back.files), "policy")
    for names in all_chains(source, ["main", "explore", "reviewer", "worker"], 3):
        renamed = [there.names.get(name, name) for name in names]
        after = chain_of(target, (*ABOVE.get(host, ()), *(back.names.get(n, n) for n in renamed)))
        before = chain_of(source, names)
        for tool, call in CALLS if after else ():
            assert after.decide(tool, call).effect <= before.decide(tool, call).effect


def test_agents_without_a_tool_stay_what_they_are() -> None:
    header = "---\nname: {}\ndescription: x\ntools: {{allow: [], except: []}}\n---\n"
    files = {f".zeph/agents/{name}.md": header.format(name) for name in ("one", "two")}
    check_files(files, "zeph", "policy")


def test_files_of_the_host_itself_are_not_converted() -> None:
    with pytest.raises(PolicyError, match="no project of another host"):
        convert(Memory({"team.policy": "agent a {}\n"}), "policy")


def test_what_no_table_holds_is_dropped_and_said_so() -> None:
    files = {
        ".claude/settings.json": json.dumps({"permissions": {"allow": ["Read"]}, "hooks": {}}),
        ".claude/agents/x.md": "---\nname: x\ndescription: Does x.\nmodel: opus\n---\nDo x.\n",
    }
    (conversion,) = convert(Memory(files), "policy")
    said = {(one.what, one.agent) for one in conversion.dropped}
    assert ("`hooks` of .claude/settings.json", "") in said
    assert ("`model` of .claude/agents/x.md", "x") in said
    assert ("its description and its prompt", "x") in said
    (conversion,) = convert(Memory(files), "a3s")
    text = conversion.files[".a3s/agents/x.yaml"]
    assert 'description: "Does x."' in text
    assert 'prompt: "Do x."' in text


def test_limits_and_statements_that_are_lost_are_reported() -> None:
    text = (
        "root main\nagent main {\n allow Read\n trust verified\n limit turns 5\n}\n"
        "test main {\n allow Read(a)\n}\n"
    )
    (conversion,) = convert(Memory({"a.policy": text}), "a3s")
    said = {one.what for one in conversion.dropped}
    assert {"`trust verified`", "`limit turns 5`", "1 `test` and `never` statements"} <= said


def test_a_rule_that_the_other_host_reads_more_into_is_made_to_say_less() -> None:
    settings_ = {"permissions": {"allow": ["Bash(git diff:*)", "Bash(npm test)"]}}
    tree = Memory({".claude/settings.json": json.dumps(settings_)})
    (strict,) = convert(tree, "policy")
    assert not strict.looser
    # Claude Code asks where a command reads files elsewhere; nothing here looks at that.
    assert strict.refusal().startswith("refused: claude-code -> policy is not proven")
    assert strict.refusal(unproven=True) == ""
    (loose,) = convert(tree, "policy", allow_looser=True)
    assert "Bash(git diff *)" in next(iter(loose.files.values()))
    assert [loss.tool for loss in loose.looser][:1] == ["Bash"]
    assert loose.refusal() == (
        "refused: claude-code -> policy would grant more; allow that with --allow-looser"
    )
    assert loose.refusal(unproven=True)
    assert loose.refusal(looser=True) == ""


_NO_OPUS = (
    "root main\nagent main {\n allow Read, Task(one)\n deny Task(model:opus)\n}\n"
    "agent one {\n allow Read\n}\n"
)


@pytest.mark.parametrize("host", ["a3s", "claude-code", "pikuri"])
def test_where_a_rule_is_about_more_than_the_agent_no_agent_starts_it(host: str) -> None:
    (strict,) = convert(Memory({"a.policy": _NO_OPUS}), host)
    assert [(loss.call, loss.looser) for loss in strict.losses] == [
        ({"subagent_type": "one"}, False)
    ]
    (loose,) = convert(Memory({"a.policy": _NO_OPUS}), host, allow_looser=True)
    assert [(loss.call, loss.looser) for loss in loose.losses] == [
        ({"subagent_type": "one", "model": "opus"}, True)
    ]


def test_a_start_that_is_lost_is_shown_by_a_model_that_both_hosts_take() -> None:
    text = "root main\nagent main { allow Task(one), Task(model:*) }\nagent one {}\nagent two {}\n"
    check(text, "claude-code")
    (conversion,) = convert(Memory({"team.policy": text}), "claude-code")
    lost = {loss.call["subagent_type"]: loss.call["model"] for loss in conversion.losses}
    assert lost.keys() == {"main", "two"}
    assert set(lost.values()) <= {"sonnet", "opus", "haiku", "fable"}


def test_a_tool_of_a_server_is_granted_without_those_whose_names_begin_with_its_own() -> None:
    rules = {"permissions": {"allow": ["mcp__a__b", "Read"], "defaultMode": "dontAsk"}}
    (conversion,) = convert(Memory({".claude/settings.json": json.dumps(rules)}), "a3s")
    assert conversion.looser == ()
    chain = chain_of(project_of(dict(conversion.files), "a3s"), ("main",))
    names = ("mcp__a__b", "mcp__a__bc", "mcp__a__b__c", "mcp__a__b/c")
    assert [chain.decide(name, {}).effect for name in names] == [ALLOW, DENY, DENY, DENY]


def test_a_name_that_stands_for_a_server_is_made_to_say_less_where_a_tool_of_it_gets_more() -> None:
    files = {
        "a3s.session.yaml": (
            'version: "9.0"\npermissions:\n  allow: ["*"]\n  ask: ["mcp__a"]\n'
            "  default_decision: deny\n"
        ),
        ".a3s/agents/one.yaml": "name: one\ndescription: x\n",
    }
    check_files(files, "a3s", "claude-code")


@pytest.mark.parametrize(
    "session",
    [
        # A server is no tool, so that no rule of Claude Code has to deny its name.
        "deny: [mcp__a]\n  ask: ['*']\n  default_decision: deny",
        "ask: [mcp__a]\n  default_decision: deny",
        # Nobody is asked about a command that is empty, unless a rule speaks of all.
        "deny: ['Bash(a:*)']\n  ask: ['*']\n  default_decision: ask",
        "deny: ['Bash(a:*)']\n  allow: ['Bash(a:*)']\n  default_decision: deny",
    ],
)
def test_names_of_servers_and_empty_commands_get_no_more_in_claude_code(session: str) -> None:
    files = {"a3s.session.yaml": f'version: "9.0"\npermissions:\n  {session}\n'}
    check_files(files, "a3s", "claude-code")


def test_projects_below_folders_go_to_these_folders() -> None:
    rules = json.dumps({"permissions": {"deny": ["Edit"]}})
    tree = Memory({".claude/settings.json": rules, "sub/dir/.claude/settings.json": rules})
    found = convert(tree, "zeph")
    assert {
        path.partition(".zeph")[0] for one in found for path in one.files if "agents" in path
    } == {
        "",
        "sub/dir/",
    }


def test_the_package_offers_it_by_a_path_again_and_again() -> None:
    import policy

    for _ in range(2):
        (conversion,) = policy.convert(FIXTURES / "deny-wins", "zeph")
        assert sorted(conversion.files) == [".zeph/agents/builder.md", "config/default.toml"]


def test_two_hosts_in_one_folder_are_converted_one_at_a_time() -> None:
    tree = open_tree(str(FIXTURES / "mixed"))
    with pytest.raises(PolicyError, match="both come to this file") as raised:
        convert(tree, "zeph")
    assert "--from" in raised.value.help
    found = convert(tree, "zeph", source="a3s")
    assert {one.source for one in found} == {"a3s"}


@pytest.mark.parametrize("names", [("nowhere", ""), ("policy", "nowhere")])
def test_a_host_that_is_none_is_refused(names: tuple[str, str]) -> None:
    with pytest.raises(PolicyError, match="there is no host `nowhere`"):
        convert(Memory({}), names[0], source=names[1])


def test_a_file_that_cannot_be_read_is_not_converted() -> None:
    with pytest.raises(PolicyError):
        convert(Memory({"a.policy": "agnt main {}"}), "zeph")
    with pytest.raises(PolicyError, match=NOTHING_READ):
        convert(Memory({"a.txt": ""}), "zeph")


# --- the command ------------------------------------------------------------------------


@pytest.fixture
def run(capsys, monkeypatch):
    from policy.cli import main

    def call(*arguments: str) -> tuple[int, str, str]:
        status = main(list(arguments))
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return call


def test_what_is_not_proven_names_the_rules_and_the_tools_that_they_are_about() -> None:
    lists = {"allow": ["Bash(git diff:*)"], "deny": ["Read(./.env)"]}
    files = {".claude/settings.json": json.dumps({"permissions": lists})}
    (conversion,) = convert(Memory(files), "policy")
    rules = {one.tool: one.rules for one in conversion.unproven}
    assert rules["Bash"] == rules["Monitor"] == ("allow Bash(git diff:*)",)
    assert rules["Read"] == rules["Edit"] == ("deny Read(./.env)",)
    assert "`allow Bash(git diff:*)` and `deny Read(./.env)`" in conversion.refusal()


def test_one_file_goes_to_standard_output(run, tmp_path: Path) -> None:
    (tmp_path / "pikuri.host.yaml").write_text(
        "host: h\nworkspace: allow_all\nregister:\n  - tool: read\n"
    )
    status, out, err = run("convert", str(tmp_path), "--to", "policy")
    assert (status, out) == (
        0,
        "root h\n\nagent h {\n    allow     Read\n    limit     depth 1\n}\n",
    )
    assert "pikuri -> policy: 1 file; 0 looser" in err


def test_a_refused_conversion_writes_nothing(run, tmp_path: Path) -> None:
    settings_ = tmp_path / "in" / ".claude" / "settings.json"
    settings_.parent.mkdir(parents=True)
    settings_.write_text('{"permissions": {"allow": ["Bash(git diff:*)"]}}')
    arguments = ("convert", str(tmp_path / "in"), "--to", "policy", "-o", str(tmp_path / "out"))
    status, out, err = run(*arguments)
    assert (status, (tmp_path / "out").exists()) == (1, False)
    assert "refused: claude-code -> policy is not proven to grant no more by" in err
    assert "grant no more by `allow Bash(git diff:*)`;" in " ".join(err.split())
    assert "no call that was tried gets more" in " ".join(err.split())
    assert "root main" not in out
    status, out, err = run(*arguments, "--allow-looser", "--format", "json")
    answer = json.loads(out)
    assert (status, answer["refused"]) == (0, None)
    directions = {loss["direction"] for loss in answer["conversions"][0]["losses"]}
    assert {"looser", "stricter"} <= directions
    assert (tmp_path / "out" / "claude-code.policy").read_text().startswith("root main\n")


def test_a_file_that_is_there_is_not_replaced_in_silence(run, tmp_path: Path) -> None:
    (tmp_path / "a.policy").write_text("agent a {\n    allow     Read\n}\n")
    there = tmp_path / "pikuri.host.yaml"
    there.write_text("host: mine\n")
    arguments = ("convert", str(tmp_path / "a.policy"), "--to", "pikuri", "-o", str(tmp_path))
    status, _, err = run(*arguments)
    assert (status, there.read_text()) == (2, "host: mine\n")
    assert "another file of that name" in " ".join(err.split())
    assert run(*arguments, "--force")[0] == 0
    assert load(tmp_path).chain("pikuri:a").decide("read", {"path": "x"}).effect is ALLOW
    assert run(*arguments)[0] == 0, "the same text again replaces nothing"


def test_several_files_are_shown_with_what_is_lost(run) -> None:
    status, out, _ = run("convert", str(FIXTURES / "command/team"), "--to", "a3s")
    assert status == 0
    assert "--- a3s.session.yaml\n" in out
    assert "stricter: the conversion grants less" in out
    status, out, _ = run(
        "convert", str(FIXTURES / "command/team"), "--to", "a3s", "--format", "markdown"
    )
    assert "- **ask** → **deny**  `Bash(git push origin main)`\n" in out


def test_an_agent_whose_name_reads_as_a_parameter_is_called_otherwise_in_our_notation() -> None:
    (conversion,) = convert(FIXTURES / "claude-plugin", "policy")
    assert conversion.names == {"kit:critic": "kit-critic", "kit:helper": "kit-helper"}
    assert (conversion.looser, conversion.unproven, conversion.refusal()) == ((), (), "")
    assert "Task(kit-critic" in conversion.files["claude-code.policy"]
