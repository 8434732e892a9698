"""``policy diff``: what each edit of the policies changes."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from policy.analysis.diff import Change, Diff, FileChange, changed_files, diff_workspaces
from policy.analysis.edits import EditEffect, Edits, TextEdit, effects_of_edits
from policy.analysis.reach.privileges import at_most, privileges
from policy.analysis.review import Review, RuleChange, Spawn, new_findings, review, spawn_changes
from policy.cli.console import Console
from policy.cli.inputs import InputTree, load, read, sides
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
from policy.cli.report.changes import ROLES, ChangeRow, Classes, change_rows, meaning
from policy.cli.report.document import (
    Block,
    Edge,
    Graph,
    Grid,
    Ink,
    Item,
    Labelled,
    Paragraph,
    Report,
    Section,
    Text,
    joined,
    more,
    plain,
)
from policy.cli.report.results import Result, end_of, of_finding, path_prefix
from policy.cli.report.words import (
    arrow,
    call,
    call_text,
    chain_text,
    count,
    explained,
    findings_blocks,
    quoted,
    rule_text,
    why_rows,
)
from policy.compare.compare import Known
from policy.core.decision import Decision
from policy.core.finding import Finding, Severity
from policy.core.source import Place, visible
from policy.core.values import evolve, field, frozen
from policy.files.opening import is_unreadable
from policy.files.text import decode
from policy.files.trees import SingleFile
from policy.hosts.workspace import Workspace
from policy.tables.chain import READINGS, Chains, SpawnDenied

if TYPE_CHECKING:
    from policy.analysis.reach.query import Excess

__all__ = ["FILES", "DiffReport", "blocks", "results", "run", "shape"]

_MOST = 6  # edits, and entries of any other list
_LEAST = 2  # edits that narrow, beside many that widen
_MOST_ROWS = (6, 3)  # of one edit, where there are few or many
_MOST_RULES = 3
_MOST_CALLS = 3
_LONGEST = 60  # characters of a line that holds no rule

# The effects of files that differ, in the order of the report.
FILES: Final = {
    "unread": "changed and not read: what these files grant is not known",
    "error": "changed and not understood: what these files grant is not known",
    "unknown": "changed, and nothing above is due to it",
    "none": "changed without effect: no call is decided differently",
    "decisions": "changed, and reported above",
}

BEYOND: Final = "beyond the maximum"

# What agents may do: class of tools -> tools.
_Grants = Mapping[str, Sequence[ToolAccess]]


@frozen
class DiffReport:
    """A diff with everything else that the answer shows.

    Attributes:
        old: the name of the old side.
        new: the name of the new side.
        diff: the changes.
        edits: the edits of texts.
        effects: what these change, those that grant more first.
        classes: project -> class of tools -> tools.
        grants: project and chain -> what an added or removed agent may do.
        review: renamed agents, and changed rules.
        spawns: project -> the edges of its spawn graph, where they changed.
        excess: what the new side grants beyond a maximum.
        findings: of the new side alone (`new_findings`).

    """

    old: str
    new: str
    diff: Diff
    edits: tuple[TextEdit, ...] = ()
    effects: tuple[EditEffect, ...] = ()
    classes: Classes = field(factory=dict)
    grants: Mapping[tuple[str, tuple[str, ...]], _Grants] = field(factory=dict)
    review: Review = Review()
    spawns: Mapping[str, Sequence[Spawn]] = field(factory=dict)
    excess: tuple[Excess, ...] = ()
    findings: tuple[Finding, ...] = ()

    @cached_property
    def _rules(self) -> Mapping[TextEdit, list[RuleChange]]:
        by_file: dict[str, list[TextEdit]] = {}
        for edit in self.edits:
            for file in edit.files:
                by_file.setdefault(file, []).append(edit)
        found: dict[TextEdit, list[RuleChange]] = {}
        for change in self.review.rules:
            for side, place in enumerate(change.places):
                for edit in by_file.get(place.file, ()) if place else ():
                    if edit.covers(side, place):
                        found.setdefault(edit, []).append(change)
        return found

    def rules(self, edit: TextEdit) -> list[RuleChange]:
        """Return the rules that *edit* removes or adds."""
        return self._rules.get(edit, [])

    @cached_property
    def renamed(self) -> dict[str, str]:
        """The other name of each agent that was only renamed."""
        pairs = [(one.old, one.new) for one in self.review.renamed]
        return {**dict(pairs), **{new: old for old, new in pairs}}

    @cached_property
    def idle(self) -> list[TextEdit]:
        """The edits of rules that change no decision."""
        making = {edit for effect in self.effects for edit in effect.edits}
        return [edit for edit in self.edits if edit not in making and self.rules(edit)]

    def effect(self, file: FileChange) -> str:
        """Return the effect of a file that differs, a key of `FILES`."""
        if file.status != "read":
            return "unread" if file.status == "not read" else "error"
        making = [edit for effect in self.effects for edit in effect.edits]
        holding = [edit for edit in self.idle if any(rule.named for rule in self.rules(edit))]
        if any(file.path in edit.files for edit in (*making, *holding)):
            return "decisions"
        is_known = self.diff.exact and all(effect.edits for effect in self.effects)
        return "none" if is_known else "unknown"

    def files(self, effect: str) -> list[FileChange]:
        """Return the files with *effect*."""
        return [file for file in self.diff.files if self.effect(file) == effect]

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
    hosts = Hosts.of(options)
    old, new = (load(name, console.progress, hosts, empty=True) for name in names)
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
    renamed = {}
    if isinstance(old.tree, SingleFile) and isinstance(new.tree, SingleFile):
        renamed = {new.tree.path.name: old.tree.path.name}
    edits = Edits(old.tree, new.tree, diff.files, renamed)
    console.progress("finding the edits behind each change")
    reading = partial(read, progress=lambda _: None, hosts=hosts, empty=True)
    effects = effects_of_edits(diff, (before, after), edits, lambda tree: reading(tree).workspace)
    excess, why = _excess(options.max, after, options.reading)
    report = DiffReport(
        old.tree.label,
        new.tree.label,
        diff,
        tuple(edits.all),
        tuple(effects),
        {project.title: project.tool_classes for project in (*before.projects, *after.projects)},
        _grants(diff, before, after),
        review(before, after, diff, known),
        spawn_changes(before, after),
        excess,
        new_findings(before, after),
    )
    answer = Report(
        f"Changes from `{report.old}` to `{report.new}`",
        partial(shape, report),
        partial(blocks, report),
        _MOST,
        partial(results, report),
        path_prefix(new.tree),
        diff.exact,
    )
    publish(answer, options, console)
    if why:
        told = f"not exact: more may be granted beyond {options.max} ({'; '.join(why)})"
        console.say(told)
    shown = report.findings if options.format == "text" else ()
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
    return before, evolve(after, projects=(evolve(other, root=one.root),))


def _grants(
    diff: Diff, old: Workspace, new: Workspace
) -> dict[tuple[str, tuple[str, ...]], _Grants]:
    """Return what added and removed agents may do, by project and chain."""
    known: dict[str, _Grants] = {}
    grants = {}
    for change in diff.changes:
        side = new if change.what == "agent-added" else old
        project = next((p for p in side.projects if p.title == change.project), None)
        if change.what == "rule" or project is None:
            continue
        try:
            table = Chains(project.reading(change.readings[0])).of(change.chain).table
        except SpawnDenied:
            continue
        if table.hash not in known:
            tools = tool_access(at_most([table]), privileges(table))
            known[table.hash] = by_class(tools, project.tool_classes)
        grants[change.project, change.chain] = known[table.hash]
    return grants


# --- blocks --------------------------------------------------------------------------------


def blocks(report: DiffReport, most: int | None) -> list[Block]:
    """Return what each edit changes: what grants more first; then findings and files."""
    found: list[Block] = [Paragraph(summary(report), "strong")]
    number, room = 0, most
    for title, role, widened in (("widens", "widened", True), ("narrows", "narrowed", False)):
        effects = [effect for effect in report.effects if effect.widened is widened]
        items = []
        for effect in effects[:room]:
            number += 1
            items.append(_effect_item(report, effect, number, most))
        if items:
            left = more(len(effects) - len(items), "edits")
            found.append(Section(Ink(title, role), (*items, *left)))
        room = most and max(most - number, _LEAST)
    found += _beyond(report, most)
    if report.findings:
        title = f"findings that came with the change ({len(report.findings):,})"
        found.append(Section(title, tuple(findings_blocks(report.findings, most))))
    found += _without_effect(report, most)
    for project, edges in report.spawns.items():
        changed = tuple(Edge(one.parent, one.child, one.change) for one in edges if one.change)
        title = f"agents of {project} that are started otherwise"
        is_small = most is None or len(changed) <= 2 * most
        shown = (Graph(changed),) if is_small else more(len(changed), "starts")
        found.append(Section(title, shown, folded=True))
    for effect_, what in FILES.items():
        files = report.files(effect_)
        if files and (effect_ != "decisions" or most is None):
            told: Text = Ink(what, "warning") if effect_ in {"unread", "error"} else what
            shown = tuple(Item((Ink(f.path, "file"), f" ({_kind(f)})")) for f in files[:most])
            found.append(Section(told, (*shown, *more(len(files) - len(shown)))))
    return found


def summary(report: DiffReport) -> str:
    """Return a summary on one line."""
    diff = report.diff
    parts = [f"{_side_name(report.old)} → {_side_name(report.new)}: "]
    if diff.changes:
        making = [
            {e for one in report.effects if one.widened is w for e in one.edits}
            for w in (True, False)
        ]
        widening, narrowing = making[0], making[1] - making[0]
        idle = len(report.idle)
        told = [
            f"{len(each):,} {verb if len(each) == 1 else plural}"
            for each, verb, plural in (
                (widening, "widens", "widen"),
                (narrowing, "narrows", "narrow"),
            )
            if each
        ]
        told += [f"{idle:,} without effect"] if idle else []
        total = len(widening) + len(narrowing) + idle
        parts.append(f"{count(total, 'edit')}: {', '.join(told)}" if total else "")
        if not all(effect.edits for effect in report.effects):
            parts.append("; more changes, which no edit of a text explains")
    elif not diff.files:
        parts.append("no file that may say something about agents differs")
    elif not diff.files or {"unread", "error"} & {*map(report.effect, diff.files)}:
        parts.append("no change of decisions in the files that were read")
    else:
        parts.append("no call is decided differently")
    for effect_, what in (("error", "not understood"), ("unread", "not read")):
        if files := report.files(effect_):
            parts.append(f"; {count(len(files), 'changed file')} {what}")
    if excess := report.beyond:
        parts.append(f"; {len(excess):,} {BEYOND}")
    if report.findings:
        parts.append(f"; {count(len(report.findings), 'new finding')}")
    if not diff.exact:
        parts.append(f"; not exact: more calls may be decided differently ({'; '.join(diff.why)})")
    return "".join(parts)


def _side_name(name: str) -> str:
    is_hash = len(name) == 40 and not name.strip("0123456789abcdef")
    return name[:12] if is_hash else name


def _kind(file: FileChange) -> str:
    return file.what + (f", {count(file.errors, 'error')}" if file.errors else "")


def _effect_item(report: DiffReport, effect: EditEffect, number: int, most: int | None) -> Item:
    """Return the edits of a block, and what they change."""
    heads = [edit_text(report, edit) for edit in effect.edits]
    head = joined(heads or ["no edit of a text explains this"], ", and ", most)
    rows = change_rows(effect, report.classes)
    if most is not None:
        told = {row.widened for row in rows if row.is_ordinary}
        rows = [row for row in rows if row.is_ordinary or row.widened not in told]
    limit = _MOST_ROWS[len(report.effects) > _MOST_ROWS[1]]
    shown = rows[: most and limit + (len(rows) == limit + 1)]
    cells = tuple(
        (row.phrase(report.renamed), row.arrow(), row.witnesses(most and _MOST_CALLS), row.who())
        for row in shown
    )
    body: list[Block] = [Grid(("", "", "", ""), cells)]
    body += more(len(rows) - len(shown), "kinds of changes")
    may = [block for row in rows if (block := _may(report, row))]
    body += may[: most and 1]
    if most is None:
        items = tuple(_detail(change) for change in effect.changes)
        body.append(Section("each change", items, folded=True))
    return Item((Ink(f"{number}", "dim"), "  ", head), tuple(body))


def edit_text(report: DiffReport, edit: TextEdit) -> Text:
    """Return the rules that an edit removes and adds, or else its text; and its place."""
    if edit.is_file:
        sign = "-" if edit.added is None else "+" if edit.removed is None else "±"
        return (f"{sign} ", Ink(edit.place.file, "file"), " (the whole file)")
    parts: list[Text] = []
    place = edit.place
    for side, sign in enumerate("-+"):
        span = (edit.removed, edit.added)[side]
        if span is None:
            continue
        rules = [
            (change.effects[side], change.rule, change.places[side])
            for change in report.rules(edit)
            if edit.covers(side, change.places[side])
        ]
        told: list[Text] = [(_ink(edit.key), Ink(_cut(span.text), "rule"))]
        if rules and not edit.key and not _KEYED.match(span.text):
            told = [(_ink(str(effect)), Ink(rule, "rule")) for effect, rule, _ in rules]
            place = rules[0][2] or place
        parts.append((f"{sign} ", joined(told, most=_MOST_RULES)))
    return (joined(parts, "  "), "  ", Ink(f"{place.file}:{place.line}", "file"))


# One line that begins with the key of its list.
_KEYED: Final = re.compile(r"[\w-]+:? .*\Z")


def _ink(key: str) -> Text:
    """Return an effect, or the key of another list."""
    return (Ink(key, key), " ") if key in ROLES.values() else f"{key} " if key else ""


def _cut(text: str) -> str:
    """Return the first line of a text, without the quotes of JSON."""
    line, _, rest = text.strip().partition("\n")
    line = re.sub(r'"((?:[^"\\]|\\.)*)"', r"\1", " ".join(line.split()))
    return f"{line[:_LONGEST]}…" if rest or len(line) > _LONGEST else line


def _may(report: DiffReport, row: ChangeRow) -> Block | None:
    """Return what an agent may do that can be started now, or could be."""
    started = next((change for change in row.changes if change.what != "rule"), None)
    grants = started and report.grants.get((started.project, started.chain))
    if not grants or row.subject in report.renamed:
        return None
    told: list[Text] = [
        (f"{CLASSES[kind]}: ", shown)
        for kind, tools in grants.items()
        if (shown := cell(kind, tools)) != NOTHING
    ]
    may = " may  " if row.widened else " could  "
    return Item((Ink(row.subject, "agent"), may, joined(told, "; ") or "nothing"))


def _detail(change: Change) -> Item:
    """Return a change with the rules of both sides and every chain."""
    difference, agent = change.difference, change.chain[-1]
    chains = ", ".join(map(chain_text, (change.chain, *change.also)))
    rows = [
        *why_rows("before", difference.before, agent),
        *why_rows("after", difference.after, agent),
        ("chains", f"{chains} in {change.project}"),
    ]
    if len(change.readings) == 1:
        rows.append(("reading", f"{change.readings[0]} only"))
    if not change.exact:
        rows.append(("compared", f"not exactly: more calls may differ ({'; '.join(change.why)})"))
    named = call(difference.tool, difference.call)
    head: Text = (arrow(difference.before.effect, difference.after.effect), "  ", named)
    if change.what != "rule":
        can = "can" if change.widened else "can no longer"
        head = (
            Ink(agent, "agent"),
            f" {can} {'be started' if len(change.chain) > 1 else 'start chains'}",
        )
    return Item(head, (Labelled(tuple(rows)),))


def _without_effect(report: DiffReport, most: int | None) -> list[Block]:
    found: list[Block] = []
    for title, named in (
        ("limits what other edits grant, and changes nothing by itself", True),
        ("without effect", False),
    ):
        edits = [
            edit for edit in report.idle if any(rule.named for rule in report.rules(edit)) is named
        ]
        items = tuple(Item(edit_text(report, edit)) for edit in edits[:most])
        if items:
            found.append(Section(title, (*items, *more(len(edits) - len(items))), folded=True))
    return found


def _beyond(report: DiffReport, most: int | None) -> list[Block]:
    """Return what exceeds the maximum; of calls that differ only in their chain, the first."""
    excess = report.beyond
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


# --- JSON ----------------------------------------------------------------------------------


def shape(report: DiffReport) -> Object:
    """Return the JSON shape of *report*."""
    diff = report.diff
    numbers = {(id(c.difference), c.readings): n for n, c in enumerate(diff.changes)}
    return {
        "old": report.old,
        "new": report.new,
        "edits": [_effect_json(report, effect, numbers) for effect in report.effects],
        "changes": [_change(report, change) for change in diff.changes],
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
        "files": [
            {
                "path": file.path,
                "what": file.what,
                "status": file.status,
                "errors": file.errors,
                "effect": report.effect(file),
            }
            for file in diff.files
        ],
    }


def _effect_json(
    report: DiffReport, effect: EditEffect, numbers: Mapping[tuple[int, tuple[str, ...]], int]
) -> Object:
    """Return the edits of a block, its rows, and its changes by their number in ``changes``."""
    return {
        "direction": "widened" if effect.widened else "narrowed",
        "edits": [
            {
                **place_json(edit.place),
                "removed": edit.removed.text if edit.removed else None,
                "added": edit.added.text if edit.added else None,
            }
            for edit in effect.edits
        ],
        "effects": [row.json() for row in change_rows(effect, report.classes)],
        "changes": [
            {
                "change": numbers[id(change.difference), change.readings],
                "chains": [list(chain) for chain in (change.chain, *change.also)],
            }
            for change in effect.changes
        ],
    }


def _change(report: DiffReport, change: Change) -> Object:
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
    grants = report.grants.get((change.project, change.chain)) if change.what != "rule" else None
    if grants is not None:
        found["grants"] = access_json(tool for some in grants.values() for tool in some)
    return found


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


def results(report: DiffReport) -> list[Result]:
    """Return what each edit changes, a result for each kind; then findings and files."""
    order = list(FILES)[::-1]
    files = sorted(report.diff.files, key=lambda file: order.index(report.effect(file)))
    # Of a change without an edit, since forges show no result without a place.
    elsewhere: _Where = (Place(files[0].path) if files else None, None)
    found = []
    for effect in report.effects:
        where = next(map(_where, sorted(effect.edits, key=lambda e: e.added is None)), elsewhere)
        for row in change_rows(effect, report.classes):
            calls = quoted([call_text(*each) for each in row.calls], _MOST_CALLS)
            by = f", by {row.who()}" if row.agents else ""
            told = plain((row.phrase(report.renamed), ": ", row.arrow())).replace("→", "->")
            detail = "\n".join(plain(edit_text(report, edit)) for edit in effect.edits)
            kind = meaning(row.changes[0])
            found.append(_result(kind, f"{told}, as {calls}{by}", detail, where))
    for one, readings in report.beyond:
        difference = one.difference
        named = quoted([call_text(difference.tool, difference.call)])
        only = "" if len(readings) > 1 else f" ({readings[0]} only)"
        chain = f"`{chain_text(one.chain)}`{only}"
        message = f"{named} gets {difference.after.effect}, in {chain}"
        granted = _reason("granted", difference.after, one.chain)
        detail = f"at most: {difference.before.effect}\n{granted}"
        place = next((b.place for b in difference.after.because if b.place), None)
        found.append(_result("beyond-maximum", message, detail, (place, _end(difference.after))))
    if not report.diff.exact:
        reasons = "; ".join(report.diff.why)
        message = f"more calls may be decided differently than could be compared ({reasons})"
        found.append(_result("not-exact", message, "", elsewhere))
    found += map(of_finding, report.findings)
    for effect_, kind, told in (
        ("unread", "not-read", "this file changed, and is not read: what it grants is unknown"),
        ("error", "in-error", "this file changed and is not understood: what it grants is unknown"),
    ):
        for file in report.files(effect_):
            found.append(_result(kind, f"{told} ({file.what})", "", (Place(file.path), None)))
    return found


def _result(kind: str, message: str, detail: str, where: _Where) -> Result:
    level = Severity.NOTE if kind in _NOTES else Severity.WARNING
    level = Severity.ERROR if kind in _ERRORS else level
    return Result(kind, level, visible(message), detail, *where, title=_TITLES[kind])


def _reason(label: str, decision: Decision, chain: Sequence[str]) -> str:
    rules = [rule_text(one) + (f" at {one.place}" if one.place else "") for one in decision.because]
    return f"{label}: {'; '.join(rules) or explained(decision, chain[-1])}"


def _end(decision: Decision) -> tuple[int, int] | None:
    rule = next((one for one in decision.because if one.place), None)
    if rule is None or rule.place is None:
        return None
    return rule.place.line, rule.place.column + max(len(rule.rule), 1)


def _where(edit: TextEdit) -> _Where:
    """Return the place of an edit; of the old text only the file is certain."""
    if edit.added is None or edit.is_file:
        return Place(edit.place.file), None
    return edit.place, end_of(edit.added)
