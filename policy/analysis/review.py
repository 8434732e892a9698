"""What a reviewer asks besides which decisions change.

Agents that have another name, spawns that come and go, findings that are new, and rules as they
are written, set against the decisions that change (`policy.analysis.diff`): a rule that came,
went or moved and by which no call is decided differently is churn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from policy.analysis.diff import Diff, paired
from policy.analysis.reach.worklist import reach
from policy.compare.compare import Difference, Known
from policy.compare.tables import compare_meets
from policy.compare.witness import Call
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.finding import Finding, Severity
from policy.core.source import Place
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace
from policy.tables.chain import READINGS
from policy.tables.lookup import Lookup
from policy.tables.ruleset import RuleSet
from policy.tables.table import Ceiling, Table

__all__ = [
    "Review",
    "RuleChange",
    "Spawn",
    "new_findings",
    "review",
    "spawn_changes",
]


@attrs.frozen
class Spawn:
    """An edge of the spawn graph of a project, in one reading or both.

    Attributes:
        parent: who starts; "" for an agent that starts chains.
        child: whom.
        before: the readings in which it could, before.
        after: and after.

    """

    parent: str
    child: str
    before: frozenset[str]
    after: frozenset[str]

    @property
    def change(self) -> str:
        """``added``, ``removed`` or "" as far as any reading has it."""
        if bool(self.before) == bool(self.after):
            return ""
        return "added" if self.after else "removed"


def spawn_changes(old: Workspace, new: Workspace) -> dict[str, tuple[Spawn, ...]]:
    """Return the edges of both sides of each project whose spawn graph changed."""
    found = {}
    for pair in paired(old, new):
        before, after = (_edges(project) if project else {} for project in pair)
        if {*before} == {*after}:
            continue
        none = frozenset[str]()
        title = next(project.title for project in pair[::-1] if project is not None)
        found[title] = tuple(
            Spawn(*edge, before.get(edge, none), after.get(edge, none))
            for edge in sorted({**before, **after})
        )
    return found


def _edges(project: Project) -> dict[tuple[str, str], frozenset[str]]:
    edges: dict[tuple[str, str], frozenset[str]] = {}
    for name in READINGS:
        found = reach(project, project.reading(name)).edges
        pairs = [(parent, child) for parent, children in found.items() for child in children]
        for edge in (*(("", start) for start in project.starts), *pairs):
            edges[edge] = edges.get(edge, frozenset()) | {name}
    return edges


# A rule, and where it is written.
_Mark = tuple[Place | None, str]

# Rules that are put back one by one where a command is ambiguous by some of them.
_HIDING: Final = 50


def _named_rules(
    sides: tuple[Workspace, Workspace],
    differences: Iterable[Difference],
    changed: list[set[_Mark]],
    known: Known,
) -> list[set[_Mark]]:
    """Return the rules that a difference names, of decisions or else of single rule sets.

    A decision that several sets make names one of them, and one of a command that rules make
    ambiguous names none. What it leaves out is looked for where the sets are compared one by one.

    Args:
        sides: before and after.
        differences: the calls that are decided differently.
        changed: the rules of each side that are looked for.
        known: what comparisons found so far.

    """
    named: list[set[_Mark]] = [set(), set()]
    _name(named, differences)
    left = [marks - found for marks, found in zip(changed, named, strict=True)]
    for before, after in _paired_sets(*sides) if any(left) else ():
        concerned = [
            {(entry.place, entry.rule) for rules in side for entry in rules.entries} & marks
            for side, marks in zip((before, after), left, strict=True)
        ]
        if not any(concerned):
            continue
        if len(before) == len(after):
            for pair in zip(before, after, strict=True):
                comparison = compare_meets([(pair[0], ())], [(pair[1], ())], known)
                _name(named, comparison.differences)
                for side, rules in enumerate(pair):
                    some = concerned[side] - named[side]
                    named[side] |= _hiding(rules, some, side, comparison.differences)
                if comparison.exact:
                    continue
                for side, rules in enumerate(pair):
                    named[side] |= {(entry.place, entry.rule) for entry in rules.entries}
        else:
            # What takes the place of what cannot be said: nothing is called churn.
            for side, marks in enumerate(concerned):
                named[side] |= marks
    return named


def _name_exceptions(
    named: list[set[_Mark]], new: Workspace, come: set[_Mark], known: Known
) -> None:
    """Add the rules without which other new rules would grant or take more.

    What such a rule decides was decided so before, by rules that are gone.
    """
    left = come - named[1]
    for rules in _rule_sets(new) if left else ():
        kept = tuple(entry for entry in rules.entries if (entry.place, entry.rule) not in left)
        if len(kept) < len(rules.entries):
            without = attrs.evolve(rules, entries=kept)
            _name(named, compare_meets([(without, ())], [(rules, ())], known).differences)


def _rule_sets(workspace: Workspace) -> Iterable[RuleSet]:
    """Return the rule sets of *workspace*, each once."""
    return {
        id(part.rules): part.rules
        for project in workspace.projects
        for ceiling in _tables(project).values()
        for part in ceiling.parts
    }.values()


def _hiding(
    rules: RuleSet, some: set[_Mark], side: int, differences: Iterable[Difference]
) -> set[_Mark]:
    """Return those of *some* rules by which alone a command of a difference is ambiguous."""
    ambiguous = [
        (each.tool, each.call)
        for each in differences
        if (each.before, each.after)[side].reason is Reason.UNANALYSABLE
    ]
    if not (some and ambiguous):
        return set()
    if len(some) > _HIDING:
        return some  # nothing is called churn
    without = _granted(rules, some, ambiguous)
    return {mark for mark in some if _granted(rules, some - {mark}, ambiguous) != without}


def _granted(rules: RuleSet, but: set[_Mark], calls: Iterable[tuple[str, Call]]) -> list[Effect]:
    """Return what calls get of *rules* without some."""
    kept = tuple(entry for entry in rules.entries if (entry.place, entry.rule) not in but)
    left = attrs.evolve(rules, entries=kept)
    return [Lookup(((left.row(tool), ()),), "").decide(call).effect for tool, call in calls]


def _name(named: list[set[_Mark]], differences: Iterable[Difference]) -> None:
    for difference in differences:
        for side, decision in enumerate((difference.before, difference.after)):
            named[side] |= {(because.place, because.rule) for because in decision.because}


_Sets = tuple[RuleSet, ...]


def _paired_sets(old: Workspace, new: Workspace) -> Iterable[tuple[_Sets, _Sets]]:
    """Yield the rule sets of both sides that belong to one agent, each pair once."""
    seen: set[object] = set()
    for before, after in paired(old, new):
        sides = [_tables(project) if project else {} for project in (before, after)]
        for key in dict.fromkeys((*sides[0], *sides[1])):
            pair = tuple(
                tuple(part.rules for part in side[key].parts) if key in side else ()
                for side in sides
            )
            mark = tuple(tuple(map(id, sets)) for sets in pair)
            if mark not in seen:
                seen.add(mark)
                yield pair[0], pair[1]


def _tables(project: Project) -> dict[object, Ceiling]:
    """Return what each agent declares, and what holds where chains start."""
    tables: dict[object, Table] = {
        ("declared", name): entry.declared for name, entry in project.agents.items()
    }
    for reading in READINGS:
        for agent in project.starts:
            tables[reading, agent] = project.reading(reading).start(agent).table
    ceilings: dict[object, Ceiling] = {}
    for key, table in tables.items():
        ceilings[key, "use"] = table.use
        ceilings[key, "delegate"] = table.delegated
    return ceilings


def new_findings(old: Workspace, new: Workspace) -> tuple[Finding, ...]:
    """Return errors and warnings of *new* that *old* has not, by severity and place.

    Those are compared that reading the files gives (`Workspace.findings`), by file, code
    and message: a finding whose line moved is not new.
    """
    known = Counter(map(_mark, old.findings))
    found = []
    for finding in new.findings:
        if known[_mark(finding)] > 0:
            known[_mark(finding)] -= 1
        elif finding.severity is not Severity.NOTE:
            found.append(finding)
    order = list(Severity)
    return tuple(sorted(found, key=lambda each: (order.index(each.severity), each.place)))


def _mark(finding: Finding) -> tuple[str, str, str]:
    return finding.place.file, finding.code, finding.message


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
        places: where it stands before and after; None where it is not there.
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
        known: what comparisons found so far (`compare.tables.differences`), those of *diff* best.

    """
    known = {} if known is None else known
    renamed: list[Renamed] = []
    for before, after in paired(old, new):
        if before is not None and after is not None:
            renamed += _renamed(before, after)
    return Review(tuple(sorted(renamed)), tuple(_rule_changes(old, new, diff, known)))


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
    named = _named_rules((old, new), differences, [_marks(gone), _marks(come)], known)
    moved = {key[1:] for key in gone}
    fresh = _marks({key: places for key, places in come.items() if key[1:] not in moved})
    _name_exceptions(named, new, fresh, known)
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
    named: list[set[_Mark]],
) -> RuleChange:
    found = any(
        place is not None and (place, rule) in known
        for place, known in zip(places, named, strict=True)
    )
    return RuleChange(what, rule, effects, places, found)


def _marks(rules: Mapping[_Key, list[Place]]) -> set[_Mark]:
    return {(place, rule) for (_, rule, _), places in rules.items() for place in places}


def _written(workspace: Workspace) -> dict[_Key, list[Place]]:
    """Return the rules that are written in the files of *workspace*, and where."""
    found: dict[tuple[Place, str], Effect] = {}
    for rules in _rule_sets(workspace):
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
