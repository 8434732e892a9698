"""Which files differ between two trees, of those that may say something about agents."""

from __future__ import annotations

from collections import Counter

import attrs

from policy.errors import PolicyError
from policy.files.opening import Tree
from policy.files.unread import is_unreadable
from policy.finding import Severity
from policy.workspace import Workspace

__all__ = ["FileChange", "changed_files"]


@attrs.frozen(order=True)
class FileChange:
    """A file that differs.

    Attributes:
        path: relative to both trees.
        what: what it was read as, or what kind of file it is.
        status: ``read``, ``not read``, or ``in error``: not understood at all, on one side
            or both (`is_unreadable`). Mistakes in a file that is read are findings.
        errors: how many findings of the new side are errors in this file.

    """

    path: str
    what: str
    status: str
    errors: int = 0


def changed_files(
    old: tuple[Tree, Workspace], new: tuple[Tree, Workspace]
) -> tuple[FileChange, ...]:
    """Return the files that differ and may say something about agents."""
    kinds: dict[str, str] = {}
    errors: set[str] = set()
    read: set[str] = set()
    for _, workspace in (old, new):
        kinds.update((unread.path, unread.what) for unread in workspace.unread)
        errors |= {finding.place.file for finding in workspace.findings if is_unreadable(finding)}
        for project in workspace.projects:
            for file in project.files:
                kinds[file.path] = file.role
                read.add(file.path)
    mistakes = Counter(
        finding.place.file for finding in new[1].findings if finding.severity is Severity.ERROR
    )
    changes = []
    for path in sorted(kinds):
        contents = [_content(tree, path) for tree, _ in (old, new)]
        if contents[0] == contents[1]:
            continue
        status = "not read" if path not in read else "in error" if path in errors else "read"
        changes.append(FileChange(path, kinds[path], status, mistakes[path]))
    return tuple(changes)


def _content(tree: Tree, path: str) -> bytes | None:
    try:
        return tree.read(path)
    except PolicyError:
        return None  # not there, or not to be read
