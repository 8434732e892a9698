"""Which rules a difference is of: those that its decisions name, and those that they leave out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from policy.chain import READINGS
from policy.changes.spawn_changes import paired
from policy.comparison.compare import Difference, Known
from policy.comparison.meets import compare_meets
from policy.comparison.witness import Call
from policy.decision import Reason
from policy.effect import Effect
from policy.lookup import Lookup
from policy.project import Project
from policy.ruleset import RuleSet
from policy.source import Place
from policy.table import Ceiling, Table
from policy.workspace import Workspace

__all__ = ["Mark", "name_exceptions", "named_rules", "rule_sets"]

# A rule, and where it is written.
Mark = tuple[Place | None, str]

# Rules that are put back one by one where a command is doubtful by some of them.
_HIDING: Final = 50


def named_rules(
    sides: tuple[Workspace, Workspace],
    differences: Iterable[Difference],
    changed: list[set[Mark]],
    known: Known,
) -> list[set[Mark]]:
    """Return the rules that a difference names, of decisions or else of single rule sets.

    A decision that several sets make names one of them, and one of a command that rules make
    doubtful names none. What it leaves out is looked for where the sets are compared one by one.

    Args:
        sides: before and after.
        differences: the calls that are decided differently.
        changed: the rules of each side that are looked for.
        known: what comparisons found so far.

    """
    named: list[set[Mark]] = [set(), set()]
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


def name_exceptions(named: list[set[Mark]], new: Workspace, come: set[Mark], known: Known) -> None:
    """Add the rules without which other new rules would grant or take more.

    What such a rule decides was decided so before, by rules that are gone.
    """
    left = come - named[1]
    for rules in rule_sets(new) if left else ():
        kept = tuple(entry for entry in rules.entries if (entry.place, entry.rule) not in left)
        if len(kept) < len(rules.entries):
            without = attrs.evolve(rules, entries=kept)
            _name(named, compare_meets([(without, ())], [(rules, ())], known).differences)


def rule_sets(workspace: Workspace) -> Iterable[RuleSet]:
    """Return the rule sets of *workspace*, each once."""
    return {
        id(part.rules): part.rules
        for project in workspace.projects
        for ceiling in _tables(project).values()
        for part in ceiling.parts
    }.values()


def _hiding(
    rules: RuleSet, some: set[Mark], side: int, differences: Iterable[Difference]
) -> set[Mark]:
    """Return those of *some* rules by which alone a command is doubtful that a difference shows."""
    doubtful = [
        (each.tool, each.call)
        for each in differences
        if (each.before, each.after)[side].reason is Reason.UNANALYSABLE
    ]
    if not (some and doubtful):
        return set()
    if len(some) > _HIDING:
        return some  # nothing is called churn
    without = _granted(rules, some, doubtful)
    return {mark for mark in some if _granted(rules, some - {mark}, doubtful) != without}


def _granted(rules: RuleSet, but: set[Mark], calls: Iterable[tuple[str, Call]]) -> list[Effect]:
    """Return what calls get of *rules* without some."""
    kept = tuple(entry for entry in rules.entries if (entry.place, entry.rule) not in but)
    left = attrs.evolve(rules, entries=kept)
    return [Lookup(((left.row(tool), ()),), "").decide(call).effect for tool, call in calls]


def _name(named: list[set[Mark]], differences: Iterable[Difference]) -> None:
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
