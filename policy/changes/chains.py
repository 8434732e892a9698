"""How the chains of one project change: each that is there before or after, in one reading.

Which chains have to be compared for all of them to be is said by `policy.reach.pairs`. One
that is there on one side only is told as such, unless it says nothing that others do not.
Chains whose tables have the same rule sets are compared once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from policy.chain import SPAWN_TOOL, Attenuated, Chain, Chains, Reading
from policy.comparison.compare import Difference, Known
from policy.comparison.meets import compare_meets
from policy.comparison.witness import Call
from policy.decision import Because, Decision, Reason
from policy.effect import Effect
from policy.project import Project
from policy.reach.pairs import MANY_CHAINS, Pair, Pairs, Side
from policy.table import Table
from policy.telling import told

__all__ = ["Alike", "ChainChanges"]

_Names = tuple[str, ...]
_Tables = tuple[Table, Table]


@attrs.define(eq=False)
class Alike:
    """Chains of one agent that show the same in one reading.

    Attributes:
        reading: which.
        what: ``rule``, ``agent-added`` or ``agent-removed``.
        shown: their differences, by what one has in common with those of other chains
            that are told together with it.
        why: why there may be more.
        chains: the shortest first.

    """

    reading: str
    what: str
    shown: Mapping[object, Difference]
    why: tuple[str, ...] = ()
    chains: list[_Names] = attrs.field(factory=list)


@attrs.frozen(eq=False)
class _Compared:
    """What tables show that some chains come to, one difference for each cause."""

    tables: _Tables
    differences: tuple[Difference, ...]
    why: tuple[str, ...]


@attrs.frozen(cache_hash=True)
class _Cause:
    """What becomes of a tool by which rules."""

    tool: str
    effects: tuple[Effect, Effect]
    rules: tuple[object, object]

    @classmethod
    def of(cls, difference: Difference) -> _Cause:
        """Return that of a difference."""
        before, after = difference.before, difference.after
        rules = (_unlinked(before.because), _unlinked(after.because))
        return cls(difference.tool, (before.effect, after.effect), rules)


@attrs.frozen(cache_hash=True)
class _Key:
    """What differences that are told together have in common: a call, and the cause."""

    call: str
    cause: _Cause


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
        self._known = known
        self._compared: dict[object, _Compared] = {}
        # by identity -> differences, and one of them for each cause
        self._causes: dict[object, tuple[tuple[Difference, ...], tuple[Difference, ...]]] = {}
        self._chains = tuple(Chains(side.reading) if side else None for side in self._sides)
        # agent -> what it is told of, by cause
        self._told: dict[str, dict[_Cause, Difference]] = {}
        # by identity, of all readings
        self._keys: dict[int, tuple[Difference, _Key]] = known.setdefault(_Key, {})

    def alike(self) -> list[Alike]:
        """Return what chains show, the shortest chain first."""
        if _is_same(*self._sides):
            return []
        pairs = Pairs(*self._sides)
        if not pairs.is_whole:
            self.why[MANY_CHAINS] = None
        found: dict[object, Alike] = {}
        for names, pair in sorted(
            ((pairs.names(pair), pair) for pair in pairs), key=lambda each: (len(each[0]), each[0])
        ):
            if pair.before is None or pair.after is None:
                if not pairs.is_implied(pair):
                    found[names] = self._lonely(names, pair)
            elif pair.before.use != pair.after.use:
                key = pair.agent, pair.before.use, pair.after.use
                if key not in found:
                    found[key] = self._differing(names)
                found[key].chains.append(names)
        return list(found.values())

    def confirmed(self, difference: Difference, alike: Alike, names: _Names) -> Difference:
        """Return a difference as one of the chains decides it: rules and links are its own."""
        if alike.what != "rule":
            return difference
        before, after = self._tables(names)
        return before.decided(after, difference)

    def _lonely(self, names: _Names, pair: Pair) -> Alike:
        """Return that a chain can, or can no longer, come about."""
        side, what = (1, "agent-added") if pair.before is None else (0, "agent-removed")
        gone = Decision(Effect.DENY, Reason.UNAVAILABLE)
        tool, call, there = self._starting(side, names)
        difference = Difference(tool, call, *((gone, there) if side else (there, gone)))
        shown: dict[object, Difference] = {(what, names[-1], there.effect): difference}
        return Alike(self._reading, what, shown, chains=[names])

    def _starting(self, side: int, names: _Names) -> tuple[str, Call, Decision]:
        """Return the call by which a chain of one side comes about, and what it gets."""
        if len(names) > 1:
            return self._chain(side, names[:-1]).most_starting(names[-1])
        table = self._chain(side, names).table.hash
        start = Decision(Effect.ALLOW, Reason.DEFAULT, table=table)
        return SPAWN_TOOL, {"subagent_type": names[-1]}, start

    def _differing(self, names: _Names) -> Alike:
        """Return what the first of some chains shows, and of these none yet."""
        compared = self._compare(self._tables(names))
        # By a call that another chain of the agent shows too, where both show the same.
        known = self._told.setdefault(names[-1], {})
        shown: dict[object, Difference] = {}
        for difference in compared.differences:
            key = self._key(difference)
            other = known.setdefault(key.cause, difference)
            if other is not difference and other.call != difference.call:
                before, after = compared.tables
                again = before.decided(after, other)
                if _Cause.of(again) == key.cause:
                    shown[_Key(str(again.call), key.cause)] = again
                    continue
            shown[key] = difference
        return Alike(self._reading, "rule", shown, compared.why)

    def _compare(self, tables: _Tables) -> _Compared:
        """Return how two tables differ, or two that say the same."""
        before, after = tables
        key = (before.use.sets, after.use.sets)
        found = self._compared.get(key)
        if found is None:
            comparison = compare_meets(before.use.linked, after.use.linked, self._known)
            self.why.update(dict.fromkeys(comparison.why))
            shown = self._worth_telling(comparison.differences, tables)
            found = self._compared[key] = _Compared(tables, shown, comparison.why)
        return found

    def _worth_telling(
        self, differences: tuple[Difference, ...], tables: _Tables
    ) -> tuple[Difference, ...]:
        """Return one of *differences* for each cause: once where chains come to the same ones."""
        dialects = frozenset(part.rules.dialect for table in tables for part in table.use.parts)
        key = dialects, *map(id, differences)
        if key not in self._causes:
            causes: dict[_Cause, Difference] = {}
            for difference in told(differences, *tables):
                causes.setdefault(self._key(difference).cause, difference)
            self._causes[key] = differences, tuple(causes.values())
        return self._causes[key][1]

    def _key(self, difference: Difference) -> _Key:
        """Return the key of a difference, which comparisons share."""
        found = self._keys.get(id(difference))
        if found is None:
            key = _Key(str(difference.call), _Cause.of(difference))
            found = self._keys[id(difference)] = difference, key
        return found[1]

    def _tables(self, names: _Names) -> _Tables:
        return self._chain(0, names).table, self._chain(1, names).table

    def _chain(self, number: int, names: _Names) -> Chain:
        """Return a chain of one side, which has it."""
        chains = self._chains[number]
        if chains is None:
            raise KeyError(names)  # no chain is there
        return chains.of(names)


def _is_same(before: Side | None, after: Side | None) -> bool:
    """Return whether nothing can differ, since both sides are met from equal tables."""
    if before is None or after is None:
        return before is after
    if (before.starts, before.alone) != (after.starts, after.alone):
        return False
    return _all_tables(before.reading) is not None and _all_tables(before.reading) == _all_tables(
        after.reading
    )


def _all_tables(reading: Reading) -> object:
    if type(reading) is Attenuated:
        return tuple(reading.tables.items()), tuple(reading.roots.items())
    return None
