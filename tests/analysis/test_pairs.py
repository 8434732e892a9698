"""Chains on two sides at once, against every chain tried one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.analysis.diff import diff_workspaces
from policy.analysis.reach import worklist as module
from policy.analysis.reach.worklist import MANY_CHAINS, ReadingSide, Worklist
from policy.core import values
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.workspace import Workspace, load_tree
from policy.tables.chain import Chain, Reading
from tests.effort import examples
from tests.walks import CALLS, NAMES, SHIFTING, TEAMS, Shifting, team, walks

LONGEST = 6


def effects(chain: Chain | None) -> list[Effect]:
    return [chain.decide(*call).effect if chain else Effect.DENY for call in CALLS]


def check_pairs(*readings: Reading) -> None:
    """Compare pairs with every chain: what one side grants beyond the other some pair shows."""
    starts = NAMES[:1]
    pairs = Worklist(*(ReadingSide(reading, starts) for reading in readings)).run()
    assert pairs.is_whole
    chains = [{each.names: each for each in walks(r, starts, LONGEST)} for r in readings]
    shown = set()
    most = {}
    alone = set()
    for pair in pairs:
        names = pairs.names(pair)
        told = [effects(side.get(names)) for side in chains]
        assert [names in side for side in chains] == [
            pair.before is not None,
            pair.after is not None,
        ]
        for call, (one, other) in enumerate(zip(*told, strict=True)):
            if pair.is_shared and one is not other:
                shown.add((names[-1], call, one < other))
            for which, effect in enumerate((one, other)):
                key = (names[-1], call, which)
                most[key] = max(effect, most.get(key, Effect.DENY))
        if not pair.is_shared:
            alone.add((names[-1], pair.before is None))
    for names in chains[0].keys() | chains[1].keys():
        is_there = [names in side for side in chains]
        told = [effects(side.get(names)) for side in chains]
        if all(is_there):
            for call, (one, other) in enumerate(zip(*told, strict=True)):
                assert one is other or (names[-1], call, one < other) in shown, (names, CALLS[call])
            continue
        which = is_there.index(True)
        assert (names[-1], which == 1) in alone, names
        for call, effect in enumerate(told[which]):
            assert effect <= most[names[-1], call, which], (names, CALLS[call])


@given(TEAMS, TEAMS)
@examples(30)
def test_pairs_of_declared_chains_show_what_every_chain_shows(one: str, other: str) -> None:
    check_pairs(team(one).attenuated, team(other).attenuated)


@values.frozen(eq=False)
class Counting(Shifting):
    """A host that goes by the number of agents in front, and says so."""

    @property
    def by_depth(self) -> object:
        return self.deepest


def counting(reading: Shifting, deepest: int) -> Counting:
    return Counting(reading.tables, deepest, reading.name)


@given(SHIFTING, SHIFTING, st.integers(0, 4), st.integers(0, 4))
@examples(60)
def test_pairs_of_a_host_in_which_nothing_only_narrows_show_what_every_chain_shows(
    one: Shifting, other: Shifting, first: int, second: int
) -> None:
    check_pairs(counting(one, first), counting(other, second))
    check_pairs(counting(one, first), counting(one, second))


# --- what a diff makes of them --------------------------------------------------------


def notation(text: str) -> Workspace:
    return load_tree(Memory({"team.policy": text}))


def test_what_a_chain_loses_is_reported_though_a_shorter_one_keeps_it() -> None:
    before = notation("agent a {\n    allow Task(a), Bash\n}\n")
    after = notation("agent a {\n    allow Task(a), Bash\n    delegate Task(a)\n}\n")
    (change,) = diff_workspaces(before, after).changes
    assert (change.chain, change.direction, change.difference.tool) == (
        ("a", "a"),
        "narrowed",
        "Bash",
    )
    (change,) = diff_workspaces(after, before).changes
    assert (change.chain, change.direction, change.difference.tool) == (
        ("a", "a"),
        "widened",
        "Bash",
    )


def test_chains_that_a_limit_takes_away_are_reported_by_the_call_that_starts_the_last_agent() -> (
    None
):
    text = "root a\nagent a {\n    allow Task, Bash\n    limit depth %d\n}\n"
    (change,) = diff_workspaces(notation(text % 2), notation(text % 1)).changes
    assert (change.chain, change.what) == (("a", "a"), "rule")
    assert (change.difference.tool, change.direction) == ("Task", "narrowed")


def test_an_agent_that_starts_no_chain_any_more_is_reported() -> None:
    text = "agent a {\n    allow Task(b)\n}\nagent b {\n    allow Bash\n}\n"
    (change,) = diff_workspaces(notation(text), notation("root a\n" + text)).changes
    assert (change.chain, change.what) == (("b",), "agent-removed")


def test_where_chains_are_left_out_the_answer_is_not_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "root a\n" + "".join(
        f"agent {n} {{\n    allow Task, T{n}\n    delegate *\n%s}}\n" for n in "abc"
    )
    before, after = notation(text % ("", "", "")), notation(text % (("    deny Bash(x)\n",) * 3))
    assert diff_workspaces(before, after).exact
    for bound in ("_PAIRS", "_SPAWNS"):
        with monkeypatch.context() as patch:
            patch.setattr(module, bound, 1)
            patch.setattr(module, "_SPAWNS_EACH", 0)
            assert diff_workspaces(before, after).why == (MANY_CHAINS,)
