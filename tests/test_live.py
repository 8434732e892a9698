"""The comparison with the real program, and what it is made of."""

from __future__ import annotations

from random import Random

import pytest

from tests.live import sandbox
from tests.live.compare import batches, compare, kind
from tests.live.generate import Generator
from tests.live.memory import Memory
from tests.live.ours import Ours
from tests.live.scenario import Call, Scenario
from tests.live.shrink import parts, without
from tests.live.theirs import Answer, decide

WORDS = {"allow", "ask", "classifier", "deny", "unavailable", "unspawned"}


def test_a_seed_stands_for_the_same_calls_every_time():
    assert list(batches(7, 90)) == list(batches(7, 90))
    assert list(batches(7, 90)) != list(batches(8, 90))


def test_the_number_of_calls_is_the_one_asked_for():
    assert [len(batch.calls) for batch in batches(0, 90)] == [40, 40, 10]


def test_every_generated_call_is_decided():
    for batch in batches(11, 800):
        ours = Ours(batch.scenario)
        for call in batch.calls:
            assert ours.decide(call) in WORDS, call


def test_calls_that_we_may_be_looser_on_are_kept_alone_where_these_are_asked_for():
    kept, words = 0, set()
    for batch in batches(5, 200, granted=True):
        ours, kept = Ours(batch.scenario), kept + len(batch.calls)
        assert len({str(call) for call in batch.calls}) == len(batch.calls) <= 40
        words |= {ours.decide(call) for call in batch.calls}
    assert kept > 150
    assert words <= {"allow", "ask", "classifier"}
    assert "allow" in words


def test_a_disagreement_is_looser_where_we_grant_more():
    assert kind("allow", "ask") == "looser"
    assert kind("ask", "deny") == "looser"
    assert kind("deny", "classifier") == "stricter"
    assert kind("deny", "unavailable") == "reason"
    assert kind("ask", "ask") == "agree"


def test_a_scenario_is_the_sum_of_its_parts():
    for seed in range(200):
        scenario = Generator(Random(seed)).scenario()
        scenario = without(scenario, ())  # lists that are empty are left out
        assert without(scenario, ()) == scenario
        for part in parts(scenario):
            smaller = without(scenario, (part,))
            assert part not in set(parts(smaller)), part


def test_a_scenario_without_its_parts_is_empty():
    scenario = Generator(Random(3)).scenario()
    assert without(scenario, tuple(parts(scenario))) == Scenario()


def test_a_session_is_run_once(tmp_path, monkeypatch):
    runs = []

    def run(scenario, calls):
        runs.append(calls)
        return [Answer("ask", "told")]

    monkeypatch.setattr("tests.live.theirs.decide", run)
    file, call = tmp_path / "answers.jsonl", Call("Bash", {"command": "make"})
    first = Memory(file).decide(Scenario(), [call])
    assert Memory(file).decide(Scenario(), [call]) == first == [Answer("ask", "told")]
    assert runs == [[call]]
    Memory(file).decide(Scenario(mode="plan"), [call])
    assert len(runs) == 2


@pytest.mark.live
def test_the_program_and_the_package_decide_generated_calls_alike():
    if lacking := sandbox.missing():
        pytest.skip(lacking)
    decided, disagreements = 0, []
    for outcome in compare(batches(2026, 120), Memory(), jobs=2):
        decided += len(outcome.agreed) + len(outcome.disagreements)
        disagreements += outcome.disagreements
    assert decided >= 110
    assert not [each for each in disagreements if each.kind == "looser"]
    assert len(disagreements) * 100 <= decided, disagreements


@pytest.mark.live
def test_the_program_is_seen_to_allow_ask_and_deny():
    if lacking := sandbox.missing():
        pytest.skip(lacking)
    rules = {"allow": ["Bash(make *)"], "deny": ["Bash(rm *)", "WebFetch"]}
    scenario = Scenario(settings={"project": {"permissions": rules}})
    calls = {
        Call("Bash", {"command": "make x"}): "allow",
        Call("Bash", {"command": "npm i"}): "ask",
        Call("Bash", {"command": "rm x"}): "deny",
        Call("WebFetch", {"url": "https://example.com"}): "unavailable",
    }
    answers = decide(scenario, list(calls))
    assert [answer.word for answer in answers] == list(calls.values())
