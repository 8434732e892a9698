"""How a session is started, which the files of a project do not say."""

from __future__ import annotations

from collections.abc import Mapping

from policy.core.source import Source
from policy.core.values import field, frozen
from policy.files.trees import Tree
from policy.hosts.claude.data.tools import server_name

# The version whose behaviour was measured.
VERSION = "2.1.329"

# Tools of MCP servers, by server; None is not known, so all may be there.
Servers = Mapping[str, tuple[str, ...]] | None


def _as_called(servers: Servers) -> Servers:
    if servers is None:
        return None
    return {server_name(name): tuple(map(server_name, each)) for name, each in servers.items()}


@frozen
class ClaudeOptions:
    """How a session is started."""

    mode: str | None = None  # permission mode; None is the one of the settings
    cwd: str = ""  # working folder, absolute; "" is the folder of the project, whatever its name
    home: str = ""  # home folder, absolute; "" is whatever it is
    trusted: bool = True  # whether the user said that they trust the folder
    local_tracked: bool = False  # whether the local settings are in version control
    main_agent: str = ""  # the agent that a session is started as, or ""
    # Levels of agents below the main conversation; None is that of the host.
    depth: int | None = None
    # Whether agents run in the background; None is the default: those of the main conversation.
    background: bool | None = None
    user: Source | None = None  # user settings
    managed: Source | None = None  # settings of an administrator
    # The folder, relative to the tree, in which a session is started; None is each that has files
    # of the host.
    start: str | None = None
    # ``.claude`` of the main checkout, or no files, where the tree is a linked worktree.
    main_files: Tree | None = field(default=None, hash=False)
    # ``.claude`` of the folders above a folder that is in no checkout.
    above_files: tuple[Tree, ...] = field(default=(), hash=False)
    # The folder of a user, ``~/.claude``: its settings, agents and skills count in every project.
    user_files: Tree | None = field(default=None, hash=False)
    # The folder of an administrator, e.g. ``/etc/claude-code``.
    managed_files: Tree | None = field(default=None, hash=False)
    command_line: Source | None = None  # rules given as flags, as settings
    # The file given as settings, whose name is its path where that is known: absolute, so that
    # edits of it are asked for.
    flag: Source | None = None
    flag_folder: str = ""  # the folder of that file, absolute
    servers: Servers = field(default=None, hash=False, converter=_as_called)
    configured: tuple[str, ...] = ()  # names of servers that a file of the project configures
    interactive: tuple[str, ...] = ()  # tools whose server wants the user asked each time
    # Hosts fetched from without asking; None is those of the host.
    preapproved: tuple[str, ...] | None = None
    # Files that are links -> their targets, absolute.
    links: Mapping[str, str] = field(factory=dict, hash=False)
    # Other names of skills, and the skill that each is.
    aliases: Mapping[str, str] = field(factory=dict, hash=False)
    # Whether there may be agents that no file here defines, e.g. of plugins.
    unknown_agents: bool = False
    active_skill: str = ""  # the skill whose lists hold in this turn, or ""
    # Whether commands run in a sandbox that auto-allows them (documented, not observed). No file
    # tells whether a machine has one: chains that start with ``main in a sandbox`` show what
    # settings that switch it on allow there.
    sandboxed: bool = False

    def in_background(self, depth: int) -> bool:
        """Return whether agents at *depth* below the main conversation run in the background."""
        if self.background is None:
            return depth == 1
        return self.background
