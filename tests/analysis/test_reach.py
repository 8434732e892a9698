"""Which positions agents can reach, against every chain tried one by one."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given

from policy.analysis.reach import worklist as module
from policy.analysis.reach.worklist import Reach, reach
from policy.core.effect import Effect
from policy.hosts.project import Project
from policy.tables.chain import Chain, Reading
from tests.effort import examples
from tests.strategies import table
from tests.walks import CALLS, NAMES, SHIFTING, TEAMS, Shifting, team, walks

# (agent, call) -> the greatest effect, and the length of a shortest chain with it.
_Best = dict[tuple[str, int], tuple[Effect, int]]


def _best(chains: Iterable[Chain]) -> _Best:
    best: _Best = {}
    for chain in chains:
        for number, call in enumerate(CALLS):
            key = (chain.names[-1], number)
            effect, length = chain.decide(*call).effect, len(chain.names)
            known = best.get(key)
            if known is None or effect > known[0] or (effect is known[0] and length < known[1]):
                best[key] = (effect, length)
    return best


def _edges(chains: Iterable[Chain]) -> set[tuple[str, str]]:
    return {chain.names[-2:] for chain in chains if len(chain.names) > 1}  # type: ignore[misc]


def _agrees(project: Project, reading: Reading, starts: tuple[str, ...], longest: int) -> None:
    found = reach(project, reading, starts)
    every = list(walks(reading, starts, longest))
    kept = [chain for chains in found.chains.values() for chain in chains]
    assert found.exact
    assert _best(kept) == _best(every)
    assert {(a, b) for a, targets in found.edges.items() for b in targets} == _edges(every)
    by_name = {chain.names: chain for chain in every}
    for chain in kept:  # made without deciding who is asked, where nobody is
        assert chain.links == by_name[chain.names].links
    for agent, chains in found.widest.items():
        tables = [chain.table.use.sets for chain in chains]
        assert not any(a <= b for i, a in enumerate(tables) for b in tables[i + 1 :])
        assert not any(b < a for i, a in enumerate(tables) for b in tables[i + 1 :])
        best = {key: effect for key, (effect, _) in _best(chains).items()}
        assert best == {k: e for k, (e, _) in _best(kept).items() if k[0] == agent}


@given(TEAMS)
@examples(25)
def test_of_all_chains_those_that_matter_are_found_and_each_is_a_shortest(text: str) -> None:
    project = team(text)
    _agrees(project, project.attenuated, project.starts, len(NAMES) + 1)


@given(SHIFTING)
@examples(40)
def test_they_are_found_where_a_host_adds_rights_on_the_way(reading: Shifting) -> None:
    _agrees(team(""), reading, NAMES[:2], reading.deepest + 1)


@pytest.mark.parametrize("most", [1, 2])
@given(data=TEAMS | SHIFTING)
@examples(25)
def test_what_is_beyond_the_bound_is_reported_at_most(most: int, data: str | Shifting) -> None:
    project = team(data if isinstance(data, str) else "")
    reading = project.attenuated if isinstance(data, str) else data
    starts = project.starts if isinstance(data, str) else NAMES[:2]
    found = _bounded(most, project, reading, starts)
    every = list(walks(reading, starts, len(NAMES) + 2))
    kept = _best(chain for chains in found.chains.values() for chain in chains)
    shown = {chain.names for chains in found.chains.values() for chain in chains}
    assert shown <= {chain.names for chain in every}
    for (agent, number), (effect, _) in _best(every).items():
        known = kept.get((agent, number), (Effect.DENY, 0))[0]
        if agent in found.most:
            known = max(known, found.most[agent].decide(*CALLS[number]).effect)
        assert known >= effect
    if found.exact:
        assert kept == _best(every)


def _bounded(
    most: int, project: Project, reading: Reading, starts: Iterable[str], in_all: int = 1_000
) -> Reach:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PER_AGENT", most)
        patch.setattr(module, "_IN_ALL", in_all)
        return reach(project, reading, starts)


DIAMOND = """
root main
agent main {
    allow Task(left, right)
    delegate *
}
agent left {
    inherit
    deny Bash(a *)
}
agent right {
    inherit
    deny Bash(b *)
}
agent end {
    inherit
    deny Task(end)
}
"""


def test_incomparable_positions_are_all_kept_and_the_second_is_left_out_beyond_a_bound() -> None:
    project = team(DIAMOND)
    found = reach(project, project.attenuated)
    assert sorted(map(str, found.chains["end"])) == ["main>left>end", "main>right>end"]
    bounded = _bounded(1, project, project.attenuated, project.starts)
    assert [*map(str, bounded.chains["end"])] == ["main>left>end"]
    assert not bounded.exact
    assert bounded.most["end"].decide("Bash", {"command": "a x"}).effect is Effect.ALLOW


def test_a_longer_chain_with_more_depth_left_is_not_passed_over() -> None:
    project = team(
        "root main\n"
        "agent main {\n    allow Task(short, long)\n    delegate *\n}\n"
        "agent short {\n    allow Task(end)\n    delegate *\n    limit depth 1\n}\n"
        "agent long {\n    allow Task(over)\n    delegate *\n}\n"
        "agent over {\n    allow Task(end)\n    delegate *\n}\n"
        "agent end {\n    allow Task(last)\n    delegate *\n}\n"
        "agent last {\n    allow Read\n}\n"
    )
    found = reach(project, project.attenuated)
    assert [*map(str, found.chains["last"])] == ["main>long>over>end>last"]
    assert [*map(str, found.chains["end"])] == ["main>short>end", "main>long>over>end"]
    assert [*map(str, found.widest["end"])] == ["main>long>over>end"]  # the other starts nobody


def test_a_longer_chain_that_may_hand_on_more_is_not_passed_over() -> None:
    project = team(
        "root main\n"
        "agent main {\n    allow Task(short, long)\n    delegate *\n}\n"
        "agent short {\n    allow Task(end)\n}\n"
        "agent long {\n    allow Task(over)\n    delegate *\n}\n"
        "agent over {\n    allow Task(end)\n    delegate *\n}\n"
        "agent end {\n    allow Task(end)\n    delegate Read, Task\n}\n"
    )
    found = reach(project, project.attenuated)
    assert [*map(str, found.chains["end"])] == ["main>short>end", "main>long>over>end"]
    assert [*map(str, found.widest["end"])] == ["main>short>end"]


def test_a_position_in_another_state_is_not_passed_over_though_it_grants_the_same() -> None:
    same, reads = table("allow Task"), table("allow Task", "allow Read")
    reading = Shifting({"ann": (same,) * 3, "ben": (same,) * 3, "cat": (reads, same, same)})
    found = reach(team(""), reading, ["ann"])
    effects = {len(chain.names): chain.decide("Read", {}).effect for chain in found.chains["cat"]}
    assert effects[2] is effects[3] is Effect.DENY
    assert effects[4] is Effect.ALLOW


def test_an_agent_that_starts_itself_and_one_without_a_definition_end_the_search() -> None:
    project = team("agent loop {\n    allow Task(loop), Task(nobody), Read\n}\n")
    found = reach(project, project.attenuated)
    assert {agent: [*map(str, chains)] for agent, chains in found.chains.items()} == {
        "loop": ["loop"]
    }
    assert found.edges == {"loop": ("loop",)}


def test_every_agent_that_is_reached_keeps_a_chain_however_many_positions_there_are() -> None:
    project = team(DIAMOND)
    found = _bounded(64, project, project.attenuated, project.starts, in_all=1)
    assert {agent: len(chains) for agent, chains in found.chains.items()} == {
        "main": 1,
        "left": 1,
        "right": 1,
        "end": 1,
    }
    assert not found.exact
    assert "end" in found.most
