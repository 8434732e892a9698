"""``policy mcp-proxy``: the policy in front of any MCP server."""

from __future__ import annotations

import argparse
from pathlib import Path

from policy.adapters.guard import Guard
from policy.adapters.mcp_besides import Besides
from policy.adapters.mcp_proxy import run_proxy
from policy.chain import SpawnDenied
from policy.cli.calls import chain_of
from policy.cli.console import Console
from policy.cli.given import add_profile, given
from policy.errors import PolicyError
from policy.files.unread import is_unreadable
from policy.records.options import add_recording
from policy.records.recorder import Recorder

__all__ = ["FORMATS", "TAKES_COMMAND", "configure", "run"]

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
    add_profile(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Run the server, and return its exit status."""
    if not options.command:
        msg = "expected the command that starts the server behind `--`"
        raise PolicyError(msg, help="write `policy mcp-proxy --chain main -- COMMAND`")
    found = given(options.policy, console.progress, options.profile)
    names = chain_of(options.chain)
    try:
        chain = found.projects.chain(*names)
    except SpawnDenied as denied:
        raise PolicyError(str(denied), help="name a chain that the policy allows") from None
    project, _ = found.projects.find(names[0])
    unreadable = [finding for finding in found.findings([project]) if is_unreadable(finding)]
    if unreadable:
        from policy.render.findings_text import findings_report  # noqa: PLC0415  # seldom needed

        # Below it may be a rule that nobody could read.
        console.complain(findings_report(unreadable, console.errors))
        return 2
    prefix = f"mcp__{options.server}__" if options.server else ""
    console.quiet()
    recorder = Recorder(Path(options.record), options.redact) if options.record else None
    guard = Guard(chain, prefix=prefix, project=options.project, recorder=recorder)
    besides = Besides(
        guard,
        resources=None if "resources" in options.undecided else "read_resource",
        prompts=None if "prompts" in options.undecided else "get_prompt",
    )
    return run_proxy(options.command, guard, besides)
