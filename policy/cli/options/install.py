"""The options of ``policy install``."""

from __future__ import annotations

import argparse

from policy.records.options import add_recording

__all__ = ["FORMATS", "configure"]

FORMATS: tuple[str, ...] = ()

_EPILOG = """\
The settings are shown before they are written. By default they are the local ones of the
project in this folder, which are not shared, since they name the program where it is on
this machine. --undo takes out what was put in, and leaves everything else as it is; a file in which
nothing else was is removed.

exit status: 0 done, or nothing to do; 1 shown and not written, or settings keep the
host from running it; 2 a file cannot be read or written

examples:
  policy install claude-code
  policy install claude-code --user --yes
  policy install claude-code --policy policy.json
  policy install claude-code --undo
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.description = "Make a runtime ask the policy before every call."
    parser.epilog = _EPILOG
    parser.add_argument("runtime", choices=("claude-code",), help="the runtime")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--project", action="store_true", help="in the settings that the project shares"
    )
    where.add_argument("--user", action="store_true", help="in the settings of the user")
    parser.add_argument("--policy", metavar="FILE", help="a compiled policy that alone decides")
    parser.add_argument("--root", metavar="AGENT", help="the agent that the main conversation is")
    add_recording(parser)
    parser.add_argument(
        "--no-resident", action="store_true", help="leave no process behind for further calls"
    )
    parser.add_argument("--undo", action="store_true", help="take it out again")
    parser.add_argument("--dry-run", action="store_true", help="show the change and write nothing")
    parser.add_argument("--yes", action="store_true", help="write it unasked")
