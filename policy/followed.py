"""Calls that name files by way of links: the same calls, of the files themselves.

A rule that denies `secret/**` speaks of a file, whatever leads there. So who decides
calls on the machine where they run decides both, and the stricter answer holds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from policy.anchors import Folders
from policy.dialect import ArgumentKind
from policy.table import Table

__all__ = ["followed", "path_fields"]


def path_fields(table: Table, tool: str) -> frozenset[str]:
    """Return the arguments of *tool* that rules of *table* take for paths."""
    return frozenset(
        field
        for part in table.use.parts
        if (argument := part.rules.dialect.argument(tool)).kind is ArgumentKind.PATH
        for field in argument.fields
    )


def followed(
    call: Mapping[str, object], fields: Iterable[str], folders: Folders, cwd: str = ""
) -> dict[str, object] | None:
    """Return *call* with its paths where links lead; None where it has no path.

    Args:
        call: the arguments.
        fields: those that are paths.
        folders: of this machine.
        cwd: what relative paths are relative to, if not the project.

    """
    real: dict[str, object] = {}
    for field in fields:
        path = call.get(field)
        if type(path) is str and path and "\0" not in path:
            real[field] = _real(path, cwd or folders.cwd, folders)
    return {**call, **real} if real else None


def _real(path: str, cwd: str, folders: Folders) -> str:
    if path == "~" or path.startswith("~/"):
        path = folders.home + path[1:]
    # `Path` would keep `..`, and follow nothing.
    return os.path.realpath(os.path.join(cwd, path))  # noqa: PTH118
