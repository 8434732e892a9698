"""Where text comes from, how to show a part of it, and edits of it."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from functools import cached_property

from policy.core.values import field, frozen


@frozen
class Place:
    """``file:line:column``, counted from 1, columns in characters."""

    file: str
    line: int = 1
    column: int = 1

    def __lt__(self, other: Place) -> bool:
        return (self.file, self.line, self.column) < (other.file, other.line, other.column)

    def __str__(self) -> str:
        return f"{visible(self.file)}:{self.line}:{self.column}"


@frozen
class Source:
    """A text and the name people know it by."""

    name: str
    text: str = field(repr=False)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(i + 1 for i, char in enumerate(self.text) if char == "\n")]

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return the line and column of *offset*, both from 1."""
        line = bisect.bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return line *number* (from 1) without its line break."""
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a line and column, both from 1."""
        return self._line_starts[line - 1] + column - 1

    def span(self, start: int, end: int) -> Span:
        """Return the range from *start* up to *end*, without *end*."""
        return Span(self, start, end)

    def whole(self) -> Span:
        """Return the span of the first line, for claims about the whole text."""
        return Span(self, 0, len(self.line(1)))


@frozen(repr=False)
class Span:
    """A half-open range of characters in a source."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        """The characters of the range."""
        return self.source.text[self.start : self.end]

    @property
    def place(self) -> Place:
        """The place of the first character."""
        line, column = self.source.line_and_column(self.start)
        return Place(self.source.name, line, column)

    def __repr__(self) -> str:
        return f"<{self.place} {self.text!r}>"


def place_of(span: Span | None) -> Place | None:
    """Return the place of *span*, if there is one."""
    return span.place if span else None


# What an eye would not see: controls, and format characters such as zero-width joiners.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def named_project(text: str) -> str:
    """Return *text* with ``$PWD`` for the folder of a project that is not known."""
    # In a command that a host has put the folder into.
    return text.replace("/@project/", "$PWD/")


def visible(text: str) -> str:
    r"""Return *text* with every hidden character spelled out, e.g. ``\u202e``.

    What stands for the folder of the project is shown as `named_project` has it.
    """
    text = named_project(text)
    if text.isascii() and text.isprintable():
        return text
    import unicodedata  # noqa: PLC0415  # for letters that a call has seldom

    return "".join(
        char
        if unicodedata.category(char) not in _HIDDEN
        else char.encode("unicode_escape", "surrogatepass").decode("ascii")
        for char in text
    )


def quoted(names: Sequence[str], most: int = 6, *, last: str = "and") -> str:
    """Return names in backticks, e.g. ```a`, `b` and `c```; *last* precedes the last one."""
    shown = [f"`{visible(name)}`" for name in names[:most]]
    if len(names) > most:
        return ", ".join(shown) + f" {last} {len(names) - most} more"
    return f" {last} ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def cited(value: object) -> str:
    """Return *value* in backticks, as JSON, and not too long."""
    import json  # noqa: PLC0415  # to report a mistake, which a decision seldom does

    text = json.dumps(value, default=str)
    return f"`{visible(text[:80])}{'…' if len(text) > 80 else ''}`"


@frozen
class Edit:
    """A range of a source, and the text that replaces it ("" takes it out)."""

    span: Span
    text: str


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return the *text* of a source with all *edits* made; equal ones count once.

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
