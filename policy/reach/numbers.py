"""The numbers of rule sets, and which agents their calls may start.

Equal rule sets have one number, so that a meet is a union of small sets and most
questions of whether one grants no less than another are answered by inclusion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policy.chain import SPAWN_TOOL, Reading, spawn_call
from policy.dialect import ArgumentKind
from policy.effect import Effect
from policy.rows.parameters import outcomes_beside
from policy.rows.row import Row
from policy.ruleset import RuleSet
from policy.table import Ceiling, Table

__all__ = ["Numbers", "RuleSets", "Sets", "bits"]

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
        self._unions: dict[frozenset[RuleSet], Sets] = {}
        # By identity: to compare sets that are equal takes longer than to follow a chain.
        self._known: dict[int, tuple[Ceiling, Sets]] = {}

    def of(self, ceiling: Ceiling) -> Sets:
        """Return the numbers of what *ceiling* is the meet of."""
        known = self._known.get(id(ceiling))
        if known is not None:
            return known[1]
        found = self._unions.get(ceiling.sets)
        if found is None:
            found = frozenset(map(self._number, ceiling.sets))
            self._unions[ceiling.sets] = found
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


class Numbers:
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
        self._rows: dict[object, tuple[int, int]] = {}
        self._calls = self._spawn_calls()
        self._tools = {tool for tool, _ in self._calls or ()} or {SPAWN_TOOL}
        self._plain = all(map(str.isascii, self.agents))  # so that a name is read as it stands

    def granted(self, sets: Sets) -> tuple[int, int]:
        """Return the agents whose start is not denied, and those where nobody asks either.

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
        """Yield what the call that starts each agent gets at most, whatever else it says."""
        for agent in self.agents:
            tool, call = spawn_call(self.reading, agent)
            said = outcomes_beside([rules.row(tool) for rules in sets], call)
            yield max(min(one.effect for one in each) for each in said)

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
