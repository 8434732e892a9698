"""Everything that was found in one place: projects, chains, findings, and what was not read."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import attrs

from policy.chain import Chain
from policy.errors import PolicyError
from policy.finding import Finding, Severity
from policy.hosts import FRONT_ENDS
from policy.project import FrontEnd, Project
from policy.tree import Tree, open_tree
from policy.unread import kind_of_unread

__all__ = ["Unread", "Workspace", "load", "load_tree"]


@attrs.frozen(order=True)
class Unread:
    """A file that may say something about agents and that nobody reads."""

    path: str
    what: str


@attrs.frozen(slots=False, repr=False)
class Workspace:
    """The projects of one tree.

    Attributes:
        label: how people know the tree.
        projects: in the order of their hosts and roots.
        problems: what is the matter with files of no project.
        unread: files that may say something and that nobody reads.

    """

    label: str
    projects: tuple[Project, ...]
    problems: tuple[Finding, ...] = ()
    unread: tuple[Unread, ...] = ()

    def chain(self, *names: str, reading: str = "attenuated") -> Chain:
        """Return the chain of agents *names*, from the root down.

        Args:
            names: agents; the first may be qualified as ``host:name`` or
                ``host@folder:name`` where several projects have one.
            reading: ``attenuated`` or ``enforced``.

        Raises:
            SpawnDenied: a link may not start the next, or there is no such agent.
            PolicyError: the first name is unknown, or stands for several agents.

        """
        if not names:
            msg = "expected the name of an agent, found an empty chain"
            raise PolicyError(msg, help="a chain is written `main>explore`")
        project, first = self.find(names[0])
        chain = Chain.start(first, project.reading(reading))
        for name in names[1:]:
            chain = chain.spawn(name)
        return chain

    def find(self, name: str) -> tuple[Project, str]:
        """Return the project of an agent and its name there.

        Raises:
            PolicyError: the name is unknown, or stands for several agents.

        """
        found = self._named(name)
        starting = [(project, local) for project, local in found if local in project.starts]
        candidates = starting or found
        if len(candidates) == 1:
            return candidates[0]
        if not candidates:
            known = sorted({agent for p in self.projects for agent in p.attenuated.agents})
            msg = f"there is no agent `{name}`"
            raise PolicyError(msg, help=_known(known), file=self.label)
        places = ", ".join(f"`{project.title}:{local}`" for project, local in candidates[:6])
        msg = f"`{name}` stands for {len(candidates)} agents"
        raise PolicyError(msg, help=f"name one of {places}", file=self.label)

    def _named(self, name: str) -> list[tuple[Project, str]]:
        """Return every agent that *name* may stand for; a title beats a host beats a bare name."""
        for qualifiers in ([p.title for p in self.projects], [p.host for p in self.projects]):
            found = [
                (project, name.removeprefix(f"{qualifier}:"))
                for project, qualifier in zip(self.projects, qualifiers, strict=True)
                if name.startswith(f"{qualifier}:")
            ]
            known = [(p, local) for p, local in found if local in p.attenuated.agents]
            if known:
                return known
        return [(p, name) for p in self.projects if name in p.attenuated.agents]

    def __repr__(self) -> str:
        projects = ", ".join(project.title for project in self.projects[:4])
        more = f" and {len(self.projects) - 4} more" if len(self.projects) > 4 else ""
        return f"<Workspace {self.label}: {projects or 'no projects'}{more}>"

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that is the matter, in the order of the files."""
        found = [*self.problems, *(f for project in self.projects for f in project.findings)]
        return tuple(sorted(dict.fromkeys(found), key=lambda finding: finding.place))

    @cached_property
    def files(self) -> frozenset[str]:
        """The files that were read."""
        return frozenset(file.path for project in self.projects for file in project.files)


def _known(names: list[str]) -> str:
    if not names:
        return "no file here defines an agent"
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return "known are " + ", ".join(f"`{name}`" for name in names[:8]) + more


def load(path: str | Path = ".", *, front_ends: Iterable[FrontEnd] | None = None) -> Workspace:
    """Return what is found at *path*: a folder, a file or a git revision.

    What cannot be read is a finding of the workspace, never an exception.

    Args:
        path: an existing path beats a revision of the repository around the
            current folder.
        front_ends: who reads; by default every host.

    Raises:
        PolicyError: *path* is none of these.

    """
    return load_tree(open_tree(str(path)), front_ends=front_ends)


def load_tree(tree: Tree, *, front_ends: Iterable[FrontEnd] | None = None) -> Workspace:
    """Return what is found in *tree* (see `load`)."""
    chosen = FRONT_ENDS if front_ends is None else tuple(front_ends)
    projects = tuple(
        sorted(
            (project for front_end in chosen for project in front_end.load(tree)),
            key=lambda project: (project.host, project.root),
        )
    )
    read = {file.path for project in projects for file in project.files}
    unread = [
        Unread(path, what)
        for path in tree.paths()
        if path not in read and (what := kind_of_unread(path)) is not None
    ]
    problems = tuple(
        Finding("unreadable", problem.message, Severity.ERROR, file=problem.path)
        for problem in tree.problems()
    )
    return Workspace(tree.label, projects, problems, tuple(unread))
