"""A project as definitions of Zeph: lists of tools, since Zeph sees no more of a call.

A tool of which only some calls are allowed, or asked for, is left out. The agent
that starts the others is a definition as well: what the session itself may do
is in no file that is written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from policy.core.effect import Effect
from policy.hosts.names import constants, least, one_line, renamed, spoken
from policy.hosts.project import Dropped, Portable, PortableAgent, WrittenFiles
from policy.hosts.zeph.definition import AllowList, SubAgentDef
from policy.hosts.zeph.names import normalize
from policy.hosts.zeph.tables import MAIN
from policy.hosts.zeph.writing import serialize_to_markdown
from policy.tables.chain import SPAWN_TOOL

__all__ = ["WRITER"]

_COUNTERPARTS: Final = {
    "bash": "Bash",
    "read": "Read",
    "write": "Write",
    "edit": "Edit",
    "find_path": "Glob",
    "grep": "Grep",
    "list_directory": "LS",
    "fetch": "WebFetch",
    "web_search": "WebSearch",
    "invoke_skill": "Skill",
    SPAWN_TOOL: SPAWN_TOOL,
}
_THEIRS: Final = spoken(_COUNTERPARTS)

# Zeph has no list of agents that one may start, and whoever is started begins to count
# their depth anew; so an agent is started by a person, from the session.
_CONFIG: Final = """\
[agents]
enabled = true
delegation_mode = "explicit_request_only"
max_spawn_depth = 1
"""


@attrs.frozen
class _Writer:
    counterparts: Mapping[str, str] = attrs.field(factory=lambda: dict(_COUNTERPARTS))
    carried: frozenset[str] = frozenset(
        "name description tools tools.allow tools.deny tools.except permissions"
        " permissions.permission_mode memory agents agents.max_spawn_depth"
        " agents.default_disallowed_tools agents.default_permission_mode".split()
    )

    def knows(self, tool: str) -> bool:
        """Return whether there is a counterpart."""
        return tool in _THEIRS

    def write(self, portable: Portable) -> WrittenFiles:
        """Return a definition for each agent, and a configuration by which they start nobody."""
        names = renamed(portable, [MAIN])
        files = {}
        for agent in portable.agents:
            definition = SubAgentDef(
                name=names[agent.name],
                description=one_line(agent),
                tools=AllowList(tuple(_tools(agent))),
                system_prompt=agent.prompt.strip(),
            )
            files[f".zeph/agents/{names[agent.name]}.md"] = serialize_to_markdown(definition)
        files["config/default.toml"] = _CONFIG
        dropped = (Dropped("what the session itself may do; the agents that it starts are bound"),)
        return WrittenFiles(files, names, (MAIN,), dropped)


def _tools(agent: PortableAgent) -> list[str]:
    found = [
        theirs
        for _, theirs, said in constants(agent, _THEIRS)
        # A name in another case would be that of a tool that Zeph does not have.
        if least(said) is Effect.ALLOW and theirs == normalize(theirs)
    ]
    return [name for name in found if "*" not in name and name != "task"]


WRITER: Final = _Writer()
