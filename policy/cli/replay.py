"""``policy replay``: decide logged calls again, by another policy."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from policy.analysis.inputs import Hosts, open_policy
from policy.analysis.records.logs import LogProblem, log_files, read_log
from policy.analysis.records.record import Record
from policy.analysis.records.replay import RecordDecider, Replay, Replayed, Undecided, replay
from policy.cli.console import Console, publish
from policy.cli.report import document as doc
from policy.cli.report.as_json import Object, shape
from policy.cli.report.words import arrow, because_text, call, chain_text, count, logged_call, rule
from policy.core.effect import VERBS, Effect
from policy.core.source import quoted
from policy.core.values import evolve

if TYPE_CHECKING:
    from policy.analysis.friction import Friction, FrictionGroup, Obstacle

_MOST = 40

# The home folder of the calls.
HOME: Final = str(Path("~").expanduser())


def run(options: argparse.Namespace, console: Console) -> int:
    """Replay the logs, and return the exit status."""
    files = log_files([Path(name) for name in options.logs])
    sides = [
        open_policy(path, Hosts.of(options))
        for path in (options.policy, options.against)
        if path is not None
    ]
    deciders = [RecordDecider(each.projects, options.reading, HOME) for each in sides]
    if options.friction:
        report, found = _friction(records(files), deciders[0], options), None
    else:
        found = replay(records(files), *deciders, root=options.root)
        label = sides[0].projects.label
        blocks = partial(_blocks, found, len(files), label)
        title = f"Logged calls, decided by `{label}`"
        report = doc.Report(title, partial(_json, found), blocks, _MOST)
    publish(report, options, console)
    unreadable = console.unreadable([one for each in sides for one in each.findings()])
    if unreadable or (found is not None and not found.outcomes):
        return 2
    if found is None or options.fail_on is None:
        return 0
    # An undecided call may be granted more.
    changed = found.widened if options.fail_on == "widened" else found.changes
    return int(bool(changed or found.undecided))


def _friction(
    records: Iterator[Record | LogProblem], decider: RecordDecider, options: argparse.Namespace
) -> doc.Report:
    from policy.analysis.friction import friction  # noqa: PLC0415  # it compares

    found = friction(records, decider, root=options.root)
    title = "What keeps logged calls from running without confirmation"
    blocks = partial(_friction_blocks, found)
    return doc.Report(title, partial(_friction_json, found), blocks, _MOST)


def records(files: dict[Path, str]) -> Iterator[Record | LogProblem]:
    """Yield the records of the logs, one log after the other."""
    for file, name in files.items():
        yield from read_log(file, name)


def _unsaid(found: Replay) -> Counter[Effect]:
    """Return the calls whose earlier decision is unknown: their new effect -> their number."""
    counts: Counter[Effect] = Counter()
    for each in found.outcomes:
        if each.before is None:
            counts[each.after.effect] += each.calls
    return counts


def _blocks(found: Replay, logs: int, label: str, most: int | None) -> list[doc.Block]:
    calls = sum(each.calls for each in found.outcomes)
    told = (
        f"{label}: {count(found.widened, 'call')} granted more, {found.narrowed:,} less, of"
        f" {count(calls, 'call')} ({found.distinct:,} distinct) in {count(logs, 'log')}"
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
        members = [each for each in found.changes if each.widened is widened]
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


def _row(each: Replayed) -> tuple[doc.Text, ...]:
    distinct = f" ({each.distinct:,} distinct)" if each.distinct > 1 else ""
    return (
        arrow(each.before, each.after.effect),
        logged_call(each.tool, each.example.call),
        doc.Ink(chain_text(each.chain), "agent"),
        (f"{each.calls:,}{distinct}, ", doc.Ink(each.example.source, "file")),
        because_text(each.after, each.chain[-1]),
    )


def _json(found: Replay) -> Object:
    return {
        "changes": [
            {**shape(each), "direction": ("narrowed", "widened")[each.widened]}
            for each in found.changes
        ],
        **{name: getattr(found, name) for name in ("widened", "narrowed", "lines", "distinct")},
        "unsaid": {effect.value: number for effect, number in _unsaid(found).items()},
        "undecided": found.undecided.as_json(),
    }


# What keeps calls from running without confirmation.

_RULES = 8


def _friction_blocks(found: Friction, most: int | None) -> list[doc.Block]:
    """Return the groups, the most frequent first."""
    distinct = sum(group.distinct for group in found.groups)
    calls = count(found.calls, "call")
    told = f"{found.held:,} of {calls} do not run without confirmation ({distinct:,} distinct)"
    blocks: list[doc.Block] = [doc.Paragraph(told, "strong"), *_undecided_lines(found.undecided)]
    alike = doc.grouped(found.groups, lambda one: (one.chain, one.obstacle, bool(one.rules)))
    alike.sort(key=lambda groups: -sum(group.calls for group in groups))
    rows = tuple(_friction_row(groups, most) for groups in alike[:most])
    if rows:
        heads = ("calls", "what stands in the way", "for instance", "allow", "allows also")
        blocks += (doc.Grid(heads, rows), *doc.more(len(alike) - len(rows)))
    return blocks


def _friction_row(groups: Sequence[FrictionGroup], most: int | None) -> tuple[doc.Text, ...]:
    """Return the row of groups with one cause, whose rules are of several programs or folders."""
    first = groups[0]
    calls, distinct = (
        sum(getattr(group, name) for group in groups) for name in ("calls", "distinct")
    )
    told = f" ({distinct:,} distinct)" if distinct > 1 else ""
    rules = dict.fromkeys(rule for group in groups for rule in group.rules)
    shown = doc.joined((doc.Ink(each, "rule") for each in rules), most=most and _RULES)
    links = tuple(dict.fromkeys(link for group in groups for link in group.links))
    above = [link for link in links if link != first.chain[-1]]
    return (
        f"{calls:,}{told}",
        _obstacle(first.obstacle),
        _example(first),
        (shown, f", of {quoted(links)}" if above else "") if rules else _unhelped(first.obstacle),
        _further(groups),
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


def _further(groups: Sequence[FrictionGroup]) -> doc.Text:
    grants = [group.grants for group in groups if group.grants is not None]
    if grants:
        return doc.joined((call(each.tool, each.call) for each in grants), most=1)
    if not groups[0].rules:
        return ""
    return "nothing else" if all(group.exact for group in groups) else "not fully compared"


def _friction_json(found: Friction) -> Object:
    return {
        "calls": found.calls,
        "held": found.held,
        "groups": [_group_json(group) for group in found.groups],
        "undecided": found.undecided.as_json(),
    }


def _group_json(group: FrictionGroup) -> Object:
    # The members are the whole log.
    found: Object = shape(evolve(group, members=[]))
    return {key: value for key, value in found.items() if key != "members"}
