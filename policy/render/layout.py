"""Lines for a page: widths, wrapping and colour.

Text is measured as a terminal shows it, and broken so that no line is wider
than the page. Colour is added last, so that it never takes up room.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

import attrs

from policy.effect import Effect

__all__ = ["Ink", "Page", "clipped", "width"]

# What a style is on a terminal (ECMA-48, "select graphic rendition").
_STYLES = {
    "allow": "32",
    "ask": "33",
    "deny": "31",
    "error": "1;31",
    "warning": "1;33",
    "note": "1;36",
    "widened": "1;31",
    "narrowed": "1;32",
    "good": "32",
    "bold": "1",
    "dim": "2",
}

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")

# The least a line has room for behind its label, however narrow the page.
_LEAST = 16


def width(text: str) -> int:
    """Return the columns that *text* takes up on a terminal."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clipped(text: str, columns: int) -> str:
    """Return *text*, its end replaced by ``…`` where it is wider than *columns*."""
    if width(text) <= columns:
        return text
    return _fitting(text, max(columns - 1, 0)) + "…"


def _fitting(text: str, columns: int) -> str:
    """Return the longest start of *text* that fits."""
    if text.isascii():
        return text[:columns]
    taken = 0
    for index, character in enumerate(text):
        taken += _columns(character)
        if taken > columns:
            return text[:index]
    return text


@attrs.frozen
class Ink:
    """A piece of text in a style; it is broken over lines only where it must be."""

    text: str
    style: str = ""


@attrs.frozen
class Page:
    """How wide lines may be, and whether they have colour."""

    width: int = 100
    colour: bool = False

    def paint(self, text: str, style: str) -> str:
        """Return *text* in a style."""
        code = _STYLES.get(style) if self.colour and text else None
        return f"\x1b[{code}m{text}\x1b[0m" if code else text

    def effect(self, effect: Effect) -> str:
        """Return the word for *effect*, in its colour."""
        return self.paint(effect.value, effect.value)

    def flow(
        self,
        pieces: Iterable[str | Ink],
        head: str = "",
        *,
        indent: int | None = None,
        separator: str = ", ",
    ) -> list[str]:
        """Return *pieces* filled into lines, a piece in one line where it fits.

        Args:
            pieces: what to show.
            head: what stands before the first, painted or not.
            indent: of the lines that follow; by default the width of *head*.
            separator: between two pieces; at the end of a line without blanks.

        """
        margin = width(head) if indent is None else indent
        if self.width - margin < _LEAST:
            margin = min(margin, 4)
        lines, line, taken, empty = list[str](), head, width(head), True
        if self.width - taken < _LEAST and head.strip():
            lines, line, taken = [head.rstrip()], " " * margin, margin
        inks = [piece if isinstance(piece, Ink) else Ink(piece) for piece in pieces]
        tail = width(separator.rstrip())
        for number, piece in enumerate(inks):
            ink = piece
            last = number == len(inks) - 1
            needed = width(ink.text) + (0 if last else tail)
            if not empty and taken + width(separator) + needed > self.width:
                lines.append(line + separator.rstrip())
                line, taken, empty = " " * margin, margin, True
                ink = attrs.evolve(ink, text=ink.text.lstrip(" "))
            elif not empty:
                line, taken = line + separator, taken + width(separator)
            chunks = _broken(ink.text, self.width - taken, self.width - margin, 0 if last else tail)
            for chunk in chunks[:-1]:
                lines.append(line + self.paint(chunk.rstrip(" "), ink.style))
                line, taken = " " * margin, margin
            line += self.paint(chunks[-1], ink.style)
            taken += width(chunks[-1])
            empty = False
        return [*lines, line.rstrip() if empty else line]

    def prose(
        self, text: str, head: str = "", *, indent: int | None = None, style: str = ""
    ) -> list[str]:
        """Return *text* filled into lines between its words."""
        words = [Ink(word, style) for word in text.split(" ") if word]
        return self.flow(words, head, indent=indent, separator=" ")


def _broken(text: str, first: int, rest: int, tail: int) -> list[str]:
    """Return *text* in parts: the first fits *first* columns, the others *rest*."""
    parts, room = list[str](), first
    while width(text) + tail > room and width(text) > 1:
        fitting = _fitting(text, max(room, 1)) or text[0]
        if len(fitting) == len(text):  # only what follows it does not fit
            fitting = fitting[: max(len(fitting) - tail, 1)]
        # Better between the parts of a command or a path than within a word.
        cut = max(fitting.rfind(" "), fitting.rfind("/")) + 1
        fitting = fitting[:cut] if cut > len(fitting) // 2 else fitting
        parts.append(fitting)
        text, room = text[len(fitting) :], rest
    return [*parts, text]
