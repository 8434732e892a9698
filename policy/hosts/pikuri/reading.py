"""What each agent of a host may do, as tables.

The host uses its own tools and hands on two pools of tools; a persona is a list of names out
of those. All agents share the tools, so the same folders bound them and the same person
confirms their calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.values import evolve
from policy.hosts.data import arguments_of
from policy.hosts.pikuri.host import (
    SUB_AGENT,
    TOOLS,
    Confirmer,
    Filesystem,
    Host,
    Persona,
    Registered,
    Tool,
    Workspace,
)
from policy.hosts.project import DeclaredReading, EnforcedReading
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Gap
from policy.tables.chain import Link, SpawnDenied
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Bounds, Ceiling, LinkedRules, Table

# Stands for the folder that is made for one start of an agent and removed after it.
TEMP: Final = "/@temp"

# The tools that the folders of a workspace bound.
FILES: Final = frozenset({*TOOLS["reading"], *TOOLS["writing"]})


def dialect(host: Host, workspace: Workspace | None) -> Dialect:
    """Return how the host names tools and reads calls: names are exact."""
    plain = Dialect(
        str(host.profile),
        arguments={
            **arguments_of(TOOLS["arguments"]),
            host.profile.spawn_tool: Argument(ArgumentKind.TEXT, ("name",)),
        },
    )
    if not isinstance(workspace, Filesystem):
        return plain
    links = tuple(sorted((link, to.rstrip("/")) for link, to in workspace.links.items()))
    return evolve(plain, cwd=workspace.project_root.rstrip("/"), links=links)


def _tool_entries(tool: Tool, workspace: Workspace | None, confirmer: Confirmer) -> Iterator[Entry]:
    """Yield the rules of one tool, for any agent that holds it."""
    name, place = tool.name, tool.span.place if tool.span else None
    asked = Effect.ALLOW if confirmer is Confirmer.AUTO_APPROVE else Effect.ASK
    effect = asked if name in {"bash", "write"} else Effect.ALLOW
    if not isinstance(workspace, Filesystem) or name not in FILES:
        yield Entry(name, effect, rule=name, place=place)
        return
    for root in workspace.roots(write=name in TOOLS["writing"]):
        pattern = Pattern.of(PatternKind.PATH, [root.rstrip("/"), Gap.DEEP])
        below = f"{name}({root.rstrip('/')}/**)"
        yield Entry(name, effect, pattern, rule=below, place=place)
    yield Entry(name, Effect.DENY, rule=f"{name} (elsewhere)", place=place)


def _pool(
    host: Host, tools: Iterable[Tool], extra: Iterable[Entry] = (), *, temp: bool = False
) -> RuleSet:
    workspace = Filesystem(TEMP) if temp else host.workspace
    entries = [entry for tool in tools for entry in _tool_entries(tool, workspace, host.confirmer)]
    return RuleSet((*entries, *extra), Effect.DENY, dialect(host, workspace), Reason.UNAVAILABLE)


def _spawn_entries(host: Host, done: Registered) -> Iterator[Entry]:
    """Yield a rule for each agent that the host may start."""
    spawn = host.profile.spawn_tool
    for persona in done.personas:
        place = persona.span.place if persona.span else None
        pattern = Pattern.exactly(persona.name)
        yield Entry(spawn, Effect.ALLOW, pattern, rule=f"{spawn}({persona.name})", place=place)
    if done.snapshot is not None:
        yield Entry(spawn, Effect.ALLOW, rule=SUB_AGENT)


def _named(host: Host, persona: Persona) -> RuleSet:
    """Return the list of a persona: exact names and no more."""
    spans = ((tool, persona.span_of(tool)) for tool in persona.tool_names)
    places = ((tool, span.place if span else None) for tool, span in spans)
    entries = tuple(Entry(tool, Effect.ALLOW, rule=tool, place=place) for tool, place in places)
    return RuleSet(entries, Effect.DENY, dialect(host, host.workspace), Reason.UNAVAILABLE)


def declared_reading(host: Host, done: Registered) -> DeclaredReading:
    """Return the reading in which the pools of the host bound every agent."""
    links = (host.name,)
    use = _pool(host, (*done.tools, *done.server_tools), _spawn_entries(host, done))
    pools = _pool(host, (*done.tools, *done.sub_agent_tools))
    own, handed_on = (Ceiling.of([LinkedRules(rules, links)]) for rules in (use, pools))
    tables = {host.name: Table(own, handed_on, Bounds(depth=1))}
    for persona in done.personas:
        tables[persona.name] = Table.of(_named(host, persona), link=persona.name)
    if done.snapshot is not None:
        kept = [tool for tool in done.tools if tool.name in done.snapshot]
        tables[SUB_AGENT] = Table.of(_pool(host, kept), link=SUB_AGENT)
    spawn = host.profile.spawn_tool
    return DeclaredReading(tables, spawn_call=lambda agent: (spawn, {"name": agent}))


def enforced_reading(host: Host, done: Registered) -> EnforcedReading:
    """Return what the host does: as declared, but for agents with a folder of their own.

    Each start of such an agent gets a new folder, and its tools open files only there.
    """
    declared = declared_reading(host, done)

    def step(parent: Link, agent: str) -> Link:
        if parent.depth:
            raise SpawnDenied(agent, parent.name, "depth")
        link = declared.step(parent, agent)
        persona = next((p for p in done.personas if p.name == agent), None)
        if persona is None or not persona.needs_temp_workspace:
            return link
        pools = _pool(host, (*done.tools, *done.sub_agent_tools), temp=True)
        named = evolve(_named(host, persona), dialect=pools.dialect)
        parts = [LinkedRules(pools, (host.name,)), LinkedRules(named, (agent,))]
        return evolve(link, table=Table(Ceiling.of(parts), bounds=link.table.bounds))

    return EnforcedReading(declared.agents, declared.start, step, declared.spawn_call)
