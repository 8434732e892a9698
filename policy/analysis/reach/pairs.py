"""Positions of two readings that the same chain comes to: what a comparison of all chains needs.

The readings are of one project before and after a change, or two of one project. Which
chains matter cannot be said of either alone: a chain behind which an agent may do no
more than behind another may be the only one that differs.

A pair of positions is bound by some rule sets on either side, and grants more on one side
than on the other just where it grants more than one of the *other's* rule sets, which is
then none of its own. A pair may therefore be left out when others cover it, on both sides,
that together have all the rule sets in which its sides differ: what follows from it
differs in no call that does not differ behind one of them. A chain that is on one side
only is left out where a chain that is on the same side only covers it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import attrs

from policy.analysis.reach.positions import (
    Position,
    PositionMoves,
    RuleSets,
    bits,
    moves,
    startable,
)
from policy.tables.chain import Reading

__all__ = ["MANY_CHAINS", "Pairs", "PositionPair", "ReadingSide"]

# Why more may differ than pairs show.
MANY_CHAINS = "more chains may differ than are looked at"

# Pairs before the rest is left out, the first of each agent never, and spawns that are tried,
# each of which costs some microseconds: as many, and as many more for each agent.
_PAIRS = 20_000
_SPAWNS = 200_000
_SPAWNS_EACH = 200

# In what the sides of a pair differ: rule sets of one side, limits, and that one cannot start.
_Differing = frozenset[object]
_NOTHING: _Differing = frozenset()

# What follows from both sides of a pair depends on (`Moves.incoming`).
_Incoming = tuple[Any, Any]

# Of what pairs hand on, as much is compared with what others do.
_WIDE = 64


@attrs.frozen
class ReadingSide:
    """One of two readings that are compared.

    Attributes:
        reading: how its chains come about.
        starts: what they start with.
        alone: starts of which nothing but the start is wanted.

    """

    reading: Reading
    starts: Sequence[str]
    alone: Sequence[str] = ()


@attrs.define(eq=False)
class PositionPair:
    """What one chain comes to on both sides.

    Attributes:
        agent: the last of the chain, by its number among those of both sides.
        before: its position on the first side; None where the chain is not there.
        after: likewise on the second.
        parent: the pair whose agent started it.
        is_covered: whether what follows from it follows from another as well.

    """

    agent: int
    before: Position | None
    after: Position | None
    parent: PositionPair | None = None
    is_covered: bool = False

    @property
    def is_shared(self) -> bool:
        """Whether the chain is on both sides."""
        return self.before is not None and self.after is not None

    def covers(self, other: PositionPair) -> bool:
        """Return whether all follows from this one that does from *other*, on the same sides."""
        return _covers(self.before, other.before) and _covers(self.after, other.after)


def _covers(one: Position | None, other: Position | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.use <= other.use and one.covers(other)


class _Moves:
    """One side: what follows from its positions, of which there may be none."""

    def __init__(
        self, side: ReadingSide | None, agents: tuple[str, ...], rule_sets: RuleSets
    ) -> None:
        self._side = side
        self._moves: PositionMoves | None = None
        if side is not None:
            self._moves = moves(side.reading, rule_sets, agents)

    def start(self, agent: str) -> Position | None:
        """Return *agent* as the root of chains; None where it is none on this side.

        What stands alone on the other side is compared with what it would be on this one.
        """
        if self._moves is None or self._side is None:
            return None
        side = self._side
        known = agent in side.starts or agent in side.alone
        if not known and agent in side.reading.agents:
            return None
        return self._moves.start(agent)

    def targets(self, position: Position | None) -> int:
        """Return the agents that *position* may start as far as its own tables say."""
        if position is None or self._moves is None:
            return 0
        return startable(self._moves.numbers, position)

    def grants_start(self, position: Position, agent: int) -> bool:
        """Return whether the call that starts *agent* is not denied."""
        if self._moves is None:
            return False
        return bool(self._moves.numbers.granted(position.use)[0] >> agent & 1)

    def step(self, position: Position | None, agent: int, targets: int) -> Position | None:
        """Return *agent* behind *position*, of which *targets* may be started."""
        if position is None or self._moves is None or not targets >> agent & 1:
            return None
        return self._moves.step(position, agent)

    def incoming(self, position: Position | None) -> Hashable:
        """Return what the positions behind *position* depend on."""
        if position is None or self._moves is None:
            return None
        return self._moves.incoming(position)


class Pairs:
    """The pairs that matter, of all chains that can be.

    Args:
        before: the first side; None where there are no chains.
        after: the second.
        lonely: whether chains that are on one side only are wanted.

    Attributes:
        agents: the agents of both sides, by number.
        rule_sets: those of both sides, by number.
        is_whole: whether all were looked at.

    """

    def __init__(
        self, before: ReadingSide | None, after: ReadingSide | None, *, lonely: bool = True
    ) -> None:
        sides = [side for side in (before, after) if side is not None]
        self.agents = tuple(dict.fromkeys(a for side in sides for a in side.reading.agents))
        self.rule_sets = RuleSets()
        self.is_whole = True
        self._sides = tuple(_Moves(side, self.agents, self.rule_sets) for side in (before, after))
        self._lonely = lonely
        self._numbers = {agent: number for number, agent in enumerate(self.agents)}
        # Where a host goes by the number of agents in front, and otherwise than before, a
        # chain that is on one side only may be a long one behind a pair that seems covered.
        by_depth = [getattr(side.reading, "by_depth", None) for side in sides]
        self._is_deep = lonely and len(sides) > 1 and by_depth[0] != by_depth[1]
        self._found: dict[tuple[int, bool, bool], list[tuple[PositionPair, _Differing]]] = {}
        self._waiting: deque[PositionPair] = deque()
        self._followed: dict[_Incoming, list[int]] = {}
        # Some of these, none of which shows no more than another.
        self._wide: list[tuple[_Incoming, list[int]]] = []
        self._count = 0
        self._left = _SPAWNS + _SPAWNS_EACH * len(self.agents)
        self._search(sides)

    def __iter__(self) -> Iterator[PositionPair]:
        """Yield every pair that matters."""
        for known in self._found.values():
            for pair, _ in known:
                yield pair

    def of(self, agent: str) -> list[PositionPair]:
        """Return the pairs of *agent* whose chains are on both sides."""
        number = self._numbers.get(agent, -1)
        return [pair for pair, _ in self._found.get((number, True, True), ())]

    def names(self, pair: PositionPair) -> tuple[str, ...]:
        """Return the chain of *pair*, from the root down."""
        names = [self.agents[pair.agent]]
        parent = pair.parent
        while parent is not None:
            names.append(self.agents[parent.agent])
            parent = parent.parent
        return tuple(reversed(names))

    def is_implied(self, pair: PositionPair) -> bool:
        """Return whether a chain on one side only says no more than others together do.

        They are one that is on both sides and covers it, and a call that starts an agent
        of it and is decided differently.
        """
        return self._is_by_call(pair) and any(
            (pair.before is None or _covers(other.before, pair.before))
            and (pair.after is None or _covers(other.after, pair.after))
            for other, _ in self._found.get((pair.agent, True, True), ())
        )

    def _is_by_call(self, pair: PositionPair) -> bool:
        """Return whether a chain is on one side only since the other denies the call to start it.

        Or that of an agent in front.
        """
        parent = pair.parent
        if parent is None:
            return False
        if parent.before is None or parent.after is None:
            return True
        before, after = self._sides
        if pair.before is None:
            return not before.grants_start(parent.before, pair.agent)
        return not after.grants_start(parent.after, pair.agent)

    def _search(self, sides: Sequence[ReadingSide]) -> None:
        starts = dict.fromkeys(agent for side in sides for agent in side.starts)
        alone = dict.fromkeys(agent for side in sides for agent in side.alone)
        self._start(starts)
        while self._waiting:
            pair = self._waiting.popleft()
            if self._left <= 0:
                self.is_whole = False
                break
            if not pair.is_covered:
                self._follow(pair)
        self._start(agent for agent in alone if agent not in starts)

    def _start(self, agents: Iterable[str]) -> None:
        for agent in agents:
            if agent in self._numbers:
                before, after = (side.start(agent) for side in self._sides)
                self._add(PositionPair(self._numbers[agent], before, after))

    def _follow(self, pair: PositionPair) -> None:
        before, after = self._sides
        targets = before.targets(pair.before), after.targets(pair.after)
        # Pairs behind which the same follows start everybody once.
        key = before.incoming(pair.before), after.incoming(pair.after)
        followed = self._followed.setdefault(key, [0, 0, 0])
        if all(isinstance(each, tuple) for each in key):  # a host may look at anything else
            above = [(k, known) for k, known in self._wide if _shows_no_more(key, k)]
            for _, known in above:
                followed[0] |= known[0]
            if not above and len(self._wide) < _WIDE:
                self._wide.append((key, followed))
        both = targets[0] & targets[1]
        each = (both, targets[0] & ~both, targets[1] & ~both)
        for number, mask in enumerate(each):
            new = mask & ~followed[number]
            self._left -= new.bit_count()
            for agent in bits(new):
                self._add(
                    PositionPair(
                        agent,
                        before.step(pair.before, agent, targets[0]),
                        after.step(pair.after, agent, targets[1]),
                        pair,
                    )
                )
            followed[number] |= mask

    def _add(self, pair: PositionPair) -> None:
        """Take a pair in, unless some that are known cover it together."""
        if not pair.is_shared and not (self._lonely and (pair.before or pair.after)):
            return
        known = self._found.setdefault(
            (pair.agent, pair.before is not None, pair.after is not None), []
        )
        differing = self._differing(pair)
        left = differing
        for other, others in known:
            if (not others.isdisjoint(left) or not left) and self._is_covered(pair, other):
                left -= others
                if not left:
                    return
        if known and self._count >= _PAIRS:
            self.is_whole = False
            return
        self._count += 1
        for other, others in known:
            if others <= differing and self._is_covered(other, pair):
                other.is_covered = True
        known.append((pair, differing))
        self._waiting.append(pair)

    def _differing(self, pair: PositionPair) -> _Differing:
        before, after = pair.before, pair.after
        if before is None or after is None:
            # What is told by a call does not tell of what no call tells of.
            return frozenset() if self._is_by_call(pair) else frozenset({"start"})
        same = before.use == after.use and before.delegated == after.delegated
        if same and before.bounds == after.bounds:
            return _NOTHING
        found: set[object] = set()
        for which, one, other in (
            ("use", before.use, after.use),
            ("delegate", before.delegated, after.delegated),
        ):
            if one != other:
                found.update((which, 0, number) for number in one - other)
                found.update((which, 1, number) for number in other - one)
        if before.bounds != after.bounds:
            found.add((before.bounds, after.bounds))
        return frozenset(found)

    def _is_covered(self, pair: PositionPair, by: PositionPair) -> bool:
        return by.covers(pair) and not (self._is_deep and _depth(pair) != _depth(by))


def _shows_no_more(one: _Incoming, other: _Incoming) -> bool:
    """Return whether agents that both sides start show nothing behind *one* but behind *other*.

    That is so where *one* hands on no more, within the same limits, and differs in no
    rule set in which *other* does not.
    """
    (before, *limits), (after, *limits_after) = one
    (known_before, *known), (known_after, *known_limits) = other
    within = known_before <= before and known_after <= after
    alike = limits == known and limits_after == known_limits
    return bool(
        within
        and alike
        and before - after <= known_before - known_after
        and after - before <= known_after - known_before
    )


def _depth(pair: PositionPair) -> int:
    return max(position.depth for position in (pair.before, pair.after) if position is not None)
