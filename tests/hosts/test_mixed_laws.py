"""Random files of every host: chains only narrow, and a host that enforces something else is reported."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.analysis.diff import Change, diff_workspaces, paired
from policy.core.decision import Because, Decision
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace, load_tree
from policy.tables.chain import Chain, Reading, SpawnDenied
from policy.tables.table import NOTHING, UNRESTRICTED, Table
from tests.effort import examples
from tests.mixed_files import AGENTS, CALLS, trees

# Why a host grants more, or less, than its files declare along a chain: each is a finding.
WIDENED = {
    "a3s": {
        "a3s-auto-approve",  # what it asks for it approves itself
        "a3s-definition-dropped",
        "a3s-empty-tools",
        "a3s-permissions-replaced",
    },
    "claude-code": {
        "agent-type-list-ignored",
        "pool-not-handed-down",
        "tools-specifier-not-a-filter",
    },
    "pikuri": {"pikuri-temp-workspace"},
    "policy": set(),
    "zeph": {"argument-widened", "not-handed-down", "plan-starts-agents"},
}
NARROWED = {
    "a3s": {"a3s-nobody-asked"},
    "claude-code": {"disallowed-tool-specifier", "tools-specifier-not-a-filter"},
    "pikuri": {"pikuri-temp-workspace"},
    "policy": set(),
    "zeph": {"argument-cut", "dead-star"},
}


def chains(project: Project, reading: Reading) -> Iterator[Chain]:
    """Yield the chains of up to three agents that come about."""
    waiting = [Chain.start(name, reading) for name in project.starts]
    while waiting:
        chain = waiting.pop()
        yield chain
        for agent in AGENTS if len(chain.names) < 3 else ():
            if agent in reading.agents:
                try:
                    waiting.append(chain.spawn(agent))
                except SpawnDenied:
                    continue


def effect(table: Table, call: tuple[str, dict[str, object]]) -> Effect:
    return table.decide(*call).effect


@given(trees())
def test_what_an_agent_may_do_is_what_it_declares_and_its_parent_may_delegate(
    files: dict[str, str],
) -> None:
    for project in load_tree(Memory(files)).projects:
        for chain in chains(project, project.attenuated):
            if len(chain.links) < 2:
                continue
            above, last = chain.links[-2].table, chain.links[-1]
            declared = project.attenuated.tables[last.name]  # type: ignore[attr-defined]
            for call in CALLS[project.host]:
                handed_on = effect(Table(above.delegated), call)
                assert effect(last.table, call) is min(effect(declared, call), handed_on)
                assert effect(Table(last.table.delegated), call) <= handed_on


@examples(8)
@given(trees(), trees(), st.randoms(use_true_random=False))
def test_tables_of_any_hosts_meet_as_a_semilattice(one, other, random) -> None:
    tables = [
        entry.declared
        for files in (one, other)
        for project in load_tree(Memory(files)).projects
        for entry in project.agents.values()
        if entry.name in {*AGENTS, "main", "host"}
    ]
    for _ in range(5):
        a, b, c = (random.choice([*tables, UNRESTRICTED]) for _ in range(3))
        assert a & b == b & a
        assert (a & b) & c == a & (b & c)
        assert a & a == a
        assert a & UNRESTRICTED == a
        assert (a & NOTHING).use == NOTHING.use
        for call in itertools.chain(*CALLS.values()):
            assert effect(a & b, call) is min(effect(a, call), effect(b, call))


def parts(project: Project) -> tuple[bool, bool]:
    """Return whether the host grants more somewhere than is declared, and whether less."""
    attenuated, enforced = (
        {chain.names: chain.table for chain in chains(project, reading)}
        for reading in (project.attenuated, project.enforced)
    )
    more, less = (
        bool(enforced.keys() - attenuated.keys()),
        bool(attenuated.keys() - enforced.keys()),
    )
    for names in attenuated.keys() & enforced.keys():
        for call in CALLS[project.host]:
            declared, done = effect(attenuated[names], call), effect(enforced[names], call)
            more |= done > declared
            less |= done < declared
    return more, less


@given(trees())
def test_a_host_that_enforces_something_else_than_its_files_is_reported(
    files: dict[str, str],
) -> None:
    for project in load_tree(Memory(files)).projects:
        found = {finding.code for finding in project.findings}
        more, less = parts(project)
        # A provider other than a person turns asks into other effects.
        said = project.host == "a3s" and any(
            "confirmation_inheritance" in t for t in files.values()
        )

        assert not more or found & WIDENED[project.host], (project.title, found)
        assert not less or said or found & NARROWED[project.host], (project.title, found)


def test_each_cause_makes_a_difference_by_itself() -> None:
    caused = {
        "a3s-auto-approve": {".a3s/agents/ann.yaml": "{name: ann, description: d, disallowedTools: [bash]}"},
        "a3s-empty-tools": {".a3s/agents/ann.yaml": "{name: ann, description: d, tools: []}",
                            "a3s.session.yaml": "{permissions: {allow: [read]}}"},
        "a3s-permissions-replaced": {".a3s/agents/ann.yaml": "{name: ann, description: d, tools: [read], permissions: {deny: [read]}}"},
        "a3s-definition-dropped": {".a3s/agents/ann.yaml": "{name: ann, description: d, permissions: {ask: [read]}}",
                                   "a3s.session.yaml": "{permissions: {allow: [read]}}"},
        "pool-not-handed-down": {".claude/agents/ann.md": "---\nname: ann\ndescription: d\ntools: Agent\n---\n",
                                 ".claude/agents/bob.md": "---\nname: bob\ndescription: d\n---\n"},
        "tools-specifier-not-a-filter": {".claude/agents/ann.md": "---\nname: ann\ndescription: d\ntools: Bash(git *)\n---\n"},
        "agent-type-list-ignored": {".claude/agents/ann.md": "---\nname: ann\ndescription: d\ntools: Agent(bob)\n---\n"},
        "pikuri-temp-workspace": {"pikuri.host.yaml": "workspace: {project_root: /p}\nregister: [{tool: write}, {personas: [{name: ann, tool_names: [write], needs_temp_workspace: true}]}]\n"},
        "argument-widened": {".zeph/agents/ann.md": "---\nname: ann\ndescription: d\ntools: {allow: ['Bash(git *)']}\n---\n"},
        "plan-starts-agents": {".zeph/agents/ann.md": "---\nname: ann\ndescription: d\npermissions: {permission_mode: plan}\n---\n",
                               ".zeph/agents/bob.md": "---\nname: bob\ndescription: d\n---\n"},
        "not-handed-down": {".zeph/agents/ann.md": "---\nname: ann\ndescription: d\ntools: {deny: [bash]}\n---\n",
                            ".zeph/agents/bob.md": "---\nname: bob\ndescription: d\n---\n"},
    }  # fmt: skip
    assert caused.keys() == set().union(*WIDENED.values())
    for code, files in caused.items():
        (project,) = load_tree(Memory(files)).projects
        assert code in {finding.code for finding in project.findings}, code
        assert parts(project)[0], code


def chain_of(project: Project | None, names: tuple[str, ...], reading: str) -> Chain | None:
    """Return a chain of *project*, or None where it cannot come about."""
    if project is None or (names[0] in project.agents and names[0] not in project.all_starts):
        return None
    try:
        chain = Chain.start(names[0], project.reading(reading))
        for name in names[1:]:
            chain = chain.spawn(name)
    except SpawnDenied:
        return None
    return chain


def shown(decision: Decision) -> tuple[Effect, tuple[Because, ...]]:
    return decision.effect, decision.because


def confirmed(sides: list[Workspace], change: Change, names: tuple[str, ...], reading: str) -> bool:
    """Return whether both sides decide for a chain what *change* says of it."""
    pairs = (pair for pair in paired(*sides) if any(p and p.title == change.project for p in pair))
    found = [chain_of(project, names, reading) for project in next(pairs)]
    if change.what != "rule":
        return [chain is None for chain in found] == [
            change.what == "agent-added",
            change.what == "agent-removed",
        ]
    if found[0] is None or found[1] is None:
        return False
    difference = change.difference
    decisions = [chain.decide(difference.tool, difference.call) for chain in found]
    said = [difference.before, difference.after]
    if names == change.chain and reading == change.readings[0]:
        return [shown(d) for d in decisions] == [shown(d) for d in said]
    return [d.effect for d in decisions] == [d.effect for d in said]


def check_witnesses(one: dict[str, str], other: dict[str, str]) -> None:
    sides = [load_tree(Memory(files)) for files in (one, other)]
    for change in diff_workspaces(*sides).changes:
        assert change.difference.before.effect is not change.difference.after.effect
        for reading in change.readings:
            assert confirmed(sides, change, change.chain, reading), change
        for names in change.also:
            assert any(confirmed(sides, change, names, each) for each in change.readings), change


# A comparison of settings of Claude Code takes seconds: most are made at length alone.
@examples(5)
@given(trees(), trees())
def test_both_sides_decide_the_witness_of_every_change_as_it_says(one, other) -> None:
    check_witnesses(one, other)


@pytest.mark.slow
@examples(40)
@given(trees(), trees())
def test_both_sides_decide_the_witness_of_every_change_of_many_as_it_says(one, other) -> None:
    check_witnesses(one, other)
