"""``policy rule``: explain a finding: its meaning, why it matters, and how to fix it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from policy.analysis import catalogue
from policy.cli.console import Console
from policy.cli.outputs import publish
from policy.cli.report.as_json import Object
from policy.cli.report.document import (
    Block,
    Grid,
    Heading,
    Ink,
    Item,
    Paragraph,
    Report,
    Verbatim,
)
from policy.core.errors import PolicyError
from policy.language.mistakes import closest

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Print one page or the index, and return the exit status."""
    if options.code is None:
        pages = [catalogue.page(code) for code in catalogue.codes()]
        rows = tuple((_severity(page), Ink(page.code, "rule"), page.title) for page in pages)
        table = Grid(("", "code", "meaning"), rows)
        shape: Object = {"rules": [_json(page) for page in pages]}
        publish(Report("Findings", lambda: shape, lambda _: [table]), options, console)
        return 0
    if options.code not in catalogue.codes():
        meant = closest(options.code, catalogue.codes())
        raise PolicyError(
            f"there is no finding `{options.code}`", help=meant or "`policy rule` lists them"
        )
    page = catalogue.page(options.code)
    report = Report(page.title, lambda: _json(page) | {"text": page.text}, lambda _: [*_page(page)])
    publish(report, options, console)
    return 0


def _severity(page: catalogue.CataloguePage) -> Ink:
    return Ink(page.severity.value, page.severity.value)


def _json(page: catalogue.CataloguePage) -> Object:
    return {
        "code": page.code,
        "severity": page.severity.value,
        "hosts": list(page.hosts),
        "title": page.title,
    }


# The path of a file, on a line of its own above its content.
_PATH = re.compile(r"`[^`]+`")


def _page(page: catalogue.CataloguePage) -> Iterator[Block]:
    """Yield the blocks of a page: its headings, paragraphs, items and fenced files."""
    yield Heading((_severity(page), f" [{page.code}]: {page.title}"), 1)
    fence, name, taken = "", "", list[str]()
    for line in [*page.text.splitlines(), ""]:
        if fence:
            if line == fence:
                yield Verbatim("\n".join(taken), name)
                fence, name, taken = "", "", []
            else:
                taken.append(line)
        elif line and not line.startswith(("#", "```", "- ")):
            taken.append(line.strip())
        else:
            text = " ".join(taken)
            if len(taken) == 1 and _PATH.fullmatch(text):
                name = text.strip("`")
            elif taken:
                yield Item(text[2:]) if text.startswith("- ") else Paragraph(text)
            taken = [line] if line.startswith("- ") else []
            if line.startswith("#"):
                yield Heading(line.lstrip("# "))
            elif line.startswith("```"):
                fence = line[: len(line) - len(line.lstrip("`"))]
