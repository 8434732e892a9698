"""``policy query``: which agents can make a call that a matcher matches, by which chain."""

from __future__ import annotations

import argparse
from collections.abc import Hashable, Iterator, Sequence
from functools import partial

from policy.analysis.reach.query import Answer, CallRefusal, Query, query
from policy.cli.console import Console, publish
from policy.cli.inputs import load
from policy.cli.options import Hosts
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
    matcher = parse_matcher(options.matcher)
    workspace = load(options.path, Hosts.of(options)).workspace
    found = query(workspace, matcher, readings=(options.reading,) if options.reading else READINGS)
    asked = Asked(options.matcher, found, without=options.without)
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
    found += [doc.Grid(heads, tuple(rows[:most]))] if rows else []
    found += doc.more(len(rows) - len(rows[:most]))
    if not asked.found.exact:
        found.append(
            doc.Paragraph(
                f"not exact: others may as well ({'; '.join(asked.found.why)})", "warning"
            )
        )
    return found


def _granted(asked: Asked, most: int | None) -> Iterator[tuple[doc.Text, ...]]:
    """Yield a row for the answers with one deciding rule; without a bound one for each chain."""
    same: dict[Hashable, list[Answer]] = {}
    for one in asked.found.answers:
        said = one.project, one.chain, one.tool, str(one.call), one.decision.effect
        same.setdefault(said, []).append(one)
    groups: dict[Hashable, tuple[list[Answer], str]] = {}
    for first, *others in same.values():
        decision = first.decision
        # The reason without a rule names the agent.
        why = tuple((one.rule, one.place) for one in decision.because) or decision.reason
        alone = first.chain if most is None else ()
        note = _only(first, others)
        key = first.project, decision.effect, why, note, alone
        groups.setdefault(key, ([], note))[0].append(first)
    rows = sorted(groups.values(), key=lambda row: row[0][0].decision.effect, reverse=True)
    for members, note in rows:
        first = members[0]
        yield (
            effect(first.decision.effect),
            (_agents([each.chain for each in members], most), note),
            call(first.tool, first.call),
            because_text(first.decision, first.agent),
        )


def _only(first: Answer | CallRefusal, others: Sequence[object]) -> str:
    """Return the reading of which alone something holds; "" where it holds of both."""
    return "" if others else f" ({first.reading} only)"


def _agents(chains: Sequence[tuple[str, ...]], most: int | None) -> doc.Text:
    if len(chains) == 1:
        return doc.Ink(chain_text(chains[0]), "agent")
    return names((chain[-1] for chain in chains), None if most is None else _MOST_NAMES, "agent")


def _refused(asked: Asked, most: int | None) -> Iterator[tuple[doc.Text, ...]]:
    """Yield a row for the agents that cannot for one reason."""
    same: dict[tuple[str, str], list[CallRefusal]] = {}
    for each in asked.found.refused:
        same.setdefault((each.project, each.agent), []).append(each)
    groups: dict[Hashable, tuple[list[CallRefusal], str]] = {}
    for first, *others in same.values():
        call_ = "" if first.is_unreached else call_text(first.tool, first.call)
        decision, note = first.decision, _only(first, others)
        own = decision is not None and {*decision.links} <= {first.agent}
        why = decision.reason if decision is not None and own else _why([first])
        key = first.project, note, why, first.because, call_
        groups.setdefault(key, ([], note))[0].append(first)
    for members, note in groups.values():
        one = members[0]
        rules = doc.joined(map(rule, one.because), "; ")
        yield (
            (names((each.agent for each in members), most and _MOST_NAMES, "agent"), note),
            "" if one.is_unreached else call(one.tool, one.call),
            rules if one.because else _why(members),
        )


def _why(group: Sequence[CallRefusal]) -> str:
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
