"""Which edits make a change: few edits without which it is gone.

For each chain of a change, sets of edits are tried, the likeliest first: the edits of the rules
that decide, what made other changes, the edits in the files of the agents, both, all. To try a set
is to load the new files again with these edits taken back, and to decide the call. The first set
that undoes the change is made smaller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import chain as chained
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

# The most sets of edits that are tried one by one; more are tried several at once.
_FEW: Final = 8

# The most edits of a set of which each is tried alone.
_MOST_ALONE: Final = 60

# The most trees that a search loads. After that, edits are reported together, needed or not.
_MOST_LOADED: Final = 120

_Set = frozenset[TextEdit]
_NONE: _Set = frozenset()


@frozen(eq=False)
class EditEffect:
    """Edits that are needed together, and the changes that they make."""

    # Without them the changes are gone; none where no edit of a text explains them.
    edits: tuple[TextEdit, ...]
    changes: tuple[Change, ...]  # what they make, each with the chains of which they make it

    @property
    def widened(self) -> bool:
        """Whether they grant more somewhere."""
        return any(change.widened for change in self.changes)


def effects_of_edits(
    diff: Diff, sides: tuple[Workspace, Workspace], edits: Edits, load: Callable[[Tree], Workspace]
) -> list[EditEffect]:
    """Return the changes of *diff* by the edits that make them; *load* reads trees as before."""
    search = _Search(sides, edits, load)
    cases = [search.case(change, names) for change in diff.changes for names in change.chains]
    search.try_together(cases)
    found: dict[_Set, dict[int, list[_Case]]] = {}
    for case in cases:
        of_change = found.setdefault(search.making(case), {})
        of_change.setdefault(id(case.change), []).append(case)
    order = {edit: number for number, edit in enumerate(edits.all)}
    rest = [edit for edit in edits.all if edit not in _NONE.union(*found)]
    effects = []
    for making, by_change in found.items():
        changes = [search.change_in(some) for some in by_change.values()]
        first = next(iter(by_change.values()))[0]
        together = {*making, *search.of_same_list(making, first, rest)}
        effects.append(EditEffect(tuple(sorted(together, key=order.__getitem__)), tuple(changes)))
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
        self._load = load
        self._projects = [project for side in sides for project in side.projects]
        self._sides = [_State(side, self._projects) for side in sides]
        self._unreadable = {each for side in sides for each in _unreadable(side)}
        self._loads = 0
        self._state = cache(self._loaded)
        # The edits that cover a place of the old (0) or new (1) text.
        self._covering = cache(
            lambda side, place: frozenset(one for one in edits.all if one.covers(side, place))
        )
        self._of_agents = cache(self._edits_of_agents)
        self._verified: dict[_Case, _Set] = {}
        # What made some change, the last that was met behind the others.
        self._recent: dict[_Set, None] = {}

    def case(self, change: Change, names: Names) -> _Case:
        """Return a change in the chain *names*."""
        effects = change.difference.effects
        for reading in change.readings:
            case = _Case(change, names, reading, *effects)
            if tuple(side.effect(case) for side in self._sides) == effects:
                return case
        return _Case(change, names, "", *effects)

    def change_in(self, cases: Sequence[_Case]) -> Change:
        """Return the change of *cases* in their chains alone, as the first of these decides it."""
        first, *others = cases
        found = evolve(first.change, chain=first.names, also=tuple(case.names for case in others))
        tables = self._tables(first) if first.names != first.change.chain else None
        return evolve(found, difference=decided(*tables, found.difference)) if tables else found

    def making(self, case: _Case) -> _Set:
        """Return few edits without which a case is as before the change; none if none are found."""
        found = self._verified.get(case, _NONE)
        if not found and case.reading:
            of_rules = self._deciding(case)
            of_agents = self._of_agents(case.change.project, case.names)
            recent, every = [*self._recent][: -_FEW - 1 : -1], frozenset(self._edits.all)
            likely = (of_rules, *recent, of_agents, of_rules | of_agents)
            candidates = chained(likely, self._with_similar(case, of_rules), [every])
            undone = partial(self._is_undone, case)
            found = self._needed(case, next((s for s in candidates if s and undone(s)), _NONE))
        if found:
            self._recent.pop(found, None)
            self._recent[found] = None
        return found

    def _with_similar(self, case: _Case, edits: _Set) -> Iterator[_Set]:
        """Yield *edits* and those of the rules that decide a case in the same way without them."""
        call = case.change.difference.tool, case.change.difference.call
        state = self._state(edits)
        while state and not case.is_start and state.effect(case) is case.after:
            chain = state.chain(case)
            rules = {each.rule for each in chain.table.decide(*call).because} if chain else {}
            similar = {e for e in self._edits.all if e.added and e.added.text.strip("\"'") in rules}
            if similar <= edits:
                break
            edits |= similar
            yield edits
            state = self._state(edits)

    def _needed(self, case: _Case, edits: _Set) -> _Set:
        """Return those of *edits* that a case needs, if they undo it together.

        It needs those without which it is decided in another way, and rules that deny or ask by its
        decisions. Where these are not enough, halves, quarters and so on are left out while the
        rest suffices, as long as few files were loaded.
        """
        left = [edit for edit in self._edits.all if edit in edits]
        if 1 < len(left) <= _MOST_ALONE and self._loads <= _MOST_LOADED:
            alone = ((edit, self._state(frozenset({edit}))) for edit in left)
            needed = edits & self._naming(case)
            needed |= {e for e, state in alone if state and state.effect(case) is not case.after}
            if needed and self._is_undone(case, needed):
                return needed
        size = len(left)
        while size > 1 and self._loads <= _MOST_LOADED:
            size = (size + 1) // 2
            for start in range(0, len(left), size)[::-1]:
                rest = [*left[:start], *left[start + size :]]
                if rest and self._is_undone(case, frozenset(rest)):
                    left = rest
        return frozenset(left)

    def try_together(self, cases: Sequence[_Case]) -> None:
        """Try the edits of the rules that decide, for many cases with few loads."""
        single: dict[_Set, list[_Case]] = {}
        for case in cases:
            for edit in self._deciding(case):
                single.setdefault(frozenset({edit}), []).append(case)
        if len(single) <= _FEW:
            return
        needed: dict[_Case, _Set] = {}
        alone: dict[_Case, _Set] = {}
        for (edits, case), effects in self._effects_in_rounds(single).items():
            if case.after not in effects:
                needed[case] = needed.get(case, self._naming(case)) | edits
            if effects == {case.before}:
                alone[case] = edits
        self._verified = {case: edits for case, edits in alone.items() if edits == needed[case]}
        several: dict[_Set, list[_Case]] = {}
        for case in needed.keys() - self._verified.keys():
            every = self._deciding(case)
            for each in {needed[case], every if len(every) == 2 else needed[case]}:
                several.setdefault(each, []).append(case)
        effects_of = self._effects_in_rounds(several)
        for edits, case in sorted(effects_of, key=lambda key: len(key[0])):
            # Two edits are needed if one of them is, and is not enough.
            is_least = edits == needed[case] or (needed[case], case) in effects_of
            if is_least and effects_of[edits, case] == {case.before}:
                self._verified.setdefault(case, edits)

    def _effects_in_rounds(
        self, by_edits: dict[_Set, list[_Case]]
    ) -> dict[tuple[_Set, _Case], set[Effect | None]]:
        """Return what cases get without sets of edits; without those that the rounds do not tell.

        Trying each set alone would load all files once for each. This is a group test: a set is
        taken back in the rounds that the bits of its number name. If these have only that set in
        common, what the case gets in all of them is due to the set.
        """
        common = dict.fromkeys(by_edits, frozenset(self._edits.all))
        numbers = self._numbered(by_edits)
        found: dict[tuple[_Set, _Case], set[Effect | None]] = {}
        is_worth_it = len(by_edits) > _FEW
        for bit in range(max(numbers.values()).bit_length() if is_worth_it else 0):
            for half in (0, 1):
                together = [each for each, number in numbers.items() if number >> bit & 1 == half]
                taken_back = _NONE.union(*together)
                # Not kept: it takes as much memory as the trees that are compared.
                state = self._loaded(taken_back)
                for each in together:
                    common[each] &= taken_back
                    for case in by_edits[each]:
                        effect = state.effect(case) if state else case.after
                        found.setdefault((each, case), set()).add(effect)
        return {key: effects for key, effects in found.items() if common[key[0]] == key[0]}

    def _numbered(self, sets: Iterable[_Set]) -> dict[_Set, int]:
        """Return a number for each of *sets*: those that share an edit differ in low bits alone.

        So an edit that many share is not in every round. Sets that connect others are left out.
        """
        often = Counter(edit for each in sets for edit in each)
        in_order = [edit for edit in self._edits.all if edit in often]
        groups: dict[TextEdit, list[_Set]] = {}
        hubs: dict[TextEdit, TextEdit] = {}  # edit -> the one that it is taken back with
        for each in sorted(sets, key=len, reverse=True):
            hub = max((edit for edit in in_order if edit in each), key=often.__getitem__)
            if all(hubs.setdefault(edit, hub) is hub for edit in each):
                groups.setdefault(hub, []).append(each)
        numbers: dict[_Set, int] = {}
        start = 0
        for group in sorted(groups.values(), key=len, reverse=True):
            numbers |= {each: start + number for number, each in enumerate(group)}
            start += 1 << (len(group) - 1).bit_length()
        return numbers

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
        if not case.reading:
            return _NONE
        difference = case.change.difference
        found = self._covering_all(_named(difference))
        for side, table in enumerate(self._tables(case) or ()):
            for part in table.use.parts:
                outcome = part.rules.row(difference.tool).outcome(difference.call)
                found |= self._covering_all((side, entry.place) for entry in outcome.entries)
        of_agents = self._of_agents(case.change.project, case.names)
        return found or frozenset(edit for edit in of_agents if edit.tool == difference.tool)

    def _naming(self, case: _Case) -> _Set:
        """Return the edits of the rules that deny or ask by a decision of a case."""
        return self._covering_all(_named(case.change.difference, but=Effect.ALLOW))

    def _covering_all(self, places: Iterable[tuple[int, Place | None]]) -> _Set:
        """Return the edits that cover *places* of the old (0) or new (1) text."""
        return _NONE.union(*(self._covering(*place) for place in places))

    def _edits_of_agents(self, title: str, names: Names) -> _Set:
        """Return the edits in the files that define the agents of a chain."""
        projects = filter(None, (side.project(title) for side in self._sides))
        agents = [project.agents.get(name) for project in projects for name in names]
        files = {agent.place.file for agent in agents if agent and agent.place}
        return frozenset(each for each in self._edits.all if not files.isdisjoint(each.files))

    def _is_undone(self, case: _Case, edits: _Set) -> bool:
        """Return whether a case is as before the change without *edits*."""
        state = self._state(edits)
        return state is not None and state.effect(case) is case.before

    def _loaded(self, edits: _Set) -> _State | None:
        """Return the state without *edits*; None if that makes files unreadable."""
        self._loads += 1
        workspace = self._load(self._edits.without(edits))
        is_readable = self._unreadable.issuperset(_unreadable(workspace))
        return _State(workspace, self._projects) if is_readable else None


def _named(difference: Difference, but: Effect | None = None) -> Iterator[tuple[int, Place | None]]:
    """Yield the side and place of the rules that both decisions name, *but* those of an effect."""
    for side, decision in enumerate((difference.before, difference.after)):
        yield from ((side, each.place) for each in decision.because if each.effect is not but)


def _unreadable(workspace: Workspace) -> set[tuple[str, str]]:
    return {(f.code, f.place.file) for f in workspace.findings if is_unreadable(f)}
