"""What a change grants or takes away: decisions that differ, each with a witness.

Two workspaces are compared chain by chain (`policy.changes.chains`). Chains whose tables
changed alike are told once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import attrs

from policy.chain import READINGS
from policy.changes.chains import ChainChanges, Shown
from policy.changes.changed_files import FileChange
from policy.comparison.compare import Difference, Known
from policy.project import Project
from policy.workspace import Workspace

__all__ = ["Change", "Diff", "diff_workspaces", "paired"]


@attrs.frozen
class Change:
    """Calls that are decided differently.

    Attributes:
        project: where, as `Project.title`.
        chain: the shortest chain it concerns.
        also: further chains it concerns in the same way, in some of *readings*.
        readings: ``attenuated``, ``enforced`` or both.
        what: ``rule``, or ``agent-added`` and ``agent-removed`` for a chain
            that can, or can no longer, come about.
        difference: tool, witness and the two decisions.
        why: why further calls of this chain may be decided differently; nothing where
            none are.

    """

    project: str
    chain: tuple[str, ...]
    also: tuple[tuple[str, ...], ...]
    readings: tuple[str, ...]
    what: str
    difference: Difference
    why: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether everything about this chain was compared exactly."""
        return not self.why

    @property
    def widened(self) -> bool:
        """Whether more is granted than before."""
        return self.difference.widened

    @property
    def direction(self) -> str:
        """``widened`` or ``narrowed``."""
        return "widened" if self.widened else "narrowed"


@attrs.frozen
class Diff:
    """What differs between two workspaces.

    Attributes:
        changes: widened before narrowed.
        files: every file that differs and may say something about agents.
        why: why something else may differ in the files that were read; nothing where
            nothing does.

    """

    changes: tuple[Change, ...]
    files: tuple[FileChange, ...]
    why: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether no agent may do anything else differently, through any chain."""
        return not self.why

    @property
    def widened(self) -> int:
        """How many changes grant more."""
        return sum(change.widened for change in self.changes)

    @property
    def narrowed(self) -> int:
        """How many changes grant less."""
        return len(self.changes) - self.widened


def diff_workspaces(
    old: Workspace,
    new: Workspace,
    *,
    readings: Iterable[str] = READINGS,
    files: tuple[FileChange, ...] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> Diff:
    """Return what *new* decides differently from *old*.

    Args:
        old: before.
        new: after.
        readings: which readings to compare.
        files: the files that differ (`changed_files`).
        progress: told of each project as its turn comes.

    """
    changes: list[Change] = []
    known: Known = {}
    why: dict[str, None] = {}
    for pair in paired(old, new):
        title = (pair[1] or pair[0]).title  # type: ignore[union-attr]  # one of them is there
        progress(title)
        groups: dict[object, dict[tuple[str, ...], list[Shown]]] = {}
        for reading in readings:
            compared = ChainChanges(*pair, reading, known)
            for shown in compared.shown():
                chains = groups.setdefault(shown.key, {})
                chains.setdefault(shown.chain, []).append(shown)
            why.update(compared.why)
        for chains in groups.values():
            changes += _changes(title, chains)
    return Diff(tuple(sorted(changes, key=_order)), files, tuple(why))


def paired(old: Workspace, new: Workspace) -> Iterator[tuple[Project | None, Project | None]]:
    """Yield every project of either side, with what is in its place on the other.

    That is the project there, or what the host does there without files, or
    None where it does nothing.
    """
    sides = [{(p.host, p.root): p for p in workspace.projects} for workspace in (old, new)]
    for key in sorted({**sides[0], **sides[1]}):
        before, after = (side.get(key) for side in sides)
        yield before or _bare(after), after or _bare(before)


def _bare(other: Project | None) -> Project | None:
    return None if other is None or other.bare is None else other.bare()


def _changes(title: str, chains: dict[tuple[str, ...], list[Shown]]) -> Iterator[Change]:
    """Yield what *chains* share, once where they share it in the same readings or some of these."""
    members: dict[tuple[str, ...], list[Shown]] = {}
    for _, shown in sorted(chains.items(), key=lambda item: (len(item[0]), item[0])):
        own = tuple(dict.fromkeys(each.reading for each in shown))
        readings = next((known for known in members if {*own} <= {*known}), own)
        members.setdefault(readings, []).append(shown[0])
    for readings, (first, *others) in members.items():
        yield Change(
            project=title,
            chain=first.chain,
            also=tuple(other.chain for other in others),
            readings=readings,
            what=first.what,
            difference=first.confirmed(),
            why=first.why,
        )


def _order(change: Change) -> tuple[object, ...]:
    difference = change.difference
    return (
        not change.widened,
        change.project,
        difference.before.effect if change.widened else difference.after.effect,
        change.what,
        len(change.chain),
        change.chain,
        difference.tool,
        str(difference.call),
    )
