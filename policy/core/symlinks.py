"""Paths of calls, and where links lead from them."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["beyond", "followed", "named", "other_names", "resolved"]


def followed(
    call: Mapping[str, object],
    fields: Iterable[str],
    cwd: str,
    home: str,
    resolve: Callable[[str], str],
) -> dict[str, object] | None:
    """Return *call* with its paths where links lead; None where it has no path.

    Args:
        call: the arguments.
        fields: those that are paths.
        cwd: what relative paths are relative to.
        home: the home folder.
        resolve: returns where links lead from an absolute path.

    """
    real: dict[str, object] = {}
    for field in fields:
        path = call.get(field)
        if type(path) is str and path and "\0" not in path:
            real[field] = resolve(named(path, cwd, home))
    return {**call, **real} if real else None


def beyond(
    name: str,
    cwd: str,
    home: str,
    project: str,
    also: Iterable[str],
    *,
    resolve: Callable[[str], str],
) -> tuple[str, str] | None:
    """Return the absolute name of a file and where links lead from it; None where none does.

    Args:
        name: of the file.
        cwd: what it is relative to.
        home: the home folder.
        project: the folder of the project.
        also: other names of that, under each of which it has the same files.
        resolve: returns where links lead from an absolute path.

    """
    path = named(name, cwd, home)
    real, path = resolve(path), "/" + os.path.normpath(path).lstrip("/")
    inside = path.removeprefix(project)
    return None if real == path or real in [other + inside for other in also] else (path, real)


def resolved(path: str, folder: str, real: str) -> str:
    """Return where links lead from *path*, below a *folder* whose links lead to *real*.

    What is below the folder is looked at once, piece by piece; `os.path.realpath` begins at the
    root.
    """
    base = folder.rstrip("/")
    rest = path[len(base) + 1 :]
    pieces = rest.split("/")
    odd = not path.isascii() or "\0" in rest or not _UNNAMED.isdisjoint(pieces)
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


_UNNAMED = frozenset({"", ".", ".."})


def other_names(project: str) -> tuple[str, ...]:
    """Return what the folder of a project is called besides, where links lead to it."""
    real = os.path.realpath(project)
    return () if real == project else (real,)


def named(path: str, cwd: str, home: str) -> str:
    """Return *path* absolute, as it is named: no ``..`` is taken out, no link followed."""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    # `Path` would keep `..`, and follow nothing.
    return os.path.join(cwd, path)  # noqa: PTH118
