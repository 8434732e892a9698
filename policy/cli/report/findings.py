"""Findings, and files that no front end reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from policy.analysis import catalogue
from policy.analysis.lint import Suppressing
from policy.cli.report.as_json import Object, finding_json
from policy.cli.report.results import Result, of_finding
from policy.cli.report.text import Ink, PageLayout, code, count, finding_report, item, listed, prose
from policy.core.finding import Finding, Severity
from policy.core.source import visible
from policy.hosts.workspace import Unread

__all__ = [
    "EXPLAIN",
    "FURTHER",
    "LintReport",
    "counted",
    "counted_lines",
    "findings_lines",
    "findings_report",
    "findings_summary",
    "lint_json",
    "lint_markdown",
    "lint_results",
    "lint_text",
    "read_summary",
    "unread_lines",
    "unread_summary",
]


# Shown once with findings.
EXPLAIN: Final = "`policy rule CODE` says what a code means"

# The title of findings that are only counted.
FURTHER: Final = "further findings, which `policy lint` lists"

# Findings of one code, and files of one kind, that are shown; others are counted.
_MOST_ALIKE = 5
_MOST_FILES = 4


def findings_lines(findings: Iterable[Finding], page: PageLayout, *, everything: bool) -> list[str]:
    """Return the findings in their order; of many with one code, the first ones."""
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
    """Return the number of findings of each code, with the first one."""
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        by_code.setdefault(finding.code, []).append(finding)
    order = list(Severity)
    ranked = sorted(by_code.values(), key=lambda some: (order.index(some[0].severity), -len(some)))
    return [(len(some), some[0]) for some in ranked]


def counted_lines(findings: Iterable[Finding], page: PageLayout) -> list[str]:
    """Return a line for each code: its number, meaning and first place."""
    lines: list[str] = []
    for number, finding in counted(findings):
        word = finding.severity.value
        place = str(finding.place) if finding.span else visible(finding.file)
        head = f"  {number:>4,} {page.paint(word, word)}{' ' * (8 - len(word))}"
        where = f"{'first ' if number > 1 else ''}{place}"
        said = f"{catalogue.page(finding.code).title} [{finding.code}]"
        lines += page.flow([Ink(said), Ink(where, "dim")], head, separator="  ")
    return lines


def findings_report(findings: Iterable[Finding], page: PageLayout) -> list[str]:
    """Return every finding, and a hint to their explanation; nothing where there are none."""
    lines = [line for finding in findings for line in finding_report(finding, page)]
    return [*lines, *page.prose(EXPLAIN, style="dim")] if lines else []


def findings_summary(findings: Sequence[Finding]) -> str:
    """Return the numbers of findings by severity."""
    totals = Counter(finding.severity.value for finding in findings)
    parts = [count(totals[word], word) for word in ("error", "warning", "note") if totals[word]]
    return ", ".join(parts) or "no findings"


def unread_lines(unread: Sequence[Unread], page: PageLayout, *, everything: bool) -> list[str]:
    """Return the unread files by kind."""
    kinds: dict[str, list[str]] = {}
    for file in unread:
        kinds.setdefault(file.what, []).append(file.path)
    lines: list[str] = []
    for what, paths in sorted(kinds.items()):
        names = listed(paths, None if everything else _MOST_FILES)
        head = f"  {visible(what)} ({len(paths)}): "
        lines += page.flow([Ink(name) for name in names], head, indent=4)
    return lines


def read_summary(files: int, rules: int) -> str:
    """Return how much was read."""
    held = f" with {count(rules, 'rule')}" if rules else ""
    return f"{count(files, 'file')}{held} read" if files else "no file read"


def unread_summary(paths: Sequence[str]) -> str:
    """Return how many files were not read, and the first ones."""
    return f"{count(len(paths), 'file')} not read ({', '.join(listed(paths, _MOST_FILES))})"


# --- the report of lint --------------------------------------------------------------------


@attrs.frozen
class LintReport:
    """The report of lint.

    Attributes:
        label: of the tree.
        findings: that count.
        suppressed: findings with the comment that suppresses them.
        known: findings in the baseline.
        gone: the number of entries of the baseline without a finding.
        unread: the files that no front end reads.
        read: the number of files that were read.
        rules: the number of rules in these.

    """

    label: str
    findings: tuple[Finding, ...]
    suppressed: tuple[tuple[Finding, Suppressing], ...] = ()
    known: tuple[Finding, ...] = ()
    gone: int = 0
    unread: tuple[str, ...] = ()
    read: int = 0
    rules: int = 0

    @property
    def summary(self) -> str:
        """A summary on one line."""
        parts = [findings_summary(self.findings), read_summary(self.read, self.rules)]
        if fixable := sum(bool(finding.edits) for finding in self.findings):
            parts.append(f"{fixable:,} can be mended with --fix")
        if self.suppressed:
            parts.append(f"{len(self.suppressed):,} suppressed")
        if self.known:
            parts.append(f"{len(self.known):,} in the baseline")
        if self.gone:
            parts.append(f"{self.gone:,} of the baseline gone")
        if self.unread:
            parts.append(unread_summary(self.unread))
        return f"{visible(self.label)}: {'; '.join(parts)}"


def lint_text(report: LintReport, page: PageLayout, *, everything: bool = False) -> str:
    """Return *report* as lines that fit *page*; *everything* leaves no list short."""
    lines = findings_lines(report.findings, page, everything=everything)
    lines += [""] if lines else []
    lines += page.prose(report.summary, indent=2)
    if report.findings:
        lines += page.prose(EXPLAIN, style="dim")
    return "".join(f"{line}\n" for line in lines)


def lint_json(report: LintReport) -> Object:
    """Return the JSON shape of *report*."""
    totals = Counter(finding.severity.value for finding in report.findings)
    return {
        "label": report.label,
        "findings": [_finding(finding) for finding in report.findings],
        "suppressed": [
            {**_finding(finding), "suppression": comment.reason}
            for finding, comment in report.suppressed
        ],
        "known": [_finding(finding) for finding in report.known],
        "gone": report.gone,
        "unread": len(report.unread),
        "read": report.read,
        "rules": report.rules,
        "totals": {word: totals[word] for word in ("error", "warning", "note")},
    }


def _finding(finding: Finding) -> Object:
    return {**finding_json(finding), "fixable": bool(finding.edits)}


def lint_markdown(report: LintReport) -> str:
    """Return *report* as Markdown, the findings by file."""
    lines = [f"**{prose(report.summary)}**", ""]
    files: dict[str, list[Finding]] = {}
    for finding in report.findings:
        files.setdefault(finding.place.file, []).append(finding)
    for file, members in files.items():
        lines += [f"### {code(file)}", ""]
        for finding in members:
            at = f"{finding.place.line}:{finding.place.column}: " if finding.span else ""
            help_ = f" ({prose(finding.help)})" if finding.help else ""
            told = f"**{finding.severity.value}** {at}{prose(finding.message)}"
            lines.append(item(f"{told} `{finding.code}`{help_}"))
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def lint_results(report: LintReport) -> list[Result]:
    """Return *report* as results; those that do not count are marked."""
    return [
        *map(of_finding, report.findings),
        *(of_finding(one, suppressed=comment.reason) for one, comment in report.suppressed),
        *(of_finding(one, known=True) for one in report.known),
    ]
