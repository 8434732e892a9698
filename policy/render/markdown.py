"""Pieces of Markdown that no name of a file can break out of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policy.credentials import masked
from policy.source import visible

__all__ = ["code", "item", "prose", "table"]

# What would make more of a text than text.
_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>()#|!~&@"})


def code(text: str) -> str:
    """Return *text* as code, whatever it holds."""
    shown = visible(masked(text)).replace("|", "\\|")
    longest = run = 0
    for character in shown:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    fence = "`" * (longest + 1)
    pad = " " if longest or shown.startswith(" ") else ""
    return f"{fence}{pad}{shown}{pad}{fence}" if shown else ""


def prose(text: str) -> str:
    """Return *text* as text, on one line; what stands in backticks stays code."""
    parts = visible(masked(" ".join(text.split()))).split("`")
    if len(parts) % 2 == 0:
        return "`".join(parts).translate(_SPECIAL)
    return "".join(
        code(part) if index % 2 else part.translate(_SPECIAL) for index, part in enumerate(parts)
    )


def item(text: str, level: int = 0) -> str:
    """Return an item of a list."""
    return f"{'  ' * level}- {text}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table of cells that are Markdown already."""
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]
