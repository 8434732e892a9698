"""A folder as it was at a revision, read from git without touching the checkout."""

from __future__ import annotations

import os
import subprocess
import threading
import weakref
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, overload

from policy.core import limits
from policy.core.errors import PolicyError
from policy.core.source import visible
from policy.core.values import define, field, frozen
from policy.files.text import cite
from policy.files.trees import Problem, Tree, is_skipped, too_large, too_many

__all__ = ["GitRevision", "output"]


def _tree_of(folder: Path, revision: str) -> str | None:
    """Return the tree of *revision* for *folder*; None where it did not exist then."""
    if not revision or revision.startswith("-") or not revision.isprintable():
        raise PolicyError(f"{cite(revision)} is not the name of a revision")
    # Asked first, since it fails for every other reason than an unknown name.
    prefix = os.fsdecode(output(folder, "rev-parse", "--show-prefix").rstrip(b"\n")).rstrip("/")
    found = output(folder, "rev-parse", "--verify", "--quiet", revision, none=True)
    if found is None:
        raise PolicyError(
            f"git knows no revision {cite(revision)} in the folder `{visible(str(folder))}`"
        )
    name = found.decode("ascii").strip()
    commit = output(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", none=True)
    if commit is None:
        tree = output(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{tree}}", none=True)
        if tree is None:
            raise PolicyError(f"the revision {cite(revision)} is not a folder")
        return tree.decode("ascii").strip()
    within = f"{commit.decode('ascii').strip()}:{prefix}"
    tree = output(folder, "rev-parse", "--verify", "--quiet", within, none=True)
    return tree.decode("ascii").strip() if tree else None


@overload
def output(folder: Path, *arguments: str) -> bytes: ...


@overload
def output(folder: Path, *arguments: str, none: Literal[True]) -> bytes | None: ...


def output(folder: Path, *arguments: str, none: bool = False) -> bytes | None:
    """Return what git prints; with *none*, None where it has no answer."""
    command = _command(folder, *arguments)
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, env=_environment(), check=False
        )
    except OSError as error:
        raise _not_started(error) from None
    if done.returncode == 0:
        return done.stdout
    if none:
        return None
    said = visible(done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2])
    raise PolicyError(
        f"git cannot read the folder `{visible(str(folder))}`", help=f"git says: {said}"
    )


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


@frozen
class _Listing:
    """Every path of a revision."""

    blobs: dict[str, _Blob]
    problems: tuple[Problem, ...]


@define(eq=False)
class GitRevision(Tree):
    """The folder *folder* as it was at *revision*: a commit, tag, branch or tree.

    Raises `PolicyError` where git knows no such revision, or there is no git.
    """

    folder: Path = field(converter=Path)
    revision: str
    _tree: str | None = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Resolve the revision once, so that it cannot move while it is read."""
        self._tree = _tree_of(self.folder, self.revision)

    @property
    def label(self) -> str:
        """The revision as given."""
        return self.revision

    def paths(self) -> tuple[str, ...]:
        """Return every path, sorted."""
        return tuple(self._listing.blobs)

    def problems(self) -> tuple[Problem, ...]:
        """Return links that lead out or nowhere, and submodules."""
        return self._listing.problems

    def read(self, path: str, limit: int = limits.FILE_BYTES) -> bytes:
        """Return the bytes at *path*."""
        blob = self._listing.blobs.get(path)
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
    def _listing(self) -> _Listing:
        if self._tree is None:
            return _Listing({}, ())
        found = _Links(self.label)
        raw = output(self.folder, "ls-tree", "-r", "-z", "-l", "--full-tree", self._tree)
        for record in raw.split(b"\0")[:-1]:
            found.take(record)
        return found.listing(self._objects.read)

    @cached_property
    def _objects(self) -> _Objects:
        return _Objects(self.folder)


_FILES: Final = frozenset({"100644", "100755", "100664"})
_LINK: Final = "120000"
_SUBMODULE: Final = "160000"


@define
class _Links:
    """Sorts the records of a listing, and follows links as a checkout would."""

    label: str
    blobs: dict[str, _Blob] = field(factory=dict)
    links: dict[str, _Blob] = field(factory=dict)
    problems: list[Problem] = field(factory=list)

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
        # A clone without all its objects does not know the size of all of them.
        blob = _Blob(name, int(size) if size.isdigit() else 0)
        if mode in _FILES:
            self.blobs[path] = blob
        elif mode == _LINK:
            self.links[path] = blob
        elif mode == _SUBMODULE:
            self.problems.append(Problem(path, "a submodule, which is another repository"))
        else:
            self.problems.append(Problem(path, "neither a file nor a folder"))
        if len(self.blobs) + len(self.links) > limits.TREE_FILES:
            raise too_many(self.label)

    def listing(self, content: Callable[[str], bytes | None]) -> _Listing:
        """Return what a walk finds; *content* answers what is in a link."""
        targets = {path: self._target(path, blob, content) for path, blob in self.links.items()}
        walk = _Walk(self.label, self.blobs, targets)
        walk.run()
        files = {path: walk.files[path] for path in sorted(walk.files)}
        return _Listing(files, tuple(sorted({*self.problems, *walk.problems})))

    def _target(self, path: str, blob: _Blob, content: Callable[[str], bytes | None]) -> str | None:
        data = content(blob.object) if blob.size <= _LINK_BYTES else None
        try:
            return data.decode("utf-8") if data else None
        except UnicodeDecodeError:
            self.problems.append(Problem(path, "a link whose target is not UTF-8"))
            return None


@define
class _Walk:
    """Walks a revision as `Folder` walks a folder, so that the two can be compared."""

    label: str
    blobs: dict[str, _Blob]
    targets: dict[str, str | None]
    files: dict[str, _Blob] = field(factory=dict)
    problems: list[Problem] = field(factory=list)

    def run(self) -> None:
        """Fill in the files and problems."""
        children = self._children()
        # A folder as reached, where it really is, and the folders around it.
        waiting: list[tuple[str, str, frozenset[str]]] = [("", "", frozenset())]
        seen = 0
        while waiting:
            prefix, folder, around = waiting.pop()
            inside = around | {folder}
            for name in children.get(folder, ()):
                seen += 1
                if seen > limits.TREE_FILES:
                    raise too_many(self.label)
                path, real = prefix + name, f"{folder}/{name}" if folder else name
                if real in self.targets:
                    found = self._follow(path, real, inside, children)
                    if found is None:
                        continue
                    real = found
                if real in self.blobs:
                    self.files[path] = self.blobs[real]
                else:
                    waiting.append((f"{path}/", real, inside))

    def _children(self) -> dict[str, set[str]]:
        children: dict[str, set[str]] = {"": set()}
        for file in (*self.blobs, *self.targets):
            path = file
            while path:
                folder, _, name = path.rpartition("/")
                names = children.setdefault(folder, set())
                if name in names:
                    break
                names.add(name)
                path = folder
        return children

    def _follow(
        self, path: str, real: str, inside: frozenset[str], children: dict[str, set[str]]
    ) -> str | None:
        """Return where a link leads; None, and a problem, where it must not be followed."""
        found = self._real(real)
        if found is None:
            self.problems.append(Problem(path, "a link that leads out of the folder"))
        elif found in inside:
            self.problems.append(Problem(path, "a link to a folder it stands in"))
        elif is_skipped(f"{found}/"):
            self.problems.append(Problem(path, "a link into a folder that is not looked into"))
        elif found not in self.blobs and found not in children:
            self.problems.append(Problem(path, "a link to nothing"))
        else:
            return found
        return None

    def _real(self, path: str) -> str | None:
        """Return *path* with every link in it followed; None where that leads out."""
        waiting, real, hops = path.split("/")[::-1], list[str](), 0
        while waiting:
            part = waiting.pop()
            if part == ".." and not real:
                return None
            if part == "..":
                real.pop()
            elif part not in ("", "."):
                real.append(part)
            target = self.targets.get("/".join(real), "")
            if target is None or hops == limits.LINKS:
                return _NOWHERE
            if target.startswith("/"):
                return None
            if target:
                hops += 1
                real.pop()
                waiting += target.split("/")[::-1]
        return "/".join(real)


_LINK_BYTES: Final = 4096
_NOWHERE: Final = "\0"
