"""``python -m tests.catalogue``: write the index of the catalogue of findings."""

from __future__ import annotations

import re
from pathlib import Path

from policy.analysis import catalogue

INDEX = Path(catalogue.__file__).with_name("README.md")

# A path on a line of its own, and its file in the fence below.
_FILE = re.compile(
    r"^`(?P<path>[^`\n]+)`\n\n(?P<fence>`{3,})[^\n]*\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_SECTION = re.compile(r"^## (.+)\n", re.MULTILINE)


def sections(page: catalogue.CataloguePage) -> dict[str, str]:
    """Return heading -> text; what is above the first is under ``Meaning``."""
    parts = _SECTION.split(f"## Meaning\n{page.text}")[1:]
    return {heading: text.strip() for heading, text in zip(parts[::2], parts[1::2], strict=True)}


def files(page: catalogue.CataloguePage, heading: str) -> dict[str, str]:
    """Return path -> content of the files in the section ``Example`` or ``Fix``."""
    return {found["path"]: found["text"] for found in _FILE.finditer(sections(page)[heading])}


def index() -> str:
    """Return the list of all pages as Markdown."""
    rows = (
        f"| [`{entry.code}`]({entry.code}.md) | {entry.severity.value} | {entry.title} |"
        for entry in map(catalogue.page, catalogue.codes())
    )
    return "\n".join(
        (
            "# Findings",
            "",
            "What the codes mean that findings show in brackets; `policy rule CODE` prints a page.",
            "",
            "| code | severity | defect |",
            "| --- | --- | --- |",
            *rows,
            "",
        )
    )


if __name__ == "__main__":
    INDEX.write_text(index(), "utf-8")
