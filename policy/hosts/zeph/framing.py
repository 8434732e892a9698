"""Where the header of a definition starts and ends, to the byte as Zeph has it.

The first bytes are three dashes, or three plus signs, and a line break. The
header ends at the first line break that is followed by the same three signs,
whatever stands behind them; that is the start of the body.
"""

from __future__ import annotations

import re
from typing import Final

import attrs

from policy.dialect import BLANKS
from policy.documents.frontmatter import Kind as Language
from policy.documents.text import BYTE_ORDER_MARK, has_byte_order_mark
from policy.hosts.zeph.errors import Kind, ZephError
from policy.source import Source

__all__ = ["Framed", "frame"]


@attrs.frozen
class Framed:
    """A definition taken apart: offsets of its header, and the text below it."""

    language: Language
    start: int
    end: int
    body: str


_OPENING: Final = re.compile(r"(---|\+\+\+)\r?\n")
_NAMES: Final = {"---": "YAML", "+++": "TOML"}
_LANGUAGES: Final = {"---": Language.YAML, "+++": Language.TOML}
_MISSING: Final = (
    "missing frontmatter delimiters: expected `---` (YAML) or `+++` (TOML, deprecated)"
)


def frame(source: Source) -> Framed:
    """Return the parts of *source*.

    Raises:
        ZephError: there is no header, or it is never closed.

    """
    opening = _OPENING.match(source.text)
    if has_byte_order_mark(source):
        first = source.span(0, 1 if source.text.startswith(BYTE_ORDER_MARK) else 0)
        help_ = "save the file without a byte order mark"
        raise ZephError(Kind.PARSE, _MISSING, first, help=help_)
    if opening is None:
        help_ = "make `---` the whole first line of the file"
        raise ZephError(Kind.PARSE, _MISSING, source.whole(), help=help_)
    signs, start = opening[1], opening.end()
    end = source.text.find("\n" + signs, start)
    if end < 0:
        raise ZephError(
            Kind.PARSE,
            f"missing closing `{signs}` delimiter for {_NAMES[signs]} frontmatter",
            source.span(0, 3),
            help=f"write `{signs}` on a line of its own behind the last key",
        )
    # The line break belongs to the header, so that a mistake at its end has a line.
    return Framed(_LANGUAGES[signs], start, end + 1, source.text[end + 4 :].strip(BLANKS))
