"""Front ends: each reads the files of one host and states how it decides."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import attrs

from policy.core.errors import PolicyError
from policy.files.opening import Folder
from policy.hosts.on_demand import ON_DEMAND
from policy.hosts.project import FrontEnd

__all__ = ["FRONT_ENDS", "front_ends"]

# In the order of their names.
FRONT_ENDS: tuple[FrontEnd, ...] = ON_DEMAND


def front_ends(
    profiles: Collection[str] = (), user: str = "", managed: str = ""
) -> tuple[FrontEnd, ...]:
    """Return who reads, each host as the version that one of *profiles* names.

    Args:
        profiles: such as ``claude-code@2.1.240``; the last one of a host counts.
        user: the folder of a user, e.g. ``~/.claude``; "" is not read.
        managed: the folder of an administrator, e.g. ``/etc/claude-code``; likewise.

    Raises:
        PolicyError: a profile names no host whose version can be chosen, or no version,
            or a folder is none.

    """
    if not (profiles or user or managed):
        return FRONT_ENDS
    from policy.hosts import claude  # noqa: PLC0415  # loaded where it is needed

    options = claude.ClaudeOptions(
        user_files=_folder(user, claude.OF_USERS),
        managed_files=_folder(managed, claude.OF_ADMINISTRATORS),
    )
    for profile in profiles:
        host, _, version = profile.partition("@")
        if host != claude.HOST:
            msg = f"expected a host and its version, found `{profile}`"
            raise PolicyError(msg, help=f"write `{claude.HOST}@{claude.VERSION}`")
        try:
            options = attrs.evolve(options, version=version)
        except ValueError as error:
            raise PolicyError(str(error)) from None
    if options == claude.ClaudeOptions():
        return FRONT_ENDS
    chosen = claude.ClaudeFrontEnd(options)
    return tuple(chosen if each.HOST == chosen.HOST else each for each in FRONT_ENDS)


def _folder(text: str, top: frozenset[str]) -> Folder | None:
    if text and not Path(text).expanduser().is_dir():
        raise PolicyError("expected a folder", file=text)
    # Links lead where whoever keeps the folder wants: often to another one for all such files.
    return Folder(Path(text).expanduser(), follows=True, top=top) if text else None
