"""Claims that no chain of a shape can make a call: proven, or refuted by one that can."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.analysis.reach.never import ChainShape, check
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.claims import ClaimVerdict
from policy.hosts.notation import DIALECT, load
from policy.tables.chain import Chain, SpawnDenied
from tests.effort import examples

TEAM = """\
root main

agent main {
    allow     Read, Edit, Task
    ask       Bash(git push *)
    delegate  Read, Edit, Bash, Task
}

agent worker {
    allow     Edit(src/**), Bash(git *), Task
}

agent explore {
    allow     Read
}
"""


def verdict(shape: str, matchers: str, text: str = TEAM) -> ClaimVerdict:
    (project,) = load(Memory({"a.policy": f"{text}\nnever {shape}: {matchers}\n"}))
    assert not [f for f in project.findings if f.severity.value == "error"], project.findings
    (found,) = check(project, DIALECT)
    return found


@pytest.mark.parametrize(
    ("shape", "matcher"),
    [
        ("** > explore", "Edit"),
        ("** > explore", "Bash"),
        ("main", "Bash(git commit *)"),
        ("main > worker > **", "WebFetch"),
        ("worker", "Edit"),  # it starts no chain
        ("** > explore > *", "Read"),  # it starts no agent
        ("**", "Bash(rm *)"),
    ],
)
def test_what_holds_is_proven(shape, matcher):
    assert verdict(shape, matcher).holds is True


@pytest.mark.parametrize(
    ("shape", "matcher", "chain", "effect"),
    [
        ("**", "Edit", "main", Effect.ALLOW),
        ("** > worker", "Edit", "main>worker", Effect.ALLOW),
        ("main", "Bash(git push *)", "main", Effect.ASK),  # asked for may be confirmed
        ("* > *", "Bash(git commit *)", "main>worker", Effect.ALLOW),
        ("** > worker > ** > worker", "Bash(git *)", "main>worker>worker", Effect.ALLOW),
        ("main > worker > explore", "Read", "", Effect.ALLOW),
    ],
)
def test_what_does_not_hold_is_refuted_by_the_shortest_chain(shape, matcher, chain, effect):
    found = verdict(shape, matcher)
    if not chain:  # a worker may not hand on what it may not use itself
        assert found.holds is True
        return
    assert (found.holds, ">".join(found.chain)) == (False, chain)
    assert found.decision is not None
    assert found.decision.effect is effect


def test_a_longer_chain_of_the_shape_is_not_hidden_by_a_shorter_one_of_another():
    # main > worker grants all that main > explore > worker does, and is of another shape.
    text = TEAM.replace("allow     Read\n", "allow     Read, Edit, Task\n")
    found = verdict("** > explore > worker", "Edit(src/a)", text)
    assert (found.holds, found.chain) == (False, ("main", "explore", "worker"))


def test_a_call_of_the_tool_that_is_named_refutes_before_a_command_that_reads_a_file():
    text = "root main\nagent main {\n    allow     Bash(git *), Read\n}\n"
    refuted = verdict("main", "Read", text)
    assert refuted.holds is False
    assert refuted.call is not None
    assert refuted.call[0] == "Read"


def test_each_matcher_is_a_claim_of_its_own_in_the_order_written():
    text = f"{TEAM}\nnever ** > explore: Edit, Read\n\ntest main {{\n    allow     Read\n}}\n"
    (project,) = load(Memory({"a.policy": text}))
    found = list(check(project, DIALECT))
    assert [(each.claim, each.holds) for each in found] == [
        ("never ** > explore: Edit", True),
        ("never ** > explore: Read", False),
        ("main: allow Read", True),
    ]


# --- by brute force ---------------------------------------------------------------------------

AGENTS = ("main", "b", "c")
CALLS = [("Bash", {"command": command}) for command in ("git log", "git push", "npm test")] + [
    ("Read", {"file_path": path}) for path in ("src/a", "docs/a")
]
MATCHERS = {
    "Bash": r"Bash .*",
    "Bash(git *)": r"Bash git .*",
    "Bash(git push)": r"Bash git push",
    "Read(src/**)": r"Read src/.*",
    "Read": r"Read .*",
}
_BODIES = st.lists(
    st.sampled_from(
        [
            *("allow Bash", "allow Bash(git *)", "ask Bash(git push)", "deny Bash(git log)"),
            *("allow Read", "deny Read(docs/**)", "allow Task", "allow Task(b)", "ask Task(c)"),
            *("inherit", "delegate Read, Task", "delegate Bash, Task", "limit depth 1"),
        ]
    ),
    unique=True,
    max_size=6,
)
_SHAPES = st.lists(st.sampled_from(["*", "**", *AGENTS]), min_size=1, max_size=4)


@st.composite
def teams(draw) -> str:
    agents = (
        f"agent {name} {{\n" + "".join(f"    {line}\n" for line in draw(_BODIES)) + "}\n"
        for name in AGENTS
    )
    return "root main\n" + "".join(agents)


def walks(chain: Chain, longest: int) -> Iterator[Chain]:
    yield chain
    if len(chain.links) < longest:
        for name in AGENTS:
            try:
                yield from walks(chain.spawn(name), longest)
            except SpawnDenied:
                continue


def of_shape(names: tuple[str, ...], shape: list[str]) -> bool:
    parts = {"*": r"\w+ ", "**": r"(?:\w+ )*"}
    pattern = "".join(parts.get(link, f"{link} ") for link in shape)
    return re.fullmatch(pattern, "".join(f"{name} " for name in names)) is not None


@examples(80)
@given(teams(), _SHAPES, st.sampled_from(sorted(MATCHERS)))
def test_claims_agree_with_all_walks(text, shape, matcher):
    found = verdict(" > ".join(shape), matcher, text)
    (project,) = load(Memory({"a.policy": text}))
    can = [
        chain.names
        for chain in walks(Chain.start("main", project.attenuated), longest=5)
        if of_shape(chain.names, shape)
        for tool, call in CALLS
        if re.fullmatch(MATCHERS[matcher], f"{tool} {next(iter(call.values()))}")
        and chain.decide(tool, call).effect is not Effect.DENY
    ]
    if can:
        assert found.holds is False
        assert len(found.chain) == min(map(len, can))
    if found.holds is False:
        chain = Chain.start("main", project.attenuated)
        for name in found.chain[1:]:
            chain = chain.spawn(name)
        assert found.call is not None
        assert of_shape(found.chain, shape)
        assert chain.decide(*found.call).effect is not Effect.DENY
    else:
        assert found.holds is True


@given(_SHAPES, st.lists(st.sampled_from(AGENTS), min_size=1, max_size=5))
def test_a_shape_is_the_expression_it_looks_like(shape, names):
    automaton = ChainShape(tuple(shape))
    places = automaton.start()
    for name in names:
        places = automaton.after(places, name)
    assert automaton.accepts(places) is of_shape(tuple(names), shape)
