"""``policy rule``: explain a finding: its meaning, why it matters, and how to fix it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final

from policy.analysis import catalogue
from policy.cli.console import Console, publish
from policy.cli.report import document as doc
from policy.cli.report.as_json import Object
from policy.core import expressions as re
from policy.core.errors import PolicyError
from policy.language.mistakes import closest


def run(options: argparse.Namespace, console: Console) -> int:
    """Print one page or the index, and return the exit status."""
    codes = catalogue.codes()
    if options.code is None:
        pages = [catalogue.page(code) for code in codes]
        rows = tuple((_severity(page), doc.Ink(page.code, "rule"), page.title) for page in pages)
        report = doc.Report(
            "Findings",
            lambda: {"rules": [_json(page) for page in pages]},
            lambda _: [doc.Grid(("", "code", "meaning"), rows)],
        )
    elif options.code in codes:
        page = catalogue.page(options.code)
        json = {**_json(page), "text": page.text}
        report = doc.Report(page.title, lambda: json, lambda _: [*_page(page)])
    else:
        help_ = closest(options.code, codes) or "`policy rule` lists them"
        raise PolicyError(f"there is no finding `{options.code}`", help=help_)
    publish(report, options, console)
    return 0


def _severity(page: catalogue.CataloguePage) -> doc.Ink:
    return doc.Ink(page.severity.value, page.severity.value)


def _json(page: catalogue.CataloguePage) -> Object:
    shape = {"code": page.code, "severity": page.severity.value, "hosts": list(page.hosts)}
    return {**shape, "title": page.title}


# A file in a fence, with its path on a line of its own above it; or any other paragraph or item.
_PART: Final = re.compile(
    r"^(?:`(?P<path>[^`\n]+)`\n\n)?(?P<fence>`{3,})[^\n]*\n(?P<file>.*?)\n?^(?P=fence)$"
    r"|^(?P<text>\S.*?)(?=\n\n|\n- |\Z)",
    re.MULTILINE | re.DOTALL,
)


def _page(page: catalogue.CataloguePage) -> Iterator[doc.Block]:
    """Yield the blocks of a page: its headings, paragraphs, items and files."""
    yield doc.Heading((_severity(page), f" [{page.code}]: {page.title}"), 1)
    for part in _PART.finditer(page.text):
        text = " ".join((part["text"] or "").split())
        if part["fence"]:
            yield doc.Verbatim(part["file"], part["path"] or "")
        elif text.startswith("#"):
            yield doc.Heading(text.lstrip("# "))
        else:
            yield doc.Item(text[2:]) if text.startswith("- ") else doc.Paragraph(text)
