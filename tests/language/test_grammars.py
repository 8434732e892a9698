"""The grammars hold what their comments promise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lark import Lark
from lark.exceptions import LexError, UnexpectedInput, UnexpectedToken

from policy.language import grammars
from policy.language.grammars import Parser, Unexpected
from tests.grammars import FOLDER, STARTS, compiled, grammar, tables

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


@pytest.mark.parametrize("name", STARTS)
def test_the_tables_that_are_kept_are_those_of_the_grammar(name: str) -> None:
    """``python -m tests.grammars`` writes them anew."""
    assert json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")) == tables(name)


def test_the_tables_read_as_lark_does() -> None:
    made = compiled("notation")
    for path in sorted(FIXTURES.rglob("*.policy")):
        text = path.read_text(encoding="utf-8") + "\n"
        _check(made, "notation", text)
        _check(made, "notation", text[: len(text) // 2])
        _check(made, "notation", text.replace("}", ""))
        _check(made, "notation", text.replace(",", " "))
    made = compiled("matcher")
    for text in ("Read", "Bash(git *)", "Bash()", "Bash(a) b", "Bash(", "", "a b", "Bash(a)(b)"):
        _check(made, "matcher", text)


def _check(made: Lark, name: str, text: str) -> None:
    """Compare the trees of a text, or the places of its mistake and what may stand there."""
    parser = Parser(grammars.tables(name), text)
    theirs = made.parse_interactive(text)
    try:
        theirs.exhaust_lexer()
        expected = _shape(theirs.feed_eof())
    except UnexpectedInput as mistake:
        at = mistake.pos_in_stream
        if isinstance(mistake, UnexpectedToken):
            at = len(text) if mistake.token.type == "$END" else mistake.token.start_pos
        expected = at, theirs.accepts() - {"$END"}
    try:
        found = _shape(parser.parse())
    except Unexpected as mistake:
        found = mistake.position, parser.accepts()
    assert found == expected, text


def _shape(tree: object) -> object:
    if hasattr(tree, "children"):
        return str(tree.data), [_shape(child) for child in tree.children]
    return tree.type, str(tree), tree.start_pos, tree.end_pos
