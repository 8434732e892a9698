"""What the command is asked about: trees, chains and the text of places."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import attrs

from policy import limits
from policy.cli.hosts import AS_OBSERVED, Hosts
from policy.decision import Because
from policy.errors import PolicyError
from policy.files.opening import open_tree
from policy.files.tree import Problem, Tree
from policy.files.unread import is_unreadable
from policy.finding import Finding
from policy.hosts import FRONT_ENDS
from policy.project import FrontEnd
from policy.source import Source, Span
from policy.workspace import Workspace, load_tree
from policy.written import rule_span

__all__ = ["Input", "Watched", "load", "read", "unreadable"]


@attrs.frozen
class Watched(Tree):
    """A tree that tells of each file as it is read."""

    tree: Tree
    told: Callable[[str], None]

    @property
    def label(self) -> str:
        """What people call it."""
        return self.tree.label

    @property
    def root(self) -> Path | None:
        """The folder that it is."""
        return self.tree.root

    def paths(self) -> tuple[str, ...]:
        """Return every path, sorted."""
        self.told(f"looking at {self.label}")
        return self.tree.paths()

    def problems(self) -> tuple[Problem, ...]:
        """Return what is there and was not looked at."""
        return self.tree.problems()

    def read(self, path: str, limit: int = limits.FILE_BYTES) -> bytes:
        """Return the bytes at *path*."""
        self.told(f"reading {path}")
        return self.tree.read(path, limit)


@attrs.frozen(slots=False)
class Input:
    """A tree, what was found in it, and who read it."""

    tree: Tree
    workspace: Workspace
    front_ends: tuple[FrontEnd, ...] = FRONT_ENDS
    _sources: dict[str, Source | None] = attrs.field(factory=dict, init=False, repr=False)

    def source(self, file: str) -> Source | None:
        """Return the text of a file of the tree, or None."""
        if file not in self._sources:
            try:
                self._sources[file] = self.tree.source(file)
            except PolicyError:
                self._sources[file] = None
        return self._sources[file]

    def spans(self, because: Iterable[Because]) -> dict[Because, Span]:
        """Return where rules stand, of those whose file can still be read."""
        found = {}
        for one in because:
            source = self.source(one.place.file) if one.place else None
            span = rule_span(one, source) if source else None
            if span is not None:
                found[one] = span
        return found


def load(
    text: str,
    told: Callable[[str], None],
    hosts: Hosts = AS_OBSERVED,
    root: str | None = None,
) -> Input:
    """Return what *text* names: a folder, a file or a revision.

    Raises:
        PolicyError: it names none of these, or a profile is none.

    """
    return read(open_tree(text), told, hosts, root)


def read(
    tree: Tree,
    told: Callable[[str], None],
    hosts: Hosts = AS_OBSERVED,
    root: str | None = None,
) -> Input:
    """Return what is found in *tree*. Raises PolicyError for *hosts* that are none."""
    readers = hosts.front_ends
    return Input(tree, load_tree(Watched(tree, told), front_ends=readers, root=root), readers)


def unreadable(workspace: Workspace) -> tuple[Finding, ...]:
    """Return the findings that make an answer about all of *workspace* incomplete.

    A file that was read and says something that is not in force is no such
    thing: what the host makes of it is known.
    """
    return tuple(finding for finding in workspace.findings if is_unreadable(finding))
