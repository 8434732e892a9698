"""Where the grammars are: in the package, or beside it in a checkout."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["grammar"]


def grammar(name: str) -> str:
    """Return the text of ``grammar/<name>.lark``."""
    return (_folder() / f"{name}.lark").read_text(encoding="utf-8")


def _folder() -> Traversable:
    packaged = files("policy") / "grammar"
    if packaged.is_dir():
        return packaged
    return Path(__file__).resolve().parent.parent / "grammar"
