"""What a change grants and takes away, for people: widened before narrowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from policy.decision import Decision
from policy.effect import Effect
from policy.render.changes import (
    BEYOND,
    FILES,
    MEANINGS,
    NEW_FINDINGS,
    NO_EFFECT,
    Report,
    Spans,
    beyond,
    churn_words,
    file_words,
    summary,
    verdict,
)
from policy.render.excerpt import because_line, excerpt, says_more
from policy.render.findings_text import findings_lines
from policy.render.groups import Told, amount, headline, pool_headline, told
from policy.render.layout import Ink, Page, width
from policy.render.privileges import LABELS, Summary, rule_parts
from policy.render.words import call_text, chain_text, count, explained, listed
from policy.source import visible

if TYPE_CHECKING:
    from policy.reach.query import Excess

__all__ = ["diff_text"]

_MOST_CHANGES = 40
_MOST_FILES = 10
_MOST_CALLS = 8
_MOST_RULES = 3
_COLUMN = 9

# So many changes that differ in their calls and rules are told in one block.
_ALIKE = 3


def diff_text(report: Report, page: Page, *, everything: bool = False) -> str:
    """Return *report* as lines that fit *page*; *everything* leaves no list short."""
    lines: list[str] = []
    told_why: set[tuple[str, ...]] = set()  # why a comparison is not exact is said once
    for what, title in MEANINGS.items():
        groups = told(report, what)
        if not groups:
            continue
        lines += [page.paint(f"{title} ({amount(groups)})", title.partition(":")[0]), ""]
        most = len(groups) if everything else _MOST_CHANGES
        for alike in _alike(groups[:most]):
            if len(alike) > 1:
                lines += [*_together(alike, report, page, everything=everything), ""]
            else:
                lines += [*_group(alike[0], report, page, told_why, everything=everything), ""]
        if rest := groups[most:]:
            lines += [page.paint(f"  … {amount(rest, 'more change')}, shown with --all", "dim"), ""]
    lines += _beyond(report, page, everything=everything)
    lines += _findings(report, page, everything=everything)
    lines += _churn(report, page, everything=everything)
    lines += _files(report, page, everything=everything)
    lines += page.prose(summary(report), indent=2)
    return "\n".join(lines) + "\n"


def _alike(groups: Sequence[Told]) -> list[list[Told]]:
    """Return *groups*, those together that differ in the calls and the rules of one side."""
    found: dict[object, list[Told]] = {}
    for group in groups:
        silent = _silent(group)
        key: object = id(group)
        if silent is not None:
            difference = group.lead.difference
            effects = difference.before.effect, difference.after.effect
            why = explained((difference.before, difference.after)[silent], group.lead.chain[-1])
            chains = tuple(group.in_order)
            key = group.lead.project, effects, silent, why, chains, tuple(group.readings)
        found.setdefault(key, []).append(group)
    return [
        alike
        for members in found.values()
        for alike in ([members] if len(members) >= _ALIKE else [[each] for each in members])
    ]


def _silent(group: Told) -> int | None:
    """Return which side of a change has no rule, 0 or 1, where the other side has rules."""
    decisions = verdict(group.lead)
    if decisions is None or group.by_effect or not group.lead.exact:
        return None
    has = [bool(decision.because) for decision in decisions]
    return has.index(False) if sorted(has) == [False, True] else None


def _together(groups: Sequence[Told], report: Report, page: Page, *, everything: bool) -> list[str]:
    """Return changes of the same chains, of which one side has the same reason."""
    lead, silent = groups[0].lead, _silent(groups[0])
    effects = lead.difference.before.effect, lead.difference.after.effect
    head = page.paint(f"calls that {len(groups):,} rules speak of", "bold")
    lines = [f"  {head}  {' -> '.join(map(page.effect, effects))}"]
    lines += _chains(groups[0], page, everything=everything)
    shown: set[tuple[str, int]] = set()
    for side, title in enumerate(("before", "after")):
        for number, group in enumerate(groups[:1] if side == silent else groups):
            decision = (group.lead.difference.before, group.lead.difference.after)[side]
            written = {(b.place.file, b.place.line) for b in decision.because if b.place}
            spans = {} if written & shown else report.spans[side]  # a line is shown once
            shown |= written
            lines += _why("" if number else title, decision, lead.chain[-1], spans, page)
            rules = [because.rule for because in decision.because]
            if side != silent and rules != list(group.calls):
                names = listed(list(group.calls), None if everything else _MOST_CALLS)
                lines += page.flow([Ink(name, "dim") for name in names], _label("") + "  ")
    if len(groups[0].readings) == 1:
        lines.append(f"{_label('reading')}{next(iter(groups[0].readings))} only")
    return lines


def _group(
    group: Told, report: Report, page: Page, told_why: set[tuple[str, ...]], *, everything: bool
) -> list[str]:
    change = group.lead
    lines = _head(group, page, everything=everything)
    lines += _chains(group, page, everything=everything)
    decisions = verdict(change)
    if group.by_effect:
        there = "after" if change.widened else "before"
        lines += _pool(there, group, page, everything=everything)
    elif decisions is not None:
        agent = change.chain[-1]
        sides = zip(("before", "after"), decisions, report.spans, strict=True)
        for title, decision, spans in sides:
            lines += _why(title, decision, agent, spans, page)
    elif group.grants is not None and not group.renamed:
        lines += _grants(group.grants, "it may" if change.widened else "it could", page)
    if len(group.readings) == 1:
        lines.append(f"{_label('reading')}{next(iter(group.readings))} only")
    if not change.exact and change.why not in told_why:
        told_why.add(change.why)
        said = f"not exactly: further calls may differ ({'; '.join(change.why)})"
        lines += page.prose(said, _label("compared"))
    return lines


def _pool(title: str, group: Told, page: Page, *, everything: bool) -> list[str]:
    """Return the calls of tools that come or go, by what they get."""
    lines: list[str] = []
    most = None if everything else _MOST_CALLS
    for effect in sorted(group.by_effect, reverse=True):
        word = page.effect(effect) + " " * (7 - len(effect.value))
        head = _label("" if lines else title) + word
        lines += page.flow(listed([*group.by_effect[effect]], most), head)
    return lines


def _grants(grants: Summary, word: str, page: Page) -> list[str]:
    lines: list[str] = []
    for label in LABELS:
        if items := grants.lines.get(label):
            lines += page.flow(items, f"{_label(word)}{label:<{_LABEL}}")
            word = ""
    for tool, layers in grants.layered.items():
        lines += page.prose(f"{tool}: the strictest of", f"{_label(word)}{'depends':<{_LABEL}}")
        word = ""
        for layer in layers:
            head = _label("") + " " * _LABEL + "- "
            lines += page.flow(rule_parts(layer), head, separator=" ")
    return lines


_LABEL = max(map(len, LABELS)) + 2


def _label(text: str) -> str:
    return f"    {text:<{_COLUMN}}"


def _head(group: Told, page: Page, *, everything: bool) -> list[str]:
    change = group.lead
    if change.what != "rule":
        most = len(group.calls) if everything else _MOST_CALLS
        return page.prose(headline(group, most), "  ", indent=4, style="bold")
    if group.by_effect:
        return page.prose(pool_headline(group), "  ", indent=4, style="bold")
    before, after = change.difference.before.effect, change.difference.after.effect
    arrow = f"{page.effect(before)} -> {page.effect(after)}"
    names = listed(list(group.calls), None if everything else _MOST_CALLS)
    lines = page.flow([Ink(name, "bold") for name in names], "  ", indent=4)
    if width(lines[-1]) + 2 + width(arrow) <= page.width:
        return [*lines[:-1], f"{lines[-1]}  {arrow}"]
    return [*lines, f"    {arrow}"]


def _chains(group: Told, page: Page, *, everything: bool) -> list[str]:
    first, *rest = group.in_order
    shown = f"{chain_text(first)} in {visible(group.lead.project)}"
    if not rest:
        return page.prose(shown, _label("chain"))
    if not everything:
        more = f"and {count(len(rest), 'more chain')}"
        if len(rest) > 1 and len(group.agents) > 1:
            more += f" ({count(len(group.agents), 'agent')})"
        return page.flow([shown, more], _label("chain"))
    return page.flow([shown, *map(chain_text, rest)], _label("chain"))


def _why(title: str, decision: Decision, agent: str, spans: Spans, page: Page) -> list[str]:
    if not decision.because:
        return page.prose(explained(decision, agent), _label(title))
    lines: list[str] = []
    for because in decision.because[:_MOST_RULES]:
        lines += because_line(because, page, _label("" if lines else title))
        span = spans.get(because)
        if span is not None and says_more(span):
            style = because.effect.value
            lines += excerpt(span, page, style=style, indent=_label(""))[1:]
    if len(decision.because) > _MOST_RULES:
        lines.append(f"{_label('')}and {len(decision.because) - _MOST_RULES} more rules")
    return lines


# Project, readings, call, effects and rules: what differs is the chain.
_SameExcess = tuple[str, tuple[str, ...], tuple[str, str], tuple[Effect, Effect], object]


def _beyond(report: Report, page: Page, *, everything: bool) -> list[str]:
    excess = beyond(report)
    if not excess:
        return []
    groups: dict[_SameExcess, list[Excess]] = {}
    for one, readings in excess:
        difference = one.difference
        rules = tuple((because.rule, because.place) for because in difference.after.because)
        effects = difference.before.effect, difference.after.effect
        call = (difference.tool, str(difference.call))
        groups.setdefault((one.project, readings, call, effects, rules), []).append(one)
    told = f"{len(excess):,}"
    told += f" in {count(len(groups), 'group')}" if len(groups) < len(excess) else ""
    lines = [page.paint(f"{BEYOND} ({told})", "widened"), ""]
    shown = list(groups.items())
    most = len(shown) if everything else _MOST_CHANGES
    for (_, readings, *_), (one, *others) in shown[:most]:
        difference = one.difference
        before, after = difference.before.effect, difference.after.effect
        text = page.paint(call_text(difference.tool, difference.call), "bold")
        lines.append(f"  {text}  at most {page.effect(before)} -> {page.effect(after)}")
        chain = f"{chain_text(one.chain)} in {visible(one.project)}"
        chain += f", and {count(len(others), 'more chain')}" if others else ""
        lines += page.prose(chain, _label("chain"))
        lines += _why("granted", difference.after, one.chain[-1], report.spans[1], page)
        lines += [] if len(readings) > 1 else [f"{_label('reading')}{readings[0]} only"]
        lines.append("")
    if rest := shown[most:]:
        more = f"  … {sum(len(each) for _, each in rest):,} more, shown with --all"
        lines += [page.paint(more, "dim"), ""]
    return lines


def _churn(report: Report, page: Page, *, everything: bool) -> list[str]:
    churn = report.review.churn
    if not churn:
        return []
    lines = page.prose(f"{NO_EFFECT} ({len(churn):,})", style="bold")
    most = len(churn) if everything else _MOST_FILES
    for change in churn[:most]:
        what, rule, place = churn_words(change)
        lines += page.flow([Ink(rule), Ink(f" {place}", "dim")], f"  {what:<9}", separator=" ")
    if len(churn) > most:
        lines.append(page.paint(f"  … {len(churn) - most:,} more, shown with --all", "dim"))
    return [*lines, ""]


def _findings(report: Report, page: Page, *, everything: bool) -> list[str]:
    if not report.findings:
        return []
    title = page.paint(f"{NEW_FINDINGS} ({len(report.findings):,})", "bold")
    return [title, *findings_lines(report.findings, page, everything=everything), ""]


def _files(report: Report, page: Page, *, everything: bool) -> list[str]:
    lines: list[str] = []
    for effect, what in FILES.items():
        files = report.files(effect)
        if not files or (effect == "decisions" and not everything):
            continue
        most = len(files) if everything else _MOST_FILES
        style = "warning" if effect in {"unread", "error"} else "bold"
        lines += page.prose(what, style=style)
        for file in files[:most]:
            lines += page.prose(f"{visible(file.path)} ({file_words(file)})", "  ", indent=4)
        if len(files) > most:
            lines.append(page.paint(f"  … {len(files) - most:,} more, shown with --all", "dim"))
        lines.append("")
    return lines
