"""The options of ``policy diff``."""

from __future__ import annotations

import argparse

from policy.chain import READINGS
from policy.cli.hosts import add_hosts
from policy.cli.outputs import MACHINE, add_output

__all__ = ["FORMATS", "configure"]

FORMATS = ("text", "json", "markdown", *MACHINE)

_EPILOG = """\
OLD and NEW are folders, files or git revisions; an existing path beats a
revision. `policy diff X` compares the revision X with the working tree, `A..B`
two revisions, `A...B` the revision B with where it left A.

Every change comes with a call that is decided differently, and the rules that
decide it before and after.

exit status: 0 done, 1 what --fail-on names was found (what could not be
compared exactly counts as widened) or --max is exceeded, 2 a changed file cannot be read or parsed

examples:
  policy diff main..HEAD --fail-on widened
  policy diff HEAD
  policy diff before.policy after.policy --format markdown
  policy diff main..HEAD --output markdown=comment.md --output sarif=policy.sarif
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.description = "Tell which decisions differ between OLD and NEW, each with a witness."
    parser.usage = "%(prog)s [options] OLD [NEW]"
    parser.epilog = _EPILOG
    parser.add_argument("old", metavar="OLD", help="a folder, a file, a git revision, or A..B")
    parser.add_argument("new", metavar="NEW", nargs="?", help="the same (default: working tree)")
    parser.add_argument(
        "--fail-on",
        choices=("widened", "any", "none"),
        default="none",
        help="exit 1 if there is such a change (default: none)",
    )
    parser.add_argument(
        "--reading", choices=READINGS, help="compare this reading alone (default: both)"
    )
    parser.add_argument(
        "--max",
        metavar="FILE",
        help="exit 1 if NEW grants more than the one agent of this *.policy file",
    )
    add_output(parser)
    parser.add_argument("--all", action="store_true", help="leave no list short")
    add_hosts(parser)
