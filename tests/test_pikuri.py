"""Pikuri: hosts, personas, pools, workspaces, confirmers and the trifecta."""

from __future__ import annotations

import itertools

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import policy
from policy.effect import Effect
from policy.hosts import pikuri
from policy.hosts.pikuri import (
    AllowAll,
    Confirmer,
    Filesystem,
    Host,
    Persona,
    PersonaSet,
    PikuriError,
    PikuriErrors,
    Profile,
    Tool,
    TrifectaLegs,
    available_agents,
    bundled,
    configure,
    confirmation,
    excludes,
    read_host,
    walk,
)
from policy.hosts.pikuri.audit import CODES, trifecta
from policy.hosts.pikuri.errors import Kind
from policy.hosts.pikuri.parameters import Parameter, problems
from policy.hosts.pikuri.personas import EXCLUDED
from policy.hosts.pikuri.trifecta import (
    NONE,
    Contribution,
    Destination,
    Node,
    Payload,
    Untrusted,
    Verdict,
)
from policy.hosts.pikuri.versions import SPAWN_NAMES
from policy.source import Source
from policy.tree import Memory
from policy.workspace import load_tree
from tests.conftest import FIXTURES

READ, GREP, FETCH = Tool("read"), Tool("grep"), Tool("fetch", sub_agents_only=True)


def host(*registrations, **more) -> Host:
    return Host("host", registrations, **more)


# --- personas (P3 to P8, P22 to P29, P33) ------------------------------------------------


def test_p3_p4_p8_p28_a_persona_is_a_frozen_record_of_known_fields() -> None:
    persona = Persona("m", tool_names=["read"])

    assert persona.tool_names == ("read",)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        persona.name = "x"
    with pytest.raises(TypeError):
        Persona("m", tools=["read"])
    for bad in ({"name": ""}, {"name": "m", "max_steps": 0}, {"name": "m", "tool_names": "read"}):
        with pytest.raises(PikuriError):
            Persona(**bad)


def test_p5_p7_p20_p33_what_it_is_told_and_its_budget_change_no_decision() -> None:
    loud = Persona("m", "describes", ("read",), "prompt", 99)
    one, two = (
        host(READ, PersonaSet((persona,))) for persona in (loud, Persona("m", tool_names=("read",)))
    )

    assert loud.replaces_parent
    assert loud.fresh_context
    assert loud.returns == "final_message"
    tables = [pikuri.reading.declared_reading(h, configure(h)).tables for h in (one, two)]
    assert tables[0] == tables[1]


def test_p6_names_are_exact_and_none_is_no_tool() -> None:
    with pytest.raises(PikuriErrors):
        configure(host(Tool("Read"), PersonaSet((Persona("m", tool_names=("read",)),))))
    done = configure(host(READ, PersonaSet((Persona("m"),))))
    assert done.tools_of("m") == ()


def test_p22_p23_p29_bundled_personas_by_version() -> None:
    old, new = bundled(Profile.of("0.0.7")), bundled()

    assert old["FILE_MINER"].tool_names == ("read", "grep", "glob")
    assert new["FILE_MINER"].tool_names == ("file_list", "read", "grep", "glob")
    assert new["RESEARCHER"].tool_names == ("web_search", "web_scrape", "fetch")
    assert (new["FILE_MINER"].max_steps, new["RESEARCHER"].max_steps) == (30, 20)
    assert new["FILE_MINER"].system_prompt == "persona-file-miner"
    assert bundled(Profile.of("0.0.3")) == {}


def test_p24_p25_bundled_personas_exclude_what_they_are_for() -> None:
    for version in ("0.0.4", "0.0.7", "0.1.0"):
        for name, persona in bundled(Profile.of(version)).items():
            assert excludes(persona, EXCLUDED[name])


def test_p27_a_persona_needs_no_tool_to_be_defined() -> None:
    assert Persona("m", tool_names=("not_there",)).tool_names == ("not_there",)


# --- hosts (P1, P9 to P20, P32, P35 to P39, P41, P55) ----------------------------------------


def test_p9_p10_p11_one_bad_persona_stops_the_host_and_every_mistake_is_told() -> None:
    bad = PersonaSet((Persona("a", tool_names=("x", "read")), Persona("b", tool_names=("y",))))

    with pytest.raises(ValueError, match="names `x`") as caught:
        configure(host(READ, bad))

    assert [error.kind for error in caught.value.errors] == [Kind.UNKNOWN_TOOL] * 2
    assert "`read`" in caught.value.errors[0].help


def test_p12_a_host_leaves_out_what_it_cannot_serve() -> None:
    assert configure(host(READ)).personas == ()


def test_p13_the_order_of_registrations_counts() -> None:
    personas = PersonaSet((Persona("m", tool_names=("grep",)),))

    assert configure(host(GREP, personas)).personas
    with pytest.raises(PikuriErrors):
        configure(host(personas, GREP))


def test_p14_p17_the_tool_that_starts_agents_comes_last_and_is_named_by_nobody() -> None:
    assert configure(host(READ)).callable == ("read",)
    done = configure(host(READ, PersonaSet((Persona("m"),))))
    assert done.callable == ("read", "agent")
    with pytest.raises(PikuriErrors):
        configure(
            host(
                READ,
                PersonaSet((Persona("m"),)),
                PersonaSet((Persona("n", tool_names=("agent",)),)),
            )
        )


def test_p15_p18_who_may_be_started_is_told_and_has_a_name_on_each_host() -> None:
    done = configure(host(PersonaSet((Persona("m", "mines"), Persona("n", "reads")))))

    assert available_agents(done) == "m: mines\nn: reads"
    assert (SPAWN_NAMES["pikuri"], SPAWN_NAMES["claude-code"]) == ("agent", "Task")


def test_p37_a_name_is_there_once_in_a_host() -> None:
    with pytest.raises(PikuriErrors) as caught:
        PersonaSet((Persona("m"), Persona("m")))
    assert caught.value.kind is Kind.DUPLICATE_PERSONA
    with pytest.raises(PikuriErrors):
        configure(host(PersonaSet((Persona("m"),)), PersonaSet((Persona("m"),))))


def test_p16_p32_a_child_starts_nobody() -> None:
    done = configure(host(READ, PersonaSet((Persona("m"), Persona("n")))))

    with pytest.raises(PikuriError) as caught:
        done.available(("m", "n"), "read")
    assert caught.value.kind is Kind.NO_AGENT_TOOL
    with pytest.raises(PikuriError) as caught:
        done.available(("plumber",), "read")
    assert caught.value.kind is Kind.UNKNOWN_PERSONA


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
def test_a_child_never_gains_beyond_the_pools(
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
    ("text", "line", "message"),
    [
        ("registre: []\n", 1, "unknown key `registre`"),
        ("register:\n  - tool: read\n    sub_agent_tool: x\n", 2, "expected one of"),
        ("register:\n  - personas: [MINER]\n", 2, "no bundled persona `MINER`"),
        (
            "register:\n  - personas:\n      - name: m\n        tool_names: read\n",
            4,
            "expected a list of",
        ),
        ("pikuri: '0.0.3'\nregister:\n  - personas: []\n", 3, "has no personas"),
        ("register:\n  - sub_agent\n", 2, "personas in place of"),
        ("confirmer: me\n", 1, "expected a confirmer"),
        ("workspace: {project_root: here}\n", 1, "expected an absolute path"),
        ("register:\n  - tool: x\n    legs: {egress: open}\n", 3, "go together"),
        ("host: [\n", 2, ""),
    ],
)
def test_p43_a_host_file_with_a_mistake_is_refused_with_its_place(
    text: str, line: int, message: str
) -> None:
    with pytest.raises(PikuriErrors) as caught:
        read_host(Source("pikuri.host.yaml", text))

    assert message in caught.value.message
    if message:
        assert caught.value.place.line == line


def test_every_mistake_of_a_host_file_is_told_at_once() -> None:
    with pytest.raises(PikuriErrors) as caught:
        read_host(Source("h", "register:\n  - tool: 1\n  - tool: read\n  - tools: x\n"))

    assert [error.place.line for error in caught.value.errors] == [2, 4]


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


def test_p43_every_problem_of_a_call_is_told() -> None:
    parameters = (Parameter("name"), Parameter("mode", required=False, values=("a", "b")))

    assert problems(parameters, {"mode": "c", "x": 1}) == (
        "`name` is missing",
        "`mode` is none of a, b",
        "`x` is not a parameter",
    )
    with pytest.raises(PikuriError):
        Parameter("mode", values=())


def test_p48_hidden_characters_of_a_tool_are_spelled_out() -> None:
    text = 'register:\n  - personas: [{name: m, tool_names: ["re\\u202ead"]}]\n'
    with pytest.raises(PikuriErrors) as caught:
        configure(read_host(Source("h", text)))

    assert "\u202e" not in str(
        load_tree(Memory({"pikuri.host.yaml": text}), front_ends=(pikuri,)).findings[0].place
    )
    assert caught.value.kind is Kind.UNKNOWN_TOOL


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
    with pytest.raises(PikuriError):
        TrifectaLegs(destination=Destination.OPEN)


WEB = TrifectaLegs(False, Untrusted.HARD, Destination.OPEN, Payload.UNREVIEWED)
FILES = TrifectaLegs(private=True)


def test_p26_p30_p53_where_three_legs_meet_is_told_with_the_path() -> None:
    apart = Node(
        "host", (Contribution("read", FILES),), (Node("web", (Contribution("fetch", WEB),)),)
    )
    together = Node("host", (Contribution("read", FILES), Contribution("fetch", WEB)))
    below = Node("host", (), (Node("both", (Contribution("all", FILES | WEB),)),))

    assert walk(together).verdict is Verdict.LOUD
    assert (walk(apart).verdict, walk(apart).tree_verdict) == (Verdict.SILENT, Verdict.SOFT)
    assert walk(below).worst_path == ("host", "both")
    assert "host>both: loud" in walk(below).render()


def test_p50_p54_what_a_server_brings_is_assumed_and_nothing_is_refused() -> None:
    found = host(READ, Tool("issues", server="s"))
    report = trifecta(found, configure(found))

    assert report.verdict is Verdict.LOUD
    table = pikuri.reading.declared_reading(found, configure(found)).tables["host"]
    assert table.decide("issues", {}).effect is Effect.ALLOW


def test_p2_every_finding_of_the_fixtures_is_documented() -> None:
    codes = set()
    for folder in FIXTURES.glob("pikuri-*"):
        codes |= {finding.code for finding in policy.load(folder, front_ends=(pikuri,)).findings}

    assert codes == CODES.keys() - {"pikuri-unused-pool"}
