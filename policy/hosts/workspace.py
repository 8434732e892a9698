"""A workspace: every project that was found in one tree, with findings and unread files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

from policy.core.errors import A_PATH, expect
from policy.core.finding import Finding, Severity
from policy.core.memory import seldom_collecting
from policy.core.values import evolve, frozen
from policy.files.opening import is_unreadable, kind_of_unread, open_tree
from policy.files.trees import Tree
from policy.hosts.front_ends import FRONT_ENDS
from policy.hosts.project import FrontEnd, Project
from policy.tables.placement import place_at
from policy.tables.projects import Projects


@frozen(order=True)
class Unread:
    """A file that may be about agents and that no front end reads."""

    path: str
    what: str


@frozen(repr=False)
class Workspace(Projects[Project]):
    """The projects of one tree."""

    projects: tuple[Project, ...]  # in the order of their hosts and roots
    problems: tuple[Finding, ...] = ()  # about files of no project
    unread: tuple[Unread, ...] = ()

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding, in the order of the files."""
        found = [*self.problems, *(f for project in self.projects for f in project.findings)]
        return tuple(sorted(dict.fromkeys(found), key=lambda finding: finding.place))

    @cached_property
    def files(self) -> frozenset[str]:
        """The files that were read."""
        return frozenset(file.path for project in self.projects for file in project.files)

    @cached_property
    def modes(self) -> Mapping[str, Workspace]:
        """Permission mode -> the projects of hosts with modes, as sessions in it see them."""
        having = [project for project in self.projects if project.modes]
        names = dict.fromkeys(name for project in having for name in project.modes)
        return {
            name: evolve(self, projects=tuple(p.modes.get(name, p) for p in having))
            for name in names
        }


def load(
    path: str | Path = ".",
    *,
    front_ends: Iterable[FrontEnd] | None = None,
    root: str | Path | None = None,
) -> Workspace:
    """Return what is found at *path*: a folder, a file or a git revision.

    What cannot be read is a finding of the workspace, never an exception. Where no file says what
    an agent may do, the workspace has no projects, and `Workspace.chain` raises.

    Args:
        path: an existing path beats a revision of the repository around the current folder.
        front_ends: the front ends that read; by default those of every host.
        root: the folder of the project, in which chains decide paths; by default *path*, or the
            folder of that file. A revision has none: paths that are absolute or leave the project
            are denied (``no-root``).

    Raises:
        PolicyError: *path* is none of these.
        TypeError: *path* is no path.
    """
    expect(A_PATH, "path", path, (str, os.PathLike))
    return load_tree(open_tree(str(path)), front_ends=front_ends, root=root)


@seldom_collecting()
def load_tree(
    tree: Tree, *, front_ends: Iterable[FrontEnd] | None = None, root: str | Path | None = None
) -> Workspace:
    """Return what is found in *tree* (see `load`)."""
    chosen = FRONT_ENDS if front_ends is None else tuple(front_ends)
    found = [project for front_end in chosen for project in front_end.load(tree)]
    projects = tuple(sorted(found, key=lambda project: (project.host, project.root)))
    read = {file.path for project in projects for file in project.files}
    unread = [
        Unread(path, what)
        for path in tree.paths()
        if path not in read and (what := kind_of_unread(path)) is not None
    ]
    # A project reports a file that it would have read.
    reported = {f.place.file for p in projects for f in p.findings if is_unreadable(f)}
    problems = tuple(
        Finding("unreadable", problem.message, Severity.ERROR, file=problem.path)
        for problem in tree.problems()
        if problem.path not in reported
    )
    place = place_at(tree.root if root is None else root)
    return Workspace(tree.label, projects, problems, tuple(unread), place=place)
