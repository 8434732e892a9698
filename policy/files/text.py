"""Decode files, and make edits that remove a line or an item."""

from __future__ import annotations

from typing import Final

from policy.core import expressions as re
from policy.core.errors import PolicyError
from policy.core.source import Edit, Source, Span, visible
from policy.core.values import frozen

BYTE_ORDER_MARK: Final = "\ufeff"


@frozen
class FileText(Source):
    """The text of a file, without its byte order mark. Some hosts refuse a file with the mark."""

    byte_order_mark: bool = False


def decode(name: str, data: bytes) -> FileText:
    """Return the text of the file *name*; raise `PolicyError` unless it is UTF-8."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(name, data, error.start) from None
    if text.startswith(BYTE_ORDER_MARK):
        return FileText(name, text[1:], byte_order_mark=True)
    return FileText(name, text)


def has_byte_order_mark(source: Source) -> bool:
    """Return whether the text, or its file, starts with the mark."""
    if isinstance(source, FileText) and source.byte_order_mark:
        return True
    return source.text.startswith(BYTE_ORDER_MARK)


def _not_utf8(name: str, data: bytes, offset: int) -> PolicyError:
    mend = "save the file as UTF-8"
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return PolicyError("the file is UTF-16, not UTF-8", file=name, help=mend)
    # The text before the bad byte is decoded to give the mistake a place.
    source = Source(name, data.decode("utf-8", "replace"))
    start = len(data[:offset].decode("utf-8"))
    message = f"the byte `0x{data[offset]:02x}` is not UTF-8"
    return PolicyError(message, source.span(start, start + 1), help=mend)


_CITED = 60  # the most characters of a file in a message


def cite(text: str) -> str:
    """Return *text* in backticks, on one line, escaped, and cut if it is too long."""
    first, _, more = text.strip().partition("\n")
    if len(first) > _CITED or more:
        first = first[:_CITED].rstrip() + "…"
    return f"`{visible(first)}`"


def line_removal(span: Span, before: str = r"[ \t]*") -> tuple[Edit, ...]:
    """Return the edit that removes the line of *span*, if only *before* matches its other text."""
    text = span.source.text
    start, end = text.rfind("\n", 0, span.start) + 1, text.find("\n", span.end) + 1 or len(text)
    alone = re.fullmatch(before, text[start : span.start]) and not text[span.end : end].strip()
    return (Edit(span.source.span(start, end), ""),) if alone else ()


def removal(span: Span) -> tuple[Edit, ...]:
    """Return the edit that removes an item from a list with commas, or of lines as in YAML.

    Outside JSON the only item stays, since an empty list may mean something else.
    """
    text = span.source.text
    after = len(text) - len(text[span.end :].lstrip(" \t\r\n"))
    if text[after : after + 1] == ",":
        rest = text[after + 1 :]
        following = after + 1 + len(rest) - len(rest.lstrip(" \t\r\n"))
        if text[following : following + 1] not in ("", "]", "#", "/"):
            return (Edit(span.source.span(span.start, following), ""),)
    before = len(text[: span.start].rstrip(" \t\r\n"))
    if text[before - 1 : before] == ",":
        return (Edit(span.source.span(before - 1, span.end), ""),)
    alone = text[before - 1 : before] + text[after : after + 1] == "[]"
    if alone and span.source.name.endswith(".json"):
        return (Edit(span, ""),)
    start = text.rfind("\n", 0, span.start) + 1
    item, behind = _ITEM.fullmatch(text, start, span.start), _REST.match(text, span.end)
    if item is None or behind is None:
        return ()
    above = text[:start].rstrip("\n").rpartition("\n")[2]
    has_others = above.startswith(item[1]) or text.startswith(item[1], behind.end())
    return (Edit(span.source.span(start, behind.end()), ""),) if has_others else ()


# The text before an item on its line: `- rule`, `- "rule"` or `- {rule: …}`.
_ITEM: Final = re.compile(r"([ \t]*-[ \t]+)(?:\{[ \t]*rule:[ \t]*)?['\"]?")
_REST: Final = re.compile(r"['\"]?[ \t]*\}?[ \t]*\r?(?:\n|\Z)")
