"""What decides: a compiled policy, or what the files of a tree come to.

A compiled policy needs no parser, so what reads files is only imported for files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from policy.cli.hosts import AS_OBSERVED, Hosts
from policy.core.decision import Because
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.source import Span
from policy.tables.projects import Projects

if TYPE_CHECKING:
    from policy.cli.inputs import InputTree

__all__ = ["DecidingPolicy", "compiled_at", "given", "given_by"]


@attrs.frozen
class DecidingPolicy:
    """A policy that decides.

    Attributes:
        projects: a compiled policy, or a workspace.
        files: those of the workspace; None where it was compiled.

    """

    projects: Projects[Any]
    files: InputTree | None = None

    def spans(self, because: Iterable[Because]) -> Mapping[Because, Span]:
        """Return where rules stand, of those whose text is here."""
        return self.files.spans(because) if self.files is not None else {}

    def findings(self, projects: Iterable[Any] | None = None) -> tuple[Finding, ...]:
        """Return what is the matter with it, of *projects* alone where they are told.

        What cannot be read is never compiled, so that then there is nothing.
        """
        if self.files is None:
            return ()
        workspace = self.files.workspace
        if projects is None:
            return workspace.findings
        return (*workspace.problems, *(each for project in projects for each in project.findings))


def given(
    text: str,
    told: Callable[[str], None],
    hosts: Hosts = AS_OBSERVED,
    root: str | None = None,
) -> DecidingPolicy:
    """Return what *text* names: a compiled policy, a folder, a file or a revision.

    Args:
        text: its name.
        told: of each file that is read.
        hosts: how they are read.
        root: the folder of the project, if it is not that of the files.

    Raises:
        PolicyError: it names none of these, or a profile is none.

    """
    found = compiled_at(text, hosts, root)
    if found is not None:
        return found
    from policy.cli.inputs import load  # noqa: PLC0415  # a parser

    return given_by(load(text, told, hosts, root))


def given_by(files: InputTree) -> DecidingPolicy:
    """Return what *files* come to."""
    return DecidingPolicy(files.workspace, files)


def compiled_at(
    text: str, hosts: Hosts = AS_OBSERVED, root: str | None = None
) -> DecidingPolicy | None:
    """Return the compiled policy in the file *text*; None where there is none.

    Raises:
        PolicyError: it does not hold, or a profile is asked for as well.

    """
    if not _is_compiled(text):
        return None
    if hosts != AS_OBSERVED:
        msg = "a compiled policy has the profiles that it was compiled with, and the folders"
        raise PolicyError(msg, file=text, help="give these options to `policy compile`")
    from policy.tables.codec import load_compiled  # noqa: PLC0415  # which files do without

    return DecidingPolicy(load_compiled(Path(text), root=root))


# As every compiled policy begins, whatever its form and version are.
_BEGINNING: Final = b'{"compiled":'


def _is_compiled(text: str) -> bool:
    try:
        # A pipe would wait for ever for somebody to write.
        with os.fdopen(os.open(text, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            return file.read(len(_BEGINNING)) == _BEGINNING
    except (OSError, ValueError):
        return False
