"""Pikuri: hosts, personas, pools, workspaces, confirmers and the trifecta."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import policy
from policy.analysis import catalogue
from policy.analysis.diff import diff_workspaces
from policy.cli import main
from policy.cli.report.terminal import PageLayout, terminal
from policy.cli.report.words import finding_item
from policy.core.effect import Effect
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts import pikuri
from policy.hosts.fields import HostError, HostErrors
from policy.hosts.pikuri.host import (
    NONE,
    TOOLS,
    AgentNode,
    AllowAll,
    Confirmer,
    Destination,
    Filesystem,
    Host,
    Payload,
    Persona,
    PersonaSet,
    PikuriProfile,
    Tool,
    TrifectaLegs,
    TrifectaVerdict,
    Untrusted,
    available_agents,
    bundled,
    configure,
    confirmation,
    read_host,
    trifecta,
    walk,
)
from policy.hosts.workspace import load_tree
from tests.conftest import FIXTURES
from tests.underline import assert_underlines

READ, GREP, FETCH = Tool("read"), Tool("grep"), Tool("fetch", sub_agents_only=True)


def host(*registrations, **more) -> Host:
    return Host("host", registrations, **more)


# --- personas (P3 to P8, P22 to P29, P33) ------------------------------------------------


def test_p3_p4_p8_p28_a_persona_is_a_frozen_record_of_known_fields() -> None:
    persona = Persona("m", tool_names=["read"])

    assert persona.tool_names == ("read",)
    with pytest.raises(AttributeError):
        persona.name = "x"
    with pytest.raises(TypeError):
        Persona("m", tools=["read"])
    for bad in ({"name": ""}, {"name": "m", "max_steps": 0}, {"name": "m", "tool_names": "read"}):
        with pytest.raises(HostError):
            Persona(**bad)


def test_p5_p7_p20_p33_its_prompt_and_its_budget_change_no_decision() -> None:
    loud = Persona("m", "describes", ("read",), "prompt", 99)
    one, two = (
        host(READ, PersonaSet((persona,))) for persona in (loud, Persona("m", tool_names=("read",)))
    )

    assert loud.replaces_parent
    assert loud.fresh_context
    assert loud.returns == "final_message"
    tables = [pikuri.host.declared_reading(h, configure(h)).tables for h in (one, two)]
    assert tables[0] == tables[1]


def test_p6_names_are_exact_and_none_is_no_tool() -> None:
    with pytest.raises(HostErrors):
        configure(host(Tool("Read"), PersonaSet((Persona("m", tool_names=("read",)),))))
    done = configure(host(READ, PersonaSet((Persona("m"),))))
    assert done.tools_of("m") == ()


def test_p22_p23_p29_bundled_personas_by_version() -> None:
    old, new = bundled(PikuriProfile.of("0.0.7")), bundled()

    assert old["FILE_MINER"].tool_names == ("read", "grep", "glob")
    assert new["FILE_MINER"].tool_names == ("file_list", "read", "grep", "glob")
    assert new["RESEARCHER"].tool_names == ("web_search", "web_scrape", "fetch")
    assert (new["FILE_MINER"].max_steps, new["RESEARCHER"].max_steps) == (30, 20)
    assert new["FILE_MINER"].system_prompt == "persona-file-miner"
    assert bundled(PikuriProfile.of("0.0.3")) == {}


def test_p24_p25_bundled_personas_exclude_what_they_are_for() -> None:
    for version in ("0.0.4", "0.0.7", "0.1.0"):
        for name, persona in bundled(PikuriProfile.of(version)).items():
            assert set(TOOLS["excluded"][name]).isdisjoint(persona.tool_names)


def test_p27_a_persona_needs_no_tool_to_be_defined() -> None:
    assert Persona("m", tool_names=("not_there",)).tool_names == ("not_there",)


# --- hosts (P1, P9 to P20, P32, P35 to P39, P41, P55) ----------------------------------------


def test_p9_p10_p11_one_bad_persona_stops_the_host_and_every_mistake_is_reported() -> None:
    bad = PersonaSet((Persona("a", tool_names=("x", "read")), Persona("b", tool_names=("y",))))

    with pytest.raises(HostErrors, match="names `x`") as caught:
        configure(host(READ, bad))

    assert [error.kind for error in caught.value.errors] == ["unknown_tool_name"] * 2
    assert "`read`" in caught.value.errors[0].help


def test_p12_a_host_leaves_out_what_it_cannot_serve() -> None:
    assert configure(host(READ)).personas == ()


def test_p13_the_order_of_registrations_counts() -> None:
    personas = PersonaSet((Persona("m", tool_names=("grep",)),))

    assert configure(host(GREP, personas)).personas
    with pytest.raises(HostErrors):
        configure(host(personas, GREP))


def test_p14_p17_the_tool_that_starts_agents_comes_last_and_no_persona_may_name_it() -> None:
    assert configure(host(READ)).callable == ("read",)
    done = configure(host(READ, PersonaSet((Persona("m"),))))
    assert done.callable == ("read", "agent")
    with pytest.raises(HostErrors):
        configure(
            host(
                READ,
                PersonaSet((Persona("m"),)),
                PersonaSet((Persona("n", tool_names=("agent",)),)),
            )
        )


def test_p15_p18_the_personas_are_listed_and_each_host_names_the_tool_that_starts_agents() -> None:
    done = configure(host(PersonaSet((Persona("m", "mines"), Persona("n", "reads")))))

    assert available_agents(done) == "m: mines\nn: reads"
    assert (TOOLS["spawning"]["pikuri"], TOOLS["spawning"]["claude-code"]) == ("agent", "Task")


def test_p37_a_name_is_there_once_in_a_host() -> None:
    with pytest.raises(HostErrors) as caught:
        configure(host(PersonaSet((Persona("m"), Persona("m")))))
    assert caught.value.kind == "duplicate_persona"
    with pytest.raises(HostErrors):
        configure(host(PersonaSet((Persona("m"),)), PersonaSet((Persona("m"),))))


def test_p16_p32_a_child_starts_no_agent() -> None:
    done = configure(host(READ, PersonaSet((Persona("m"), Persona("n")))))

    with pytest.raises(HostError) as caught:
        done.available(("m", "n"), "read")
    assert caught.value.kind == "no_agent_tool"
    with pytest.raises(HostError) as caught:
        done.available(("plumber",), "read")
    assert caught.value.kind == "unknown_persona"


def test_p35_p36_a_child_is_bound_by_both_pools_and_not_by_its_parent() -> None:
    done = configure(host(READ, FETCH, PersonaSet((Persona("r", tool_names=("fetch",)),))))

    assert done.available(("r",), "fetch")
    assert not done.available((), "fetch")
    assert not done.available(("r",), "read")


NAMES = ["read", "grep", "fetch", "bash"]


@given(
    st.sets(st.sampled_from(NAMES)),
    st.sets(st.sampled_from(NAMES)),
    st.sets(st.sampled_from(NAMES)),
)
def test_p1_p16_a_child_never_gains_beyond_the_pools(
    own: set[str], pool: set[str], named: set[str]
) -> None:
    tools = [
        *(Tool(n) for n in sorted(own)),
        *(Tool(n, sub_agents_only=True) for n in sorted(pool - own)),
    ]
    chosen = tuple(sorted(named & (own | pool)))
    text = "register:\n" + "".join(
        f"  - {'sub_agent_tool' if t.sub_agents_only else 'tool'}: {t.name}\n" for t in tools
    )
    text += f"  - personas: [{{name: p, tool_names: [{', '.join(chosen)}]}}]\n"
    workspace = load_tree(Memory({"pikuri.host.yaml": text}), front_ends=(pikuri,))

    for reading, tool in itertools.product(("attenuated", "enforced"), NAMES):
        chain = workspace.chain("host", "p", reading=reading)
        has = chain.decide(tool, {"path": "x", "command": "x"}).effect is not Effect.DENY
        assert has is (tool in chosen)


# --- host files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "underlined", "message"),
    [
        ("", "", "expected keys and values, found null"),
        ("registre: []\n", "registre", "unknown field `registre`"),
        ("register: 5\n", "5", "invalid type at `register`: expected a list"),
        ("register: [5]\n", "5", "invalid type at `register[0]`: expected keys and values"),
        ("register: [{}]\n", "{}", "found none"),
        ("register:\n  - tool: read\n    sub_agent_tool: x\n", "sub_agent_tool", "expected one of"),
        ("register: [{tool: 5}]\n", "5", "at `register[0].tool`: expected a string"),
        ("register: [{mcp: [a], legs: {}}]\n", "legs", "unknown field `legs`"),
        (
            "register: [{tool: bash, sandbox: jail}]\n",
            "jail",
            "expected one of `none`, `bubblewrap`",
        ),
        ("register:\n  - personas: [MINER]\n", "MINER", "no bundled persona `MINER`"),
        ("register:\n  - personas: [GIT_RESEARCHER]\n", "GIT_RESEARCHER", "no bundled persona"),
        ("register:\n  - personas: [{}]\n", "{}", "missing field `register[0].personas[0].name`"),
        ("register: [{personas: [{name: m, tool_names: read}]}]", "read", "expected a list"),
        (
            "register: [{personas: [{name: m, tool_names: [1]}]}]",
            "1",
            "tool_names[0]`: expected a string",
        ),
        (
            "register: [{personas: [{name: m, max_steps: 0}]}]",
            "0",
            "expected a whole number from 1",
        ),
        (
            "register: [{personas: [{name: m, max_steps: 1.5}]}]",
            "1.5",
            "expected a whole number from 1",
        ),
        ("pikuri: '0.0.3'\nregister:\n  - personas: []\n", "personas", "0.0.3 has no personas"),
        ("pikuri: one\n", "one", "expected a version"),
        (
            "pikuri: '0.0.7'\nregister: [{personas: [{name: m, needs_temp_workspace: true}]}]\n",
            "true",
            "has no temporary workspaces",
        ),
        ("register:\n  - sub_agent\n", "sub_agent", "personas in place of"),
        ("host: a>b\n", "a>b", "expected a name"),
        ("confirmer: me\n", "me", "expected one of `terminal`, `auto_approve`"),
        ("workspace: all\n", "all", "expected keys and values, or `allow_all`"),
        ("workspace: {readable: []}\n", "{readable: []}", "missing field `workspace.project_root`"),
        ("workspace: {project_root: here}\n", "here", "expected an absolute path"),
        ("workspace: {project_root: /a/../b}\n", "/a/../b", "without `..`"),
        ("workspace: {project_root: /a, links: [x]}\n", "[x]", "expected keys and values"),
        ("register: [{tool: x, legs: {egress: open}}]\n", "{egress: open}", "go together"),
        ("register: [{tool: x, legs: {private: yes}}]\n", "yes", "expected `true` or `false`"),
        (
            "register: [{tool: x, legs: {untrusted: all}}]\n",
            "all",
            "expected one of `none`, `soft`, `hard`",
        ),
    ],
)
def test_p43_a_host_file_with_a_mistake_is_refused_with_its_place(
    text: str, underlined: str, message: str
) -> None:
    with pytest.raises(HostErrors) as caught:
        read_host(Source("pikuri.host.yaml", text))

    assert message in caught.value.message
    assert_underlines(caught.value, underlined)


def test_every_mistake_of_a_host_file_is_reported_at_once() -> None:
    text = """\
host: {}
confirmer: me
workspace: 5
register:
  - tool: 1
  - tool: read
  - tools: x
  - personas:
      - {nam: x, tols: y}
      - name: m
        max_steps: -1
"""
    with pytest.raises(HostErrors) as caught:
        read_host(Source("h", text))

    assert [error.place.line for error in caught.value.errors] == [1, 2, 3, 5, 7, 9, 9, 9, 11]
    assert {error.kind for error in caught.value.errors} == {"host_file"}


def test_p17_the_name_of_the_tool_that_starts_agents_is_reserved() -> None:
    with pytest.raises(HostErrors, match="starts agents") as caught:
        configure(host(Tool("agent")))
    assert caught.value.kind == "reserved_tool"
    with pytest.raises(HostErrors):
        configure(host(Tool("sub_agent"), profile=PikuriProfile.of("0.0.3")))


def test_a_persona_cannot_take_the_place_of_its_host_in_a_chain() -> None:
    with pytest.raises(HostErrors, match="name of the host"):
        configure(host(READ, PersonaSet((Persona("host", tool_names=("read",)),))))


def test_p41_p50_no_persona_may_name_a_tool_of_a_server() -> None:
    found = host(Tool("issues", server="s"), PersonaSet((Persona("m", tool_names=("issues",)),)))

    with pytest.raises(HostErrors) as caught:
        configure(found)
    assert caught.value.kind == "unknown_tool_name"


def test_a_tool_of_both_pools_is_one_tool() -> None:
    both = host(
        READ, Tool("read", sub_agents_only=True), PersonaSet((Persona("m", "", ("read",)),))
    )

    assert configure(both).tools_of("m") == ("read",)


def test_p55_the_old_sub_agent_has_no_tool_to_start_another() -> None:
    old = "pikuri: '0.0.3'\nregister: [{tool: read}, sub_agent, {tool: bash}]\n"
    workspace = load_tree(Memory({"pikuri.host.yaml": old}))

    child = workspace.chain("host", "sub_agent")
    assert child.decide("read", {"path": "x"}).effect is Effect.ALLOW
    assert child.decide("bash", {"command": "x"}).effect is Effect.DENY
    assert child.decide("sub_agent", {"name": "x"}).effect is Effect.DENY


ONE = """\
workspace: {project_root: /p}
register:
  - tool: read
  - tool: bash
    sandbox: none
  - personas: [{name: m, description: a, tool_names: [read], max_steps: 3}]
"""


@pytest.mark.parametrize(
    ("old", "new", "readings"),
    [
        ("description: a", "description: b", set()),
        ("max_steps: 3", "max_steps: 4", set()),
        ("sandbox: none", "sandbox: bubblewrap", set()),
        ("max_steps: 3", "needs_temp_workspace: true", {"enforced"}),
        ("[read]", "[]", {"attenuated", "enforced"}),
    ],
)
def test_p5_p8_p34_p39_p49_a_diff_tells_only_what_changes_decisions(
    old: str, new: str, readings: set[str]
) -> None:
    before, after = (
        load_tree(Memory({"pikuri.host.yaml": text})) for text in (ONE, ONE.replace(old, new))
    )

    changes = diff_workspaces(before, after).changes
    assert {reading for change in changes for reading in change.readings} == readings


# --- workspaces and confirmers (P38, P44 to P47) ----------------------------------------------------


@pytest.mark.parametrize(
    ("path", "read", "write"),
    [
        ("a/b", "allow", "allow"),
        ("a/../b", "allow", "allow"),
        ("../q", "deny", "deny"),
        ("/usr/lib/x", "allow", "deny"),
        ("/usr/library", "deny", "deny"),
        ("/other/x", "allow", "allow"),
        ("link/x", "deny", "deny"),
        ("", "deny", "deny"),
    ],
)
def test_p44_folders_bound_what_may_be_opened(path: str, read: str, write: str) -> None:
    workspace = Filesystem("/p", ("/usr/lib",), ("/other",), {"/p/link": "/etc"})

    assert (str(workspace.decide(path, write=False)), str(workspace.decide(path, write=True))) == (
        read,
        write,
    )


def test_p44_a_table_bounds_paths_as_the_workspace_does() -> None:
    text = "workspace: {project_root: /p, readable: [/usr/lib], links: {/p/link: /etc}}\nregister: [{tool: read}]\n"
    chain = load_tree(Memory({"pikuri.host.yaml": text}), front_ends=(pikuri,)).chain("host")
    workspace = Filesystem("/p", ("/usr/lib",), (), {"/p/link": "/etc"})

    for path in ("a", "../x", "/usr/lib/y", "/etc/passwd", "link/passwd", "a/../../p/b"):
        assert chain.decide("read", {"path": path}).effect is workspace.decide(path, write=False)


def test_p45_p46_p47_who_confirms_and_what() -> None:
    assert AllowAll().decide("/etc/passwd", write=True) is Effect.ALLOW
    assert confirmation(Confirmer.TERMINAL, "bash") is Effect.ASK
    assert confirmation(Confirmer.AUTO_APPROVE, "bash") is Effect.ALLOW
    assert confirmation(Confirmer.TERMINAL, "write", exists=True) is Effect.ASK
    assert confirmation(Confirmer.TERMINAL, "write", exists=True, identical=True) is Effect.ALLOW
    assert confirmation(Confirmer.TERMINAL, "write") is Effect.ALLOW
    assert confirmation(Confirmer.TERMINAL, "edit", exists=True) is Effect.ALLOW


def test_p48_hidden_characters_of_a_tool_are_spelled_out() -> None:
    text = 'register:\n  - personas: [{name: m, tool_names: ["re\\u202ead"]}]\n'
    (finding,) = load_tree(Memory({"pikuri.host.yaml": text}), front_ends=(pikuri,)).findings

    report = terminal([finding_item(finding)], PageLayout())
    assert "\u202e" not in report
    assert "re\\u202ead" in report


NAME = st.sampled_from(["a", "b", "..", "."])
PLACES = st.lists(NAME, min_size=1, max_size=4).map("/".join)
FOLDERS = st.lists(st.sampled_from("ab"), max_size=2).map(lambda names: "/" + "/".join(names))


@given(
    FOLDERS,
    st.lists(FOLDERS, max_size=2),
    st.lists(FOLDERS, max_size=2),
    st.dictionaries(FOLDERS.filter(lambda path: path != "/"), FOLDERS | PLACES, max_size=2),
    st.lists(PLACES | PLACES.map(lambda path: f"/{path}"), min_size=1, max_size=6),
)
def test_p38_p44_tables_and_workspaces_open_the_same_files(
    root: str, readable: list[str], writable: list[str], links: dict[str, str], paths: list[str]
) -> None:
    workspace = Filesystem(root, readable, writable, links)
    own = Host("host", (READ, Tool("edit")), workspace)
    table = pikuri.host.declared_reading(own, configure(own)).tables["host"]

    for path in paths:
        for tool in ("read", "edit"):
            expected = workspace.decide(path, write=tool == "edit")
            assert table.decide(tool, {"path": path}).effect is expected, (tool, path)


def test_p44_links_that_lead_in_a_circle_lead_nowhere() -> None:
    workspace = Filesystem("/p", links={"/p/a": "/p/b", "/p/b": "a"})

    assert workspace.decide("a/x", write=False) is Effect.DENY
    assert workspace.decide("c", write=False) is Effect.ALLOW


# --- the trifecta (P26, P30, P49 to P54) -------------------------------------------------------------


legs = st.builds(
    lambda private, untrusted, egress: TrifectaLegs(private, untrusted, *egress),
    st.booleans(),
    st.sampled_from(list(Untrusted)),
    st.sampled_from(
        [
            (Destination.NO_EGRESS, Payload.NO_EGRESS),
            *itertools.product(list(Destination)[1:], list(Payload)[1:]),
        ]
    ),
)


@given(legs, legs, legs, st.sampled_from(list(Payload)))
def test_p51_p52_the_three_operators_obey_their_laws(
    a: TrifectaLegs, b: TrifectaLegs, c: TrifectaLegs, cap: Payload
) -> None:
    assert a | b == b | a
    assert (a | b) | c == a | (b | c)
    assert a | a == a
    assert a | NONE == a
    assert (a | b).verdict >= a.verdict
    capped = a.cap_payload_review(cap)
    assert capped.cap_payload_review(cap) == capped
    assert capped.verdict <= a.verdict
    assert a.relabel_inbound().relabel_inbound() == a.relabel_inbound()
    assert a.relabel_inbound().untrusted <= a.untrusted


def test_p51_egress_is_said_on_both_axes_or_none() -> None:
    with pytest.raises(HostError):
        TrifectaLegs(destination=Destination.OPEN)


WEB = TrifectaLegs(False, Untrusted.HARD, Destination.OPEN, Payload.UNREVIEWED)
FILES = TrifectaLegs(private=True)


def test_p26_p30_p53_the_report_says_where_three_legs_meet() -> None:
    apart = AgentNode("host", FILES, (AgentNode("web", WEB),))
    together = AgentNode("host", FILES | WEB)
    below = AgentNode("host", children=(AgentNode("both", FILES | WEB),))

    assert walk(together).verdict is TrifectaVerdict.LOUD
    assert (walk(apart).verdict, walk(apart).tree_verdict) == (
        TrifectaVerdict.SILENT,
        TrifectaVerdict.SOFT,
    )
    assert walk(below).worst_path == ("host", "both")


def test_p54_the_smoke_alarm_fails_only_what_asks_it_to(tmp_path, capsys) -> None:
    loud = tmp_path / "pikuri.host.yaml"
    loud.write_text("workspace: {project_root: /p}\nregister: [{tool: read}, {tool: fetch}]\n")
    only = ["--select", "pikuri-trifecta-loud", "--fail-on", "note"]

    assert main(["audit", str(tmp_path)]) == 0
    assert main(["lint", str(tmp_path)]) == 0
    assert main(["lint", str(tmp_path), *only]) == 1
    loud.write_text("workspace: {project_root: /p}\nregister: [{tool: read}]\n")
    assert main(["lint", str(tmp_path), *only]) == 0
    capsys.readouterr()


def test_p50_p54_what_a_server_brings_is_assumed_and_nothing_is_refused() -> None:
    found = host(READ, Tool("issues", server="s"))
    report = trifecta(found, configure(found))

    assert report.verdict is TrifectaVerdict.LOUD
    table = pikuri.host.declared_reading(found, configure(found)).tables["host"]
    assert table.decide("issues", {}).effect is Effect.ALLOW


def test_a_tool_beside_its_legs_is_assumed_by_its_name() -> None:
    old = "pikuri: '0.0.3'\nregister: [{tool: read}, {tool: fetch}, sub_agent]\n"
    found = read_host(Source("h", old))

    assert trifecta(found, configure(found)).tree_verdict is not TrifectaVerdict.SILENT


def test_every_code_has_a_page_and_a_fixture() -> None:
    found = {
        finding.code
        for folder in FIXTURES.glob("pikuri-*")
        for finding in policy.load(folder, front_ends=(pikuri,)).findings
    }

    assert found == {code for code in catalogue.codes() if code.startswith("pikuri-")}


# --- the documentation, and what it covers -----------------------------------------------------

README = (Path(pikuri.__file__).parent / "README.md").read_text("utf-8")


def test_the_file_of_the_documentation_is_read() -> None:
    text = README.partition("```yaml\n")[2].partition("```")[0]
    found = read_host(Source("pikuri.host.yaml", text))

    assert [persona.name for persona in configure(found).personas] == ["reviewer", "reader"]


def test_p53_the_grid_of_the_documentation_is_the_one_that_is_used() -> None:
    rows = dict[tuple[str, str, str], str]()
    table = README.partition("| untrusted | egress | review | verdict |\n")[2]
    for line in table.splitlines()[1:5]:
        *grades, verdict = (cell.strip(" `") for cell in line.strip("|").split("|"))
        rows[tuple(grades)] = verdict
    for untrusted, egress, review in itertools.product(
        list(Untrusted)[1:], list(Destination)[1:], list(Payload)[1:]
    ):
        met = TrifectaLegs(True, untrusted, egress, review)
        given = (untrusted.value, egress.value, review.value)
        documented = {
            verdict
            for row, verdict in rows.items()
            if all(cell in {value, "any"} for cell, value in zip(row, given, strict=True))
        }
        assert documented == {met.verdict.value}, given


def test_p31_p40_p42_p56_what_is_not_modelled_is_documented() -> None:
    for name in ("for_sub_agent", "with_workspace", "on_user_message", "GIT_RESEARCHER"):
        assert name in README
    assert "GIT_RESEARCHER" not in bundled()


# How the upstream code is laid out: nothing to model (P2 its files, P21 its loader).
LAYOUT = {2, 21}


def test_every_row_is_named_by_a_test_or_a_fixture() -> None:
    tests = [name for name in globals() if name.startswith("test_")]
    notes = [path.read_text() for path in FIXTURES.glob("pikuri-*/requests.yaml")]
    rows = {int(row) for name in tests for row in re.findall(r"(?<=_p)(\d+)(?=_)", name)}
    rows |= {int(row) for note in notes for row in re.findall(r"\bP(\d+)\b", note)}

    assert rows | LAYOUT == set(range(1, 57)), sorted(set(range(1, 57)) - rows - LAYOUT)
