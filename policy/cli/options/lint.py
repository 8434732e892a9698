"""The options of ``policy lint``."""

from __future__ import annotations

import argparse

from policy.cli.hosts import add_hosts
from policy.cli.outputs import MACHINE, add_output
from policy.finding import Severity

__all__ = ["FORMATS", "configure"]

FORMATS = ("text", "json", "markdown", *MACHINE)

_EPILOG = """\
A finding goes away by mending it, by `--fix` where there is one way to mend it
that grants no more, by a comment `# policy: ignore[CODE] REASON` on its line or
the one above (YAML, TOML and *.policy files), by an entry of policy-lint.yaml
(`policy rule unused-suppression`; JSON has no comments), or by a baseline of
what is known. A file that cannot be read counts in any case.

exit status: 0 nothing found, 1 something of the severity of --fail-on, 2 a file
that may say something about agents cannot be read, parsed or written

examples:
  policy lint
  policy lint --select unknown,dead --format github
  policy lint --fix
  policy lint --write-baseline .policy-baseline.json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.description = "List what is the matter with policies, with a place and a mend."
    parser.epilog = _EPILOG
    parser.add_argument(
        "path", nargs="?", default=".", metavar="PATH", help="a folder, a file or a git revision"
    )
    parser.add_argument(
        "--select",
        action="append",
        default=[],
        metavar="CODES",
        help="findings whose code starts so, separated by commas (default: all)",
    )
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="CODES", help="all but these"
    )
    parser.add_argument("--fix", action="store_true", help="mend in place what can be")
    parser.add_argument("--diff", action="store_true", help="change nothing; show what --fix would")
    parser.add_argument("--baseline", metavar="FILE", help="leave out the findings that it knows")
    parser.add_argument(
        "--write-baseline", metavar="FILE", help="write all findings there, and exit 0"
    )
    parser.add_argument(
        "--fail-on",
        choices=[severity.value for severity in Severity],
        default="warning",
        help="the least severity that makes the exit status 1 (default: warning)",
    )
    add_output(parser)
    parser.add_argument("--all", action="store_true", help="leave no list short")
    add_hosts(parser)
