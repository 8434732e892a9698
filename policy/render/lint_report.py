"""The findings of a workspace: for people, as JSON, as Markdown, and as results."""

from __future__ import annotations

from collections import Counter

import attrs

from policy.finding import Finding
from policy.lint import Suppressing
from policy.render.as_json import Object, finding_json
from policy.render.findings_text import EXPLAIN, findings_lines, findings_summary
from policy.render.layout import Page
from policy.render.markdown import code, item, prose
from policy.render.results import Result, of_finding
from policy.render.words import count
from policy.source import visible

__all__ = ["LintReport", "lint_json", "lint_markdown", "lint_results", "lint_text"]


@attrs.frozen
class LintReport:
    """What lint has to say.

    Attributes:
        label: of the tree.
        findings: those that count.
        suppressed: those that a comment took away, with that comment.
        known: those that the baseline knows.
        gone: how many the baseline knows that are there no longer.
        unread: how many files nobody reads.
        read: how many files were read.

    """

    label: str
    findings: tuple[Finding, ...]
    suppressed: tuple[tuple[Finding, Suppressing], ...] = ()
    known: tuple[Finding, ...] = ()
    gone: int = 0
    unread: int = 0
    read: int = 0

    @property
    def summary(self) -> str:
        """The whole in a line."""
        parts = [findings_summary(self.findings)]
        if not self.findings:
            parts.append(f"{count(self.read, 'file') if self.read else 'no file'} read")
        if fixable := sum(bool(finding.edits) for finding in self.findings):
            parts.append(f"{fixable:,} can be mended with --fix")
        if self.suppressed:
            parts.append(f"{len(self.suppressed):,} suppressed")
        if self.known:
            parts.append(f"{len(self.known):,} in the baseline")
        if self.gone:
            parts.append(f"{self.gone:,} of the baseline gone")
        if self.unread:
            parts.append(f"{count(self.unread, 'file')} that nobody reads")
        return f"{visible(self.label)}: {'; '.join(parts)}"


def lint_text(report: LintReport, page: Page, *, everything: bool = False) -> str:
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
        "unread": report.unread,
        "read": report.read,
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
    """Return *report* as results, those that do not count marked as such."""
    return [
        *map(of_finding, report.findings),
        *(of_finding(one, suppressed=comment.reason) for one, comment in report.suppressed),
        *(of_finding(one, known=True) for one in report.known),
    ]
