"""The options of ``policy replay``."""

from __future__ import annotations

import argparse

from policy.cli.hosts import add_hosts
from policy.cli.options.logs import add_logs
from policy.cli.outputs import add_output

__all__ = ["FORMATS", "configure"]

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
    parser.add_argument(
        "--policy",
        default=".",
        metavar="NEW",
        help="a folder, a file, a compiled policy or a git revision (default: .)",
    )
    parser.add_argument("--against", metavar="OLD", help="decide what the calls got by this one")
    add_logs(parser)
    parser.add_argument(
        "--fail-on", choices=("widened", "any"), help="exit with 1 where calls are granted more"
    )
    add_hosts(parser)
    add_output(parser)
    parser.add_argument("--all", action="store_true", help="leave no list short")
