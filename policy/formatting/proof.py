"""Whether a file that loses some of its rules still decides as it did."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from policy.changes.diff import diff_workspaces, in_every_mode
from policy.comparison.compare import Known
from policy.documents.text import BYTE_ORDER_MARK, FileText
from policy.files.opening import Overlay, Tree
from policy.formatting.taking_out import without
from policy.project import Project
from policy.source import Span
from policy.table import Table
from policy.workspace import Workspace

__all__ = ["Proof"]


@attrs.frozen
class Proof:
    """What a file without some of its rules comes to, beside what it came to before."""

    tree: Tree
    path: str
    source: FileText
    before: Workspace
    load: Callable[[Tree], Workspace]

    def objection(self, spans: Sequence[Span]) -> str:
        """Return why the file must not lose *spans*, or ""."""
        if without(self.source, spans) is None:
            return "a rule cannot be taken out of its list"
        return _objection(self.before, self.load(self.tree_without(spans)))

    def tree_without(self, spans: Sequence[Span]) -> Tree:
        """Return the tree in which the file has lost *spans*, which can be taken out."""
        mark = BYTE_ORDER_MARK if self.source.byte_order_mark else ""
        text = without(self.source, spans) or ""
        return Overlay(self.tree, {self.path: (mark + text).encode("utf-8")})


def _objection(before: Workspace, after: Workspace) -> str:
    """Return why *after* cannot take the place of *before*, or ""."""
    known = {(finding.code, finding.place.file) for finding in before.findings}
    for finding in after.findings:
        if finding.severity.value == "error" and (finding.code, finding.place.file) not in known:
            return f"{finding.place}: {finding.message}"
    compared: Known = {}
    for mode, old, new in in_every_mode(before, after):
        why = _differing(old, new, compared)
        if why:
            return f"{why} in the mode `{mode}`" if mode else why
    return ""


def _differing(before: Workspace, after: Workspace, compared: Known) -> str:
    """Return what *after* decides otherwise than *before*, or ""."""
    diff = diff_workspaces(before, after, known=compared)
    if diff.changes:
        difference = diff.changes[0].difference
        call = " ".join(map(str, difference.call.values()))
        return (
            f"`{difference.tool}({call})` would get {difference.after.effect}"
            f" instead of {difference.before.effect}"
        )
    if not diff.exact:
        return f"the comparison is not exact: {'; '.join(diff.why)}"
    pairs = zip(before.projects, after.projects, strict=True)
    return next(filter(None, (_by_itself(*pair) for pair in pairs)), "")


def _by_itself(before: Project, after: Project) -> str:
    """Return why an agent by itself is not the same, or ""."""
    if before.agents.keys() != after.agents.keys() or before.starts != after.starts:
        return "agents come or go"
    for name, entry in before.agents.items():
        tables = (entry.declared, after.agents[name].declared)
        if tables[0].bounds != tables[1].bounds:
            return f"the limits of `{name}` change"
        pairs = [tables, tuple(Table(table.delegated) for table in tables)]
        for one, other in pairs:
            found = one.differences(other)
            if found.differences or not found.exact:
                return f"`{name}` by itself would decide otherwise"
    return ""
