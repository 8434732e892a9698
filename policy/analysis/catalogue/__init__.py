"""The catalogue of findings: a page a code, `CODE.md` beside this module.

A page is for whoever met the code: what it means, why it matters, an example
whose files show it, and a fix whose files no longer do. The examples are run
(`tests/test_catalogue.py`), so that no page can say what is not so.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from policy.core import expressions as re
from policy.core.finding import Severity
from policy.core.values import field, frozen

__all__ = ["CataloguePage", "codes", "index", "page"]

_PAGES: Final = Path(__file__).parent
_SUFFIX: Final = ".md"
_PARTS: Final = re.compile(
    r"\A---\n(?P<header>.*?)^---\n+# (?P<title>[^\n]+)\n\n(?P<text>.*)\Z",
    re.MULTILINE | re.DOTALL,
)
# A path on a line of its own, and its file in the fence below.
_FILE: Final = re.compile(
    r"^`(?P<path>[^`\n]+)`\n\n(?P<fence>`{3,})[^\n]*\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_SECTION: Final = re.compile(r"^## (.+)\n", re.MULTILINE)


@frozen
class CataloguePage:
    """What there is to say of one code.

    Attributes:
        code: of the finding.
        severity: of the finding.
        hosts: whose files can have it; empty for those of every host.
        title: the defect, in a few words.
        text: Markdown, from the meaning on.
        shown: the test that shows it, where files alone cannot.

    """

    code: str
    severity: Severity
    hosts: tuple[str, ...]
    title: str
    text: str = field(repr=False)
    shown: str = ""

    @property
    def sections(self) -> dict[str, str]:
        """Heading -> text; what is above the first is under ``Meaning``."""
        parts = _SECTION.split(f"## Meaning\n{self.text}")[1:]
        return {
            heading: text.strip() for heading, text in zip(parts[::2], parts[1::2], strict=True)
        }

    @property
    def example(self) -> dict[str, str]:
        """Path -> content of the files that show the finding."""
        return _files(self.sections["Example"])

    @property
    def fix(self) -> dict[str, str]:
        """Path -> content of the files that take their places in the mended example."""
        return _files(self.sections["Fix"])


def _files(text: str) -> dict[str, str]:
    return {found["path"]: found["text"] for found in _FILE.finditer(text)}


@cache
def codes() -> tuple[str, ...]:
    """Return the codes that have a page, in their order."""
    return tuple(sorted(file.stem for file in _PAGES.glob(f"*{_SUFFIX}") if file.stem != "README"))


def page(code: str) -> CataloguePage:
    """Return the page of *code*.

    Raises:
        KeyError: it has none.
        ValueError: the page is not written as pages are.

    """
    import yaml  # noqa: PLC0415  # most runs of lint show no page

    if code not in codes():
        raise KeyError(code)
    found = _PARTS.match((_PAGES / f"{code}{_SUFFIX}").read_text("utf-8"))
    if found is None:
        raise ValueError(f"{code}{_SUFFIX}: expected a header, a title and a text")
    header = yaml.safe_load(found["header"])
    if header.get("code") != code or header.keys() - {"code", "severity", "hosts", "shown"}:
        raise ValueError(f"{code}{_SUFFIX}: expected `code: {code}`, `severity` and `hosts`")
    return CataloguePage(
        code,
        Severity(header["severity"]),
        tuple(header.get("hosts", ())),
        found["title"],
        found["text"],
        header.get("shown", ""),
    )


def index() -> str:
    """Return the list of all pages as Markdown, as `README.md` beside them has it."""
    rows = (
        f"| [`{entry.code}`]({entry.code}.md) | {entry.severity.value} | {entry.title} |"
        for entry in map(page, codes())
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
