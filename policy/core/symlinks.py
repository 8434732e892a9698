"""Paths of calls, and where links lead from them."""

from __future__ import annotations

import os
import stat


def resolved(path: str, folder: str, real: str) -> str:
    """Return where links lead from *path*, below a *folder* whose links lead to *real*."""
    base = folder.rstrip("/")
    rest = path[len(base) + 1 :]
    pieces = rest.split("/")
    odd = not path.isascii() or "\0" in rest or not {"", ".", ".."}.isdisjoint(pieces)
    if odd or not path.startswith(base + "/"):
        return os.path.realpath(path)
    name = base
    for piece in pieces:
        name = f"{name}/{piece}"
        try:
            mode = os.lstat(name).st_mode
        except OSError:
            break  # nor is there anything below
        if stat.S_ISLNK(mode):
            return os.path.realpath(path)
    return f"{real.rstrip('/')}/{rest}"


def other_names(project: str) -> tuple[str, ...]:
    """Return the real path of a project folder if links lead to it; nothing if none do."""
    real = os.path.realpath(project)
    return () if real == project else (real,)
