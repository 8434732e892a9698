"""Rules that are given as flags, `--allowedTools` and `--disallowedTools`: each value is a list.

A value is cut at commas and spaces outside parentheses. The first that closes counts for all
that are open, so that `Bash(echo $(date) && make)` falls into `Bash(echo $(date)`, `&&` and
`make)`; what a value denies is, beside these, what stands between parentheses that match
(2.1.329, by its text and observed).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from policy.effect import Effect

__all__ = ["cut_flag"]

_ENTRY: Final = re.compile(r"(?:\([^)]*(?:\)|\Z)|[^, (])+")
# A rule that falls apart; one that begins with a negation opens no more than its pieces do.
_APART: Final = re.compile(r"[^( ]+\((?![\s./~\\]*!).*\)[ ,].*\)", re.DOTALL)


def cut_flag(text: str, effect: Effect) -> Iterator[str]:
    """Yield the rules of *effect* that one value of a flag comes to."""
    yield from (entry.strip() for entry in _ENTRY.findall(text))
    if effect is Effect.DENY:
        yield from filter(_APART.fullmatch, _balanced(text))


def _balanced(text: str) -> Iterator[str]:
    """Yield what stands between commas and spaces outside parentheses that match."""
    depth = start = 0
    stray = False
    escaped = False
    for position, character in enumerate(text + ","):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == "(":
            depth += 1
        elif character == ")":
            stray |= depth == 0
            depth = max(0, depth - 1)
        elif position == len(text) or (depth == 0 and character in ", "):
            if depth == 0 and not stray:
                yield text[start:position].strip()
            start, stray = position + 1, False
