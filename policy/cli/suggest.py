"""``policy suggest``: the smallest policy that covers what logs show was used."""

from __future__ import annotations

import argparse
from pathlib import Path

from policy.chain import READINGS
from policy.cli.console import Console
from policy.cli.given import add_profile
from policy.cli.inputs import load
from policy.cli.replay import records
from policy.records.decider import Decider
from policy.records.reading import log_files
from policy.render.as_json import Object, dumps
from policy.render.words import call_text, chain_text, count
from policy.source import visible
from policy.suggest import Proposal, Usage, propose, usage_of

__all__ = ["FORMATS", "configure", "run"]

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
_MOST = 10


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.description = "Propose the smallest policy that covers what was used."
    parser.epilog = _EPILOG
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOGS", help="files and folders")
    parser.add_argument(
        "--policy", metavar="CURRENT", help="the policy in force, which is not exceeded"
    )
    parser.add_argument(
        "--reading",
        choices=READINGS,
        default="attenuated",
        help="what the files declare along the chain, or what the host does (default: attenuated)",
    )
    parser.add_argument(
        "--root", default="", metavar="AGENT", help="the agent that starts every chain of the logs"
    )
    parser.add_argument(
        "--least",
        type=int,
        default=3,
        metavar="N",
        help="distinct calls that a rule must stand for to match more than they (default: 3)",
    )
    parser.add_argument(
        "--home",
        default=str(Path("~").expanduser()),
        metavar="FOLDER",
        help="the home folder of those who called (default: yours)",
    )
    add_profile(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the proposal, and return the exit status."""
    files = log_files(options.logs)
    decider = None
    if options.policy is not None:
        workspace = load(options.policy, console.progress, options.profile).workspace
        decider = Decider(workspace, options.reading, options.home)
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
