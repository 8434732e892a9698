"""One line of YAML, taken apart as far as it is ``key: value``.

For explaining mistakes only: what is read is what the YAML parser says.
"""

from __future__ import annotations

import re
from typing import Final

import attrs

from policy.source import Source, Span

__all__ = ["ENTRY", "STRING", "Line", "Range", "closing", "line_at", "quoted"]


@attrs.frozen
class Range:
    """The part of a source that is read as YAML."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        """The characters of the part."""
        return self.source.text[self.start : self.end]

    def span(self, start: int, end: int) -> Span:
        """Return a span of the source, by its offsets there."""
        return self.source.span(start, end)


@attrs.frozen
class Line:
    """A line, and ``key: value`` where it is that.

    ``at`` is where the parser stopped on it; ``value`` starts at ``value_start``
    and ends with the line.
    """

    part: Range
    at: int
    start: int
    text: str
    key: str = ""
    value: str = ""
    value_start: int = 0

    def span(self, start: int, end: int) -> Span:
        """Return characters *start* to *end* of the value."""
        return self.part.span(self.value_start + start, self.value_start + end)

    def whole(self) -> Span:
        """Return the line without the blanks around it."""
        return self.part.span(self.start + self.indent, self.start + len(self.text.rstrip()))

    @property
    def indent(self) -> int:
        """How many blanks the line starts with."""
        return len(self.text) - len(self.text.lstrip())


ENTRY: Final = re.compile(
    r"(?:[ ]|-[ ])*+"
    r"(?P<key>\"[^\"]*+\"|'[^']*+'|[^\s:#\"'\[\]{},&*!|>%@`-][^:]*+)[ ]*:(?:[ \t]++|$)"
    r"(?P<value>.*)"
)
_ITEM: Final = re.compile(r"[ ]*+(?:-[ ]++)++(?P<value>.*)")


def line_at(part: Range, offset: int) -> Line:
    """Return the line of *offset*."""
    text = part.source.text
    start = max(text.rfind("\n", part.start, offset) + 1, part.start)
    end = text.find("\n", offset, part.end)
    line = text[start : part.end if end < 0 else end].rstrip("\r")
    found = ENTRY.match(line) or _ITEM.match(line)
    if not found:
        return Line(part, offset, start, line)
    groups = found.groupdict()
    key, value = groups.get("key", ""), groups["value"].rstrip()
    return Line(part, offset, start, line, key, value, start + found.start("value"))


STRING: Final = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^']|'')*+'", re.DOTALL)

# Within brackets: strings, comments and brackets.
_BRACKETED: Final = re.compile(STRING.pattern + r"|(?<=[ \t])#[^\n]*|[\[\]{}]", re.DOTALL)


def closing(text: str, start: int, end: int) -> int | None:
    """Return the offset after the bracket that closes the one at *start*."""
    depth = 0
    for found in _BRACKETED.finditer(text, start, end):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return None


_SHOWN: Final = 70  # characters of an example in a help line


def quoted(line: Line) -> str:
    """Return help that shows the value in quotes, if it is short enough to show."""
    value = line.value.strip()
    name = f"{line.key}: " if line.key else "- "
    if len(name) + len(value) <= _SHOWN:
        if not re.search(r'["\\]', value):
            return f'put the value in quotes: `{name}"{value}"`'
        if "'" not in value:
            return f"put the value in quotes: `{name}'{value}'`"
    return f"put the value in quotes, or write `{name}>-` and the text below it, indented"
