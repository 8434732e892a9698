"""Folders of systems that are links, and whose names rules look through (2.1.329, observed)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["LINKED", "OF_SYSTEMS"]

# Where one of these is just that link, a rule for its name is one for what it leads to as well.
LINKED: Final[Mapping[str, str]] = {
    "/tmp": "/private/tmp",  # noqa: S108  # a name in a rule
    "/var": "/private/var",
    "/etc": "/private/etc",
    "/bin": "/usr/bin",
    "/lib": "/usr/lib",
    "/sbin": "/usr/sbin",
}

# Those that every installation of a system has.
OF_SYSTEMS: Final[Mapping[str, Mapping[str, str]]] = {
    "darwin": {name: target for name, target in LINKED.items() if target.startswith("/private/")},
}
