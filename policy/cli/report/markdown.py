"""Write blocks as Markdown, with all names and texts of files escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Final

from policy.cli.report import document as doc
from policy.core import expressions as re
from policy.core.credentials import masked
from policy.core.source import visible

# The most bytes of a comment on a forge (GitHub: 65,536 characters), with room for a line above.
LIMIT: Final = 65_000

# Characters with a meaning in Markdown.
_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>#|~&@"})

_STRONG: Final = frozenset({"strong", "allow", "ask", "deny", "error", "warning", "note"})


def report_markdown(report: doc.Report, most: int | None) -> str:
    """Return *report* as Markdown, with fewer entries if it is too long for a comment."""
    text = markdown(report.fitting(most, lambda blocks: len(markdown(blocks).encode()) <= LIMIT))
    return text if most is None else text.encode()[:LIMIT].decode("utf-8", "ignore")


def code(text: str, *, cell: bool = False) -> str:
    """Return *text* as a code span, in a *cell* of a table or elsewhere."""
    shown = visible(masked(text))
    if cell and "\\|" in shown:  # a backslash before a bar has no escape in a code span
        return f"<code>{''.join(c if c.isalnum() else f'&#{ord(c)};' for c in shown)}</code>"
    if cell:
        shown = shown.replace("|", "\\|")
    longest = max(map(len, re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest or shown.startswith(" ") else ""
    return f"{fence}{pad}{shown}{pad}{fence}" if shown else ""


def inline(text: doc.Text, *, cell: bool = False) -> str:
    """Return *text* as Markdown on one line, in a *cell* of a table or elsewhere."""
    return "".join(_inline(ink, cell=cell) for ink in doc.inked(text))


def _inline(ink: doc.Ink, *, cell: bool) -> str:
    if ink.role in doc.CODE:
        return code(ink.text, cell=cell)
    shown = ink.text.translate(_SPECIAL)
    return f"**{shown}**" if ink.role in _STRONG and shown else shown


def markdown(blocks: Iterable[doc.Block]) -> str:
    """Return *blocks* as a Markdown document."""
    return "\n".join(_lines(blocks, 2)).strip("\n") + "\n"


def _lines(blocks: Iterable[doc.Block], level: int) -> list[str]:
    lines: list[str] = []
    before: doc.Block | None = None
    for block in blocks:
        is_one_list = isinstance(before, doc.Item) and isinstance(block, doc.Item)
        if before is not None and not is_one_list:
            lines.append("")
        lines += _block(block, level)
        before = block
    return lines


def _block(block: doc.Block, level: int) -> list[str]:
    match block:
        case doc.Heading(text, depth):
            return [f"{'#' * depth} {inline(text)}"]
        case doc.Paragraph(text):
            return [inline(text)]
        case doc.Labelled(rows):
            return [
                f"- {inline(doc.Ink(label))}: {inline(text)}" if label else f"  - {inline(text)}"
                for label, text in rows
            ]
        case doc.Item(head, body):
            # A leading `+` or `-` starts no other list.
            entry = re.sub(r"^([+-]) ", r"\\\1 ", inline(head))
            return [f"- {entry}", *(f"  {line}".rstrip() for line in _lines(body, level))]
        case doc.Section(title, body, folded):
            inner = _lines(body, level + 1)
            if not folded:
                return [f"{'#' * level} {inline(title)}", "", *inner]
            summary = html.escape("".join(ink.text for ink in doc.inked(title)))
            return [f"<details><summary>{summary}</summary>", "", *inner, "", "</details>"]
        case doc.Grid(heads, rows) if not any(heads):
            joined = (" · ".join(filter(None, map(inline, row))) for row in rows)
            return [f"- {each.replace(' · →', ' →')}" for each in joined]
        case doc.Grid(heads, rows):
            cells = [[inline(each, cell=True) for each in row] for row in rows]
            return [
                f"| {' | '.join(row)} |"
                for row in ([inline(doc.Ink(h)) for h in heads], ["---"] * len(heads), *cells)
            ]
        case doc.Excerpt():
            return _fenced("".join(block.line[1:]))
        case doc.Verbatim(text, name):
            return [*([code(name), ""] if name else []), *_fenced(masked(text.rstrip("\n")))]


def _fenced(text: str) -> list[str]:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return [fence, *(visible(line.replace("\t", "    ")) for line in text.splitlines()), fence]
