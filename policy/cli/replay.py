"""``policy replay``: decide logged calls again, under another policy."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from policy.cli.console import Console
from policy.cli.given import given
from policy.cli.hosts import Hosts
from policy.cli.options.replay import FORMATS
from policy.cli.outputs import outputs_of, write_outputs
from policy.files.unread import is_unreadable
from policy.records.decider import Decider
from policy.records.reading import Problem, log_files, read_log
from policy.records.record import Record
from policy.records.replay import Replay, replay
from policy.render.as_json import dumps
from policy.render.excerpt import finding_report
from policy.render.layout import Page
from policy.render.replay_text import Report, replay_json, replay_markdown, replay_text

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Replay the logs, and return the exit status."""
    outputs = outputs_of(options.output, FORMATS)
    files = log_files(options.logs)
    sides = [
        given(path, console.progress, Hosts.of(options))
        for path in (options.policy, options.against)
        if path is not None
    ]
    deciders = [Decider(each.projects, options.reading, options.home) for each in sides]
    found = replay(
        records(files),
        *deciders,
        root=options.root,
        progress=lambda lines: console.progress(f"{lines:,} lines"),
    )
    report = Report(found, len(files), *(each.projects.label for each in sides))

    def text(form: str) -> str:
        return _text(form, report, console.page, everything=options.all)

    write_outputs(outputs, text)
    console.write(text(options.format))
    unreadable = [one for each in sides for one in each.findings() if is_unreadable(one)]
    for finding in unreadable:
        console.complain(finding_report(finding, console.errors))
    if unreadable or not found.outcomes:
        return 2
    return int(_fails(found, options.fail_on))


def records(files: dict[Path, str]) -> Iterator[Record | Problem]:
    """Yield what the logs hold, one after the other."""
    for file, name in files.items():
        yield from read_log(file, name)


def _fails(found: Replay, fail_on: str | None) -> bool:
    match fail_on:
        case "widened":
            # What nobody decided may have been granted more.
            return bool(found.widened or found.undecided)
        case "any":
            return bool(found.changes or found.undecided)
        case _:
            return False


def _text(form: str, report: Report, page: Page, *, everything: bool) -> str:
    match form:
        case "json":
            return dumps(replay_json(report)) + "\n"
        case "markdown":
            return replay_markdown(report)
        case _:
            return replay_text(report, page, everything=everything)
