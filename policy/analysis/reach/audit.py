"""Audits what every agent may do through every chain, as declared and as enforced.

The audit reports the positions of each agent with a chain as witness, and each gap between what the
chain declares and what the host enforces. In an *escalation* the host grants more; for a *dead
rule* the files grant a call and the host denies it. The search walks both readings at once: a chain
that shows a gap may be redundant in each reading alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import partial
from itertools import chain as chained
from typing import Final

from policy.analysis.reach.chains import ComparedChains
from policy.analysis.reach.privileges import AtMost, KnownGrants, ToolAccess, at_most, tool_access
from policy.analysis.reach.worklist import (
    MANY_CHAINS,
    Reach,
    meet_equal_tables,
    reach,
    reading_side,
)
from policy.compare.compare import Known
from policy.compare.witness import Difference
from policy.core.effect import Effect
from policy.core.errors import A_WORKSPACE, expect
from policy.core.finding import Finding
from policy.core.memory import OnDemand, seldom_collecting
from policy.core.progress import steps
from policy.core.source import Place
from policy.core.values import evolve, field, frozen
from policy.hosts.project import Project
from policy.hosts.workspace import Unread, Workspace
from policy.tables.chain import READINGS, Chain
from policy.tables.table import Bounds, Table


@frozen
class ReadingGap(Difference):
    """A call that the host decides otherwise than a chain declares; `chain` is a shortest one."""

    chain: tuple[str, ...] = ()

    @property
    def below(self) -> tuple[str, ...]:
        """The agents whose declared rules decide, but for the first and the last of the chain."""
        return tuple(link for link in self.before.links if link in self.chain[1:-1])


class Gaps:
    """The gaps of one project; *known* holds the comparisons of tables made so far."""

    def __init__(self, project: Project, known: Known) -> None:
        declared, real = (reading_side(project, reading) for reading in READINGS)
        self._compared = ComparedChains(declared, real, known, one_sided=False)

    def find(self, agent: str) -> tuple[tuple[ReadingGap, ...], tuple[str, ...]]:
        """Return the gaps of *agent*, and why there may be more."""
        pairs = self._compared.pairs
        if pairs is None:
            return (), ()
        unique: dict[object, ReadingGap] = {}
        why: dict[str, None] = dict.fromkeys(() if pairs.is_whole else (MANY_CHAINS,))
        for names in map(pairs.names, pairs.shared(agent)):
            found = self._compared.compare(names)
            why.update(dict.fromkeys(found.why))
            for one in found.differences:
                key = one.tool, str(one.call), one.effects
                if key not in unique:
                    each = self._compared.at(names, one)
                    unique[key] = ReadingGap(each.tool, each.call, each.before, each.after, names)
        return tuple(unique.values()), tuple(why)


@frozen
class AgentAudit:
    """The positions and gaps of one agent."""

    name: str  # as chains name it
    place: Place | None  # of its definition; None if it is built in
    # The chains that lead to its positions as declared; empty if none reaches it.
    attenuated: tuple[Chain, ...]
    enforced: tuple[Chain, ...]  # those as enforced
    escalations: tuple[ReadingGap, ...]  # calls that the host grants beyond the declared rules
    dead_letters: tuple[ReadingGap, ...]  # calls that the files grant and the host denies
    # The agents it can start, as declared and as enforced.
    spawns: tuple[tuple[str, ...], tuple[str, ...]]
    # Reading -> the most that it may do by tool.
    most: Mapping[str, tuple[AtMost, ...]] = field(eq=False, repr=False)
    why: tuple[str, ...] = ()  # why there may be more gaps; empty if there are none
    bounds: Bounds = Bounds()  # the limits that its own definition states

    @property
    def exact(self) -> bool:
        """Whether the two readings were compared exactly."""
        return not self.why


@frozen
class ProjectAudit:
    """The agents of one project."""

    project: Project
    agents: tuple[AgentAudit, ...]
    exact: bool

    def is_own(self, agent: AgentAudit) -> bool:
        """Return whether a file defines *agent*, or chains start with it."""
        return bool(agent.place) or agent.name in self.project.starts


@frozen
class Audit:
    """The audit of a workspace.

    *unread* are files that no front end reads, *suppressed* is the number of findings that comments
    suppress, *rules* that of the rules in all files.
    """

    label: str
    projects: tuple[ProjectAudit, ...]
    findings: tuple[Finding, ...]
    unread: tuple[Unread, ...]
    suppressed: int = 0
    rules: int = 0


@seldom_collecting()
def audit(workspace: Workspace) -> Audit:
    """Return the audit of *workspace*."""
    expect(A_WORKSPACE, "workspace", workspace, Workspace)
    known: Known = {}
    most = KnownGrants()
    projects = tuple(_audit(project, known, most) for project in workspace.projects)
    return Audit(workspace.label, projects, workspace.findings, workspace.unread)


def _audit(project: Project, known: Known, most: KnownGrants) -> ProjectAudit:
    gaps = Gaps(project, known)
    declared = real = reach(project, project.attenuated, alone=project.variants)
    if not meet_equal_tables(project.attenuated, project.enforced):
        real = reach(project, project.enforced, alone=project.variants)
    readings = dict(zip(READINGS, (declared, real), strict=True))
    # Agents of files come before built-in ones.
    by_name = sorted(project.agents, key=lambda n: (project.agents[n].place is None, n))
    names = dict.fromkeys([*project.starts, *project.variants, *by_name])
    agents = []
    for name in steps(names, f"auditing {project.title}"):
        entry, (found, why) = project.agents.get(name), gaps.find(name)
        attenuated, enforced = (each.widest.get(name, ()) for each in readings.values())
        agents.append(
            AgentAudit(
                name,
                entry.place if entry else None,
                attenuated,
                enforced,
                escalations=tuple(gap for gap in found if gap.widened),
                dead_letters=tuple(
                    gap
                    for gap in found
                    if not gap.widened
                    and any(because.place is not None for because in gap.before.because)
                ),
                spawns=(declared.edges.get(name, ()), real.edges.get(name, ())),
                most=OnDemand(READINGS, partial(_most, name, readings, most)),
                why=why,
                bounds=entry.declared.bounds if entry else Bounds(),
            )
        )
    return ProjectAudit(project, tuple(agents), declared.exact and real.exact)


def access_by_mode(project: Project) -> dict[str, dict[tuple[str, ...], list[ToolAccess]]]:
    """Return permission mode -> agents with equal access -> that access, as enforced."""
    found: dict[str, dict[tuple[str, ...], list[ToolAccess]]] = {}
    known: KnownGrants = {}
    run = project.tool_classes["run"][0]
    for each in (project, *project.modes.values()):
        if not each.mode:
            continue
        real = reach(each, each.enforced, alone=each.variants)
        agents_by_access: dict[tuple[ToolAccess, ...], list[str]] = {}
        for name, (first, *_) in real.widest.items():
            read_only = ("read-only",) if runs_read_only(project, first.table) else ()
            access = tuple(
                evolve(one, allowed=(*read_only, *one.allowed)) if one.name == run else one
                for one in tool_access(_most(name, {"enforced": real}, known, "enforced"))
            )
            agents_by_access.setdefault(access, []).append(name)
        found[each.mode] = {tuple(names): [*access] for access, names in agents_by_access.items()}
    return found


# Read-only commands, and one that no host knows.
_READ_ONLY: Final = ("ls", "pwd", "wc x", "whoami")
_UNKNOWN: Final = "no-such-program x"


def runs_read_only(project: Project, table: Table) -> bool:
    """Return whether read-only commands need no rule."""
    lookup = table.lookup(project.tool_classes["run"][0])
    unruled, *found = [lookup.decide({"command": each}) for each in (_UNKNOWN, *_READ_ONLY)]
    # A rule may allow some of them by name, which does not count.
    free = any(each.effect is Effect.ALLOW and not each.because for each in found)
    return free and unruled.effect is not Effect.ALLOW


def _most(
    agent: str, readings: Mapping[str, Reach], known: KnownGrants, reading: str
) -> tuple[AtMost, ...]:
    """Return the most that *agent* may do, over chains that were followed and others."""
    found = readings[reading]
    tables = [chain.table for chain in found.widest.get(agent, ())]
    tables += [found.most[agent]] if agent in found.most else []
    return at_most(tables, known)


@frozen
class GapGroup:
    """Gaps of some agents with equal effects and equal rules, which may stand in several places."""

    agents: tuple[str, ...]
    gaps: tuple[ReadingGap, ...]  # one for each call
    below: tuple[str, ...]  # whose rules decide (`ReadingGap.below`), where all are below others


def gap_groups(agents: Iterable[AgentAudit], which: str) -> list[GapGroup]:
    """Return the gaps of *agents* in groups; *which* is ``escalations`` or ``dead_letters``."""
    calls: dict[Hashable, list[tuple[str, ReadingGap]]] = {}
    for agent in agents:
        for gap in getattr(agent, which):
            key = (gap.tool, str(gap.call), gap.effects, _why(gap))
            calls.setdefault(key, []).append((agent.name, gap))
    groups: dict[tuple[object, ...], list[list[tuple[str, ReadingGap]]]] = {}
    for members in calls.values():
        who, gap = tuple(dict.fromkeys(name for name, _ in members)), members[0][1]
        groups.setdefault((who, gap.effects, _why(gap)), []).append(members)
    found = []
    for alike in groups.values():
        who, links = zip(*((name, gap.below) for name, gap in alike[0]), strict=True)
        below = dict.fromkeys(chained.from_iterable(links if all(links) else ()))
        gaps = tuple(members[0][1] for members in alike)
        found.append(GapGroup(tuple(dict.fromkeys(who)), gaps, tuple(below)))
    return found


def _why(gap: ReadingGap) -> Hashable:
    """Return the declared rules that decide, or the reason and the links; but not the last link."""
    declared = gap.before
    others = tuple(link for link in declared.links if link != gap.chain[-1])
    return tuple(one.rule for one in declared.because) or (declared.reason, others)
