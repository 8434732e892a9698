"""JSON is read with places, as strictly as the standard library does."""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from policy.core import limits
from policy.core.errors import PolicyError, PolicyErrors, show
from policy.core.source import Source
from policy.files import json_nodes
from policy.files.json_nodes import read_json
from policy.files.nodes import (
    VALUES,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    python_value,
    repeated,
    walk,
)
from policy.files.text import decode
from tests.conftest import cases
from tests.effort import is_linear
from tests.underline import assert_underlines

SETTINGS = [case for case in cases("documents") if (case.values[0] / "settings.json").exists()]


def source(text: str) -> Source:
    return Source("settings.json", text)


def read(text: str) -> Node:
    return read_json(source(text))


def report(path: Path) -> str:
    """Return what a person is shown about a file: what is read, and what is wrong."""
    try:
        node = read_json(decode("settings.json", path.read_bytes()))
    except PolicyError as error:
        return str(error)
    lines = [f"{json.dumps(python_value(node))}\n"]
    for lost, kept in repeated(node):
        help_ = f"the one at {kept.key.span.place} counts"
        lines.append(f"\n{show('the key is there again below', lost.key.span, help=help_)}")
    return "".join(lines)


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_report(case: Path, text: SnapshotAssertion) -> None:
    assert report(case / "settings.json") == text


# --- what is read -----------------------------------------------------------


def test_spans_cover_what_is_written() -> None:
    text = '{"a": [1, -2.5e3, "x\\n"],\n "\U0001f680": {"b": null, "c": true}}'
    node = read(text)
    assert isinstance(node, MappingNode)

    assert [part.span.text for part in walk(node)] == [
        text,
        '[1, -2.5e3, "x\\n"]',
        "1",
        "-2.5e3",
        '"x\\n"',
        '{"b": null, "c": true}',
        "null",
        "true",
    ]
    assert [entry.key.span.text for entry in node.entries] == ['"a"', '"\U0001f680"']
    assert str(node.entries[1].key.span.place) == "settings.json:2:2"


def test_a_place_in_a_string_is_a_place_in_the_file() -> None:
    node = read('["Bash(ls)", "a\\"b\\u00e9\\ud83d\\ude80(c"]')
    assert isinstance(node, SequenceNode)
    simple, escaped = node.items
    assert isinstance(simple, ScalarNode)
    assert isinstance(escaped, ScalarNode)

    content = simple.content_span()
    assert content is not None
    assert content.text == "Bash(ls)"
    assert simple.part(4, 8).text == "(ls)"
    assert escaped.content_span() is None
    assert escaped.value == 'a"b\u00e9\U0001f680(c'
    assert [escaped.part(i, i + 1).text for i in range(7)] == [
        "a",
        '\\"',
        "b",
        "\\u00e9",
        "\\ud83d\\ude80",
        "(",
        "c",
    ]


def test_the_last_of_repeated_keys_counts_and_all_are_listed() -> None:
    node = read('{"a": 1, "b": {"c": 1, "c": 2}, "a": 2, "\\u0061": 3}')
    assert isinstance(node, MappingNode)

    assert node.get("a") == ScalarNode(3, node.span)
    assert node.get("x") is None
    pairs = [
        (lost.key.span.text, lost.key.span.start, kept.key.span.start)
        for lost, kept in repeated(node)
    ]
    assert pairs == [('"a"', 1, 40), ('"c"', 15, 23), ('"a"', 32, 40)]


# --- what is refused --------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message", "underlined"),
    [
        ("[1 2]", "expected `,` or `]`, found `2`", "2"),
        ('{"a" 1}', "expected `:`, found `1`", "1"),
        ('{"a": }', "expected a value, found `}`", "}"),
        ("{1: 2}", "expected a key in double quotes, found `1`", "1"),
        ("[,1]", "expected a value, found `,`", ","),
        ("[01]", "`01` is not a number of JSON", "01"),
        ("[.5]", "`.5` is not a number of JSON", ".5"),
        ("[1.]", "`1.` is not a number of JSON", "1."),
        ("[+1]", "`+1` is not a number of JSON", "+1"),
        ("[0x1F]", "`0x1F` is not a number of JSON", "0x1F"),
        ("[-Infinity]", "expected a value, found `-Infinity`", "-Infinity"),
        ("[truee]", "expected a value, found `truee`", "truee"),
        ('["a\x00"]', "the control character U+0000 is not allowed in a string", "\x00"),
        ('["a', "the string is not closed on its line", '"a'),
        ('["\\', "the string is not closed on its line", '"\\'),
        ('["\\u12"]', "`\\u` is not an escape of JSON", "\\u"),
        ("[\u201ca\u201d]", "expected a value, found `\u201c`", "\u201c"),
        ("/* a", "the comment is not closed", "/*"),
        ("/* a */ 1", "comments are not JSON", "/*"),
        ("[1, // a\n2]", "comments are not JSON", "//"),
        ("[1, ]", "a comma before the closing bracket is not JSON", ","),
        ('{"a": 1,}', "a comma before the closing bracket is not JSON", ","),
        ("[,]", "expected a value, found `,`", ","),
        ("\ufeff1", "the file starts with a byte order mark, which is not JSON", ""),
        ("[1]]", "expected the end of the file, found `]`", "]"),
        ("1" * 5000, "the number has more than 4000 digits", "1" * 5000),
    ],
)
def test_what_is_not_json_is_refused_in_its_place(text: str, message: str, underlined: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read(text)

    assert caught.value.message == message
    assert_underlines(caught.value, underlined)


def test_depth_and_number_of_values_are_bounded(monkeypatch) -> None:
    deep = limits.NESTING
    read("[" * deep + "]" * deep)

    with pytest.raises(PolicyError, match="nested more than 64 deep"):
        read("[" * 1_000_000)
    with pytest.raises(PolicyError, match="nested more than 64 deep"):
        read('{"a":' * (deep + 1))
    assert json_nodes.VALUES == VALUES == 500_000
    monkeypatch.setattr(json_nodes, "VALUES", 1_000)
    read(f"[{'1,' * 999}1]")
    with pytest.raises(PolicyError, match="more than 1,000 values"):
        read(f"[{'1,' * 1_000}1]")


def test_reading_a_settings_file_is_linear() -> None:
    def work(count: int) -> None:
        rules = [f"Bash(command{i} *)" for i in range(count)]
        read(json.dumps({"permissions": {"allow": rules}}, indent=2))

    assert is_linear(work, 20_000)


@pytest.mark.parametrize(
    ("start", "unit"),
    [
        ('"', "a"),
        ('"', '\\"'),
        ("/*", "*"),
        ("", "/**/"),
        ("", " "),
        ("'", "a"),
        ("", "-"),
        ('"', "\\"),
        ("[", '"a" '),
    ],
)
def test_reading_a_hostile_text_is_linear(start: str, unit: str) -> None:
    assert is_linear(lambda count: _attempt(start + unit * count), 1_000_000 // len(unit))


def _attempt(text: str) -> None:
    with contextlib.suppress(PolicyError):
        read(text)


# --- laws -------------------------------------------------------------------

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=12,
)
texts = st.builds(
    json.dumps, values, indent=st.none() | st.just(2), ensure_ascii=st.booleans()
).filter(lambda text: not any(0xD800 <= ord(char) <= 0xDFFF for char in text))


def expected(text: str) -> tuple[str, object]:
    """Return what the standard library reads, or that it refuses."""
    try:
        return "read", json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return "refused", None


def _refuse(name: str) -> None:
    raise ValueError(name)


def found(text: str) -> tuple[str, object]:
    try:
        return "read", python_value(read(text))
    except PolicyError as error:
        for each in error.errors if isinstance(error, PolicyErrors) else (error,):
            assert each.span is not None
            assert 0 <= each.span.start <= each.span.end <= len(text)
            assert str(each)
        return "refused", None


def same(one: object, other: object) -> bool:
    """Return whether two values are equal, and of equal types throughout."""
    return repr(one) == repr(other)


@given(texts)
def test_what_the_standard_library_writes_is_read_back(text: str) -> None:
    assert same(found(text), expected(text))


@given(texts, st.data())
def test_mutated_json_is_read_or_refused_as_by_the_standard_library(
    text: str, data: st.DataObject
) -> None:
    pieces = st.sampled_from(
        [*"{}[],:\"\\/ \n\t\x00-+.019eEutfnaN'#\xa0", "//", "true", '""', "\\u00e9", ""]
    )
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 2))
        text = text[:at] + data.draw(pieces) + text[at + cut :]

    got = found(text)
    if "\\ud" in text.lower():  # half characters: the standard library takes them
        return
    assert same(got, expected(text))


@given(st.text('{}[],:"\\/u019eE.-+ \ntrafls', max_size=30))
@example("-0")
@example("1E400")
def test_any_text_is_read_or_refused_as_by_the_standard_library(text: str) -> None:
    got, wanted = found(text), expected(text)

    assert same(got, wanted) or (isinstance(got[1], float) and math.isinf(got[1]))
