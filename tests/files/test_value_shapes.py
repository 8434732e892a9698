"""What values of a document must be, and how it is reported that one is something else."""

from __future__ import annotations

import json

import pytest

from policy.core.source import Source
from policy.files.json_nodes import read_json
from policy.files.nodes import (
    AnyOf,
    ListOf,
    MappingOf,
    ObjectOf,
    OneWord,
    ValueKind,
    ValueShape,
    shape_mistakes,
)

TEXTS = ListOf(ValueKind.TEXT, "a list of strings")
COMMAND = ObjectOf(
    {"type": OneWord(("command",)), "command": ValueKind.TEXT}, needed=("type", "command")
)
PERSON = ObjectOf({"name": ValueKind.TEXT, "on": ValueKind.TRUTH})


def told(shape: ValueShape, value: object, name: str = "key") -> list[str]:
    node = read_json(Source("a.json", json.dumps(value)))
    return [mistake.message for mistake in shape_mistakes(shape, node, name)]


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (ValueKind.TEXT, ["", "a"], [None, 1, True, [], {}]),
        (ValueKind.TRUTH, [True, False], [None, 0, 1, "true"]),
        (ValueKind.NUMBER, [-1, 0, 2.5], [None, True, "1"]),
        (ValueKind.SECONDS, [0.5, 3], [0, -1, "3", False]),
        (ValueKind.SHARE, [0.1, 1], [0, 1.1, True]),
        (ValueKind.RATE, [0, 0.5, 1], [-0.1, 2, "0"]),
        (ValueKind.COUNT, [1, 2.0], [0, -1, 1.5, 2**53, "1", True]),
        (ValueKind.WHOLE, [0, 3], [-1, 0.5, False]),
        (ValueKind.ADDRESS, ["https://a", "x+y://b"], ["a", "://a", 1]),
        (ValueKind.TIME, ["7:30", "07:30", "23:59"], ["24:00", "7:5", "7", 7]),
        (OneWord(("a", "b")), ["a", "b"], ["c", None, ["a"], 1]),
        (TEXTS, [[], ["a"]], ["a", [1], None, {}]),
        (ObjectOf({}), [{}, {"a": None}], [[], None, "a"]),
        (MappingOf(ValueKind.TRUTH), [{}, {"a": True}], [{"a": 1}]),
        (COMMAND, [{"type": "command", "command": "", "other": 5}], [{}, {"type": "command"}, 5]),
        (AnyOf((ValueKind.TRUTH, PERSON)), [True, {}, {"name": "a"}], [None, "a", {"name": 1}]),
    ],
)
def test_a_value_has_a_shape_or_a_mistake(kind: ValueShape, good: list, bad: list) -> None:
    assert not [value for value in good if told(kind, value)]
    assert not [value for value in bad if not told(kind, value)]


def test_a_mistake_says_what_was_expected_of_which_key_and_what_is_there() -> None:
    assert told(OneWord(("a", "b", "c")), 5) == [
        "expected `a`, `b` or `c` for `key`, found the number `5`"
    ]
    assert told(TEXTS, "a") == ["expected a list of strings for `key`, found a string"]
    assert told(TEXTS, ["a", 5]) == ["expected a string for `key[]`, found the number `5`"]
    assert told(MappingOf(PERSON), {"x": {"on": "yes"}}) == [
        "expected true or false for `key.x.on`, found a string"
    ]
    assert told(COMMAND, {"type": "command"}) == [
        "expected a key `command` for `key`, found a mapping"
    ]


def test_of_several_shapes_the_one_that_fits_best_tells_the_mistake() -> None:
    assert told(AnyOf((ValueKind.TRUTH, PERSON)), {"on": 1}) == [
        "expected true or false for `key.on`, found the number `1`"
    ]
    assert told(AnyOf((ValueKind.TRUTH, TEXTS)), 5) == [
        "expected true or false, or a list of strings for `key`, found the number `5`"
    ]


def test_the_keys_of_a_whole_document_are_reported_without_a_name_before_them() -> None:
    assert told(PERSON, {"on": 1}, "") == ["expected true or false for `on`, found the number `1`"]
