"""``policy mcp-proxy``: run an MCP server behind the policy."""

from __future__ import annotations

import argparse
from pathlib import Path

from policy.adapters.guard import Guard
from policy.adapters.mcp_proxy import ContentGate, run_proxy
from policy.analysis.checking import chain_of
from policy.analysis.inputs import Hosts, open_policy
from policy.analysis.records.record import Recorder
from policy.cli.console import Console
from policy.core.errors import PolicyError
from policy.tables.chain import SpawnDenied


def run(options: argparse.Namespace, console: Console) -> int:
    """Run the server, and return its exit status."""
    if not options.command:
        raise PolicyError(
            "expected the command that starts the server behind `--`",
            help="write `policy mcp-proxy --chain main -- COMMAND`",
        )
    found = open_policy(options.policy, Hosts.of(options))
    names = chain_of(options.chain)
    try:
        chain = found.projects.chain(*names)
    except SpawnDenied as denied:
        raise PolicyError(str(denied), help="name a chain that the policy allows") from None
    project, _ = found.projects.find(names[0])
    # An unreadable file may hold a rule about these calls.
    if console.unreadable(found.findings([project])):
        return 2
    prefix = f"mcp__{options.server}__" if options.server else ""
    recorder = Recorder(Path(options.record), options.redact) if options.record else None
    guard = Guard(chain, prefix=prefix, project=options.project, recorder=recorder)
    content = ContentGate(
        guard,
        resources=None if "resources" in options.undecided else "read_resource",
        prompts=None if "prompts" in options.undecided else "get_prompt",
    )
    return run_proxy(options.command, guard, content)
