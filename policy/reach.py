"""Which positions agents can come to, over all chains that can be.

A worklist over positions, breadth first, so that each is found by a shortest
chain. A position is left out when one before it, of the same agent, grants no
less: whatever follows from it follows from that one as well. Of positions that
cannot be compared all are kept, up to a bound; beyond it the answer is no
longer exact.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import attrs

from policy.chain import SPAWN_TOOL, Chain, Reading, SpawnDenied
from policy.dialect import ArgumentKind
from policy.effect import Effect
from policy.project import Project
from policy.ruleset import RuleSet

__all__ = ["MANY_POSITIONS", "Reach", "reach"]

# Why an answer is not exact where a `Reach` is not.
MANY_POSITIONS = "agents can come to more positions than are looked at"

# Positions of one agent, and of a project, before the rest is left out.
_PER_AGENT = 64
_IN_ALL = 50_000


@attrs.frozen
class Reach:
    """The positions that matter.

    Attributes:
        chains: agent -> its chains, the shortest first; each grants something
            the others do not.
        edges: agent -> the agents it can start from some position.
        exact: whether these are all.

    """

    chains: dict[str, tuple[Chain, ...]]
    edges: dict[str, tuple[str, ...]]
    exact: bool = True


def reach(project: Project, reading: Reading, starts: Iterable[str] | None = None) -> Reach:
    """Return every position that agents of *project* can come to."""
    search = _Search(reading)
    for agent in starts if starts is not None else project.starts:
        search.add(Chain.start(agent, reading))
    search.run()
    return Reach(
        {agent: tuple(chains) for agent, chains in search.found.items()},
        {agent: tuple(edges) for agent, edges in search.edges.items()},
        search.exact,
    )


_Sets = frozenset[RuleSet]
_Key = tuple[_Sets, _Sets, object]


class _Search:
    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.found: dict[str, list[Chain]] = {}
        self.edges: dict[str, dict[str, None]] = {}
        self.exact = True
        self._keys: dict[str, list[_Key]] = {}
        self._queue: deque[Chain] = deque()
        self._targets: dict[object, tuple[str, ...]] = {}
        self._names: dict[RuleSet, tuple[str, ...] | None] = {}
        self._places = {agent: place for place, agent in enumerate(reading.agents)}
        self._has_calls_of_its_own = hasattr(reading, "spawn_call")
        self._count = 0

    def add(self, chain: Chain) -> None:
        """Take a chain in, unless one that is known grants as much."""
        agent, table = chain.names[-1], chain.table
        sets = (table.use.sets, table.delegated.sets)
        state = chain.links[-1].state
        keys = self._keys.setdefault(agent, [])
        # Fewer rule sets grant more: a meet only narrows.
        if any(k[0] <= sets[0] and k[1] <= sets[1] and k[2] == state for k in keys):
            return
        if len(keys) >= _PER_AGENT or self._count >= _IN_ALL:
            self.exact = False
            return
        self._count += 1
        keys.append((*sets, state))
        self.found.setdefault(agent, []).append(chain)
        self._queue.append(chain)

    def run(self) -> None:
        """Follow every spawn from every position."""
        while self._queue:
            chain = self._queue.popleft()
            edges = self.edges.setdefault(chain.names[-1], {})
            for agent in self._startable(chain):
                try:
                    following = chain.spawn(agent)
                except SpawnDenied:
                    continue
                edges[agent] = None
                self.add(following)

    def _startable(self, chain: Chain) -> tuple[str, ...]:
        """Return the agents the calls of *chain* may name, by its table alone."""
        table = chain.table
        targets = self._targets.get(table.use.sets)
        if targets is None:
            named = [names for rules in table.use.sets if (names := self._named(rules)) is not None]
            candidates = min(named, key=len, default=self.reading.agents)
            targets = tuple(
                agent for agent in candidates if chain.spawning(agent).effect is not Effect.DENY
            )
            self._targets[table.use.sets] = targets
        return targets

    def _named(self, rules: RuleSet) -> tuple[str, ...] | None:
        """Return the agents that *rules* name one by one and nobody else; None for any agent."""
        if rules not in self._names:
            self._names[rules] = self._read_names(rules)
        return self._names[rules]

    def _read_names(self, rules: RuleSet) -> tuple[str, ...] | None:
        if self._has_calls_of_its_own:
            return None
        row = rules.row(SPAWN_TOOL)
        granting = [entry for entry in row.entries if entry.effect is not Effect.DENY]
        if row.default.effect is not Effect.DENY or row.argument.kind is not ArgumentKind.TEXT:
            return None
        if any(e.field or e.pattern is None or not e.pattern.exact for e in granting):
            return None
        texts = {str(entry.pattern) for entry in granting} & self._places.keys()
        return tuple(sorted(texts, key=self._places.__getitem__))
