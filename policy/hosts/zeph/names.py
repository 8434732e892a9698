"""Names of tools: how Zeph compares them, and those it ships.

A name ends before its first parenthesis, blanks around it do not count, nor
does its case. Nothing else is the same: there are no aliases, namespaces or
wildcards in the lists of an agent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from policy.dialect import BLANKS

__all__ = [
    "EDITING",
    "KNOWN",
    "NETWORK",
    "PEERS",
    "QUARANTINED",
    "READ_ONLY",
    "SHELLS",
    "WORKING_DIRECTORY",
    "intersect_allowlists",
    "normalize",
]

# What a memory lets an agent do with its files.
EDITING: Final = ("read", "write", "edit")

# What an agent in a worktree of its own may not call.
WORKING_DIRECTORY: Final = "set_working_directory"

# Names that people write for the shell, whose id is `bash`.
SHELLS: Final = frozenset({"shell", "sh", "zsh", "terminal"})

# The tools that autonomy `readonly` leaves.
READ_ONLY: Final = (
    "read",
    "find_path",
    "grep",
    "list_directory",
    "web_scrape",
    "fetch",
    "load_skill",
    "invoke_skill",
)

# What is denied in quarantine. `web_search` is not among them.
QUARANTINED: Final = (
    "bash",
    "write",
    "edit",
    "delete_path",
    "move_path",
    "copy_path",
    "create_directory",
    "web_scrape",
    "fetch",
    "diagnostics",
    "memory_save",
    "load_skill",
    "invoke_skill",
)

# The tools that do nothing but reach the network.
NETWORK: Final = ("web_scrape", "fetch", "web_search")

# What every agent of a group gets to talk to the others.
PEERS: Final = ("send_peer_message", "check_messages", "list_peers")

KNOWN: Final = frozenset({*READ_ONLY, *QUARANTINED, *NETWORK, *PEERS, *EDITING, WORKING_DIRECTORY})


def normalize(name: str) -> str:
    """Return the id that *name* stands for, e.g. ``bash`` for ``Bash(cargo *)``."""
    return name.partition("(")[0].strip(BLANKS).lower()


def intersect_allowlists(
    one: Iterable[str] | None, other: Iterable[str] | None, *, exactly: bool = False
) -> frozenset[str] | None:
    """Return what both lists allow; None is no restriction, unlike an empty list.

    Args:
        one: a list of tools, or None.
        other: likewise.
        exactly: whether names are compared as written, as Zeph does here, so
            that a difference in case leaves no tool.

    """
    if one is None or other is None:
        given = one if other is None else other
        return None if given is None else frozenset(given)
    if exactly:
        return frozenset(one) & frozenset(other)
    wanted = set(map(normalize, other))
    return frozenset(name for name in one if normalize(name) in wanted)
