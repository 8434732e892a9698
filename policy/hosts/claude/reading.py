"""The two readings of a project's chains: what the host does, and what files declare."""

from __future__ import annotations

from functools import partial
from typing import Final

from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.memory import OnDemand
from policy.core.values import evolve, frozen
from policy.hosts.claude.agents import Definition
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.dialect import dialect
from policy.hosts.claude.pools import PoolPosition, declared, has_no_tools, pool
from policy.hosts.claude.rules import agent_pattern
from policy.hosts.claude.rulesets import rule_sets
from policy.hosts.claude.session import VARIANTS, ClaudeSession, child_mode
from policy.tables.chain import Attenuated, Link, SpawnDenied, usual_spawn_call
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Bounds, Ceiling, LinkedRules, Table

MAIN: Final = "main"


@frozen
class ClaudeState:
    """What the host's reading knows of a position."""

    mode: str  # permission mode of the agent there
    fork: bool = False  # whether it is a fork, which has the tools of the agent that started it
    variant: str = ""  # the one of `ClaudeSession.variants` that the chain began in, or ""
    # The agents that may be started in the session, by the list of the one that it was started as;
    # None is all.
    types: tuple[str, ...] | None = None


def main_definition(session: ClaudeSession) -> Definition:
    """Return the definition of the main conversation."""
    named = session.agents.get(session.main_agent)
    return Definition(MAIN) if named is None else evolve(named, name=MAIN, mode=None)


def attenuated(session: ClaudeSession, mode: str) -> Attenuated:
    """Return the reading in which settings and every list along a chain are met."""
    tables = OnDemand(session.agents, partial(_declared_table, session, mode))

    def root(_: str) -> Table:
        # The declared rights of a variant are those of the settings.
        return evolve(_declared_table(session, mode, MAIN), bounds=Bounds(depth=session.depth))

    # These are never started, even where rules ask for every agent: no agent has the name.
    roots = OnDemand([MAIN, *session.variants], root)
    return Attenuated(tables, roots, variants=OnDemand(VARIANTS, root))


def _declared_table(session: ClaudeSession, mode: str, name: str) -> Table:
    definition = session.agents.get(name) or main_definition(session)
    sets = (
        *rule_sets(session, mode),
        *declared(definition, session, dialect(session, mode)),
        _startable(session, mode, PoolPosition(main=False, background=False)),
    )
    return Table(Ceiling.of(LinkedRules(rules, (definition.name,)) for rules in sets))


def _startable(session: ClaudeSession, mode: str, position: PoolPosition) -> RuleSet:
    """Return the rule set that denies starting agents which would have no tool at *position*."""

    def made() -> RuleSet:
        barred = (
            _denied(name, Reason.NO_TOOLS, f"tools of {name}", definition)
            for name, definition in session.agents.items()
            if has_no_tools(definition, session, position)
        )
        return RuleSet(tuple(barred), Effect.ALLOW, dialect(session, mode))

    return session.cached(("startable", mode, position), made)


def _denied(name: str, reason: Reason, rule: str, definition: Definition | None = None) -> Entry:
    """Return the entry that denies starting the agent *name*."""
    span = definition.tools.span if definition else None
    pattern, place = agent_pattern(name), span.place if span else None
    return Entry("Agent", Effect.DENY, pattern, reason=reason, rule=rule, place=place)


@frozen(eq=False)
class ClaudeEnforced:
    """What the host does, position by position.

    Each agent has the tools of its own definition; settings hold for all; modes are handed down.
    """

    session: ClaudeSession
    mode: str  # the permission mode that sessions start in
    name: str = "enforced"
    by_rights: bool = True

    spawn_call = staticmethod(usual_spawn_call)

    @property
    def agents(self) -> tuple[str, ...]:
        """Every agent that can be a link."""
        return tuple(dict.fromkeys((MAIN, *self.session.variants, *self.session.agents)))

    @property
    def by_depth(self) -> object:
        """What depends on how many agents are in front."""
        limit = self.session.depth
        return limit, self.session.options.background, self._barred_last(limit)

    def _barred_last(self, limit: int) -> frozenset[str]:
        """Return the agents that do not start on the last level, where none can start another."""
        session = self.session
        background = session.options.in_background(limit)
        last = PoolPosition(main=False, background=background, may_start=False)
        earlier = evolve(last, may_start=True)

        def made() -> frozenset[str]:
            return frozenset(
                name
                for name, definition in session.agents.items()
                if has_no_tools(definition, session, last)
                and not has_no_tools(definition, session, earlier)
            )

        return session.cached(("barred", limit), made)

    def start(self, agent: str) -> Link:
        """Return the main conversation, as itself or as *agent*."""
        variant = agent if agent in VARIANTS else ""
        definition = (
            main_definition(self.session)
            if variant or (agent == MAIN and MAIN not in self.session.agents)
            else evolve(self.session.agents[agent], mode=None)
        )
        types = definition.types
        state = ClaudeState(self.mode, variant=variant, types=types)
        position = PoolPosition(
            main=True,
            background=False,
            may_start=self.session.depth > 0,
            leads_on=self._may_start_below(0),
            types=types,
        )
        return Link(agent, self._table(definition, position, state, agent), 0, state)

    def step(self, parent: Link, agent: str) -> Link:
        """Return the link behind *parent*."""
        agents = self.session.agents
        found = (each for name, each in agents.items() if agent_pattern(name).matches(agent))
        definition = agents.get(agent) or next(found, None)
        if definition is None:
            raise KeyError(agent)
        state = parent.state
        if not isinstance(state, ClaudeState):
            state = ClaudeState(self.mode)
        if agent == known.FORK and definition.place is None:  # files may define one of that name
            return self._fork(parent, state)
        made = self.session.cached(
            ("step", agent, state, parent.depth),
            lambda: self._behind(definition, state, parent.depth, agent),
        )
        if isinstance(made, Link):
            return made
        raise SpawnDenied(agent, parent.name, made)

    def _fork(self, parent: Link, state: ClaudeState) -> Link:
        if state.fork:
            raise SpawnDenied(known.FORK, parent.name, "depth")
        rule = _denied(known.FORK, Reason.RULE, "a fork does not fork")
        forks_no_more = self.session.cached(
            ("unforked", state.mode),
            lambda: Table.of(RuleSet((rule,), Effect.ALLOW, dialect(self.session, state.mode))),
        )
        table, depth = parent.table & forks_no_more, parent.depth + 1
        if depth >= self.session.depth:
            table = evolve(table, bounds=Bounds(depth=0))
        return Link(known.FORK, table, depth, evolve(state, fork=True))

    def _behind(
        self, definition: Definition, state: ClaudeState, above: int, agent: str
    ) -> Link | str:
        """Return the link of *agent* behind one of a state at the depth *above*, or why none is."""
        session, depth, limit = self.session, above + 1, self.session.depth
        if depth > limit:
            return "depth"
        has_no_auto = definition.mode == "auto" and session.no_auto
        mode = child_mode(state.mode, None if has_no_auto else definition.mode)
        position = PoolPosition(
            main=False,
            plans=definition.mode == "plan",
            background=session.options.in_background(depth),
            may_start=depth < limit,
            leads_on=self._may_start_below(depth),
            types=state.types,
        )
        if has_no_tools(definition, session, position):
            return Reason.NO_TOOLS.value
        below = evolve(state, mode=mode, fork=False)
        return Link(agent, self._table(definition, position, below, agent), depth, below)

    def _table(
        self, definition: Definition, position: PoolPosition, state: ClaudeState, link: str
    ) -> Table:
        session, mode = self.session.variants.get(state.variant, self.session), state.mode

        def made() -> Table:
            own = pool(definition, session, position, dialect(session, mode))
            sets = [own, *rule_sets(session, mode)]
            if position.may_start:
                background = session.options.in_background(1 if position.main else 2)
                below = PoolPosition(main=False, background=background, may_start=position.leads_on)
                sets.append(_startable(self.session, mode, below))
            return Table(Ceiling.of(LinkedRules(rules, (link,)) for rules in sets))

        key = ("table", definition.name, definition.place, position, mode, link)
        return session.cached(key, made)

    def _may_start_below(self, depth: int) -> bool:
        """Return whether agents below one at *depth* may start others, or start all the same."""
        limit = self.session.depth
        return depth + 1 < limit or not self._barred_last(limit)
