"""The grammars of the notation, as Lark reads them: our readers are compared with it."""

from __future__ import annotations

from pathlib import Path

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
        propagate_positions=True,
        _plugins={"ContextualLexer": _Unchecked},
    )


class _Unchecked(ContextualLexer):
    """The lexer without the search for terminals that collide, which one test does."""

    def __init__(self, conf, states, always_accept=()) -> None:
        conf.skip_validation = True
        super().__init__(conf, states, always_accept)
