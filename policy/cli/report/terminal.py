"""Write blocks as lines of a terminal, filled to its width, with or without colour."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from policy.cli.report import document as doc
from policy.core import expressions as re
from policy.core.credentials import masked
from policy.core.source import Span, visible
from policy.core.values import frozen

# Role -> its style (ECMA-48, "select graphic rendition").
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
    "call": "1",
    "agent": "1",
    "strong": "1",
    "file": "2",
    "dim": "2",
}

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")

# The least width behind a label, and of a column of a table, however narrow the page.
_LEAST = 16
_LEAST_COLUMN = 6

_ENDLESS = 1 << 30  # a width at which no text breaks

_GAP = 2  # blanks between two columns of a table

# The most columns of a word in a table, and of a part of a word, that is not broken if it fits.
_LONGEST_WORD = 24
_LONGEST_PART = 20


def width(text: str) -> int:
    """Return the columns that *text* takes up on a terminal."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clipped(text: str, columns: int) -> str:
    """Return *text*; if it is wider than *columns*, with ``…`` in place of its end."""
    if len(_fitting(text, columns)) == len(text):
        return text
    return _fitting(text, max(columns - 1, 0)) + "…"


def _fitting(text: str, columns: int) -> str:
    """Return the longest prefix of *text* that is at most *columns* wide."""
    taken = 0
    for index, character in enumerate(text):
        taken += _columns(character)
        if taken > columns:
            return text[:index]
    return text


_PUNCTUATION = 2  # at most so many columns of it

# A word: the pieces between two blanks at which a line may break, with their roles.
_Word = list[tuple[str, str]]


def _words(text: doc.Text, role: str) -> Iterator[tuple[int, _Word]]:
    """Yield the words of *text*, each with the number of blanks before it."""
    blanks, word = 0, _Word()
    for piece in doc.pieces(text):
        if isinstance(piece, doc.Ink):
            quoted = f"`{piece.text}`" if piece.role == "code" else piece.text
            word.append((quoted, piece.role or role))
            continue
        for number, part in enumerate(piece.split(" ")):
            if number:
                if word:
                    yield blanks, word
                    blanks, word = 0, []
                blanks += 1
            if part:
                word.append((part, role))
    if word:
        yield blanks, word


@frozen
class PageLayout:
    """The width of a page, and whether it has colours."""

    width: int = 100
    colour: bool = False

    def paint(self, text: str, role: str) -> str:
        """Return *text* in the style of a role."""
        code = _STYLES.get(role) if self.colour and text else None
        return f"\x1b[{code}m{text}\x1b[0m" if code else text

    def fill(
        self, text: doc.Text, head: str = "", *, indent: int | None = None, role: str = ""
    ) -> list[str]:
        """Return *text* as filled lines: the first begins with *head*, the others with *indent*.

        By default *indent* is as wide as *head*. *role* applies to pieces without a role.
        """
        margin = width(head) if indent is None else indent
        if self.width - margin < _LEAST:
            margin = min(margin, 4)
        lines, line, taken, empty = list[str](), head, width(head), True
        if self.width - taken < _LEAST and head.strip():
            lines, line, taken = [head.rstrip()], " " * margin, margin
        for blanks, word in _words(text, role):
            size = sum(width(part) for part, _ in word)
            if not empty and taken + blanks + size > self.width:
                lines.append(line)
                line, taken, empty = " " * margin, margin, True
            elif not empty:
                line, taken = line + " " * blanks, taken + blanks
            for number, (part, style) in enumerate(word):
                # Punctuation stays with the word before it.
                behind = "".join(each for each, _ in word[number + 1 :])
                behind = behind if len(behind) <= _PUNCTUATION else ""
                chunks = _broken(part + behind, self.width - taken, self.width - margin)
                first, *others = [*chunks[:-1], chunks[-1].removesuffix(behind)]
                line, taken = line + self.paint(first, style), taken + width(first)
                for chunk in others:
                    lines.append(line.rstrip())
                    line, taken = " " * margin + self.paint(chunk, style), margin + width(chunk)
            empty = False
        return [*lines, line.rstrip() if empty else line]


def _broken(text: str, first: int, rest: int) -> list[str]:
    """Return *text* in parts: the first is at most *first* columns wide, the others *rest*."""
    parts, room = list[str](), first
    while width(text) > room and width(text) > 1:
        fitting = _fitting(text, max(room, 0 if not parts else 1))
        if not fitting and (parts or room >= rest):
            fitting = text[0]
        # A break between the parts of a command or a path is better than one within a word.
        cuts = (max((end.end() for end in re.finditer(e, fitting)), default=0) for e in _ENDS)
        fitting = fitting[: next((cut for cut in cuts if 3 * cut >= len(fitting)), None)]
        parts.append(fitting.rstrip(" "))
        text, room = text[len(fitting) :].lstrip(" "), rest
    return [*parts, text]


# Characters behind which a long text is broken, the best first.
_ENDS = (r" ", r"(?<=\w)/|//|(?<=\w):(?![*/])", r"(?<=\w)-")


def terminal(blocks: Iterable[doc.Block], page: PageLayout) -> str:
    """Return *blocks* as text for *page*."""
    return "".join(f"{line}\n" for line in lines(blocks, page))


def lines(blocks: Iterable[doc.Block], page: PageLayout, indent: int = 0) -> list[str]:
    """Return the lines of *blocks*, with a blank line around blocks of several lines."""
    shown: list[str] = []
    before: doc.Block | None = None
    for block in blocks:
        if before is not None and (_is_loose(before) or _is_loose(block)):
            shown.append("")
        shown += _block(block, page, indent)
        before = block
    return shown


def _is_loose(block: doc.Block) -> bool:
    if isinstance(block, doc.Item):
        return bool(block.body)
    if isinstance(block, doc.Grid):
        return any(block.heads)
    return isinstance(block, doc.Heading | doc.Section | doc.Verbatim)


def _block(block: doc.Block, page: PageLayout, indent: int) -> list[str]:
    head = " " * indent
    match block:
        case doc.Heading(text):
            return page.fill(text, head, role="strong")
        case doc.Paragraph(text, role):
            return page.fill(text, head, role=role)
        case doc.Item(text, body):
            return [*page.fill(text, head, indent=indent + 2), *lines(body, page, indent + 2)]
        case doc.Section(title, body):
            return [*page.fill(title, head, role="strong"), *lines(body, page, indent + 2)]
        case doc.Labelled(rows):
            wide = max(len(label) for label, _ in rows) + 2
            return [
                line
                for label, text in rows
                for line in page.fill(text, head + page.paint(f"{label:<{wide}}", "dim"))
            ]
        case doc.Grid():
            return _table(block, page, indent)
        case doc.Excerpt(span, role):
            return excerpt(span, page, role=role, indent=head)
        case doc.Verbatim(text, name):
            top = [head + page.paint(f"--- {visible(name)}", "strong")] if name else []
            return [*top, *(head + visible(line) for line in masked(text).splitlines())]


def _longest(column: Sequence[doc.Text]) -> tuple[int, int]:
    """Return the widths of the longest word in a column, and of the longest part of a word."""
    words = ["".join(part for part, _ in word) for c in column for _, word in _words(c, "")] or [""]
    parts = (
        part for word in words for part in re.split(r" |(?<=\w[/-])|(?<=//)|(?<=\w:)(?![*/])", word)
    )
    return min(max(map(width, words)), _LONGEST_WORD), min(max(map(width, parts)), _LONGEST_PART)


@lru_cache(maxsize=1 << 14)  # tables repeat cells, and are tried with several numbers of rows
def _height(cell: doc.Text, columns: int) -> int:
    return len(PageLayout(columns).fill(cell))


def _widths(columns: Sequence[Sequence[doc.Text]], room: int) -> list[int]:
    """Return the widths of columns that give few lines; nothing if the table does not fit."""
    wide = [max(width(PageLayout(_ENDLESS).fill(c)[0]) for c in column) for column in columns]
    longest = [*map(_longest, columns)]
    if room < max(_LEAST_COLUMN * len(wide), sum(part for _, part in longest)):
        return []
    least, cap = [word for word, _ in longest], _LONGEST_WORD
    while sum(least) > room:
        cap -= 1
        least = [max(min(word, cap), part) for word, part in longest]
    while (over := sum(wide) - room) > 0:
        heights = [[_height(c, wide[at]) for c in column] for at, column in enumerate(columns)]
        best: tuple[int, ...] = ()
        for at, column in enumerate(columns):
            less = max(wide[at] - max(over // 8, 1), least[at])
            tried = [*heights[:at], [_height(cell, less) for cell in column], *heights[at + 1 :]]
            if less < wide[at]:
                cost = sum(map(max, zip(*tried, strict=True))), -wide[at], at, less
                best = min(best or cost, cost)
        wide[best[2]] = best[3]
    return wide


def _table(table: doc.Grid, page: PageLayout, indent: int) -> list[str]:
    """Return the lines of a table: in columns, or as labelled rows if the page is too narrow."""
    titles = [row for row in table.rows if len(row) > 1 and not any(row[1:])]
    columns = [*zip(table.heads, *(row for row in table.rows if row not in titles), strict=True)]
    wide = _widths(columns, page.width - indent - _GAP * (len(columns) - 1))
    if not wide:
        stacked = [doc.Labelled(tuple(zip(table.heads, row, strict=True))) for row in table.rows]
        return [line for fields in stacked for line in [*_block(fields, page, indent), ""]][:-1]
    lines = []
    for row in [table.heads, *table.rows] if any(table.heads) else table.rows:
        role = "dim" if row is table.heads else ""
        if row in titles:
            lines += page.fill(row[0], " " * indent)
            continue
        cells = [
            PageLayout(columns, page.colour).fill(cell, role=role)
            for cell, columns in zip(row, wide, strict=True)
        ]
        for number in range(max(map(len, cells))):
            line = [cell[number] if number < len(cell) else "" for cell in cells]
            padded = [
                text + " " * (columns - width(text))
                for text, columns in zip(line, wide, strict=True)
            ]
            lines.append((" " * indent + (" " * _GAP).join(padded)).rstrip())
    return lines


_LEAST_EXCERPT = 24  # the least columns of a line, however narrow the page
_BEFORE = 40  # how many columns before the carets remain where a line is cut


def excerpt(span: Span, page: PageLayout, *, role: str = "error", indent: str = "") -> list[str]:
    """Return the line of *span* and a line of carets, not wider than *page*."""
    number, before, marked, after = doc.Excerpt(span).line
    gutter = " " * len(str(number))
    room = page.width - len(indent) - len(gutter) - 3
    if room < _LEAST_EXCERPT:
        indent, room = "", max(page.width - len(gutter) - 3, _LEAST_EXCERPT)
    if width(before + marked + after) > room:
        keep = max(min(_BEFORE, room - width(marked) - 2), room // 4)
        if width(before) > keep:
            before = "…" + _fitting(before[::-1], keep - 1)[::-1]
    shown = clipped(before + marked + after, room)
    marks = max(min(width(marked), room - width(before)), 1)
    return [
        indent + page.paint(f"{number} |", "dim") + f" {shown}".rstrip(),
        indent
        + page.paint(f"{gutter} |", "dim")
        + f" {' ' * width(before)}{page.paint('^' * marks, role)}",
    ]
