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

if TYPE_CHECKING:
    from policy.analysis.friction import Friction, FrictionGroup

_MOST = 40
_CALLS = 3  # of one row
_PLACES = 3  # of lines that are not decided for one reason

# The home folder of the calls.
HOME: Final = str(Path("~").expanduser())


def run(options: argparse.Namespace, console: Console) -> int:
    """Replay the logs, and return the exit status."""
    files = log_files([Path(name) for name in options.logs])
    sides = [
        open_policy(path, Hosts.of(options), here=True)
        for path in (options.policy, options.against)
        if path is not None
    ]
    deciders = [RecordDecider(each.projects, options.reading, HOME) for each in sides]
    found = None
    if options.friction:
        from policy.analysis.friction import friction  # noqa: PLC0415  # it compares

        held = friction(records(files), deciders[0], root=options.root)
        title = "What keeps logged calls from running without confirmation"
        json, blocks = partial(_friction_json, held), partial(_friction_blocks, held)
    else:
        found = replay(records(files), *deciders, root=options.root)
        label = sides[0].projects.label
        title = f"Logged calls, decided by `{label}`"
        json, blocks = partial(_json, found), partial(_blocks, found, len(files), label)
    publish(doc.Report(title, json, blocks, _MOST), options, console)
    for each in sides:
        console.note(each.files.not_read if each.files else "")
    unreadable = console.unreadable([one for each in sides for one in each.findings()])
    if unreadable or (found is not None and not found.outcomes):
        return 2
    if found is None or options.fail_on is None:
        return 0
    # An undecided call may be granted more.
    changed = found.widened if options.fail_on == "widened" else found.changes
    return int(bool(changed or found.undecided))


def records(files: dict[Path, str]) -> Iterator[Record | LogProblem]:
    """Yield the records of the logs, one log after the other."""
    for file, name in files.items():
        yield from read_log(file, name)


def _without_earlier(found: Replay) -> Counter[Effect]:
    """Return the calls whose earlier decision is unknown: their new effect -> their number."""
    counts: Counter[Effect] = Counter()
    for each in found.outcomes:
        if each.before is None:
            counts[each.after.effect] += each.calls
    return counts


def _blocks(found: Replay, logs: int, label: str, most: int | None) -> list[doc.Block]:
    calls = sum(each.calls for each in found.outcomes)
    text = (
        f"{label}: {count(found.widened, 'call')} granted more, {found.narrowed:,} less, of"
        f" {count(calls, 'call')} ({found.distinct:,} distinct) in {count(logs, 'log')}"
    )
    lost = f"; {found.lines - calls:,} not decided" if found.undecided else ""
    blocks: list[doc.Block] = [doc.Paragraph(text + lost, "strong")]
    blocks += not_decided(found.undecided, most)
    if unknown := _without_earlier(found):
        now = ", ".join(f"{number:,} {VERBS[effect]}" for effect, number in sorted(unknown.items()))
        blocks.append(doc.Paragraph(f"the log does not say what these calls got; now: {now}"))
    for title, widened in (("granted more", True), ("granted less", False)):
        members = [each for each in found.changes if each.widened is widened]
        if members:
            rows = tuple(_row(each, most) for each in members[:most])
            table = doc.Grid(("", "call", "chain", "calls, first at", "why now"), rows)
            total = count(sum(each.calls for each in members), "call")
            left = doc.more(len(members) - len(rows))
            blocks.append(doc.Section(f"{title} ({total})", (table, *left)))
    return blocks


def not_decided(
    undecided: Undecided, most: int | None, text: str = "not decided"
) -> Iterator[doc.Block]:
    """Yield why lines of the logs were not decided, and where they are."""
    for why, (number, places) in undecided.items():
        shown = [doc.Ink(place, "file") for place in places[: most and _PLACES]]
        left = [f"{number - len(shown):,} more"] if number > len(shown) else []
        yield doc.Paragraph((f"{text}: {why} (", doc.joined([*shown, *left]), ")"))


def _row(each: Replayed, most: int | None) -> tuple[doc.Text, ...]:
    calls = (logged_call(one.tool, one.call) for one in each.members)
    return (
        arrow(each.before, each.after.effect),
        doc.joined(calls, most=most and _CALLS),
        doc.Ink(chain_text(each.chain), "agent"),
        (f"{_times(each.calls, each.distinct)}, ", doc.Ink(each.example.source, "file")),
        because_text(each.after, each.chain[-1]),
    )


def _times(calls: int, distinct: int) -> str:
    return f"{calls:,} ({distinct:,} distinct)" if distinct > 1 else f"{calls:,}"


def _json(found: Replay) -> Object:
    return {
        "changes": [
            {**shape(each), "direction": ("narrowed", "widened")[each.widened]}
            for each in found.changes
        ],
        **{name: getattr(found, name) for name in ("widened", "narrowed", "lines", "distinct")},
        "unsaid": {effect.value: number for effect, number in _without_earlier(found).items()},
        "undecided": found.undecided.as_json(),
    }


_RULES = 8


def _friction_blocks(found: Friction, most: int | None) -> list[doc.Block]:
    """Return the groups, the most frequent first."""
    distinct = sum(group.distinct for group in found.groups)
    calls = count(found.calls, "call")
    text = f"{found.held:,} of {calls} need confirmation, or no rule allows them"
    if found.held:
        text += f" ({distinct:,} distinct)"
    elif found.calls:
        text = f"every call of the logs runs without confirmation ({calls})"
    else:
        text = "no call of the logs was decided"
    blocks: list[doc.Block] = [doc.Paragraph(text, "strong")]
    blocks += not_decided(found.undecided, most)
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
    obstacle, chain = first.obstacle, first.chain
    cause: doc.Text = obstacle.kind
    if obstacle.because is not None:
        cause = (f"{obstacle.kind}: ", rule(obstacle.because))
    example: doc.Text = logged_call(first.example.tool, first.example.call)
    if len(chain) > 1:
        example = (example, f" ({chain_text(chain)})")
    rules = dict.fromkeys(rule for group in groups for rule in group.rules)
    links = dict.fromkeys(link for group in groups for link in group.links)
    above = any(link != chain[-1] for link in links)
    helps: doc.Text = "no rule can" if obstacle.text else "no rule is known"
    if rules:
        shown = doc.joined((doc.Ink(each, "rule") for each in rules), most=most and _RULES)
        helps = (shown, f", of {quoted(tuple(links))}" if above else "")
    elif obstacle.because is not None:
        helps = "only without that rule"
    calls, distinct = (
        sum(getattr(group, name) for group in groups) for name in ("calls", "distinct")
    )
    return _times(calls, distinct), cause, example, helps, _further(groups)


def _further(groups: Sequence[FrictionGroup]) -> doc.Text:
    grants = [group.grants for group in groups if group.grants is not None]
    if grants:
        return doc.joined((call(each.tool, each.call) for each in grants), most=1)
    if not groups[0].rules:
        return ""
    return "nothing else" if all(group.exact for group in groups) else "not fully compared"


def _friction_json(found: Friction) -> Object:
    undecided, groups = found.undecided.as_json(), shape(found.groups)
    return {"calls": found.calls, "held": found.held, "groups": groups, "undecided": undecided}
