"""The options of ``policy rule``."""

from __future__ import annotations

import argparse

__all__ = ["FORMATS", "configure"]

FORMATS = ("text", "json", "markdown")

_EPILOG = """\
exit status: 0 done, 2 there is no such code

examples:
  policy rule
  policy rule dead-star
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.description = "Explain a finding by its code; without one, list them all."
    parser.epilog = _EPILOG
    parser.add_argument(
        "code", nargs="?", metavar="CODE", help="as a finding shows it, in brackets"
    )
