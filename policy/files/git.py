"""Running git on a repository that may be a stranger's.

Nothing such a repository configures is run (no hook, no filter, no file-system
monitor, no pager), nothing is fetched, and no shell is between.
"""

from __future__ import annotations

import os
import subprocess
import threading
import weakref
from pathlib import Path
from typing import Final, Literal, overload

from policy.documents.text import cite
from policy.errors import PolicyError
from policy.source import visible

__all__ = ["Objects", "output", "tree_of"]


def tree_of(folder: Path, revision: str) -> str | None:
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


class Objects:
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


# A stranger's repository may configure commands. None of those asked for here
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
