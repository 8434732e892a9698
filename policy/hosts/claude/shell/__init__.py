"""How Claude Code reads shell commands; README.md tells which module does what."""

from __future__ import annotations

from policy.commands.knowledge import Shell
from policy.commands.parts import Command
from policy.core.values import frozen
from policy.hosts.claude.shell.outcomes import CommandRules
from policy.hosts.claude.shell.powershell import read_powershell
from policy.hosts.claude.shell.scripts import read_whole

__all__ = ["CommandRules", "Reader", "read_powershell"]


@frozen
class Reader:
    """Reads commands as the version and the mode of a `Shell` do."""

    shell: Shell

    def read(self, text: str) -> Command:
        """Return the parts of a command and the files it opens. Never fails."""
        return read_whole(text, self.shell)
