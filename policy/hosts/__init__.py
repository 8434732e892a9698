"""Front ends: each reads the files of one host and states how it decides."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import attrs

from policy.errors import PolicyError
from policy.files.opening import Folder
from policy.hosts import a3s, claude, notation, pikuri, zeph
from policy.project import FrontEnd

__all__ = ["FRONT_ENDS", "front_ends"]

# In the order of their names.
FRONT_ENDS: tuple[FrontEnd, ...] = (a3s, claude, pikuri, notation, zeph)


def front_ends(
    profiles: Iterable[str] = (), user: str = "", managed: str = ""
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
    options = claude.Options(user_files=_folder(user), managed_files=_folder(managed))
    for profile in profiles:
        host, _, version = profile.partition("@")
        if host != claude.HOST:
            msg = f"expected a host and its version, found `{profile}`"
            raise PolicyError(msg, help=f"write `{claude.HOST}@{claude.VERSION}`")
        try:
            options = attrs.evolve(options, version=version)
        except ValueError as error:
            raise PolicyError(str(error)) from None
    if options == claude.Options():
        return FRONT_ENDS
    return tuple(claude.FrontEnd(options) if each is claude else each for each in FRONT_ENDS)


def _folder(text: str) -> Folder | None:
    if text and not Path(text).expanduser().is_dir():
        raise PolicyError("expected a folder", file=text)
    return Folder(Path(text).expanduser()) if text else None
