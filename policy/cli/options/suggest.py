"""The options of ``policy suggest``."""

from __future__ import annotations

import argparse

from policy.cli.hosts import add_hosts
from policy.cli.options.logs import add_logs

__all__ = ["FORMATS", "configure"]

FORMATS = ("text", "json")

_EPILOG = """\
LOGS are those of `policy replay`. The policy is printed in our notation, what it
covers and what it does not to standard error. Calls that the policy in force
denies are never covered, and every chain is compared with it: a rule that would
grant more takes over what the policy denies there, or gives way to narrower ones.

exit status: 0 all calls are covered and nothing exceeds the policy in force, 1
not all, or it is not proven, 2 a log or a policy cannot be read

examples:
  policy suggest ~/.claude/projects --policy . --reading enforced > team.policy
  policy suggest calls.jsonl --policy . --least 5 --format json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.description = "Propose the smallest policy that covers what was used."
    parser.epilog = _EPILOG
    parser.add_argument(
        "--policy", metavar="CURRENT", help="the policy in force, which is not exceeded"
    )
    parser.add_argument(
        "--least",
        type=int,
        default=3,
        metavar="N",
        help="distinct calls that a rule must stand for to match more than they (default: 3)",
    )
    add_logs(parser)
    add_hosts(parser)
