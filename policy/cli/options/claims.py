"""The options of ``policy test``."""

from __future__ import annotations

import argparse

from policy.cli.hosts import add_hosts

__all__ = ["FORMATS", "configure"]

FORMATS = ("text", "json", "markdown")

_EPILOG = """\
exit status: 0 every claim holds, 1 one fails, 2 one could not be proven or a
file cannot be parsed, or there is no claim at all

examples:
  policy test
  policy test team.policy --verbose
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.description = "Run the `expect`, `test` and `never` statements of *.policy files."
    parser.epilog = _EPILOG
    parser.add_argument(
        "path", nargs="?", default=".", metavar="PATH", help="a folder, a file or a git revision"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="show what holds as well")
    add_hosts(parser)
