"""Which tools an agent has: those of the host, and those that its own lists declare.

The *enforced* pool is what 2.1.329 was observed to give: specifiers are dropped, a memory adds
tools, and a list of types counts only in the agent that the session is started as, for all agents.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policy.core.decision import EVERY_TOOL, Reason
from policy.core.effect import Effect
from policy.core.source import Place
from policy.core.values import evolve, frozen
from policy.hosts.claude.agents import Definition, content_of, tool_of
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.paths import Anchors
from policy.hosts.claude.rules import RuleScope, agent_pattern, read_rule
from policy.hosts.claude.session import ClaudeSession
from policy.hosts.fields import DeclaredTools, Presence
from policy.language.syntax import Agents
from policy.patterns.notations import names
from policy.patterns.pattern import Pattern, is_glob
from policy.tables.dialect import Dialect
from policy.tables.ruleset import Entry, RuleSet


@frozen
class PoolPosition:
    """What decides which tools an agent has, in addition to its definition."""

    main: bool  # whether it is the main conversation
    plans: bool = False  # whether its definition says that it plans
    background: bool = True  # whether it runs in the background
    may_start: bool = True  # whether agents may follow below it
    # Whether agents that it starts may start others, where that decides which start.
    leads_on: bool = True
    # The agents that may be started in the whole session; None is all.
    types: tuple[str, ...] | None = None


_SERVERS: Final = "mcp__*"


def _tool_glob(name: str) -> str | None:
    """Return the glob that ``mcp__server`` stands for in a list of tools."""
    if not name.startswith("mcp__"):
        return None
    server, _, tool = name.removeprefix("mcp__").partition("__")
    if "*" not in server and server and tool in ("", "*"):
        return f"mcp__{server}__*"
    return None


def _everything(listed: DeclaredTools) -> bool:
    return any(matcher.tool == "*" and matcher.specifier is None for matcher in listed.matchers)


def pool(
    definition: Definition, session: ClaudeSession, position: PoolPosition, dialect: Dialect
) -> RuleSet:
    """Return the tools the host gives an agent at *position*: every call of them, or none."""
    entries = [*session.cached("taken away", lambda: tuple(_taken_away(session)))]
    entries += (
        Entry(tool, Effect.DENY, reason=Reason.UNAVAILABLE, rule=rule, place=place)
        for tool, rule, place in _removed(definition)
    )
    # The tools of servers that only other agents bring along.
    there = {*definition.servers, *(session.options.servers or ())}
    for other in session.agents.values():
        for glob in (f"mcp__{server}__*" for server in other.servers if server not in there):
            place, reason = other.place, Reason.UNAVAILABLE
            entries.append(Entry(glob, Effect.DENY, reason=reason, rule=glob, place=place))
    # The denials come first, so a memory gives back no tool that they take away.
    memory = known.MEMORY_TOOLS if definition.memory else ()
    available = _available(session.named, position)
    for tool, rule, place in _listed(definition):
        if tool in available or tool in memory:
            types = position.types if tool == "Agent" else None
            entries += _types(types, Entry(tool, Effect.ALLOW, rule=rule, place=place), session)
        elif tool.startswith("mcp__"):
            offered = _of_servers(tool, session)
            entries += (Entry(name, Effect.ALLOW, rule=rule, place=place) for name in offered)
    entries += (Entry(tool, Effect.ALLOW, rule="memory", place=definition.place) for tool in memory)
    return RuleSet(tuple(entries), Effect.DENY, dialect, Reason.UNAVAILABLE)


def _taken_away(session: ClaudeSession) -> Iterator[Entry]:
    """Yield denials of the tools that a rule takes away from every agent.

    If the servers are unknown, rules for some of their tools are left to the rule sets.
    """
    servers = session.options.servers is not None
    for entry in session.removing:
        matches = names(entry.tool).matches
        if is_glob(entry.tool):
            if matches(_SERVERS) or (servers and entry.tool.startswith(("mcp__", "*"))):
                yield evolve(entry, tool=_SERVERS if entry.tool == "*" else entry.tool)
            taken = (n for n in sorted(session.named) if matches(n) and session.is_removed(n))
            yield from (evolve(entry, tool=name) for name in taken)
        elif (servers or entry.tool in session.named) and session.is_removed(entry.tool):
            yield entry


def _available(tools: frozenset[str], position: PoolPosition) -> frozenset[str]:
    if position.main:
        return tools
    kept = tools - known.NEVER_BELOW
    if position.plans:
        kept |= tools & {"ExitPlanMode"}
    if position.background:
        kept &= known.BACKGROUND
    return kept if position.may_start else kept - {"Agent"}


def _of_servers(tool: str, session: ClaudeSession) -> Iterator[str]:
    """Yield *tool*, or the tools of servers that it matches if those are known."""
    servers = session.options.servers
    if servers is None:
        yield tool
        return
    known_names = (f"mcp__{server}__{name}" for server, names in servers.items() for name in names)
    yield from filter(Pattern.text(tool).matches, known_names)


_Tool = tuple[str, str, Place | None]


def _removed(definition: Definition) -> Iterator[_Tool]:
    if _everything(definition.disallowed):
        return  # with a star in the list, no entry takes anything away
    for matcher in definition.disallowed.matchers:
        name = tool_of(matcher)
        rule, place = str(matcher), matcher.span.place
        glob = _tool_glob(name)
        if name == _SERVERS or glob:
            yield glob or name, rule, place
        elif "*" not in name:
            yield name, rule, place
            if name == "Bash":  # what is monitored is a command
                yield "Monitor", rule, place


def _listed(definition: Definition) -> Iterator[_Tool]:
    tools = definition.tools
    if tools.presence is Presence.ABSENT or _everything(tools):
        for name in sorted(known.NAMES):
            yield name, EVERY_TOOL, definition.place
        yield _SERVERS, EVERY_TOOL, definition.place
        return
    for matcher in tools.matchers:
        name = tool_of(matcher)
        glob = _tool_glob(name)
        if glob or "*" not in name:
            yield glob or name, str(matcher), matcher.span.place


def _types(types: tuple[str, ...] | None, entry: Entry, session: ClaudeSession) -> Iterator[Entry]:
    """Yield the entry of a tool; of the tool that starts agents, one for each type of its list."""
    if types is None:
        yield entry
        return
    # Names are compared as written, in calls too, and an unknown type starts nothing.
    for name in types:
        if name in session.agents:
            yield evolve(entry, pattern=Pattern.exactly(name))
    other = evolve(entry, effect=Effect.DENY, pattern=Pattern.text("*"), field="subagent_type")
    yield evolve(other, reason=Reason.DEFAULT)
    # A call without a type is an error.
    yield evolve(entry, effect=Effect.DENY, reason=Reason.MALFORMED)


def has_no_tools(definition: Definition, session: ClaudeSession, position: PoolPosition) -> bool:
    """Return whether the host refuses to start the agent since nothing in its list is a tool."""
    if definition.tools.presence is not Presence.LISTED or _everything(definition.tools):
        return False
    if definition.memory:
        return False
    available = _available(session.offered, position)
    taken = [Pattern.text(tool) for tool, _, _ in _removed(definition)]
    found = (
        name
        for tool, _, _ in _listed(definition)
        for name in (_of_servers(tool, session) if tool.startswith("mcp__") else available & {tool})
        if not session.is_removed(name)
    )
    return not any(all(not pattern.matches(name) for pattern in taken) for name in found)


def declared(
    definition: Definition, session: ClaudeSession, dialect: Dialect
) -> tuple[RuleSet, ...]:
    """Return what the two lists of an agent declare, call by call."""
    cwd = session.options.cwd
    anchors = Anchors(cwd, session.options.home, cwd)
    scope = RuleScope(anchors, frozenset(session.agents))
    sets = []
    tools, disallowed = definition.tools, definition.disallowed
    # A list of tools is not about the files of commands, except those that they write.
    of_commands = known.INNER - {known.REDIRECT_OUT}
    if tools.presence is not Presence.ABSENT and not _everything(tools):
        entries = list(_declared(tools, Effect.ALLOW, scope))
        entries += (Entry(name, Effect.ALLOW, rule="a command") for name in sorted(of_commands))
        if any(entry.tool in ("Edit", "Write") and entry.pattern is None for entry in entries):
            entries.append(Entry(known.REDIRECT_OUT, Effect.ALLOW, rule="a command"))
        sets.append(RuleSet(tuple(entries), Effect.DENY, dialect, Reason.UNAVAILABLE))
    if disallowed.presence is Presence.LISTED:
        denied = tuple(_declared(disallowed, Effect.DENY, scope))
        sets.append(RuleSet(denied, Effect.ALLOW, dialect))
    elif disallowed.presence is Presence.ILL_TYPED:
        sets.append(RuleSet((), Effect.DENY, dialect, Reason.UNAVAILABLE))
    return tuple(sets)


def _declared(listed: DeclaredTools, effect: Effect, scope: RuleScope) -> Iterator[Entry]:
    for matcher in listed.matchers:
        name, place = tool_of(matcher), matcher.span.place
        text = content_of(matcher)
        if name == "Agent" and text:
            names = matcher.specifier.names if isinstance(matcher.specifier, Agents) else (text,)
            for agent in names:
                yield Entry(name, effect, agent_pattern(agent), rule=str(matcher), place=place)
        elif not text or "*" in name or name.startswith("mcp__"):
            reason = Reason.UNAVAILABLE if effect is Effect.DENY else Reason.RULE
            yield Entry(_tool_glob(name) or name, effect, None, "", reason, str(matcher), place)
        else:
            lines = read_rule(str(matcher), matcher.span, effect, scope).lines
            if not lines and effect is Effect.DENY:
                # If no line can tell the calls apart, all of them are denied.
                yield Entry(name, effect, rule=str(matcher), place=place)
            yield from (line.entry for line in lines)
