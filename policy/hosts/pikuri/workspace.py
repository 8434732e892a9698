"""`Workspace::Filesystem`: the folders that tools may open files in; and who confirms."""

from __future__ import annotations

import enum
import posixpath
from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from policy import limits
from policy.effect import Effect

__all__ = ["AllowAll", "Confirmer", "Filesystem", "Workspace", "confirmation"]


def _full(path: str, root: str) -> str:
    full = posixpath.normpath(path if path.startswith("/") else f"{root}/{path}")
    return "/" + full.lstrip("/")


def _folder(path: str) -> str:
    return _full(path, "/")


def _folders(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(_folder, paths))


def _targets(links: Mapping[str, str]) -> dict[str, str]:
    """Return *links* with both ends absolute; a target is relative to where its link is.

    Those nearer to the root come first, as a path is walked.
    """
    return {
        _folder(link): _full(target, posixpath.dirname(_folder(link)))
        for link, target in sorted(links.items())
    }


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

    project_root: str = attrs.field(converter=_folder)
    readable: tuple[str, ...] = attrs.field(default=(), converter=_folders)
    writable: tuple[str, ...] = attrs.field(default=(), converter=_folders)
    links: Mapping[str, str] = attrs.field(factory=dict, converter=_targets, hash=False)

    def roots(self, *, write: bool) -> tuple[str, ...]:
        """Return the folders that may be written, or read, and those that they lead to."""
        written = (self.project_root, *self.writable)
        named = written if write else (*written, *self.readable)
        led_to = (real for root in named if (real := self._real(root)) is not None)
        return tuple(dict.fromkeys((*named, *led_to)))

    def decide(self, path: str, *, write: bool) -> Effect:
        """Return whether *path* may be opened; what leads out by ``..`` or a link may not."""
        if not path or "\0" in path:
            return Effect.DENY
        full = _full(path, self.project_root)
        real = self._real(full)
        if real is None or not all(self._inside(one, write=write) for one in (full, real)):
            return Effect.DENY
        return Effect.ALLOW

    def _inside(self, path: str, *, write: bool) -> bool:
        return any(_below(path, root) for root in self.roots(write=write))

    def _real(self, path: str) -> str | None:
        """Return where *path* leads, None where links lead in a circle."""
        for _ in range(limits.LINKS):
            link = next((link for link in self.links if _below(path, link)), None)
            if link is None:
                return path
            path = _full(self.links[link] + path[len(link) :], "/")
        return None


@attrs.frozen
class AllowAll:
    """No bound at all; an audit warns of it."""

    def decide(self, path: str, *, write: bool) -> Effect:  # noqa: ARG002  # as a Filesystem
        """Return that *path* may be opened."""
        return Effect.ALLOW if path and "\0" not in path else Effect.DENY


Workspace = Filesystem | AllowAll


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
