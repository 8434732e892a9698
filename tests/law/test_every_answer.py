"""Every verb answers as the decider does, over all calls of a small universe.

Pairs of policies are drawn from a seed. What fails is told with that seed, and with the
smallest policies that still fail alike.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.cli import main
from tests.law.answers import VERBS, failures
from tests.law.drawing import Case, Drawing, shrunk
from tests.law.worlds import World


def kind_of(failure: str) -> str:
    return failure.split(":")[0]


def told(case: Case, failure: str) -> str:
    """The failure, and the smallest case that fails alike."""
    verbs = tuple(verb for verb in VERBS if failure.startswith(verb)) or ("check",)

    def fails(smaller: Case) -> bool:
        return any(kind_of(found) == kind_of(failure) for found in failures(smaller, verbs))

    small = shrunk(case, fails)
    again = next(f for f in failures(small, verbs) if kind_of(f) == kind_of(failure))
    return f"{again}\n{small}"


def confirm(seed: int) -> None:
    case = Drawing(seed).case()
    failure = next(failures(case), None)
    if failure is not None:
        pytest.fail(f"seed {seed}: {told(case, failure)}", pytrace=False)


@pytest.mark.parametrize("seed", range(40))
def test_every_answer_is_that_of_the_decider(seed: int) -> None:
    confirm(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 2000, 50))
def test_every_answer_is_that_of_the_decider_in_many_draws(first: int) -> None:
    for seed in range(first, first + 50):
        confirm(seed)


@pytest.mark.parametrize("seed", range(500, 506))
def test_the_exit_status_of_a_diff_tells_whether_anything_is_widened(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = Drawing(seed).case()
    for name, policies in (("old", case.old), ("new", case.new)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "team.policy").write_text(str(policies))
    for first, second in ((case.old, case.new), (case.new, case.old)):
        names = ["old", "new"] if first is case.old else ["new", "old"]
        folders = [str(tmp_path / name) for name in names]
        status = main(["diff", *folders, "--fail-on", "widened"])
        before, after = World(first), World(second)
        widened = any(
            chain not in before.chains or effect > before.effects(chain)[number]
            for chain in after.chains
            for number, _, effect in after.decided(chain)
        )
        assert status == int(widened), f"seed {seed}\n{case}\n{capsys.readouterr().out}"
