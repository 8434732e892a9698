"""``policy test``: run the ``expect``, ``test`` and ``never`` statements of *.policy files."""

from __future__ import annotations

import argparse

from policy.analysis.reach.never import check
from policy.cli.console import Console
from policy.cli.inputs import load
from policy.cli.options import Hosts
from policy.cli.policies import dialect_of
from policy.cli.report.as_json import dumps
from policy.cli.report.claims import Tested, claims_json, claims_markdown, claims_text, tally
from policy.cli.report.findings import findings_report
from policy.core.errors import PolicyError
from policy.files.opening import is_unreadable
from policy.hosts.project import Project
from policy.tables.dialect import Dialect
from policy.tables.table import UNRESTRICTED

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the results of the claims, and return the exit status."""
    found = load(options.path, console.progress, Hosts.of(options))
    tested = []
    for project in found.workspace.projects:
        console.progress(f"testing {project.title}")
        if project.claims:
            tested.append(Tested(project.title, tuple(check(project, _dialect(project)))))
    match options.format:
        case "json":
            console.write(dumps(claims_json(tested)) + "\n")
        case "markdown":
            console.write(claims_markdown(tested))
        case _:
            if tested:
                console.write(claims_text(tested, console.page, verbose=options.verbose))
    # A file that cannot be parsed may hold further claims. One whose examples fail is reported
    # above.
    broken = [
        finding
        for finding in found.workspace.findings
        if finding.code in {"unreadable-policy", "unreadable"} and is_unreadable(finding)
    ]
    console.complain(findings_report(broken, console.errors))
    if not tested and not broken:
        msg = "there is no `expect`, `test` or `never` statement to run"
        raise PolicyError(msg, file=found.tree.label)
    totals = tally(tested)
    if totals[None] or broken:
        return 2
    return 1 if totals[False] else 0


def _dialect(project: Project) -> Dialect:
    reading = project.attenuated
    tables = [reading.start(agent).table for agent in reading.agents[:1]]
    return dialect_of(tables[0] if tables else UNRESTRICTED)
