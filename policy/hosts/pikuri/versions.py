"""Versions of Pikuri: what delegation is called, and who is shipped."""

from __future__ import annotations

from typing import Final

import attrs

from policy.hosts.version import Version, version_of, version_text

__all__ = ["NEWEST", "SPAWN_NAMES", "Profile"]

# The tool that starts agents, host by host: one capability under several names.
SPAWN_NAMES: Final = {
    "pikuri": "agent",
    "pikuri<=0.0.3": "sub_agent",
    "claude-code": "Task",
    "a3s": "task",
}


@attrs.frozen
class Profile:
    """One version, and what differs in it."""

    version: Version = (0, 1, 0)

    @classmethod
    def of(cls, text: str) -> Profile:
        """Return the profile of ``0.0.7``, ``pikuri@0.1`` or the like.

        Raises:
            ValueError: *text* is no version.

        """
        return cls(version_of(text, "pikuri", "0.1"))

    def __str__(self) -> str:
        return version_text("pikuri", self.version)

    @property
    def has_personas(self) -> bool:
        """Whether there are personas; before, one sub-agent had all tools of its parent."""
        return self.version >= (0, 0, 4)

    @property
    def lists_files(self) -> bool:
        """Whether the bundled file miner has ``file_list``."""
        return self.version >= (0, 1, 0)

    @property
    def has_temp_workspaces(self) -> bool:
        """Whether a persona may have a workspace of its own."""
        return self.version >= (0, 1, 0)

    @property
    def spawn_tool(self) -> str:
        """The name of the tool that starts agents."""
        return SPAWN_NAMES["pikuri" if self.has_personas else "pikuri<=0.0.3"]


NEWEST: Final = Profile()
