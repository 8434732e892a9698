"""How often cycles are looked for: seldom while much is read or compared, and then as before."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from threading import Event, Thread

import pytest

from policy.cli import main
from policy.core.memory import never_at_the_end, seldom_collecting

_OURS = (700, 10, 10)


@pytest.fixture(autouse=True)
def _threshold() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*_OURS)
    yield
    gc.set_threshold(*before)


def test_it_is_seldom_inside_and_as_before_afterwards() -> None:
    with seldom_collecting():
        assert gc.get_threshold()[0] > 10_000
        with seldom_collecting():
            pass
        assert gc.get_threshold()[0] > 10_000
    assert gc.get_threshold() == _OURS


def test_it_is_as_before_after_an_error() -> None:
    with pytest.raises(KeyError), seldom_collecting():
        raise KeyError
    assert gc.get_threshold() == _OURS


@pytest.mark.parametrize("threshold", [(0, 10, 10), (500_000, 10, 10)])
def test_whoever_collects_less_or_by_hand_goes_on(threshold: tuple[int, int, int]) -> None:
    gc.set_threshold(*threshold)
    with seldom_collecting():
        assert gc.get_threshold() == threshold
    assert gc.get_threshold() == threshold


def test_what_is_set_meanwhile_stays() -> None:
    with seldom_collecting():
        gc.set_threshold(900, 5, 5)
    assert gc.get_threshold() == (900, 5, 5)


def test_the_last_thread_that_goes_out_sets_it_back() -> None:
    inside, leave = Event(), Event()

    def compare() -> None:
        with seldom_collecting():
            inside.set()
            leave.wait(60)

    other = Thread(target=compare)
    other.start()
    inside.wait(60)
    with seldom_collecting():
        pass
    between = gc.get_threshold()
    leave.set()
    other.join()
    assert between[0] > 10_000
    assert gc.get_threshold() == _OURS


_ENDING = """
import atexit, gc
atexit.register(lambda: print(gc.get_freeze_count() > 1_000))  # asked after those registered later
from policy.cli import main
main(["rule", "unknown-tool", "--format", "json"])
"""


def test_a_command_ends_without_a_last_look() -> None:
    for verb, frozen in ((_ENDING, "True"), (_ENDING.partition("main([")[0], "False")):
        run = subprocess.run(
            [sys.executable, "-c", verb], capture_output=True, text=True, check=True
        )
        assert run.stdout.splitlines()[-1] == frozen


def test_a_process_that_goes_on_is_left_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    before = gc.get_freeze_count()
    for _ in range(2):
        assert main(["rule", "unknown-tool"]) == 0
    assert capsys.readouterr().out
    never_at_the_end()
    # What an earlier test froze may have been freed meanwhile.
    assert gc.get_freeze_count() <= before
