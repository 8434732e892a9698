"""Read folders at a revision from git, without changing the checkout."""

from __future__ import annotations

import os
import subprocess
import threading
import weakref
from collections.abc import Iterator
from functools import cached_property
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Final

from policy.core import limits
from policy.core.errors import PolicyError
from policy.core.source import visible
from policy.core.values import define, field
from policy.files import trees
from policy.files.text import cite
from policy.files.trees import Problem, Tree


def _tree_of(folder: Path, revision: str) -> str | None:
    """Return the tree of *folder* at *revision*; None if it did not exist then."""
    if not revision or revision.startswith("-") or not revision.isprintable():
        raise PolicyError(f"{cite(revision)} is not the name of a revision")
    # This comes first, since it fails for all reasons but an unknown revision.
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
    """Return the name of the git object for *name*, or None."""
    return _name(_done(folder, "rev-parse", "--verify", "--quiet", name))


def common_ancestor(folder: Path, one: str, other: str) -> str:
    """Return the merge base of two revisions. Raises PolicyError if there is none."""
    for revision in (one, other):
        if revision.startswith("-"):
            raise PolicyError(f"{cite(revision)} is not the name of a revision")
    commit = _name(_done(folder, "merge-base", one, other))
    if commit is None:
        raise PolicyError(f"git knows no common ancestor of {cite(one)} and {cite(other)}")
    return commit


def _name(done: subprocess.CompletedProcess[bytes]) -> str | None:
    return None if done.returncode else done.stdout.decode("ascii").strip()


def output(folder: Path, *arguments: str, asked: bytes = b"") -> bytes:
    """Return the output of git; raise `PolicyError` if it fails."""
    done = _done(folder, *arguments, asked=asked)
    if done.returncode == 0:
        return done.stdout
    error = visible(done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2])
    raise PolicyError(
        f"git cannot read the folder `{visible(str(folder))}`", help=f"git says: {error}"
    )


def _done(folder: Path, *arguments: str, asked: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = _command(folder, *arguments)
    try:
        return subprocess.run(
            command, input=asked, capture_output=True, env=_environment(), check=False
        )
    except OSError as error:
        raise _not_started(error) from None


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a process that waits for input."""
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


# Variables with the objects of a push that git is receiving. Other variables of git may name
# another repository.
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


@define(eq=False)
class GitRevision(Tree):
    """A folder at a commit, tag, branch or tree. Raises PolicyError if git knows none."""

    folder: Path = field(converter=Path)
    revision: str
    _tree: str | None = field(default=None, repr=False)
    _lock: threading.Lock = field(factory=threading.Lock, repr=False)

    def __attrs_post_init__(self) -> None:
        """Resolve the revision once, so that a branch cannot move while it is read."""
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
        if path not in self._listing[0]:
            raise self.unread(path)
        name, size = self._listing[0][path]
        if size > limit:
            raise trees.too_large(path, size, limit)
        data = self._object(name)
        if data is None:
            raise PolicyError(
                "the file is not in this clone",
                file=path,
                help="fetch it with git first; nothing is fetched here",
            )
        return data

    def _object(self, name: str) -> bytes | None:
        """Return the content of an object, or None if it is missing."""
        ask, answer = self._objects.stdin, self._objects.stdout
        if ask is None or answer is None:
            raise TypeError("the process was started with pipes")
        with self._lock:
            try:
                ask.write(name.encode("ascii") + b"\n")
                ask.flush()
            except OSError:
                return None
            header = answer.readline().split()
            if len(header) != 3:  # name, type and size; else the reason for none
                return None
            data = answer.read(int(header[2]))
            answer.read(1)
            return data

    @cached_property
    def _objects(self) -> subprocess.Popen[bytes]:
        """The git process that prints objects; it ends with this tree or with the program."""
        try:
            process = subprocess.Popen(
                _command(self.folder, "cat-file", "--batch"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
            )
        except OSError as error:
            raise _not_started(error) from None
        weakref.finalize(self, _stop, process)
        return process

    @cached_property
    def _listing(self) -> tuple[dict[str, _Blob], tuple[Problem, ...]]:
        """The files by path, and the problems."""
        files: dict[str, _Blob] = {}
        problems: list[Problem] = []
        # Path and object of a folder, and the objects around it, to which links are not followed.
        waiting = [("", self._tree, frozenset[str]())] if self._tree else []
        seen = 0
        while waiting:
            prefix, tree, around = waiting.pop()
            folders, links = {str(PurePosixPath(prefix)): tree}, list[str]()
            for mode, name, size, path in self._records(prefix, tree):
                seen += 1
                if seen > limits.TREE_FILES:
                    raise trees.too_many(self.label)
                if mode == _FOLDER:
                    folders[path] = name
                elif mode in _FILES:
                    files[path] = name, size
                elif mode == _LINK and "\n" not in path:
                    links.append(path)
                else:
                    problems.append(Problem(path, _ODD.get(mode, trees.NO_FILE)))
            for path, (kind, name, size) in zip(links, self._followed(links), strict=True):
                above = map(str, PurePosixPath(path).parents)
                inside = around.union(folders[each] for each in above if each in folders)
                if kind == "blob":
                    files[path] = name, size
                elif kind == "tree" and name not in inside:
                    waiting.append((f"{path}/", name, inside))
                else:
                    why = trees.LEADS_AROUND if kind == "tree" else kind
                    problems.append(Problem(path, why))
        return dict(sorted(files.items())), tuple(sorted(problems))

    def _records(self, prefix: str, tree: str) -> Iterator[tuple[str, str, int, str]]:
        """Yield the mode, object, size and path of each entry below a folder, at any depth."""
        listed = output(self.folder, "ls-tree", "-r", "-t", "-z", "-l", "--full-tree", tree)
        for record in listed.split(b"\0")[:-1]:
            head, _, raw = record.partition(b"\t")
            mode, _, name, size = head.decode("ascii").split()
            inner = raw.decode("utf-8", "backslashreplace")
            if inner.encode("utf-8") != raw:
                mode = _NOT_UTF8
            if trees.SKIPPED.isdisjoint(inner.split("/")):
                # A partial clone does not know all sizes.
                yield mode, name, int(size) if size.isdigit() else 0, prefix + inner

    def _followed(self, links: list[str]) -> Iterator[tuple[str, str, int]]:
        """Yield kind, name and size of the target of each link, or the problem as kind."""
        asked = "".join(f"{self._tree}:{link}\n" for link in links).encode("utf-8")
        command = ("cat-file", "--batch-check", "--follow-symlinks")
        answers = BytesIO(output(self.folder, *command, asked=asked) if links else b"")
        for _ in links:
            name, *kind, size = answers.readline().decode("utf-8").split()
            if kind in (["blob"], ["tree"]):
                yield kind[0], name, int(size)
                continue
            if size.isdigit() and not kind:  # the reason follows on separate lines
                answers.read(int(size) + 1)
            yield trees.LEADS_OUT if name == "symlink" else trees.LEADS_NOWHERE, "", 0


_Blob = tuple[str, int]  # the name of an object, and its size

_FILES: Final = frozenset({"100644", "100755", "100664"})
_FOLDER: Final = "040000"
_LINK: Final = "120000"
_NOT_UTF8: Final = ""
_ODD: Final = {"160000": "a submodule, which is another repository", _NOT_UTF8: trees.NOT_UTF8}
