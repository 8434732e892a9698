"""Write blocks as one HTML page that makes no request.

The page has one style sheet, and a script if its rows have filters. Its content security policy
names their hashes, so a browser applies and runs nothing else. Without scripts it shows all rows.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from policy.cli.report import document as doc
from policy.core.credentials import masked
from policy.core.source import visible

_STYLE: Final = Path(__file__).with_name("page.css").read_text("utf-8")
_SCRIPT: Final = Path(__file__).with_name("page.js").read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page(title: str, blocks: Sequence[doc.Block]) -> str:
    """Return *blocks* as one self-contained page."""
    body = "\n".join(_block(block, 2) for block in (doc.Heading(title, 1), *blocks))
    chosen = "<tr data-marks" in body
    script = f"<script>{_SCRIPT}</script>\n" if chosen else ""
    scripts = f"; script-src {_hash(_SCRIPT)}" if chosen else ""
    rules = f"default-src 'none'; base-uri 'none'; style-src {_hash(_STYLE)}{scripts}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_text(rules)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(title.replace('`', ''))}</title><style>{_STYLE}</style></head>\n"
        f"<body>\n{body}\n{script}</body></html>\n"
    )


def inline(text: doc.Text) -> str:
    """Return *text* as the content of an element."""
    return "".join(map(_inline, doc.inked(text)))


def _inline(ink: doc.Ink) -> str:
    name = "code" if ink.role in doc.CODE else "span"
    kind = f' class="{ink.role}"' if ink.role not in {"", "code"} else ""
    # A path may break behind a slash.
    shown = html.escape(ink.text)
    shown = shown.replace("/", "/<wbr>") if ink.role == "file" else shown
    return f"<{name}{kind}>{shown}</{name}>" if name == "code" or kind else shown


def _text(value: str) -> str:
    return html.escape(visible(masked(value)))


def _blocks(blocks: Iterable[doc.Block], level: int) -> str:
    """Return the HTML of *blocks*; consecutive items form one list."""
    parts: list[str] = []
    for is_list, some in groupby(blocks, lambda block: isinstance(block, doc.Item)):
        if is_list:
            items = (_item(block, level) for block in some if isinstance(block, doc.Item))
            parts.append(f"<ul>{''.join(items)}</ul>")
        else:
            parts += (_block(block, level) for block in some)
    return "".join(parts)


def _item(item: doc.Item, level: int) -> str:
    head, body = inline(item.head), _blocks(item.body, level)
    if item.beside:
        return f'<li class="beside"><div>{head}</div><div>{body}</div></li>'
    return f"<li>{head}{body}</li>"


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
            shown = "\n".join(map(_text, masked(text).replace("\t", "    ").splitlines()))
            return f"{title}<pre>{shown}</pre>"


def _table(table: doc.Grid) -> str:
    heads = "".join(f"<th>{_text(head)}</th>" for head in table.heads)
    rows = []
    for number, row in enumerate(table.rows):
        mark = table.marks[number] if table.marks else {}
        shown = {name: [visible(masked(each)) for each in some] for name, some in mark.items()}
        marks = f' data-marks="{html.escape(json.dumps(shown))}"' if mark else ""
        cells = []
        if row[1:] and not any(row[1:]):
            span = f'<th colspan="{len(row)}">{inline(row[0])}</th>'
            rows.append(f"<tr>{span}</tr>")
            continue
        for column, cell in enumerate(row):
            first = next(iter(doc.pieces(cell)), "")
            role = first.role if isinstance(first, doc.Ink) else ""
            name = "td" if column else "th"
            kind = f' class="{role}"' if role else ""
            cells.append(f"<{name}{kind}>{inline(cell)}</{name}>")
        rows.append(f"<tr{marks}>{''.join(cells)}</tr>")
    head = f"<thead><tr>{heads}</tr></thead>" if any(table.heads) else ""
    return f'<div class="scroll"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>'


_LONGEST: Final = 400  # characters of a line


def _excerpt(excerpt: doc.Excerpt) -> str:
    number, *parts = excerpt.line
    before, marked, after = map(html.escape, (parts[0][-_LONGEST:], parts[1], parts[2][:_LONGEST]))
    mark = f'<mark class="{excerpt.role}">{marked}</mark>'
    return f'<pre><span class="dim">{number} </span>{before}{mark}{after}</pre>'
