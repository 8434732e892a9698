"""The header of a Markdown file is found where hosts find it, or its absence explained."""

from __future__ import annotations

import pytest

from policy.core.errors import PolicyError
from policy.core.source import Source
from policy.files.frontmatter import HeaderLanguage, misplaced_front_matter, split_front_matter
from policy.files.text import FileText, decode, has_byte_order_mark
from tests.underline import assert_underlines


def source(text: str) -> Source:
    return Source("agent.md", text)


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_a_file_is_a_header_and_a_body(line_break: str) -> None:
    text = line_break.join(["---", "name: a", "tools: Read", "---", "", "Body.", "---", ""])
    front = split_front_matter(source(text))

    assert front is not None
    assert front.kind is HeaderLanguage.YAML
    assert front.opening.text == "---"
    assert front.header.text == f"name: a{line_break}tools: Read{line_break}"
    assert front.body.text == line_break.join(["", "Body.", "---", ""])
    assert front.body.place.line == 5


def test_blanks_after_a_fence_are_no_mistake_and_can_be_seen() -> None:
    front = split_front_matter(source("--- \t\nname: a\n---  \nBody."))

    assert front is not None
    assert front.opening.text == "--- \t"
    assert front.body.text == "Body."


def test_a_header_may_be_empty_and_end_the_file() -> None:
    front = split_front_matter(source("---\n---"))

    assert front is not None
    assert front.header.text == ""
    assert front.body.text == ""


def test_plus_signs_fence_toml() -> None:
    front = split_front_matter(source('+++\nname = "a"\n---\n+++\nBody.'))

    assert front is not None
    assert front.kind is HeaderLanguage.TOML
    assert front.header.text == 'name = "a"\n---\n'


@pytest.mark.parametrize(
    "text",
    ["", "Body.", "\n---\na: b\n---\n", " ---\na: b\n---\n", "----\na: b\n----\n", "---a\n---"],
)
def test_a_file_whose_first_line_is_no_fence_has_no_header(text: str) -> None:
    assert split_front_matter(source(text)) is None


@pytest.mark.parametrize(
    "text", ["---", "---\n", "---\nname: a\n", "---\nname: a\n ---\n", "---\na\n----\n"]
)
def test_a_header_that_is_never_closed_is_a_mistake(text: str) -> None:
    with pytest.raises(PolicyError, match="the header is not closed") as caught:
        split_front_matter(source(text))

    assert_underlines(caught.value, "---")


def test_a_byte_order_mark_is_reported_and_moves_no_column() -> None:
    read = decode("agent.md", b"\xef\xbb\xbf---\nname: a\n---\n")
    front = split_front_matter(read)

    assert read == FileText("agent.md", "---\nname: a\n---\n", byte_order_mark=True)
    assert front is not None
    assert has_byte_order_mark(read)
    assert front.opening.place.column == 1


def test_a_byte_order_mark_in_the_text_is_reported_too() -> None:
    front = split_front_matter(source("\ufeff---\nname: a\n---\n"))

    assert front is not None
    assert front.header.text == "name: a\n"
    assert not has_byte_order_mark(source("a\ufeff"))


@pytest.mark.parametrize(
    ("text", "fence"),
    [
        ("\n---\nname: a\n---\n", "---"),
        ("<!-- x -->\n---\nname: a\n---\n", "---"),
        ("# Title\n\n---\nname: a\n---\n", "---"),
        (" ---\nname: a\n---\n", "---"),
        ("\u2014-\nname: a\n---\n", "\u2014-"),
        ("----\nname: a\n----\n", "----"),
    ],
)
def test_a_header_in_the_wrong_place_is_remarked_on(text: str, fence: str) -> None:
    remark = misplaced_front_matter(source(text))

    assert remark is not None
    assert remark.span is not None
    assert remark.span.text == fence


@pytest.mark.parametrize(
    "text", ["", "Body.\n\n---\n\nMore.\n", "---\nname: a\n---\n", "# A\n---\nB\n"]
)
def test_a_rule_across_a_page_is_no_header(text: str) -> None:
    assert misplaced_front_matter(source(text)) is None
