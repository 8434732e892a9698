"""Blocks as Markdown that no name of a file can break out of."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final

from policy.cli.report.document import (
    CODE,
    Block,
    Excerpt,
    Graph,
    Grid,
    Heading,
    Ink,
    Item,
    Labelled,
    Paragraph,
    Report,
    Section,
    Text,
    Verbatim,
    pieces,
)
from policy.core.credentials import masked
from policy.core.source import visible

__all__ = ["LIMIT", "code", "inline", "markdown", "report_markdown"]

# Bytes of a comment on a forge (GitHub: 65,536 characters), with room for a line above it.
LIMIT: Final = 65_000

# Characters with a meaning in Markdown.
_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>#|~&@"})

_STRONG: Final = frozenset({"strong", "allow", "ask", "deny", "error", "warning", "note"})


def report_markdown(report: Report, most: int | None) -> str:
    """Return *report*; with fewer entries of its lists where it is too long for a comment."""
    text = markdown(report.fitting(most, lambda blocks: len(markdown(blocks).encode()) <= LIMIT))
    return text if most is None else text.encode()[:LIMIT].decode("utf-8", "ignore")


def code(text: str) -> str:
    """Return *text* as code."""
    shown = visible(masked(text)).replace("|", "\\|")
    longest = max(map(len, re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest or shown.startswith(" ") else ""
    return f"{fence}{pad}{shown}{pad}{fence}" if shown else ""


def inline(text: Text) -> str:
    """Return *text* on one line."""
    return "".join(map(_inline, pieces(text)))


def _inline(piece: str | Ink) -> str:
    if isinstance(piece, Ink):
        if piece.role in CODE:
            return code(piece.text)
        shown = piece.text.translate(_SPECIAL)
        return f"**{shown}**" if piece.role in _STRONG and shown else shown
    parts = piece.split("`")
    if len(parts) % 2 == 0:
        return piece.translate(_SPECIAL)
    return "".join(
        code(part) if index % 2 else part.translate(_SPECIAL) for index, part in enumerate(parts)
    )


def markdown(blocks: Iterable[Block]) -> str:
    """Return *blocks* as a document."""
    return "\n".join(_lines(blocks, 2)).strip("\n") + "\n"


def _lines(blocks: Iterable[Block], level: int) -> list[str]:
    found: list[str] = []
    before: Block | None = None
    for block in blocks:
        if before is not None and not (isinstance(before, Item) and isinstance(block, Item)):
            found.append("")
        found += _block(block, level)
        before = block
    return found


def _block(block: Block, level: int) -> list[str]:
    match block:
        case Heading(text, depth):
            return [f"{'#' * depth} {inline(text)}"]
        case Paragraph(text):
            return [inline(text)]
        case Labelled(rows):
            return [
                f"- {inline(Ink(label))}: {inline(text)}" if label else f"  - {inline(text)}"
                for label, text in rows
            ]
        case Item(head, body):
            return [f"- {inline(head)}", *(f"  {line}".rstrip() for line in _lines(body, level))]
        case Section(title, body, folded):
            inner = _lines(body, level + 1)
            if not folded:
                return [f"{'#' * level} {inline(title)}", "", *inner]
            shown = html.escape("".join(p if isinstance(p, str) else p.text for p in pieces(title)))
            return [f"<details><summary>{shown}</summary>", "", *inner, "", "</details>"]
        case Grid(heads, rows) if not any(heads):
            return [f"- {' · '.join(filter(None, map(inline, row)))}" for row in rows]
        case Grid(heads, rows):
            cells = [[inline(cell) for cell in row] for row in rows]
            return [
                f"| {' | '.join(row)} |"
                for row in ([inline(Ink(h)) for h in heads], ["---"] * len(heads), *cells)
            ]
        case Excerpt(span):
            return _fenced(masked(span.source.line(span.place.line)))
        case Verbatim(text, name):
            return [*([code(name), ""] if name else []), *_fenced(masked(text.rstrip("\n")))]
        case Graph():
            return _mermaid(block)


def _fenced(text: str) -> list[str]:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return [fence, *(visible(line.replace("\t", "    ")) for line in text.splitlines()), fence]


# --- graphs as Mermaid, which forges draw --------------------------------------------------

# Edges of one picture; with more, it would be unreadable.
_MOST_EDGES: Final = 120

_LONGEST: Final = 40
_ARROWS: Final = {"added": "==>|new|", "removed": "-.->|gone|"}
_STYLES: Final = {"added": "stroke:#cf222e,stroke-width:3px", "removed": "stroke:#1a7f37"}


def _mermaid(graph: Graph) -> list[str]:
    if len(graph.edges) > _MOST_EDGES:
        return ["too many edges to be drawn"]
    names = dict.fromkeys(name for edge in graph.edges for name in (edge.parent, edge.child))
    ids = {name: f"n{number}" for number, name in enumerate(names)}
    found = ["```mermaid", "flowchart LR"]
    found += [f"  {ids[name]}{_node(name)}" for name in names]
    for edge in graph.edges:
        other = f"-->|{edge.role}|" if edge.role else "-->"
        found.append(f"  {ids[edge.parent]} {_ARROWS.get(edge.role, other)} {ids[edge.child]}")
    for role, style in _STYLES.items():
        numbers = [str(number) for number, edge in enumerate(graph.edges) if edge.role == role]
        if numbers:
            found.append(f"  linkStyle {','.join(numbers)} {style}")
    return [*found, "```"]


def _node(name: str) -> str:
    if not name:
        return "(( ))"
    text = visible(name)
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    # Everything that could end the text or has a meaning in it.
    return '["' + "".join(c if c.isalnum() or c in " -.…" else f"#{ord(c)};" for c in text) + '"]'
