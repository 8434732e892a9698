"""``policy query``: which agents can make a call that a matcher matches, by which chain."""

from __future__ import annotations

import argparse

from policy.analysis.reach.query import query
from policy.cli.console import Console
from policy.cli.inputs import load
from policy.cli.outputs import outputs_of, write_outputs
from policy.cli.report.as_json import dumps
from policy.cli.report.query import QueryReport, query_json, query_markdown, query_text
from policy.cli.report.text import finding_report
from policy.files.opening import is_unreadable
from policy.language.parse import parse_matcher
from policy.tables.chain import READINGS

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the agents, and return the exit status."""
    outputs = outputs_of(options)
    matcher = parse_matcher(options.matcher)
    workspace = load(options.path, console.progress).workspace
    readings = (options.reading,) if options.reading else READINGS
    asked = QueryReport(
        options.matcher,
        workspace.label,
        query(workspace, matcher, readings=readings),
        without=options.without,
    )

    formats = {
        "text": lambda: query_text(asked, console.page, everything=options.all),
        "json": lambda: dumps(query_json(asked)) + "\n",
        "markdown": lambda: query_markdown(asked),
    }
    write_outputs(outputs, formats)
    console.write(formats[options.format]())
    unreadable = [finding for finding in workspace.findings if is_unreadable(finding)]
    for finding in unreadable:
        console.complain(finding_report(finding, console.errors))
    if unreadable:
        return 2
    return int(not (asked.found.without if asked.without else asked.found.answers))
