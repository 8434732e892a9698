"""Which edges of spawn graphs come and go from one workspace to another."""

from __future__ import annotations

import attrs

from policy.chain import READINGS
from policy.changes.diff import paired
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
