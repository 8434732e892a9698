"""The catalogue of findings: a page a code, `CODE.md` beside this module.

A page is for whoever met the code: what it means, why it matters, an example whose files show it,
and a fix whose files no longer do. `tests/test_catalogue.py` runs the examples.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from policy.core import expressions as re
from policy.core.finding import Severity
from policy.core.values import field, frozen

_PAGES: Final = Path(__file__).parent
_PARTS: Final = re.compile(
    r"\A---\n(?P<header>.*?)^---\n+# (?P<title>[^\n]+)\n\n(?P<text>.*)\Z", re.MULTILINE | re.DOTALL
)


@frozen
class CataloguePage:
    """What there is to say of one code."""

    code: str
    severity: Severity
    hosts: tuple[str, ...]  # whose files can have it; empty for those of every host
    title: str  # the defect, in a few words
    text: str = field(repr=False)  # Markdown, from the meaning on
    shown: str = ""  # the test that shows it, where files alone cannot


@cache
def codes() -> tuple[str, ...]:
    """Return the codes that have a page, in their order."""
    return tuple(sorted(file.stem for file in _PAGES.glob("*.md") if file.stem != "README"))


def page(code: str) -> CataloguePage:
    """Return the page of *code*. Raises KeyError where it has none, ValueError for a wrong one."""
    import yaml  # noqa: PLC0415  # most runs of lint show no page

    if code not in codes():
        raise KeyError(code)
    found = _PARTS.match((_PAGES / f"{code}.md").read_text("utf-8"))
    header = yaml.safe_load(found["header"]) if found else {}
    if found is None or header.get("code") != code:
        raise ValueError(f"{code}.md: expected a header with `code: {code}`, a title and a text")
    severity, hosts = Severity(header["severity"]), tuple(header.get("hosts", ()))
    shown = header.get("shown", "")
    return CataloguePage(code, severity, hosts, found["title"], found["text"], shown)
