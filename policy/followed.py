"""Calls that name files by way of links: the same calls, of the files themselves.

A rule that denies `secret/**` speaks of a file, whatever leads there. So who decides
calls on the machine where they run decides both, and the stricter answer holds. A link
that a command makes and uses is not there yet when the command is decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from policy.anchors import Folders
from policy.calls import Unreadable, argument_text
from policy.dialect import ArgumentKind
from policy.links import beyond
from policy.shell.commands import read_command
from policy.table import Table

__all__ = ["beyond_links", "opened", "path_fields"]


def path_fields(table: Table, tool: str) -> frozenset[str]:
    """Return the arguments of *tool* that rules of *table* take for paths."""
    return frozenset(
        field
        for part in table.use.parts
        if (argument := part.rules.dialect.argument(tool)).kind is ArgumentKind.PATH
        for field in argument.fields
    )


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
    for name in dict.fromkeys(opened(table, tool, call)):
        led = beyond(name, cwd or folders.cwd, folders.home, folders.cwd, folders.also)
        if led is not None:
            links[led[0]] = led[1]
    return attrs.evolve(folders, links=tuple(links.items())) if links else None


def opened(table: Table, tool: str, call: Mapping[str, object]) -> Iterator[str]:
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
