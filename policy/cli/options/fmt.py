"""The options of ``policy fmt``."""

from __future__ import annotations

import argparse

__all__ = ["FORMATS", "configure"]

FORMATS = ()

_EPILOG = """\
Files of hosts are laid out as their host reads them: keys, their order, quotes,
comments and all text below a header are kept. A file that cannot be parsed, or
whose canonical form would mean anything else, is reported and left as it is.

With --minimise, rules are left out whose absence changes no decision: of any
agent by itself, nor of any chain, in either reading. A rule that only repeats
what holds anyhow goes, a second lock among them. Of what is left no set of rules
can be left out; whether other rules would be fewer is not searched. A file of a
host is judged with all others of the folder. A rule that changes nothing and is
kept all the same is named with the reason, e.g. an example that is of it.

exit status: 0 done, 1 something would change (with --check), 2 a file cannot
be read, parsed or written

examples:
  policy fmt
  policy fmt --check --diff policies/
  policy fmt .claude/settings.json pikuri.host.yaml
  policy fmt --hosts .
  policy fmt --minimise --diff team.policy
  policy fmt - < team.policy
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.description = "Rewrite files in their canonical form."
    parser.epilog = _EPILOG
    parser.add_argument(
        "paths",
        nargs="*",
        default=["."],
        metavar="PATH",
        help="files, of hosts too, or folders with *.policy files (default: .);"
        " - is standard input, in our notation",
    )
    parser.add_argument(
        "--hosts", action="store_true", help="in folders, also files that a host reads"
    )
    parser.add_argument(
        "--minimise",
        action="store_true",
        help="also leave out rules without which every call is decided alike",
    )
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if it would")
    parser.add_argument("--diff", action="store_true", help="change nothing; show what would")
