"""Resolve symbolic links in the paths of calls."""

from __future__ import annotations

import os
import stat


def resolved(path: str, folder: str, real: str) -> str:
    """Return the real path of *path*; *real* is the real path of *folder*, which contains it."""
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
            break  # nothing below it exists either
        if stat.S_ISLNK(mode):
            return os.path.realpath(path)
    return f"{real.rstrip('/')}/{rest}"


def other_names(project: str) -> tuple[str, ...]:
    """Return the real path of a project folder if it differs from *project*; else nothing."""
    real = os.path.realpath(project)
    return () if real == project else (real,)
