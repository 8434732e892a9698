"""What machines read of findings and changes alike: a code, a level, a text and a place.

SARIF, the annotations of GitHub and JUnit are three spellings of these.
"""

from __future__ import annotations

import hashlib

import attrs

from policy import catalogue
from policy.finding import Finding, Severity
from policy.source import Place, Span, visible

__all__ = ["Result", "Rule", "end_of", "of_finding", "rules_of"]


@attrs.frozen
class Rule:
    """What a code means.

    Attributes:
        code: stable.
        level: how much it matters.
        title: the defect, in a few words.
        text: Markdown, or "".

    """

    code: str
    level: Severity
    title: str
    text: str = ""


@attrs.frozen
class Result:
    """One thing to be told.

    Attributes:
        code: of its rule.
        level: how much it matters.
        message: in one line.
        detail: what else there is to say, in lines; or "".
        place: where; None where there is no file.
        end: where it ends, line and column behind its last character; None where there
            is no text, so that the place is a file.
        suppressed: why somebody suppressed it; None where nobody did.
        known: whether a baseline knows it.

    """

    code: str
    level: Severity
    message: str
    detail: str = ""
    place: Place | None = None
    end: tuple[int, int] | None = None
    suppressed: str | None = None
    known: bool = False

    @property
    def fingerprint(self) -> str:
        """What stays the same when lines move: the file, the code and the message."""
        file = self.place.file if self.place else ""
        return hashlib.sha256(f"{file}\0{self.code}\0{self.message}".encode()).hexdigest()[:32]


def of_finding(finding: Finding, *, suppressed: str | None = None, known: bool = False) -> Result:
    """Return a finding as a result."""
    return Result(
        finding.code,
        finding.severity,
        visible(finding.message),
        visible(finding.help),
        finding.place if finding.span or finding.file else None,
        end_of(finding.span) if finding.span else None,
        suppressed,
        known,
    )


def end_of(span: Span) -> tuple[int, int]:
    """Return line and column behind the last character of *span*, or of its first line."""
    place = span.place
    line = len(span.source.line(place.line)) + 1
    return place.line, max(min(place.column + span.end - span.start, line), place.column)


def rules_of(results: list[Result]) -> list[Rule]:
    """Return the rules behind *results*, by code; those of the catalogue with its text."""
    rules: dict[str, Rule] = {}
    for result in sorted(results, key=lambda one: one.code):
        if result.code not in rules:
            rules[result.code] = _rule(result)
    return list(rules.values())


def _rule(result: Result) -> Rule:
    if result.code not in catalogue.codes():
        return Rule(result.code, result.level, result.code.replace("-", " "))
    page = catalogue.page(result.code)
    return Rule(page.code, page.severity, page.title, page.text)
