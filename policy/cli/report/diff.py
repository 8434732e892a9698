"""What a change grants and takes away: text, JSON, Markdown and results."""

from __future__ import annotations

import html
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import attrs

from policy.analysis.diff import Change, Diff, FileChange
from policy.analysis.review import Review, RuleChange, Spawn
from policy.cli.report.as_json import Object, difference_json, finding_json, place_json
from policy.cli.report.findings import findings_lines
from policy.cli.report.privileges import LABELS, Summary, rule_parts
from policy.cli.report.results import Result, ResultRule, end_of, of_finding, rules_of
from policy.cli.report.text import (
    Ink,
    PageLayout,
    because_line,
    call_text,
    chain_text,
    code,
    count,
    excerpt,
    explained,
    item,
    line_around,
    listed,
    prose,
    quoted,
    rule_text,
    says_more,
    table,
    width,
)
from policy.core.credentials import masked
from policy.core.decision import EVERY_TOOL, Because, Decision, Reason
from policy.core.effect import Effect
from policy.core.finding import Finding, Severity
from policy.core.source import Place, Span, visible

if TYPE_CHECKING:
    from policy.analysis.reach.query import Excess

__all__ = [
    "BEYOND",
    "FILES",
    "LIMIT",
    "MEANINGS",
    "NEW_FINDINGS",
    "NO_EFFECT",
    "ChangeGroup",
    "DiffReport",
    "amount",
    "beyond",
    "change_groups",
    "diff_json",
    "diff_markdown",
    "diff_results",
    "diff_rules",
    "diff_text",
    "file_words",
    "headline",
    "meaning",
    "pool_headline",
    "rule_change_words",
    "spawn_mermaid",
    "subject",
    "summary",
    "verdict",
]


# The meanings of changes for a reviewer, in the order of the report.
MEANINGS = {
    "granted": "widened: granted",
    "ask-to-allow": "widened: ask -> allow",
    "withdrawn": "narrowed: withdrawn",
    "allow-to-ask": "narrowed: allow -> ask",
}

BEYOND = "beyond the maximum"
NEW_FINDINGS = "findings that came with the change"
NO_EFFECT = "rules that changed without effect"

# The effects of files that differ, in the order of the report.
FILES = {
    "unread": "changed and not read: what these files grant is not known",
    "error": "changed and not understood: what these files grant is not known",
    "unknown": "changed, and no rule or agent of theirs is named above",
    "none": "changed without effect: no call is decided differently",
    "decisions": "changed, and reported above",
}


# The places of rules in the texts that are compared.
Spans = Mapping[Because, Span]


@attrs.frozen
class DiffReport:
    """A diff with everything else that the report shows.

    Attributes:
        old: the name of the old side.
        new: the name of the new side.
        diff: the changes.
        effects: path -> a key of `FILES`, for each file that differs.
        grants: index of a change -> the privileges of an added or removed agent.
        review: renamed agents, and changed rules.
        spawns: project -> the edges of its spawn graph, where they changed.
        excess: what the new side grants beyond a maximum.
        findings: of the new side alone (`new_findings`).
        spans: for each side, the places of the rules that its decisions name.

    """

    old: str
    new: str
    diff: Diff
    effects: Mapping[str, str]
    grants: Mapping[int, Summary] = attrs.field(factory=dict)
    review: Review = Review()
    spawns: Mapping[str, Sequence[Spawn]] = attrs.field(factory=dict)
    excess: tuple[Excess, ...] = ()
    findings: tuple[Finding, ...] = ()
    spans: tuple[Spans, Spans] = ({}, {})

    def files(self, effect: str) -> list[FileChange]:
        """Return the files with *effect*."""
        return [file for file in self.diff.files if self.effects.get(file.path) == effect]


def meaning(change: Change) -> str:
    """Return the meaning of a change, a key of `MEANINGS`."""
    difference = change.difference
    if change.widened:
        return "granted" if difference.before.effect is Effect.DENY else "ask-to-allow"
    return "withdrawn" if difference.after.effect is Effect.DENY else "allow-to-ask"


def beyond(report: DiffReport) -> list[tuple[Excess, tuple[str, ...]]]:
    """Return what exceeds a maximum, with its readings; equal excess of both readings once."""
    groups: dict[object, tuple[Excess, list[str]]] = {}
    for one in report.excess:
        difference = one.difference
        key = (one.project, one.chain, difference.tool, str(difference.call))
        groups.setdefault(key, (one, []))[1].append(one.reading)
    return [(one, tuple(readings)) for one, readings in groups.values()]


def subject(change: Change) -> str:
    """Return the JSON key for the subject of a change: ``call`` or ``agent``."""
    return "call" if change.what == "rule" else "agent"


def verdict(change: Change) -> tuple[Decision, Decision] | None:
    """Return both decisions of a change; None for an added or removed agent."""
    if change.what != "rule":
        return None
    return change.difference.before, change.difference.after


def file_words(file: FileChange) -> str:
    """Return the kind of a file, and the number of its errors now."""
    return visible(file.what) + (f", {count(file.errors, 'error')}" if file.errors else "")


def _side_name(name: str) -> str:
    is_hash = len(name) == 40 and not name.strip("0123456789abcdef")
    return visible(name[:12] if is_hash else name)


def summary(report: DiffReport) -> str:
    """Return a summary on one line."""
    diff = report.diff
    parts = [f"{_side_name(report.old)} -> {_side_name(report.new)}: "]
    if diff.changes:
        parts.append(f"{diff.widened:,} widened, {diff.narrowed:,} narrowed")
    elif not diff.files:
        parts.append("no file that may say something about agents differs")
    elif not report.effects or _any(report, ("unread", "error")):
        parts.append("no change of decisions in the files that were read")
    else:
        parts.append("no call is decided differently")
    for effect, what in (("error", "not understood"), ("unread", "not read")):
        if files := report.files(effect):
            parts.append(f"; {count(len(files), 'changed file')} {what}")
    if excess := beyond(report):
        parts.append(f"; {len(excess):,} {BEYOND}")
    if report.findings:
        parts.append(f"; {count(len(report.findings), 'new finding')}")
    if not diff.exact:
        parts.append(f"; not exact: more calls may be decided differently ({'; '.join(diff.why)})")
    return "".join(parts)


def rule_change_words(change: RuleChange) -> tuple[str, str, str]:
    """Return the kind of a rule's change, the rule with its effects, and its places."""
    effects = [effect.value for effect in change.effects if effect is not None]
    places = [str(place) for place in change.places if place is not None]
    rule = f"{' -> '.join(dict.fromkeys(effects))} {visible(masked(change.rule))}"
    return change.what, rule, " -> ".join(dict.fromkeys(places))


def _any(report: DiffReport, effects: Sequence[str]) -> bool:
    return any(effect in effects for effect in report.effects.values())


# --- groups of changes with one cause ------------------------------------------------------


@attrs.define
class ChangeGroup:
    """Changes with one cause: the same rules change several calls in the same way.

    Attributes:
        lead: one of them.
        calls: their subjects, as text.
        chains: that they concern, the shortest first.
        readings: that they concern.
        grants: the privileges of an added or removed agent.
        renamed: the other name of an agent with the same rules, or "".
        by_effect: the calls by effect where the tool is available, for changes that only add
            or remove tools of agents; empty for others.

    """

    lead: Change
    calls: dict[str, None]
    chains: dict[tuple[str, ...], None]
    readings: dict[str, None]
    grants: Summary | None = None
    renamed: str = ""
    by_effect: dict[Effect, dict[str, None]] = attrs.field(factory=dict)
    members: int = 1  # the number of changes, as `Diff` counts them

    def take(self, other: ChangeGroup) -> None:
        """Add the changes of *other*."""
        self.calls |= other.calls
        for effect, calls in other.by_effect.items():
            self.by_effect[effect] = self.by_effect.get(effect, {}) | calls
        self.chains |= other.chains
        self.readings |= other.readings
        self.members += other.members

    @property
    def sorted_chains(self) -> list[tuple[str, ...]]:
        """The chains, the shortest first."""
        return sorted(self.chains, key=lambda chain: (len(chain), chain))

    @property
    def agents(self) -> list[str]:
        """The agents that make the calls, those of the shortest chains first."""
        return list(dict.fromkeys(chain[-1] for chain in self.sorted_chains))


def change_groups(report: DiffReport, what: str) -> list[ChangeGroup]:
    """Return the changes with the meaning *what* by agent, grouped by cause."""
    changes = list(enumerate(report.diff.changes))
    whom = _whom(changes)
    groups: dict[object, ChangeGroup] = {}
    for number, change in changes:
        if meaning(change) != what:
            continue
        grants = report.grants.get(number)
        one = _alone(report, change, grants)
        key = (one.renamed, _cause(change, grants, whom))
        if key in groups:
            groups[key].take(one)
        else:
            groups[key] = one
    # Agents that start others come first, so that a chain is shown from its root.
    return sorted(groups.values(), key=lambda one: _agent_order(one.lead))


def _alone(report: DiffReport, change: Change, grants: Summary | None) -> ChangeGroup:
    """Return a group of one change."""
    one = ChangeGroup(
        change,
        {_subject(change): None},
        dict.fromkeys((change.chain, *change.also)),
        dict.fromkeys(change.readings),
        grants,
        _renamed(report, change),
    )
    if _is_of_pool(change):
        difference = change.difference
        decision = difference.after if change.widened else difference.before
        one.by_effect[decision.effect] = dict(one.calls)
    return one


def _agent_order(change: Change) -> tuple[object, ...]:
    return change.what == "rule", change.project, len(change.chain), change.chain[-1]


def _renamed(report: DiffReport, change: Change) -> str:
    """Return the other name of an agent that was only renamed, or ""."""
    if change.what == "rule":
        return ""
    for renamed in report.review.renamed:
        if renamed.project == change.project:
            names = (renamed.old, renamed.new)
            if change.chain[-1] == names[change.widened]:
                return names[not change.widened]
    return ""


def amount(groups: Sequence[ChangeGroup], noun: str = "") -> str:
    """Return the number of changes, and of their groups."""
    total = sum(group.members for group in groups)
    told_in = "" if total == len(groups) else f" in {count(len(groups), 'group')}"
    return f"{count(total, noun) if noun else f'{total:,}'}{told_in}"


def _subject(change: Change) -> str:
    if change.what == "rule":
        return call_text(change.difference.tool, change.difference.call)
    return f"`{visible(change.chain[-1])}`"


# Calls of added or removed tools, and the agents that have, or had, these tools.
_Pools = Mapping[tuple[str, bool, str], set[str]]


def _whom(changes: Iterable[tuple[int, Change]]) -> _Pools:
    found: dict[tuple[str, bool, str], set[str]] = {}
    for _, change in changes:
        if _is_of_pool(change):
            agents = {chain[-1] for chain in (change.chain, *change.also)}
            found.setdefault(_pool_call(change), set()).update(agents)
    return found


def _pool_call(change: Change) -> tuple[str, bool, str]:
    return change.project, change.widened, _subject(change)


def _cause(change: Change, grants: Summary | None, whom: _Pools) -> object:
    """Return the key of the group of a change."""
    if change.what != "rule":
        return change.what, change.project, str(grants), len(change.chain) > 1
    difference = change.difference
    sides = [_side(decision) for decision in (difference.before, difference.after)]
    effects = (difference.before.effect, difference.after.effect)
    if _is_of_pool(change):
        return change.project, change.widened, frozenset(whom[_pool_call(change)])
    # Without a rule of a file, the subject is the cause.
    alone = None if any(rules for rules, _ in sides) else (change.chain, change.also)
    return change.project, effects, tuple(sides), alone, alone and change.readings


def _is_of_pool(change: Change) -> bool:
    """Return whether a change adds or removes a tool of an agent without a written rule.

    An agent whose list of tools was removed differs in every tool of its host.
    """
    decisions = (change.difference.before, change.difference.after)
    because = (rule for decision in decisions for rule in decision.because)
    if change.what != "rule" or any(map(_is_written, because)):
        return False
    gone = decisions[0] if change.widened else decisions[1]
    return gone.reason is Reason.UNAVAILABLE


def _is_written(because: Because) -> bool:
    return because.place is not None and because.rule != EVERY_TOOL


def _side(decision: Decision) -> tuple[tuple[object, ...], object]:
    rules = tuple((one.rule, one.place) for one in decision.because if one.place is not None)
    return rules, None if rules else decision.reason


def headline(group: ChangeGroup, most: int = 8) -> str:
    """Return what the agents of a group can do, or no longer do; at most *most* by name."""
    known = list(group.calls)
    if len(known) > most + 1:
        known = [*known[: max(most, 1)], f"{len(known) - max(most, 1):,} more"]
    names = " and ".join(filter(None, (", ".join(known[:-1]), *known[-1:])))
    started = "be started" if len(group.lead.chain) > 1 else "start chains"
    if group.renamed:
        other = f"`{visible(group.renamed)}`"
        started += f" (renamed: {other} {'had' if group.lead.widened else 'has'} the same rules)"
    return f"{names} can {'' if group.lead.widened else 'no longer '}{started}"


def pool_headline(group: ChangeGroup) -> str:
    """Return the headline of a group of changes that only add or remove tools."""
    has = "has" if len(group.agents) == 1 else "have"
    said = "did not have" if group.lead.widened else f"no longer {has}"
    return f"tools that {quoted(group.agents, 8)} {said}"


# --- the spawn graph as Mermaid, which forges draw in comments -----------------------------


# Edges of one picture: with more than the first, only changed edges and the ways to them are
# drawn; with more than the second, none, since the picture would be unreadable.
_WHOLE: Final = 16
_MOST: Final = 120

_LONGEST: Final = 40


def spawn_mermaid(edges: Sequence[Spawn]) -> list[str]:
    """Return the lines of a picture of *edges*; none where there are too many."""
    shown = list(edges)
    if len(shown) > _WHOLE:
        ways = _ways(edges)
        shown = [edge for edge in edges if edge.change or edge in ways]
    if len(shown) > _MOST:
        return []
    names = dict.fromkeys(name for edge in shown for name in (edge.parent, edge.child))
    ids = {name: f"n{number}" for number, name in enumerate(names)}
    lines = ["```mermaid", "flowchart LR"]
    lines += [f"  {ids[name]}{_node(name)}" for name in names]
    for edge in shown:
        arrow = {"added": "==>|new|", "removed": "-.->|gone|"}.get(edge.change, "-->")
        lines.append(f"  {ids[edge.parent]} {arrow} {ids[edge.child]}")
    for change, style in _STYLES.items():
        numbers = [str(number) for number, edge in enumerate(shown) if edge.change == change]
        if numbers:
            lines.append(f"  linkStyle {','.join(numbers)} {style}")
    return [*lines, "```"]


def _ways(edges: Sequence[Spawn]) -> set[Spawn]:
    """Return the edges of a shortest way from a start to each agent with changed edges."""
    children: dict[str, list[Spawn]] = {}
    for edge in edges:
        children.setdefault(edge.parent, []).append(edge)
    reached: dict[str, Spawn] = {}
    waiting = deque([""])
    while waiting:
        for edge in children.get(waiting.popleft(), ()):
            if edge.child not in reached:
                reached[edge.child] = edge
                waiting.append(edge.child)
    found: set[Spawn] = set()
    for changed in edges:
        at = changed.parent if changed.change else ""
        while at in reached and reached[at] not in found:
            found.add(reached[at])
            at = reached[at].parent
    return found


_STYLES: Final = {"added": "stroke:#cf222e,stroke-width:3px", "removed": "stroke:#1a7f37"}


def _node(name: str) -> str:
    if not name:
        return "(( ))"
    text = visible(name)
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    # Everything that could end the text or has a meaning in it.
    return '["' + "".join(c if c.isalnum() or c in " -.…" else f"#{ord(c)};" for c in text) + '"]'


# --- text: widened before narrowed ---------------------------------------------------------


_MOST_CHANGES = 40
_MOST_FILES = 10
_MOST_CALLS = 8
_MOST_RULES = 3
_COLUMN = 9

# As many changes that differ only in calls and rules share a block.
_ALIKE = 3


def diff_text(report: DiffReport, page: PageLayout, *, everything: bool = False) -> str:
    """Return *report* as lines that fit *page*; *everything* leaves no list short."""
    lines: list[str] = []
    shown_reasons: set[tuple[str, ...]] = set()  # each reason why a comparison is not exact, once
    for what, title in MEANINGS.items():
        groups = change_groups(report, what)
        if not groups:
            continue
        lines += [page.paint(f"{title} ({amount(groups)})", title.partition(":")[0]), ""]
        most = len(groups) if everything else _MOST_CHANGES
        for alike in _alike(groups[:most]):
            if len(alike) > 1:
                lines += [*_together(alike, report, page, everything=everything), ""]
            else:
                lines += [*_group(alike[0], report, page, shown_reasons, everything=everything), ""]
        if rest := groups[most:]:
            lines += [page.paint(f"  … {amount(rest, 'more change')}, shown with --all", "dim"), ""]
    lines += _beyond(report, page, everything=everything)
    lines += _findings(report, page, everything=everything)
    lines += _churn(report, page, everything=everything)
    lines += _files(report, page, everything=everything)
    lines += page.prose(summary(report), indent=2)
    return "\n".join(lines) + "\n"


def _alike(groups: Sequence[ChangeGroup]) -> list[list[ChangeGroup]]:
    """Return *groups*, joined where they differ only in calls and rules of one side."""
    found: dict[object, list[ChangeGroup]] = {}
    for group in groups:
        silent = _silent(group)
        key: object = id(group)
        if silent is not None:
            difference = group.lead.difference
            effects = difference.before.effect, difference.after.effect
            why = explained((difference.before, difference.after)[silent], group.lead.chain[-1])
            chains = tuple(group.sorted_chains)
            key = group.lead.project, effects, silent, why, chains, tuple(group.readings)
        found.setdefault(key, []).append(group)
    return [
        alike
        for members in found.values()
        for alike in ([members] if len(members) >= _ALIKE else [[each] for each in members])
    ]


def _silent(group: ChangeGroup) -> int | None:
    """Return the side without a rule, 0 or 1, where the other side has rules."""
    decisions = verdict(group.lead)
    if decisions is None or group.by_effect or not group.lead.exact:
        return None
    has = [bool(decision.because) for decision in decisions]
    return has.index(False) if sorted(has) == [False, True] else None


def _together(
    groups: Sequence[ChangeGroup], report: DiffReport, page: PageLayout, *, everything: bool
) -> list[str]:
    """Return the block for changes of the same chains with the same reason on one side."""
    lead, silent = groups[0].lead, _silent(groups[0])
    effects = lead.difference.before.effect, lead.difference.after.effect
    head = page.paint(f"calls that {len(groups):,} rules match", "bold")
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
    group: ChangeGroup,
    report: DiffReport,
    page: PageLayout,
    shown_reasons: set[tuple[str, ...]],
    *,
    everything: bool,
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
    if not change.exact and change.why not in shown_reasons:
        shown_reasons.add(change.why)
        said = f"not exactly: further calls may differ ({'; '.join(change.why)})"
        lines += page.prose(said, _label("compared"))
    return lines


def _pool(title: str, group: ChangeGroup, page: PageLayout, *, everything: bool) -> list[str]:
    """Return the calls of added or removed tools, by effect."""
    lines: list[str] = []
    most = None if everything else _MOST_CALLS
    for effect in sorted(group.by_effect, reverse=True):
        word = page.effect(effect) + " " * (7 - len(effect.value))
        head = _label("" if lines else title) + word
        lines += page.flow(listed([*group.by_effect[effect]], most), head)
    return lines


def _grants(grants: Summary, word: str, page: PageLayout) -> list[str]:
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


def _head(group: ChangeGroup, page: PageLayout, *, everything: bool) -> list[str]:
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


def _chains(group: ChangeGroup, page: PageLayout, *, everything: bool) -> list[str]:
    first, *rest = group.sorted_chains
    shown = f"{chain_text(first)} in {visible(group.lead.project)}"
    if not rest:
        return page.prose(shown, _label("chain"))
    if not everything:
        more = f"and {count(len(rest), 'more chain')}"
        if len(rest) > 1 and len(group.agents) > 1:
            more += f" ({count(len(group.agents), 'agent')})"
        return page.flow([shown, more], _label("chain"))
    return page.flow([shown, *map(chain_text, rest)], _label("chain"))


def _why(title: str, decision: Decision, agent: str, spans: Spans, page: PageLayout) -> list[str]:
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


# Project, readings, call, effects and rules: only the chain differs.
_SameExcess = tuple[str, tuple[str, ...], tuple[str, str], tuple[Effect, Effect], object]


def _beyond(report: DiffReport, page: PageLayout, *, everything: bool) -> list[str]:
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
    size = f"{len(excess):,}"
    size += f" in {count(len(groups), 'group')}" if len(groups) < len(excess) else ""
    lines = [page.paint(f"{BEYOND} ({size})", "widened"), ""]
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


def _churn(report: DiffReport, page: PageLayout, *, everything: bool) -> list[str]:
    rule_changes = report.review.churn
    if not rule_changes:
        return []
    lines = page.prose(f"{NO_EFFECT} ({len(rule_changes):,})", style="bold")
    most = len(rule_changes) if everything else _MOST_FILES
    for change in rule_changes[:most]:
        what, rule, place = rule_change_words(change)
        lines += page.flow([Ink(rule), Ink(f" {place}", "dim")], f"  {what:<9}", separator=" ")
    if len(rule_changes) > most:
        lines.append(page.paint(f"  … {len(rule_changes) - most:,} more, shown with --all", "dim"))
    return [*lines, ""]


def _findings(report: DiffReport, page: PageLayout, *, everything: bool) -> list[str]:
    if not report.findings:
        return []
    title = page.paint(f"{NEW_FINDINGS} ({len(report.findings):,})", "bold")
    return [title, *findings_lines(report.findings, page, everything=everything), ""]


def _files(report: DiffReport, page: PageLayout, *, everything: bool) -> list[str]:
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


# --- JSON ----------------------------------------------------------------------------------


def diff_json(report: DiffReport) -> Object:
    """Return the JSON shape of *report*."""
    diff = report.diff
    return {
        "old": report.old,
        "new": report.new,
        "changes": [
            _change(change, report.grants.get(number)) for number, change in enumerate(diff.changes)
        ],
        "renamed": [
            {"project": one.project, "from": one.old, "to": one.new}
            for one in report.review.renamed
        ],
        "rules": [_rule(rule) for rule in report.review.rules],
        "spawns": {
            project: [_spawn(edge) for edge in edges if edge.change]
            for project, edges in report.spawns.items()
        },
        "excess": [
            {
                "project": one.project,
                "reading": one.reading,
                "chain": list(one.chain),
                **difference_json(one.difference),
            }
            for one in report.excess
        ],
        "findings": [finding_json(finding) for finding in report.findings],
        "widened": diff.widened,
        "narrowed": diff.narrowed,
        "exact": diff.exact,
        "why": list(diff.why),
        "files": [_file(file, report) for file in diff.files],
    }


def _change(change: Change, grants: Summary | None) -> Object:
    shape: Object = {
        "project": change.project,
        "agent": change.chain[-1],
        "meaning": meaning(change),
        "chain": list(change.chain),
        "also": [list(chain) for chain in change.also],
        "reading": list(change.readings),
        "what": change.what,
        "about": subject(change),
        "direction": change.direction,
        **difference_json(change.difference),
        "exact": change.exact,
        "why": list(change.why),
    }
    if grants is not None:
        shape["grants"] = {
            **{label: list(items) for label, items in grants.lines.items()},
            "depends": {tool: list(layers) for tool, layers in grants.layered.items()},
        }
    return shape


def _file(file: FileChange, report: DiffReport) -> Object:
    return {
        "path": file.path,
        "what": file.what,
        "status": file.status,
        "errors": file.errors,
        "effect": report.effects.get(file.path),
    }


def _rule(change: RuleChange) -> Object:
    effects = [effect.value if effect else None for effect in change.effects]
    return {
        "what": change.what,
        "rule": change.rule,
        "from": effects[0],
        "to": effects[1],
        "before": place_json(change.places[0]),
        "after": place_json(change.places[1]),
        "effect": "decisions" if change.named else "none",
    }


def _spawn(edge: Spawn) -> Object:
    return {
        "parent": edge.parent or None,
        "child": edge.child,
        "change": edge.change,
        "before": sorted(edge.before),
        "after": sorted(edge.after),
    }


# --- Markdown, for the review of a pull request --------------------------------------------
#
# A comment on GitHub has room for 65,536 characters; what does not fit is counted. Widened calls
# and files that were not read are visible, the rest is folded.


# Bytes of a comment, with room for a line above it.
LIMIT: Final = 65_000

_HEADS: Final = ("", "call", "chain", "before", "after")
_LINE: Final = 80  # characters of a line of a policy
_WORDS: Final = {what: title.rpartition(": ")[2] for what, title in MEANINGS.items()}


@attrs.frozen
class _Limits:
    """How much a comment shows: agents, changes of an agent, calls of a change, files, characters.

    And whether it shows the lines of policies.
    """

    agents: int
    changes: int
    calls: int
    files: int
    cell: int = 400
    lines: bool = True


_EVERYTHING: Final = _Limits(10**9, 10**9, 10**9, 10**9, 10**9)
_LIMITS: Final = (
    _Limits(40, 50, 8, 40),
    _Limits(20, 20, 6, 20, 200),
    _Limits(10, 10, 3, 10, 120, lines=False),
    _Limits(5, 5, 1, 5, 80, lines=False),
    _Limits(0, 0, 0, 3, 80, lines=False),
)


def diff_markdown(report: DiffReport, *, everything: bool = False) -> str:
    """Return *report* as Markdown; *everything* leaves no list short, whatever the size."""
    if everything:
        return _Writer(report, _EVERYTHING).text()
    texts = (_Writer(report, limits).text() for limits in _LIMITS)
    return next((text for text in texts if len(text.encode()) <= LIMIT), summary(report)[:LIMIT])


@attrs.frozen
class _Writer:
    report: DiffReport
    limits: _Limits

    def text(self) -> str:
        """Return the whole comment."""
        blocks = [
            [f"**{prose(summary(self.report))}**", ""],
            *self._agents(),
            self._beyond(),
            *self._graphs(),
            self._findings(),
            self._churn(),
            *self._files(),
        ]
        return "\n".join(line for block in blocks for line in block).rstrip() + "\n"

    def _agents(self) -> Iterable[list[str]]:
        """Yield a block for each agent; a group of several agents is in the block of the first."""
        by_agent: dict[tuple[str, str], list[tuple[str, ChangeGroup]]] = {}
        for what in MEANINGS:
            for group in change_groups(self.report, what):
                key = (group.lead.project, group.lead.chain[-1])
                by_agent.setdefault(key, []).append((what, group))
        blocks = list(by_agent.items())
        for (_, name), groups in blocks[: self.limits.agents]:
            yield self._block(name, groups)
        rest = [group for _, groups in blocks[self.limits.agents :] for _, group in groups]
        if rest:
            yield [f"and {amount(rest, 'more change')}, in `policy diff --format json`", ""]

    def _block(self, name: str, groups: list[tuple[str, ChangeGroup]]) -> list[str]:
        by_meaning: dict[str, list[ChangeGroup]] = {}
        for what, group in groups:
            by_meaning.setdefault(what, []).append(group)
        said = ", ".join(f"{_WORDS[what]} {amount(some)}" for what, some in by_meaning.items())
        is_open = " open" if any(group.lead.widened for _, group in groups) else ""
        head = f"<code>{self._html(name)}</code>: {html.escape(said)}"
        lines = [f"<details{is_open}><summary>{head}</summary>", ""]
        rows = [self._row(what, group) for what, group in groups[: self.limits.changes]]
        lines += table(_HEADS, rows)
        if rest := [group for _, group in groups[self.limits.changes :]]:
            lines += ["", f"and {amount(rest, 'more change')}"]
        return [*lines, "", "</details>", ""]

    def _row(self, what: str, group: ChangeGroup) -> list[str]:
        change = group.lead
        first, *rest = group.sorted_chains
        chain = self._code(chain_text(first))
        if self.limits is _EVERYTHING:
            chain = "<br>".join([chain, *(code(chain_text(also)) for also in rest)])
        elif rest:
            chain += f"<br>and {count(len(rest), 'more chain')}"
        if len(group.readings) == 1:
            chain += f"<br>{next(iter(group.readings))} only"
        word = f"**{prose(_WORDS[what])}**" if change.widened else prose(_WORDS[what])
        decisions = verdict(change)
        if decisions is None:
            may = "" if group.renamed else self._grants(group.grants)
            sides = ["", may] if change.widened else [may, ""]
            return [word, prose(self._cut(headline(group, self.limits.calls))), chain, *sides]
        agent = change.chain[-1]
        if group.by_effect:
            open_ = "<br>".join(
                f"{effect}: {self._calls(list(calls))}"
                for effect, calls in sorted(group.by_effect.items(), reverse=True)
            )
            shut = self._why(decisions[not change.widened], agent, {})
            sides = [shut, open_] if change.widened else [open_, shut]
            return [word, prose(self._cut(pool_headline(group))), chain, *sides]
        return [
            word,
            self._calls(list(group.calls)),
            chain,
            *(
                self._why(decision, agent, spans)
                for decision, spans in zip(decisions, self.report.spans, strict=True)
            ),
        ]

    def _calls(self, calls: list[str]) -> str:
        cell = "<br>".join(map(self._code, calls[: self.limits.calls]))
        rest = len(calls) - self.limits.calls
        return f"{cell}<br>and {rest} more" if rest > 0 else cell

    def _why(self, decision: Decision, agent: str, spans: Spans) -> str:
        if not decision.because:
            return f"{decision.effect}: {prose(explained(decision, agent))}"
        because = decision.because[: max(self.limits.calls, 1)]
        lines = [
            f"{one.effect} {self._code(one.rule)}"
            + (f" at {self._code(str(one.place))}" if one.place else "")
            + self._line(spans.get(one))
            for one in because
        ]
        rest = len(decision.because) - len(because)
        return "<br>".join([*lines, *([f"and {rest} more rules"] if rest else [])])

    def _line(self, span: Span | None) -> str:
        """Return the line of the policy, where it has more than the rule."""
        if span is None or not self.limits.lines or not says_more(span):
            return ""
        return f"<br>{code(line_around(span, _LINE))}"

    def _grants(self, grants: Summary | None) -> str:
        if grants is None:
            return ""
        lines = [f"{label}: {self._listed(items)}" for label, items in grants.lines.items()]
        lines += [
            f"{self._code(tool)}: strictest of {'; '.join(map(self._code, layers))}"
            for tool, layers in grants.layered.items()
        ]
        return "<br>".join(lines[: self.limits.changes])

    def _listed(self, items: tuple[str, ...]) -> str:
        shown = ", ".join(map(self._code, items[: self.limits.changes]))
        rest = len(items) - self.limits.changes
        return f"{shown} and {rest} more" if rest > 0 else shown

    def _graphs(self) -> Iterable[list[str]]:
        """Yield a picture of each spawn graph that changed."""
        for project, edges in list(self.report.spawns.items())[: self.limits.agents]:
            totals = [sum(e.change == change for e in edges) for change in ("added", "removed")]
            said = f"{totals[0]:,} added, {totals[1]:,} removed"
            title = f"<summary>spawn graph of <code>{self._html(project)}</code>: {said}</summary>"
            picture = spawn_mermaid(edges) or ["too many edges changed to be drawn"]
            yield [f"<details>{title}", "", *picture, "", "</details>", ""]

    def _beyond(self) -> list[str]:
        excess = beyond(self.report)
        if not excess:
            return []
        rows = [
            [
                self._code(call_text(one.difference.tool, one.difference.call)),
                self._code(chain_text(one.chain))
                + ("" if len(readings) > 1 else f"<br>{readings[0]} only"),
                str(one.difference.before.effect),
                self._why(one.difference.after, one.chain[-1], self.report.spans[1]),
            ]
            for one, readings in excess[: self.limits.changes]
        ]
        head = f"<summary>{BEYOND}: {len(excess):,}</summary>"
        rest = len(excess) - len(rows)
        return [
            f"<details open>{head}",
            "",
            *table(("call", "chain", "at most", "granted"), rows),
            *(["", f"and {rest} more"] if rest else []),
            "",
            "</details>",
            "",
        ]

    def _findings(self) -> list[str]:
        found = self.report.findings
        if not found:
            return []
        lines = [f"<details open><summary>{NEW_FINDINGS}: {len(found):,}</summary>", ""]
        for one in found[: self.limits.files]:
            said = prose(self._cut(masked(f"{one.severity.value}: {one.message}")))
            place = str(one.place) if one.span else one.place.file
            lines.append(item(f"{said} (`{one.code}`) at {self._code(place)}"))
        return [*lines, *self._more(len(found)), "", "</details>", ""]

    def _churn(self) -> list[str]:
        rule_changes = self.report.review.churn
        if not rule_changes:
            return []
        lines = [f"<details><summary>{NO_EFFECT}: {len(rule_changes):,}</summary>", ""]
        for change in rule_changes[: self.limits.files]:
            what, rule, place = rule_change_words(change)
            lines.append(item(f"{what} {self._code(rule)} at {self._code(place)}"))
        lines += self._more(len(rule_changes))
        return [*lines, "", "</details>", ""]

    def _files(self) -> Iterable[list[str]]:
        """Yield the files that differ, except those whose rules are named."""
        for effect, what in FILES.items():
            files = self.report.files(effect)
            if not files or effect == "decisions":
                continue
            shown = files[: self.limits.files]
            lines = [f"{prose(what.capitalize())}:", ""]
            lines += [
                item(f"{self._code(file.path)} ({prose(file_words(file))})") for file in shown
            ]
            yield [*lines, *self._more(len(files)), ""]

    def _more(self, total: int) -> list[str]:
        rest = total - self.limits.files
        return [item(f"and {rest} more")] if rest > 0 else []

    def _cut(self, text: str) -> str:
        shown = visible(text)
        return shown if len(shown) <= self.limits.cell else f"{shown[: self.limits.cell - 1]}…"

    def _code(self, text: str) -> str:
        return code(self._cut(text))

    def _html(self, text: str) -> str:
        return html.escape(self._cut(text))


# --- results, for code scanning, annotations and test reports ------------------------------


_TITLES: Final = {
    "granted": "A call is granted that was denied",
    "ask-to-allow": "A call is allowed that was asked for",
    "withdrawn": "A call is denied that was granted",
    "allow-to-ask": "A call is asked for that was allowed",
}

_RULES: Final = (
    *(
        ResultRule(
            what,
            Severity.WARNING if MEANINGS[what].startswith("widened") else Severity.NOTE,
            title,
        )
        for what, title in _TITLES.items()
    ),
    ResultRule("beyond-maximum", Severity.ERROR, "A call is granted beyond the maximum"),
    ResultRule("not-exact", Severity.WARNING, "Not all that changed could be compared exactly"),
    ResultRule("not-read", Severity.WARNING, "A file changed that is not read"),
    ResultRule("in-error", Severity.ERROR, "A file changed that is not understood"),
)
_LEVELS: Final = {rule.code: rule.level for rule in _RULES}


def diff_rules(results: Iterable[Result]) -> list[ResultRule]:
    """Return the meanings of the codes of *results*, and of all codes of a diff."""
    return [*_RULES, *rules_of([one for one in results if one.code not in _LEVELS])]


def diff_results(report: DiffReport) -> list[Result]:
    """Return the changes of *report*, each cause once; then findings and files."""
    elsewhere = _changed_file(report)
    spans = report.spans[1]
    results = [
        _change_result(what, group, elsewhere, spans)
        for what in MEANINGS
        for group in change_groups(report, what)
    ]
    results += (_excess_result(one, readings, spans) for one, readings in beyond(report))
    if not report.diff.exact:
        reasons = "; ".join(report.diff.why)
        message = f"more calls may be decided differently than could be compared ({reasons})"
        results.append(Result("not-exact", _LEVELS["not-exact"], message, "", elsewhere))
    results += map(of_finding, report.findings)
    for effect, kind, said in (
        ("unread", "not-read", "this file changed, and is not read: what it grants is unknown"),
        ("error", "in-error", "this file changed and is not understood: what it grants is unknown"),
    ):
        results += (
            Result(kind, _LEVELS[kind], f"{said} ({visible(file.what)})", "", Place(file.path))
            for file in report.files(effect)
        )
    return results


def _excess_result(one: Excess, readings: tuple[str, ...], spans: Spans) -> Result:
    difference = one.difference
    place, end = _where(difference.after, difference.before, spans)
    call = quoted([call_text(difference.tool, difference.call)])
    chain = f"`{chain_text(one.chain)}`" + ("" if len(readings) > 1 else f" ({readings[0]} only)")
    message = f"{call} gets {difference.after.effect}, in {chain}"
    granted = _why_changed(difference.after, one.chain[-1])
    detail = f"at most: {difference.before.effect}\ngranted: {granted}"
    return Result("beyond-maximum", Severity.ERROR, message, detail, place, end)


def _changed_file(report: DiffReport) -> Place | None:
    """Return the place of a change without a rule: forges show no result without a place."""
    order = list(FILES)[::-1]
    files = sorted(report.diff.files, key=lambda file: order.index(report.effects[file.path]))
    return Place(files[0].path) if files else None


def _change_result(what: str, group: ChangeGroup, elsewhere: Place | None, spans: Spans) -> Result:
    change = group.lead
    first, *rest = group.sorted_chains
    chains = f"`{chain_text(first)}`" + (f" and {count(len(rest), 'more chain')}" if rest else "")
    readings = "" if len(group.readings) > 1 else f" ({next(iter(group.readings))} only)"
    decisions = verdict(change)
    place, end = _where(change.difference.after, change.difference.before, spans)
    place = place or elsewhere
    if decisions is None:
        return Result(what, _LEVELS[what], headline(group), chains + readings, place, end)
    before, after = decisions
    if group.by_effect:
        message = f"{pool_headline(group)}: {quoted(list(group.calls))}, in {chains}"
        by_effect = sorted(group.by_effect.items(), reverse=True)
        said = "; ".join(f"{effect} {quoted(list(calls))}" for effect, calls in by_effect)
        return Result(what, _LEVELS[what], message + readings, said, place, end)
    message = f"{before.effect} -> {after.effect}: {quoted(list(group.calls))}, in {chains}"
    agent = change.chain[-1]
    detail = f"before: {_why_changed(before, agent)}\nafter: {_why_changed(after, agent)}"
    return Result(what, _LEVELS[what], message + readings, detail, place, end)


def _where(
    after: Decision, before: Decision, spans: Spans
) -> tuple[Place | None, tuple[int, int] | None]:
    """Return the place of the first written rule, of the new side before the old."""
    now = next((one for one in after.because if one.place), None)
    if now is not None and now.place is not None:
        if now in spans:
            return now.place, end_of(spans[now])
        line, column = now.place.line, now.place.column
        return now.place, (line, column + max(len(now.rule), 1))
    # The line is of the old text, so only the file is certain.
    was = next((one.place for one in before.because if one.place), None)
    return (Place(was.file), None) if was is not None else (None, None)


def _why_changed(decision: Decision, agent: str) -> str:
    if not decision.because:
        return explained(decision, agent)
    return "; ".join(
        rule_text(one) + (f" at {one.place}" if one.place else "") for one in decision.because
    )
