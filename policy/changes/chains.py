"""How the chains of one project change: each that is there before or after, in one reading.

Which chains have to be compared for all of them to be is said by `policy.reach.pairs`. One
that is there on one side only is told as such, unless it says nothing that others do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from operator import is_

import attrs

from policy.chain import SPAWN_TOOL, Attenuated, Chain, Reading
from policy.comparison.compare import Comparison, Difference, Known
from policy.comparison.tool_pair import remembered
from policy.decision import Because, Decision, Reason
from policy.effect import Effect
from policy.project import Project
from policy.reach.pairs import MANY_CHAINS, Pair, Pairs, Side
from policy.table import Table
from policy.telling import told

__all__ = ["ChainChanges", "Shown"]


@attrs.frozen
class Shown:
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
        return str(self.difference.call), _cause(self.difference)

    def confirmed(self) -> Difference:
        """Return the difference as this chain decides it: rules and links are its own."""
        if self.tables is None:
            return self.difference
        return _decided(self.difference, self.tables)


def _decided(difference: Difference, tables: Iterable[Table]) -> Difference:
    """Return what *tables* make of the call of a difference."""
    tool, call = difference.tool, difference.call
    # Every chain is asked about the same commands.
    lookups = [table.lookup(tool) for table in tables]
    return Difference(tool, call, *(lookup.decide_anew(call, remembered) for lookup in lookups))


def _cause(difference: Difference) -> object:
    """Return what becomes of a tool by which rules."""
    before, after = difference.before, difference.after
    rules = (_unlinked(before.because), _unlinked(after.because))
    return difference.tool, before.effect, after.effect, rules


def _unlinked(because: Iterable[Because]) -> tuple[object, ...]:
    """Return rules whichever link of a chain they are those of."""
    return tuple((one.rule, one.effect, one.place) for one in because)


class ChainChanges:
    """What changes along the chains of a project, in one reading.

    Args:
        before: the project; None where nothing is in its place.
        after: likewise.
        reading: which reading of them.
        known: what comparisons of tables found so far (`Table.differences`).

    Attributes:
        why: why more may change, once all is told; nothing where nothing does.

    """

    def __init__(
        self, before: Project | None, after: Project | None, reading: str, known: Known
    ) -> None:
        self.why: dict[str, None] = {}
        self._reading = reading
        self._sides = tuple(
            None
            if project is None
            else Side(project.reading(reading), project.starts, project.asides)
            for project in (before, after)
        )
        self._lines = known
        self._compared: dict[object, tuple[Comparison, tuple[Table, Table]]] = {}
        self._chains: tuple[dict[tuple[str, ...], Chain], ...] = ({}, {})
        # agent -> what it is told of, by cause
        self._told: dict[str, dict[object, Difference]] = {}

    def shown(self) -> Iterator[Shown]:
        """Yield what each chain shows, the shortest chain first."""
        if _is_same(*self._sides):
            return
        pairs = Pairs(*self._sides)
        if not pairs.is_whole:
            self.why[MANY_CHAINS] = None
        for names, pair in sorted(
            ((pairs.names(pair), pair) for pair in pairs), key=lambda each: (len(each[0]), each[0])
        ):
            if pair.before is not None and pair.after is not None:
                if pair.before.use != pair.after.use:
                    yield from self._differences(names)
            elif not pairs.is_implied(pair):
                yield self._lonely(names, pair)

    def _lonely(self, names: tuple[str, ...], pair: Pair) -> Shown:
        """Return that a chain can, or can no longer, come about."""
        what = "agent-added" if pair.before is None else "agent-removed"
        call: dict[str, object] = {"subagent_type": names[-1]}
        decisions = [
            Decision(Effect.DENY, Reason.UNAVAILABLE)
            if position is None
            else Decision(Effect.ALLOW, Reason.DEFAULT, table=self._chain(side, names).table.hash)
            for side, position in enumerate((pair.before, pair.after))
        ]
        return Shown(names, self._reading, what, Difference(SPAWN_TOOL, call, *decisions))

    def _differences(self, names: tuple[str, ...]) -> Iterator[Shown]:
        tables = (self._chain(0, names).table, self._chain(1, names).table)
        comparison, compared = self._compare(tables)
        others = None if all(map(is_, tables, compared)) else tables
        self.why.update(dict.fromkeys(comparison.why))
        known = self._told.setdefault(names[-1], {})
        for difference in told(comparison.differences, *tables):
            if self._is_of_new_agent(difference):
                continue
            # By a call that another chain of the agent shows too, where both show the same.
            cause = _cause(difference)
            other = known.setdefault(cause, difference)
            again = difference if other is difference and not others else _decided(other, tables)
            is_same = _cause(again) == cause
            shown = again if is_same else difference
            yield Shown(
                names, self._reading, "rule", shown, comparison.why, None if is_same else others
            )

    def _is_of_new_agent(self, difference: Difference) -> bool:
        """Return whether it only says that an agent which came or went can be started.

        Such an agent is a change of its own, told with what it may do.
        """
        name = difference.call.get("subagent_type")
        return isinstance(name, str) and _letters(name) in self._changing

    @cached_property
    def _changing(self) -> frozenset[str]:
        """The agents that are on one side only."""
        agents = [set(side.reading.agents) if side else set() for side in self._sides]
        return frozenset(_letters(name) for name in agents[0] ^ agents[1])

    def _chain(self, number: int, names: tuple[str, ...]) -> Chain:
        """Return a chain of one side, which has it."""
        known = self._chains[number]
        found = known.get(names)
        if found is None:
            side = self._sides[number]
            if side is None:
                raise KeyError(names)  # no chain is there
            found = known[names] = (
                self._chain(number, names[:-1]).spawn(names[-1])
                if len(names) > 1
                else Chain.start(names[0], side.reading)
            )
        return found

    def _compare(self, tables: tuple[Table, Table]) -> tuple[Comparison, tuple[Table, Table]]:
        """Return how two tables differ, or two that say the same, and which these are."""
        before, after = tables
        key = (before.use.sets, after.use.sets)
        found = self._compared.get(key)
        if found is None:
            found = self._compared[key] = before.differences(after, self._lines), tables
        return found


def _is_same(before: Side | None, after: Side | None) -> bool:
    """Return whether nothing can differ, since both sides are met from equal tables."""
    if before is None or after is None:
        return before is after
    if (before.starts, before.alone) != (after.starts, after.alone):
        return False
    return _tables(before.reading) is not None and _tables(before.reading) == _tables(after.reading)


def _tables(reading: Reading) -> object:
    if type(reading) is Attenuated:
        return tuple(reading.tables.items()), tuple(reading.roots.items())
    return None


def _letters(name: str) -> str:
    # Hosts that look an agent up by its letters and digits find it by these.
    return "".join(filter(str.isalnum, name.casefold()))
