"""How agents follow one another, without the chains: what a search over all of them needs.

A *position* is an agent behind some chain, as far as it matters for what can
follow: the rule sets that bound what it may use and what it may hand on, as
sets of numbers, and what else its host looks at. Equal rule sets have one
number, so that a meet is a union of small sets and most questions of whether
one position grants no less than another are answered by inclusion.

Where links are met as they are declared (`policy.chain.Attenuated`), no table
is made on the way. Any other reading is asked for each step.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Protocol

import attrs

from policy.chain import (
    SPAWN_TOOL,
    Attenuated,
    Link,
    Reading,
    SpawnDenied,
    handed_down,
    spawn_call,
)
from policy.dialect import ArgumentKind
from policy.effect import Effect
from policy.rows.row import Row
from policy.ruleset import RuleSet
from policy.table import TRUST, Bounds, Ceiling, Part, Table

__all__ = ["Moves", "Numbers", "Position", "Sets", "bits", "moves"]

# Numbers of rule sets: a call gets the strictest answer of them.
Sets = frozenset[int]


@attrs.define(eq=False)
class Position:
    """An agent behind a chain.

    Attributes:
        agent: its number.
        use: what bounds what it may use.
        delegated: what bounds what it may hand on.
        bounds: limits beside the rules.
        depth: agents before it, where that matters for what follows; else 0.
        state: what else matters to its host.
        parent: the position that started it; None for a root, and for a join.
        link: as its reading made it; None where all follows from the sets.
        is_covered: whether another position covers it that was found later.

    """

    agent: int
    use: Sets
    delegated: Sets
    bounds: Bounds = Bounds()
    depth: int = 0
    state: Hashable = None
    parent: Position | None = None
    link: Link | None = None
    is_covered: bool = False

    def covers(self, other: Position) -> bool:
        """Return whether whatever follows from *other* follows from this one, granting no less.

        Fewer rule sets grant more: a meet only narrows.
        """
        return (
            self.use <= other.use
            and self.delegated <= other.delegated
            and self.depth <= other.depth
            and self.state == other.state
            and (self.bounds == other.bounds or other.bounds & self.bounds == other.bounds)
        )


class Numbers:
    """The numbers of rule sets, and which agents the calls of each may start.

    Attributes:
        reading: whose agents, each by its place among them.
        sets: by number.

    """

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.agents = reading.agents
        self.places = {agent: place for place, agent in enumerate(self.agents)}
        self.everyone = (1 << len(self.agents)) - 1
        self.sets: list[RuleSet] = []
        self._numbers: dict[RuleSet, int] = {}
        self._unions: dict[frozenset[RuleSet], Sets] = {}
        self._starting: dict[int, tuple[int, int]] = {}
        self._met: dict[Sets, tuple[int, int]] = {}
        self._rows: dict[object, tuple[int, int]] = {}
        self._calls = self._spawn_calls()
        self._plain = all(map(str.isascii, self.agents))  # so that a name is read as it stands
        self.denying: set[int] = set()  # sets that deny every call

    def of(self, ceiling: Ceiling) -> Sets:
        """Return the numbers of what *ceiling* is the meet of."""
        found = self._unions.get(ceiling.sets)
        if found is None:
            found = frozenset(map(self._number, ceiling.sets))
            self._unions[ceiling.sets] = found
        return found

    def _number(self, rules: RuleSet) -> int:
        number = self._numbers.get(rules)
        if number is None:
            number = self._numbers[rules] = len(self.sets)
            self.sets.append(rules)
            if rules.is_constant and rules.default is Effect.DENY:
                self.denying.add(number)
        return number

    def table(self, position: Position) -> Table:
        """Return the table of *position*, whose rules are of no link in particular."""
        use, delegated = (
            Ceiling.of(Part(self.sets[number]) for number in sorted(sets))
            for sets in (position.use, position.delegated)
        )
        return Table(use, delegated, position.bounds)

    def granted(self, sets: Sets) -> tuple[int, int]:
        """Return the agents whose start is not denied, and those where nobody asks either.

        Each is a number with a bit for every agent at its place.
        """
        found = self._met.get(sets)
        if found is None:
            granted = allowed = self.everyone
            for number in sets:
                if number not in self._starting:
                    self._starting[number] = self._of_rules(self.sets[number])
                here = self._starting[number]
                granted, allowed = granted & here[0], allowed & here[1]
            found = self._met[sets] = granted, allowed
        return found

    def _spawn_calls(self) -> list[tuple[str, dict[str, object]]] | None:
        if not hasattr(self.reading, "spawn_call"):
            return None
        return [spawn_call(self.reading, agent) for agent in self.agents]

    def _of_rules(self, rules: RuleSet) -> tuple[int, int]:
        if self._calls is not None:
            effects = (rules.row(tool).outcome(call).effect for tool, call in self._calls)
            return _masks(effects)
        row = rules.row(SPAWN_TOOL)
        if row.constant is not None:
            effect = row.constant.effect
            return (
                self.everyone if effect is not Effect.DENY else 0,
                self.everyone if effect is Effect.ALLOW else 0,
            )
        if row.argument.kind is not ArgumentKind.TEXT or row.field != _NAMED:
            return self._one_by_one(row)
        # What rules say of agents is often the same where all else differs.
        lines = tuple((entry.pattern, entry.effect) for entry in row.entries)
        key = (lines, row.default.effect)
        if key not in self._rows:
            literal = self._plain and all(p is not None and p.exact for p, _ in lines)
            self._rows[key] = self._by_name(row) if literal else self._one_by_one(row)
        return self._rows[key]

    def _by_name(self, row: Row) -> tuple[int, int]:
        """Return what rules grant that name agents one by one: the first that names it holds."""
        effects = dict[int, Effect]()
        for entry in row.entries:
            place = self.places.get(str(entry.pattern))
            if place is not None:
                effects.setdefault(place, entry.effect)
        granted = self.everyone if row.default.effect is not Effect.DENY else 0
        allowed = self.everyone if row.default.effect is Effect.ALLOW else 0
        for place, effect in effects.items():
            bit = 1 << place
            granted = granted & ~bit if effect is Effect.DENY else granted | bit
            allowed = allowed | bit if effect is Effect.ALLOW else allowed & ~bit
        return granted, allowed

    def _one_by_one(self, row: Row) -> tuple[int, int]:
        return _masks(row.outcome({_NAMED: agent}).effect for agent in self.agents)


# The argument of the call that starts an agent (`Chain.spawning`).
_NAMED = "subagent_type"


def _masks(effects: Iterator[Effect]) -> tuple[int, int]:
    told = list(effects)
    granted = "".join("0" if effect is Effect.DENY else "1" for effect in reversed(told))
    allowed = "".join("1" if effect is Effect.ALLOW else "0" for effect in reversed(told))
    return int(granted or "0", 2), int(allowed or "0", 2)


def bits(mask: int) -> Iterator[int]:
    """Yield the places of the bits of *mask*, the lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class Moves(Protocol):
    """How positions of one reading follow one another."""

    @property
    def numbers(self) -> Numbers:
        """The numbers of its rule sets and agents."""

    def start(self, agent: str) -> Position | None:
        """Return *agent* as the root of chains; None where it cannot be one."""

    def targets(self, position: Position) -> int:
        """Return the agents that *position* may start as far as its own tables say."""

    def step(self, position: Position, agent: int) -> Position | None:
        """Return *agent* behind *position*; None where the host refuses it."""

    def incoming(self, position: Position) -> Hashable:
        """Return what the positions behind *position* depend on, which may be itself."""

    def join(self, one: Position, other: Position) -> Position:
        """Return a position of the same agent and state that grants no less than either."""


def moves(reading: Reading) -> Moves:
    """Return how positions of *reading* follow one another."""
    if isinstance(reading, Attenuated) and type(reading).step is Attenuated.step:
        return _Meets(reading)
    return _Steps(reading)


class _Meets:
    """Links that are met as they are declared."""

    def __init__(self, reading: Attenuated) -> None:
        self.numbers = Numbers(reading)
        self.reading = reading
        self._tables = [self._numbered(reading.tables[agent]) for agent in reading.agents]
        self._bounds: dict[tuple[Bounds, Bounds], Bounds] = {}

    def _numbered(self, table: Table) -> tuple[Sets, Sets, Bounds]:
        use = self.numbers.of(table.use)
        delegated = use if table.delegate is None else self.numbers.of(table.delegate)
        return use, delegated, table.bounds

    def start(self, agent: str) -> Position | None:
        if agent not in self.numbers.places:
            return None
        table = self._numbered(self.reading.start(agent).table)
        return Position(self.numbers.places[agent], *table)

    def targets(self, position: Position) -> int:
        depth = position.bounds.depth
        if depth is not None and depth <= 0:
            return 0
        return self.numbers.granted(position.use)[0]

    def step(self, position: Position, agent: int) -> Position | None:
        use, delegated, bounds = self._tables[agent]
        above = position.delegated
        met = self._met(use, above)
        handed_on = met if delegated is use else self._met(delegated, above)
        limits = (bounds, position.bounds)
        if limits not in self._bounds:
            self._bounds[limits] = bounds & handed_down(position.bounds)
        return Position(agent, met, handed_on, self._bounds[limits], parent=position)

    def _met(self, one: Sets, other: Sets) -> Sets:
        met = one | other
        denying = self.numbers.denying
        return met if denying.isdisjoint(met) else frozenset({min(denying & met)})

    def incoming(self, position: Position) -> Hashable:
        return position.delegated, position.bounds

    def join(self, one: Position, other: Position) -> Position:
        return _joined(one, other, self.numbers)


class _Steps:
    """Links as a host makes them."""

    def __init__(self, reading: Reading) -> None:
        self.numbers = Numbers(reading)
        self.reading = reading

    def _position(self, link: Link, agent: int, parent: Position | None = None) -> Position:
        table = link.table
        use = self.numbers.of(table.use)
        delegated = use if table.delegate is None else self.numbers.of(table.delegate)
        state = link.state
        return Position(
            agent,
            use,
            delegated,
            table.bounds,
            link.depth,
            state,
            parent,
            link,
        )

    def start(self, agent: str) -> Position | None:
        try:
            link = self.reading.start(agent)
        except (KeyError, SpawnDenied):
            return None
        return self._position(link, self.numbers.places[agent])

    def targets(self, position: Position) -> int:
        depth = position.bounds.depth
        if depth is not None and depth <= 0:
            return 0
        return self.numbers.granted(position.use)[0]

    def step(self, position: Position, agent: int) -> Position | None:
        if position.link is None:
            return None
        try:
            link = self.reading.step(position.link, self.numbers.agents[agent])
        except (KeyError, SpawnDenied):
            return None
        return self._position(link, agent, position)

    def incoming(self, position: Position) -> Hashable:
        return position  # a host may look at anything

    def join(self, one: Position, other: Position) -> Position:
        found = _joined(one, other, self.numbers)
        if one.link is None:
            return found
        table = self.numbers.table(found)
        found.link = attrs.evolve(one.link, table=table, depth=found.depth)
        return found


def _joined(one: Position, other: Position, numbers: Numbers) -> Position:
    bounds = Bounds(
        _most(one.bounds.depth, other.bounds.depth),
        _most(one.bounds.turns, other.bounds.turns),
        _trusted(one.bounds.trust, other.bounds.trust),
    )
    use = _common(one.use, other.use, numbers)
    delegated = _common(one.delegated, other.delegated, numbers)
    depth = min(one.depth, other.depth)
    return Position(one.agent, use, delegated, bounds, depth, one.state)


def _common(one: Sets, other: Sets, numbers: Numbers) -> Sets:
    # What denies everything grants no more than the other.
    if one & numbers.denying:
        return other
    if other & numbers.denying:
        return one
    return one & other


def _most(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


def _trusted(one: str | None, other: str | None) -> str | None:
    return None if one is None or other is None else max(one, other, key=TRUST.index)
