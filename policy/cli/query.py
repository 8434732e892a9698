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
    HERE,
    READING_WORDS,
    because_text,
    call,
    call_text,
    chain_text,
    count,
    effect,
    explained,
    names,
    reasons,
    rule,
)
from policy.core.values import evolve
from policy.language.parse import parse_matcher
from policy.tables.chain import READINGS

_MOST = 40
_MOST_NAMES = 3


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
        lines=doc.first_screen(workspace.projects),
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
    text: doc.Text = f"{who} can make a call of `{matcher}`"
    heads = ["project", "", "agents", "call", "why"]
    rows = [*_granted(answer, most)]
    if without or not answer.answers:
        heads, rows = ["project", "cannot", "call", "why"], [*_refused(answer, most)]
    columns = [*range(len(heads))]
    if len({row[-2] for row in rows}) == 1 and not without and answer.answers:
        text = (text, ", such as ", rows[0][-2])
        columns.remove(len(heads) - 2)
    if len({each.project for each in (*answer.answers, *answer.refused)}) == 1:
        columns.remove(0)
    if most is not None:
        rows = _in_projects(rows)
    found: list[doc.Block] = [doc.Paragraph(text, "strong")]
    if rows:
        shown = tuple(tuple(row[column] for column in columns) for row in rows[:most])
        found.append(doc.Grid(tuple(heads[column] for column in columns), shown))
    found += doc.more(len(rows) - len(rows[:most]))
    if not answer.exact:
        why = f"not exact: others may as well ({reasons(answer.why)})"
        found.append(doc.Paragraph(why, "warning"))
    return found


def _in_projects(rows: Iterable[tuple[doc.Text, ...]]) -> list[tuple[doc.Text, ...]]:
    """Return *rows* with those as one that differ in the project and in places of rules alone."""

    def key(row: tuple[doc.Text, ...]) -> object:
        parts = (each for text in row[1:] for each in doc.pieces(text))
        return tuple(each for each in parts if isinstance(each, str) or each.role != "file")

    groups = doc.grouped(rows, key)
    titles = [[doc.unstyled(row[0]) for row in some] for some in groups]
    if len({title.partition("@")[0] for some in titles for title in some}) == 1:
        titles = [[title.partition("@")[2] or HERE for title in some] for some in titles]
    named = [names(some, 2, "project") for some in titles]
    return [(title, *some[0][1:]) for title, some in zip(named, groups, strict=True)]


def _rows(
    answers: Iterable[Answer], key: Callable[[Answer], object]
) -> list[tuple[str, list[Answer]]]:
    """Return what the host enforces in rows by *key*, each with a note on what is declared."""
    once: list[tuple[str, Answer]] = []
    for *declared, real in doc.grouped(answers, lambda one: (one.project, one.agent)):
        alone = f" ({READING_WORDS[real.reading]} only)"
        note = f"; declared: {declared[0].effect}" if declared else alone
        is_one = declared and declared[0].effect is real.effect
        once.append(("" if is_one else note, real))
    rows = doc.grouped(once, lambda row: (row[0], row[1].project, key(row[1])))
    return [(row[0][0], [answer for _, answer in row]) for row in rows]


def _granted(found: Query, most: int | None) -> Iterator[tuple[doc.Text, ...]]:
    """Yield a row for the answers with one deciding rule; without a bound one for each chain."""

    def key(one: Answer) -> object:
        return one.effect, _because(one), one.chain if most is None else ()

    rows = _rows(found.answers, key)
    for note, members in sorted(rows, key=lambda row: row[1][0].effect, reverse=True):
        first = members[0]
        agents: doc.Text = doc.Ink(chain_text(first.chain), "agent")
        if len(members) > 1:
            agents = names((one.agent for one in members), most and _MOST_NAMES, "agent")
        why = because_text(first.decision, first.agent) if first.decision is not None else ""
        named = call(first.tool, first.call)
        yield first.project, effect(first.effect), agents, named, (why, note)


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

    for note, members in _rows(found.refused, key):
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
