"""``policy query``: which agents can make a call that a matcher matches, by which chain."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
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
from policy.core.values import evolve, field, frozen
from policy.language.parse import parse_matcher
from policy.tables.chain import READINGS

_MOST = 40
_MOST_NAMES = 6


@frozen
class Asked:
    """A question and its answer.

    Attributes:
        matcher: as written.
        found: the answer.
        without: whether the question is which agents cannot.

    """

    matcher: str
    found: Query
    without: bool = field(default=False, kw_only=True)


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the agents, and return the exit status."""
    text, path = options.matcher, options.path
    # The path may stand first, as `policy check` has it.
    if not Path(path).exists() and (Path(text).exists() or "(" in path):
        text, path = path, text
    matcher = parse_matcher(text)
    workspace = load_here(path, Hosts.of(options), every=True).workspace
    found = query(workspace, matcher, readings=(options.reading,) if options.reading else READINGS)
    asked = Asked(text, found, without=options.without)
    report = doc.Report(
        f"Agents that can make a call of `{asked.matcher}`",
        partial(as_json, asked),
        partial(blocks, asked),
        _MOST,
    )
    publish(report, options, console)
    if console.unreadable(workspace.findings):
        return 2
    return int(not (found.without if asked.without else found.answers))


def blocks(asked: Asked, most: int | None) -> list[doc.Block]:
    """Return the agents, those that one rule decides for together."""
    can = {(answer.project, answer.agent) for answer in asked.found.answers}
    cannot = {(each.project, each.agent) for each in asked.found.refused} - can
    told = (
        f"{count(len(can), 'agent')} can make a call of `{asked.matcher}`, {len(cannot):,} cannot"
    )
    found: list[doc.Block] = [doc.Paragraph(told, "strong")]
    heads: tuple[str, ...]
    if asked.without or not asked.found.answers:
        heads = ("cannot", "call", "why")
        rows = list(_refused(asked, most))
    else:
        heads = ("", "agents", "call", "why")
        rows = list(_granted(asked, most))
    if len({each.project for each in (*asked.found.answers, *asked.found.refused)}) > 1:
        heads = ("project", *heads)
    else:
        rows = [row[1:] for row in rows]
    found += [doc.Grid(heads, tuple(rows[:most]))] if rows else []
    found += doc.more(len(rows) - len(rows[:most]))
    if not asked.found.exact:
        told = f"not exact: others may as well ({'; '.join(asked.found.why)})"
        found.append(doc.Paragraph(told, "warning"))
    return found


def _granted(asked: Asked, most: int | None) -> Iterator[tuple[doc.Text, ...]]:
    """Yield a row for the answers with one deciding rule; without a bound one for each chain."""
    same = doc.grouped(
        asked.found.answers,
        lambda one: (one.project, one.chain, one.tool, str(one.call), one.effect),
    )

    def key(row: tuple[Answer, str]) -> object:
        first, note = row
        alone = first.chain if most is None else ()
        why = _rules(first) or (first.decision.reason if first.decision is not None else None)
        return first.project, first.effect, why, note, alone

    rows = doc.grouped(((first, _only(first, others)) for first, *others in same), key)
    rows.sort(key=lambda row: row[0][0].effect, reverse=True)
    for members in rows:
        first, note = members[0]
        yield (
            first.project,
            effect(first.effect),
            (_agents([each.chain for each, _ in members], most), note),
            call(first.tool, first.call),
            because_text(first.decision, first.agent) if first.decision is not None else "",
        )


def _rules(one: Answer) -> tuple[object, ...]:
    """Return the rules behind an answer, without the agents that they are of."""
    return tuple((each.effect, each.rule, each.place) for each in one.because)


def _only(first: Answer, others: Sequence[object]) -> str:
    """Return the reading of which alone something holds; "" where it holds of both."""
    return "" if others else f" ({first.reading} only)"


def _agents(chains: Sequence[tuple[str, ...]], most: int | None) -> doc.Text:
    if len(chains) == 1:
        return doc.Ink(chain_text(chains[0]), "agent")
    return names((chain[-1] for chain in chains), None if most is None else _MOST_NAMES, "agent")


def _refused(asked: Asked, most: int | None) -> Iterator[tuple[doc.Text, ...]]:
    """Yield a row for the agents that cannot for one reason."""
    same = doc.grouped(asked.found.refused, lambda one: (one.project, one.agent))

    def key(row: tuple[Answer, str]) -> object:
        first, note = row
        # A reason without a rule names the agent.
        own = first.decision is not None and {*first.decision.links} <= {first.agent}
        reason = first.decision.reason if first.decision is not None and own else _why([first])
        call_ = "" if first.is_unreached else call_text(first.tool, first.call)
        return first.project, note, _rules(first) or reason, call_

    for row in doc.grouped(((first, _only(first, others)) for first, *others in same), key):
        (one, note), members = row[0], [each for each, _ in row]
        rules = doc.joined(map(rule, one.because), "; ")
        yield (
            one.project,
            (names((each.agent for each in members), most and _MOST_NAMES, "agent"), note),
            "" if one.is_unreached else call(one.tool, one.call),
            rules if one.because else _why(members),
        )


def _why(group: Sequence[Answer]) -> str:
    """Return the common reason why agents cannot, as a clause."""
    first = group[0]
    if first.decision is None:
        return "no chain comes to it"
    caller = first.chain[-1]
    if first.is_unreached:
        return f"`{caller}` may not start it: {explained(first.decision, caller)}"
    links = first.decision.links if len(group) == 1 else tuple(each.agent for each in group)
    return explained(evolve(first.decision, links=links), caller)


def as_json(asked: Asked) -> Object:
    """Return the JSON shape of *asked*."""
    found = asked.found
    return {
        "matcher": asked.matcher,
        "answers": shape(found.answers),
        "without": [{**shape(each), "message": _why([each])} for each in found.refused],
        "exact": found.exact,
        "why": list(found.why),
    }
