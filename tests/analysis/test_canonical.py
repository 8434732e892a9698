"""Files in their canonical form: the same to their host, with every comment."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.analysis.formatting import canonical
from policy.core.errors import PolicyError
from policy.core.source import Source
from policy.files.layout import (
    layout_json_file,
    layout_markdown_file,
    layout_yaml,
    layout_yaml_file,
)
from policy.files.text import decode
from policy.files.yaml_nodes import read_yaml
from policy.hosts import notation
from policy.hosts.front_ends import FRONT_ENDS
from tests.conftest import FIXTURES

WRITTEN = """\


# of the file
pikuri:    "0.1.0"   # newest


# where
workspace:
    # the root
    project_root:   /srv/app
    readable: [ /usr/lib,/x   ,  "a b" ] # lists
    writable:
    - /tmp/out   # out
    # nothing more

    - /tmp/q
register:
- # odd
  tool: bash
- mcp: [
   a, # one
   b
  ]
- personas:
  - name: x
    system_prompt: |
        several
          lines
    tool_names:
      # none yet
  - name: "y
      z"
# end
"""

LAID_OUT = """\
# of the file
pikuri: "0.1.0"  # newest

# where
workspace:
  # the root
  project_root: /srv/app
  readable: [/usr/lib, /x, "a b"]  # lists
  writable:
    - /tmp/out  # out
    # nothing more

    - /tmp/q
register:
  # odd
  - tool: bash
  - mcp: [
      a, # one
      b
      ]
  - personas:
      - name: x
        system_prompt: |
          several
            lines
        tool_names:
          # none yet
      - name: "y
          z"
# end
"""


def source(text: str) -> Source:
    return decode("a", text.encode())


def test_yaml_is_laid_out_in_one_way_and_keeps_its_comments() -> None:
    assert layout_yaml_file(source(WRITTEN)) == LAID_OUT
    assert layout_yaml_file(source(LAID_OUT)) == LAID_OUT


@pytest.mark.parametrize(
    ("written", "laid_out"),
    [
        ("", ""),
        ("# alone", "# alone\n"),
        ("a:\n    b: [c,\n  d]", "a:\n  b: [c, d]\n"),
        ("a: # of a\n  - b", "a:  # of a\n  - b\n"),
        ("a: # of a\n  b", "a:  # of a\n  b\n"),
        ("- - a\n  - b\n- {c: d,e: }", "- - a\n  - b\n- {c: d, e: }\n"),
        ("a: 'x # no comment' # one", "a: 'x # no comment'  # one\n"),
        ("a: >-\n    x\n\n    y\nb: 1", "a: >-\n  x\n\n  y\nb: 1\n"),
        (f"a: [ {'word,' * 20}]", f"a: [ {'word,' * 20}]\n"),  # longer than a line
    ],
)
def test_layouts_of_yaml(written: str, laid_out: str) -> None:
    assert layout_yaml(source(written)) == laid_out


@pytest.mark.parametrize("written", ["a: &x 1\nb: *x\n", "a: 1\na: 2\n", "a: |+\n  x\n\n\nb: 1\n"])
def test_what_cannot_be_laid_out_without_loss_is_refused(written: str) -> None:
    with pytest.raises(PolicyError):
        layout_yaml(source(written))


WORDS = st.sampled_from(
    ["a", '"b c"', "'d'", "x y", "1", "true", "", "[e,  f]", "{g: h}", "|\n {0}x"]
)
COMMENTS = st.sampled_from(["", "", "  # c", "\n{0}# d", "\n\n{0}    # e", "\n"])


@st.composite
def documents(draw: st.DrawFn, depth: int = 0) -> str:
    indent = "  " * depth
    lines = []
    for key in draw(st.sets(st.sampled_from("klmn"), min_size=1, max_size=3)):
        comment = draw(COMMENTS).replace("{0}", indent)
        kind = draw(st.integers(0, 2 if depth < 3 else 0))
        if kind == 0:
            word = draw(WORDS).replace("{0}", indent + " ")
            lines.append(f"{indent}{key}: {word}{comment if '|' not in word else ''}")
        elif kind == 1:
            lines.append(f"{indent}{key}:{comment}\n{draw(documents(depth + 1))}")
        else:
            items = draw(st.lists(st.sampled_from(["p", "q: r", "- s"]), min_size=1, max_size=3))
            listed = "".join(f"\n{indent}- {item}" for item in items)
            lines.append(f"{indent}{key}:{comment}{listed}")
    return "\n".join(lines)


@given(documents())
def test_any_document_says_the_same_when_it_is_laid_out(text: str) -> None:
    printed = layout_yaml(source(text))

    assert read_yaml(source(printed)) == read_yaml(source(text))
    assert printed.count("#") == text.count("#")
    assert layout_yaml(source(printed)) == printed


def test_only_the_header_of_markdown_is_touched() -> None:
    text = "---  \r\nname:   x\r\n---\r\n\r\n text   \r\nname:   y"

    assert (
        layout_markdown_file(source(text)) == "---\r\nname: x\r\n---\r\n\r\n text   \r\nname:   y"
    )
    assert layout_markdown_file(source("\ufeffno header")) == "\ufeffno header"


def test_json_keeps_numbers_escapes_and_keys_that_are_there_twice() -> None:
    text = '{"a":1.10,"b":["\\u0041",{}],"a":[]}'

    assert layout_json_file(source(text)) == (
        '{\n  "a": 1.10,\n  "b": [\n    "\\u0041",\n    {}\n  ],\n  "a": []\n}\n'
    )


def _files() -> list[Path]:
    return [path for path in sorted(FIXTURES.rglob("*")) if path.is_file()]


def test_each_file_of_the_fixtures_is_at_most_one_hosts_and_means_the_same_when_printed() -> None:
    printed = 0
    for path in _files():
        name = path.relative_to(FIXTURES).as_posix()
        try:
            text = decode(name, path.read_bytes())
        except PolicyError:
            continue
        claimed = []
        for front_end in FRONT_ENDS:
            try:
                claimed.append(canonical(name, text, front_ends=(front_end,)))
            except PolicyError as error:
                assert "shown" not in error.message  # it is the text that is bad
                claimed.append("")
        assert len([one for one in claimed if one is not None]) <= 1, name
        printed += any(claimed)
    assert printed > 80


def test_what_would_mean_something_else_is_refused() -> None:
    class Forgetful:
        load = staticmethod(notation.load)

        @staticmethod
        def canonical(path: str, source: Source) -> str:
            return "root a\nagent a {\n    allow Read, Edit\n}\n"

    with pytest.raises(PolicyError, match="cannot be shown to mean the same"):
        canonical("a.policy", source("agent a {\n    allow Read\n}\n"), front_ends=(Forgetful(),))
