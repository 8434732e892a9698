"""Where a host grants something else than what is declared along the same chain.

Both readings are followed at once, since the chain that shows a gap may be one
that neither reading alone has to look at: the host hands nothing of a narrow
ancestor down, so behind ``main > narrow > worker`` it grants what it grants
behind ``main > worker``, while less is declared.

What is declared along a chain is the meet of some rule sets, so the host grants
more than that just where it grants more than one of them. A pair of positions
may therefore be left out when others cover it, in both readings, that together
are bound by all the rule sets that it is bound by. Its gaps are theirs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import attrs

from policy.chain import Attenuated, Chain, Reading
from policy.comparison.compare import Comparison, Difference, Known
from policy.project import Project
from policy.reach.moves import Moves, moves
from policy.reach.numbers import bits
from policy.reach.positions import Position
from policy.reach.showing import Bound, Showing
from policy.table import Table
from policy.telling import told

__all__ = ["MANY_PAIRS", "Gap", "Gaps", "are_alike"]

# Why there may be more gaps than were found.
MANY_PAIRS = "more chains differ in what is declared along them than are looked at"

# Pairs of positions of one project before the rest is left out.
_PAIRS = 20_000


@attrs.frozen
class Gap(Difference):
    """A call of which what is declared and what the host does differ along a chain.

    Attributes:
        chain: whose last agent makes the call; a shortest that was found.
        whole: whether the same is declared of every call of the tool.

    """

    chain: tuple[str, ...] = ()
    whole: bool = False


def are_alike(project: Project) -> bool:
    """Return whether what *project* declares is what its host does, chain by chain."""
    one, other = project.attenuated, project.enforced
    return _is_met(one) and _is_met(other) and _tables(one) == _tables(other)


def _is_met(reading: Reading) -> bool:
    return type(reading) is Attenuated


def _tables(reading: Reading) -> object:
    return (reading.tables, reading.roots) if isinstance(reading, Attenuated) else reading


@attrs.frozen(eq=False)
class _Pair:
    declared: Position
    real: Position
    parent: _Pair | None = None

    @property
    def agents(self) -> list[int]:
        """The agents of its chain, from the root down."""
        found, at = [self.real.agent], self.parent
        while at is not None:
            found.append(at.real.agent)
            at = at.parent
        return found[::-1]

    @property
    def bounds(self) -> set[object]:
        """The rule sets that bind it, in either reading."""
        return {
            (which, number)
            for which, sets in enumerate(
                (
                    self.declared.use,
                    self.declared.delegated,
                    self.real.use,
                    self.real.delegated,
                )
            )
            for number in sets
        }


class Gaps:
    """The gaps of one project.

    Args:
        project: whose.
        known: what comparisons of its tables found (`Table.differences`).

    """

    def __init__(self, project: Project, known: Known) -> None:
        self.project = project
        self._known = known
        self._compared: dict[object, Comparison] = {}
        self._chains: dict[object, Chain] = {}
        self._declared: Moves = moves(project.attenuated)
        self._real: Moves = moves(project.enforced)
        self._found: dict[int, list[tuple[_Pair, set[object]]]] = {}
        self._waiting: deque[_Pair] = deque()
        self._count = 0
        self._showing = Showing(known)
        self.is_whole = True
        if not are_alike(project):
            self._search()

    def of(self, agent: str) -> tuple[tuple[Gap, ...], tuple[str, ...]]:
        """Return the gaps of *agent*, and why there may be more."""
        place = self._real.numbers.places.get(agent)
        unique: dict[object, Gap] = {}
        why: dict[str, None] = dict.fromkeys(() if self.is_whole else (MANY_PAIRS,))
        pairs = [pair for pair, _ in self._found.get(-1 if place is None else place, ())]
        for pair in (pairs[number] for number in self._showing.of(list(map(self._bound, pairs)))):
            names = tuple(self._real.numbers.agents[number] for number in pair.agents)
            declared, real = (self._chain(names, name) for name in ("attenuated", "enforced"))
            found = self._compare(declared.table, real.table)
            why.update(dict.fromkeys(found.why))
            for each in found.differences:
                key = (each.tool, str(each.call), each.before.effect, each.after.effect)
                whole = declared.table.lookup(each.tool).constant is not None
                gap = Gap(each.tool, each.call, each.before, each.after, names, whole)
                unique.setdefault(key, gap)
        return tuple(unique.values()), tuple(why)

    def _bound(self, pair: _Pair) -> Bound:
        declared, real = self._declared.numbers, self._real.numbers
        return Bound(
            frozenset(declared.sets[number] for number in pair.declared.use),
            frozenset(real.sets[number] for number in pair.real.use),
        )

    def _compare(self, declared: Table, real: Table) -> Comparison:
        key = (declared.use.sets, real.use.sets)
        found = self._compared.get(key)
        if found is None:
            found = self._compared[key] = declared.differences(real, self._known)
        # Equal rules may stand elsewhere, and belong to others: each table decides for itself.
        anew = [
            Difference(
                each.tool,
                each.call,
                declared.decide(each.tool, each.call),
                real.decide(each.tool, each.call),
            )
            for each in found.differences
        ]
        return Comparison(told(anew, declared, real), found.why)

    def _search(self) -> None:
        for agent in self.project.starts:
            self._add(self._declared.start(agent), self._real.start(agent))
        self._follow()
        for agent in self.project.asides:
            self._add(self._declared.start(agent), self._real.start(agent))

    def _follow(self) -> None:
        while self._waiting:
            pair = self._waiting.popleft()
            for number, place in self._startable(pair):
                self._add(
                    self._declared.step(pair.declared, place),
                    self._real.step(pair.real, number),
                    pair,
                )

    def _startable(self, pair: _Pair) -> Iterator[tuple[int, int]]:
        """Yield the agents that both readings start, by their places in each."""
        declared, real = self._declared, self._real
        granted = declared.targets(pair.declared)
        for number in bits(real.targets(pair.real)):
            place = declared.numbers.places.get(real.numbers.agents[number])
            # Where it may not be started, the start is the gap, and the starter's.
            if place is not None and granted >> place & 1:
                yield number, place

    def _add(
        self, declared: Position | None, real: Position | None, parent: _Pair | None = None
    ) -> None:
        if declared is None or real is None:
            return
        pair = _Pair(declared, real, parent)
        known = self._found.setdefault(real.agent, [])
        left = pair.bounds
        for other, bounds in known:
            if other.real.covers(real) and other.declared.covers(declared):
                left -= bounds
                if not left:
                    return
        if self._count >= _PAIRS:
            self.is_whole = False
            return
        self._count += 1
        known.append((pair, pair.bounds))
        self._waiting.append(pair)

    def _chain(self, names: tuple[str, ...], reading: str) -> Chain:
        if (names, reading) not in self._chains:
            self._chains[names, reading] = (
                self._chain(names[:-1], reading).spawn(names[-1])
                if len(names) > 1
                else Chain.start(names[0], self.project.reading(reading))
            )
        return self._chains[names, reading]
