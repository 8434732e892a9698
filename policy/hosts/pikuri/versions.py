"""Versions of Pikuri, its tools, the kinds of its errors, and the texts of its findings."""

from __future__ import annotations

import enum
from typing import Final

from policy.hosts.data import FindingTexts, host_table
from policy.hosts.versions import HostVersion, Since

TOOLS: Final = host_table("pikuri", "tools")

# The tool that starts agents, host by host.
SPAWN_NAMES: Final = TOOLS["spawning"]

find: Final = FindingTexts("policy.hosts.pikuri")


class PikuriProfile(HostVersion):
    """One version of Pikuri, and what differs in it."""

    HOST = "pikuri"
    EXAMPLE = "0.1"

    # Personas replace the one sub-agent, which had every tool of its parent.
    has_personas = Since(0, 0, 4)
    # The bundled file miner has `file_list`.
    lists_files = Since(0, 1, 0)
    # A persona may have a workspace of its own.
    has_temp_workspaces = Since(0, 1, 0)

    @property
    def spawn_tool(self) -> str:
        """The name of the tool that starts agents."""
        return str(SPAWN_NAMES["pikuri" if self.has_personas else "pikuri<=0.0.3"])


NEWEST: Final = PikuriProfile((0, 1, 0))


class PikuriErrorKind(enum.Enum):
    """The kinds of errors. The values are a contract: add, never rename."""

    UNKNOWN_TOOL = "unknown_tool_name"
    DUPLICATE_PERSONA = "duplicate_persona"
    RESERVED_TOOL = "reserved_tool"
    UNKNOWN_PERSONA = "unknown_persona"
    NO_AGENT_TOOL = "no_agent_tool"
    INVALID_PERSONA = "invalid_persona"
    INVALID_LEGS = "invalid_legs"
    HOST_FILE = "host_file"
