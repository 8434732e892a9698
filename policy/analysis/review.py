"""What a reviewer asks besides which decisions change.

Spawns that come and go, findings that are new, rules that came or went, and edits of rules by
which no call is decided differently.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from policy.analysis.diff import diff_workspaces, paired
from policy.analysis.edits import Edits, TextEdit
from policy.analysis.reach.worklist import reach
from policy.compare.compare import Known
from policy.compare.tables import differences
from policy.core.effect import Effect
from policy.core.finding import Finding, Severity
from policy.core.source import Place
from policy.files.trees import Tree
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace
from policy.tables.chain import READINGS
from policy.tables.table import LinkedRules, Table

__all__ = [
    "Rule",
    "changed_rules",
    "new_findings",
    "spawn_changes",
    "without_effect",
]

# --- the spawn graph -----------------------------------------------------------------------


def spawn_changes(old: Workspace, new: Workspace) -> dict[str, tuple[tuple[str, str, str], ...]]:
    """Return the edges that each project gained and lost, by its title.

    An edge is who starts, "" for the start of a chain, whom, and ``added`` or ``removed``; an edge
    of one reading is one. A project without such edges is left out.
    """
    found = {}
    for pair in paired(old, new):
        before, after = (_edges(project) if project else set() for project in pair)
        title = next(project.title for project in pair[::-1] if project is not None)
        if before != after:
            edges = sorted(before ^ after)
            found[title] = tuple((*edge, "added" if edge in after else "removed") for edge in edges)
    return found


def _edges(project: Project) -> set[tuple[str, str]]:
    edges = {("", start) for start in project.starts}
    for name in READINGS:
        found = reach(project, project.reading(name)).edges
        edges |= {(parent, child) for parent, children in found.items() for child in children}
    return edges


# --- findings -------------------------------------------------------------------


def new_findings(
    old: Iterable[Finding], new: Iterable[Finding], renamed: Mapping[str, str]
) -> tuple[Finding, ...]:
    """Return errors and warnings of *new* that *old* has not, by severity and place.

    They are compared by file, code and message: a finding whose line moved is not new. *renamed*
    is a file of *new* -> the file of *old* in its place.
    """
    known = Counter((each.place.file, each.code, each.message) for each in old)
    found = []
    for finding in new:
        file = finding.place.file
        mark = renamed.get(file, file), finding.code, finding.message
        if known[mark] > 0:
            known[mark] -= 1
        elif finding.severity is not Severity.NOTE:
            found.append(finding)
    order = list(Severity)
    return tuple(sorted(found, key=lambda each: (order.index(each.severity), each.place)))


# --- rules ---------------------------------------------------------------------------------

# A rule as it is written, what it says, and where it stands.
Rule = tuple[str, Effect, Place]


def changed_rules(old: Workspace, new: Workspace) -> tuple[list[Rule], list[Rule]]:
    """Return the rules that went and those that came, by their places.

    A rule that the same file has on both sides, wherever in it, neither went nor came.
    """
    written = [_written(workspace) for workspace in (old, new)]
    gone, come = (
        sorted(
            (rule for key, rules in side.items() for rule in rules[len(other.get(key, ())) :]),
            key=lambda rule: (rule[2], rule[0]),
        )
        for side, other in (written, written[::-1])
    )
    return gone, come


def _written(workspace: Workspace) -> Mapping[object, list[Rule]]:
    """Return the rules that files of *workspace* hold, by file, text and effect."""
    found: dict[tuple[Place, str], Effect] = {}
    parts = (part for project in workspace.projects for part in _parts(project))
    # Equal rule sets may stand in several places.
    for rules in {id(part.rules): part.rules for part in parts}.values():
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
    alike: dict[object, list[Rule]] = {}
    for (place, rule), effect in found.items():
        alike.setdefault((place.file, rule, effect), []).append((rule, effect, place))
    return alike


def _parts(project: Project) -> Iterator[LinkedRules]:
    """Yield what each agent declares, and what holds where chains start."""
    tables = [entry.declared for entry in project.agents.values()]
    readings = map(project.reading, READINGS)
    tables += [reading.start(name).table for reading in readings for name in project.starts]
    for table in tables:
        yield from (*table.use.parts, *table.delegated.parts)


# Edits that are taken back one by one.
_MOST = 60


def without_effect(
    some: Collection[TextEdit],
    edits: Edits,
    after: Workspace,
    load: Callable[[Tree], Workspace],
    known: Known | None = None,
) -> frozenset[TextEdit]:
    """Return those of *some* edits without which every call is decided as in *after*.

    All of them where nothing changes without all; else each that changes nothing alone. Each agent
    by itself decides as before, too, so that no other edit can bring such a rule to life.

    Args:
        some: which.
        edits: all of them.
        after: the workspace with all of them.
        load: reads a tree as *after* was read.
        known: what comparisons found so far (`compare.tables.differences`).

    """
    known = {} if known is None else known

    def changes_nothing(taken_back: frozenset[TextEdit]) -> bool:
        before = load(edits.without(taken_back))
        if not all(old and new and _is_same(old, new) for old, new in paired(before, after)):
            return False
        diff = diff_workspaces(before, after, known=known)
        return diff.exact and not diff.changes

    if not some or changes_nothing(frozenset(some)):
        return frozenset(some)
    alone = some if 1 < len(some) <= _MOST else ()
    return frozenset(edit for edit in alone if changes_nothing(frozenset({edit})))


def _is_same(before: Project, after: Project) -> bool:
    """Return whether each agent by itself decides the same, and the same agents start chains."""
    if before.agents.keys() != after.agents.keys() or before.starts != after.starts:
        return False
    for name, entry in before.agents.items():
        one, other = entry.declared, after.agents[name].declared
        delegated = Table(one.delegated), Table(other.delegated)
        found = [differences(*pair) for pair in ((one, other), delegated)]
        if one.bounds != other.bounds or any(c.differences or not c.exact for c in found):
            return False
    return True
