"""Writes a project as a host of Pikuri: two pools of tools, and personas with lists of their names.

An agent that holds a tool may make any call of it; every command must be confirmed.
"""

from __future__ import annotations

from typing import Final

from policy.core.effect import Effect
from policy.hosts.pikuri.host import TOOLS
from policy.hosts.portable import Portable, PortableAgent, Writer, WrittenFiles, quoted

# Tools whose calls a person confirms.
_CONFIRMED: Final = frozenset({"bash", "write"})


def _write(portable: Portable) -> WrittenFiles:
    """Return the file of a host, with a persona for each agent that it starts."""
    first = portable.first
    names = portable.renamed()
    started = [one for one in portable.agents[1:] if first.starts.get(one.name) is Effect.ALLOW]
    own = _tools(first)
    theirs = {agent.name: _tools(agent) for agent in started}
    others = dict.fromkeys(tool for tools in theirs.values() for tool in tools)
    lines = ['pikuri: "0.1.0"', f"host: {quoted(names[first.name])}"]
    lines += ["confirmer: terminal", "workspace: allow_all", "register:"]
    registered = [f"  - tool: {quoted(tool)}" for tool in own]
    registered += [f"  - sub_agent_tool: {quoted(tool)}" for tool in others if tool not in own]
    registered += ["  - personas:"] if started else []
    for agent in started:
        registered += [
            f"      - name: {quoted(names[agent.name])}",
            f"        description: {quoted(agent.one_line)}",
            f"        tool_names: [{', '.join(map(quoted, theirs[agent.name]))}]",
        ]
        if agent.prompt:
            registered.append(f"        system_prompt: {quoted(agent.prompt)}")
    if not registered:
        lines[-1] = "register: []"
    files = {"pikuri.host.yaml": "\n".join([*lines, *registered, ""])}
    return WrittenFiles(files, names, dropped=portable.dropped_starts)


def _tools(agent: PortableAgent) -> list[str]:
    found = []
    for _, theirs, tool_rules in agent.host_tools(WRITER.counterparts):
        wanted = Effect.ASK if theirs in _CONFIRMED else Effect.ALLOW
        if tool_rules.least >= wanted and theirs.isidentifier():
            found.append(theirs)
    return found


WRITER: Final = Writer(TOOLS["counterparts"], frozenset(TOOLS["carried"]), _write)
