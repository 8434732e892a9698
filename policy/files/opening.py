"""Where files come from: a folder, a file, a revision of a repository, a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import attrs

from policy import limits
from policy.documents.text import cite
from policy.errors import PolicyError
from policy.files.disk import File, Folder
from policy.files.tree import Memory, Problem, Tree

__all__ = ["File", "Folder", "Memory", "Overlay", "Problem", "Tree", "open_tree"]


@attrs.frozen
class Overlay(Tree):
    """A tree with other contents at some of its paths."""

    tree: Tree
    contents: Mapping[str, bytes] = attrs.field(repr=False)

    @property
    def label(self) -> str:
        """What people call the tree below."""
        return self.tree.label

    @property
    def root(self) -> Path | None:
        """The folder of the tree below."""
        return self.tree.root

    def paths(self) -> tuple[str, ...]:
        """Return every path, sorted."""
        return self.tree.paths()

    def problems(self) -> tuple[Problem, ...]:
        """Return what is there and was not looked at."""
        return self.tree.problems()

    def read(self, path: str, limit: int = limits.FILE_BYTES) -> bytes:
        """Return the bytes at *path*."""
        return self.contents[path] if path in self.contents else self.tree.read(path, limit)


def open_tree(text: str, folder: str | Path = ".") -> Tree:
    """Return what *text* names: a folder, a file, or else a revision of *folder*.

    Raises `PolicyError` where it is none of them.
    """
    path = Path(text) if text and "\0" not in text else None
    try:
        if path is not None and path.is_dir():
            return Folder(path)
        if path is not None and path.exists():
            return File(path)
    except OSError:  # too long for a path
        pass
    from policy.files.revision import GitRevision  # noqa: PLC0415  # which starts processes

    try:
        return GitRevision(folder, text)
    except PolicyError as error:
        raise PolicyError(
            f"{cite(text)} is neither a file nor a folder nor a revision",
            help=f"{error.message}{'; ' if error.help else ''}{error.help}",
        ) from None
