"""How a session is started, which the files of a project do not say."""

from __future__ import annotations

from collections.abc import Mapping

from policy.core.source import Source
from policy.core.values import field, frozen
from policy.files.opening import Tree
from policy.hosts.claude.data.tools import server_name

__all__ = ["VERSION", "ClaudeOptions"]

# The version whose behaviour was measured.
VERSION = "2.1.329"


def _as_called(
    servers: Mapping[str, tuple[str, ...]] | None,
) -> Mapping[str, tuple[str, ...]] | None:
    if servers is None:
        return None
    return {server_name(name): tuple(map(server_name, each)) for name, each in servers.items()}


@frozen
class ClaudeOptions:
    """How a session is started.

    Attributes:
        mode: permission mode; None is the one of the settings.
        cwd: working folder, absolute; "" is the folder of the project, whatever its name.
        home: home folder, absolute; "" is whatever it is.
        trusted: whether the user said that they trust the folder.
        local_tracked: whether the local settings are in version control.
        main_agent: the agent that a session is started as, or "".
        depth: levels of agents below the main conversation; None is that of the host.
        background: whether agents are started in the background; None is as the host
            does by default, which is not for those that agents start.
        user: user settings.
        managed: settings of an administrator.
        user_files: the folder of a user, ``~/.claude``, whose settings, agents and skills
            count beside those of a project.
        start: the folder, relative to the tree, in which a session is started; None is each that
            has files of the host.
        main_files: ``.claude`` of the main checkout, where the tree is a linked worktree.
        above_files: ``.claude`` of the folders above a folder that is in no checkout.
        managed_files: the folder of an administrator, e.g. ``/etc/claude-code``.
        command_line: rules given as flags, as settings.
        flag: the file given as settings, whose name is its path where that is known: absolute,
            so that edits of it are asked for.
        flag_folder: the folder of that file, absolute.
        servers: tools of MCP servers, by server; None is not known, so all may be there.
        configured: names of servers that a file of the project configures.
        interactive: tools whose server wants the user asked each time.
        preapproved: hosts fetched from without asking; None is those of the host.
        links: files that are links, and what each leads to, absolute.
        aliases: other names of skills, and the skill that each is.
        unknown_agents: whether there may be agents that no file here defines, e.g. of plugins.
        active_skill: the skill whose lists hold in this turn, or "".
        sandboxed: whether commands run in a sandbox that auto-allows them (documented, not
            observed). No file tells whether a machine has one: chains that start with
            ``main+sandbox`` show what settings that switch it on allow there.
    """

    mode: str | None = None
    cwd: str = ""
    home: str = ""
    trusted: bool = True
    local_tracked: bool = False
    main_agent: str = ""
    depth: int | None = None
    background: bool | None = None
    user: Source | None = None
    managed: Source | None = None
    start: str | None = None
    main_files: Tree | None = field(default=None, hash=False)
    above_files: tuple[Tree, ...] = field(default=(), hash=False)
    user_files: Tree | None = field(default=None, hash=False)
    managed_files: Tree | None = field(default=None, hash=False)
    command_line: Source | None = None
    flag: Source | None = None
    flag_folder: str = ""
    servers: Mapping[str, tuple[str, ...]] | None = field(
        default=None, hash=False, converter=_as_called
    )
    configured: tuple[str, ...] = ()
    interactive: tuple[str, ...] = ()
    preapproved: tuple[str, ...] | None = None
    links: Mapping[str, str] = field(factory=dict, hash=False)
    aliases: Mapping[str, str] = field(factory=dict, hash=False)
    unknown_agents: bool = False
    active_skill: str = ""
    sandboxed: bool = False

    def in_background(self, depth: int) -> bool:
        """Return whether agents at *depth* below the main conversation run in the background."""
        if self.background is None:
            return depth == 1
        return self.background
