"""The options of ``policy check``."""

from __future__ import annotations

import argparse

from policy.chain import READINGS
from policy.cli.hosts import add_hosts
from policy.records.options import add_recording

__all__ = ["FORMATS", "configure"]

FORMATS = ("text", "json", "markdown")

_EPILOG = """\
A CALL is written as in a test of our notation: `Tool(argument)`, whose argument
is taken literally, `Tool`, or `Tool({"argument": "value", ...})`.

exit status: 0 every call is allowed, 1 one is denied or to be asked for,
2 a call, or a policy that was asked about, cannot be read

examples:
  policy check --chain 'main>explore' 'Bash(git push origin)'
  policy check team.policy 'Edit(src/app.py)' 'Read(/etc/passwd)'
  policy check . --tool Bash --input '{"command": "git push"}' --format json
  policy check . --calls calls.jsonl --format json
  policy check policy.json --calls calls.jsonl      # compiled: no file is parsed
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.description = "Decide one call, or a stream of calls, and say why."
    parser.usage = "%(prog)s [options] [PATH] [CALL ...]"
    parser.epilog = _EPILOG
    parser.add_argument(
        "words",
        nargs="*",
        metavar="PATH, CALL",
        help="a folder, a file, a compiled policy or a git revision (default: .), and calls",
    )
    parser.add_argument(
        "--chain",
        metavar="A>B>C",
        help="who calls, from the root down (default: the one agent that starts chains)",
    )
    parser.add_argument(
        "--reading",
        choices=READINGS,
        default="attenuated",
        help="what the files declare along the chain, or what the host does (default: attenuated)",
    )
    add_hosts(parser)
    parser.add_argument(
        "--root",
        metavar="FOLDER",
        help="the folder of the project, for which paths are decided (default: PATH, or the folder"
        " of that file; of a revision or a compiled policy none)",
    )
    parser.add_argument("--tool", help="the tool of one call, with --input")
    parser.add_argument("--input", metavar="JSON", help="its arguments: a JSON object")
    parser.add_argument(
        "--calls",
        metavar="FILE",
        help='calls, one JSON object a line: {"tool", "input"[, "chain"]}; - is standard input',
    )
    add_recording(parser)
