"""Front ends: each reads the files of one host and states how it decides."""

from __future__ import annotations

from collections.abc import Iterable

from policy.errors import PolicyError
from policy.hosts import a3s, claude, notation, pikuri, zeph
from policy.project import FrontEnd

__all__ = ["FRONT_ENDS", "front_ends"]

# In the order of their names.
FRONT_ENDS: tuple[FrontEnd, ...] = (a3s, claude, pikuri, notation, zeph)


def front_ends(profiles: Iterable[str] = ()) -> tuple[FrontEnd, ...]:
    """Return who reads, each host as the version that one of *profiles* names.

    Args:
        profiles: such as ``claude-code@2.1.240``; the last one of a host counts.

    Raises:
        PolicyError: a profile names no host whose version can be chosen, or no version.

    """
    chosen = list(FRONT_ENDS)
    for profile in profiles:
        host, _, version = profile.partition("@")
        if host != claude.HOST:
            msg = f"expected a host and its version, found `{profile}`"
            raise PolicyError(msg, help=f"write `{claude.HOST}@{claude.VERSION}`")
        try:
            options = claude.Options(version=version)
        except ValueError as error:
            raise PolicyError(str(error)) from None
        chosen[FRONT_ENDS.index(claude)] = claude.FrontEnd(options)
    return tuple(chosen)
