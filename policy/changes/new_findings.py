"""Which findings a change brings: mistakes that its author made, not those that were there."""

from __future__ import annotations

from collections import Counter

from policy.finding import Finding, Severity
from policy.workspace import Workspace

__all__ = ["new_findings"]


def new_findings(old: Workspace, new: Workspace) -> tuple[Finding, ...]:
    """Return errors and warnings of *new* that *old* has not, by severity and place.

    Those are compared that reading the files gives (`Workspace.findings`), by file, code
    and message: a finding whose line moved is not new.
    """
    known = Counter(map(_mark, old.findings))
    found = []
    for finding in new.findings:
        if known[_mark(finding)] > 0:
            known[_mark(finding)] -= 1
        elif finding.severity is not Severity.NOTE:
            found.append(finding)
    order = list(Severity)
    return tuple(sorted(found, key=lambda each: (order.index(each.severity), each.place)))


def _mark(finding: Finding) -> tuple[str, str, str]:
    return finding.place.file, finding.code, finding.message
