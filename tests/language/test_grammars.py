"""The grammars hold what their comments promise."""

from __future__ import annotations

from pathlib import Path

import pytest
from lark import Lark, Token
from lark.exceptions import LexError, UnexpectedInput

from policy.core.errors import PolicyError, PolicyErrors
from policy.core.source import Source
from policy.language.parse import parse_matcher, parse_notation
from tests.grammars import STARTS, compiled, grammar

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


@pytest.mark.parametrize("name", STARTS)
def test_a_grammar_is_free_of_collisions(name: str) -> None:
    Lark(grammar(name), parser="lalr", start=STARTS[name], strict=True)


def test_the_strict_mode_sees_the_terminals_of_the_notation(monkeypatch) -> None:
    # It skips a terminal it cannot analyse without a word.
    monkeypatch.setattr("interegular.Comparator.get_example_overlap", _no_example)
    colliding = grammar("notation").replace("_bound: NAME NAME", "_bound: NAME (NAME | TOOL)")
    with pytest.raises(LexError, match="Collision between Terminals"):
        Lark(colliding, parser="lalr", start="document", strict=True)


def _no_example(*_: object) -> None:
    """Find no text that both terminals match: Lark would look for one for two seconds."""
    raise ValueError


@pytest.mark.parametrize("name", STARTS)
def test_no_terminal_has_a_priority(name: str) -> None:
    assert {terminal.priority for terminal in compiled(name).terminals} == {0}


def test_every_rule_of_the_notation_has_an_example() -> None:
    lines = grammar("notation").splitlines()
    rules = [at for at, line in enumerate(lines) if line[:1].islower()]
    bare = [lines[at] for at in rules if not lines[at - 1].startswith("//")]
    assert bare == ["document: _NL? _item*"]


# Mistakes that no grammar sees.
CHECKED = (
    "expected an agent of this file",
    "expected one ",
    "expected rules right above",
    "expected a blank before",
    "expected a number, found",
    "expected `depth` or `turns`, found",
    "expected `(` right after",
    "expected a name, found",
    'expected a tool, found `"',
)


def test_the_notation_is_read_as_lark_does() -> None:
    made = compiled("notation")
    for path in sorted(FIXTURES.rglob("*.policy")):
        text = path.read_text(encoding="utf-8")
        _check(made, text)
        _check(made, text[: len(text) // 2])
        _check(made, text.replace("}", ""))
        _check(made, text.replace(",", " "))
        for at in range(0, len(text), max(len(text) // 20, 1)):
            _check(made, text[:at] + text[at + 1 :])


def _check(made: Lark, text: str) -> None:
    """Compare the statements of a text, or whether it has mistakes."""
    whole = text + "\n"
    try:
        expected = [
            ("comment", each.rstrip())
            if isinstance(each, Token)
            else (str(each.data), whole[each.meta.start_pos : each.meta.end_pos])
            for each in made.parse(whole).children
        ]
    except UnexpectedInput:
        expected = None
    try:
        document = parse_notation(Source("", text))
    except PolicyErrors as error:
        if expected is not None:
            assert all(one.message.startswith(CHECKED) for one in error.errors), text
    else:
        assert [(type(n).__name__.lower(), n.span.text) for n in document.body] == expected


def test_a_matcher_is_read_as_lark_does() -> None:
    made = compiled("matcher")
    for text in (
        "Read", "Bash(git *)", "Bash()", "Bash(a) b", "Bash(", "", "a b", "Bash(a)(b)", "(a)",
        "Bash((a)", "Bash(a\nb)", "Bash)", "mcp__*", "Bash(a) ", " Bash",
    ):  # fmt: skip
        try:
            expected = "".join(map(str, made.parse(text).children))
        except UnexpectedInput:
            with pytest.raises(PolicyError):
                parse_matcher(text)
        else:
            assert str(parse_matcher(text)) == expected == text
