"""``policy diff``: what each edit of the policies changes."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from policy.analysis.attribution import EditEffect
from policy.analysis.diff import Change
from policy.analysis.edits import TextEdit
from policy.analysis.inputs import Hosts, InputTree, load_sides, read
from policy.analysis.reach.privileges import ToolAccess, at_most, by_class, tool_access
from policy.analysis.review import FILE_EFFECTS, DiffReport, LimitChange, review
from policy.cli.console import Console, publish
from policy.cli.report import document as doc
from policy.cli.report.access import CLASSES, NOTHING, cell, risky_patterns
from policy.cli.report.as_json import Object, shape
from policy.cli.report.changes import (
    ROLES,
    ChangeRow,
    change_kind,
    change_rows,
    is_declared_only,
)
from policy.cli.report.results import Result, path_prefix
from policy.cli.report.words import (
    arrow,
    because_text,
    call,
    call_text,
    chain_text,
    count,
    finding_lines,
    findings_blocks,
    names,
    reasons,
    sentences,
)
from policy.core import expressions as re
from policy.core.finding import Finding, Severity
from policy.core.source import Span, quoted
from policy.files.opening import is_unreadable, sides
from policy.files.text import decode
from policy.files.trees import SingleFile
from policy.tables.chain import READINGS

if TYPE_CHECKING:
    from policy.analysis.reach.query import Excess

_MOST = 8  # edits, and entries of any other list
_LEAST = 2  # edits that narrow, where many widen
_MOST_ROWS = (6, 3)  # of one edit, where there are few or many
_MOST_EACH = 3  # rules of an edit, and calls of a row
_LONGEST = 60  # characters of a line that holds no rule


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the changes, and return the exit status."""
    hosts = Hosts.of(options)
    old, new = load_sides(sides(options.old, options.new), hosts)
    console.note(new.not_read or old.not_read)
    maximum = Path(options.max) if options.max else None
    report = review(
        (old.tree, new.tree),
        (old.workspace, new.workspace),
        lambda tree: read(tree, hosts, empty=True).workspace,
        readings=(options.reading,) if options.reading else READINGS,
        maximum=decode(str(maximum), SingleFile(maximum).read(maximum.name)) if maximum else None,
    )
    answer = doc.Report(
        "Changes of what agents may do",
        partial(as_json, report),
        partial(blocks, report),
        _MOST,
        partial(results, report, new),
        path_prefix(new.tree),
        report.diff.exact,
        max(doc.first_screen(side.workspace.projects) for side in (old, new)),
    )
    publish(answer, options, console)
    changed = {file.path for file in report.diff.files}
    unreadable = [
        finding
        for finding in new.workspace.findings
        if finding.place.file in changed and is_unreadable(finding)
    ]
    shown = report.findings if options.format == "text" else ()
    console.unreadable(finding for finding in unreadable if finding not in shown)
    if unreadable:
        return 2
    raised = any(limit.widened for limit in report.limits)
    widened = bool(report.diff.widened or raised or any(report.modes.values()))
    failed = {
        "none": False,
        "any": bool(report.diff.changes or report.limits) or not report.diff.exact,
        "widened": widened or not report.diff.exact,
    }
    return int(failed[options.fail_on] or bool(report.excess or report.more_excess))


def blocks(report: DiffReport, most: int | None) -> list[doc.Block]:
    """Return the screen: the changes of each edit, those that grant more first; findings; files."""
    others = [kind for kind in FILE_EFFECTS[2:] if kind != "decisions" or most is None]
    found: list[doc.Block] = [
        doc.Paragraph(summary(report), "strong"),
        *_files(report, ("error", "unread"), most and _LEAST),
        *_changing(report, most),
        *_section("limits that changed", [*map(_limit_item, report.limits)], most),
        *_beyond(report, most),
        *_findings(report, most),
        *_not_changing(report, most),
        *_starts(report, most),
        *_files(report, others, most),
    ]
    if not report.diff.exact:
        why = f"not exact: more calls may be decided differently ({reasons(report.diff.why)})"
        found.append(doc.Paragraph(why, "warning"))
    return found


def _changing(report: DiffReport, most: int | None) -> Iterator[doc.Block]:
    """Yield the sections of the edits that widen, and of those that narrow."""
    grave = sentences()["first"]["codes"]
    places = [finding.place for finding in report.findings if finding.code in grave]

    def order(effect: EditEffect) -> tuple[bool, ...]:
        # What the host enforces comes before what files declare in vain.
        is_risky = any(edit.covers(1, place) for edit in effect.edits for place in places)
        return is_declared_only(effect.changes), not is_risky, len(effect.edits) > 1

    number, room = 0, most
    for title, role, widened in (("widens", "widened", True), ("narrows", "narrowed", False)):
        effects = sorted((e for e in report.effects if e.widened is widened), key=order)
        groups = _alike(report, effects) if most else [[effect] for effect in effects]
        real = [group for group in groups if not is_declared_only(group[0].changes)]
        few = most is None or len(groups) - len(real) <= _LEAST
        shown = (groups if few or not real else real)[:room]
        items = [_effects_item(report, group, n, most) for n, group in enumerate(shown, number + 1)]
        number += len(items)
        listed, every = (
            {edit for group in some for effect in group for edit in effect.edits}
            for some in (shown, groups)
        )
        left = doc.more(len(every - listed), "edits")
        left = left or doc.more(len(groups) - len(shown), "changes that are declared only")
        if items:
            yield doc.Section(doc.Ink(title, role), (*items, *left))
        room = most and max(most - number, _LEAST)


def _findings(report: DiffReport, most: int | None) -> list[doc.Block]:
    """Return the section of new findings; of many errors alone are shown with their text."""
    full = [f for f in report.findings if most is None or f.severity is Severity.ERROR]
    rest = [finding for finding in report.findings if finding not in full]
    body = (*findings_blocks(full, most), *finding_lines(rest, most or 0))
    title = f"findings that came with the change ({len(report.findings):,})"
    return [doc.Section(title, body)] if report.findings else []


def _not_changing(report: DiffReport, most: int | None) -> Iterator[doc.Block]:
    """Yield the sections of the edits of rules that change nothing by themselves."""
    elsewhere = ", or in another permission mode" if report.modes else ""
    together = f"changes something only together with other edits{elsewhere}"
    for title, some in (
        (together, {*report.others} - report.idle - report.untried),
        ("not tried one by one, being many or among many rules", report.untried),
        ("without effect", report.idle),
    ):
        edits = [edit for edit in report.others if edit in some]
        many = most is not None and len(edits) > most
        files = doc.grouped(edits, (lambda edit: edit.place.file) if many else _texts)
        items = [doc.Item(edit_text(report, *each)) for each in files]
        if items:
            yield doc.Section(title, doc.listed(items, most, "files"), folded=True)


def _starts(report: DiffReport, most: int | None) -> Iterator[doc.Block]:
    """Yield a section for each project with agents that are started otherwise."""
    for project, edges in report.spawns.items():
        graph = doc.edges_grid((doc.Edge(*edge) for edge in edges), most)
        left = doc.more(len(graph.rows) - len(graph.rows[:most]))
        title = f"agents of {project} that are started otherwise"
        shown = doc.Grid(graph.heads, graph.rows[:most])
        yield doc.Section(title, (shown, *left), folded=True)


def _files(report: DiffReport, kinds: Iterable[str], most: int | None) -> list[doc.Block]:
    """Return sections of the changed files whose effect is in *kinds*, some of `FILE_EFFECTS`."""
    found: list[doc.Block] = []
    for kind in kinds:
        items = []
        for file in report.files(kind):
            errors = f", {count(file.errors, 'error')}" if file.errors else ""
            items.append(doc.Item((doc.Ink(file.path, "file"), f" ({file.what}{errors})")))
        role = "warning" if kind in FILE_EFFECTS[:2] else ""
        found += _section(doc.Ink(sentences()["files"][kind], role), items, most)
    return found


def _limit_item(limit: LimitChange) -> doc.Item:
    was, now = ("none" if value is None else value for value in (limit.old, limit.new))
    at = f"{limit.place.file}:{limit.place.line}" if limit.place else ""
    text = f"  {limit.limit} {was} → {now}  "
    return doc.Item((doc.Ink(limit.agent, "agent"), text, doc.Ink(at, "file")))


def _section(title: doc.Text, items: Sequence[doc.Block], most: int | None) -> list[doc.Block]:
    """Return a section with at most *most* of *items*; nothing for none."""
    return [doc.Section(title, doc.listed(items, most))] if items else []


def summary(report: DiffReport) -> str:
    """Return a summary on one line."""
    diff = report.diff
    # Of the hash of a revision the first twelve digits are enough.
    sides = (
        re.sub(r"^([0-9a-f]{12})[0-9a-f]{28}$", r"\1", name) for name in (report.old, report.new)
    )
    parts = [" → ".join(sides) + ": "]
    if diff.changes:
        parts.append(_edits(report))
        if not all(effect.edits for effect in report.effects):
            parts.append("; more changes, which no edit of a text explains")
    elif not diff.files:
        parts.append("no file that may say something about agents differs")
    elif {"unread", "error"} & {*map(report.effect, diff.files)}:
        parts.append("no change of decisions in the files that were read")
    else:
        mode = " in the permission mode that sessions start in" if report.modes else ""
        parts.append(f"no call is decided differently{mode}")
    raised, beyond = sum(limit.widened for limit in report.limits), report.excess_by_call
    found = (
        (raised, "limit", " raised"),
        (len(report.limits) - raised, "limit", " lowered"),
        (len(report.files("error")), "changed file", " not understood"),
        (len(report.files("unread")), "changed file", " not read"),
        (sum(map(_chains, beyond)), "call", " beyond the maximum"),
        (len(report.findings), "new finding", ""),
        (report.errors_before, "old error", ""),
    )
    parts += (f"; {count(number, what)}{how}" for number, what, how in found if number)
    for verb, widened in (("widens", True), ("narrows", False)):
        if modes := [mode for mode, widens in report.modes.items() if widens is widened]:
            parts.append(f"; {verb} in {', '.join(modes)}")
    if not diff.exact:
        parts.append("; not exact")
    return "".join(parts)


def _edits(report: DiffReport) -> str:
    """Return a clause with the numbers of edits that widen, narrow or change nothing."""
    widening, narrowing = set[TextEdit](), set[TextEdit]()
    for effect in report.effects:
        for change in effect.changes:
            (widening if change.widened else narrowing).update(effect.edits)
    elsewhere = f"only {'in another permission mode' if report.modes else 'together with others'}"
    numbers = (
        (len(widening), ("widens", "widen")),
        (len(narrowing), ("narrows", "narrow")),
        (len(report.others) - len(report.idle | report.untried), (elsewhere, elsewhere)),
        (len(report.untried), ("not tried one by one", "not tried one by one")),
        (len(report.idle), ("without effect", "without effect")),
    )
    total, both = len(widening | narrowing) + len(report.others), len(widening & narrowing)
    parts = [f"{n:,} {verb[n > 1]}".removeprefix("1 " * (total == 1)) for n, verb in numbers if n]
    if both and total > 1:
        parts[1] += f" ({both:,} do{'es' * (both == 1)} both)"
    return f"{count(total, 'edit')}: {', '.join(parts)}" if total else ""


def _texts(edit: TextEdit) -> tuple[str | None, ...]:
    """Return the texts that an edit removes and adds."""
    return tuple(span.text if span else None for span in (edit.removed, edit.added))


def _alike(report: DiffReport, effects: Iterable[EditEffect]) -> list[list[EditEffect]]:
    """Return *effects* in groups: the same edit in several files, with the same changes."""

    def key(effect: EditEffect) -> object:
        texts = tuple(map(_texts, effect.edits))
        rows = change_rows(effect, report.classes)
        return texts or effect, *((row.widened, row.kind, row.words, row.subject) for row in rows)

    return doc.grouped(effects, key)


def _effects_item(
    report: DiffReport, group: Sequence[EditEffect], number: int, most: int | None
) -> doc.Item:
    """Return the item for a group: its edits, the same text in several files once, and changes."""
    edits = [edit for one in group for edit in one.edits]
    head = edit_text(report, *edits, most=most and _MOST_EACH)
    head = head or "no edit of a text explains this"
    if not group[0].is_tried:
        head = (head, "  (not tried)") if edits else "no edit of a rule that decides this"
    changes = tuple(change for one in group for change in one.changes)
    rows = _shown_rows(report, EditEffect(tuple(edits), changes))
    limit = _MOST_ROWS[len(report.effects) > _MOST_ROWS[1]]
    shown = rows[: most and limit + (len(rows) == limit + 1)]
    cells = tuple(
        (row.phrase, row.arrow, row.witnesses(most and _MOST_EACH), row.who) for row in shown
    )
    marks = tuple({"agent": row.agents, "class": [CLASSES[row.kind]]} for row in shown)
    body: list[doc.Block] = [doc.Grid(("", "", "", ""), cells, marks)]
    body += doc.more(len(rows) - len(shown), "kinds of changes")
    may = [block for row in shown if (block := _may(report, row))]
    body += may[: most and 1]
    if most is None:
        items = tuple(map(_detail, changes))
        body.append(doc.Section("each change", items, folded=True))
    return doc.Item((doc.Ink(f"{number}", "dim"), "  ", head), tuple(body), beside=True)


def _shown_rows(report: DiffReport, effect: EditEffect) -> list[ChangeRow]:
    """Return the changes of an edit, the gravest first, with calls that people would make.

    Other calls are shown only if there are none.
    """
    rows = change_rows(effect, report.classes)
    shown = {row.widened for row in rows if row.is_ordinary}
    rows = [row for row in rows if row.is_ordinary or row.widened not in shown]
    risky = risky_patterns(report.findings)
    return sorted(rows, key=lambda row: (not row.widened, row.subject not in risky))


def edit_text(report: DiffReport, *edits: TextEdit, most: int | None = _MOST_EACH) -> doc.Text:
    """Return the rules that edits remove and add, or else their texts; and their places."""
    sides: list[dict[str, dict[doc.Text, None]]] = [{}, {}]  # the key of rules -> these
    lines: dict[str, dict[str, None]] = {}
    found: list[doc.Text] = []
    for edit in edits:
        place, is_added = edit.place, edit.added is not None
        file = place.file if is_added else report.old_names.get(place.file, place.file)
        if edit.is_file:
            sign = "-" if not is_added else "+" if edit.removed is None else "±"
            rules = [rule for rule, *_ in report.rules_of(edit, is_added)]
            held = (": ", names(rules, most, "rule")) if rules else ""
            found.append((doc.Ink(f"{sign} {file}", "file"), " (the whole file", held, ")"))
            continue
        for side, span in enumerate((edit.removed, edit.added)):
            if span is None:
                continue
            items = [(edit.key, doc.Ink(_cut(span.text), "rule"))]
            rules_ = report.rules_of(edit, side)
            is_list = not (edit.key or _KEYED.match(span.text) or _BLOCK.match(span.text))
            if rules_ and is_list:
                items = [(str(effect), doc.Ink(rule, "rule")) for rule, effect, _ in rules_]
                place = rules_[0][2]
            for key, ink in items:
                sides[side].setdefault(key, {})[ink] = None
        lines.setdefault(file, {})[str(place.line)] = None
    for side, keys in enumerate(sides):
        shown = (
            (_ink(key), doc.joined(inks, ", " if key else "; ", most)) for key, inks in keys.items()
        )
        if keys:
            mark = doc.Ink("-+"[side], ("removed", "added")[side])
            found.append((mark, " ", doc.joined(shown, "; ")))
    where = [f"{file}:{doc.unstyled(names(some, most))}" for file, some in lines.items()]
    return doc.joined([*found, *([names(where, most, "file")] if where else [])], "  ")


# An agent of our notation, or a key with a list below it.
_BLOCK: Final = re.compile(r"agent \S+ \{|[\w-]+:\s*\n")
# One line that begins with the key of its list.
_KEYED: Final = re.compile(r"\w[\w-]*:? .*\Z")


def _ink(key: str) -> doc.Text:
    """Return an effect, or the key of another list."""
    return (doc.Ink(key, key), " ") if key in ROLES.values() else f"{key} " if key else ""


def _cut(text: str) -> str:
    """Return the first line of a text, or a list of lines as one, without the quotes of JSON."""
    text = re.sub(r"\n\s*- ", ", ", re.sub(r":\s*\n\s*- ", ": ", text))
    line, _, rest = text.strip().removeprefix("- ").partition("\n")
    line = re.sub(r'"((?:[^"\\]|\\.)*)"', r"\1", " ".join(line.split()))
    return f"{line[:_LONGEST]}…" if rest or len(line) > _LONGEST else line


def _may(report: DiffReport, row: ChangeRow) -> doc.Block | None:
    """Return the rights of an agent that can be started now, or could be before."""
    started = next((change for change in row.changes if change.what != "rule"), None)
    grants = started and _grants(report, started)
    if not grants:
        return None
    parts: list[doc.Text] = [
        (f"{CLASSES[kind]}: ", shown)
        for kind, tools in grants.items()
        if (shown := cell(kind, tools)) != NOTHING
    ]
    may = " may  " if row.widened else " could  "
    return doc.Item((doc.Ink(row.subject, "agent"), may, doc.joined(parts, "; ") or "nothing"))


def _grants(report: DiffReport, change: Change) -> dict[str, list[ToolAccess]]:
    """Return the rights of an added or removed agent, by class of tools; {} for other changes."""
    if (change.project, change.chain) not in report.grants:
        return {}
    table, classes = report.grants[change.project, change.chain]
    return by_class(tool_access(at_most([table])), classes, CLASSES)


def _detail(change: Change) -> doc.Item:
    """Return a change with the rules of both sides and every chain."""
    difference, agent = change.difference, change.chain[-1]
    chains = ", ".join(map(chain_text, change.chains))
    rows = [
        ("before", because_text(difference.before, agent)),
        ("after", because_text(difference.after, agent)),
        ("chains", f"{chains} in {change.project}"),
        *_only(change.readings),
    ]
    if not change.exact:
        rows.append(("compared", f"not exactly: more calls may differ ({'; '.join(change.why)})"))
    named = call(difference.tool, difference.call)
    head: doc.Text = (arrow(difference.before.effect, difference.after.effect), "  ", named)
    if change.what != "rule":
        can = "can" if change.widened else "can no longer"
        started = "be started" if len(change.chain) > 1 else "start chains"
        head = (doc.Ink(agent, "agent"), f" {can} {started}")
    return doc.Item(head, (doc.Labelled(tuple(rows)),))


def _only(readings: Collection[str]) -> list[tuple[str, doc.Text]]:
    return [("reading", f"{one} only") for one in readings if len(readings) == 1]


def _beyond(report: DiffReport, most: int | None) -> list[doc.Block]:
    """Return the section of calls that exceed the maximum."""
    groups = report.excess_by_call
    items: list[doc.Block] = []
    for group in groups:
        one, others = group[0], _chains(group) - 1
        difference = one.difference
        also = f", and {count(others, 'more chain')}" if others else ""
        rows = [
            ("granted", because_text(difference.after, one.chain[-1], _MOST_EACH)),
            ("chain", f"{chain_text(one.chain)} in {one.project}{also}"),
            *_only({each.reading for each in group}),
        ]
        changed = arrow(difference.before.effect, difference.after.effect)
        named = call(difference.tool, difference.call)
        items.append(doc.Item(("at most ", changed, "  ", named), (doc.Labelled(tuple(rows)),)))
    title = doc.Ink(f"beyond the maximum ({sum(map(_chains, groups)):,})", "widened")
    found = _section(title, items, most)
    if why := "; ".join(report.more_excess):
        found.append(doc.Paragraph(f"not exact: more may exceed the maximum ({why})", "warning"))
    return found


def _chains(group: Sequence[Excess]) -> int:
    return len({one.chain for one in group})


def as_json(report: DiffReport) -> Object:
    """Return the JSON shape of *report*."""
    diff = report.diff
    numbers = {(c.key, chain): n for n, c in enumerate(diff.changes) for chain in c.chains}
    return {
        "old": report.old,
        "new": report.new,
        "edits": [
            {
                "direction": _DIRECTIONS[effect.widened],
                "tried": effect.is_tried,
                "edits": [_edit_json(edit) for edit in effect.edits],
                "effects": [row.json for row in change_rows(effect, report.classes)],
                # By their number in `changes`, each with the chains of which they make it.
                "changes": [
                    {
                        "change": numbers[change.key, change.chain],
                        "chains": list(map(list, change.chains)),
                    }
                    for change in effect.changes
                ],
            }
            for effect in report.effects
        ],
        "other_edits": [
            {**_edit_json(edit), "effect": "none" if edit in report.idle else "unknown"}
            for edit in report.others
        ],
        "changes": [_change(report, change) for change in diff.changes],
        "spawns": {
            project: [dict(zip(("parent", "child", "change"), edge, strict=True)) for edge in edges]
            for project, edges in report.spawns.items()
        },
        "limits": [
            {**shape(limit), "direction": _DIRECTIONS[limit.widened]} for limit in report.limits
        ],
        "excess": shape(report.excess),
        "findings": shape(report.findings),
        "modes": {mode: _DIRECTIONS[widens] for mode, widens in report.modes.items()},
        "widened": diff.widened,
        "narrowed": diff.narrowed,
        "exact": diff.exact,
        "why": list(diff.why),
        "files": [{**shape(file), "effect": report.effect(file)} for file in diff.files],
    }


_DIRECTIONS: Final = ("narrowed", "widened")


def _edit_json(edit: TextEdit) -> Object:
    texts = {"removed": edit.removed, "added": edit.added}
    return {**shape(edit.place), **{key: span and span.text for key, span in texts.items()}}


def _change(report: DiffReport, change: Change) -> Object:
    found: Object = {**shape(change), "agent": change.chain[-1], "meaning": change_kind(change)}
    if grants := _grants(report, change):
        found["grants"] = shape([tool for some in grants.values() for tool in some])
    return found


_SEVERITIES: Final = {
    **dict.fromkeys(("withdrawn", "allow-to-ask", "limit-lowered"), Severity.NOTE),
    **dict.fromkeys(("beyond-maximum", "in-error"), Severity.ERROR),
}


def results(report: DiffReport, new: InputTree) -> list[Result]:
    """Return a result for each kind of change of each edit, then for each finding and file."""
    order = FILE_EFFECTS[::-1]
    files = sorted(report.diff.files, key=lambda file: order.index(report.effect(file)))
    # Of a change without an edit, since forges show no result without a place.
    elsewhere = files[0].path if files else ""
    found: list[Result] = []
    for effect in report.effects:
        edits = sorted(effect.edits, key=lambda edit: edit.added is None)
        # Of an edit that removes a text, only the file is certain.
        spans = [None if edit.is_file else edit.added for edit in edits]
        file = edits[0].place.file if edits else elsewhere
        for row in _shown_rows(report, effect):
            calls = quoted([call_text(*each) for each in row.calls], _MOST_EACH)
            by = f", by {row.who}" if row.agents else ""
            sentence = doc.unstyled((row.phrase, ": ", row.arrow)).replace("→", "->")
            detail = "\n".join(doc.unstyled(edit_text(report, edit)) for edit in effect.edits)
            kind = change_kind(row.changes[0])
            found.append(_result(kind, f"{sentence}, as {calls}{by}", detail, file, *spans[:1]))
    for limit in report.limits:
        kind = "limit-raised" if limit.widened else "limit-lowered"
        sentence = doc.unstyled(_limit_item(limit).head).replace("→", "->")
        file = limit.place.file if limit.place else elsewhere
        found.append(_result(kind, f"a limit of `{limit.agent}` changed: {sentence}", "", file))
    for group in report.excess_by_call:
        difference, chain = group[0].difference, group[0].chain
        named = quoted([call_text(difference.tool, difference.call)])
        message = f"{named} gets {difference.after.effect}, in `{chain_text(chain)}`"
        why = doc.unstyled(because_text(difference.after, chain[-1]))
        span = next(iter(new.spans(difference.after.because).values()), None)
        detail = f"at most: {difference.before.effect}\ngranted: {why}"
        found.append(_result("beyond-maximum", message, detail, elsewhere, span))
    if not report.diff.exact:
        reasons = "; ".join(report.diff.why)
        message = f"more calls may be decided differently than could be compared ({reasons})"
        found.append(_result("not-exact", message, "", elsewhere))
    found += map(Result, report.findings)
    for effect_, kind, sentence in (
        ("unread", "not-read", "this file changed, and is not read: what it grants is unknown"),
        ("error", "in-error", "this file changed and is not understood: what it grants is unknown"),
    ):
        for changed in report.files(effect_):
            found.append(_result(kind, f"{sentence} ({changed.what})", "", changed.path))
    return found


def _result(kind: str, message: str, detail: str, file: str, span: Span | None = None) -> Result:
    severity = _SEVERITIES.get(kind, Severity.WARNING)
    return Result(Finding(kind, message, severity, span, file, detail))
