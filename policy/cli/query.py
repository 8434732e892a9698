"""``policy query``: which agents can make a call that a matcher matches, by which chain."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from policy.analysis.inputs import Hosts, load_here
from policy.analysis.reach.query import Answer, Query, query
from policy.cli.console import Console, publish
from policy.cli.report import document as doc
from policy.cli.report.as_json import Object, shape
from policy.cli.report.words import (
    because_text,
    call,
    call_text,
    chain_text,
    count,
    effect,
    explained,
    names,
    rule,
)
from policy.core.values import evolve
from policy.language.parse import parse_matcher
from policy.tables.chain import READINGS

_MOST = 40
_MOST_NAMES = 6


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the agents, and return the exit status."""
    text, path = options.matcher, options.path
    # The path may stand first, as `policy check` has it.
    if not Path(path).exists() and (Path(text).exists() or "(" in path):
        text, path = path, text
    matcher = parse_matcher(text)
    files = load_here(path, Hosts.of(options), every=True)
    console.note(files.not_read)
    workspace = files.workspace
    found = query(workspace, matcher, readings=(options.reading,) if options.reading else READINGS)
    report = doc.Report(
        f"Agents that can make a call of `{text}`",
        partial(as_json, text, found),
        partial(blocks, text, found, without=options.without),
        _MOST,
    )
    publish(report, options, console)
    if console.unreadable(workspace.findings):
        return 2
    return int(not (found.refused if options.without else found.answers))


def blocks(
    matcher: str, answer: Query, most: int | None, *, without: bool = False
) -> list[doc.Block]:
    """Return the agents that can, or cannot, make the call, in one row for each deciding rule."""
    can = {(each.project, each.agent) for each in answer.answers}
    cannot = {(each.project, each.agent) for each in answer.refused} - can
    who = f"{len(can):,} of {count(len(can) + len(cannot), 'agent')}" if can else "no agent"
    told = f"{who} can make a call of `{matcher}`"
    found: list[doc.Block] = [doc.Paragraph(told, "strong")]
    heads: tuple[str, ...] = ("", "agents", "call", "why")
    rows = _granted(answer, most)
    if without or not answer.answers:
        heads, rows = ("cannot", "call", "why"), _refused(answer, most)
    told_once = _in_projects(rows) if most else list(rows)
    if len({each.project for each in (*answer.answers, *answer.refused)}) > 1:
        heads = ("project", *heads)
    else:
        told_once = [row[1:] for row in told_once]
    found += [doc.Grid(heads, tuple(told_once[:most]))] if told_once else []
    found += doc.more(len(told_once) - len(told_once[:most]))
    if not answer.exact:
        told = f"not exact: others may as well ({'; '.join(answer.why)})"
        found.append(doc.Paragraph(told, "warning"))
    return found


def _in_projects(rows: Iterable[tuple[doc.Text, ...]]) -> list[tuple[doc.Text, ...]]:
    """Return *rows* with those as one that differ in the project and in places of rules alone."""

    def key(row: tuple[doc.Text, ...]) -> object:
        told = (each for text in row[1:] for each in doc.pieces(text))
        return tuple(each for each in told if isinstance(each, str) or each.role != "file")

    return [
        (names((doc.unstyled(row[0]) for row in some), 2, "project"), *some[0][1:])
        for some in doc.grouped(rows, key)
    ]


def _rows(
    answers: Iterable[Answer], is_one: Callable[[Answer], object], key: Callable[[Answer], object]
) -> list[tuple[str, list[Answer]]]:
    """Return *answers* in rows by *key*, each with a note if it holds in one reading only.

    Two answers with the same value of *is_one*, one of each reading, hold in both.
    """
    once = [
        ("" if others else f" ({first.reading} only)", first)
        for first, *others in doc.grouped(answers, is_one)
    ]
    rows = doc.grouped(once, lambda row: (row[0], row[1].project, key(row[1])))
    return [(row[0][0], [answer for _, answer in row]) for row in rows]


def _granted(found: Query, most: int | None) -> Iterator[tuple[doc.Text, ...]]:
    """Yield a row for the answers with one deciding rule; without a bound one for each chain."""
    rows = _rows(
        found.answers,
        lambda one: (one.project, one.chain, one.tool, str(one.call), one.effect),
        lambda one: (one.effect, _because(one), one.chain if most is None else ()),
    )
    for note, members in sorted(rows, key=lambda row: row[1][0].effect, reverse=True):
        first = members[0]
        agents: doc.Text = doc.Ink(chain_text(first.chain), "agent")
        if len(members) > 1:
            agents = names((one.agent for one in members), most and _MOST_NAMES, "agent")
        why = because_text(first.decision, first.agent) if first.decision is not None else ""
        named = call(first.tool, first.call)
        yield first.project, effect(first.effect), (agents, note), named, why


def _because(one: Answer) -> object:
    """Return the rules behind an answer, without their agents; or else its reason."""
    rules = tuple((each.effect, each.rule, each.place) for each in one.because)
    return rules or (one.decision.reason if one.decision is not None else None)


def _refused(found: Query, most: int | None) -> Iterator[tuple[doc.Text, ...]]:
    """Yield a row for each reason, with the agents that cannot make the call because of it."""

    def key(one: Answer) -> object:
        # A reason without a rule names the agent.
        own = one.decision is not None and {*one.decision.links} <= {one.agent}
        reason = _because(one) if own or one.because else _why([one])
        return reason, "" if one.is_unreached else call_text(one.tool, one.call)

    for note, members in _rows(found.refused, lambda one: (one.project, one.agent), key):
        one = members[0]
        rules = doc.joined(map(rule, one.because), "; ")
        yield (
            one.project,
            (names((each.agent for each in members), most and _MOST_NAMES, "agent"), note),
            "" if one.is_unreached else call(one.tool, one.call),
            rules if one.because else _why(members),
        )


def _why(group: Sequence[Answer]) -> str:
    """Return the common reason why agents cannot make the call, as a clause."""
    first = group[0]
    if first.decision is None:
        return "no chain comes to it"
    caller = first.chain[-1]
    if first.is_unreached:
        return f"`{caller}` may not start it: {explained(first.decision, caller)}"
    links = first.decision.links if len(group) == 1 else tuple(each.agent for each in group)
    return explained(evolve(first.decision, links=links), caller)


def as_json(matcher: str, found: Query) -> Object:
    """Return the JSON shape of an answer."""
    return {
        "matcher": matcher,
        "answers": shape(found.answers),
        "without": [{**shape(each), "message": _why([each])} for each in found.refused],
        "exact": found.exact,
        "why": list(found.why),
    }
