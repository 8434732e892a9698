"""Findings, and files that nobody read, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from policy import catalogue
from policy.finding import Finding, Severity
from policy.render.excerpt import finding_report
from policy.render.layout import Ink, Page
from policy.render.words import count, listed
from policy.source import visible
from policy.workspace import Unread

__all__ = [
    "EXPLAIN",
    "FURTHER",
    "counted",
    "counted_lines",
    "findings_lines",
    "findings_report",
    "findings_summary",
    "unread_lines",
]

# Said once wherever findings are shown.
EXPLAIN: Final = "`policy rule CODE` says what a code means"

# Said above findings that are only counted.
FURTHER: Final = "further findings, which `policy lint` lists"

# Findings of one code, and files of one kind, before the rest is only counted.
_MOST_ALIKE = 5
_MOST_FILES = 4


def findings_lines(findings: Iterable[Finding], page: Page, *, everything: bool) -> list[str]:
    """Return the findings in their order; many of one code are cut short."""
    found = list(findings)
    totals = Counter(finding.code for finding in found)
    seen: Counter[str] = Counter()
    lines: list[str] = []
    for finding in found:
        seen[finding.code] += 1
        left = totals[finding.code] - _MOST_ALIKE
        if everything or seen[finding.code] <= _MOST_ALIKE or left == 1:
            lines += finding_report(finding, page)
        elif seen[finding.code] == _MOST_ALIKE + 1:
            more = f"… {left} more [{finding.code}], shown with --all"
            lines += page.prose(more, style="dim")
    return lines


def counted(findings: Iterable[Finding]) -> list[tuple[int, Finding]]:
    """Return how often each code is there, with the first of its findings."""
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        by_code.setdefault(finding.code, []).append(finding)
    order = list(Severity)
    ranked = sorted(by_code.values(), key=lambda some: (order.index(some[0].severity), -len(some)))
    return [(len(some), some[0]) for some in ranked]


def counted_lines(findings: Iterable[Finding], page: Page) -> list[str]:
    """Return a line for each code: how many, what it means, and where the first is."""
    lines: list[str] = []
    for number, finding in counted(findings):
        word = finding.severity.value
        place = str(finding.place) if finding.span else visible(finding.file)
        head = f"  {number:>4,} {page.paint(word, word)}{' ' * (8 - len(word))}"
        where = f"{'first ' if number > 1 else ''}{place}"
        said = f"{catalogue.page(finding.code).title} [{finding.code}]"
        lines += page.flow([Ink(said), Ink(where, "dim")], head, separator="  ")
    return lines


def findings_report(findings: Iterable[Finding], page: Page) -> list[str]:
    """Return every finding, and below them where to read more; nothing where there is none."""
    lines = [line for finding in findings for line in finding_report(finding, page)]
    return [*lines, *page.prose(EXPLAIN, style="dim")] if lines else []


def findings_summary(findings: Sequence[Finding]) -> str:
    """Return how many findings there are, by severity."""
    totals = Counter(finding.severity.value for finding in findings)
    parts = [count(totals[word], word) for word in ("error", "warning", "note") if totals[word]]
    return ", ".join(parts) or "no findings"


def unread_lines(unread: Sequence[Unread], page: Page, *, everything: bool) -> list[str]:
    """Return the files nobody read, by kind."""
    kinds: dict[str, list[str]] = {}
    for file in unread:
        kinds.setdefault(file.what, []).append(file.path)
    lines: list[str] = []
    for what, paths in sorted(kinds.items()):
        names = listed(paths, None if everything else _MOST_FILES)
        head = f"  {visible(what)} ({len(paths)}): "
        lines += page.flow([Ink(name) for name in names], head, indent=4)
    return lines
