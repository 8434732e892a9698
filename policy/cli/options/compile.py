"""The options of ``policy compile``."""

from __future__ import annotations

import argparse

from policy.cli.hosts import add_hosts

__all__ = ["FORMATS", "configure"]

FORMATS: tuple[str, ...] = ()


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the verb, and add its arguments."""
    parser.description = (
        "Write what the files at PATH come to as one compiled policy: every agent, every chain,"
        " both readings. It is loaded by `policy.load_compiled` and by `policy hook`, without"
        " reading the files again. Equal policies give equal text."
    )
    parser.add_argument(
        "path", nargs="?", default=".", help="a folder, a file or a revision (default: .)"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help="where it is written (default: standard output)",
    )
    add_hosts(parser)
