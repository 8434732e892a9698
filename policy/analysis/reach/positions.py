"""Computes positions: agents with the rule sets that bound them along a chain.

A *position* holds all that decides which positions can follow. For a reading that meets tables as
declared (`policy.tables.chain.Attenuated`), a step is a union of numbered rule sets and makes no
table. Other readings compute each step themselves.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from policy.core.effect import Effect
from policy.core.values import define
from policy.tables.chain import Attenuated, Link, Reading, SpawnDenied, handed_down
from policy.tables.dialect import ArgumentKind
from policy.tables.parameters import calls_beside
from policy.tables.ruleset import RuleSet
from policy.tables.table import SPAWN_TOOL, Bounds, Ceiling, LinkedRules, Table

# Numbers of rule sets; a call gets the strictest outcome of them.
Sets = frozenset[int]


class RuleSets:
    """Numbers rule sets, for all readings that are compared; `denying` are those that deny all."""

    def __init__(self) -> None:
        self.sets: list[RuleSet] = []
        self.denying: set[int] = set()
        self._numbers: dict[RuleSet, int] = {}
        # The key is the identity, since comparing equal ceilings takes longer than a step.
        self._known: dict[int, tuple[Ceiling, Sets]] = {}

    def numbers(self, ceiling: Ceiling) -> Sets:
        """Return the numbers of the rule sets of *ceiling*."""
        if id(ceiling) not in self._known:
            self._known[id(ceiling)] = ceiling, frozenset(map(self._number, ceiling.sets))
        return self._known[id(ceiling)][1]

    def use_and_delegate(self, table: Table) -> tuple[Sets, Sets]:
        """Return the numbers of the rule sets that bound use, and delegation."""
        use = self.numbers(table.use)
        return use, use if table.delegate is None else self.numbers(table.delegate)

    def _number(self, rules: RuleSet) -> int:
        number = self._numbers.get(rules)
        if number is None:
            number = self._numbers[rules] = len(self.sets)
            self.sets.append(rules)
            if rules.is_constant and rules.default is Effect.DENY:
                self.denying.add(number)
        return number


def bits(mask: int) -> Iterator[int]:
    """Yield the numbers of the bits set in *mask*, the lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@define(eq=False)
class Position:
    """An agent at the end of a chain."""

    agent: int  # its number
    use: Sets  # the rule sets that bound its calls
    delegated: Sets  # the rule sets that bound what it hands on
    bounds: Bounds = Bounds()  # limits that are no rules
    depth: int = 0  # the agents before it, if later steps depend on that; else 0
    state: Hashable = None  # what else later steps depend on
    link: Link | None = None  # made by its reading; None if the sets are enough for each step

    def covers(self, other: Position) -> bool:
        """Return whether this position leads wherever *other* does, and grants no less there."""
        # Fewer rule sets grant more: a meet only narrows.
        return (
            self.use <= other.use
            and self.delegated <= other.delegated
            and self.depth <= other.depth
            and self.state == other.state
            and (self.bounds is other.bounds or other.bounds & self.bounds == other.bounds)
        )


class PositionMoves:
    """The steps between positions of one reading, made by the reading itself."""

    def __init__(self, reading: Reading, rule_sets: RuleSets, agents: tuple[str, ...]) -> None:
        self._reading = reading
        self._rule_sets = rule_sets
        self._agents = agents
        self._places = {agent: place for place, agent in enumerate(agents)}
        self._calls = [reading.spawn_call(agent) for agent in agents]
        self._tools = {tool for tool, _ in self._calls}
        # Whether each call has the agent as its one argument, in ASCII.
        self._by_name = self._tools == {SPAWN_TOOL} and all(map(str.isascii, agents))
        self._bits = {agent: 1 << place for agent, place in self._places.items()}
        self._granted_by: dict[int, int] = {}
        self._granted: dict[Sets, int] = {}

    def start(self, agent: str) -> Position | None:
        """Return the position of *agent* as a root; None if it cannot be one."""
        try:
            return self._position(self._reading.start(agent))
        except (KeyError, SpawnDenied):
            return None

    def step(self, position: Position, agent: int) -> Position | None:
        """Return the position of *agent* started at *position*; None if the reading refuses it."""
        if position.link is None:
            return None
        try:
            return self._position(self._reading.step(position.link, self._agents[agent]))
        except (KeyError, SpawnDenied):
            return None

    def _position(self, link: Link) -> Position:
        sets = self._rule_sets.use_and_delegate(link.table)
        place = self._places[link.name]
        return Position(place, *sets, link.table.bounds, link.depth, link.state, link)

    def incoming(self, position: Position) -> Hashable:
        """Return what the next positions depend on: equal values lead to equal ones."""
        if not getattr(self._reading, "by_rights", False):
            return position  # a reading may look at anything
        return position.use, position.delegated, position.bounds, position.depth, position.state

    def startable(self, position: Position) -> int:
        """Return the agents, as bits, whose start the rules of *position* do not deny."""
        return 0 if position.bounds.is_last else self.granted(position.use)

    def granted(self, sets: Sets) -> int:
        """Return the agents, as bits, whose start *sets* do not deny."""
        if sets not in self._granted:
            granted = (1 << len(self._agents)) - 1
            together = []
            for number in sets:
                rules = self._rule_sets.sets[number]
                if any(rules.row(tool).has_parameters for tool in self._tools):
                    together.append(rules)
                    continue
                if number not in self._granted_by:
                    self._granted_by[number] = self._started_by(rules)
                granted &= self._granted_by[number]
            if together:  # rules on other arguments of the call, such as the model
                outcomes_by_agent = (
                    calls_beside([rules.row(tool) for rules in together], call)
                    for tool, call in self._calls
                )
                most = (
                    max(min(one.effect for one in each) for _, each in outcomes)
                    for outcomes in outcomes_by_agent
                )
                granted &= _mask(most)
            self._granted[sets] = granted
        return self._granted[sets]

    def _started_by(self, rules: RuleSet) -> int:
        """Return the agents, as bits, whose start *rules* do not deny."""
        row = rules.row(SPAWN_TOOL)
        is_by_name = row.field == "subagent_type" and row.argument.kind is ArgumentKind.TEXT
        exact = [e for e in row.entries if e.pattern is not None and e.pattern.exact]
        if not (self._by_name and is_by_name and len(exact) == len(row.entries)):
            return _mask(rules.row(tool).outcome(call).effect for tool, call in self._calls)
        found = 0 if row.default.effect is Effect.DENY else (1 << len(self._agents)) - 1
        for entry in reversed(exact):  # the first entry for an agent decides
            agent = self._bits.get(str(entry.pattern), 0)
            found = found & ~agent if entry.effect is Effect.DENY else found | agent
        return found


def _mask(effects: Iterable[Effect]) -> int:
    """Return *effects* as bits: 0 for a denial, else 1."""
    marks = ["0" if effect is Effect.DENY else "1" for effect in effects]
    return int("".join(reversed(marks)) or "0", 2)


class _Meets(PositionMoves):
    """The steps of a reading that meets tables as declared."""

    def __init__(self, reading: Attenuated, rule_sets: RuleSets, agents: tuple[str, ...]) -> None:
        super().__init__(reading, rule_sets, agents)
        self._tables = [
            (*rule_sets.use_and_delegate(table), table.bounds) if table is not None else None
            for table in map(reading.tables.get, agents)
        ]
        self._last: dict[Sets, Sets] = {}

    def _position(self, link: Link) -> Position:
        sets = self._rule_sets.use_and_delegate(link.table)
        return Position(self._places[link.name], *sets, link.table.bounds)

    def step(self, position: Position, agent: int) -> Position | None:
        table = self._tables[agent]
        if table is None:
            return None
        use, delegated, bounds = table
        above = position.delegated
        limits = bounds & handed_down(position.bounds)
        met = self._met(use, above)
        if limits.is_last:
            met = self._without_starts(met)
        handed_on = met if delegated is use else self._met(delegated, above)
        return Position(agent, met, handed_on, limits)

    def _met(self, one: Sets, other: Sets) -> Sets:
        met = one | other
        denying = self._rule_sets.denying & met
        return frozenset({min(denying)}) if denying else met

    def _without_starts(self, sets: Sets) -> Sets:
        if sets not in self._last:
            known = self._rule_sets.sets
            met = Ceiling.of(LinkedRules(known[number]) for number in sorted(sets))
            self._last[sets] = self._rule_sets.numbers(met.without_spawns())
        return self._last[sets]

    def incoming(self, position: Position) -> Hashable:
        return position.delegated, position.bounds


def moves(reading: Reading, rule_sets: RuleSets, agents: tuple[str, ...]) -> PositionMoves:
    """Return the steps between positions of *reading*."""
    if isinstance(reading, Attenuated) and type(reading).step is Attenuated.step:
        return _Meets(reading, rule_sets, agents)
    return PositionMoves(reading, rule_sets, agents)
