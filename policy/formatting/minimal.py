"""Files with no rule that could be left out: proven to decide as they did.

Rules are left out one by one for as long as every table that can come about
decides every call as before; then the text without them is read again, and
compared. What is left is *minimal*: no set of its rules could be left out. It
is not searched whether other rules would say the same in fewer words. What a host
passes over is in no table, and stays: lint tells of it. So does what a host would add
by itself, were it not listed (Zeph, for a memory).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from policy.changes.diff import diff_workspaces
from policy.documents.text import BYTE_ORDER_MARK, FileText
from policy.effect import Effect
from policy.errors import PolicyError
from policy.files.opening import Overlay, Tree
from policy.formatting.taking_out import is_exemplified, lists, without
from policy.project import Project
from policy.reach.worklist import reach
from policy.ruleset import RuleSet
from policy.source import Place, Source, Span
from policy.table import Ceiling, Part, Table
from policy.workspace import Workspace, load_tree

__all__ = ["Kept", "Minimal", "minimal"]

# Rules of one file that are tried one by one; each costs some comparisons.
_MOST: Final = 2_000


@attrs.frozen
class Kept:
    """A rule that is kept though tables decide alike without it, or may do so.

    Attributes:
        span: where it is written.
        why: the reason.

    """

    span: Span
    why: str


@attrs.frozen
class Minimal:
    """A file without the rules that change nothing.

    Attributes:
        text: of the file, which is not laid out anew.
        removed: what was left out, as it was written.
        kept: what might have been, in the order written.

    """

    text: str
    removed: tuple[Span, ...]
    kept: tuple[Kept, ...]


def minimal(tree: Tree, path: str, *, load: Callable[[Tree], Workspace] = load_tree) -> Minimal:
    """Return the file at *path* with no rule that could be left out of it.

    Each agent by itself decides as before, and so does every chain, in both
    readings, of the tree as it is: another file may bring a rule to life that
    did not matter.

    Args:
        tree: the file, and all else that its host reads.
        path: of a file of *tree*.
        load: reads the tree.

    Raises:
        PolicyError: the file cannot be read, or what is left cannot be shown to
            decide alike.

    """
    source = tree.source(path)
    before = load(tree)
    items = _items(source, _written_rules(before, source))
    if len(items) > _MOST:
        msg = f"{len(items):,} rules are more than are tried one by one"
        raise PolicyError(msg, file=path, help=f"at most {_MOST:,} are")
    trial = _Trial(source, _tables(before))
    removed = trial.leave_out(items)
    proof = _Proof(tree, path, source, before, load)
    if removed and proof.objection(removed):
        # What a host makes of the text is more than its lines: each rule by itself, then.
        some: list[Span] = []
        for item in removed:
            why = proof.objection([*some, item])
            if why:
                trial.kept[item] = f"without it, {why}"
            else:
                some.append(item)
        removed = some
    for item in _repeated(source, items):
        if item not in removed and not proof.objection([*removed, item]):
            trial.kept.pop(item, None)
            removed = [*removed, item]
    why = proof.objection(removed)
    text = without(source, removed)
    if why or text is None:
        msg = f"what is left cannot be shown to decide alike: {why}"
        raise PolicyError(msg, file=path, help="the file is left as it is")
    kept = (Kept(span, why) for span, why in trial.kept.items())
    found = Minimal(
        text,
        tuple(sorted(removed, key=_start)),
        tuple(sorted(kept, key=lambda one: one.span.start)),
    )
    if any(item in removed for item in _repeated(source, items)):
        return _again(found, source, minimal(proof.tree_without(removed), path, load=load))
    return found


def _again(first: Minimal, source: Source, then: Minimal) -> Minimal:
    """Return both steps as one: what *then* left out of the text that was left *first*."""
    left = [span for spans in lists(source) for span in spans if span not in first.removed]
    if not then.removed:
        return first
    at = [span.start for spans in lists(then.removed[0].source) for span in spans]
    more = tuple(left[at.index(span.start)] for span in then.removed)
    kept = tuple(one for one in first.kept if one.span not in more)
    return Minimal(then.text, tuple(sorted((*first.removed, *more), key=_start)), kept)


def _repeated(source: Source, items: Sequence[Span]) -> list[Span]:
    """Return the items that another list says as well: a table has one line for both.

    Of the two lists of Zeph that deny, `deny: [bash], except: [bash]`, either is enough.
    """
    others = {span.text for spans in lists(source) for span in spans if span not in items}
    return [item for item in items if item.text in others]


def _start(span: Span) -> int:
    return span.start


@attrs.frozen
class _Proof:
    """What a file without some of its rules comes to, beside what it came to before."""

    tree: Tree
    path: str
    source: FileText
    before: Workspace
    load: Callable[[Tree], Workspace]

    def objection(self, spans: Sequence[Span]) -> str:
        """Return why the file must not lose *spans*, or ""."""
        if without(self.source, spans) is None:
            return "a rule cannot be taken out of its list"
        return _objection(self.before, self.load(self.tree_without(spans)))

    def tree_without(self, spans: Sequence[Span]) -> Tree:
        """Return the tree in which the file has lost *spans*, which can be taken out."""
        mark = BYTE_ORDER_MARK if self.source.byte_order_mark else ""
        text = without(self.source, spans) or ""
        return Overlay(self.tree, {self.path: (mark + text).encode("utf-8")})


def _items(source: Source, offsets: Mapping[int, Effect]) -> list[Span]:
    """Return the items of the lists that hold rules, in the order in which they are tried.

    Of what allows, asks and denies, that which grants more is tried first: whether
    a rule that denies matters depends on what would be granted without it. Of
    two that cover the same calls the longer one is tried first.
    """
    found: list[tuple[int, int, Span]] = []
    for spans in lists(source):
        effects = [_effect(span, offsets) for span in spans]
        known = [effect for effect in effects if effect is not None]
        if known:
            for span, effect in zip(spans, effects, strict=True):
                rank = list(Effect).index(max(known) if effect is None else effect)
                found.append((-rank, -len(span.text), span))
    return [span for *_, span in sorted(found, key=lambda item: (*item[:2], item[2].start))]


def _effect(span: Span, offsets: Mapping[int, Effect]) -> Effect | None:
    found = [offsets[at] for at in range(span.start, span.end) if at in offsets]
    return max(found, default=None)


def _sets(workspace: Workspace) -> Iterator[RuleSet]:
    for use in _tables(workspace):
        yield from (part.rules for part in use)


def _written_rules(workspace: Workspace, source: Source) -> dict[int, Effect]:
    """Return where in *source* each rule starts, and the most that it grants."""
    found: dict[int, Effect] = {}
    for rules in _sets(workspace):
        for entry in rules.entries:
            if entry.place is not None and entry.place.file == source.name:
                at = source.offset(entry.place.line, entry.place.column)
                found[at] = max(found.get(at, entry.effect), entry.effect)
    return found


_Parts = tuple[Part, ...]


def _tables(workspace: Workspace) -> list[_Parts]:
    """Return every ceiling that agents have by themselves or in a chain, each once."""
    found: dict[object, _Parts] = {}
    for project in workspace.projects:
        for table in _of_project(project):
            for ceiling in (table.use, table.delegated):
                found.setdefault(
                    tuple(part.rules.interned for part in ceiling.parts), ceiling.parts
                )
    return list(found.values())


def _of_project(project: Project) -> Iterator[Table]:
    yield from (entry.declared for entry in project.agents.values())
    for reading in (project.attenuated, project.enforced):
        yield from (reading.start(agent).table for agent in project.all_starts)
        for chains in reach(project, reading, project.all_starts).chains.values():
            yield from (chain.table for chain in chains)


@attrs.define
class _Trial:
    """Tables from which rules are left out for as long as they decide alike."""

    source: Source
    tables: list[_Parts]
    kept: dict[Span, str] = attrs.field(factory=dict)

    def leave_out(self, items: Sequence[Span]) -> list[Span]:
        """Return the items that can all be left out; none of the others can be as well."""
        gone: list[Span] = []
        waiting = list(items)
        while True:
            before = len(gone)
            gone += filter(self._leave_out, waiting)
            waiting = [item for item in waiting if item not in gone]
            if len(gone) == before:
                return gone

    def _leave_out(self, item: Span) -> bool:
        self.kept.pop(item, None)
        fewer = self._fewer(item)
        if fewer is None:
            return False
        if without(self.source, [item]) is None:
            exemplified = is_exemplified(self.source, item)
            self.kept[item] = _EXEMPLIFIED if exemplified else _IN_ITS_LIST
            return False
        for number, parts in fewer.items():
            self.tables[number] = parts
        return True

    def _fewer(self, item: Span) -> dict[int, _Parts] | None:
        """Return the tables that change without *item*; None unless all decide alike."""
        changed: dict[int, _Parts] = {}
        for number, parts in enumerate(self.tables):
            fewer = tuple(attrs.evolve(part, rules=_without(part.rules, item)) for part in parts)
            if all(one.rules is other.rules for one, other in zip(fewer, parts, strict=True)):
                continue
            found = Table(Ceiling.of(parts)).differences(Table(Ceiling.of(fewer)))
            if found.differences:
                return None
            if not found.exact:
                self.kept[item] = _UNDECIDED
                return None
            changed[number] = fewer
        return changed


_UNDECIDED: Final = "it was not decided whether it matters"
_EXEMPLIFIED: Final = "no call is decided otherwise without it, but the example below is of it"
_IN_ITS_LIST: Final = (
    "no call is decided otherwise without it, but it cannot be taken out of its list alone"
)


def _without(rules: RuleSet, item: Span) -> RuleSet:
    kept = tuple(entry for entry in rules.entries if not _is_of(entry.place, item))
    return rules if len(kept) == len(rules.entries) else attrs.evolve(rules, entries=kept)


def _is_of(place: Place | None, item: Span) -> bool:
    if place is None or place.file != item.source.name:
        return False
    return item.start <= item.source.offset(place.line, place.column) < item.end


def _objection(before: Workspace, after: Workspace) -> str:
    """Return why *after* cannot take the place of *before*, or ""."""
    known = {(finding.code, finding.place.file) for finding in before.findings}
    for finding in after.findings:
        if finding.severity.value == "error" and (finding.code, finding.place.file) not in known:
            return f"{finding.place}: {finding.message}"
    diff = diff_workspaces(before, after)
    if diff.changes:
        difference = diff.changes[0].difference
        call = " ".join(map(str, difference.call.values()))
        return (
            f"`{difference.tool}({call})` would get {difference.after.effect}"
            f" instead of {difference.before.effect}"
        )
    if not diff.exact:
        return f"the comparison is not exact: {'; '.join(diff.why)}"
    pairs = zip(before.projects, after.projects, strict=True)
    return next(filter(None, (_by_itself(*pair) for pair in pairs)), "")


def _by_itself(before: Project, after: Project) -> str:
    """Return why an agent by itself is not the same, or ""."""
    if before.agents.keys() != after.agents.keys() or before.starts != after.starts:
        return "agents come or go"
    for name, entry in before.agents.items():
        tables = (entry.declared, after.agents[name].declared)
        if tables[0].bounds != tables[1].bounds:
            return f"the limits of `{name}` change"
        pairs = [tables, tuple(Table(table.delegated) for table in tables)]
        for one, other in pairs:
            found = one.differences(other)
            if found.differences or not found.exact:
                return f"`{name}` by itself would decide otherwise"
    return ""
