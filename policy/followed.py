"""Calls that name files by way of links: the same calls, of the files themselves.

A rule that denies `secret/**` speaks of a file, whatever leads there. So who decides
calls on the machine where they run decides both, and the stricter answer holds. A link
that a command makes and uses is not there yet when the command is decided.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

import attrs

from policy.anchors import Folders
from policy.calls import Unreadable, argument_text
from policy.dialect import ArgumentKind
from policy.shell.commands import read_command
from policy.table import Table

__all__ = ["beyond_links", "followed", "path_fields"]


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


def beyond_links(
    table: Table, tool: str, call: Mapping[str, object], folders: Folders, cwd: str = ""
) -> Folders | None:
    """Return *folders* with the links that a command names as its files; None where it names none.

    Args:
        table: which decides the call in *folders*.
        tool: the tool.
        call: the arguments.
        folders: of this machine.
        cwd: what relative paths are relative to, if not the project.

    """
    links: dict[str, str] = {}
    for name in dict.fromkeys(_files(table, tool, call)):
        named = _named(name, cwd or folders.cwd, folders)
        real, named = os.path.realpath(named), "/" + os.path.normpath(named).lstrip("/")
        inside = named.removeprefix(folders.cwd)
        # The project has the same files under each of its names.
        if real != named and real not in [other + inside for other in folders.also]:
            links[named] = real
    return attrs.evolve(folders, links=tuple(links.items())) if links else None


def _files(table: Table, tool: str, call: Mapping[str, object]) -> Iterator[str]:
    """Yield the names of files that the command of a call opens."""
    for dialect in dict.fromkeys(part.rules.dialect for part in table.use.parts):
        argument = dialect.argument(tool)
        if argument.kind is not ArgumentKind.COMMAND:
            continue
        try:
            text = argument_text(argument, dialect, call)
        except Unreadable:
            continue  # which is denied
        for file in read_command(text, dialect.shell).redirections:
            if file.target and "\0" not in file.target:
                yield file.target


def _real(path: str, cwd: str, folders: Folders) -> str:
    return os.path.realpath(_named(path, cwd, folders))


def _named(path: str, cwd: str, folders: Folders) -> str:
    if path == "~" or path.startswith("~/"):
        path = folders.home + path[1:]
    # `Path` would keep `..`, and follow nothing.
    return os.path.join(cwd, path)  # noqa: PTH118
