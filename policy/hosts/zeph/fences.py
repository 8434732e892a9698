"""Calls that an agent writes as a fenced block: refused, since no list would see them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["COMMAND", "blocked_fence"]

# What the refusal names as the tool.
COMMAND: Final = "fenced-block"


def blocked_fence(text: str, tags: Iterable[str]) -> str | None:
    """Return the first of *tags* that a closed fence in *text* has, or None.

    A fence may stand anywhere, also within a line, as may the three signs that
    close it. Whether somebody confirmed the call does not matter.
    """
    return next((tag for tag in tags if _closed(tag).search(text)), None)


def _closed(tag: str) -> re.Pattern[str]:
    # `bashrc` and `bash-x` are other tags.
    return re.compile(rf"```{re.escape(tag)}(?![\w-]).*?```", re.DOTALL)
