"""``policy replay``: decide logged calls again, by another policy."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from policy.analysis.records.logs import LogProblem, log_files, read_log
from policy.analysis.records.record import Record
from policy.analysis.records.replay import RecordDecider, Replay, Replayed, replay
from policy.cli.console import Console
from policy.cli.options import Hosts
from policy.cli.outputs import publish
from policy.cli.policies import open_policy
from policy.cli.report import document as doc
from policy.cli.report.as_json import Object, shape
from policy.cli.report.words import (
    VERBS,
    arrow,
    because_text,
    call,
    chain_text,
    count,
    logged_call,
    quoted,
    rule,
)
from policy.core.effect import Effect
from policy.core.values import frozen

if TYPE_CHECKING:
    from policy.analysis.friction import Friction, FrictionGroup, Obstacle

_MOST = 40

# The home folder of the calls.
HOME: Final = str(Path("~").expanduser())

# Why lines were not decided -> how many, and where the first is.
Undecided = Mapping[str, tuple[int, str]]


@frozen
class Rerun:
    """A replay, the number of logs that were read, and the label of the policy that decided."""

    found: Replay
    logs: int
    new: str


def run(options: argparse.Namespace, console: Console) -> int:
    """Replay the logs, and return the exit status."""
    files = log_files([Path(name) for name in options.logs])
    sides = [
        open_policy(path, console.progress, Hosts.of(options))
        for path in (options.policy, options.against)
        if path is not None
    ]
    deciders = [RecordDecider(each.projects, options.reading, HOME) for each in sides]
    if options.friction:
        _show_friction(records(files), deciders[0], options, console)
        unreadable = console.unreadable([one for each in sides for one in each.findings()])
        return 2 if unreadable else 0
    found = replay(
        records(files),
        *deciders,
        root=options.root,
        progress=lambda lines: console.progress(f"{lines:,} lines"),
    )
    again = Rerun(found, len(files), sides[0].projects.label)
    title = f"Logged calls, decided by `{again.new}`"
    publish(
        doc.Report(title, partial(_json, again), partial(_blocks, again), _MOST), options, console
    )
    unreadable = console.unreadable([one for each in sides for one in each.findings()])
    if unreadable or not found.outcomes:
        return 2
    # An undecided call may be granted more.
    failing = {"widened": found.widened or found.undecided, "any": found.changes or found.undecided}
    return int(bool(failing.get(options.fail_on)))


def _show_friction(
    records: Iterator[Record | LogProblem],
    decider: RecordDecider,
    options: argparse.Namespace,
    console: Console,
) -> None:
    from policy.analysis.friction import friction  # noqa: PLC0415  # it compares

    found = friction(
        records,
        decider,
        root=options.root,
        progress=lambda calls: console.progress(f"{calls:,} distinct calls"),
    )
    title = "What keeps logged calls from running unasked"
    blocks = partial(_friction_blocks, found)
    publish(doc.Report(title, partial(_friction_json, found), blocks, _MOST), options, console)


def records(files: dict[Path, str]) -> Iterator[Record | LogProblem]:
    """Yield the records of the logs, one log after the other."""
    for file, name in files.items():
        yield from read_log(file, name)


def _unsaid(found: Replay) -> dict[Effect, int]:
    """Return the calls whose earlier decision is unknown: their new effect -> their number."""
    counts: dict[Effect, int] = {}
    for each in found.outcomes:
        if each.outcome.before is None:
            after = each.outcome.after.effect
            counts[after] = counts.get(after, 0) + each.calls
    return counts


def _blocks(again: Rerun, most: int | None) -> list[doc.Block]:
    found = again.found
    calls = sum(each.calls for each in found.outcomes)
    told = (
        f"{again.new}: {count(found.widened, 'call')} granted more, {found.narrowed:,} less, of"
        f" {count(calls, 'call')} ({found.distinct:,} distinct) in {count(again.logs, 'log')}"
    )
    lost = sum(number for number, _ in found.undecided.values())
    blocks: list[doc.Block] = [
        doc.Paragraph(told + (f"; {lost:,} not decided" if lost else ""), "strong"),
        *_undecided_lines(found.undecided),
    ]
    if unsaid := _unsaid(found):
        now = ", ".join(f"{number:,} {VERBS[effect]}" for effect, number in sorted(unsaid.items()))
        blocks.append(doc.Paragraph(f"the log does not say what these calls got; now: {now}"))
    for title, widened in (("granted more", True), ("granted less", False)):
        members = [each for each in found.changes if each.outcome.widened is widened]
        if members:
            rows = tuple(_row(each) for each in members[:most])
            table = doc.Grid(("", "call", "chain", "calls, first at", "why now"), rows)
            total = count(sum(each.calls for each in members), "call")
            left = doc.more(len(members) - len(rows))
            blocks.append(doc.Section(f"{title} ({total})", (table, *left)))
    return blocks


def _undecided_lines(undecided: Undecided) -> Iterator[doc.Block]:
    for why, (number, first) in undecided.items():
        yield doc.Paragraph(f"not decided: {count(number, 'line')}, first {first}: {why}")


def _undecided_json(undecided: Undecided) -> list[Object]:
    return [
        {"why": why, "lines": number, "first": first} for why, (number, first) in undecided.items()
    ]


def _row(each: Replayed) -> tuple[doc.Text, ...]:
    outcome = each.outcome
    distinct = f" ({each.distinct:,} distinct)" if each.distinct > 1 else ""
    return (
        arrow(outcome.before, outcome.after.effect),
        logged_call(outcome.tool, each.example.call),
        doc.Ink(chain_text(outcome.chain), "agent"),
        (f"{each.calls:,}{distinct}, ", doc.Ink(each.example.source, "file")),
        because_text(outcome.after, outcome.chain[-1]),
    )


def _json(again: Rerun) -> Object:
    found = again.found
    return {
        "changes": [
            {**shape(each), "direction": "widened" if each.outcome.widened else "narrowed"}
            for each in found.changes
        ],
        "widened": found.widened,
        "narrowed": found.narrowed,
        "lines": found.lines,
        "distinct": found.distinct,
        "unsaid": {effect.value: number for effect, number in _unsaid(found).items()},
        "undecided": _undecided_json(found.undecided),
    }


# What keeps calls from running unasked.

_RULES = 4


def _friction_blocks(found: Friction, most: int | None) -> list[doc.Block]:
    """Return the groups, the most frequent first."""
    distinct = sum(group.distinct for group in found.groups)
    told = (
        f"{found.held:,} of {count(found.calls, 'call')} do not run unasked ({distinct:,} distinct)"
    )
    blocks: list[doc.Block] = [doc.Paragraph(told, "strong"), *_undecided_lines(found.undecided)]
    rows = tuple(_friction_row(group, most) for group in found.groups[:most])
    if rows:
        heads = ("calls", "what stands in the way", "for instance", "allow", "allows also")
        blocks += (doc.Grid(heads, rows), *doc.more(len(found.groups) - len(rows)))
    return blocks


def _friction_row(group: FrictionGroup, most: int | None) -> tuple[doc.Text, ...]:
    distinct = f" ({group.distinct:,} distinct)" if group.distinct > 1 else ""
    rules = doc.joined(
        (doc.Ink(each, "rule") for each in group.rules), most=_RULES if most else None
    )
    above = [link for link in group.links if link != group.chain[-1]]
    lacking: doc.Text = (rules, f", of {quoted(group.links)}") if above and group.rules else rules
    return (
        f"{group.calls:,}{distinct}",
        _obstacle(group.obstacle),
        _example(group),
        lacking if group.rules else _unhelped(group.obstacle),
        _further(group),
    )


def _example(group: FrictionGroup) -> doc.Text:
    told = logged_call(group.example.tool, group.example.call)
    return (told, f" ({chain_text(group.chain)})") if len(group.chain) > 1 else told


def _obstacle(obstacle: Obstacle) -> doc.Text:
    if obstacle.because is not None:
        return (f"{obstacle.kind}: ", rule(obstacle.because))
    return obstacle.kind


def _unhelped(obstacle: Obstacle) -> doc.Text:
    if obstacle.because is not None:
        return "only without that rule"
    return "no rule can" if obstacle.text or not obstacle.has_rules else "no rule is known"


def _further(group: FrictionGroup) -> doc.Text:
    if group.grants is not None:
        return call(group.grants.tool, group.grants.call)
    if not group.rules:
        return ""
    return "nothing else" if group.exact else "not fully compared"


def _friction_json(found: Friction) -> Object:
    """Return the value for programs."""
    return {
        "calls": found.calls,
        "held": found.held,
        "groups": [_group_json(group) for group in found.groups],
        "undecided": _undecided_json(found.undecided),
    }


def _group_json(group: FrictionGroup) -> Object:
    grants, because = group.grants, group.obstacle.because
    return {
        "obstacle": group.obstacle.kind,
        "because": shape(because),
        "text": group.obstacle.text,
        "chain": list(group.chain),
        "calls": group.calls,
        "distinct": group.distinct,
        "example": {"tool": group.example.tool, "input": group.example.call},
        "source": group.example.source,
        "allow": list(group.rules),
        "agents": list(group.links),
        "grants": {"tool": grants.tool, "input": grants.call} if grants else None,
        "exact": group.exact,
    }
