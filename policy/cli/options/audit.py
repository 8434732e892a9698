"""The options of ``policy audit``."""

from __future__ import annotations

import argparse

from policy.cli.hosts import add_hosts

__all__ = ["FORMATS", "configure"]

FORMATS = ("text", "json", "markdown", "html")

_EPILOG = """\
`attenuated` is what the files declare along a chain, `enforced` what the host
does; an escalation is granted by the host alone, a dead letter by the files alone.

exit status: 0 everything was read, whatever was found in it; 2 a file that may
say something about agents cannot be read or parsed

examples:
  policy audit .
  policy audit v1.2.0 --format json
  policy audit --format html > audit.html
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.description = "List what every agent may do, through every chain that can come about."
    parser.epilog = _EPILOG
    parser.add_argument(
        "path", nargs="?", default=".", metavar="PATH", help="a folder, a file or a git revision"
    )
    parser.add_argument("--all", action="store_true", help="leave no list short")
    add_hosts(parser)
