"""``policy suggest``: propose the smallest policy that covers the calls of logs."""

from __future__ import annotations

import argparse

from policy.analysis.records.logs import log_files
from policy.analysis.records.replay import RecordDecider
from policy.analysis.suggest import Proposal, Usage, propose, usage_of
from policy.cli.console import Console
from policy.cli.inputs import load
from policy.cli.options import Hosts
from policy.cli.replay import records
from policy.cli.report.as_json import Object, dumps
from policy.cli.report.text import call_text, chain_text, count
from policy.core.source import visible

__all__ = ["run"]


_MOST = 10


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the proposal, and return the exit status."""
    files = log_files(options.logs)
    decider = None
    if options.policy is not None:
        workspace = load(options.policy, console.progress, Hosts.of(options)).workspace
        decider = RecordDecider(workspace, options.reading, options.home)
    usage = usage_of(records(files), decider, root=options.root)
    proposal = propose(usage, decider, least=max(options.least, 2))
    if options.format == "json":
        console.write(dumps(_json(proposal, usage)) + "\n")
    else:
        console.write(proposal.text)
        console.complain(_told(proposal, usage, proven=decider is not None))
    return int(bool(proposal.uncovered or proposal.why))


def _told(proposal: Proposal, usage: Usage, *, proven: bool) -> list[str]:
    rules = f"{count(proposal.rules, 'rule')} for {count(proposal.agents, 'agent')}"
    lines = [f"covered: {count(proposal.covered, 'call')}, by {rules}"]
    for call in proposal.uncovered[:_MOST]:
        told = call_text(call.tool, call.arguments)
        lines.append(f"not covered: {call.effect} {told}  ({chain_text(call.chain)})")
    if len(proposal.uncovered) > _MOST:
        lines.append(f"not covered: {len(proposal.uncovered) - _MOST:,} more")
    for why, (number, first) in usage.left_out.items():
        lines.append(f"left out: {count(number, 'line')}, first {visible(first)}: {visible(why)}")
    if not proven:
        lines.append("not compared with a policy in force: name one with --policy")
    lines += (f"not proven to exceed nothing: {visible(why)}" for why in proposal.why)
    if proven and not proposal.why:
        lines.append("proven: no call of any chain is granted more than by the policy in force")
    return lines


def _json(proposal: Proposal, usage: Usage) -> Object:
    return {
        "policy": proposal.text,
        "agents": proposal.agents,
        "rules": proposal.rules,
        "covered": proposal.covered,
        "uncovered": [
            {
                "chain": list(call.chain),
                "tool": call.tool,
                "input": call.arguments,
                "effect": call.effect.value,
                "calls": call.times,
            }
            for call in proposal.uncovered
        ],
        "left_out": [
            {"why": why, "lines": number, "first": first}
            for why, (number, first) in usage.left_out.items()
        ],
        "exact": not proposal.why,
        "why": list(proposal.why),
    }
