"""Calls that an agent writes as a fenced block: refused, since no list would see them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["COMMAND", "blocked_fence"]

# What the refusal names as the tool.
COMMAND: Final = "fenced-block"

_FENCE: Final = re.compile(r"(?ms)^[ \t]*```[ \t]*([^\s`]*)[^\n]*\n(.*?)^[ \t]*```")


def blocked_fence(text: str, tags: Iterable[str]) -> str | None:
    """Return the tag of the first closed fence in *text* that is a tool's, or None.

    Whether somebody confirmed the call does not matter.
    """
    registered = set(tags)
    return next((found[1] for found in _FENCE.finditer(text) if found[1] in registered), None)
