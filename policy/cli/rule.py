"""``policy rule``: explain a finding: its meaning, why it matters, and how to fix it."""

from __future__ import annotations

import argparse

from policy.analysis import catalogue
from policy.cli.console import Console
from policy.cli.report.as_json import dumps
from policy.cli.report.text import PageLayout
from policy.core.errors import PolicyError
from policy.language.mistakes import closest

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Print one page or the index, and return the exit status."""
    if options.code is None:
        _index(options.format, console)
        return 0
    if options.code not in catalogue.codes():
        meant = closest(options.code, catalogue.codes())
        raise PolicyError(
            f"there is no finding `{options.code}`", help=meant or "`policy rule` lists them"
        )
    page = catalogue.page(options.code)
    match options.format:
        case "json":
            console.write(dumps(_json(page) | {"text": page.text}) + "\n")
        case "markdown":
            console.write(f"# {page.title}\n\n{page.text}")
        case _:
            console.write("".join(f"{line}\n" for line in _text(page, console.page)))
    return 0


def _index(form: str, console: Console) -> None:
    pages = [catalogue.page(code) for code in catalogue.codes()]
    match form:
        case "json":
            console.write(dumps({"rules": [_json(page) for page in pages]}) + "\n")
        case "markdown":
            console.write(catalogue.index())
        case _:
            wide = max(len(page.code) for page in pages)
            for page in pages:
                severity = console.page.paint(f"{page.severity.value:<7}", page.severity.value)
                console.write(f"{severity}  {page.code:<{wide}}  {page.title}\n")


def _json(page: catalogue.CataloguePage) -> dict[str, object]:
    return {
        "code": page.code,
        "severity": page.severity.value,
        "hosts": list(page.hosts),
        "title": page.title,
    }


def _text(page: catalogue.CataloguePage, layout: PageLayout) -> list[str]:
    """Return a page for a terminal: its Markdown, with prose filled to the width."""
    severity = layout.paint(page.severity.value, page.severity.value)
    lines = [f"{severity}[{page.code}]: {layout.paint(page.title, 'bold')}"]
    fence, prose = "", list[str]()
    for line in [*page.text.splitlines(), ""]:
        if fence:
            fence = "" if line == fence else fence
            lines += [f"    {layout.paint(line, 'dim')}"] if fence else []
        elif line and not line.startswith(("#", "```")):
            prose.append(line)
        else:
            lines += ["", *layout.prose(" ".join(prose))] if prose else []
            prose = []
            if line.startswith("#"):
                lines += ["", layout.paint(line.lstrip("# "), "bold")]
            elif line:
                fence = line[: len(line) - len(line.lstrip("`"))]
                lines.append("")
    return lines
