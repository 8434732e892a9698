"""``python -m tests.grammars``: compile the grammars, and write what comes of it beside them.

`policy.language.grammars` reads it. What Lark numbers as it comes to hand is numbered in one
order, so that the same grammar gives the same file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lark import Lark
from lark.lexer import ContextualLexer

FOLDER = Path(__file__).resolve().parents[1] / "grammar"

# The rule that each grammar begins with.
STARTS = {"matcher": "matcher", "notation": "document"}


def grammar(name: str) -> str:
    """Return the text of ``grammar/<name>.lark``."""
    return (FOLDER / f"{name}.lark").read_text(encoding="utf-8")


def compiled(name: str) -> Lark:
    """Return Lark's parser of ``grammar/<name>.lark``."""
    return Lark(
        grammar(name),
        parser="lalr",
        start=STARTS[name],
        maybe_placeholders=False,
        _plugins={"ContextualLexer": _Unchecked},
    )


class _Unchecked(ContextualLexer):
    """The lexer without the search for terminals that collide, which one test does."""

    def __init__(self, conf, states, always_accept=()) -> None:
        conf.skip_validation = True
        super().__init__(conf, states, always_accept)


def tables(name: str) -> dict[str, Any]:
    """Return what ``grammar/<name>.json`` holds for the grammar as it is."""
    made = compiled(name)
    table, start = made.parser.parser._parse_table, STARTS[name]
    states, rules = [table.start_states[start]], []
    rows: list[dict[str, int]] = []
    for state in states:
        row = {}
        for symbol, (action, to) in sorted(table.states[state].items()):
            known = states if action.name == "Shift" else rules
            if to not in known:
                known.append(to)
            row[symbol] = known.index(to) if known is states else ~known.index(to)
        rows.append(row)
    lexers = [_terminals(made.parser.lexer.lexers[state]) for state in states]
    expected = sorted({tuple(names) for names in lexers})
    return {
        "end": states.index(table.end_states[start]),
        "expected": [list(names) for names in expected],
        "lexers": [expected.index(tuple(names)) for names in lexers],
        "rules": [[_name(rule), len(rule.expansion), _shown(rule)] for rule in rules],
        "states": rows,
        "terminals": {each.name: each.pattern.to_regexp() for each in made.terminals},
    }


def _terminals(lexer: Any) -> list[str]:
    """Return the terminals that a lexer tries, in their order."""
    lexer.scanner  # noqa: B018  # makes the callbacks
    assert not lexer.callback, "a terminal is a word of another: the parser does not know that"
    return [terminal.name for terminal in lexer.terminals]


def _name(rule: Any) -> str:
    assert not rule.options.expand1
    assert not rule.options.keep_all_tokens
    return str(rule.alias or rule.origin.name)


def _shown(rule: Any) -> list[int]:
    """Return what becomes of the symbols of a rule, as `policy.language.grammars` numbers it."""
    return [
        int(not symbol.filter_out) if symbol.is_term else 2 if symbol.name.startswith("_") else 1
        for symbol in rule.expansion
    ]


def main() -> None:
    """Write the files."""
    for name in STARTS:
        text = json.dumps(tables(name), separators=(",", ":"), sort_keys=True)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
