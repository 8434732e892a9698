"""The grammars hold what their comments promise."""

from __future__ import annotations

import pytest
from lark import Lark
from lark.exceptions import LexError

from policy.language.grammars import grammar, parser

STARTS = {"matcher": "matcher", "notation": "document"}


@pytest.mark.parametrize("name", STARTS)
def test_a_grammar_is_free_of_collisions(name: str) -> None:
    Lark(grammar(name), parser="lalr", start=STARTS[name], strict=True)


def test_the_strict_mode_sees_the_terminals_of_the_notation() -> None:
    # It skips a terminal it cannot analyse without a word.
    colliding = grammar("notation").replace("_bound: NAME NAME", "_bound: NAME (NAME | TOOL)")
    with pytest.raises(LexError, match="Collision between Terminals"):
        Lark(colliding, parser="lalr", start="document", strict=True)


def test_no_process_searches_for_collisions(monkeypatch) -> None:
    """It takes seconds, and says the same every time."""
    pytest.importorskip("interegular")
    monkeypatch.setattr("lark.lexer._check_regex_collisions", None)
    monkeypatch.setattr("lark.lexer.interegular", None)
    for name, start in STARTS.items():
        parser(name, start)
    with pytest.raises((TypeError, AttributeError)):
        Lark(grammar("matcher"), parser="lalr", start="matcher")


@pytest.mark.parametrize("name", STARTS)
def test_no_terminal_has_a_priority(name: str) -> None:
    parser = Lark(grammar(name), parser="lalr", start=STARTS[name])
    assert {terminal.priority for terminal in parser.terminals} == {0}


def test_every_rule_of_the_notation_has_an_example() -> None:
    lines = grammar("notation").splitlines()
    rules = [at for at, line in enumerate(lines) if line[:1].islower()]
    bare = [lines[at] for at in rules if not lines[at - 1].startswith("//")]
    assert bare == ["document: _NL? _item*"]
