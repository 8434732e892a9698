"""The benchmark runs, and notices a decider that answers wrongly. Nothing here measures time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import attrs
import pytest

from tests.benchmark import __main__ as program
from tests.benchmark import deciders, first, peers, workload
from tests.benchmark.figures import QUICK, agreement, figures
from tests.benchmark.peers import Decider, Peer
from tests.benchmark.workload import Call, Rule

Load = Callable[[Sequence[Rule]], Decider]


def _allows_everything(rules: Sequence[Rule]) -> Decider:
    return lambda tool, argument: True


def _forgets_denials(rules: Sequence[Rule]) -> Decider:
    return deciders.OURS["matched anew"]([rule for rule in rules if rule.allows])


def test_a_quick_run_prints_every_figure() -> None:
    # A process of its own: beside what other tests left in memory it takes ten times as long.
    run = subprocess.run(
        [sys.executable, "-m", "tests.benchmark", "--quick"],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = run.stdout.splitlines()
    assert lines[0].startswith("agent-policy ")
    assert any("agrees with the reference" in line for line in lines)
    for name in (
        "decide, 10 rules",
        "chain of 8",
        "compound",
        "parse",
        "differences",
        "memory",
        "hook",
    ):
        assert any(name in line for line in lines), name


def test_a_quick_run_as_json_has_numbers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tuple(islice(figures(QUICK), 1))
    monkeypatch.setattr(program, "figures", lambda scale: first)
    monkeypatch.setattr(program, "process_figures", lambda scale: ())
    assert program.main(["--quick", "--json", "--peers"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["disagreements"] == []
    [decide] = report["figures"]
    assert decide["name"] == "decide, 10 rules"
    assert set(decide["values"]) == {"median_us", "p99_us"}


def test_peers_that_are_not_installed_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = Peer("nobody", "no_such_engine", "no-such-engine", _allows_everything)
    monkeypatch.setattr("tests.benchmark.figures.PEERS", (absent,))
    monkeypatch.setattr(program, "figures", lambda scale: ())
    monkeypatch.setattr(program, "process_figures", lambda scale: ())
    assert program.main(["--quick", "--peers"]) == 0
    assert f"nobody is not installed ({peers.INSTALL})" in capsys.readouterr().out


@pytest.mark.parametrize("broken", [_allows_everything, _forgets_denials])
def test_a_decider_that_answers_wrongly_is_named(
    broken: Load, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(deciders.OURS, "broken", broken)
    assert program.main(["--quick"]) == 1
    errors = capsys.readouterr().err.splitlines()
    assert errors
    assert all(line.startswith("broken allows ") for line in errors)


def test_a_peer_that_answers_wrongly_is_named() -> None:
    broken = Peer("broken", "json", "json", _allows_everything)
    assert {wrong.decider for wrong in agreement(QUICK, [broken])} == {"broken"}


def test_the_workload_is_always_the_same() -> None:
    first = workload.workload(100, 50)
    workload.workload.cache_clear()
    assert workload.workload(100, 50) == first


def test_the_workload_has_the_mix_it_claims() -> None:
    work = workload.workload(1_000, 500)
    share = {
        "names": sum(rule.specifier is None and "*" not in rule.tool for rule in work.rules),
        "globs": sum("*" in rule.tool for rule in work.rules),
        "commands": sum(rule.tool == "Bash" for rule in work.rules),
        "paths": sum(rule.tool in {"Read", "Edit", "Write"} for rule in work.rules),
        "agents": sum(rule.tool == "Task" for rule in work.rules),
        "denials": sum(not rule.allows for rule in work.rules),
    }
    assert share == {
        "names": 300,
        "globs": 100,
        "commands": 350,
        "paths": 150,
        "agents": 100,
        "denials": 200,
    }
    assert 0.4 < sum(work.allowed) / len(work.allowed) < 0.6


def test_the_reference_lets_a_denial_win() -> None:
    rules = [Rule(True, "Bash", "git *", "git *"), Rule(False, "Bash", "git push *", "git push *")]
    assert workload.decide(rules, Call("Bash", "git log x"))
    assert not workload.decide(rules, Call("Bash", "git push x"))
    assert not workload.decide(rules, Call("Bash", "ls"))


def test_what_people_meet_first_is_measured_as_processes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert program.main(["--quick", "--first", "start", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    ratios = {figure["name"]: figure["values"]["ratio"] for figure in report["figures"]}
    assert next(iter(ratios)) == "check of 11 rules : python -c pass"
    assert all(1 < ratio < 1_000 for ratio in ratios.values())
    taken = first.run(("-c", "x = bytearray(2**26); print('y' * 2**20)"), tmp_path, 20)
    assert taken.answered
    assert 64 < taken.mib < 128
    assert 1 < taken.written < 1.01


def test_peers_are_asked_what_nobody_asked_before(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    there, absent = (
        Peer(name, module, "no", _allows_everything)
        for name, module in (("fast", "json"), ("nobody", "no_such_engine"))
    )
    monkeypatch.setattr("tests.benchmark.figures.PEERS", (there, absent))
    assert program.main(["--quick", "--first", "peers", "--json"]) == 0
    missing, *figures = json.loads(capsys.readouterr().out)["figures"]
    assert (missing["name"], missing["shown"]) == ("nobody", "not installed (no)")
    assert [figure["name"] for figure in figures] == [
        f"fast : ours, 100 {when} calls, {size} rules"
        for size in QUICK.sizes
        for when in ("first", "later", "seen")
    ]
    for values in (figure["values"] for figure in figures):
        assert values["ratio"] == values["peer_us"] / values["ours_us"]


def test_growth_has_an_exponent_and_says_what_did_not_end() -> None:
    growth = first.Growth("check", "rules of our notation", (), {10: 20})
    ended = first.grown(growth, QUICK)
    assert ended.met
    assert {"seconds_10", "seconds_100", "exponent"} <= set(ended.values)
    late = first.grown(growth, attrs.evolve(QUICK, limit=0.005))
    assert late.met is False
    assert late.shown.startswith("not ended in 0")
