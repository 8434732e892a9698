"""What a reviewer asks beside which decisions change: what was renamed, moved, or has no effect.

Decisions are compared in `policy.changes.diff`. Here the rules as written are compared,
and set against the decisions that change: a rule that came, went or moved and by which no
call is decided differently is churn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from policy.changes.diff import Diff
from policy.changes.naming import Mark, name_exceptions, named_rules, rule_sets
from policy.changes.spawn_changes import paired
from policy.comparison.compare import Known
from policy.effect import Effect
from policy.finding import Severity
from policy.project import Project
from policy.source import Place
from policy.workspace import Workspace

__all__ = ["Renamed", "Review", "RuleChange", "review"]


@attrs.frozen(order=True)
class Renamed:
    """An agent that has another name, and the same rules."""

    project: str
    old: str
    new: str


@attrs.frozen(order=True)
class RuleChange:
    """A rule that is not written where it was.

    Attributes:
        what: ``moved`` to another file, ``relisted`` under another effect, ``added`` or
            ``removed``.
        rule: as written.
        effects: what it says before and after; None where it is not there.
        places: where it stands before and after, likewise.
        named: whether some call is decided differently by it.

    """

    what: str
    rule: str
    effects: tuple[Effect | None, Effect | None]
    places: tuple[Place | None, Place | None]
    named: bool


@attrs.frozen
class Review:
    """What there is to say of a change beside its decisions."""

    renamed: tuple[Renamed, ...] = ()
    rules: tuple[RuleChange, ...] = ()

    @property
    def churn(self) -> tuple[RuleChange, ...]:
        """The rules by which no call is decided differently."""
        return tuple(change for change in self.rules if not change.named)


def review(old: Workspace, new: Workspace, diff: Diff, known: Known | None = None) -> Review:
    """Return the review of *diff*, which compares *old* with *new*.

    Args:
        old: before.
        new: after.
        diff: how they differ.
        known: what comparisons found so far (`Table.differences`), those of *diff* best.

    """
    known = {} if known is None else known
    renamed: list[Renamed] = []
    for before, after in paired(old, new):
        if before is not None and after is not None:
            renamed += _renamed(before, after)
    return Review(tuple(sorted(renamed)), tuple(_rule_changes(old, new, diff, known)))


# --- agents -------------------------------------------------------------------------


def _renamed(before: Project, after: Project) -> Iterable[Renamed]:
    """Yield agents on one side that declare what just one on the other side declares."""
    gone = _by_table(before, before.agents.keys() - after.agents.keys())
    come = _by_table(after, after.agents.keys() - before.agents.keys())
    for table, names in gone.items():
        others = come.get(table, [])
        if len(names) == len(others) == 1:
            yield Renamed(after.title, names[0], others[0])


def _by_table(project: Project, names: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        entry = project.agents[name]
        if entry.place is not None:
            found.setdefault(entry.declared.hash, []).append(name)
    return found


# --- rules --------------------------------------------------------------------------

_Key = tuple[str, str, Effect]  # file, rule, effect


def _rule_changes(old: Workspace, new: Workspace, diff: Diff, known: Known) -> list[RuleChange]:
    written = [_written(workspace) for workspace in (old, new)]
    # What is there on both sides, wherever in its file, did not change.
    gone, come = (
        {
            key: places[len(other.get(key, ())) :]
            for key, places in side.items()
            if len(places) > len(other.get(key, ()))
        }
        for side, other in (written, written[::-1])
    )
    differences = [change.difference for change in diff.changes]
    named = named_rules((old, new), differences, [_marks(gone), _marks(come)], known)
    moved = {key[1:] for key in gone}
    fresh = _marks({key: places for key, places in come.items() if key[1:] not in moved})
    name_exceptions(named, new, fresh, known)
    changes: list[RuleChange] = []
    for what in ("moved", "relisted"):
        for key in list(gone):
            other = _counterpart(key, come, what)
            while other is not None and gone[key]:
                pair = (gone[key].pop(), come[other].pop())
                changes.append(_change(what, key[1], (key[2], other[2]), pair, named))
                if not come[other]:
                    del come[other]
                    other = _counterpart(key, come, what)
            if not gone[key]:
                del gone[key]
    for (_, rule, effect), places in gone.items():
        changes += (_change("removed", rule, (effect, None), (p, None), named) for p in places)
    for (_, rule, effect), places in come.items():
        changes += (_change("added", rule, (None, effect), (None, p), named) for p in places)
    return sorted(changes, key=lambda c: (c.what, (c.places[1] or c.places[0]), c.rule))


def _counterpart(key: _Key, others: Mapping[_Key, object], what: str) -> _Key | None:
    """Return where the same rule stands instead: in another file, or under another effect."""
    file, rule, effect = key
    for other in others:
        if other[1] != rule:
            continue
        if (what == "moved" and other[2] is effect) or (what == "relisted" and other[0] == file):
            return other
    return None


def _change(
    what: str,
    rule: str,
    effects: tuple[Effect | None, Effect | None],
    places: tuple[Place | None, Place | None],
    named: list[set[Mark]],
) -> RuleChange:
    found = any(
        place is not None and (place, rule) in known
        for place, known in zip(places, named, strict=True)
    )
    return RuleChange(what, rule, effects, places, found)


def _marks(rules: Mapping[_Key, list[Place]]) -> set[Mark]:
    return {(place, rule) for (_, rule, _), places in rules.items() for place in places}


def _written(workspace: Workspace) -> dict[_Key, list[Place]]:
    """Return the rules that are written in the files of *workspace*, and where."""
    found: dict[tuple[Place, str], Effect] = {}
    for rules in rule_sets(workspace):
        for entry in rules.entries:
            # What comes with the host is written nowhere.
            if entry.place is not None and entry.rule and entry.place.file in workspace.files:
                found.setdefault((entry.place, entry.rule), entry.effect)
    for project in workspace.projects:
        wrong = [each.place for each in project.findings if each.severity is Severity.ERROR]
        lines = {(place.file, place.line) for place in wrong}
        for one in project.written:
            # Of a line in error it is not known whether it has an effect.
            if (one.place.file, one.place.line) not in lines:
                found.setdefault((one.place, one.rule), one.effect)
    by_key: dict[_Key, list[Place]] = {}
    for (place, rule), effect in found.items():
        by_key.setdefault((place.file, rule, effect), []).append(place)
    return by_key
