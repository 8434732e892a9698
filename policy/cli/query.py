"""``policy query``: which agents can make a call that a matcher matches, by which chain."""

from __future__ import annotations

import argparse
from collections.abc import Hashable, Iterator, Sequence
from functools import partial

from policy.analysis.reach.query import Answer, CallRefusal, Query, query
from policy.cli.console import Console
from policy.cli.inputs import load
from policy.cli.options import Hosts
from policy.cli.outputs import publish
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
        label: of the tree.
        found: the answer.
        without: whether the question is which agents cannot.

    """

    matcher: str
    label: str
    found: Query
    without: bool = field(default=False, kw_only=True)


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the agents, and return the exit status."""
    matcher = parse_matcher(options.matcher)
    workspace = load(options.path, Hosts.of(options)).workspace
    found = query(workspace, matcher, readings=(options.reading,) if options.reading else READINGS)
    asked = Asked(options.matcher, workspace.label, found, without=options.without)
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
    readings: dict[Hashable, list[str]] = {}
    for answer in asked.found.answers:
        readings.setdefault(_answer_key(answer), []).append(answer.reading)
    groups: dict[Hashable, list[Answer]] = {}
    for answer in asked.found.answers:
        by = tuple(readings[_answer_key(answer)])
        if answer.reading != by[0]:
            continue
        decision = answer.decision
        # The reason without a rule names the agent.
        why = tuple((one.rule, one.place) for one in decision.because) or decision.reason
        alone = answer.chain if most is None else ()
        groups.setdefault((answer.project, decision.effect, why, by, alone), []).append(answer)
    for members in sorted(groups.values(), key=lambda some: some[0].decision.effect, reverse=True):
        first = members[0]
        only = readings[_answer_key(first)]
        note = f" ({only[0]} only)" if len(only) == 1 else ""
        yield (
            effect(first.decision.effect),
            (_agents([each.chain for each in members], most), note),
            call(first.tool, first.call),
            because_text(first.decision, first.agent),
        )


def _answer_key(answer: Answer) -> Hashable:
    effect_ = answer.decision.effect
    return answer.project, answer.chain, answer.tool, str(answer.call), effect_


def _agents(chains: Sequence[tuple[str, ...]], most: int | None) -> doc.Text:
    if len(chains) == 1:
        return doc.Ink(chain_text(chains[0]), "agent")
    return names((chain[-1] for chain in chains), None if most is None else _MOST_NAMES, "agent")


def _refused(asked: Asked, most: int | None) -> Iterator[tuple[doc.Text, ...]]:
    """Yield a row for the agents that cannot for one reason."""
    readings: dict[tuple[str, str], list[str]] = {}
    for project, reading, agent in asked.found.without:
        readings.setdefault((project, agent), []).append(reading)
    first = {(each.project, each.agent): each for each in reversed(asked.found.refused)}
    groups: dict[Hashable, list[CallRefusal]] = {}
    for each in asked.found.refused:
        if first[each.project, each.agent] is each:
            by = tuple(readings[each.project, each.agent])
            call_ = "" if each.is_unreached else call_text(each.tool, each.call)
            decision = each.decision
            own = decision is not None and {*decision.links} <= {each.agent}
            why = decision.reason if decision is not None and own else _why([each])
            groups.setdefault((each.project, by, why, each.because, call_), []).append(each)
    for members in groups.values():
        one = members[0]
        only = readings[one.project, one.agent]
        note = f" ({only[0]} only)" if len(only) == 1 else ""
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
