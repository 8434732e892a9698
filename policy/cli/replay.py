"""``policy replay``: decide logged calls again, under another policy."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from policy.chain import READINGS
from policy.cli.console import Console
from policy.cli.given import add_profile, given
from policy.cli.outputs import add_output, outputs_of, write_outputs
from policy.files.unread import is_unreadable
from policy.records.decider import Decider
from policy.records.reading import Problem, log_files, read_log
from policy.records.record import Record
from policy.records.replay import Replay, replay
from policy.render.as_json import dumps
from policy.render.excerpt import finding_report
from policy.render.layout import Page
from policy.render.replay_text import Report, replay_json, replay_markdown, replay_text

__all__ = ["FORMATS", "configure", "records", "run"]

FORMATS = ("text", "json", "markdown")

_EPILOG = """\
LOGS are records of this program (`policy check --record FILE`), transcripts of
Claude Code (a session's file, or a folder of them), and JSON lines with "tool",
"input", "chain" and "effect". What a call got is taken from the log, or decided
by the policy of --against. Arguments that were kept from a log are not guessed.

exit status: 0 nothing changes that --fail-on names, 1 something does, 2 a log
or a policy cannot be read

examples:
  policy replay ~/.claude/projects --policy . --reading enforced
  policy replay calls.jsonl --policy new/ --against old/ --fail-on widened
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.description = "Decide logged calls again, and list those that are decided otherwise."
    parser.epilog = _EPILOG
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOGS", help="files and folders")
    parser.add_argument(
        "--policy",
        default=".",
        metavar="NEW",
        help="a folder, a file, a compiled policy or a git revision (default: .)",
    )
    parser.add_argument("--against", metavar="OLD", help="decide what the calls got by this one")
    parser.add_argument(
        "--reading",
        choices=READINGS,
        default="attenuated",
        help="what the files declare along the chain, or what the host does (default: attenuated)",
    )
    parser.add_argument(
        "--root", default="", metavar="AGENT", help="the agent that starts every chain of the logs"
    )
    parser.add_argument(
        "--home",
        default=str(Path("~").expanduser()),
        metavar="FOLDER",
        help="the home folder of those who called (default: yours)",
    )
    parser.add_argument(
        "--fail-on", choices=("widened", "any"), help="exit with 1 where calls are granted more"
    )
    add_profile(parser)
    add_output(parser)
    parser.add_argument("--all", action="store_true", help="leave no list short")


def run(options: argparse.Namespace, console: Console) -> int:
    """Replay the logs, and return the exit status."""
    outputs = outputs_of(options.output, FORMATS)
    files = log_files(options.logs)
    sides = [
        given(path, console.progress, options.profile)
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
