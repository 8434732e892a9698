"""Files with no rule that could be left out: proven to decide as they did.

Rules are left out one by one for as long as every table that can come about
decides every call as before, in every permission mode of a session; then the text
without them is read again, and compared. What is left is *minimal*: no set of its rules
could be left out. It
is not searched whether other rules would say the same in fewer words. What a host
passes over is in no table, and stays: lint tells of it. So does what a host would add
by itself, were it not listed (Zeph, for a memory).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from policy.effect import Effect
from policy.errors import PolicyError
from policy.files.opening import Tree
from policy.formatting.proof import Proof
from policy.formatting.taking_out import lists, stating, without
from policy.formatting.trial import Parts, Trial
from policy.project import Project
from policy.reach.worklist import reach
from policy.ruleset import RuleSet
from policy.source import Source, Span
from policy.table import Table
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
    trial = Trial(source, _tables(before))
    proof = Proof(tree, path, source, before, load)
    removed = _left_out(items, trial, proof)
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


def _left_out(items: Sequence[Span], trial: Trial, proof: Proof) -> list[Span]:
    """Return what the file may lose of its rules and lists; the trial tells why others stay."""
    removed = trial.leave_out(items)
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
    for item in _repeated(proof.source, items):
        if item not in removed and not proof.objection([*removed, item]):
            trial.kept.pop(item, None)
            removed = [*removed, item]
    for spans in stating(proof.source):
        left = [item for item in spans if item not in removed]
        if left and not proof.objection([*removed, *left]):
            removed = [*removed, *left]
            for item in left:
                trial.kept.pop(item, None)
    return removed


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
    others = {_name(span) for spans in lists(source) for span in spans if span not in items}
    return [item for item in items if _name(item) in others]


def _name(span: Span) -> str:
    """Return what an item says, however it is quoted; case tells none apart for most hosts."""
    return span.text.strip("\"'").casefold()


def _start(span: Span) -> int:
    return span.start


def _items(source: Source, offsets: Mapping[int, Effect]) -> list[Span]:
    """Return the items of the lists that hold rules, in the order in which they are tried.

    Of what allows, asks and denies, that which grants more is tried first: whether
    a rule that denies matters depends on what would be granted without it. Of
    two that cover the same calls the longer one is tried first, and of two that
    are written alike the latter.
    """
    first: dict[str, int] = {}
    found: list[tuple[int, int, int, int, Span]] = []
    for spans in lists(source):
        effects = [_effect(span, offsets) for span in spans]
        known = [effect for effect in effects if effect is not None]
        if known:
            for span, effect in zip(spans, effects, strict=True):
                rank = list(Effect).index(max(known) if effect is None else effect)
                at = first.setdefault(span.text, span.start)
                found.append((-rank, -len(span.text), at, -span.start, span))
    return [span for *_, span in sorted(found, key=lambda item: item[:-1])]


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


def _tables(workspace: Workspace) -> list[Parts]:
    """Return every ceiling of agents, alone or in a chain, in every mode, each once."""
    found: dict[object, Parts] = {}
    for each in (workspace, *workspace.modes.values()):
        for project in each.projects:
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
