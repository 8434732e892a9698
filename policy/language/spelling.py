"""How tools and names are spelled in our notation."""

from __future__ import annotations

import re

__all__ = ["is_bare_name", "is_tool", "unescaped"]

_TOOL = re.compile(r"[A-Za-z0-9_.:*-]+")
_NAME = re.compile(r"[\w.@/-]+(?::[\w.@/-]+)*")


def is_tool(text: str) -> bool:
    """Return whether *text* can be the tool of a matcher."""
    return _TOOL.fullmatch(text) is not None


def is_bare_name(text: str) -> bool:
    """Return whether *text* is a name that needs no quotes."""
    return _NAME.fullmatch(text) is not None


def unescaped(text: str, escapes: str) -> str:
    r"""Return *text* without the backslashes of *escapes*, ``\\`` and ``\n``."""
    if "\\" not in text:
        return text
    return re.sub(
        rf"\\([{re.escape(escapes)}n\\])", lambda found: "\n" if found[1] == "n" else found[1], text
    )
