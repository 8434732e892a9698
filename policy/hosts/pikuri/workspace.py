"""`Workspace::Filesystem`: the folders that tools may open files in; and who confirms."""

from __future__ import annotations

import enum
import posixpath
from collections.abc import Mapping
from typing import Final

import attrs

from policy.effect import Effect

__all__ = ["AllowAll", "Confirmer", "Filesystem", "Workspace", "confirmation"]


@attrs.frozen
class Filesystem:
    """Folders, absolute; relative paths are relative to the first.

    Attributes:
        project_root: read and written.
        readable: only read.
        writable: read and written.
        links: names of files that are links, and what each leads to; whoever
            asks has looked, since nothing here opens a file.

    """

    project_root: str
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    links: Mapping[str, str] = attrs.field(factory=dict, hash=False)

    def roots(self, *, write: bool) -> tuple[str, ...]:
        """Return the folders that may be written, or read."""
        written = (self.project_root, *self.writable)
        return written if write else (*written, *self.readable)

    def decide(self, path: str, *, write: bool) -> Effect:
        """Return whether *path* may be opened; what leads out by ``..`` or a link may not."""
        if not path or "\0" in path:
            return Effect.DENY
        full = _full(path, self.project_root)
        allowed = self._inside(full, write=write) and self._inside(self._real(full), write=write)
        return Effect.ALLOW if allowed else Effect.DENY

    def _inside(self, path: str, *, write: bool) -> bool:
        return any(_below(path, posixpath.normpath(root)) for root in self.roots(write=write))

    def _real(self, path: str) -> str:
        for _ in self.links:
            for link, target in self.links.items():
                if _below(path, link):
                    to = _full(target, posixpath.dirname(link))
                    path = posixpath.normpath(to + path[len(link) :])
                    break
            else:
                break
        return path


@attrs.frozen
class AllowAll:
    """No bound at all; an audit warns of it."""

    def decide(self, path: str, *, write: bool) -> Effect:  # noqa: ARG002  # as a Filesystem
        """Return that *path* may be opened."""
        return Effect.ALLOW if path and "\0" not in path else Effect.DENY


Workspace = Filesystem | AllowAll


def _full(path: str, root: str) -> str:
    full = posixpath.normpath(path if path.startswith("/") else f"{root}/{path}")
    return "/" + full.lstrip("/")


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


class Confirmer(enum.Enum):
    """Who answers what a tool asks: yes or no, never "always"."""

    TERMINAL = "terminal"
    AUTO_APPROVE = "auto_approve"  # `--yolo`

    __hash__ = object.__hash__


_SETTLED: Final = {Confirmer.TERMINAL: Effect.ASK, Confirmer.AUTO_APPROVE: Effect.ALLOW}


def confirmation(
    confirmer: Confirmer, tool: str, *, exists: bool = False, identical: bool = False
) -> Effect:
    """Return whether a call of *tool* is confirmed, and what comes of it.

    A command always is; writing is where it would replace a file by something
    else; editing never is. Who calls does not count: an agent that was started
    has the same tools, and so the same confirmer.
    """
    if tool == "bash" or (tool == "write" and exists and not identical):
        return _SETTLED[confirmer]
    return Effect.ALLOW
