"""``python -m tests.grammars``: compile the grammars, and write what comes of it beside them.

`policy.language.grammars` reads it where the grammar and Lark are the same as here. What Lark
numbers as it comes to hand is numbered in one order, so that the same grammar gives the same file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lark.grammar import Rule
from lark.lark import _LOAD_ALLOWED_OPTIONS
from lark.lexer import TerminalDef

from policy.language.grammars import STARTS, compiled, stamp

FOLDER = Path(__file__).resolve().parents[1] / "grammar"


def tables(name: str) -> dict[str, Any]:
    """Return what ``grammar/<name>.json`` holds for the grammar as it is and this Lark."""
    data, memo = compiled(name).memo_serialize([TerminalDef, Rule])
    options = data["options"]
    data["options"] = {key: options[key] for key in options if key not in _LOAD_ALLOWED_OPTIONS}
    data["parser"]["parser"] = _ordered(data["parser"]["parser"])
    return json.loads(json.dumps({**stamp(name), "data": data, "memo": memo}))


def _ordered(table: dict[str, Any]) -> dict[str, Any]:
    """Return *table* with its tokens by name, and its states as one comes to them."""
    names = sorted(table["tokens"].values())
    states = [*table["start_states"].values()]
    rows = []
    for state in states:
        actions = table["states"][state]
        row = {names.index(table["tokens"][at]): action for at, action in actions.items()}
        rows.append(row)
        for token in sorted(row):
            kind, to = row[token]
            if kind == _SHIFT and to not in states:
                states.append(to)
    places = {state: at for at, state in enumerate(states)}
    return {
        "tokens": dict(enumerate(names)),
        "states": {
            at: {
                token: [kind, places[to] if kind == _SHIFT else to]
                for token, (kind, to) in sorted(row.items())
            }
            for at, row in enumerate(rows)
        },
        "start_states": {start: places[at] for start, at in table["start_states"].items()},
        "end_states": {start: places[at] for start, at in table["end_states"].items()},
    }


_SHIFT = 0  # as Lark writes it; a number of a state follows


def main() -> None:
    """Write the files."""
    for name in STARTS:
        text = json.dumps(tables(name), separators=(",", ":"), sort_keys=True)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
