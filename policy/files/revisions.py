"""A folder as it was at a revision, read from git without touching the checkout."""

from __future__ import annotations

import os
import subprocess
import threading
import weakref
from functools import cached_property
from pathlib import Path
from typing import Final

from policy.core import limits
from policy.core.errors import PolicyError
from policy.core.source import visible
from policy.core.values import define, field, frozen
from policy.files.text import cite
from policy.files.trees import (
    FILE,
    FOLDER,
    LINK,
    NOTHING,
    Problem,
    Tree,
    Walk,
    is_skipped,
    too_large,
    too_many,
)

__all__ = ["GitRevision", "common_ancestor"]


def _tree_of(folder: Path, revision: str) -> str | None:
    """Return the tree of *revision* for *folder*; None where it did not exist then."""
    if not revision or revision.startswith("-") or not revision.isprintable():
        raise PolicyError(f"{cite(revision)} is not the name of a revision")
    # Asked first, since it fails for every other reason than an unknown name.
    prefix = os.fsdecode(output(folder, "rev-parse", "--show-prefix").rstrip(b"\n")).rstrip("/")
    name = object_named(folder, revision)
    if name is None:
        raise PolicyError(
            f"git knows no revision {cite(revision)} in the folder `{visible(str(folder))}`"
        )
    commit = object_named(folder, f"{name}^{{commit}}")
    if commit is not None:
        return object_named(folder, f"{commit}:{prefix}")
    tree = object_named(folder, f"{name}^{{tree}}")
    if tree is None:
        raise PolicyError(f"the revision {cite(revision)} is not a folder")
    return tree


def object_named(folder: Path, name: str) -> str | None:
    """Return the object that git knows by *name*, or None."""
    done = _done(folder, "rev-parse", "--verify", "--quiet", name)
    return None if done.returncode else done.stdout.decode("ascii").strip()


def common_ancestor(folder: Path, one: str, other: str) -> str | None:
    """Return the commit where two revisions parted, or None."""
    done = _done(folder, "merge-base", one, other)
    return None if done.returncode else done.stdout.decode("ascii").strip()


def output(folder: Path, *arguments: str) -> bytes:
    """Return what git prints; raise `PolicyError` where it fails."""
    done = _done(folder, *arguments)
    if done.returncode == 0:
        return done.stdout
    said = visible(done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2])
    raise PolicyError(
        f"git cannot read the folder `{visible(str(folder))}`", help=f"git says: {said}"
    )


def _done(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command, nothing = _command(folder, *arguments), subprocess.DEVNULL
    try:
        return subprocess.run(
            command, stdin=nothing, capture_output=True, env=_environment(), check=False
        )
    except OSError as error:
        raise _not_started(error) from None


class _Objects:
    """The objects of a repository, asked for one at a time from one process.

    The process ends with this object, or with the program.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self._process = subprocess.Popen(
                _command(folder, "cat-file", "--batch"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
            )
        except OSError as error:
            raise _not_started(error) from None
        self._lock = threading.Lock()
        weakref.finalize(self, _stop, self._process)

    def read(self, name: str) -> bytes | None:
        """Return the content of an object, or None where it is not there."""
        ask, answer = self._process.stdin, self._process.stdout
        if ask is None or answer is None:
            raise TypeError("the process was started with pipes")
        with self._lock:
            try:
                ask.write(name.encode("ascii") + b"\n")
                ask.flush()
            except OSError:
                return None
            header = answer.readline().split()
            if len(header) != 3:  # its name, type and size; else why there is none
                return None
            data = answer.read(int(header[2]))
            answer.read(1)
            return data


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a process that waits to be asked."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.wait()


def _not_started(error: OSError) -> PolicyError:
    return PolicyError(
        f"git cannot be started: {(error.strerror or str(error)).lower()}",
        help="a revision is read by the `git` command; name a file or folder instead",
    )


# A repository of unknown origin may configure commands. No git command used here
# should run one; if one did, it would find these.
_SETTINGS: Final = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "protocol.allow=never",
    "core.pager=cat",
)
_FLAGS: Final = ("--no-pager", "--no-replace-objects", "--literal-pathspecs", "--no-optional-locks")


def _command(folder: Path, *arguments: str) -> list[str]:
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    return ["git", *_FLAGS, "-C", str(folder.resolve()), *settings, *arguments]


# Where objects are while a push is being received; all else that is set for
# another git command would name another repository.
_KEPT: Final = frozenset(
    {"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH"}
)


def _environment() -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in _KEPT
    }
    return kept | {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
    }


@frozen
class _Blob:
    """What a path is at a revision."""

    object: str
    size: int


@define(eq=False)
class GitRevision(Tree):
    """The folder *folder* as it was at *revision*: a commit, tag, branch or tree.

    Raises `PolicyError` where git knows no such revision, or there is no git.
    """

    folder: Path = field(converter=Path)
    revision: str
    _tree: str | None = field(default=None, repr=False)

    def __attrs_post_init__(self) -> None:
        """Resolve the revision once, so that it cannot move while it is read."""
        self._tree = _tree_of(self.folder, self.revision)

    @property
    def label(self) -> str:
        """The revision as given."""
        return self.revision

    def paths(self) -> tuple[str, ...]:
        """Return every path, sorted."""
        return tuple(self._listing[0])

    def problems(self) -> tuple[Problem, ...]:
        """Return links that lead out or nowhere, and submodules."""
        return self._listing[1]

    def read(self, path: str, limit: int = limits.FILE_BYTES) -> bytes:
        """Return the bytes at *path*."""
        blob = self._listing[0].get(path)
        if blob is None:
            raise self.unread(path)
        if blob.size > limit:
            raise too_large(path, blob.size, limit)
        data = self._objects.read(blob.object)
        if data is None:
            raise PolicyError(
                "the file is not in this clone",
                file=path,
                help="fetch it with git first; nothing is fetched here",
            )
        return data

    @cached_property
    def _listing(self) -> tuple[dict[str, _Blob], tuple[Problem, ...]]:
        if self._tree is None:
            return {}, ()
        walk = _RevisionWalk(self.label, self._objects)
        raw = output(self.folder, "ls-tree", "-r", "-z", "-l", "--full-tree", self._tree)
        for record in raw.split(b"\0")[:-1]:
            walk.take(record)
        files = {path: walk.blobs[real] for path, real in sorted(walk.files().items())}
        return files, tuple(sorted(walk.problems))

    @cached_property
    def _objects(self) -> _Objects:
        return _Objects(self.folder)


_FILES: Final = frozenset({"100644", "100755", "100664"})
_LINK: Final = "120000"
_SUBMODULE: Final = "160000"


class _RevisionWalk(Walk):
    """A walk through a revision, whose records were taken before."""

    def __init__(self, label: str, objects: _Objects) -> None:
        super().__init__(label)
        self.blobs: dict[str, _Blob] = {}
        self._links: dict[str, _Blob] = {}
        self._folders: dict[str, set[str]] = {"": set()}
        self._objects = objects

    def take(self, record: bytes) -> None:
        """Add a record: mode, type, object, size, a tab, the path."""
        head, _, raw = record.partition(b"\t")
        mode, _, name, size = head.decode("ascii").split()
        try:
            path = raw.decode("utf-8")
        except UnicodeDecodeError:
            shown = raw.decode("utf-8", "backslashreplace")
            self.problems.append(Problem(shown, "the name is not UTF-8"))
            return
        if is_skipped(f"{path}/"):
            return
        if mode not in _FILES and mode != _LINK:
            odd = "a submodule, which is another repository"
            self.problems.append(
                Problem(path, odd if mode == _SUBMODULE else "neither a file nor a folder")
            )
            return
        # A clone without all its objects does not know the size of all of them.
        blob = _Blob(name, int(size) if size.isdigit() else 0)
        (self._links if mode == _LINK else self.blobs)[path] = blob
        if len(self.blobs) + len(self._links) > limits.TREE_FILES:
            raise too_many(self.label)
        while path:
            folder, _, name = path.rpartition("/")
            self._folders.setdefault(folder, set()).add(name)
            path = folder

    def children(self, prefix: str, folder: str) -> set[str]:  # noqa: ARG002
        return self._folders[folder]

    def kind(self, real: str) -> str:
        if real in self._links:
            return LINK
        if real in self.blobs:
            return FILE
        return FOLDER if real in self._folders or real == _OUTSIDE else NOTHING

    def target(self, real: str) -> str:
        waiting, found, hops = real.split("/")[::-1], list[str](), 0
        while waiting:
            part = waiting.pop()
            if part == "..":
                if not found:
                    return _OUTSIDE
                found.pop()
            elif part not in ("", "."):
                found.append(part)
            link = self._links.get("/".join(found))
            if link is None:
                continue
            leads = self._content(link)
            hops += 1
            if leads is None or hops > limits.LINKS:
                return _NOWHERE
            if leads.startswith("/"):
                return _OUTSIDE
            found.pop()
            waiting += leads.split("/")[::-1]
        return "/".join(found)

    def _content(self, link: _Blob) -> str | None:
        """Return where a link says that it leads; None where it cannot be read."""
        data = self._objects.read(link.object) if link.size <= _LINK_BYTES else None
        try:
            return data.decode("utf-8") if data else None
        except UnicodeDecodeError:
            return None


_LINK_BYTES: Final = 4096
_NOWHERE: Final = "\0"
_OUTSIDE: Final = "/"
