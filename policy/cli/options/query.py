"""The options of ``policy query``."""

from __future__ import annotations

import argparse

from policy.chain import READINGS
from policy.cli.outputs import add_output

__all__ = ["FORMATS", "configure"]

FORMATS = ("text", "json", "markdown")

_EPILOG = """\
MATCHER is written as in a rule of our notation: `Bash(git push *)`, `mcp__*`,
`Edit(src/**)`, `Task`. An agent can where one call that it matches is allowed
or asked for; the call that is shown was decided.

exit status: 0 some agent can (with --not: some agent cannot), 1 none, 2 the
matcher or a file cannot be read

examples:
  policy query 'Bash(git push *)'
  policy query 'Edit(.github/**)' --not
  policy query 'WebFetch' main --reading enforced --format json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.description = "Tell which agents can make a call, by the shortest chain, with a call."
    parser.epilog = _EPILOG
    parser.add_argument("matcher", metavar="MATCHER", help="the calls, as a rule would name them")
    parser.add_argument(
        "path", nargs="?", default=".", metavar="PATH", help="a folder, a file or a git revision"
    )
    parser.add_argument("--not", action="store_true", dest="without", help="tell who cannot")
    parser.add_argument("--reading", choices=READINGS, help="of this reading alone (default: both)")
    add_output(parser)
    parser.add_argument("--all", action="store_true", help="leave no list short")
