"""YAML is read with places, and what would mislead a reader is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from policy.core import limits
from policy.core.errors import PolicyError, PolicyErrors
from policy.core.source import Source
from policy.files import yaml_nodes
from policy.files.frontmatter import misplaced_front_matter, split_front_matter
from policy.files.nodes import MappingNode, Node, ScalarNode, describe, python_value, walk
from policy.files.text import decode
from policy.files.yaml_nodes import read_yaml
from tests.conftest import cases
from tests.effort import is_linear
from tests.underline import assert_underlines

AGENTS = [case for case in cases("documents") if (case.values[0] / "agent.md").exists()]


def read(text: str) -> Node:
    return read_yaml(Source("agent.md", text))


def value(text: str) -> ScalarNode:
    node = read(text)
    assert isinstance(node, ScalarNode)
    return node


def report(path: Path) -> str:
    """Return what a person is shown about a file: what is read, and what is wrong."""
    source = decode("agent.md", path.read_bytes())
    try:
        front = split_front_matter(source)
        if front is None:
            return str(misplaced_front_matter(source) or "no header\n")
        node = read_yaml(source, front.header.start, front.header.end)
    except PolicyError as error:
        return str(error)
    assert isinstance(node, MappingNode)
    return "".join(f"{entry.name}: {python_value(entry.value)!r}\n" for entry in node.entries)


@pytest.mark.parametrize("case", AGENTS)
def test_agent_report(case: Path, text: SnapshotAssertion) -> None:
    assert report(case / "agent.md") == text


@pytest.mark.parametrize("case", AGENTS)
def test_the_slower_parser_gives_the_same_report(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = report(case / "agent.md")
    monkeypatch.setattr(yaml_nodes, "_LOADER", yaml.SafeLoader)

    assert report(case / "agent.md") == expected


# --- what is read -----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("~", None),
        ("Null", None),
        ("true", True),
        ("FALSE", False),
        ("yes", "yes"),
        ("on", "on"),
        ("y", "y"),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("-0x1F", "-0x1F"),
        ("+1", 1),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("2020-01-01", "2020-01-01"),
        ("1.10", 1.1),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("-.inf", float("-inf")),
        (".", "."),
        ("=", "="),
        ("<<", "<<"),
        ("'true'", "true"),
        ('"1"', "1"),
        ("|\n  1\n", "1\n"),
    ],
)
def test_words_are_resolved_as_by_yaml_1_2(text: str, expected: object) -> None:
    found = value(text).value

    assert (type(found), found) == (type(expected), expected)


def test_the_raw_text_of_a_scalar_is_kept() -> None:
    node = read('version: 1.10\nname: "a\\tb"\nswitch: yes')
    assert isinstance(node, MappingNode)

    raw = [entry.value.raw for entry in node.entries if isinstance(entry.value, ScalarNode)]
    assert raw == ["1.10", '"a\\tb"', "yes"]


def test_one_is_not_true() -> None:
    assert value("1") != value("true")
    assert value("1") != value("1.0")
    assert read("[a, 'b']") == read("- a\n- b\n")


@pytest.mark.parametrize("text", ["", "  \n", "# nothing\n", "---\n", "\ufeff"])
def test_an_empty_document_is_null(text: str) -> None:
    assert value(text).value is None


def test_spans_point_into_the_file() -> None:
    text = (
        "---\nname: \U0001f680 a\t# c\ntools:\n  - Read\n  - 'Bash(ls)'\n"
        "more: {a: [b]}\nlast: |\n  x\n\n---\n"
    )
    source = Source("agent.md", text)
    front = split_front_matter(source)
    assert front is not None

    spans = [node.span for node in walk(read_yaml(source, front.header.start, front.header.end))]
    assert [(span.place.line, span.place.column, span.text) for span in spans] == [
        (2, 1, text[4:-6]),
        (2, 7, "\U0001f680 a"),
        (4, 3, "- Read\n  - 'Bash(ls)'"),
        (4, 5, "Read"),
        (5, 5, "'Bash(ls)'"),
        (6, 7, "{a: [b]}"),
        (6, 11, "[b]"),
        (6, 12, "b"),
        (7, 7, "|\n  x"),
    ]


def test_a_part_of_a_value_has_a_place() -> None:
    assert value("Read, Bash").part(6, 10).text == "Bash"
    assert value("'it''s x'").part(3, 6).text == "s x"
    assert value('"a\\tb (c"').part(4, 6).text == "(c"
    assert value("|\n  some text\n").part(0, 4).text == "|\n  some text"


# --- what is refused --------------------------------------------------------


def refused(text: str) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        read(text)
    return caught.value


def test_every_duplicate_key_is_reported_with_the_first_place() -> None:
    error = refused("a: 1\nb: 1\na: 2\nc: {d: 1, d: 2}\nb: 2\n")

    assert isinstance(error, PolicyErrors)
    assert [(each.place.line, each.place.column) for each in error.errors] == [
        (3, 1),
        (4, 11),
        (5, 1),
    ]
    assert error.errors[0].help == "it is first at agent.md:1:1; keep one of them"


@pytest.mark.parametrize(
    ("text", "message", "underlined"),
    [
        ("a: &x 1", "`&x` is an anchor, and anchors are not read", "&x"),
        ("a: *x", "`*x` is an alias, and aliases are not read", "*x"),
        ("a: !!str x", "`!!str` is a tag, and tags are not read", "!!str"),
        ("!x {}", "`!x` is a tag, and tags are not read", "!x"),
        ("- &a !b c", "`&a` is an anchor, and anchors are not read", "&a"),
        ("1: a", "expected a key that is text, found the number `1`", "1"),
        ("null: a", "expected a key that is text, found null", "null"),
        ("[a]: b", "expected a key that is text, found a list", "[a]"),
        ("? {a: b}\n: c", "expected a key that is text, found a mapping", "{a: b}"),
        ("a: b\n---\nc: d", "a second document starts here", "---"),
        ("a: \x07", "the character U+0007 is not allowed in YAML", "\x07"),
        ("a: '\ud800'", "the character U+D800 is not allowed in YAML", "\ud800"),
    ],
)
def test_what_may_mislead_is_refused(text: str, message: str, underlined: str) -> None:
    error = refused(text)
    first = error.errors[0] if isinstance(error, PolicyErrors) else error

    assert first.message == message
    assert_underlines(first, underlined)


def test_a_list_within_a_list_within_a_list_ends() -> None:
    deep = limits.NESTING

    assert describe(read("[" * deep + "]" * deep)) == "a list"
    assert "nested more than" in refused("[" * (deep + 1) + "]" * (deep + 1)).message
    assert "nested more than" in refused("- " * 100_000).message
    assert "nested more than" in refused("{" * 100_000).message
    assert "nested more than" in refused("? " * 100_000).message


def test_mistakes_are_not_counted_for_ever() -> None:
    error = refused("a: 1\n" * 10_000)

    assert isinstance(error, PolicyErrors)
    assert len(error.errors) == 101


@pytest.mark.parametrize(
    ("start", "unit", "end"),
    [
        ("", "\t", "["),
        ("a: [", "{{", ""),
        ("a: [", " ", "x] y"),
        ('a: "', "\\x", ""),
        ("a: '", "b ", ""),
        ("a: b\n", "x\n", "c: d"),
        ("a: b\n", "  c: d\n", ""),
        ("", "x", ": y: z"),
        ("", "- &a b\n", ""),
        ("", "<", "\na: b: c"),
    ],
)
def test_refusing_a_hostile_text_is_linear(start: str, unit: str, end: str) -> None:
    assert is_linear(lambda count: refused(start + unit * count + end), 100_000 // len(unit))


# --- laws -------------------------------------------------------------------

names = st.text("abcdefghij_-", min_size=1, max_size=8).filter(lambda name: name[0] not in "-_")
# What starts like a number may be one in YAML 1.2 and text in 1.1, or the reverse.
words = st.text(
    "abcxyz \u00e9\u00df\U0001f680(){}[]*,.:/#&!|>'\"%@`~$^+-=_\\0123456789", max_size=20
).filter(lambda word: word[:1] not in {*"+-.0123456789"})
nodes = st.recursive(
    words | st.booleans() | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=8,
)


@given(header=st.dictionaries(names, nodes, max_size=5), flow=st.booleans(), wide=st.booleans())
def test_a_header_is_read_as_other_readers_do(
    header: dict[str, object], flow: bool, wide: bool
) -> None:
    # Dumped, what YAML 1.1 and 1.2 take differently is in quotes.
    text = yaml.safe_dump(
        header, default_flow_style=flow, allow_unicode=True, width=30 if wide else 200
    )

    assert python_value(read(text)) == yaml.safe_load(text) == header


@given(st.text("ab:-# \n[]{},'\"&*!|>%@`\t?\\.", max_size=40))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    try:
        node = read(text)
    except PolicyError as error:
        for each in error.errors if isinstance(error, PolicyErrors) else (error,):
            assert each.span is not None
            assert 0 <= each.span.start <= each.span.end <= len(text) + 1
            assert str(each)
        return
    for part in walk(node):
        assert 0 <= part.span.start <= part.span.end <= len(text)
