"""Which edits make a change: few edits without which it is gone.

To try edits is to load the new files again with these edits taken back, and to decide the calls.
Where there are many edits, a few rounds try them all (`_by_rounds`). For each change that these do
not explain, sets of edits are tried, the likeliest first: those of the rules that decide, those in
the files of the agents, both, all. The first set that undoes the change is made smaller. Where more
loads are needed than are made, changes have the edits of the rules that decide, which are not
tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import combinations, count
from math import comb
from typing import Final

from policy.analysis.diff import Change, Diff, Names, without
from policy.analysis.edits import Edits, TextEdit
from policy.analysis.reach.worklist import Chains
from policy.compare.tables import decided
from policy.compare.witness import Difference
from policy.core.effect import Effect
from policy.core.source import Place
from policy.core.values import evolve, frozen
from policy.files.opening import is_unreadable
from policy.files.trees import Tree
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.table import Table

# The most edits that are tried one by one; more are tried in rounds.
_FEW: Final = 16

# The most trees that are loaded, and the most rules that these have together.
_MOST_LOADED: Final = 300
_MOST_RULES: Final = 200_000

_Set = frozenset[TextEdit]
_NONE: _Set = frozenset()


@frozen(eq=False)
class EditEffect:
    """Edits that are needed together, and the changes that they make."""

    # Without them the changes are gone; none where no edit of a text explains them.
    edits: tuple[TextEdit, ...]
    changes: tuple[Change, ...]  # what they make, each with the chains of which they make it
    # Whether that was tried; if not, they are those of the rules that decide.
    is_tried: bool = True

    @property
    def widened(self) -> bool:
        """Whether they grant more somewhere."""
        return any(change.widened for change in self.changes)


def most_loads(workspace: Workspace) -> int:
    """Return how often the files of *workspace* may be loaded again, by the number of rules."""
    starts = (Chain.start(name, p.enforced) for p in workspace.projects for name in p.starts)
    parts = (part for chain in starts for part in chain.table.use.parts)
    rules = {entry.place for part in parts for entry in part.rules.entries}
    return min(_MOST_LOADED, _MOST_RULES // (len(rules) or 1))


def effects_of_edits(
    diff: Diff, sides: tuple[Workspace, Workspace], edits: Edits, load: Callable[[Tree], Workspace]
) -> list[EditEffect]:
    """Return the changes of *diff* by the edits that make them; *load* reads trees as before."""
    search = _Search(sides, edits, load)
    cases = [search.case(change, names) for change in diff.changes for names in change.chains]
    found: dict[tuple[_Set, bool], dict[int, list[_Case]]] = {}
    for alike, making, is_tried in search.making(cases):
        for case in alike:
            of_change = found.setdefault((making, is_tried), {})
            of_change.setdefault(id(case.change), []).append(case)
    order = {edit: number for number, edit in enumerate(edits.all)}
    rest = [edit for edit in edits.all if edit not in _NONE.union(*(key[0] for key in found))]
    effects = []
    for (making, is_tried), by_change in found.items():
        changes = [search.change_in(some) for some in by_change.values()]
        first = next(iter(by_change.values()))[0]
        of_list = search.of_same_list(making, first, rest)
        together = sorted({*making, *of_list}, key=order.__getitem__)
        effects.append(EditEffect(tuple(together), tuple(changes), is_tried))
    return sorted(
        effects, key=lambda one: (not one.widened, [order[e] for e in one.edits] or [len(order)])
    )


@frozen(eq=False)
class _Case:
    """A change in one chain."""

    change: Change
    names: Names
    reading: str  # the first in which the chain has the change; "" if none is found
    before: Effect  # what the call got
    after: Effect  # what it gets
    # The edits of the rules that decide, or else those of its tool in the lists of the agents.
    deciding: _Set = _NONE

    @property
    def is_start(self) -> bool:
        """Whether the chain itself came or went."""
        return self.change.what != "rule"


class _State:
    """The files with some edits taken back, and what their chains decide."""

    def __init__(self, workspace: Workspace, known: Sequence[Project]) -> None:
        self._workspace = workspace
        self._known = known  # the projects that may be missing here
        self.project = cache(self._project)
        self._chains: dict[tuple[str, str], Chains] = {}

    def _project(self, title: str) -> Project | None:
        """Return the project called *title*, or the host's defaults there if it has no files."""
        named = (project for project in self._workspace.projects if project.title == title)
        bare = (without(p, self._workspace) for p in self._known if p.title == title)
        return next(named, None) or next(bare, None)

    def chain(self, case: _Case) -> Chain | None:
        """Return the chain of a case; None where there is no such chain."""
        project = self.project(case.change.project)
        if project is None:
            return None
        made = Chains(project.reading(case.reading))
        chains = self._chains.setdefault((project.title, case.reading), made)
        with suppress(SpawnDenied):
            return chains.chain(case.names)
        return None

    def effect(self, case: _Case) -> Effect | None:
        """Return the effect for the call of a case; None where there is no such chain."""
        chain, difference = self.chain(case), case.change.difference
        if not case.is_start:
            call = difference.tool, difference.call
            return chain.table.decide(*call).effect if chain else None
        project = self.project(case.change.project)
        if chain is None or project is None or case.names[0] not in project.all_starts:
            return Effect.DENY
        if len(case.names) == 1:
            return Effect.ALLOW
        above = Chain(chain.links[:-1], chain.reading)
        return above.most_starting(case.names[-1])[2].effect


class _Search:
    """Searches for the edits that make a change."""

    def __init__(
        self, sides: tuple[Workspace, Workspace], edits: Edits, load: Callable[[Tree], Workspace]
    ) -> None:
        self._edits = edits
        self._order = {edit: number for number, edit in enumerate(edits.all)}
        self._load = load
        self._projects = [project for side in sides for project in side.projects]
        self._sides = [_State(side, self._projects) for side in sides]
        self._unreadable = {each for side in sides for each in _unreadable(side)}
        self._loads_left = most_loads(sides[1])
        self._state = cache(self._loaded)
        self._of_agents = cache(self._edits_of_agents)

    def case(self, change: Change, names: Names) -> _Case:
        """Return a change in the chain *names*."""
        effects = change.difference.effects
        for reading in change.readings:
            case = _Case(change, names, reading, *effects)
            if tuple(side.effect(case) for side in self._sides) == effects:
                return evolve(case, deciding=self._deciding(case))
        return _Case(change, names, "", *effects)

    def change_in(self, cases: Sequence[_Case]) -> Change:
        """Return the change of *cases* in their chains alone, as the first of these decides it."""
        first, *others = cases
        found = evolve(first.change, chain=first.names, also=tuple(case.names for case in others))
        tables = self._tables(first) if first.names != first.change.chain else None
        return evolve(found, difference=decided(*tables, found.difference)) if tables else found

    def making(self, cases: Iterable[_Case]) -> Iterator[tuple[list[_Case], _Set, bool]]:
        """Yield cases with few edits without which all are as before, and whether that was tried.

        There are no edits where none are found.
        """
        alike: dict[object, list[_Case]] = {}
        for case in cases:
            alike.setdefault(self._key(case), []).append(case)
        known = self._by_rounds([some[0] for some in alike.values() if some[0].reading])
        recent: list[_Set] = []  # what made other changes
        for case, *others in alike.values():
            found = known.get(case, _NONE)
            of_agents = self._of_agents(case.change.project, case.names)
            if not found and case.reading:
                both, every = case.deciding | of_agents, frozenset(self._order)
                likely = (case.deciding, *recent, of_agents, both, every)
                undoing = filter(partial(self._is_undone, case), likely)
                found = self._needed(case, next(undoing, _NONE))
                recent = [found, *recent[: _FEW - 1]] if found not in recent else recent
            is_tried = bool(found) or self._loads_left > 0
            yield [case, *others], found if is_tried else case.deciding, is_tried

    def _key(self, case: _Case) -> object:
        """Return what is equal for cases that the same edits make."""
        project, difference = case.change.project, case.change.difference
        call = difference.tool, str(difference.call), case.before, case.after, case.reading
        of_agents = self._of_agents(project, case.names)
        own = case.names if of_agents or case.is_start or not case.deciding else ()
        return project, call, case.deciding, own

    def _by_rounds(self, cases: Sequence[_Case]) -> dict[_Case, _Set]:
        """Return few edits without which a case is as before, where rounds of loads tell it.

        Each edit is taken back in its own half of the rounds, so that a few rounds tell many edits
        apart. A case needs the edit in whose rounds alone it is undone, and edits of the rules that
        decide in whose rounds it changes, if it changes in no others; or else two of these
        together, if these undo it. A few of such sets are tried alone too.
        """
        if not cases or len(self._order) <= _FEW:
            return {}
        rounds = next(each for each in count() if comb(each, each // 2) >= len(self._order))
        if rounds > self._loads_left:
            self._loads_left = 0
            return {}
        halves = map(frozenset, combinations(range(rounds), rounds // 2))
        rounds_of = dict(zip(self._order, halves, strict=False))
        effects: dict[_Case, list[Effect | None]] = {case: [] for case in cases}
        for number in range(rounds):
            # Not kept: it takes as much memory as the trees that are compared.
            state = self._loaded(frozenset(e for e in self._order if number in rounds_of[e]))
            for case, found in effects.items():
                found.append(state.effect(case) if state else case.after)
        known = {}
        for case, found in effects.items():
            undone = frozenset(n for n, effect in enumerate(found) if effect is case.before)
            changed = frozenset(n for n, effect in enumerate(found) if effect is not case.after)
            needed = frozenset(e for e in case.deciding if rounds_of[e] <= changed)
            undoing = {edit for edit, half in rounds_of.items() if half == undone}
            pair = needed if len(needed) > 1 else case.deciding
            if undoing and changed == {n for e in needed | undoing for n in rounds_of[e]}:
                known[case] = needed | undoing | self._forbidding(case)
            # If a round with one of two undid it, that one may be enough.
            elif len(pair) == 2 and not any(rounds_of[edit] <= undone for edit in pair):
                known |= {case: pair} if self._is_undone(case, pair) else {}
        is_many = len({*known.values()}) > _FEW
        return {case: s for case, s in known.items() if is_many or self._is_undone(case, s)}

    def _needed(self, case: _Case, edits: _Set) -> _Set:
        """Return those of *edits* that a case needs, if they undo it together.

        It needs those without which it is decided in another way, and rules that deny or ask by its
        decisions. Where these are not enough, halves, quarters and so on are left out while the
        rest suffices.
        """
        left = sorted(edits, key=self._order.__getitem__)
        if 1 < len(left) <= _FEW:
            alone = ((edit, self._state(frozenset({edit}))) for edit in left)
            changing = {e for e, state in alone if state and state.effect(case) is not case.after}
            needed = self._forbidding(case).intersection(left).union(changing)
            if needed and self._is_undone(case, needed):
                return needed
        size = len(left)
        while size > 1:
            size = (size + 1) // 2
            for start in range(0, len(left), size)[::-1]:
                rest = [*left[:start], *left[start + size :]]
                if self._is_undone(case, frozenset(rest)):
                    left = rest
        return frozenset(left)

    def of_same_list(self, making: _Set, case: _Case, rest: Iterable[TextEdit]) -> list[TextEdit]:
        """Return those of *rest* that change other tools of a list as the one of *making* does."""
        first, *others = making or [None]
        if first is None or others or not first.tool or not (tables := self._tables(case)):
            return []
        difference = case.change.difference
        return [
            edit
            for edit in rest
            if edit.tool
            and (edit.files, edit.key, edit.added is None)
            == (first.files, first.key, first.added is None)
            and decided(*tables, evolve(difference, tool=edit.tool)).effects == difference.effects
        ]

    def _tables(self, case: _Case) -> tuple[Table, Table] | None:
        """Return the tables of the last agent on both sides, for a change of rules."""
        if case.is_start or not case.reading:
            return None
        old, new = (side.chain(case) for side in self._sides)
        return (old.table, new.table) if old and new else None

    def _deciding(self, case: _Case) -> _Set:
        """Return the edits of the rules that count for a case.

        If none of these was edited, those of its tool in the lists of the agents.
        """
        difference, places = case.change.difference, [*_named(case.change.difference)]
        for side, table in enumerate(self._tables(case) or ()):
            for part in table.use.parts:
                outcome = part.rules.row(difference.tool).outcome(difference.call)
                places += [(side, entry.place) for entry in outcome.entries]
        of_agents = self._of_agents(case.change.project, case.names)
        found = self._covering(places)
        return found or frozenset(edit for edit in of_agents if edit.tool == difference.tool)

    def _forbidding(self, case: _Case) -> _Set:
        """Return the edits of the rules that deny or ask by a decision of a case."""
        return self._covering(_named(case.change.difference, but=Effect.ALLOW))

    def _covering(self, places: Iterable[tuple[int, Place | None]]) -> _Set:
        return frozenset(edit for each in places if (edit := self._edits.at(*each)))

    def _edits_of_agents(self, title: str, names: Names) -> _Set:
        """Return the edits in the files that define the agents of a chain."""
        projects = filter(None, (side.project(title) for side in self._sides))
        agents = [project.agents.get(name) for project in projects for name in names]
        files = {agent.place.file for agent in agents if agent and agent.place}
        return frozenset(each for each in self._edits.all if not files.isdisjoint(each.files))

    def _is_undone(self, case: _Case, edits: _Set) -> bool:
        """Return whether a case is as before the change without *edits*."""
        state = self._state(edits) if edits else None
        return state is not None and state.effect(case) is case.before

    def _loaded(self, edits: _Set) -> _State | None:
        """Return the state without *edits*; None if that makes files unreadable, or is too much."""
        if self._loads_left <= 0:
            return None
        self._loads_left -= 1
        workspace = self._load(self._edits.without(edits))
        is_readable = self._unreadable.issuperset(_unreadable(workspace))
        return _State(workspace, self._projects) if is_readable else None


def _named(difference: Difference, but: Effect | None = None) -> Iterator[tuple[int, Place | None]]:
    """Yield the side and place of the rules that both decisions name, *but* those of an effect."""
    for side, decision in enumerate((difference.before, difference.after)):
        yield from ((side, each.place) for each in decision.because if each.effect is not but)


def _unreadable(workspace: Workspace) -> set[tuple[str, str]]:
    return {(f.code, f.place.file) for f in workspace.findings if is_unreadable(f)}
