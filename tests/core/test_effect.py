"""Effects: their order, and what code that compares them wrongly meets."""

from __future__ import annotations

import json
import pickle

import pytest

from policy import Effect


def test_effects_are_ordered_by_what_they_grant() -> None:
    assert Effect.DENY < Effect.ASK < Effect.ALLOW
    assert min(Effect.ALLOW, Effect.DENY) is Effect.DENY
    assert Effect.ALLOW & Effect.ASK is Effect.ASK


def test_an_effect_equals_its_text() -> None:
    assert Effect.DENY == "deny"
    assert Effect.DENY in ("deny", "ask")
    assert Effect.DENY != "ask"
    assert {Effect.ASK: 1}["ask"] == 1
    assert f"{Effect.ASK} {json.dumps(Effect.ASK)}" == 'ask "ask"'


def test_an_effect_is_neither_true_nor_false() -> None:
    for effect in Effect:
        with pytest.raises(TypeError, match="compare it with"):
            bool(effect)


def test_an_effect_stays_itself_in_another_process() -> None:
    assert pickle.loads(pickle.dumps(Effect.ASK)) is Effect.ASK  # noqa: S301  # our own bytes
