"""The policy that a verb asks: compiled, or read from files.

Compiled policies need no parser, so the modules that read files are imported only for files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from policy.cli.options import AS_OBSERVED, Hosts
from policy.core.decision import Because
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.source import Span
from policy.core.values import frozen
from policy.tables.dialect import Dialect
from policy.tables.projects import Projects
from policy.tables.table import Table

if TYPE_CHECKING:
    from policy.cli.inputs import InputTree


@frozen
class DecidingPolicy:
    """A policy that decides.

    Attributes:
        projects: of a compiled policy or a workspace.
        files: of the workspace; None for a compiled policy.

    """

    projects: Projects[Any]
    files: InputTree | None = None

    def spans(self, because: Iterable[Because]) -> Mapping[Because, Span]:
        """Return the places of rules whose text is available."""
        return self.files.spans(because) if self.files is not None else {}

    def findings(self, projects: Iterable[Any] | None = None) -> tuple[Finding, ...]:
        """Return the findings of the files, of *projects* alone where they are given.

        A compiled policy has none: files that cannot be read are never compiled.
        """
        if self.files is None:
            return ()
        workspace = self.files.workspace
        if projects is None:
            return workspace.findings
        return (*workspace.problems, *(each for project in projects for each in project.findings))


def open_policy(
    text: str,
    hosts: Hosts = AS_OBSERVED,
    root: str | None = None,
) -> DecidingPolicy:
    """Return the policy that *text* names: a compiled policy, a folder, a file or a revision.

    Raises:
        PolicyError: *text* names none of these, or a profile is unknown.

    """
    found = compiled_at(text, hosts, root)
    if found is not None:
        return found
    from policy.cli.inputs import load  # noqa: PLC0415  # loads parsers

    return policy_of(load(text, hosts, root))


def policy_of(files: InputTree) -> DecidingPolicy:
    """Return the policy in *files*."""
    return DecidingPolicy(files.workspace, files)


def compiled_at(
    text: str, hosts: Hosts = AS_OBSERVED, root: str | None = None
) -> DecidingPolicy | None:
    """Return the compiled policy in the file *text*; None where it is no compiled policy.

    Raises:
        PolicyError: it is invalid, or *hosts* has options.

    """
    if not _is_compiled(text):
        return None
    if hosts != AS_OBSERVED:
        raise PolicyError(
            "a compiled policy has the profiles that it was compiled with, and the folders",
            file=text,
            help="give these options to `policy compile`",
        )
    from policy.tables.compiled import load_compiled  # noqa: PLC0415  # files do without

    return DecidingPolicy(load_compiled(Path(text), root=root))


# The beginning of every compiled policy, whatever its version.
_BEGINNING: Final = b'{"compiled":'


def _is_compiled(text: str) -> bool:
    try:
        # Without blocking, since a pipe may have no writer.
        with os.fdopen(os.open(text, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            return file.read(len(_BEGINNING)) == _BEGINNING
    except (OSError, ValueError):
        return False


def chain_of(text: str) -> tuple[str, ...]:
    """Return the chain written as ``main>explore``.

    Raises:
        PolicyError: a link has no name.

    """
    names = tuple(name.strip() for name in text.split(">"))
    if not all(names):
        raise PolicyError(
            f"expected agents between `>`, found `{text}`",
            help="a chain is written `main>explore>worker`",
        )
    return names


def dialect_of(table: Table) -> Dialect:
    """Return the dialect of the host of *table*; that of our notation for a table without rules."""
    for part in table.use.parts:
        if part.rules.dialect.name:
            return part.rules.dialect
    from policy.hosts.notation import SEMANTICS  # noqa: PLC0415  # rarely needed

    return SEMANTICS.dialect
