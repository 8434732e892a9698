"""Pieces of HTML that no name of a file can break out of."""

from __future__ import annotations

import hashlib
import html

from policy.core.credentials import masked
from policy.core.source import visible

__all__ = ["anchor", "code", "place", "prose", "text"]


def text(value: str) -> str:
    """Return *value* as text, for an element or an attribute in double quotes."""
    return html.escape(visible(masked(value)), quote=True)


def place(value: str) -> str:
    """Return a place as text that breaks behind a folder or before a line, if it must."""
    shown = text(value)
    return shown.replace("/", "/<wbr>").replace(":", "<wbr>:", 1)


def code(value: str) -> str:
    """Return *value* as code."""
    return f"<code>{text(value)}</code>"


def prose(value: str) -> str:
    """Return *value* as text, in which what stands in backticks is code."""
    parts = visible(masked(value)).split("`")
    if len(parts) % 2 == 0:
        return text(value)
    return "".join(code(part) if index % 2 else text(part) for index, part in enumerate(parts))


def anchor(*parts: str) -> str:
    """Return what identifies *parts* in a page: letters and digits, whatever they hold."""
    return "x" + hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
