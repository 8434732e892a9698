"""What agents are bound by along a chain, and how positions follow one another.

A *position* is an agent behind some chain, as far as it matters for what can follow: the rule
sets that bound what it may use and what it may hand on, by their numbers, and what else its host
looks at. Where links are met as they are declared (`policy.tables.chain.Attenuated`), no table
is made on the way. Any other reading is asked for each step.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from policy.core.effect import Effect
from policy.core.values import define
from policy.tables.chain import (
    Attenuated,
    Link,
    Reading,
    SpawnDenied,
    handed_down,
    spawn_call,
)
from policy.tables.dialect import ArgumentKind
from policy.tables.parameters import calls_beside
from policy.tables.ruleset import RuleSet
from policy.tables.table import SPAWN_TOOL, Bounds, Ceiling, LinkedRules, Table

__all__ = [
    "Position",
    "PositionMoves",
    "RuleSets",
    "Sets",
    "SpawnNumbers",
    "bits",
    "moves",
]


# Numbers of rule sets: a call gets the strictest answer of them.
Sets = frozenset[int]


class RuleSets:
    """Rule sets by number; readings that are compared share them.

    Attributes:
        sets: by number.
        denying: the numbers of those that deny every call.

    """

    def __init__(self) -> None:
        self.sets: list[RuleSet] = []
        self.denying: set[int] = set()
        self._numbers: dict[RuleSet, int] = {}
        # By identity: to compare sets that are equal takes longer than to follow a chain.
        self._known: dict[int, tuple[Ceiling, Sets]] = {}

    def of(self, ceiling: Ceiling) -> Sets:
        """Return the numbers of what *ceiling* is the meet of."""
        known = self._known.get(id(ceiling))
        if known is not None:
            return known[1]
        found = frozenset(map(self._number, ceiling.sets))
        self._known[id(ceiling)] = ceiling, found
        return found

    def of_both(self, table: Table) -> tuple[Sets, Sets]:
        """Return the numbers of what *table* may use, and of what it may hand on."""
        use = self.of(table.use)
        return use, use if table.delegate is None else self.of(table.delegate)

    def _number(self, rules: RuleSet) -> int:
        number = self._numbers.get(rules)
        if number is None:
            number = self._numbers[rules] = len(self.sets)
            self.sets.append(rules)
            if rules.is_constant and rules.default is Effect.DENY:
                self.denying.add(number)
        return number


class SpawnNumbers:
    """The numbers of agents and rule sets, and which agents the calls of each set may start.

    Attributes:
        reading: whose calls.
        rule_sets: by number.
        agents: each by its place among them.

    """

    def __init__(self, reading: Reading, rule_sets: RuleSets, agents: tuple[str, ...]) -> None:
        self.reading = reading
        self.rule_sets = rule_sets
        self.agents = agents
        self.places = {agent: place for place, agent in enumerate(self.agents)}
        self.everyone = (1 << len(self.agents)) - 1
        self._starting: dict[int, tuple[int, int]] = {}
        self._met: dict[Sets, tuple[int, int]] = {}
        self._calls = [spawn_call(reading, agent) for agent in agents]
        self._tools = {tool for tool, _ in self._calls}
        # Whether each call names an agent alone, in letters that are read as they stand.
        self._by_name = self._tools == {SPAWN_TOOL} and all(map(str.isascii, agents))

    def granted(self, sets: Sets) -> tuple[int, int]:
        """Return the agents whose start is not denied, and those whose start is allowed.

        Each is a number with a bit for every agent at its place.
        """
        found = self._met.get(sets)
        if found is None:
            granted = allowed = self.everyone
            together = []
            for number in sets:
                rules = self.rule_sets.sets[number]
                if any(rules.row(tool).has_parameters for tool in self._tools):
                    together.append(rules)
                    continue
                if number not in self._starting:
                    self._starting[number] = self._of_rules(rules)
                here = self._starting[number]
                granted, allowed = granted & here[0], allowed & here[1]
            if together:
                here = _masks(self._at_most(together))
                granted, allowed = granted & here[0], allowed & here[1]
            found = self._met[sets] = granted, allowed
        return found

    def _at_most(self, sets: Sequence[RuleSet]) -> Iterator[Effect]:
        """Yield what the call that starts each agent gets at most, whatever its other arguments."""
        for tool, call in self._calls:
            said = calls_beside([rules.row(tool) for rules in sets], call)
            yield max(min(one.effect for one in each) for _, each in said)

    def _of_rules(self, rules: RuleSet) -> tuple[int, int]:
        row = rules.row(SPAWN_TOOL)
        if self._by_name and row.field == _NAMED and row.argument.kind is ArgumentKind.TEXT:
            entries = row.entries
            if all(entry.pattern is not None and entry.pattern.exact for entry in entries):
                # The first that names an agent holds.
                named = {str(entry.pattern): entry.effect for entry in reversed(entries)}
                return _masks(named.get(agent, row.default.effect) for agent in self.agents)
        return _masks(rules.row(tool).outcome(call).effect for tool, call in self._calls)


# The argument of the call that starts an agent in most hosts (`plain_call`).
_NAMED = "subagent_type"


def _masks(effects: Iterator[Effect]) -> tuple[int, int]:
    known = list(effects)
    granted = "".join("0" if effect is Effect.DENY else "1" for effect in reversed(known))
    allowed = "".join("1" if effect is Effect.ALLOW else "0" for effect in reversed(known))
    return int(granted or "0", 2), int(allowed or "0", 2)


def bits(mask: int) -> Iterator[int]:
    """Yield the places of the bits of *mask*, the lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@define(eq=False)
class Position:
    """An agent behind a chain.

    Attributes:
        agent: its number.
        use: what bounds what it may use.
        delegated: what bounds what it may hand on.
        bounds: limits beside the rules.
        depth: agents before it, where that matters for what follows; else 0.
        state: what else matters to its host.
        link: as its reading made it; None where all follows from the sets.

    """

    agent: int
    use: Sets
    delegated: Sets
    bounds: Bounds = Bounds()
    depth: int = 0
    state: Hashable = None
    link: Link | None = None

    def covers(self, other: Position) -> bool:
        """Return whether whatever follows from *other* follows from this one, granting no less.

        Fewer rule sets grant more: a meet only narrows.
        """
        return (
            self.use <= other.use
            and self.delegated <= other.delegated
            and self.depth <= other.depth
            and self.state == other.state
            and (self.bounds is other.bounds or other.bounds & self.bounds == other.bounds)
        )


class PositionMoves:
    """How positions of one reading follow one another, as a host makes its links.

    Attributes:
        numbers: of its rule sets and agents.
        reading: how chains come about.

    """

    def __init__(self, reading: Reading, numbers: SpawnNumbers) -> None:
        self.numbers = numbers
        self.reading = reading

    def start(self, agent: str) -> Position | None:
        """Return *agent* as the root of chains; None where it cannot be one."""
        try:
            return self._position(self.reading.start(agent))
        except (KeyError, SpawnDenied):
            return None

    def step(self, position: Position, agent: int) -> Position | None:
        """Return *agent* behind *position*; None where the host refuses it."""
        if position.link is None:
            return None
        try:
            return self._position(self.reading.step(position.link, self.numbers.agents[agent]))
        except (KeyError, SpawnDenied):
            return None

    def incoming(self, position: Position) -> Hashable:
        """Return what the positions behind *position* depend on."""
        return position  # a host may look at anything

    def startable(self, position: Position) -> int:
        """Return the agents that *position* may start as far as its own tables say."""
        return 0 if position.bounds.is_last else self.numbers.granted(position.use)[0]

    def _position(self, link: Link) -> Position:
        table, agent = link.table, self.numbers.places[link.name]
        sets = self.numbers.rule_sets.of_both(table)
        return Position(agent, *sets, table.bounds, link.depth, link.state, link)


class _Meets(PositionMoves):
    """Positions of links that are met as they are declared."""

    def __init__(self, reading: Attenuated, numbers: SpawnNumbers) -> None:
        super().__init__(reading, numbers)
        self._tables = [
            self._numbered(reading.tables[agent]) if agent in reading.tables else None
            for agent in numbers.agents
        ]
        self._last: dict[Sets, Sets] = {}

    def _numbered(self, table: Table) -> tuple[Sets, Sets, Bounds]:
        return *self.numbers.rule_sets.of_both(table), table.bounds

    def start(self, agent: str) -> Position | None:
        try:
            table = self.reading.start(agent).table
        except KeyError:
            return None
        return Position(self.numbers.places[agent], *self._numbered(table))

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
        denying = self.numbers.rule_sets.denying
        return met if denying.isdisjoint(met) else frozenset({min(denying & met)})

    def _without_starts(self, sets: Sets) -> Sets:
        if sets not in self._last:
            known = self.numbers.rule_sets
            met = Ceiling.of(LinkedRules(known.sets[number]) for number in sorted(sets))
            self._last[sets] = known.of(met.without_spawns)
        return self._last[sets]

    def incoming(self, position: Position) -> Hashable:
        return position.delegated, position.bounds


def moves(reading: Reading, rule_sets: RuleSets, agents: tuple[str, ...]) -> PositionMoves:
    """Return how positions of *reading* follow one another.

    Args:
        reading: how chains come about.
        rule_sets: by number; readings that are compared share them.
        agents: by number, too.

    """
    numbers = SpawnNumbers(reading, rule_sets, agents)
    if isinstance(reading, Attenuated) and type(reading).step is Attenuated.step:
        return _Meets(reading, numbers)
    return PositionMoves(reading, numbers)
