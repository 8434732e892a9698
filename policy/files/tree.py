"""Files below one root, and those that are given in memory.

A `Tree` is a set of paths, relative and with slashes, and what is at them.
A symbolic link is followed where it stays within the root, and reported where it does
not: trees are those of strangers. A folder of the user's own is read with its links.
What cannot be read is a `Problem`, a value, so that one bad file does not hide the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs

from policy import limits
from policy.documents.text import FileText, cite, decode
from policy.errors import PolicyError

__all__ = [
    "SKIPPED",
    "Memory",
    "Problem",
    "Tree",
    "is_skipped",
    "missing",
    "too_large",
    "too_many",
]

# Folders that hold no policy of this tree: other repositories' insides, and
# what package managers unpack.
SKIPPED: Final = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".jj",
        ".bzr",
        "CVS",
        "_darcs",
        "node_modules",
        ".venv",
        "__pycache__",
    }
)


def is_skipped(path: str) -> bool:
    """Return whether a folder of *path* is one nobody looks into."""
    return not SKIPPED.isdisjoint(path.split("/")[:-1])


@attrs.frozen(order=True)
class Problem:
    """Something below a tree that was not looked at, and why."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{cite(self.path)[1:-1]}: {self.message}"


class Tree(ABC):
    """A set of files; paths are relative and have slashes on every system."""

    @property
    @abstractmethod
    def label(self) -> str:
        """What people call it: a path, a revision."""

    @property
    def root(self) -> Path | None:
        """The folder of this machine that it is; None of files that lie in none."""
        return None

    @abstractmethod
    def paths(self) -> tuple[str, ...]:
        """Return every path, sorted."""

    @abstractmethod
    def problems(self) -> tuple[Problem, ...]:
        """Return what is there and was not looked at, sorted."""

    def named(self) -> tuple[str, ...]:
        """Return every path, and those of problems: what a host may read, though `read` does not.

        A front end asks for these where a file that it does not see could deny something.
        """
        return tuple(sorted({*self.paths(), *(problem.path for problem in self.problems())}))

    def unread(self, path: str) -> PolicyError:
        """Return the error for a path that is not among `paths`."""
        for problem in self.problems():
            if problem.path == path:
                return PolicyError(problem.message, file=path)
        return missing(path, self.label)

    @abstractmethod
    def read(self, path: str, limit: int = limits.FILE_BYTES) -> bytes:
        """Return the bytes at *path*.

        Raises `PolicyError` where there is no such file, it cannot be read, or
        it has more than *limit* bytes, in which case it is not read at all.
        """

    def source(self, path: str, limit: int = limits.FILE_BYTES) -> FileText:
        """Return the text at *path*; raise `PolicyError` as `read`, or unless it is UTF-8."""
        return decode(path, self.read(path, limit))


def missing(path: str, label: str) -> PolicyError:
    """Return the error for a path that is not in a tree."""
    return PolicyError(f"there is no such file in {cite(label)}", file=path)


def too_large(path: str, size: int, limit: int) -> PolicyError:
    """Return the error for a file nobody will read."""
    return PolicyError(f"the file has {size:,} bytes; at most {limit:,} are read", file=path)


def too_many(label: str) -> PolicyError:
    """Return the error for a tree with more files than are looked at."""
    return PolicyError(
        f"there are more than {limits.TREE_FILES:,} files",
        file=label,
        help="name a folder below it",
    )


def _sorted(files: Mapping[str, str | bytes]) -> Mapping[str, str | bytes]:
    for path in files:
        if "\\" in path or not {"", ".", ".."}.isdisjoint(path.split("/")):
            raise ValueError(f"expected a relative path such as `a/b.json`, found {path!r}")
    return {path: files[path] for path in sorted(files)}


@attrs.frozen
class Memory(Tree):
    """Files given as text, or as bytes."""

    files: Mapping[str, str | bytes] = attrs.field(converter=_sorted)
    name: str = "<memory>"

    @property
    def label(self) -> str:
        """The name it was given."""
        return self.name

    def paths(self) -> tuple[str, ...]:
        """Return every path, sorted."""
        return tuple(self.files)

    def problems(self) -> tuple[Problem, ...]:
        """Return nothing."""
        return ()

    def read(self, path: str, limit: int = limits.FILE_BYTES) -> bytes:
        """Return the bytes at *path*."""
        if path not in self.files:
            raise missing(path, self.label)
        content = self.files[path]
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        if len(data) > limit:
            raise too_large(path, len(data), limit)
        return data
