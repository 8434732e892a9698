"""``policy suggest``: propose the smallest policy that covers the calls of logs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from policy.analysis.inputs import Hosts, load_here
from policy.analysis.records.logs import log_files
from policy.analysis.records.replay import RecordDecider
from policy.analysis.suggest import Proposal, propose
from policy.cli.console import Console, publish
from policy.cli.replay import HOME, not_decided, records
from policy.cli.report import document as doc
from policy.cli.report.as_json import FileContent, Object, shape
from policy.cli.report.words import call, chain_text, count
from policy.hosts.front_ends import rule_file_of

_MOST = 10


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the proposal, and return the exit status."""
    files = log_files([Path(name) for name in options.logs])
    decider = None
    if options.policy is not None:
        found = load_here(options.policy, Hosts.of(options), every=True)
        console.note(found.not_read)
        if console.unreadable(found.workspace.findings):
            return 2
        decider = RecordDecider(found.workspace, options.reading, HOME)
    file = rule_file_of(options.to) if options.to else None
    least = max(options.least, 2)
    proposal = propose(records(files), decider, root=options.root, least=least, file=file)
    shown = [] if options.format == "text" else [doc.Verbatim(proposal.text)]
    report = doc.Report(
        "A policy that covers logged calls",
        partial(_json, proposal),
        lambda most: [*_notes(proposal, most, proven=decider is not None), *shown],
        _MOST,
        content="" if shown else proposal.text,
    )
    publish(report, options, console)
    return int(bool(proposal.uncovered or proposal.lost or proposal.why))


def _notes(proposal: Proposal, most: int | None, *, proven: bool) -> Iterator[doc.Block]:
    rules = f"{count(proposal.rules, 'rule')} for {count(proposal.agents, 'agent')}"
    yield doc.Paragraph(f"covered: {count(proposal.covered, 'call')}, by {rules}")
    for each in proposal.uncovered[:most]:
        text = (f"not covered: {each.effect} ", call(each.tool, each.arguments))
        by = f"  ({chain_text(each.chain)}, {count(each.times, 'call')}): {each.why}"
        yield doc.Paragraph((*text, by))
    if (left := len(proposal.uncovered) - (most or 0)) > 0 and most:
        yield doc.Paragraph(f"not covered: {left:,} more, shown with --all")
    yield from not_decided(proposal.left_out, most, "left out")
    if not proven:
        yield doc.Paragraph("not compared with a policy in force: name one with --policy")
    elif not proposal.why:
        yield doc.Paragraph("proven: no chain is granted more than by the policy in force")
    for why in proposal.why:
        yield doc.Paragraph(f"not proven that nothing exceeds the policy in force: {why}")


def _json(proposal: Proposal) -> Object:
    content = {"text": FileContent(proposal.text), "left_out": proposal.left_out.as_json()}
    return {**shape(proposal), **content, "exact": not proposal.why}
