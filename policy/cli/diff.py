"""``policy diff``: report the decisions that a change changes."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from policy.analysis.diff import Change, Diff, FileChange, changed_files, diff_workspaces
from policy.analysis.reach.privileges import at_most, privileges
from policy.analysis.review import Review, RuleChange, Spawn, new_findings, review, spawn_changes
from policy.cli.console import Console
from policy.cli.inputs import InputTree, load, sides
from policy.cli.options import Hosts
from policy.cli.outputs import publish
from policy.cli.report.access import (
    CLASSES,
    NOTHING,
    ToolAccess,
    access_json,
    by_class,
    cell,
    tool_access,
)
from policy.cli.report.as_json import Object, difference_json, finding_json, place_json
from policy.cli.report.document import (
    Block,
    Edge,
    Graph,
    Ink,
    Item,
    Labelled,
    Paragraph,
    Report,
    Section,
    Text,
    joined,
    more,
)
from policy.cli.report.results import Result, end_of, of_finding, path_prefix
from policy.cli.report.words import (
    arrow,
    call,
    call_text,
    chain_text,
    count,
    effect,
    explained,
    findings_blocks,
    quoted,
    rule_text,
    why_rows,
)
from policy.compare.compare import Known
from policy.core import values as attrs
from policy.core.decision import EVERY_TOOL, Because, Decision, Reason
from policy.core.effect import Effect
from policy.core.finding import Finding, Severity
from policy.core.source import Place, Span, visible
from policy.files.opening import is_unreadable
from policy.files.text import decode
from policy.files.trees import SingleFile
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace
from policy.tables.chain import READINGS, Chain, SpawnDenied

if TYPE_CHECKING:
    from policy.analysis.reach.query import Excess

__all__ = [
    "FILES",
    "MEANINGS",
    "ChangeGroup",
    "DiffReport",
    "blocks",
    "change_groups",
    "results",
    "run",
    "shape",
]

_MOST = 40  # changes of one meaning
_MOST_CALLS = 8
_MOST_RULES = 3

# The meanings of changes for a reviewer, in the order of the report.
MEANINGS: Final = {
    "granted": "widened: granted",
    "ask-to-allow": "widened: ask → allow",
    "withdrawn": "narrowed: withdrawn",
    "allow-to-ask": "narrowed: allow → ask",
}

# The effects of files that differ, in the order of the report.
FILES: Final = {
    "unread": "changed and not read: what these files grant is not known",
    "error": "changed and not understood: what these files grant is not known",
    "unknown": "changed, and no rule or agent of theirs is named above",
    "none": "changed without effect: no call is decided differently",
    "decisions": "changed, and reported above",
}

BEYOND: Final = "beyond the maximum"


# What an agent may do: class of tools -> tools.
Grants = Mapping[str, Sequence[ToolAccess]]


@attrs.frozen
class DiffReport:
    """A diff with everything else that the answer shows.

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
        spans: the places of the rules that decisions of the new side name.

    """

    old: str
    new: str
    diff: Diff
    effects: Mapping[str, str]
    grants: Mapping[int, Grants] = attrs.field(factory=dict)
    review: Review = Review()
    spawns: Mapping[str, Sequence[Spawn]] = attrs.field(factory=dict)
    excess: tuple[Excess, ...] = ()
    findings: tuple[Finding, ...] = ()
    spans: Mapping[Because, Span] = attrs.field(factory=dict)

    def files(self, effect: str) -> list[FileChange]:
        """Return the files with *effect*."""
        return [file for file in self.diff.files if self.effects.get(file.path) == effect]

    @property
    def beyond(self) -> list[tuple[Excess, tuple[str, ...]]]:
        """What exceeds a maximum, with its readings; equal excess of both readings once."""
        groups: dict[object, tuple[Excess, list[str]]] = {}
        for one in self.excess:
            difference = one.difference
            key = (one.project, one.chain, difference.tool, str(difference.call))
            groups.setdefault(key, (one, []))[1].append(one.reading)
        return [(one, tuple(readings)) for one, readings in groups.values()]


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the changes, and return the exit status."""
    names = sides(options.old, options.new)
    old, new = (load(name, console.progress, Hosts.of(options), empty=True) for name in names)
    before, after = _paired(old, new)
    known: Known = {}
    diff = diff_workspaces(
        before,
        after,
        readings=(options.reading,) if options.reading else READINGS,
        files=changed_files((old.tree, old.workspace), (new.tree, new.workspace)),
        progress=console.progress,
        known=known,
    )
    excess, why = _excess(options.max, after, options.reading)
    named = [because for one in diff.changes for because in one.difference.after.because]
    named += [because for one in excess for because in one.difference.after.because]
    compared = DiffReport(
        old.tree.label,
        new.tree.label,
        diff,
        _effects(diff, before, after),
        _grants(diff, before, after),
        review(before, after, diff, known),
        spawn_changes(before, after),
        excess,
        new_findings(before, after),
        new.spans(dict.fromkeys(named)),
    )
    report = Report(
        f"Changes from `{compared.old}` to `{compared.new}`",
        partial(shape, compared),
        partial(blocks, compared),
        _MOST,
        partial(results, compared),
        path_prefix(new.tree),
        diff.exact,
    )
    publish(report, options, console)
    if why:
        told = f"not exact: more may be granted beyond {options.max} ({'; '.join(why)})"
        console.say(told)
    shown = compared.findings if options.format == "text" else ()
    status = _status(diff, new, options.fail_on, shown, console)
    return status or int(bool(excess or why))


def _excess(
    name: str | None, workspace: Workspace, reading: str | None
) -> tuple[tuple[Excess, ...], tuple[str, ...]]:
    """Return what *workspace* grants beyond the policy in the file *name*, and why it may be more.

    Raises:
        PolicyError: the file does not have exactly one agent, or a rule of it matches no call.

    """
    if name is None:
        return (), ()
    # Only `--max` needs the parser of our notation.
    from policy.analysis.reach.query import exceeds, read_maximum  # noqa: PLC0415

    path = Path(name)
    source = decode(name, SingleFile(path).read(path.name))
    maximum = read_maximum(source)
    return exceeds(workspace, maximum, readings=(reading,) if reading else READINGS)


def _status(
    diff: Diff, new: InputTree, fail_on: str, shown: tuple[Finding, ...], console: Console
) -> int:
    changed = {file.path for file in diff.files}
    unreadable = [
        finding
        for finding in new.workspace.findings
        if finding.place.file in changed and is_unreadable(finding)
    ]
    console.unreadable(finding for finding in unreadable if finding not in shown)
    if unreadable:
        return 2
    failed = {
        "none": False,
        "any": bool(diff.changes) or not diff.exact,
        "widened": diff.widened > 0 or not diff.exact,
    }
    return int(failed[fail_on])


def _paired(old: InputTree, new: InputTree) -> tuple[Workspace, Workspace]:
    """Return both workspaces; for two files, the second under the name of the first."""
    before, after = old.workspace, new.workspace
    trees = (old.tree, new.tree)
    if not all(isinstance(tree, SingleFile) for tree in trees):
        return before, after
    if len(before.projects) != 1 or len(after.projects) != 1:
        return before, after
    (one,), (other,) = before.projects, after.projects
    if one.host != other.host:
        return before, after
    return before, attrs.evolve(after, projects=(attrs.evolve(other, root=one.root),))


def _effects(diff: Diff, old: Workspace, new: Workspace) -> dict[str, str]:
    """Return the effect of each file that differs, by path."""
    projects = (*old.projects, *new.projects)
    named = {
        because.place.file
        for change in diff.changes
        for decision in (change.difference.before, change.difference.after)
        for because in decision.because
        if because.place is not None
    }
    changed = {change.project for change in diff.changes}
    for change in diff.changes:
        named |= _defining(change, projects)
    changing = {
        file.path for project in projects if project.title in changed for file in project.files
    }
    effects = {}
    for file in diff.files:
        if file.status != "read":
            effects[file.path] = "unread" if file.status == "not read" else "error"
        elif file.path in named:
            effects[file.path] = "decisions"
        else:
            settled = diff.exact and file.path not in changing
            effects[file.path] = "none" if settled else "unknown"
    return effects


def _defining(change: Change, projects: tuple[Project, ...]) -> set[str]:
    """Return the files that define the agents of a change."""
    names = {chain[-1] for chain in (change.chain, *change.also)}
    agents = [p.agents for p in projects if p.title == change.project]
    entries = (each.get(name) for each in agents for name in names)
    return {entry.place.file for entry in entries if entry is not None and entry.place is not None}


def _grants(diff: Diff, old: Workspace, new: Workspace) -> dict[int, Grants]:
    """Return what added and removed agents may do, by the number of the change."""
    known: dict[str, Grants] = {}
    grants = {}
    for number, change in enumerate(diff.changes):
        if change.what == "rule":
            continue
        side = new if change.what == "agent-added" else old
        chain = _chain(change, side)
        if chain is None:
            continue
        table = chain.table
        if table.hash not in known:
            classes = next(p.tool_classes for p in side.projects if p.title == change.project)
            known[table.hash] = by_class(tool_access(at_most([table]), privileges(table)), classes)
        grants[number] = known[table.hash]
    return grants


def _chain(change: Change, workspace: Workspace) -> Chain | None:
    for project in workspace.projects:
        if project.title == change.project:
            try:
                chain = Chain.start(change.chain[0], project.reading(change.readings[0]))
                for name in change.chain[1:]:
                    chain = chain.spawn(name)
            except SpawnDenied:
                return None
            return chain
    return None


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
    grants: Grants | None = None
    renamed: str = ""
    by_effect: dict[Effect, dict[str, None]] = attrs.field(factory=dict)
    members: int = 1  # the number of changes, as `Diff` counts them

    def take(self, other: ChangeGroup) -> None:
        """Add the changes of *other*."""
        self.calls |= other.calls
        for each, calls in other.by_effect.items():
            self.by_effect[each] = self.by_effect.get(each, {}) | calls
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


def change_groups(compared: DiffReport, what: str) -> list[ChangeGroup]:
    """Return the changes with the meaning *what* by agent, grouped by cause."""
    changes = list(enumerate(compared.diff.changes))
    whom = _whom(changes)
    groups: dict[object, ChangeGroup] = {}
    for number, change in changes:
        if meaning(change) != what:
            continue
        grants = compared.grants.get(number)
        one = _alone(compared, change, grants)
        key = (one.renamed, _cause(change, grants, whom))
        if key in groups:
            groups[key].take(one)
        else:
            groups[key] = one
    # Agents that start others come first, so that a chain is shown from its root.
    return sorted(groups.values(), key=lambda one: _agent_order(one.lead))


def _alone(compared: DiffReport, change: Change, grants: Grants | None) -> ChangeGroup:
    """Return a group of one change."""
    one = ChangeGroup(
        change,
        {_subject(change): None},
        dict.fromkeys((change.chain, *change.also)),
        dict.fromkeys(change.readings),
        grants,
        _renamed(compared, change),
    )
    if _is_of_pool(change):
        difference = change.difference
        decision = difference.after if change.widened else difference.before
        one.by_effect[decision.effect] = dict(one.calls)
    return one


def _agent_order(change: Change) -> tuple[object, ...]:
    return change.what == "rule", change.project, len(change.chain), change.chain[-1]


def _renamed(compared: DiffReport, change: Change) -> str:
    """Return the other name of an agent that was only renamed, or ""."""
    if change.what == "rule":
        return ""
    for renamed in compared.review.renamed:
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


def _cause(change: Change, grants: Grants | None, whom: _Pools) -> object:
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


def meaning(change: Change) -> str:
    """Return the meaning of a change, a key of `MEANINGS`."""
    difference = change.difference
    if change.widened:
        return "granted" if difference.before.effect is Effect.DENY else "ask-to-allow"
    return "withdrawn" if difference.after.effect is Effect.DENY else "allow-to-ask"


# --- blocks --------------------------------------------------------------------------------


def blocks(compared: DiffReport, most: int | None) -> list[Block]:
    """Return what changed: widened before narrowed, then findings, rules and files."""
    found: list[Block] = [Paragraph(summary(compared), "strong")]
    for what, title in MEANINGS.items():
        groups = change_groups(compared, what)
        if groups:
            items = tuple(_item(group, most) for group in groups[:most])
            left = more(sum(group.members for group in groups[len(items) :]), "changes")
            head = Ink(f"{title} ({amount(groups)})", title.partition(":")[0])
            found.append(Section(head, (*items, *left)))
    found += _beyond(compared, most)
    if compared.findings:
        title = f"findings that came with the change ({len(compared.findings):,})"
        found.append(Section(title, tuple(findings_blocks(compared.findings, most))))
    for project, edges in compared.spawns.items():
        changed = [Edge(edge.parent, edge.child, edge.change) for edge in edges if edge.change]
        title = f"agents of {project} that are started otherwise"
        found.append(Section(title, (Graph(tuple(changed[:most])),), folded=True))
    if churn := compared.review.churn:
        notes = tuple(map(_rule_change, churn[:most]))
        left = more(len(churn) - len(notes))
        title = f"rules that changed without effect ({len(churn):,})"
        found.append(Section(title, (*notes, *left), folded=True))
    for effect_, what in FILES.items():
        files = compared.files(effect_)
        if files and (effect_ != "decisions" or most is None):
            told: Text = Ink(what, "warning") if effect_ in {"unread", "error"} else what
            shown = tuple(Item((Ink(f.path, "file"), f" ({_kind(f)})")) for f in files[:most])
            found.append(Section(told, (*shown, *more(len(files) - len(shown)))))
    return found


def summary(compared: DiffReport) -> str:
    """Return a summary on one line."""
    diff = compared.diff
    parts = [f"{_side_name(compared.old)} → {_side_name(compared.new)}: "]
    if diff.changes:
        parts.append(f"{diff.widened:,} widened, {diff.narrowed:,} narrowed")
    elif not diff.files:
        parts.append("no file that may say something about agents differs")
    elif not compared.effects or {"unread", "error"} & {*compared.effects.values()}:
        parts.append("no change of decisions in the files that were read")
    else:
        parts.append("no call is decided differently")
    for effect_, what in (("error", "not understood"), ("unread", "not read")):
        if files := compared.files(effect_):
            parts.append(f"; {count(len(files), 'changed file')} {what}")
    if excess := compared.beyond:
        parts.append(f"; {len(excess):,} {BEYOND}")
    if compared.findings:
        parts.append(f"; {count(len(compared.findings), 'new finding')}")
    if not diff.exact:
        parts.append(f"; not exact: more calls may be decided differently ({'; '.join(diff.why)})")
    return "".join(parts)


def _side_name(name: str) -> str:
    is_hash = len(name) == 40 and not name.strip("0123456789abcdef")
    return name[:12] if is_hash else name


def _kind(file: FileChange) -> str:
    return file.what + (f", {count(file.errors, 'error')}" if file.errors else "")


def _item(group: ChangeGroup, most: int | None) -> Item:
    change = group.lead
    first, *others = group.sorted_chains
    rows: list[tuple[str, Text]] = []
    if group.by_effect:
        head: Text = pool_headline(group)
        there = "after" if change.widened else "before"
        for effect_, calls in sorted(group.by_effect.items(), reverse=True):
            rows.append(("" if rows else there, (effect(effect_), " ", _calls(calls, most))))
    elif change.what != "rule":
        head = headline(group, _MOST_CALLS if most else len(group.calls))
        if group.grants is not None and not group.renamed:
            label = "it may" if change.widened else "it could"
            told: list[Text] = [
                (f"{CLASSES[kind]}: ", shown)
                for kind, tools in group.grants.items()
                if (shown := cell(kind, tools)) != NOTHING
            ]
            rows.append((label, joined(told, "; ") if told else "nothing"))
    else:
        before, after = change.difference.before, change.difference.after
        head = (arrow(before.effect, after.effect), "  ", _calls(group.calls, most))
        rows += why_rows("before", before, change.chain[-1], _MOST_RULES)
        rows += why_rows("after", after, change.chain[-1], _MOST_RULES)
    chain = f"{chain_text(first)} in {change.project}"
    if most is None:
        chain += "".join(f", {chain_text(also)}" for also in others)
    elif others:
        agents = f" ({count(len(group.agents), 'agent')})" if len(group.agents) > 1 else ""
        chain += f", and {count(len(others), 'more chain')}{agents}"
    rows.append(("chain", chain))
    if len(group.readings) == 1:
        rows.append(("reading", f"{next(iter(group.readings))} only"))
    if not change.exact:
        rows.append(
            ("compared", f"not exactly: further calls may differ ({'; '.join(change.why)})")
        )
    return Item(head, (Labelled(tuple(rows)),))


def _calls(calls: Iterable[str], most: int | None) -> Text:
    return joined((Ink(each, "call") for each in calls), most=most and _MOST_CALLS)


def _beyond(compared: DiffReport, most: int | None) -> list[Block]:
    """Return what exceeds the maximum; of calls that differ only in their chain, the first."""
    excess = compared.beyond
    groups: dict[object, list[tuple[Excess, tuple[str, ...]]]] = {}
    for one, readings in excess:
        difference = one.difference
        rules = tuple((because.rule, because.place) for because in difference.after.because)
        called = (difference.tool, str(difference.call))
        key = one.project, readings, called, difference.before.effect, rules
        groups.setdefault(key, []).append((one, readings))
    if not groups:
        return []
    items = []
    for (one, readings), *others in list(groups.values())[:most]:
        difference = one.difference
        also = f", and {count(len(others), 'more chain')}" if others else ""
        rows = why_rows("granted", difference.after, one.chain[-1], _MOST_RULES)
        rows.append(("chain", f"{chain_text(one.chain)} in {one.project}{also}"))
        rows += [] if len(readings) > 1 else [("reading", f"{readings[0]} only")]
        changed = arrow(difference.before.effect, difference.after.effect)
        named = call(difference.tool, difference.call)
        items.append(Item(("at most ", changed, "  ", named), (Labelled(tuple(rows)),)))
    title = Ink(f"{BEYOND} ({len(excess):,})", "widened")
    return [Section(title, (*items, *more(len(groups) - len(items))))]


def _rule_change(change: RuleChange) -> Item:
    effects = [each.value for each in change.effects if each is not None]
    places = [str(place) for place in change.places if place is not None]
    place = Ink(" → ".join(dict.fromkeys(places)), "file")
    word = f"{change.what} {' → '.join(dict.fromkeys(effects))} "
    return Item((word, Ink(change.rule, "rule"), "  ", place))


# --- JSON ----------------------------------------------------------------------------------


def shape(compared: DiffReport) -> Object:
    """Return the JSON shape of *compared*."""
    diff = compared.diff
    return {
        "old": compared.old,
        "new": compared.new,
        "changes": [
            _change(change, compared.grants.get(number))
            for number, change in enumerate(diff.changes)
        ],
        "renamed": [
            {"project": one.project, "from": one.old, "to": one.new}
            for one in compared.review.renamed
        ],
        "rules": [_rule(rule) for rule in compared.review.rules],
        "spawns": {
            project: [_spawn(edge) for edge in edges if edge.change]
            for project, edges in compared.spawns.items()
        },
        "excess": [
            {
                "project": one.project,
                "reading": one.reading,
                "chain": list(one.chain),
                **difference_json(one.difference),
            }
            for one in compared.excess
        ],
        "findings": [finding_json(finding) for finding in compared.findings],
        "widened": diff.widened,
        "narrowed": diff.narrowed,
        "exact": diff.exact,
        "why": list(diff.why),
        "files": [_file(file, compared) for file in diff.files],
    }


def _change(change: Change, grants: Grants | None) -> Object:
    found: Object = {
        "project": change.project,
        "agent": change.chain[-1],
        "meaning": meaning(change),
        "chain": list(change.chain),
        "also": [list(chain) for chain in change.also],
        "reading": list(change.readings),
        "what": change.what,
        "about": "call" if change.what == "rule" else "agent",
        "direction": change.direction,
        **difference_json(change.difference),
        "exact": change.exact,
        "why": list(change.why),
    }
    if grants is not None:
        found["grants"] = access_json(tool for some in grants.values() for tool in some)
    return found


def _file(file: FileChange, compared: DiffReport) -> Object:
    return {
        "path": file.path,
        "what": file.what,
        "status": file.status,
        "errors": file.errors,
        "effect": compared.effects.get(file.path),
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


# --- results, for code scanning, annotations and test reports ------------------------------


_TITLES: Final = {
    "granted": "A call is granted that was denied",
    "ask-to-allow": "A call is allowed that was asked for",
    "withdrawn": "A call is denied that was granted",
    "allow-to-ask": "A call is asked for that was allowed",
    "beyond-maximum": "A call is granted beyond the maximum",
    "not-exact": "Not all that changed could be compared exactly",
    "not-read": "A file changed that is not read",
    "in-error": "A file changed that is not understood",
}

_NOTES: Final = frozenset({"withdrawn", "allow-to-ask"})
_ERRORS: Final = frozenset({"beyond-maximum", "in-error"})

# A place, and where the text ends there.
_Where = tuple[Place | None, tuple[int, int] | None]


def results(compared: DiffReport) -> list[Result]:
    """Return the changes of *compared*, each cause once; then findings and files."""
    order = list(FILES)[::-1]
    files = sorted(compared.diff.files, key=lambda file: order.index(compared.effects[file.path]))
    # Of a change without a rule, since forges show no result without a place.
    elsewhere: _Where = (Place(files[0].path) if files else None, None)
    found = [
        _change_result(what, group, compared.spans, elsewhere)
        for what in MEANINGS
        for group in change_groups(compared, what)
    ]
    for one, readings in compared.beyond:
        difference = one.difference
        named = quoted([call_text(difference.tool, difference.call)])
        message = f"{named} gets {difference.after.effect}, in {_chains([one.chain], readings)}"
        granted = _reason("granted", difference.after, one.chain)
        detail = f"at most: {difference.before.effect}\n{granted}"
        where = _where(difference.after, difference.before, compared.spans)
        found.append(_result("beyond-maximum", message, detail, where))
    if not compared.diff.exact:
        reasons = "; ".join(compared.diff.why)
        message = f"more calls may be decided differently than could be compared ({reasons})"
        found.append(_result("not-exact", message, "", elsewhere))
    found += map(of_finding, compared.findings)
    for effect_, kind, told in (
        ("unread", "not-read", "this file changed, and is not read: what it grants is unknown"),
        ("error", "in-error", "this file changed and is not understood: what it grants is unknown"),
    ):
        for file in compared.files(effect_):
            found.append(_result(kind, f"{told} ({file.what})", "", (Place(file.path), None)))
    return found


def _result(kind: str, message: str, detail: str, where: _Where) -> Result:
    level = Severity.NOTE if kind in _NOTES else Severity.WARNING
    level = Severity.ERROR if kind in _ERRORS else level
    return Result(kind, level, visible(message), detail, *where, title=_TITLES[kind])


def _change_result(
    kind: str, group: ChangeGroup, spans: Mapping[Because, Span], elsewhere: _Where
) -> Result:
    change = group.lead
    before, after = change.difference.before, change.difference.after
    where = _where(after, before, spans)
    where = where if where[0] else elsewhere
    chains = _chains(group.sorted_chains, [*group.readings])
    calls = quoted(list(group.calls))
    if group.by_effect:
        by_effect = sorted(group.by_effect.items(), reverse=True)
        detail = "; ".join(f"{each} {quoted(list(calls))}" for each, calls in by_effect)
        return _result(kind, f"{pool_headline(group)}: {calls}, in {chains}", detail, where)
    if change.what != "rule":
        return _result(kind, headline(group), chains, where)
    reasons = [
        _reason(label, decision, change.chain)
        for label, decision in (("before", before), ("after", after))
    ]
    message = f"{before.effect} -> {after.effect}: {calls}, in {chains}"
    return _result(kind, message, "\n".join(reasons), where)


def _chains(chains: Sequence[tuple[str, ...]], readings: Sequence[str]) -> str:
    also = f" and {count(len(chains) - 1, 'more chain')}" if len(chains) > 1 else ""
    only = "" if len(readings) > 1 else f" ({readings[0]} only)"
    return f"`{chain_text(chains[0])}`{also}{only}"


def _reason(label: str, decision: Decision, chain: Sequence[str]) -> str:
    rules = [rule_text(one) + (f" at {one.place}" if one.place else "") for one in decision.because]
    return f"{label}: {'; '.join(rules) or explained(decision, chain[-1])}"


def _where(after: Decision, before: Decision, spans: Mapping[Because, Span]) -> _Where:
    """Return the place of the first written rule, of the new side before the old."""
    now = next((one for one in after.because if one.place), None)
    if now is not None and now.place is not None:
        line, column = now.place.line, now.place.column
        end = end_of(spans[now]) if now in spans else (line, column + max(len(now.rule), 1))
        return now.place, end
    # The line is of the old text, so only the file is certain.
    was = next((one.place for one in before.because if one.place), None)
    return (Place(was.file), None) if was is not None else (None, None)
