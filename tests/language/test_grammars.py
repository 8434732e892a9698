"""The grammars hold what their comments promise."""

from __future__ import annotations

import json
from pathlib import Path

import lark
import pytest
from lark import Lark
from lark.exceptions import LexError, UnexpectedInput

from policy.language import grammars
from policy.language.grammars import STARTS, compiled, grammar, parser
from tests.grammars import FOLDER, tables

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


def test_no_process_searches_for_collisions(monkeypatch) -> None:
    """It takes seconds, and says the same every time."""
    pytest.importorskip("interegular")
    monkeypatch.setattr("lark.lexer._check_regex_collisions", None)
    monkeypatch.setattr("lark.lexer.interegular", None)
    for name in STARTS:
        parser(name)
        compiled(name)
    with pytest.raises((TypeError, AttributeError)):
        Lark(grammar("matcher"), parser="lalr", start="matcher")


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
    kept = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert kept["grammar"] == grammars.stamp(name)["grammar"]
    if kept["lark"] != lark.__version__:
        pytest.skip(f"they are those of Lark {kept['lark']}, and here is {lark.__version__}")
    assert kept == tables(name)


@pytest.mark.parametrize("name", STARTS)
def test_no_process_reads_a_grammar_whose_tables_are_kept(name: str, monkeypatch) -> None:
    kept = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    monkeypatch.setattr(lark, "__version__", kept["lark"])
    monkeypatch.setattr(grammars, "compiled", None)
    assert parser(name).source_path == "<deserialized>"


@pytest.mark.parametrize("changed", ["the grammar", "Lark", "nothing is kept"])
def test_a_grammar_is_read_where_the_tables_kept_are_not_its_own(changed, monkeypatch) -> None:
    if changed == "the grammar":
        edited = grammar("matcher").replace("A-Z", "")
        monkeypatch.setattr(grammars, "grammar", lambda _: edited)
    elif changed == "Lark":
        monkeypatch.setattr(lark, "__version__", "1.99.0")
    else:
        monkeypatch.setattr(grammars, "_TABLES", "{}.absent")
    made = parser("matcher")
    assert made.source_path == "<string>"
    if changed == "the grammar":
        with pytest.raises(UnexpectedInput):
            made.parse("Read")
    else:
        assert made.parse("Read").children == ["Read"]


def test_kept_tables_read_as_those_made_of_the_grammar_do() -> None:
    kept, made = parser("notation"), compiled("notation")
    for path in sorted(FIXTURES.rglob("*.policy")):
        text = path.read_text(encoding="utf-8") + "\n"
        assert _read(kept, text) == _read(made, text), path
        assert _read(kept, text[: len(text) // 2]) == _read(made, text[: len(text) // 2]), path
    kept, made = parser("matcher"), compiled("matcher")
    for text in ("Read", "Bash(git *)", "Bash()", "Bash(a) b", "Bash(", "", "a b", "Bash(a)(b)"):
        assert _read(kept, text) == _read(made, text), text


def _read(parser: Lark, text: str) -> object:
    try:
        return parser.parse(text)
    except UnexpectedInput as mistake:
        return type(mistake), mistake.line, mistake.column, _expected(mistake)


def _expected(mistake: UnexpectedInput) -> object:
    return getattr(mistake, "accepts", None) or getattr(mistake, "allowed", None)
