"""The grammars, in the package or beside it in a checkout, and their parsers.

To make a parser of a grammar, Lark first makes one for the language of grammars, which takes up
to a fifth of a second. The tables of the parsers are therefore kept beside the grammars
(``python -m tests.grammars`` writes them), and used where they are of the same grammar, the same
options and the same Lark.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import lark
from lark import Lark
from lark.common import LexerConf
from lark.lexer import ContextualLexer

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["STARTS", "compiled", "grammar", "parser", "stamp"]

# The rule that each grammar begins with.
STARTS: Final[Mapping[str, str]] = {"matcher": "matcher", "notation": "document"}

_TABLES: Final = "{}.json"

_OPTIONS: Final = {"parser": "lalr", "maybe_placeholders": False}


def grammar(name: str) -> str:
    """Return the text of ``grammar/<name>.lark``."""
    return (_folder() / f"{name}.lark").read_text(encoding="utf-8")


def _folder() -> Traversable:
    packaged = files("policy") / "grammar"
    if packaged.is_dir():
        return packaged
    return Path(__file__).resolve().parents[2] / "grammar"


def parser(name: str) -> Lark:
    """Return a parser of ``grammar/<name>.lark``."""
    kept = _folder() / _TABLES.format(name)
    if kept.is_file():
        tables = json.loads(kept.read_text(encoding="utf-8"), object_hook=_numbered)
        if tables.items() >= stamp(name).items():
            # As the parsers begin that Lark writes as modules of their own.
            load = Lark._load_from_dict  # noqa: SLF001
            read: Lark = load(tables["data"], tables["memo"])  # type: ignore[no-untyped-call]
            return read
    return compiled(name)


def stamp(name: str) -> dict[str, str]:
    """Return what tables of ``grammar/<name>.lark`` depend on."""
    made_of = json.dumps([grammar(name), STARTS[name], _OPTIONS], sort_keys=True)
    return {"lark": lark.__version__, "grammar": sha256(made_of.encode()).hexdigest()}


def _numbered(mapping: dict[str, Any]) -> dict[str | int, Any]:
    """Return a mapping with the numbers as keys that JSON has no place for."""
    return {int(key) if key.isdecimal() else key: value for key, value in mapping.items()}


def compiled(name: str) -> Lark:
    """Return a parser made of ``grammar/<name>.lark`` itself."""
    return Lark(
        grammar(name), start=STARTS[name], _plugins={"ContextualLexer": _Unchecked}, **_OPTIONS
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
