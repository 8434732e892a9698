"""Front ends: each reads the files of one host and states how it decides."""

from __future__ import annotations

from policy.hosts import a3s, claude, notation, pikuri, zeph
from policy.project import FrontEnd

__all__ = ["FRONT_ENDS"]

# In the order of their names.
FRONT_ENDS: tuple[FrontEnd, ...] = (a3s, claude, pikuri, notation, zeph)
