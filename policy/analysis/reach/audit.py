"""What every agent may do through every chain, declared and enforced.

For each agent the positions that matter are reported with a chain as witness. Where the host
enforces something else than what is declared along the chain, that gap is reported as well: an
*escalation* grants more, a *dead rule* is granted by the files and refused by the host.

Gaps are searched along both readings at once (`policy.analysis.reach.worklist`), since the
chain that shows one may be one that neither reading alone has to look at: where the host hands
nothing of a narrow ancestor down, it grants behind ``main > narrow > worker`` what it grants
behind ``main > worker``, while less is declared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from policy.analysis.reach.privileges import AtMost, Privilege, at_most, lines, privileges
from policy.analysis.reach.worklist import (
    MANY_CHAINS,
    PositionPair,
    Reach,
    ReadingSide,
    Worklist,
    reach,
)
from policy.compare.compare import Comparison, Known
from policy.compare.tables import (
    compare_meets,
    decided,
    differences,
    is_idle,
    representatives,
    told,
)
from policy.compare.witness import Difference
from policy.core.effect import Effect
from policy.core.finding import Finding
from policy.core.memory import seldom_collecting
from policy.core.source import Place
from policy.core.values import frozen
from policy.hosts.project import Project
from policy.hosts.workspace import Unread, Workspace
from policy.tables.chain import Attenuated, Chain, Chains, Reading
from policy.tables.lookup import Lookup
from policy.tables.row import Row
from policy.tables.ruleset import RuleSet
from policy.tables.table import Bounds, Ceiling, LinkedRules, Table

__all__ = [
    "AgentAudit",
    "Audit",
    "AuditPosition",
    "Gaps",
    "ProjectAudit",
    "ReadingGap",
    "audit",
]


# Chains of one agent of which each is held against those before it.
_MOST = 16


def _distinct(chains: Sequence[Chain]) -> tuple[Chain, ...]:
    """Return *chains* without those that grant no more than an earlier one does."""
    if not 1 < len(chains) <= _MOST:
        return tuple(chains)
    kept: list[Chain] = []
    for chain in chains:
        if not any(_covers(earlier, chain) for earlier in kept):
            kept.append(chain)
    return tuple(kept)


def _covers(wide: Chain, narrow: Chain) -> bool:
    confirmed, needed = (
        {link.name for link in chain.links if link.confirm} for chain in (wide, narrow)
    )
    return confirmed <= needed and _is_within(narrow.table, wide.table)


def _is_within(narrow: Table, wide: Table) -> bool:
    sets = [part.rules for table in (narrow, wide) for part in table.use.parts]
    tools, exact = representatives(sets)
    return exact and all(_says_less(narrow.lookup(tool), wide.lookup(tool)) for tool in tools)


def _says_less(narrow: Lookup, wide: Lookup) -> bool:
    if narrow.constant is not None and narrow.constant.effect is Effect.DENY:
        return True
    if narrow.floor > wide.floor:
        return False
    said = {_said(row) for row, _ in narrow.rows}
    # What either says is a meet: whatever binds the wide one has to bind the narrow one.
    return {_said(row) for row, _ in wide.rows} <= said


def _said(row: Row) -> object:
    lines, others = (
        tuple((e.pattern, e.field, e.effect, e.reason) for e in entries)
        for entries in (row.entries, row.others or ())
    )
    return lines, others, row.default.effect, row.default.reason, id(row.ruleset.dialect)


_Sets = frozenset[RuleSet]


@frozen
class _Bound:
    """What bounds an agent behind a chain.

    Attributes:
        declared: the rule sets of what is declared.
        real: those of what the host does.

    """

    declared: _Sets
    real: _Sets


class _Showing:
    """Chooses the chains that together show every gap of an agent.

    There may be thousands of chains, each bound by the rule sets of other ancestors, and most
    show nothing that another one does not show as well:

    - the host grants more than a meet just where it grants more than one of its rule sets, so
      that each rule set needs one chain, among those where the host grants no less;
    - it grants less than a meet only where it grants less than what all those meets have in
      common. Where that shows no such call, no chain does; else the call is tried on the chains.

    Args:
        known: what comparisons found so far (`compare.tables.differences`).

    """

    def __init__(self, known: Known) -> None:
        self._known = known
        self._within: dict[tuple[RuleSet, RuleSet], bool] = {}
        self._narrowed: dict[tuple[_Sets, _Sets], tuple[Difference, ...] | None] = {}

    def of(self, chains: Sequence[_Bound]) -> list[int]:
        """Return the numbers of chains that together show every gap of any of *chains*."""
        alike: dict[_Sets, list[int]] = {}
        for number, chain in enumerate(chains):
            alike.setdefault(chain.real, []).append(number)
        chosen: set[int] = set()
        shown: dict[_Sets, set[RuleSet]] = {}
        for real, numbers in alike.items():
            # What the host denies by a rule set itself it never grants beyond that.
            seen = set(real)
            for other, sets in shown.items():
                if not sets.issubset(seen) and self._is_within(real, other):
                    seen |= sets
            for number in numbers:
                if not chains[number].declared <= seen:
                    seen |= chains[number].declared
                    chosen.add(number)
            shown[real] = seen
            if not chosen.issuperset(numbers):
                chosen |= self._refused(chains, numbers, chosen)
        return sorted(chosen)

    def _is_within(self, real: _Sets, other: _Sets) -> bool:
        """Return whether each of *other* is above one of *real*: then so are the meets."""
        return all(any(self._is_below(one, two) for one in real) for two in other)

    def _is_below(self, one: RuleSet, two: RuleSet) -> bool:
        """Return whether *one* grants no more, where both are lists of tools or equal.

        To compare other rule sets would take longer than to compare the chains.
        """
        if (one, two) not in self._within:
            listed = _names_alone(one) and _names_alone(two)
            self._within[one, two] = one == two or (listed and _table({one}) <= _table({two}))
        return self._within[one, two]

    def _refused(
        self, chains: Sequence[_Bound], numbers: Sequence[int], chosen: set[int]
    ) -> set[int]:
        """Return chains that show what the host refuses behind any of some, where it is one."""
        real = chains[numbers[0]].real
        common = frozenset[RuleSet].intersection(*(chains[n].declared for n in numbers))
        calls = self._less(common, real)
        if calls is None:
            return set(numbers)
        found: set[int] = set()
        ordered = sorted(numbers, key=lambda number: (number not in chosen, number))
        for each in calls:
            effects: dict[RuleSet, Effect] = {}
            showing = (n for n in ordered if _grants_more(chains[n].declared, each, effects))
            number = next(showing, None)
            if number is None:
                # Other calls that the same rules decide may differ behind one of them.
                return set(numbers)
            found.add(number)
        return found

    def _less(self, declared: _Sets, real: _Sets) -> tuple[Difference, ...] | None:
        """Return how *real* grants less than *declared*; None where that is not decided."""
        if real <= declared:
            return ()
        if (declared, real) not in self._narrowed:
            found = differences(_table(declared), _table(real), self._known)
            less = (each for each in found.differences if not each.widened and not is_idle(each))
            self._narrowed[declared, real] = tuple(less) if found.exact else None
        return self._narrowed[declared, real]


def _names_alone(rules: RuleSet) -> bool:
    return all(entry.pattern is None for entry in rules.entries)


def _grants_more(sets: _Sets, than: Difference, effects: dict[RuleSet, Effect]) -> bool:
    """Return whether the meet of *sets* grants more of a call than what came after."""
    for rules in sets:
        if rules not in effects:
            effects[rules] = rules.row(than.tool).outcome(than.call).effect
        if effects[rules] <= than.after.effect:
            return False
    return True


def _table(sets: set[RuleSet] | _Sets) -> Table:
    return Table(Ceiling.of(map(LinkedRules, sets)))


@frozen
class ReadingGap(Difference):
    """A call of which what is declared and what the host does differ along a chain.

    Attributes:
        chain: whose last agent makes the call; a shortest that was found.

    """

    chain: tuple[str, ...] = ()


def _are_alike(project: Project) -> bool:
    """Return whether what *project* declares is what its host does, chain by chain."""
    one, other = project.attenuated, project.enforced
    return _is_met(one) and _is_met(other) and _tables(one) == _tables(other)


def _is_met(reading: Reading) -> bool:
    return type(reading) is Attenuated


def _tables(reading: Reading) -> object:
    return (reading.tables, reading.roots) if isinstance(reading, Attenuated) else reading


class Gaps:
    """The gaps of one project.

    Args:
        project: whose.
        known: what comparisons of its tables found (`compare.tables.differences`).

    """

    def __init__(self, project: Project, known: Known) -> None:
        self.project = project
        self._known = known
        self._compared: dict[object, Comparison] = {}
        self._chains = Chains(project.attenuated), Chains(project.enforced)
        self._showing = _Showing(known)
        self._pairs: Worklist | None = None
        if not _are_alike(project):
            readings = (project.attenuated, project.enforced)
            sides = (ReadingSide(each, project.starts, project.asides) for each in readings)
            self._pairs = Worklist(*sides, one_sided=False).run()

    def of(self, agent: str) -> tuple[tuple[ReadingGap, ...], tuple[str, ...]]:
        """Return the gaps of *agent*, and why there may be more."""
        if self._pairs is None:
            return (), ()
        unique: dict[object, ReadingGap] = {}
        why: dict[str, None] = dict.fromkeys(() if self._pairs.is_whole else (MANY_CHAINS,))
        pairs = self._pairs.of(agent)
        bounds = [self._bound(pair, self._pairs) for pair in pairs]
        for pair in (pairs[number] for number in self._showing.of(bounds)):
            names = self._pairs.names(pair)
            declared, real = (chains.of(names) for chains in self._chains)
            found = self._compare(declared.table, real.table)
            why.update(dict.fromkeys(found.why))
            for each in found.differences:
                key = (each.tool, str(each.call), each.before.effect, each.after.effect)
                gap = ReadingGap(each.tool, each.call, each.before, each.after, names)
                unique.setdefault(key, gap)
        return tuple(unique.values()), tuple(why)

    @staticmethod
    def _bound(pair: PositionPair, pairs: Worklist) -> _Bound:
        declared, real = (
            frozenset(pairs.rule_sets.sets[number] for number in position.use)
            for position in (pair.before, pair.after)
            if position is not None
        )
        return _Bound(declared, real)

    def _compare(self, declared: Table, real: Table) -> Comparison:
        key = (declared.use.sets, real.use.sets)
        found = self._compared.get(key)
        if found is None:
            found = compare_meets(declared.use.linked, real.use.linked, self._known)
            self._compared[key] = found
        # Equal rules may stand elsewhere, and belong to others: each table decides for itself.
        anew = [decided(declared, real, each) for each in found.differences]
        return Comparison(told(anew, declared, real), found.why)


@frozen
class AuditPosition:
    """An agent at the end of a chain, in one reading.

    Attributes:
        chain: from the root.
        confirm: agents of the chain whose start must be confirmed.
        privileges: what it may do, by tool.

    """

    chain: tuple[str, ...]
    confirm: tuple[str, ...]
    privileges: tuple[Privilege, ...]


@frozen
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
    attenuated: tuple[AuditPosition, ...]
    enforced: tuple[AuditPosition, ...]
    escalations: tuple[ReadingGap, ...]
    dead_letters: tuple[ReadingGap, ...]
    spawns: tuple[tuple[str, ...], tuple[str, ...]]
    most: tuple[tuple[AtMost, ...], tuple[AtMost, ...]] = ((), ())
    why: tuple[str, ...] = ()
    bounds: Bounds = Bounds()

    @property
    def exact(self) -> bool:
        """Whether the two readings were compared exactly."""
        return not self.why


@frozen
class ProjectAudit:
    """One project: its agents, and what was read for it."""

    project: Project
    agents: tuple[AgentAudit, ...]
    exact: bool

    def is_own(self, agent: AgentAudit) -> bool:
        """Return whether a file defines *agent*, or chains start with it."""
        return bool(agent.place) or agent.name in self.project.starts


@frozen
class Audit:
    """A whole workspace.

    Attributes:
        label: of its tree.
        projects: what was found in each.
        findings: those that are reported one by one.
        unread: files that may say something and that no front end reads.
        suppressed: how many findings a comment takes away.
        rules: how many rules the files hold.

    """

    label: str
    projects: tuple[ProjectAudit, ...]
    findings: tuple[Finding, ...]
    unread: tuple[Unread, ...]
    suppressed: int = 0
    rules: int = 0


@seldom_collecting
def audit(workspace: Workspace, *, progress: Callable[[str], None] = lambda _: None) -> Audit:
    """Return the audit of *workspace*; *progress* is called with each title of a project."""
    known: Known = {}
    projects = []
    for project in workspace.projects:
        progress(project.title)
        projects.append(_Auditor(project, known).run())
    return Audit(workspace.label, tuple(projects), workspace.findings, workspace.unread)


class _Auditor:
    def __init__(self, project: Project, known: Known) -> None:
        self.project = project
        self._gaps = Gaps(project, known)
        self._known_most: dict[object, tuple[AtMost, ...]] = {}

    def run(self) -> ProjectAudit:
        """Return the audit of the project."""
        project = self.project
        declared = reach(project, project.attenuated, alone=project.asides)
        real = declared
        if not _are_alike(project):
            real = reach(project, project.enforced, alone=project.asides)
        # What is written in files comes before what the host has anyway.
        by_name = sorted(project.agents, key=lambda n: (project.agents[n].place is None, n))
        names = dict.fromkeys([*project.starts, *project.asides, *by_name])
        agents = tuple(self._agent(name, declared, real) for name in names)
        return ProjectAudit(project, agents, declared.exact and real.exact)

    def _agent(self, name: str, declared: Reach, real: Reach) -> AgentAudit:
        entry = self.project.agents.get(name)
        gaps, why = self._gaps.of(name)
        ours, theirs = (_distinct(found.widest.get(name, ())) for found in (declared, real))
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
        if key not in self._known_most:
            self._known_most[key] = at_most(tables)
        return self._known_most[key]

    def _position(self, chain: Chain) -> AuditPosition:
        confirm = tuple(link.name for link in chain.links if link.confirm)
        return AuditPosition(chain.names, confirm, privileges(chain.table))


def _is_dead_letter(gap: ReadingGap) -> bool:
    """Return whether the host refuses what a rule in a file grants."""
    written = any(because.place is not None for because in gap.before.because)
    return written and not gap.widened
