"""Edits of a text: ranges and what stands in their place."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from policy.source import Span

__all__ = ["Edit", "edited"]


@attrs.frozen
class Edit:
    """A range of a source, and the text that replaces it ("" takes it out)."""

    span: Span
    text: str


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return *text* with all *edits* made; equal ones count once.

    Args:
        text: of the source that every span is of.
        edits: in any order.

    Raises:
        ValueError: two of them overlap.

    """
    parts, end = [], 0
    for edit in sorted(set(edits), key=lambda edit: (edit.span.start, edit.span.end)):
        if edit.span.start < end:
            raise ValueError(f"{edit.span.place}: two edits of one text")
        parts += [text[end : edit.span.start], edit.text]
        end = edit.span.end
    return "".join([*parts, text[end:]])
