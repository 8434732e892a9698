"""Which edges of spawn graphs come and go from one workspace to another."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from policy.changes.diff import READINGS
from policy.project import Project
from policy.reach.worklist import reach
from policy.workspace import Workspace

__all__ = ["Spawn", "paired", "spawn_changes"]


@attrs.frozen
class Spawn:
    """An edge of the spawn graph of a project, in one reading or both.

    Attributes:
        parent: who starts; "" for an agent that starts chains.
        child: whom.
        before: the readings in which it could, before.
        after: and after.

    """

    parent: str
    child: str
    before: frozenset[str]
    after: frozenset[str]

    @property
    def change(self) -> str:
        """``added``, ``removed`` or "" as far as any reading has it."""
        if bool(self.before) == bool(self.after):
            return ""
        return "added" if self.after else "removed"


def paired(old: Workspace, new: Workspace) -> Iterable[tuple[Project | None, Project | None]]:
    """Yield every project of either side, with the one of the other side that it became."""
    sides = [{(p.host, p.root): p for p in workspace.projects} for workspace in (old, new)]
    for key in sorted({**sides[0], **sides[1]}):
        yield sides[0].get(key), sides[1].get(key)


def spawn_changes(old: Workspace, new: Workspace) -> dict[str, tuple[Spawn, ...]]:
    """Return the edges of both sides of each project whose spawn graph changed."""
    found = {}
    for pair in paired(old, new):
        before, after = (_edges(project) if project else {} for project in pair)
        if {*before} == {*after}:
            continue
        none = frozenset[str]()
        title = next(project.title for project in pair[::-1] if project is not None)
        found[title] = tuple(
            Spawn(*edge, before.get(edge, none), after.get(edge, none))
            for edge in sorted({**before, **after})
        )
    return found


def _edges(project: Project) -> dict[tuple[str, str], frozenset[str]]:
    edges: dict[tuple[str, str], frozenset[str]] = {}
    for name in READINGS:
        found = reach(project, project.reading(name)).edges
        pairs = [(parent, child) for parent, children in found.items() for child in children]
        for edge in (*(("", start) for start in project.starts), *pairs):
            edges[edge] = edges.get(edge, frozenset()) | {name}
    return edges
