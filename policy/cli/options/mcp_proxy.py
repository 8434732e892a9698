"""The options of ``policy mcp-proxy``."""

from __future__ import annotations

import argparse

from policy.cli.hosts import add_hosts
from policy.records.options import add_recording

__all__ = ["FORMATS", "TAKES_COMMAND", "configure"]

FORMATS = ()


TAKES_COMMAND = True

_EPILOG = """\
Calls that are denied never reach the server, and the model is told; what is asked
for is put to the client by elicitation; tools that can never be allowed are not
listed. To read a resource is a call of `read_resource` with its `uri`, to get a
prompt one of `get_prompt` with its `name`; a policy that does not speak of them
denies both. Everything else passes as it is. An agent that another one starts is
given a proxy of its own, with its chain.

exit status: that of the server; 2 a policy that cannot be read, or a server that
cannot be started

examples:
  policy mcp-proxy --chain main --server github -- github-mcp-server stdio
  policy mcp-proxy --chain 'main>explore' --policy team.policy -- python server.py
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.description = "Run an MCP server (standard input and output) behind the policy."
    parser.usage = "%(prog)s [options] -- COMMAND [ARGUMENT ...]"
    parser.epilog = _EPILOG
    parser.add_argument(
        "--chain", metavar="A>B>C", required=True, help="who calls, from the root down"
    )
    parser.add_argument(
        "--policy",
        default=".",
        metavar="PATH",
        help="a folder, a file or a compiled policy (default: .)",
    )
    parser.add_argument(
        "--server",
        default="",
        metavar="NAME",
        help="the policy calls its tools `mcp__NAME__TOOL` (default: as the server does)",
    )
    parser.add_argument(
        "--project", default=".", metavar="FOLDER", help="what rules about files speak of"
    )
    parser.add_argument(
        "--undecided",
        action="append",
        choices=("resources", "prompts"),
        default=[],
        help="let them pass, whatever the policy says (may be repeated)",
    )
    add_recording(parser)
    add_hosts(parser)
