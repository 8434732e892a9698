"""``policy audit``: what every agent may do, through every chain."""

from __future__ import annotations

import argparse
from typing import Final

import attrs

from policy.analysis.lint import lint
from policy.analysis.reach.audit import Audit, ProjectAudit, audit
from policy.cli.console import Console
from policy.cli.inputs import InputTree, load_here
from policy.cli.options import Hosts
from policy.cli.report.as_json import dumps
from policy.cli.report.audit import audit_json, audit_markdown, audit_text
from policy.compare.compare import Known
from policy.core.finding import Finding, Severity
from policy.files.opening import is_unreadable
from policy.hosts.workspace import Workspace

__all__ = ["run"]


# Formats that contain every finding.
_WHOLE: Final = frozenset({"json", "html"})

# Rules of a project that an audit checks for an effect; lint checks all of them.
_MOST_TRIED: Final = 1000

# Internal errors that are reported one by one; further ones tend to be the same.
_MOST_REPORTS = 3


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the audit, and return the exit status."""
    found = load_here(options.path, console.progress, Hosts.of(options), every=True)
    audited = _with_lint(_audit(found.workspace, console), found, options.format, console)
    match options.format:
        case "json":
            console.write(dumps(audit_json(audited)) + "\n")
        case "html":
            # Only this format needs it.
            from policy.cli.report.html import audit_html  # noqa: PLC0415

            console.write(audit_html(audited))
        case "markdown":
            console.write(audit_markdown(audited, everything=options.all))
        case _:
            console.write(audit_text(audited, console.page, everything=options.all))
    return 2 if any(map(is_unreadable, audited.findings)) else 0


def _with_lint(audited: Audit, found: InputTree, form: str, console: Console) -> Audit:
    """Return *audited* with the findings of lint, and without suppressed ones.

    Errors of lint appear one by one, as the findings of front ends do. The page, and formats for
    programs, contain everything one by one.
    """
    try:
        linted = lint(
            found.tree,
            found.workspace,
            most=None if form == "html" else _MOST_TRIED,
            progress=console.progress,
        )
    except Exception as error:  # noqa: BLE001  # reported, and the audit is printed
        console.internal_error(error, audited.label)
        message = "there may be more findings: an internal error"
        problem = Finding("internal-error", message, Severity.ERROR, file=audited.label)
        return attrs.evolve(audited, findings=(problem, *audited.findings))
    met = {(finding.code, finding.place) for finding in found.workspace.findings}
    problems = tuple(one for one in audited.findings if one not in found.workspace.findings)
    told: list[Finding] = []
    further: list[Finding] = []
    for finding in linted.findings:
        at_once = (finding.code, finding.place) in met or finding.severity is Severity.ERROR
        (told if at_once or form in _WHOLE else further).append(finding)
    return attrs.evolve(
        audited,
        findings=(*problems, *told),
        further=tuple(further),
        suppressed=len(linted.suppressed),
        rules=linted.rules,
    )


def _audit(workspace: Workspace, console: Console) -> Audit:
    """Return the audit, project by project, so that one mistake hides no other project."""
    projects: list[ProjectAudit] = []
    problems: list[Finding] = []
    known: Known = {}
    for project in workspace.projects:
        alone = attrs.evolve(workspace, projects=(project,))
        try:
            projects += audit(alone, progress=console.progress, known=known).projects
        except Exception as error:  # noqa: BLE001  # reported, and the rest is printed
            if len(problems) < _MOST_REPORTS:
                console.internal_error(error, project.title)
            message = "this project could not be audited: an internal error"
            problems.append(Finding("internal-error", message, Severity.ERROR, file=project.title))
    return Audit(
        workspace.label, tuple(projects), (*problems, *workspace.findings), workspace.unread
    )
