"""``policy diff``: report the decisions that a change changes."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from policy.analysis.diff import Change, Diff, changed_files, diff_workspaces
from policy.analysis.reach.privileges import privileges
from policy.analysis.review import new_findings, review, spawn_changes
from policy.cli.console import Console
from policy.cli.inputs import InputTree, load, sides
from policy.cli.options import Hosts
from policy.cli.outputs import outputs_of, write_outputs
from policy.cli.report.as_json import dumps
from policy.cli.report.diff import (
    DiffReport,
    Spans,
    diff_json,
    diff_markdown,
    diff_results,
    diff_rules,
    diff_text,
)
from policy.cli.report.findings import findings_report
from policy.cli.report.privileges import Summary, summarise
from policy.cli.report.results import machine_formats
from policy.compare.compare import Known
from policy.core.finding import Finding
from policy.files.opening import is_unreadable
from policy.files.text import decode
from policy.files.trees import SingleFile
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace
from policy.tables.chain import READINGS, Chain, SpawnDenied

if TYPE_CHECKING:
    from policy.analysis.reach.query import Excess

__all__ = ["run"]


# Formats that show the spawn graph.
_DRAWN = frozenset({"json", "markdown"})


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the changes, and return the exit status."""
    outputs = outputs_of(options)
    names = sides(options.old, options.new)
    old, new = (load(name, console.progress, Hosts.of(options)) for name in names)
    before, after = _paired(old, new)
    files = changed_files((old.tree, old.workspace), (new.tree, new.workspace))
    known: Known = {}
    diff = diff_workspaces(
        before,
        after,
        readings=(options.reading,) if options.reading else READINGS,
        files=files,
        progress=console.progress,
        known=known,
    )
    excess, why = _excess(options.max, after, options.reading)
    report = DiffReport(
        old.tree.label,
        new.tree.label,
        diff,
        _effects(diff, before, after),
        _grants(diff, before, after),
        review(before, after, diff, known),
        spawn_changes(before, after) if {options.format, *outputs.values()} & _DRAWN else {},
        excess,
        new_findings(before, after),
        _spans(diff, excess, old, new),
    )
    formats = {
        "text": lambda: diff_text(report, console.page, everything=options.all),
        "json": lambda: dumps(diff_json(report)) + "\n",
        "markdown": lambda: diff_markdown(report, everything=options.all),
        **machine_formats(
            lambda: diff_results(report),
            new.tree,
            "policy diff",
            rules=diff_rules,
            exact=diff.exact,
        ),
    }
    write_outputs(outputs, formats)
    console.write(formats[options.format]())
    if why:
        said = "; ".join(why)
        console.complain([f"not exact: more may be granted beyond {options.max} ({said})"])
    shown = report.findings if options.format == "text" else ()
    status = _status(diff, new, options.fail_on, shown, console)
    return status or int(bool(excess or why))


def _spans(
    diff: Diff, excess: Iterable[Excess], old: InputTree, new: InputTree
) -> tuple[Spans, Spans]:
    """Return the places of the rules that changes name, on both sides."""
    before = [because for one in diff.changes for because in one.difference.before.because]
    after = [because for one in diff.changes for because in one.difference.after.because]
    after += [because for one in excess for because in one.difference.after.because]
    return old.spans(dict.fromkeys(before)), new.spans(dict.fromkeys(after))


def _excess(
    name: str | None, workspace: Workspace, reading: str | None
) -> tuple[tuple[Excess, ...], tuple[str, ...]]:
    """Return what *workspace* grants beyond the policy in the file *name*, and why it may be more.

    Raises:
        PolicyError: the file does not have exactly one agent, or a rule of it matches no call.

    """
    if name is None:
        return (), ()
    # Only `--max` needs the parser of our notation.
    from policy.analysis.reach.query import exceeds, read_maximum  # noqa: PLC0415

    path = Path(name)
    source = decode(name, SingleFile(path).read(path.name))
    maximum = read_maximum(source)
    return exceeds(workspace, maximum, readings=(reading,) if reading else READINGS)


def _status(
    diff: Diff, new: InputTree, fail_on: str, shown: tuple[Finding, ...], console: Console
) -> int:
    changed = {file.path for file in diff.files}
    unreadable = [
        finding
        for finding in new.workspace.findings
        if finding.place.file in changed and is_unreadable(finding)
    ]
    left = [finding for finding in unreadable if finding not in shown]
    console.complain(findings_report(left, console.errors))
    if unreadable:
        return 2
    failed = {
        "none": False,
        "any": bool(diff.changes) or not diff.exact,
        "widened": diff.widened > 0 or not diff.exact,
    }
    return int(failed[fail_on])


def _paired(old: InputTree, new: InputTree) -> tuple[Workspace, Workspace]:
    """Return both workspaces; for two files, the second under the name of the first."""
    before, after = old.workspace, new.workspace
    trees = (old.tree, new.tree)
    if not all(isinstance(tree, SingleFile) for tree in trees):
        return before, after
    if len(before.projects) != 1 or len(after.projects) != 1:
        return before, after
    (one,), (other,) = before.projects, after.projects
    if one.host != other.host:
        return before, after
    return before, attrs.evolve(after, projects=(attrs.evolve(other, root=one.root),))


def _effects(diff: Diff, old: Workspace, new: Workspace) -> dict[str, str]:
    """Return the effect of each file that differs, by path."""
    projects = (*old.projects, *new.projects)
    named = {
        because.place.file
        for change in diff.changes
        for decision in (change.difference.before, change.difference.after)
        for because in decision.because
        if because.place is not None
    }
    changed = {change.project for change in diff.changes}
    for change in diff.changes:
        named |= _defining(change, projects)
    changing = {
        file.path for project in projects if project.title in changed for file in project.files
    }
    effects = {}
    for file in diff.files:
        if file.status != "read":
            effects[file.path] = "unread" if file.status == "not read" else "error"
        elif file.path in named:
            effects[file.path] = "decisions"
        else:
            settled = diff.exact and file.path not in changing
            effects[file.path] = "none" if settled else "unknown"
    return effects


def _defining(change: Change, projects: tuple[Project, ...]) -> set[str]:
    """Return the files that define the agents of a change."""
    names = {chain[-1] for chain in (change.chain, *change.also)}
    agents = [p.agents for p in projects if p.title == change.project]
    entries = (each.get(name) for each in agents for name in names)
    return {entry.place.file for entry in entries if entry is not None and entry.place is not None}


def _grants(diff: Diff, old: Workspace, new: Workspace) -> dict[int, Summary]:
    """Return the privileges of added and of removed agents, by the number of the change."""
    known: dict[str, Summary] = {}
    grants = {}
    for number, change in enumerate(diff.changes):
        if change.what == "rule":
            continue
        side = new if change.what == "agent-added" else old
        chain = _chain(change, side)
        if chain is None:
            continue
        if chain.table.hash not in known:
            known[chain.table.hash] = summarise(privileges(chain.table), change.chain[-1])
        grants[number] = known[chain.table.hash]
    return grants


def _chain(change: Change, workspace: Workspace) -> Chain | None:
    for project in workspace.projects:
        if project.title == change.project:
            try:
                chain = Chain.start(change.chain[0], project.reading(change.readings[0]))
                for name in change.chain[1:]:
                    chain = chain.spawn(name)
            except SpawnDenied:
                return None
            return chain
    return None
