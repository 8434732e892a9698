"""The grammars, in the package or beside it in a checkout, and their parsers."""

from __future__ import annotations

from collections.abc import Collection
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from lark import Lark
from lark.common import LexerConf
from lark.lexer import ContextualLexer

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["grammar", "parser"]


def grammar(name: str) -> str:
    """Return the text of ``grammar/<name>.lark``."""
    return (_folder() / f"{name}.lark").read_text(encoding="utf-8")


def _folder() -> Traversable:
    packaged = files("policy") / "grammar"
    if packaged.is_dir():
        return packaged
    return Path(__file__).resolve().parents[2] / "grammar"


def parser(name: str, start: str) -> Lark:
    """Return a parser of ``grammar/<name>.lark`` that begins with the rule *start*."""
    return Lark(
        grammar(name),
        parser="lalr",
        start=start,
        maybe_placeholders=False,
        _plugins={"ContextualLexer": _Unchecked},
    )


class _Unchecked(ContextualLexer):
    """The lexer without the search for terminals that collide.

    Where `interegular` is installed, Lark would search in every process, for two
    seconds. The grammars do not change, and a test searches once.
    """

    def __init__(
        self,
        conf: LexerConf,
        states: dict[int, Collection[str]],
        always_accept: Collection[str] = (),
    ) -> None:
        conf.skip_validation = True
        super().__init__(conf, states, always_accept)
