"""Files below one root, on disk or in memory."""

from __future__ import annotations

import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final

from policy.core import limits
from policy.core.errors import PolicyError
from policy.core.values import field, frozen
from policy.files.text import FileText, cite, decode

# Folders of git and of packages, which have no policies of the tree.
SKIPPED: Final = frozenset(
    ".git .hg .svn .jj .bzr CVS _darcs node_modules .venv __pycache__".split()
)


@frozen(order=True)
class Problem:
    """A path below a tree that was not read, and why."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{cite(self.path)[1:-1]}: {self.message}"


class Tree(ABC):
    """A tree of files. Paths are relative, with slashes on every system."""

    @property
    @abstractmethod
    def label(self) -> str:
        """Its name in messages: a path, a revision."""

    @property
    def root(self) -> Path | None:
        """The folder on this machine, or None."""
        return None

    @abstractmethod
    def paths(self) -> tuple[str, ...]:
        """Return every path, sorted."""

    def problems(self) -> tuple[Problem, ...]:
        """Return the paths that were not read, sorted."""
        return ()

    def named(self) -> tuple[str, ...]:
        """Return every path, including those of problems, which a host may read."""
        return tuple(sorted({*self.paths(), *(problem.path for problem in self.problems())}))

    def unread(self, path: str) -> PolicyError:
        """Return the error for a path that is not among `paths`."""
        for problem in self.problems():
            if problem.path == path:
                return PolicyError(problem.message, file=path)
        return missing(path, self.label)

    @abstractmethod
    def read(self, path: str, limit: int = limits.FILE_BYTES) -> bytes:
        """Return the bytes at *path*; raise `PolicyError` for none, or more than *limit*."""

    def source(self, path: str, limit: int = limits.FILE_BYTES) -> FileText:
        """Return the text at *path*; raise `PolicyError` as `read`, or unless it is UTF-8."""
        return decode(path, self.read(path, limit))

    def readable(self, path: str) -> FileText | None:
        """Return the text at *path*, or None if `source` raises."""
        with suppress(PolicyError):
            return self.source(path)
        return None


def missing(path: str, label: str) -> PolicyError:
    """Return the error for a missing path."""
    return PolicyError(f"there is no such file in {cite(label)}", file=path)


def too_large(path: str, size: int, limit: int) -> PolicyError:
    """Return the error for a file that is larger than *limit* bytes."""
    return PolicyError(f"the file has {size:,} bytes; at most {limit:,} are read", file=path)


def too_many(label: str) -> PolicyError:
    """Return the error for a tree with too many files."""
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


@frozen
class Memory(Tree):
    """Files given as text, or as bytes."""

    files: Mapping[str, str | bytes] = field(converter=_sorted)
    name: str = "<memory>"

    @property
    def label(self) -> str:
        """The name as given."""
        return self.name

    def paths(self) -> tuple[str, ...]:
        """Return every path, sorted."""
        return tuple(self.files)

    def read(self, path: str, limit: int = limits.FILE_BYTES) -> bytes:
        """Return the bytes at *path*."""
        if path not in self.files:
            raise missing(path, self.label)
        content = self.files[path]
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        if len(data) > limit:
            raise too_large(path, len(data), limit)
        return data


@frozen
class Folder(Tree):
    """A folder on disk."""

    path: Path = field(converter=Path)
    # Names of folders below which links may lead out of this folder. True allows every link.
    follows: bool | frozenset[str] = False
    top: frozenset[str] | None = None  # the only names that are read at the top; None is all

    @property
    def label(self) -> str:
        """The path as given."""
        return str(self.path)

    @property
    def root(self) -> Path:
        """The folder itself."""
        return self.path

    def paths(self) -> tuple[str, ...]:
        """Return every path, sorted; the folder is walked once."""
        return self._walked[0]

    def problems(self) -> tuple[Problem, ...]:
        """Return links that lead out, special files, and unreadable folders."""
        return self._walked[1]

    def worktrees(self) -> tuple[str, ...]:
        """Return the linked worktrees in it, which are not read."""
        return self._walked[2]

    def read(self, path: str, limit: int = limits.FILE_BYTES) -> bytes:
        """Return the bytes at *path*."""
        if path not in self._known:
            raise self.unread(path)
        return _read_file(
            self.path / path, None if self._leads_out(path) else self._root, path, limit
        )

    @cached_property
    def _root(self) -> Path:
        return self.path.resolve()

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self._walked[0])

    @cached_property
    def _walked(self) -> tuple[tuple[str, ...], tuple[Problem, ...], tuple[str, ...]]:
        """The files by path, the problems, and the linked worktrees.

        Links are followed as hosts do, except to a folder above them, which would not end. Folders
        count as files for the bound, so links that fan out end too.
        """
        files: list[str] = []
        problems: list[Problem] = []
        worktrees: list[str] = []
        # Path and real path of a folder, and the real paths around it.
        waiting = [("", str(self._root), frozenset[str]())]
        seen = 0
        while waiting:
            prefix, folder, around = waiting.pop()
            inside = around | {folder}
            try:
                with os.scandir(folder) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except OSError as error:
                problems.append(Problem(prefix.rstrip("/") or ".", _reason(error)))
                continue
            if prefix and any(map(_is_of_worktree, entries)):
                worktrees.append(prefix[:-1])  # another copy, read only by its own path
                continue
            for entry in entries:
                is_of_top = bool(prefix) or self.top is None or entry.name in self.top
                if entry.name in SKIPPED or not is_of_top:
                    continue
                seen += 1
                if seen > limits.TREE_FILES:
                    raise too_many(self.label)
                path = prefix + entry.name
                spelled = os.fsencode(path).decode("utf-8", "backslashreplace")
                if spelled != path:
                    problems.append(Problem(spelled, NOT_UTF8))
                    continue
                real, kind = self._found(path, entry.path, inside)
                if kind == _FILE:
                    files.append(path)
                elif kind == _FOLDER:
                    waiting.append((f"{path}/", real, inside))
                else:
                    problems.append(Problem(path, kind))
        return tuple(sorted(files)), tuple(sorted(problems)), tuple(sorted(worktrees))

    def _found(self, path: str, real: str, inside: frozenset[str]) -> tuple[str, str]:
        """Return the real path of *path*, and `_FILE`, `_FOLDER` or a problem."""
        try:
            mode = os.lstat(real).st_mode
            if stat.S_ISLNK(mode):
                real = os.path.realpath(real)
                mode = os.lstat(real).st_mode
                if stat.S_ISLNK(mode):
                    return real, LEADS_NOWHERE  # a circle
                if real in inside:
                    return real, LEADS_AROUND
                if not (Path(real).is_relative_to(self._root) or self._leads_out(path)):
                    return real, LEADS_OUT
        except FileNotFoundError:
            return real, LEADS_NOWHERE
        except OSError as error:
            return real, _reason(error)
        if stat.S_ISREG(mode):
            return real, _FILE
        return real, _FOLDER if stat.S_ISDIR(mode) else NO_FILE

    def _leads_out(self, path: str) -> bool:
        """Return whether a link at *path* is followed out of the folder."""
        follows = self.follows
        return follows if isinstance(follows, bool) else not follows.isdisjoint(path.split("/"))


@frozen
class SingleFile(Tree):
    """One file; nothing else in its folder is read."""

    path: Path = field(converter=Path)

    @property
    def label(self) -> str:
        """The path as given."""
        return str(self.path)

    @property
    def root(self) -> Path:
        """The folder that the file is in."""
        return self.path.parent

    def paths(self) -> tuple[str, ...]:
        """Return the name of the file."""
        return (self.path.name,)

    def read(self, path: str, limit: int = limits.FILE_BYTES) -> bytes:
        """Return the bytes of the file."""
        if path != self.path.name:
            raise missing(path, self.label)
        # The user named this path, so a link in it may lead anywhere.
        return _read_file(self.path, None, path, limit)


# Kinds of paths.
_FILE: Final = "a file"
_FOLDER: Final = "a folder"
# Problems.
LEADS_AROUND: Final = "a link to a folder it stands in"
LEADS_NOWHERE: Final = "a link to nothing"
LEADS_OUT: Final = "a link that leads out of the folder"
NO_FILE: Final = "neither a file nor a folder"
NOT_UTF8: Final = "the name is not UTF-8"


def _is_of_worktree(entry: os.DirEntry[str]) -> bool:
    """Return whether *entry* is the ``.git`` file of a linked worktree."""
    try:
        if entry.name != ".git" or not entry.is_file(follow_symlinks=False):
            return False
        return "/worktrees/" in Path(entry.path).read_text("utf-8", "replace")[:4096]
    except OSError:
        return False


def _read_file(file: Path, root: Path | None, path: str, limit: int) -> bytes:
    """Return the bytes of *file*, whose real path must be below *root*, if given."""
    try:
        # Checked again, since the file may have become a link after the walk.
        real = file.resolve(strict=True)
        if root is not None and not real.is_relative_to(root):
            raise PolicyError(LEADS_OUT, file=path)
        # Opening a pipe would wait for a writer.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(real, flags | getattr(os, "O_BINARY", 0)), "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise PolicyError("not a file", file=path)
            if status.st_size > limit:
                raise too_large(path, status.st_size, limit)
            data = stream.read(limit + 1)
    except OSError as error:
        raise PolicyError(_reason(error), file=path) from None
    if len(data) > limit:
        raise too_large(path, len(data), limit)
    return data


def _reason(error: OSError) -> str:
    return f"cannot be read: {(error.strerror or str(error)).lower()}"
