"""Writes a project as a host of Pikuri: two pools of tools, and personas that name some of them.

An agent that holds a tool may make any call of it; every command must be confirmed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from policy.core.effect import Effect
from policy.hosts.portable import (
    Dropped,
    Portable,
    PortableAgent,
    WrittenFiles,
    host_names,
    host_tools,
    least,
    one_line,
    quoted,
    renamed,
)

__all__ = ["WRITER"]

_COUNTERPARTS: Final = {
    "bash": "Bash",
    "read": "Read",
    "write": "Write",
    "edit": "Edit",
    "glob": "Glob",
    "grep": "Grep",
    "file_list": "LS",
    "fetch": "WebFetch",
    "web_search": "WebSearch",
    "agent": "Task",
}
_THEIRS: Final = host_names(_COUNTERPARTS)

# Tools whose calls a person at the terminal confirms.
_CONFIRMED: Final = frozenset({"bash", "write"})


@attrs.frozen
class _Writer:
    counterparts: Mapping[str, str] = attrs.field(factory=lambda: dict(_COUNTERPARTS))
    carried: frozenset[str] = frozenset("pikuri host register confirmer workspace".split())

    def knows(self, tool: str) -> bool:
        """Return whether Pikuri has a counterpart of *tool*."""
        return tool in _THEIRS

    def write(self, portable: Portable) -> WrittenFiles:
        """Return the host, with a persona for each agent that it starts."""
        first = portable.first
        names = renamed(portable)
        started = [
            agent
            for agent in portable.agents[1:]
            if first.starts.get(agent.name, Effect.DENY) is Effect.ALLOW
        ]
        own = _tools(first)
        theirs = {agent.name: _tools(agent) for agent in started}
        others = dict.fromkeys(tool for tools in theirs.values() for tool in tools)
        lines = ['pikuri: "0.1.0"', f"host: {quoted(names[first.name])}", "confirmer: terminal"]
        lines += ["workspace: allow_all", "register:"]
        registered = [f"  - tool: {quoted(tool)}" for tool in own]
        registered += [f"  - sub_agent_tool: {quoted(tool)}" for tool in others if tool not in own]
        for agent in started:
            registered += [] if agent is not started[0] else ["  - personas:"]
            registered += [
                f"      - name: {quoted(names[agent.name])}",
                f"        description: {quoted(one_line(agent))}",
                f"        tool_names: [{', '.join(map(quoted, theirs[agent.name]))}]",
            ]
            if agent.prompt:
                registered.append(f"        system_prompt: {quoted(agent.prompt)}")
        if not registered:
            lines[-1] = "register: []"
        text = "\n".join([*lines, *registered, ""])
        starts = (other for other in portable.starts if other != first.name)
        dropped = [Dropped("starting a chain", name) for name in starts]
        return WrittenFiles({"pikuri.host.yaml": text}, names, dropped=tuple(dropped))


def _tools(agent: PortableAgent) -> list[str]:
    found = []
    for _, theirs, tool_rules in host_tools(agent, _THEIRS):
        wanted = Effect.ASK if theirs in _CONFIRMED else Effect.ALLOW
        if least(tool_rules) >= wanted and theirs.isidentifier():
            found.append(theirs)
    return found


WRITER: Final = _Writer()
