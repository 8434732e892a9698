"""What every agent may do through every chain, declared and enforced.

For each agent the positions that matter (`policy.reach`) are told with a chain
as witness. Where the host enforces something else than what is declared along
the chain, the difference is told as well: an *escalation* grants more, a
*dead letter* is granted by the files and refused by the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from policy.chain import Chain, SpawnDenied
from policy.compare import Comparison, Difference, Known
from policy.decision import Because, Reason
from policy.effect import Effect
from policy.finding import Finding
from policy.lookup import Lookup
from policy.patterns.pattern import Pattern
from policy.project import Project
from policy.reach import Reach, reach
from policy.row import Row
from policy.source import Place
from policy.table import Bounds, Table
from policy.telling import internal_tools, told
from policy.tools import OTHER_TOOL, glob_pattern, representatives
from policy.workspace import Unread, Workspace

__all__ = [
    "AgentAudit",
    "Audit",
    "Layer",
    "Position",
    "Privilege",
    "ProjectAudit",
    "audit",
    "privileges",
]


@attrs.frozen
class Layer:
    """What some links of a chain say of one tool.

    Attributes:
        links: whose it is.
        rules: the rules that decide, in their order, each once.
        otherwise: the effect where none of those speaks; None where one always does.

    """

    links: tuple[str, ...]
    rules: tuple[Because, ...]
    otherwise: Effect | None


@attrs.frozen
class Privilege:
    """What one table says of one tool.

    Attributes:
        tool: its name.
        effect: of every call, or None where it depends on the arguments.
        rules: the rules that then decide, strictest first, each once.
        otherwise: the effect where none of those speaks; None where one always does.
        reason: why, where every call gets one effect.
        glob: the pattern over names of which *tool* is an instance, or "".
        layers: what each says, the strictest of which holds, where there are several.

    """

    tool: str
    effect: Effect | None
    rules: tuple[Because, ...] = ()
    otherwise: Effect | None = None
    reason: Reason | None = None
    glob: str = ""
    layers: tuple[Layer, ...] = ()


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
        why: why the two readings may differ in more; nothing where they do not.
        bounds: the limits that its own definition states.

    """

    name: str
    place: Place | None
    attenuated: tuple[Position, ...]
    enforced: tuple[Position, ...]
    escalations: tuple[Difference, ...]
    dead_letters: tuple[Difference, ...]
    spawns: tuple[tuple[str, ...], tuple[str, ...]]
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
        self._known = known
        self._compared: dict[object, Comparison] = {}
        self._privileges: dict[object, tuple[Privilege, ...]] = {}

    def run(self) -> ProjectAudit:
        """Return the audit of the project."""
        project = self.project
        declared = reach(project, project.attenuated)
        real = reach(project, project.enforced)
        names = dict.fromkeys([*project.starts, *sorted(project.agents)])
        agents = tuple(self._agent(name, declared, real) for name in names)
        return ProjectAudit(project, agents, declared.exact and real.exact)

    def _agent(self, name: str, declared: Reach, real: Reach) -> AgentAudit:
        entry = self.project.agents.get(name)
        compared = list(self._readings(real.chains.get(name, ())))
        differences = [d for comparison in compared for d in comparison.differences]
        unique = {(d.tool, str(d.call), d.before.effect, d.after.effect): d for d in differences}
        return AgentAudit(
            name=name,
            place=entry.place if entry else None,
            attenuated=tuple(map(self._position, declared.chains.get(name, ()))),
            enforced=tuple(map(self._position, real.chains.get(name, ()))),
            escalations=tuple(d for d in unique.values() if d.widened),
            dead_letters=tuple(d for d in unique.values() if _is_dead_letter(d)),
            spawns=(declared.edges.get(name, ()), real.edges.get(name, ())),
            why=tuple(dict.fromkeys(reason for each in compared for reason in each.why)),
            bounds=entry.declared.bounds if entry else Bounds(),
        )

    def _readings(self, chains: tuple[Chain, ...]) -> Iterator[Comparison]:
        """Yield how each chain of the host differs from what it declares."""
        for real in chains:
            try:
                declared = Chain.start(real.names[0], self.project.attenuated)
                for name in real.names[1:]:
                    declared = declared.spawn(name)
            except SpawnDenied:
                continue  # the spawn itself is the escalation, told of the agent that spawns
            key = (declared.table.use.sets, real.table.use.sets)
            if key not in self._compared:
                found = declared.table.differences(real.table, self._known)
                differences = told(found.differences, declared.table, real.table)
                self._compared[key] = attrs.evolve(found, differences=differences)
            yield self._compared[key]

    def _position(self, chain: Chain) -> Position:
        key = chain.table.use.sets
        if key not in self._privileges:
            self._privileges[key] = privileges(chain.table)
        confirm = tuple(link.name for link in chain.links if link.confirm)
        return Position(chain.names, confirm, self._privileges[key])


def _is_dead_letter(difference: Difference) -> bool:
    """Return whether the host refuses what a file says, rather than what nobody says."""
    written = any(because.place is not None for because in difference.before.because)
    return written and not difference.widened


def privileges(table: Table) -> tuple[Privilege, ...]:
    """Return what *table* says of each tool that it can tell apart."""
    sets = [part.rules for part in table.use.parts]
    tools, _ = representatives(sets)
    named = {OTHER_TOOL}.union(*({*rules.dialect.arguments, *rules.names} for rules in sets))
    aliases = set[str]().union(*(rules.dialect.aliases for rules in sets))
    internal = internal_tools(rules.dialect for rules in sets)
    globs = {glob: glob_pattern(glob) for rules in sets for glob in rules.globs}
    return tuple(
        _privilege(tool, table.lookup(tool), "" if tool in named else _glob(tool, globs))
        for tool in tools
        if tool not in internal
        # An alias is told under its real name, unless it has none that all links share.
        and (tool not in aliases or any(rules.dialect.canonical(tool) == tool for rules in sets))
    )


def _glob(tool: str, globs: dict[str, Pattern]) -> str:
    """Return the pattern that a made-up name is an instance of."""
    matching = [glob for glob, pattern in globs.items() if pattern.matches(tool)]
    return max(matching, key=lambda glob: len(glob.replace("*", "")), default="")


def _privilege(tool: str, lookup: Lookup, glob: str) -> Privilege:
    constant = lookup.constant
    if constant is not None:
        return Privilege(tool, constant.effect, constant.because, reason=constant.reason, glob=glob)
    layers = [
        Layer(links, _rules(row, links), None if row.default.entries else row.default.effect)
        for row, links in lookup.rows
    ]
    if lookup.floor is not Effect.ALLOW:
        layers.append(Layer((), (), lookup.floor))
    layers = [layer for layer in layers if layer.rules or layer.otherwise is not Effect.ALLOW]
    rules = dict.fromkeys(because for layer in layers for because in layer.rules)
    otherwise = [layer.otherwise for layer in layers if layer.otherwise is not None]
    return Privilege(
        tool,
        None,
        tuple(sorted(rules, key=lambda because: because.effect)),
        min(otherwise, default=None if rules else Effect.ALLOW),
        glob=glob,
        layers=tuple(layers) if len(layers) > 1 else (),
    )


def _rules(row: Row, links: tuple[str, ...]) -> tuple[Because, ...]:
    link = links[0] if links else ""
    entries = (*row.entries, *row.default.entries)
    return tuple(
        dict.fromkeys(Because(entry.rule, entry.effect, link, entry.place) for entry in entries)
    )
