"""Writes a project as definitions of Zeph.

Zeph decides by lists of tools, so a tool is left out if only some of its calls are allowed. The
root becomes a definition too, since these files do not contain the session.
"""

from __future__ import annotations

from typing import Final

from policy.core.effect import Effect
from policy.hosts.portable import Dropped, Portable, PortableAgent, Writer, WrittenFiles
from policy.hosts.zeph.definition import (
    TOOLS,
    SubAgentDef,
    ToolPolicy,
    normalize,
    serialize_to_markdown,
)
from policy.hosts.zeph.spawning import MAIN

# Zeph has no list of the agents that an agent may start, and counts depth anew at each start. So
# only a person may start agents, from the session.
_CONFIG: Final = """\
[agents]
enabled = true
delegation_mode = "explicit_request_only"
max_spawn_depth = 1
"""


def _write(portable: Portable) -> WrittenFiles:
    """Return a definition for each agent, and a configuration that lets them start none."""
    names = portable.renamed([MAIN])
    files = {}
    for agent in portable.agents:
        definition = SubAgentDef(
            name=names[agent.name],
            description=agent.one_line,
            tools=ToolPolicy(tuple(_allowed_tools(agent))),
            system_prompt=agent.prompt.strip(),
        )
        files[f".zeph/agents/{names[agent.name]}.md"] = serialize_to_markdown(definition)
    files["config/default.toml"] = _CONFIG
    dropped = (Dropped("what the session itself may do; the agents that it starts are bound"),)
    return WrittenFiles(files, names, (MAIN,), dropped)


def _allowed_tools(agent: PortableAgent) -> list[str]:
    found = [
        theirs
        for _, theirs, tool_rules in agent.host_tools(WRITER.counterparts)
        # Zeph has no tool with capital letters.
        if tool_rules.least is Effect.ALLOW and theirs == normalize(theirs)
    ]
    return [name for name in found if "*" not in name and name != "task"]


WRITER: Final = Writer(TOOLS["counterparts"], frozenset(TOOLS["carried"]), _write)
