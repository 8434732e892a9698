"""What each agent of a host may do, as tables: two pools, one of which is only handed on.

The host may use its own tools and may delegate both pools; a persona is a list
of names out of them. The tools are the same ones, so the folders they may open
and whoever confirms them are the same too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import attrs

from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.hosts.pikuri.host import (
    Confirmer,
    Filesystem,
    Host,
    Persona,
    Registered,
    Tool,
    Workspace,
)
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Gap
from policy.tables.chain import Attenuated, Link, SpawnDenied
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Bounds, Ceiling, Part, Table

__all__ = ["FILES", "SUB_AGENT", "PikuriDeclared", "PikuriEnforced", "declared_reading", "dialect"]

# The folder that is made for one start of an agent, and removed behind it.
TEMP: Final = "/@temp"
SUB_AGENT: Final = "sub_agent"

_READING: Final = frozenset({"read", "grep", "glob", "file_list"})
_WRITING: Final = frozenset({"write", "edit"})

# The tools that the folders of a workspace bound.
FILES: Final = _READING | _WRITING
_PATH: Final = Argument(ArgumentKind.PATH, ("path", "file_path"))
_FOLDER: Final = Argument(ArgumentKind.PATH, ("path",), absent=".")


def dialect(host: Host, workspace: Workspace | None) -> Dialect:
    """Return how the host names tools and reads calls: names are exact."""
    plain = Dialect(
        str(host.profile),
        arguments={
            "read": _PATH,
            "write": _PATH,
            "edit": _PATH,
            "grep": _FOLDER,
            "glob": _FOLDER,
            "file_list": _FOLDER,
            "bash": Argument(ArgumentKind.TEXT, ("command",)),
            host.profile.spawn_tool: Argument(ArgumentKind.TEXT, ("name",)),
        },
    )
    if not isinstance(workspace, Filesystem):
        return plain
    links = tuple(sorted((link, to.rstrip("/")) for link, to in workspace.links.items()))
    return attrs.evolve(plain, cwd=workspace.project_root.rstrip("/"), links=links)


def _tool_entries(tool: Tool, workspace: Workspace | None, confirmer: Confirmer) -> Iterator[Entry]:
    """Yield the lines of one tool, as whoever holds it has it."""
    name, place = tool.name, tool.span.place if tool.span else None
    asked = Effect.ALLOW if confirmer is Confirmer.AUTO_APPROVE else Effect.ASK
    effect = asked if name in {"bash", "write"} else Effect.ALLOW
    if not isinstance(workspace, Filesystem) or name not in FILES:
        yield Entry(name, effect, rule=name, place=place)
        return
    for root in workspace.roots(write=name in _WRITING):
        pattern = Pattern.of(PatternKind.PATH, [root.rstrip("/"), Gap.DEEP])
        below = f"{name}({root.rstrip('/')}/**)"
        yield Entry(name, effect, pattern, rule=below, place=place)
    yield Entry(name, Effect.DENY, rule=f"{name} (elsewhere)", place=place)


def _rules(
    host: Host, tools: Iterable[Tool], extra: Iterable[Entry] = (), *, temp: bool = False
) -> RuleSet:
    workspace = Filesystem(TEMP) if temp else host.workspace
    lines = [line for tool in tools for line in _tool_entries(tool, workspace, host.confirmer)]
    return RuleSet((*lines, *extra), Effect.DENY, dialect(host, workspace), Reason.UNAVAILABLE)


def _starting(host: Host, done: Registered) -> Iterator[Entry]:
    """Yield a line for each agent that the host may start."""
    spawn = host.profile.spawn_tool
    for persona in done.personas:
        place = persona.span.place if persona.span else None
        pattern = Pattern.exactly(persona.name)
        yield Entry(spawn, Effect.ALLOW, pattern, rule=f"{spawn}({persona.name})", place=place)
    if done.snapshot is not None:
        yield Entry(spawn, Effect.ALLOW, rule=SUB_AGENT)


def _named(host: Host, persona: Persona) -> RuleSet:
    """Return the list of a persona: exact names and no more."""
    lines = []
    for tool in persona.tool_names:
        span = persona.span_of(tool)
        place = span.place if span else None
        lines.append(Entry(tool, Effect.ALLOW, rule=tool, place=place))
    return RuleSet(tuple(lines), Effect.DENY, dialect(host, host.workspace), Reason.UNAVAILABLE)


@attrs.frozen(slots=False)
class PikuriDeclared(Attenuated):
    """The attenuated reading, whose agents are started by the host's own tool."""

    host: Host = attrs.field(kw_only=True, eq=False)

    def spawn_call(self, agent: str) -> tuple[str, dict[str, object]]:
        """Return the call that starts *agent*."""
        return self.host.profile.spawn_tool, {"name": agent}


def declared_reading(host: Host, done: Registered) -> PikuriDeclared:
    """Return the reading in which every agent is bound by the pools of the host."""
    links = (host.name,)
    use = _rules(host, (*done.tools, *done.server_tools), _starting(host, done))
    pools = _rules(host, (*done.tools, *done.sub_agent_tools))
    tables = {
        host.name: Table(
            Ceiling.of([Part(use, links)]), Ceiling.of([Part(pools, links)]), Bounds(depth=1)
        )
    }
    for persona in done.personas:
        tables[persona.name] = Table.of(_named(host, persona), link=persona.name)
    if done.snapshot is not None:
        kept = [tool for tool in done.tools if tool.name in done.snapshot]
        tables[SUB_AGENT] = Table.of(_rules(host, kept), link=SUB_AGENT)
    return PikuriDeclared(tables, host=host)


@attrs.frozen(slots=False)
class PikuriEnforced:
    """What the host does: as declared, but for agents with a folder of their own.

    Where each start has a new folder, its tools open files there and nowhere else.
    """

    declared: PikuriDeclared
    done: Registered
    name: str = "enforced"

    @property
    def agents(self) -> tuple[str, ...]:
        """Every agent that can be a link."""
        return self.declared.agents

    def spawn_call(self, agent: str) -> tuple[str, dict[str, object]]:
        """Return the call that starts *agent*."""
        return self.declared.spawn_call(agent)

    def start(self, agent: str) -> Link:
        """Return the first link."""
        return self.declared.start(agent)

    def step(self, parent: Link, agent: str) -> Link:
        """Return the link behind *parent*, which is the host itself."""
        if parent.depth:
            raise SpawnDenied(agent, parent.name, "depth")
        link = self.declared.step(parent, agent)
        persona = next((p for p in self.done.personas if p.name == agent), None)
        if persona is None or not persona.needs_temp_workspace:
            return link
        host = self.declared.host
        pools = _rules(host, (*self.done.tools, *self.done.sub_agent_tools), temp=True)
        named = attrs.evolve(_named(host, persona), dialect=pools.dialect)
        parts = [Part(pools, (host.name,)), Part(named, (agent,))]
        return attrs.evolve(link, table=Table(Ceiling.of(parts), bounds=link.table.bounds))
