"""The options of ``policy convert``."""

from __future__ import annotations

import argparse

from policy.cli.outputs import add_output
from policy.conversion.converting import hosts

__all__ = ["FORMATS", "configure"]

FORMATS = ("text", "json", "markdown")

_EPILOG = """\
What is written is read back by the other host's own front end, and compared with
the original for every agent and chain, as each host enforces it. Where the other
host cannot say something, it is made to say less; `looser` is what is granted
beyond the original all the same, `stricter` what is granted no more, `dropped`
what the files do not say at all. Each comes with a call that was decided by both.

A conversion that is looser, or is not proven to be no looser, is refused: nothing
is written. Calls that the original's host could not read are no calls of it.

One file goes to standard output and the report to standard error; several are
shown, or written with -o. A file that is there is replaced with --force alone.

exit status: 0 converted, 1 refused, 2 a file cannot be read or written

examples:
  policy convert . --to policy
  policy convert team.policy --to claude-code -o .
  policy convert . --from claude-code --to zeph --format json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.description = "Convert the policies of one host to another, and tell what is lost."
    parser.epilog = _EPILOG
    parser.add_argument(
        "path", nargs="?", default=".", metavar="PATH", help="a folder, a file or a git revision"
    )
    parser.add_argument("--to", required=True, choices=hosts(), metavar="HOST", help=_hosts())
    parser.add_argument(
        "--from",
        dest="source",
        default="",
        choices=hosts(),
        metavar="HOST",
        help="convert its projects alone",
    )
    parser.add_argument("-o", dest="folder", metavar="FOLDER", help="write the files below FOLDER")
    parser.add_argument("--force", action="store_true", help="replace files that are there")
    parser.add_argument(
        "--allow-looser",
        action="store_true",
        help="convert rule by rule, though the other host grants more by them",
    )
    parser.add_argument(
        "--allow-unproven",
        action="store_true",
        help="convert where calls were tried and not all compared",
    )
    add_output(parser)
    parser.add_argument("--all", action="store_true", help="leave no list short")


def _hosts() -> str:
    return "one of " + ", ".join(hosts())
