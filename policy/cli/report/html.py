"""Blocks as one HTML page that makes no request and runs no script.

The page names the hash of its one style sheet, so a browser applies nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from policy.cli.report import document as doc
from policy.core.credentials import masked
from policy.core.source import visible

_STYLE: Final = Path(__file__).with_name("page.css").read_text("utf-8")

_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_CONTENT_POLICY: Final = f"default-src 'none'; base-uri 'none'; style-src 'sha256-{_HASH}'"


def report_html(report: doc.Report) -> str:
    """Return *report* as a page, with everything in it."""
    return page(report.title, report.blocks(None))


def page(title: str, blocks: Iterable[doc.Block]) -> str:
    """Return *blocks* as one self-contained file."""
    body = "\n".join(_block(block, 2) for block in (doc.Heading(title, 1), *blocks))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_text(_CONTENT_POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(title.replace('`', ''))}</title><style>{_STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def inline(text: doc.Text) -> str:
    """Return *text* as the content of an element."""
    return "".join(map(_inline, doc.pieces(text)))


def _inline(piece: str | doc.Ink) -> str:
    if isinstance(piece, doc.Ink):
        name = "code" if piece.role in doc.CODE else "span"
        kind = f' class="{piece.role}"' if piece.role else ""
        # A path may break behind a folder, and in front of a line.
        shown = html.escape(piece.text)
        shown = shown.replace("/", "/<wbr>") if piece.role == "file" else shown
        return f"<{name}{kind}>{shown}</{name}>" if name == "code" or kind else shown
    parts = piece.split("`")
    if len(parts) % 2 == 0:
        return html.escape(piece)
    return "".join(
        f"<code>{html.escape(part)}</code>" if index % 2 else html.escape(part)
        for index, part in enumerate(parts)
    )


def _text(value: str) -> str:
    return html.escape(visible(masked(value)))


def _blocks(blocks: Iterable[doc.Block], level: int) -> str:
    """Return *blocks*; items that follow one another are one list."""
    found: list[str] = []
    items: list[str] = []
    for block in blocks:
        if isinstance(block, doc.Item):
            items.append(_item(block, level))
            continue
        if items:
            found.append(f"<ul>{''.join(items)}</ul>")
            items = []
        found.append(_block(block, level))
    return "".join([*found, f"<ul>{''.join(items)}</ul>" if items else ""])


def _item(item: doc.Item, level: int) -> str:
    return f"<li>{inline(item.head)}{_blocks(item.body, level)}</li>"


def _block(block: doc.Block, level: int) -> str:
    match block:
        case doc.Heading(text, depth):
            return f"<h{depth}>{inline(text)}</h{depth}>"
        case doc.Paragraph(text, role):
            return f'<p class="{role}">{inline(text)}</p>' if role else f"<p>{inline(text)}</p>"
        case doc.Labelled(rows):
            shown = "".join(f"<dt>{_text(k)}</dt><dd>{inline(text)}</dd>" for k, text in rows)
            return f"<dl>{shown}</dl>"
        case doc.Item():
            return f"<ul>{_item(block, level)}</ul>"
        case doc.Section(title, body, folded):
            inner = _blocks(body, min(level + 1, 6))
            if folded:
                return f"<details><summary>{inline(title)}</summary><div>{inner}</div></details>"
            return f"<section><h{level}>{inline(title)}</h{level}>{inner}</section>"
        case doc.Grid():
            return _table(block)
        case doc.Excerpt():
            return _excerpt(block)
        case doc.Verbatim(text, name):
            title = f"<p><code>{_text(name)}</code></p>" if name else ""
            shown = "\n".join(map(_text, text.replace("\t", "    ").splitlines()))
            return f"{title}<pre>{shown}</pre>"
        case doc.Graph():
            return f'<div class="scroll">{graph_svg(block)}</div>'


def _table(table: doc.Grid) -> str:
    heads = "".join(f"<th>{_text(head)}</th>" for head in table.heads)
    rows = []
    for row in table.rows:
        cells = []
        for number, cell in enumerate(row):
            first = next(iter(doc.pieces(cell)), "")
            role = first.role if isinstance(first, doc.Ink) else ""
            name = "td" if number else "th"
            kind = f' class="{role}"' if role else ""
            cells.append(f"<{name}{kind}>{inline(cell)}</{name}>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    head = f"<thead><tr>{heads}</tr></thead>" if any(table.heads) else ""
    return f'<div class="scroll"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>'


_LONGEST: Final = 400  # characters of a line


def _excerpt(excerpt: doc.Excerpt) -> str:
    number, *parts = excerpt.line
    before, marked, after = map(html.escape, (parts[0][-_LONGEST:], parts[1], parts[2][:_LONGEST]))
    mark = f'<mark class="{excerpt.role}">{marked}</mark>'
    return f'<pre><span class="dim">{number} </span>{before}{mark}{after}</pre>'


# --- graphs --------------------------------------------------------------------------------


def layered(
    roots: Iterable[str], edges: Mapping[str, Sequence[str]]
) -> tuple[tuple[str, ...], ...]:
    """Return layers of all nodes that *roots* reach; each stands near those that start it."""
    layers = [tuple(roots)]
    seen = set(layers[0])
    while layers[-1]:
        places: dict[str, list[int]] = {}
        for place, node in enumerate(layers[-1]):
            for child in edges.get(node, ()):
                if child not in seen:
                    places.setdefault(child, []).append(place)
        seen |= places.keys()
        layers.append(tuple(sorted(places, key=lambda node: sum(places[node]) / len(places[node]))))
    return tuple(layers[:-1])


# Nodes and edges of one picture; with more, no line can be followed.
_MOST_NODES: Final = 60
_MOST_EDGES: Final = 300

_WIDE, _HIGH = 190, 30  # a node
_ACROSS, _DOWN = 110, 18  # between layers, and within one
_LETTERS: Final = 24


def graph_svg(graph: doc.Graph) -> str:
    """Return the picture of *graph*, or a sentence why there is none.

    Agents that start the same agents and are started by the same share a node.
    """
    if not any(edge.parent for edge in graph.edges):
        return "<p>No agent starts another.</p>"
    edges: dict[str, dict[str, str]] = {}
    for edge in graph.edges:
        edges.setdefault(edge.parent, {})[edge.child] = edge.role
    roots = list(edges.pop("", {}))
    groups = _groups(edges, roots)
    node_of = {name: names[0] for names in groups for name in names}
    drawn: dict[str, dict[str, str]] = {}
    for parent, children in edges.items():
        some = {node_of[child]: role for child, role in children.items() if child in node_of}
        drawn.setdefault(node_of.get(parent, parent), {}).update(some)
    total = sum(map(len, drawn.values()))
    if len(groups) > _MOST_NODES or total > _MOST_EDGES:
        said = f"{len(groups):,} groups of agents and {total:,} edges"
        return f"<p>Too large to draw: {said}.</p>"
    return _svg({names[0]: names for names in groups}, drawn, [node_of[name] for name in roots])


def _groups(edges: Mapping[str, Mapping[str, str]], roots: Sequence[str]) -> list[list[str]]:
    parents: dict[str, set[tuple[str, str]]] = {}
    for parent, children in edges.items():
        for child, role in children.items():
            parents.setdefault(child, set()).add((parent, role))
    groups: dict[object, list[str]] = {}
    for name in dict.fromkeys([*roots, *edges, *parents]):
        children = edges.get(name, {})
        # An agent that starts a whole group starts itself too, which is no difference.
        above = frozenset(pair for pair in parents.get(name, ()) if pair[0] != name)
        below = frozenset(pair for pair in children.items() if pair[0] != name)
        alone = name if name in roots else ""
        groups.setdefault((alone, above, below, children.get(name)), []).append(name)
    return list(groups.values())


def _svg(
    nodes: Mapping[str, Sequence[str]], edges: Mapping[str, Mapping[str, str]], roots: list[str]
) -> str:
    layers = layered(dict.fromkeys(roots), {node: [*some] for node, some in edges.items()})
    high = max((len(layer) for layer in layers), default=1) * (_HIGH + _DOWN) + _DOWN
    wide = len(layers) * (_WIDE + _ACROSS) + _ACROSS
    corners = {
        name: (
            _ACROSS / 2 + x * (_WIDE + _ACROSS),
            _DOWN + y * (_HIGH + _DOWN) + (high - _DOWN - len(layer) * (_HIGH + _DOWN)) / 2,
        )
        for x, layer in enumerate(layers)
        for y, name in enumerate(layer)
    }
    shown = [
        _edge(corners[parent], corners[child], role, f"{parent} starts {child}")
        for parent, children in edges.items()
        for child, role in children.items()
        if parent in corners and child in corners
    ]
    shown += (_node(nodes[name], corner) for name, corner in corners.items())
    return (
        f'<svg viewBox="0 0 {wide:.0f} {high:.0f}" width="{wide:.0f}" height="{high:.0f}"'
        f' role="img" aria-label="who starts whom">{_ARROW}{"".join(shown)}</svg>'
    )


_ARROW: Final = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8"'
    ' markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" class="head"/></marker></defs>'
)


def _edge(start: tuple[float, float], end: tuple[float, float], role: str, title: str) -> str:
    """Return an edge: forward from side to side, any other around the outside."""
    (x, y), (to_x, to_y) = start, end
    if to_x > x:
        x, y, to_y = x + _WIDE, y + _HIGH / 2, to_y + _HIGH / 2
        bend = (to_x - x) / 2
        path = f"M{x:.0f} {y:.0f}C{x + bend:.0f} {y:.0f} {to_x - bend:.0f} {to_y:.0f}"
        path += f" {to_x:.0f} {to_y:.0f}"
    elif start == end:
        path = f"M{x + _WIDE:.0f} {y + 8:.0f}c28 -14 28 28 0 14"
    else:
        x, y, to_x, to_y = x + _WIDE, y + _HIGH / 2, to_x + _WIDE, to_y + _HIGH / 2 + 6
        out = max(x, to_x) + 44
        path = f"M{x:.0f} {y:.0f}C{out:.0f} {y:.0f} {out:.0f} {to_y:.0f} {to_x:.0f} {to_y:.0f}"
    note = f" ({role})" if role else ""
    kind = f"edge {role.partition(' ')[0]}".rstrip()
    told = f"<title>{_text(title + note)}</title>"
    return f'<path d="{path}" class="{kind}" marker-end="url(#arrow)">{told}</path>'


def _node(names: Sequence[str], corner: tuple[float, float]) -> str:
    x, y = corner
    title = visible(names[0]) if len(names) == 1 else f"{len(names)} agents"
    title = title if len(title) <= _LETTERS else f"{title[: _LETTERS - 1]}…"
    return (
        f'<g class="node"><rect x="{x:.0f}" y="{y:.0f}" width="{_WIDE}" height="{_HIGH}" rx="6"/>'
        f'<text x="{x + _WIDE / 2:.0f}" y="{y + _HIGH / 2 + 5:.0f}">{_text(title)}</text>'
        f"<title>{inline(doc.joined(map(doc.Ink, names), most=40))}</title></g>"
    )
