"""``policy replay``: decide logged calls again, by another policy."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from policy.analysis.records.logs import LogProblem, log_files, read_log
from policy.analysis.records.record import Record
from policy.analysis.records.replay import RecordDecider, Replay, replay
from policy.cli.console import Console
from policy.cli.options import Hosts
from policy.cli.outputs import outputs_of, write_outputs
from policy.cli.policies import open_policy
from policy.cli.report.as_json import dumps
from policy.cli.report.replay import ReplayReport, replay_json, replay_markdown, replay_text
from policy.cli.report.text import finding_report
from policy.files.opening import is_unreadable

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Replay the logs, and return the exit status."""
    outputs = outputs_of(options)
    files = log_files(options.logs)
    sides = [
        open_policy(path, console.progress, Hosts.of(options))
        for path in (options.policy, options.against)
        if path is not None
    ]
    deciders = [RecordDecider(each.projects, options.reading, options.home) for each in sides]
    found = replay(
        records(files),
        *deciders,
        root=options.root,
        progress=lambda lines: console.progress(f"{lines:,} lines"),
    )
    report = ReplayReport(found, len(files), *(each.projects.label for each in sides))

    formats = {
        "text": lambda: replay_text(report, console.page, everything=options.all),
        "json": lambda: dumps(replay_json(report)) + "\n",
        "markdown": lambda: replay_markdown(report),
    }
    write_outputs(outputs, formats)
    console.write(formats[options.format]())
    unreadable = [one for each in sides for one in each.findings() if is_unreadable(one)]
    for finding in unreadable:
        console.complain(finding_report(finding, console.errors))
    if unreadable or not found.outcomes:
        return 2
    return int(_fails(found, options.fail_on))


def records(files: dict[Path, str]) -> Iterator[Record | LogProblem]:
    """Yield the records of the logs, one log after the other."""
    for file, name in files.items():
        yield from read_log(file, name)


def _fails(found: Replay, fail_on: str | None) -> bool:
    match fail_on:
        case "widened":
            # An undecided call may be granted more.
            return bool(found.widened or found.undecided)
        case "any":
            return bool(found.changes or found.undecided)
        case _:
            return False
