"""The report of `policy diff`: the changed decisions, and further changes that a reviewer checks.

Those are added and removed spawns, new findings, added and removed rules, and edits of rules that
change no decision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from policy.analysis.attribution import EditEffect, effects_of_edits, most_loads
from policy.analysis.diff import Diff, FileChange, Names, changed_files, diff_workspaces, paired
from policy.analysis.edits import Edits, TextEdit
from policy.analysis.lint import Linted, lint
from policy.analysis.reach.worklist import Chains, reach
from policy.compare.compare import Known
from policy.compare.tables import differences
from policy.compare.witness import Difference
from policy.core.effect import Effect
from policy.core.finding import Finding, Severity
from policy.core.source import Place, Source
from policy.core.values import evolve, field, frozen
from policy.files.opening import Overlay
from policy.files.trees import Tree
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace
from policy.tables.chain import READINGS, SpawnDenied
from policy.tables.table import Bounds, Table

if TYPE_CHECKING:
    from policy.analysis.reach.query import Excess


def spawn_changes(old: Workspace, new: Workspace) -> dict[str, tuple[tuple[str, str, str], ...]]:
    """Return the spawns (edges) that each project gained and lost, by the title of the project.

    An edge is who starts, "" for the start of a chain, whom, and ``added`` or ``removed``; an edge
    of one reading is one. A project without such edges is left out.
    """
    found = {}
    for pair in paired(old, new):
        before, after = map(_edges, pair)
        if before != after:
            title = next(project.title for project in pair[::-1] if project is not None)
            edges = sorted(before ^ after)
            found[title] = tuple((*edge, "added" if edge in after else "removed") for edge in edges)
    return found


def _edges(project: Project | None) -> set[tuple[str, str]]:
    if project is None:
        return set()
    edges = {("", start) for start in project.starts}
    for name in READINGS:
        found = reach(project, project.reading(name)).edges
        edges |= {(parent, child) for parent, children in found.items() for child in children}
    return edges


def new_findings(old: Iterable[Finding], new: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return errors and warnings of *new* that *old* has not, by severity and place.

    They are compared by file, code and text: a finding whose line moved, or that shows another
    call, is not new.
    """
    known = Counter((each.place.file, each.code, _text(each)) for each in old)
    found = []
    for finding in new:
        mark = finding.place.file, finding.code, _text(finding)
        if known[mark] > 0:
            known[mark] -= 1
        elif finding.severity is not Severity.NOTE:
            found.append(finding)
    order = list(Severity)
    return tuple(sorted(found, key=lambda each: (order.index(each.severity), each.place)))


def _text(finding: Finding) -> str:
    return finding.span.text if finding.span and finding.span.text else finding.message


# A rule as it is written, what it says, and where it stands.
Rule = tuple[str, Effect, Place]


def changed_rules(old: Linted, new: Linted) -> tuple[list[Rule], list[Rule]]:
    """Return the removed and the added rules; a rule that moved within its file is neither."""
    sides: list[dict[object, list[Rule]]] = [{}, {}]
    for side, linted in zip(sides, (old, new), strict=True):
        for (place, rule), effect in linted.rules.items():
            side.setdefault((place.file, rule, effect), []).append((rule, effect, place))
    gone, come = (
        sorted(
            (rule for key, rules in side.items() for rule in rules[len(other.get(key, ())) :]),
            key=lambda rule: (rule[2], rule[0]),
        )
        for side, other in (sides, sides[::-1])
    )
    return gone, come


# The most edits of which parts are taken back where all together change something.
_MOST: Final = 60

# How often the files must be loadable again (`most_loads`) for edits to be tried for no effect.
_LEAST_LOADS: Final = 45


def without_effect(
    some: Collection[TextEdit],
    edits: Edits,
    after: Workspace,
    load: Callable[[Tree], Workspace],
    known: Known,
) -> tuple[frozenset[TextEdit], frozenset[TextEdit]]:
    """Return those of *some* edits without which *after* decides every call as it does.

    And those that are not tried, since they or the rules are too many. All are taken back together;
    where that changes something, the edits of the rules that decide there are tried alone, and the
    rest together, or else both halves. Each agent by itself must decide as before too, so that no
    other edit can make such a rule matter. In other permission modes of the host it is enough that
    no change is found. *load* reads a tree as *after* was read, and *known* is as in a diff.
    """
    idle: set[TextEdit] = set()
    waiting, untried = [list(some)] if some else [], set[TextEdit]()
    loads_left = most_loads(after)
    while waiting and loads_left >= _LEAST_LOADS:
        part = waiting.pop()
        loads_left -= 1
        before = load(edits.without(frozenset(part)))
        sides = ((before, after), *_in_modes(before, after).values())
        compared = (_differing(*each, known, proven=each[1] is after) for each in sides)
        found = next((each for each in compared if each is not None), None)
        if found is None:
            idle |= {*part}
        elif len(some) > _MOST:
            untried |= {*part}
        elif len(part) > 1:
            named = {edits.at(1, rule.place) for each in found for rule in each.after.because}
            alone = [[edit] for edit in part if edit in named]
            rest = [edit for edit in part if edit not in named]
            half = len(part) // 2
            waiting += [*alone, rest] if alone and rest else [part[:half], part[half:]]
    return frozenset(idle), frozenset(untried.union(*waiting))


def _in_modes(old: Workspace, new: Workspace) -> dict[str, tuple[Workspace, Workspace]]:
    """Return both sides in each other permission mode that *new* may start in."""
    return {mode: (old.modes.get(mode, old), new.modes[mode]) for mode in new.modes if mode}


def _differing(
    old: Workspace, new: Workspace, known: Known, *, proven: bool
) -> Sequence[Difference] | None:
    """Return what an agent by itself, or in chains, decides differently; None for nothing.

    Nothing is returned in other ways for other agents, and for what cannot be *proven*.
    """
    for before, after in paired(old, new):
        if not before or not after or _outline(before) != _outline(after):
            return ()
        for name, entry in before.agents.items():
            one, other = entry.declared, after.agents[name].declared
            for pair in ((one, other), (Table(one.delegated), Table(other.delegated))):
                found = differences(*pair, known)
                if found.differences or (proven and not found.exact):
                    return found.differences
    diff = diff_workspaces(old, new, known=known)
    is_other = diff.changes or (proven and not diff.exact)
    return [change.difference for change in diff.changes] if is_other else None


def _outline(project: Project) -> object:
    return project.starts, {name: each.declared.bounds for name, each in project.agents.items()}


@frozen
class LimitChange:
    """A changed limit of an agent on turns or trust, which decides no call."""

    project: str  # where, as `Project.title`
    agent: str
    limit: str  # ``turns`` or ``trust``
    old: int | str | None  # None is no limit
    new: int | str | None
    place: Place | None  # of the agent

    @property
    def widened(self) -> bool:
        """Whether the agent may do more than before."""
        sides: list[dict[str, Any]] = [{self.limit: self.old}, {self.limit: self.new}]
        was, now = (Bounds(**side) for side in sides)
        return was & now == was


def limit_changes(old: Workspace, new: Workspace) -> tuple[LimitChange, ...]:
    """Return the changed limits of agents on both sides, but for depth, which decides calls."""
    found = []
    for before, after in paired(old, new):
        if before is None or after is None:
            continue
        for name in after.agents.keys() & before.agents.keys():
            entry, known = after.agents[name], before.agents[name]
            for limit in ("turns", "trust"):
                was, now = (getattr(each.declared.bounds, limit) for each in (known, entry))
                if was != now:
                    found.append(LimitChange(after.title, name, limit, was, now, entry.place))
    return tuple(sorted(found, key=lambda one: (not one.widened, one.project, one.agent)))


# What a file that differs does, the gravest first: it is not read or understood, and what it grants
# is not known; it may explain what nothing else does; nothing; it makes changes.
FILE_EFFECTS: Final = ("unread", "error", "unknown", "none", "decisions")


# Class of tools -> tools, the most ordinary first.
Classes = Mapping[str, tuple[str, ...]]

# Project and chain -> the table of an agent, and the classes of tools there.
Granted = Mapping[tuple[str, Names], tuple[Table, Classes]]


@frozen
class DiffReport:
    """A diff with everything else that a reviewer asks."""

    old: str  # the name of the old side
    new: str  # the name of the new side
    diff: Diff  # the changes
    edits: Edits  # the edits of texts
    effects: tuple[EditEffect, ...] = ()  # what these change, those that grant more first
    # The rules that went, and those that came.
    rules: tuple[Sequence[Rule], Sequence[Rule]] = ((), ())
    # Of the other edits of rules those without which every call is decided the same, and those of
    # which that was not tried.
    idle: frozenset[TextEdit] = frozenset()
    untried: frozenset[TextEdit] = frozenset()
    # Files of the new side -> those that were there on the old side, if these have other names.
    old_names: Mapping[str, str] = field(factory=dict)
    classes: Mapping[str, Classes] = field(factory=dict)  # project -> class of tools -> tools
    grants: Granted = field(factory=dict)  # the tables of added and removed agents
    # Project -> the edges of its spawn graph that came and went.
    spawns: Mapping[str, Sequence[tuple[str, str, str]]] = field(factory=dict)
    limits: tuple[LimitChange, ...] = ()
    excess: tuple[Excess, ...] = ()  # what the new side grants beyond a maximum
    more_excess: tuple[str, ...] = ()  # why it may be more; nothing where it is not
    findings: tuple[Finding, ...] = ()  # of the new side alone (`new_findings`)
    errors_before: int = 0  # that both sides have
    # Other permission modes in which calls change that do not where sessions start, and whether
    # more is granted.
    modes: Mapping[str, bool] = field(factory=dict)

    def rules_of(self, edit: TextEdit, side: int) -> list[Rule]:
        """Return the rules that *edit* removes (0) or adds (1)."""
        return self._rules_of.get((edit, side), [])

    @cached_property
    def _rules_of(self) -> dict[tuple[TextEdit | None, int], list[Rule]]:
        found: dict[tuple[TextEdit | None, int], list[Rule]] = {}
        for side in (0, 1):
            for rule in self.rules[side]:
                found.setdefault((self.edits.at(side, rule[2]), side), []).append(rule)
        return found

    @cached_property
    def others(self) -> list[TextEdit]:
        """The edits of rules that make no change."""
        making = {edit for effect in self.effects for edit in effect.edits}
        rest = (edit for edit in self.edits.all if edit not in making)
        return [edit for edit in rest if any(self.rules_of(edit, side) for side in (0, 1))]

    def effect(self, file: FileChange) -> str:
        """Return the effect of a file that differs, one of `FILE_EFFECTS`."""
        if file.status != "read":
            return "unread" if file.status == "not read" else "error"
        making = [edit for effect in self.effects for edit in effect.edits]
        if any(file.path in e.files for e in (*making, *self.others) if e not in self.idle):
            return "decisions"
        if any(one.place and one.place.file == file.path for one in self.limits):
            return "decisions"
        is_known = self.diff.exact and all(effect.edits for effect in self.effects)
        return "none" if is_known else "unknown"

    def files(self, effect: str) -> list[FileChange]:
        """Return the files with *effect*."""
        return [file for file in self.diff.files if self.effect(file) == effect]

    @property
    def excess_by_call(self) -> list[list[Excess]]:
        """What exceeds a maximum: calls that differ only in their chain together."""
        groups: dict[object, list[Excess]] = {}
        for one in self.excess:
            found = one.difference
            rules = tuple((because.rule, because.place) for because in found.after.because)
            key = one.project, found.tool, str(found.call), found.before.effect, rules
            groups.setdefault(key, []).append(one)
        return list(groups.values())


def review(
    trees: tuple[Tree, Tree],
    workspaces: tuple[Workspace, Workspace],
    load: Callable[[Tree], Workspace],
    *,
    readings: Sequence[str] = READINGS,
    maximum: Source | None = None,
) -> DiffReport:
    """Return how the second of two sides differs from the first; *load* reads a tree as they were.

    *maximum* is a policy of one agent that the second side should not exceed. Raises PolicyError
    where it is not of one agent, or a rule of it matches no call.
    """
    old, new = workspaces
    known: Known = {}
    files = changed_files(*zip(trees, workspaces, strict=True))
    diff = diff_workspaces(old, new, readings=readings, files=files, known=known)
    edits = Edits(*trees, diff.files)
    excess: tuple[tuple[Excess, ...], tuple[str, ...]] = ((), ())
    if maximum is not None:
        # Only a maximum needs the parser of our notation.
        from policy.analysis.reach.query import exceeds, read_maximum  # noqa: PLC0415

        excess = exceeds(new, read_maximum(maximum), readings=readings)
    # Rules that decide nothing are left out: to find them takes longer than a diff.
    was, now = (lint(*side, most=0) for side in zip(trees, workspaces, strict=True))
    came = new_findings(was.findings, now.findings)
    errors = [sum(e.severity is Severity.ERROR for e in some) for some in (now.findings, came)]
    report = DiffReport(
        trees[0].label,
        trees[1].label,
        diff,
        edits,
        tuple(effects_of_edits(diff, workspaces, edits, load)),
        changed_rules(was, now),
        old_names=trees[0].names if isinstance(trees[0], Overlay) else {},
        classes={each.title: each.tool_classes for each in (*old.projects, *new.projects)},
        grants=_grants(diff, old, new),
        spawns=spawn_changes(old, new),
        limits=limit_changes(old, new),
        excess=excess[0],
        more_excess=excess[1],
        findings=came,
        errors_before=errors[0] - errors[1],
    )
    idle, untried = without_effect(report.others, edits, new, load, known)
    modes = _other_modes(diff, workspaces, readings, known) if {*report.others} - idle else {}
    return evolve(report, idle=idle, untried=untried, modes=modes)


def _other_modes(
    diff: Diff, sides: tuple[Workspace, Workspace], readings: Sequence[str], known: Known
) -> dict[str, bool]:
    """Return other modes with a kind of change that *diff* lacks -> whether more is granted."""
    modes: dict[str, bool] = {}
    if diff.widened:  # there is no other kind
        return modes
    for mode, both in _in_modes(*sides).items():
        there = diff_workspaces(*both, readings=readings, known=known)
        if there.widened or (there.changes and not diff.changes):
            modes[mode] = there.widened > 0
    return modes


def _grants(diff: Diff, old: Workspace, new: Workspace) -> Granted:
    """Return the tables of added and removed agents."""
    grants = {}
    for change in diff.changes:
        side = new if change.what == "agent-added" else old
        project = next((p for p in side.projects if p.title == change.project), None)
        if change.what != "rule" and project is not None:
            with suppress(SpawnDenied):
                chain = Chains(project.reading(change.readings[0])).chain(change.chain)
                grants[change.project, change.chain] = chain.table, project.tool_classes
    return grants
