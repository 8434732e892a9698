"""What a change grants or takes away: decisions that differ, each with a witness.

Two workspaces are compared chain by chain. The chains are those that matter in
one or the other (`policy.reach.worklist`); a chain that cannot come about grants
nothing. Chains whose tables changed alike are told once. What is exact is what each
agent may do through some chain: one through which it may do no more than through
another, on both sides, is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from operator import is_

import attrs

from policy.chain import SPAWN_TOOL, Chain, SpawnDenied
from policy.changes.changed_files import FileChange
from policy.comparison.compare import Comparison, Difference, Known
from policy.decision import Because, Decision, Reason
from policy.effect import Effect
from policy.project import Project
from policy.reach.worklist import MANY_POSITIONS, reach
from policy.table import Table
from policy.telling import told
from policy.workspace import Workspace

__all__ = ["READINGS", "Change", "Diff", "diff_workspaces", "paired"]

READINGS = ("attenuated", "enforced")


@attrs.frozen
class Change:
    """Calls that are decided differently.

    Attributes:
        project: where, as `Project.title`.
        chain: the shortest chain it concerns.
        also: further chains it concerns in the same way, in some of *readings*.
        readings: ``attenuated``, ``enforced`` or both.
        what: ``rule``, or ``agent-added`` and ``agent-removed`` for a chain
            that can, or can no longer, come about.
        difference: tool, witness and the two decisions.
        why: why further calls of this chain may be decided differently; nothing where
            none are.

    """

    project: str
    chain: tuple[str, ...]
    also: tuple[tuple[str, ...], ...]
    readings: tuple[str, ...]
    what: str
    difference: Difference
    why: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether everything about this chain was compared exactly."""
        return not self.why

    @property
    def widened(self) -> bool:
        """Whether more is granted than before."""
        return self.difference.widened

    @property
    def direction(self) -> str:
        """``widened`` or ``narrowed``."""
        return "widened" if self.widened else "narrowed"


@attrs.frozen
class Diff:
    """What differs between two workspaces.

    Attributes:
        changes: widened before narrowed.
        files: every file that differs and may say something about agents.
        why: why something else may differ in the files that were read; nothing where
            nothing does.

    """

    changes: tuple[Change, ...]
    files: tuple[FileChange, ...]
    why: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether no agent may do anything else differently, through any chain."""
        return not self.why

    @property
    def widened(self) -> int:
        """How many changes grant more."""
        return sum(change.widened for change in self.changes)

    @property
    def narrowed(self) -> int:
        """How many changes grant less."""
        return len(self.changes) - self.widened


def diff_workspaces(
    old: Workspace,
    new: Workspace,
    *,
    readings: Iterable[str] = READINGS,
    files: tuple[FileChange, ...] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> Diff:
    """Return what *new* decides differently from *old*.

    Args:
        old: before.
        new: after.
        readings: which readings to compare.
        files: the files that differ (`changed_files`).
        progress: told of each project as its turn comes.

    """
    changes: list[Change] = []
    known: Known = {}
    why: dict[str, None] = {}
    for pair in paired(old, new):
        title = (pair[1] or pair[0]).title  # type: ignore[union-attr]  # one of them is there
        progress(title)
        groups: dict[object, dict[tuple[str, ...], list[_Shown]]] = {}
        for reading in readings:
            comparison = _Projects(*pair, reading, known)
            for shown in comparison.shown():
                chains = groups.setdefault(shown.key, {})
                chains.setdefault(shown.chain, []).append(shown)
            why.update(comparison.why)
        for chains in groups.values():
            changes += _changes(title, chains)
    return Diff(tuple(sorted(changes, key=_order)), files, tuple(why))


def paired(old: Workspace, new: Workspace) -> Iterator[tuple[Project | None, Project | None]]:
    """Yield every project of either side, with what is in its place on the other.

    That is the project there, or what the host does there without files, or
    None where it does nothing.
    """
    sides = [{(p.host, p.root): p for p in workspace.projects} for workspace in (old, new)]
    for key in sorted({**sides[0], **sides[1]}):
        before, after = (side.get(key) for side in sides)
        yield before or _bare(after), after or _bare(before)


def _bare(other: Project | None) -> Project | None:
    return None if other is None or other.bare is None else other.bare()


def _changes(title: str, chains: dict[tuple[str, ...], list[_Shown]]) -> Iterator[Change]:
    """Yield what *chains* share, once where they share it in the same readings or some of these."""
    members: dict[tuple[str, ...], list[_Shown]] = {}
    for _, shown in sorted(chains.items(), key=lambda item: (len(item[0]), item[0])):
        own = tuple(dict.fromkeys(each.reading for each in shown))
        readings = next((known for known in members if {*own} <= {*known}), own)
        members.setdefault(readings, []).append(shown[0])
    for readings, (first, *others) in members.items():
        yield Change(
            project=title,
            chain=first.chain,
            also=tuple(other.chain for other in others),
            readings=readings,
            what=first.what,
            difference=first.confirmed(),
            why=first.why,
        )


@attrs.frozen
class _Shown:
    """A difference that a chain shows in one reading.

    Of chains whose tables differ alike, one was compared and *difference* is of it;
    *tables* are those of the others.
    """

    chain: tuple[str, ...]
    reading: str
    what: str
    difference: Difference
    why: tuple[str, ...] = ()
    tables: tuple[Table, Table] | None = None

    @property
    def key(self) -> object:
        """What it has in common with those that are told together with it."""
        if self.what != "rule":
            return self.what, self.chain[-1]
        before, after = self.difference.before, self.difference.after
        return (
            self.difference.tool,
            str(self.difference.call),
            before.effect,
            after.effect,
            _unlinked(before.because),
            _unlinked(after.because),
        )

    def confirmed(self) -> Difference:
        """Return the difference as this chain decides it: rules and links are its own."""
        if self.tables is None:
            return self.difference
        tool, call = self.difference.tool, self.difference.call
        return Difference(tool, call, *(table.decide(tool, call) for table in self.tables))


def _unlinked(because: Iterable[Because]) -> tuple[object, ...]:
    """Return rules whichever link of a chain they are those of."""
    return tuple((one.rule, one.effect, one.place) for one in because)


def _order(change: Change) -> tuple[object, ...]:
    difference = change.difference
    return (
        not change.widened,
        change.project,
        difference.before.effect if change.widened else difference.after.effect,
        change.what,
        len(change.chain),
        change.chain,
        difference.tool,
        str(difference.call),
    )


class _Projects:
    """One project before and after, in one reading."""

    def __init__(
        self, before: Project | None, after: Project | None, reading: str, known: Known
    ) -> None:
        self.sides = (before, after)
        self.reading = reading
        self.why: dict[str, None] = {}
        self._lines = known
        self._known: dict[object, tuple[Comparison, tuple[Table, Table]]] = {}

    def shown(self) -> Iterator[_Shown]:
        """Yield what each chain shows, the shortest chain first."""
        for chain in self._chains():
            yield from self._differences(chain)

    def _chains(self) -> list[tuple[str, ...]]:
        """Return the chains that matter on either side, the shortest first."""
        chains: dict[tuple[str, ...], None] = {}
        for project in self.sides:
            if project is None:
                continue
            reading = project.reading(self.reading)
            found = reach(project, reading, alone=project.asides)
            if not found.exact:
                self.why[MANY_POSITIONS] = None
            for positions in found.chains.values():
                chains.update((chain.names, None) for chain in positions)
        return sorted(chains, key=lambda names: (len(names), names))

    def _differences(self, names: tuple[str, ...]) -> Iterator[_Shown]:
        before, after = (self._chain(project, names) for project in self.sides)
        if before is None and after is None:
            return
        if before is None or after is None:
            what = "agent-added" if before is None else "agent-removed"
            yield _Shown(names, self.reading, what, _spawn(names[-1], before, after))
            return
        tables = (before.table, after.table)
        comparison, compared = self._compare(tables)
        others = None if all(map(is_, tables, compared)) else tables
        self.why.update(dict.fromkeys(comparison.why))
        for difference in told(comparison.differences, *tables):
            if not self._is_of_new_agent(difference):
                yield _Shown(names, self.reading, "rule", difference, comparison.why, others)

    def _is_of_new_agent(self, difference: Difference) -> bool:
        """Return whether it only says that an agent which came or went can be started.

        Such an agent is a change of its own, told with what it may do.
        """
        name = difference.call.get("subagent_type")
        return isinstance(name, str) and _letters(name) in self._changing

    @cached_property
    def _changing(self) -> frozenset[str]:
        """The agents that are on one side only."""
        agents = [set(p.reading(self.reading).agents) if p else set() for p in self.sides]
        return frozenset(_letters(name) for name in agents[0] ^ agents[1])

    def _chain(self, project: Project | None, names: tuple[str, ...]) -> Chain | None:
        if project is None:
            return None
        try:
            chain = Chain.start(names[0], project.reading(self.reading))
            for name in names[1:]:
                chain = chain.spawn(name)
        except SpawnDenied:
            return None
        return chain

    def _compare(self, tables: tuple[Table, Table]) -> tuple[Comparison, tuple[Table, Table]]:
        """Return how two tables differ, or two that say the same, and which these are."""
        before, after = tables
        key = (before.use.sets, after.use.sets)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = before.differences(after, self._lines), tables
        return found


def _spawn(agent: str, before: Chain | None, after: Chain | None) -> Difference:
    """Return the difference that a chain can, or can no longer, come about."""
    call: dict[str, object] = {"subagent_type": agent}
    decisions = [
        Decision(Effect.DENY, Reason.UNAVAILABLE)
        if chain is None
        else Decision(Effect.ALLOW, Reason.DEFAULT, table=chain.table.hash)
        for chain in (before, after)
    ]
    return Difference(SPAWN_TOOL, call, *decisions)


def _letters(name: str) -> str:
    # Hosts that look an agent up by its letters and digits find it by these.
    return "".join(filter(str.isalnum, name.casefold()))
