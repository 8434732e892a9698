"""Of random policies of every host: which decisions change, and every call of a small universe."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.changes.diff import READINGS, diff_workspaces
from policy.effect import Effect
from policy.project import Project
from tests.universes import UNIVERSES, Model, Universe, edits, models

# (agent, number of a call) -> the most that some chain of the agent gets.
_Most = dict[tuple[str, int], Effect]


def most(universe: Universe, project: Project, reading: str) -> _Most:
    found: _Most = {}
    for chain in universe.walks(project, reading):
        for number, call in enumerate(universe.calls if len(chain.names) < 4 else ()):
            key = (chain.names[-1], number)
            found[key] = max(found.get(key, Effect.DENY), chain.decide(*call).effect)
    return found


def check_diff(universe: Universe, before: Model, after: Model) -> None:
    """Compare what an agent may do through some chain with what is told to change.

    That both sides decide each witness as it is told: `tests.test_mixed_laws`.
    """
    sides = [universe.load(model) for model in (before, after)]
    diff = diff_workspaces(*sides)
    assert diff.exact, diff.why
    for reading in READINGS:
        was, now = (most(universe, side.projects[0], reading) for side in sides)
        told = {
            (chain[-1], change.widened)
            for change in diff.changes
            if reading in change.readings
            for chain in (change.chain, *change.also)
        }
        for agent, number in was.keys() | now.keys():
            one, other = (side.get((agent, number), Effect.DENY) for side in (was, now))
            call = universe.calls[number]
            assert one is other or (agent, one < other) in told, (reading, agent, call, one, other)


def draw_diff(host: str, data) -> None:
    universe = UNIVERSES[host]
    pairs = edits(universe) | st.tuples(models(universe), models(universe))
    check_diff(universe, *data.draw(pairs))


@pytest.mark.parametrize("host", UNIVERSES)
@given(data=st.data())
@settings(max_examples=10)
def test_what_no_change_tells_of_is_decided_as_before(host: str, data) -> None:
    draw_diff(host, data)


@pytest.mark.slow
@pytest.mark.parametrize("host", UNIVERSES)
@given(data=st.data())
@settings(max_examples=60)
def test_of_many_policies_what_no_change_tells_of_is_decided_as_before(host: str, data) -> None:
    draw_diff(host, data)
