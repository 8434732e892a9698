"""What every agent may do through every chain, declared and enforced.

For each agent the positions that matter (`policy.reach.worklist`) are told with a chain
as witness. Where the host enforces something else than what is declared along
the chain, the difference is told as well: an *escalation* grants more, a
*dead letter* is granted by the files and refused by the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from policy.chain import Chain
from policy.collecting import seldom_collecting
from policy.comparison.compare import Known
from policy.finding import Finding
from policy.project import Project
from policy.reach.gaps import Gap, Gaps, are_alike
from policy.reach.most import AtMost, at_most
from policy.reach.privileges import Privilege, Privileges, lines
from policy.reach.within import apart
from policy.reach.worklist import Reach, reach
from policy.source import Place
from policy.table import Bounds
from policy.workspace import Unread, Workspace

__all__ = ["AgentAudit", "Audit", "Position", "ProjectAudit", "audit"]


@attrs.frozen
class Position:
    """An agent at the end of a chain, in one reading.

    Attributes:
        chain: from the root.
        confirm: agents of the chain whose start somebody must confirm.
        privileges: what it may do, by tool.

    """

    chain: tuple[str, ...]
    confirm: tuple[str, ...]
    privileges: tuple[Privilege, ...]


@attrs.frozen
class AgentAudit:
    """One agent.

    Attributes:
        name: as chains name it.
        place: where it is defined; None when it is built in.
        attenuated: its positions as declared; none where no chain reaches it.
        enforced: its positions as the host has it.
        escalations: what the host grants beyond what the chain declares.
        dead_letters: what the chain declares and the host refuses.
        spawns: the agents it can start, as declared and as enforced.
        most: what it may do at most by tool, over its positions as declared and as
            the host has them; a grant beyond the last of these is of a chain
            that is not among them.
        why: why the two readings may differ in more; nothing where they do not.
        bounds: the limits that its own definition states.

    """

    name: str
    place: Place | None
    attenuated: tuple[Position, ...]
    enforced: tuple[Position, ...]
    escalations: tuple[Gap, ...]
    dead_letters: tuple[Gap, ...]
    spawns: tuple[tuple[str, ...], tuple[str, ...]]
    most: tuple[tuple[AtMost, ...], tuple[AtMost, ...]] = ((), ())
    why: tuple[str, ...] = ()
    bounds: Bounds = Bounds()

    @property
    def exact(self) -> bool:
        """Whether the two readings were compared exactly."""
        return not self.why


@attrs.frozen
class ProjectAudit:
    """One project: its agents, and what was read for it."""

    project: Project
    agents: tuple[AgentAudit, ...]
    exact: bool


@attrs.frozen
class Audit:
    """A whole workspace.

    Attributes:
        label: of its tree.
        projects: what was found in each.
        findings: what is told one by one.
        unread: files that may say something and that nobody reads.
        further: findings that are counted, since `policy lint` tells them.
        suppressed: how many findings a comment takes away.

    """

    label: str
    projects: tuple[ProjectAudit, ...]
    findings: tuple[Finding, ...]
    unread: tuple[Unread, ...]
    further: tuple[Finding, ...] = ()
    suppressed: int = 0


@seldom_collecting
def audit(
    workspace: Workspace,
    *,
    progress: Callable[[str], None] = lambda _: None,
    known: Known | None = None,
) -> Audit:
    """Return the audit of *workspace*.

    Args:
        workspace: what is audited.
        progress: told of each project as its turn comes.
        known: what other audits found, where some are made one by one
            (`Table.differences`).

    """
    known = {} if known is None else known
    projects = []
    for project in workspace.projects:
        progress(project.title)
        projects.append(_Auditor(project, known).run())
    return Audit(workspace.label, tuple(projects), workspace.findings, workspace.unread)


class _Auditor:
    def __init__(self, project: Project, known: Known) -> None:
        self.project = project
        self._gaps = Gaps(project, known)
        self._privileges = Privileges()
        self._told: dict[object, tuple[AtMost, ...]] = {}

    def run(self) -> ProjectAudit:
        """Return the audit of the project."""
        project = self.project
        declared = reach(project, project.attenuated, alone=project.asides)
        real = declared
        if not are_alike(project):
            real = reach(project, project.enforced, alone=project.asides)
        # What somebody wrote comes before what the host has anyway.
        by_name = sorted(project.agents, key=lambda n: (project.agents[n].place is None, n))
        names = dict.fromkeys([*project.starts, *project.asides, *by_name])
        agents = tuple(self._agent(name, declared, real) for name in names)
        return ProjectAudit(project, agents, declared.exact and real.exact)

    def _agent(self, name: str, declared: Reach, real: Reach) -> AgentAudit:
        entry = self.project.agents.get(name)
        gaps, why = self._gaps.of(name)
        ours, theirs = (apart(found.widest.get(name, ())) for found in (declared, real))
        return AgentAudit(
            name=name,
            place=entry.place if entry else None,
            attenuated=tuple(map(self._position, ours)),
            enforced=tuple(map(self._position, theirs)),
            escalations=tuple(gap for gap in gaps if gap.widened),
            dead_letters=tuple(gap for gap in gaps if _is_dead_letter(gap)),
            spawns=(declared.edges.get(name, ()), real.edges.get(name, ())),
            most=(self._most(name, declared, ours), self._most(name, real, theirs)),
            why=why,
            bounds=entry.declared.bounds if entry else Bounds(),
        )

    def _most(self, name: str, found: Reach, chains: Sequence[Chain]) -> tuple[AtMost, ...]:
        tables = [chain.table for chain in chains]
        if name in found.most:
            tables.append(found.most[name])
        key = tuple(map(lines, tables))
        if key not in self._told:
            self._told[key] = at_most(tables)
        return self._told[key]

    def _position(self, chain: Chain) -> Position:
        confirm = tuple(link.name for link in chain.links if link.confirm)
        return Position(chain.names, confirm, self._privileges.of(chain.table))


def _is_dead_letter(gap: Gap) -> bool:
    """Return whether the host refuses what a file says, rather than what nobody says."""
    written = any(because.place is not None for because in gap.before.because)
    return written and not gap.widened
