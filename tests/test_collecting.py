"""How often cycles are looked for: seldom while much is read or compared, and then as before."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from threading import Event, Thread

import pytest

from policy.collecting import seldom_collecting

_OURS = (700, 10, 10)


@pytest.fixture(autouse=True)
def _threshold() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*_OURS)
    yield
    gc.set_threshold(*before)


def test_it_is_seldom_inside_and_as_before_afterwards() -> None:
    with seldom_collecting:
        assert gc.get_threshold()[0] > 10_000
        with seldom_collecting:
            pass
        assert gc.get_threshold()[0] > 10_000
    assert gc.get_threshold() == _OURS


def test_it_is_as_before_after_an_error() -> None:
    with pytest.raises(KeyError), seldom_collecting:
        raise KeyError
    assert gc.get_threshold() == _OURS


@pytest.mark.parametrize("threshold", [(0, 10, 10), (500_000, 10, 10)])
def test_whoever_collects_less_or_by_hand_goes_on(threshold: tuple[int, int, int]) -> None:
    gc.set_threshold(*threshold)
    with seldom_collecting:
        assert gc.get_threshold() == threshold
    assert gc.get_threshold() == threshold


def test_what_is_set_meanwhile_stays() -> None:
    with seldom_collecting:
        gc.set_threshold(900, 5, 5)
    assert gc.get_threshold() == (900, 5, 5)


def test_the_last_thread_that_goes_out_sets_it_back() -> None:
    inside, leave = Event(), Event()

    def compare() -> None:
        with seldom_collecting:
            inside.set()
            leave.wait(60)

    other = Thread(target=compare)
    other.start()
    inside.wait(60)
    with seldom_collecting:
        pass
    between = gc.get_threshold()
    leave.set()
    other.join()
    assert between[0] > 10_000
    assert gc.get_threshold() == _OURS
