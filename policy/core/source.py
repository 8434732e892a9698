"""Sources of text with spans and places, edits, and texts for people."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from functools import cached_property

from policy.core.values import field, frozen


@frozen
class Place:
    """``file:line:column``; lines and columns count from 1, columns in characters."""

    file: str
    line: int = 1
    column: int = 1

    def __lt__(self, other: Place) -> bool:
        return (self.file, self.line, self.column) < (other.file, other.line, other.column)

    def __str__(self) -> str:
        return f"{visible(self.file)}:{self.line}:{self.column}"


@frozen
class Source:
    """A text, and its name in messages, such as the path of its file."""

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
        """Return the span from *start* up to, and without, *end*."""
        return Span(self, start, end)

    def whole(self) -> Span:
        """Return the span of the first line, for messages about the whole text."""
        return Span(self, 0, len(self.line(1)))


@frozen(repr=False)
class Span:
    """The characters of *source* from *start* up to, and without, *end*."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        """The characters of the span."""
        return self.source.text[self.start : self.end]

    @property
    def place(self) -> Place:
        """The place of the first character."""
        line, column = self.source.line_and_column(self.start)
        return Place(self.source.name, line, column)

    def __repr__(self) -> str:
        return f"<{self.place} {self.text!r}>"


def place_of(span: Span | None) -> Place | None:
    """Return the place of *span*; None for None."""
    return span.place if span else None


# Categories of invisible characters: controls, and format characters such as zero-width joiners.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def named_project(text: str) -> str:
    """Return *text* with ``$PWD`` in place of ``/@project``, an unknown folder of a project."""
    # A host may insert the folder into a command.
    return text.replace("/@project/", "$PWD/")


def visible(text: str) -> str:
    r"""Return *text* with every invisible character escaped, e.g. ``\u202e``.

    An unknown folder of a project is shown as in `named_project`.
    """
    text = named_project(text)
    if text.isascii() and text.isprintable():
        return text
    import unicodedata  # noqa: PLC0415  # calls rarely have such letters

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
    """Return *value* in backticks, as JSON, cut if it is too long."""
    import json  # noqa: PLC0415  # only mistakes need it

    text = json.dumps(value, default=str)
    return f"`{visible(text[:80])}{'…' if len(text) > 80 else ''}`"


@frozen
class Edit:
    """A span, and the text that replaces it; "" removes it."""

    span: Span
    text: str


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return the *text* of a source with all *edits* made; equal edits are made once.

    Raises:
        ValueError: two edits overlap.

    """
    parts, end = [], 0
    for edit in sorted(set(edits), key=lambda edit: (edit.span.start, edit.span.end)):
        if edit.span.start < end:
            raise ValueError(f"{edit.span.place}: two edits of one text")
        parts += [text[end : edit.span.start], edit.text]
        end = edit.span.end
    return "".join([*parts, text[end:]])
