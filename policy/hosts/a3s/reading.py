"""The two readings of chains of A3S.

The session starts agents and scripts; an agent starts none. The link ``script:name`` stands for the
calls of a script tool, which may start agents by `task`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final

from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.values import evolve, field, frozen
from policy.hosts.a3s.agents import (
    AGENT_ALIASES,
    AgentDefinition,
    Provider,
    ScriptToolSpec,
    SessionSettings,
)
from policy.hosts.a3s.gate import child_scopes, script_rules
from policy.hosts.a3s.rules import SPAWNING, dialect
from policy.hosts.project import EnforcedReading
from policy.tables.chain import Attenuated, Link, SpawnDenied
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Bounds, Ceiling, LinkedRules, Table

MAIN: Final = "main"
SCRIPT: Final = "script:"


@frozen
class World:
    """The session, the agents and the scripts of one project, by name."""

    session: SessionSettings
    # Including those that the host ships.
    agents: Mapping[str, AgentDefinition] = field(factory=dict, eq=False)
    scripts: Mapping[str, ScriptToolSpec] = field(factory=dict, eq=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Every agent that can be a link."""
        return (MAIN, *self.agents, *(f"{SCRIPT}{name}" for name in self.scripts))

    @cached_property
    def own_rules(self) -> tuple[RuleSet, ...]:
        """The rule sets of the session, before confirmation."""
        session = self.session
        found = [p.rules for p in (session.permissions, session.style) if p is not None]
        return tuple(found) or (RuleSet((), Effect.ASK, dialect(session.profile)),)

    def resolve(self, name: str) -> str:
        """Return the agent with the name or alias *name*; any other name unchanged."""
        other = AGENT_ALIASES.get(name, "")
        return other if name not in self.names and other in self.agents else name

    def spawn_call(self, agent: str) -> tuple[str, dict[str, object]]:
        """Return the call that starts an agent or a script."""
        if agent.startswith(SCRIPT):
            return agent.removeprefix(SCRIPT), {}
        task: dict[str, object] = {"agent": agent}
        return "task", {"tasks": [task]} if self.session.profile.one_search else task


def _no_spawning(world: World) -> RuleSet:
    """Return the rules that deny a started agent the tools that start agents."""
    entries = tuple(
        Entry(tool, Effect.DENY, reason=Reason.UNAVAILABLE, rule="no recursion")
        for tool in SPAWNING
    )
    return RuleSet(entries, Effect.ALLOW, dialect(world.session.profile))


@frozen
class _Declared(Attenuated):
    """The attenuated reading, with aliases of agents."""

    world: World = field(kw_only=True, eq=False)

    def step(self, parent: Link, agent: str) -> Link:
        """Return the link after *parent*; no agent starts the session."""
        if agent == MAIN:
            raise KeyError(agent)
        return super().step(parent, self.world.resolve(agent))

    def spawn_call(self, agent: str) -> tuple[str, dict[str, object]]:
        """Return the call that starts an agent or a script."""
        return self.world.spawn_call(agent)


def declared_reading(world: World) -> Attenuated:
    """Return the reading in which each link is bounded by all declarations above it."""
    own = Ceiling.of(LinkedRules(rules, (MAIN,)) for rules in world.own_rules)
    handed_on = own if world.session.permissions or world.session.style else Ceiling()
    tables = {MAIN: Table(own, handed_on, Bounds(depth=2))}
    for name, agent in world.agents.items():
        sets = (*agent.declared, _no_spawning(world))
        use = Ceiling.of(LinkedRules(rules, (name,)) for rules in sets)
        tables[name] = Table(use, bounds=Bounds(depth=0))
    for name, spec in world.scripts.items():
        link = f"{SCRIPT}{name}"
        # The host excludes `program`, but not the names of scripts; no script starts a script.
        rules = script_rules(spec, world.session.profile, without=world.scripts)
        tables[link] = Table(Ceiling.of([LinkedRules(rules, (link,))]), bounds=Bounds(depth=1))
    return _Declared(tables, world=world)


def enforced_reading(world: World) -> EnforcedReading:
    """Return the enforced reading, in which providers other than people have answered asks."""
    session = world.session

    def start(agent: str) -> Link:
        if agent != MAIN:
            return Link(agent, _table(_child_rules(world, agent, (), Provider.NONE)))
        sets = [_answered(rules, session.provider) for rules in world.own_rules]
        return Link(MAIN, _table([(rules, MAIN) for rules in sets]))

    def step(parent: Link, agent: str) -> Link:
        name = world.resolve(agent)
        if name not in world.names or name == MAIN:
            raise KeyError(agent)
        if parent.depth and not (parent.depth == 1 and parent.name.startswith(SCRIPT)):
            raise SpawnDenied(agent, parent.name, "depth")
        sets = _child_rules(world, name, world.own_rules, session.provider)
        return Link(name, _table(sets), parent.depth + 1)

    return EnforcedReading(world.names, start, step, world.spawn_call)


def _child_rules(
    world: World, link: str, above: tuple[RuleSet, ...], provider: Provider
) -> list[tuple[RuleSet, str]]:
    """Return the rule sets that bound a started agent or script, each with its link."""
    session = world.session
    if link.startswith(SCRIPT):
        spec = world.scripts[link.removeprefix(SCRIPT)]
        listed = (script_rules(spec, session.profile), link)
        bounds = [(_answered(rules, provider), MAIN) for rules in above]
        return [*bounds, listed] if session.profile.governs_inner_calls else [listed]
    agent = world.agents[link]
    if agent.tool_free:
        return [(RuleSet((), Effect.DENY, dialect(session.profile), Reason.UNAVAILABLE), link)]
    bounded = session.permissions is not None or session.style is not None
    parent = [(MAIN, rules, provider) for rules in above if bounded]
    scopes = child_scopes(parent, agent, provider)
    return [(_no_spawning(world), link), *((_answered(r, by), name) for name, r, by in scopes)]


def _table(sets: list[tuple[RuleSet, str]]) -> Table:
    return Table(Ceiling.of(LinkedRules(rules, (link,)) for rules, link in sets))


def _answered(rules: RuleSet, provider: Provider) -> RuleSet:
    """Return *rules* with the effect that *provider* gives instead of ASK."""
    effect = provider.settled
    if effect is Effect.ASK:
        return rules
    entries = tuple(
        evolve(entry, effect=effect) if entry.effect is Effect.ASK else entry
        for entry in rules.entries
    )
    default = effect if rules.default is Effect.ASK else rules.default
    return evolve(rules, entries=entries, default=default)
