"""What a change grants or takes away: decisions that differ, each with a witness.

Two workspaces are compared chain by chain (`policy.changes.chains`). Chains whose tables
changed alike are told once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from policy.chain import READINGS
from policy.changes.chains import Alike, ChainChanges
from policy.changes.changed_files import FileChange
from policy.collecting import seldom_collecting
from policy.comparison.compare import Difference, Known
from policy.project import Project
from policy.workspace import Workspace

__all__ = ["Change", "Diff", "diff_workspaces", "in_every_mode", "paired"]


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


@seldom_collecting
def diff_workspaces(
    old: Workspace,
    new: Workspace,
    *,
    readings: Iterable[str] = READINGS,
    files: tuple[FileChange, ...] = (),
    progress: Callable[[str], None] = lambda _: None,
    known: Known | None = None,
) -> Diff:
    """Return what *new* decides differently from *old*.

    Args:
        old: before.
        new: after.
        readings: which readings to compare.
        files: the files that differ (`changed_files`).
        progress: told of each project as its turn comes.
        known: what comparisons found so far (`Table.differences`); what is found is added.

    """
    changes: list[Change] = []
    known = {} if known is None else known
    why: dict[str, None] = {}
    for pair in paired(old, new):
        title = (pair[1] or pair[0]).title  # type: ignore[union-attr]  # one of them is there
        progress(title)
        alike: list[tuple[ChainChanges, Alike]] = []
        for reading in readings:
            compared = ChainChanges(*pair, reading, known)
            alike += [(compared, each) for each in compared.alike()]
            why.update(compared.why)
        changes += _changes(title, alike)
    return Diff(tuple(sorted(changes, key=_order)), files, tuple(why))


def in_every_mode(old: Workspace, new: Workspace) -> Iterator[tuple[str, Workspace, Workspace]]:
    """Yield both workspaces, and both as sessions in each other permission mode have them.

    The name of the mode comes first, "" for the one that the files say.
    """
    yield "", old, new
    for mode in {**old.modes, **new.modes}:
        yield mode, old.modes.get(mode, old), new.modes.get(mode, new)


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


def _changes(title: str, found: Sequence[tuple[ChainChanges, Alike]]) -> Iterator[Change]:
    """Yield every difference once for the chains that share it."""
    showing: dict[object, list[int]] = {}
    for number, (_, alike) in enumerate(found):
        for key in alike.shown:
            showing.setdefault(key, []).append(number)
    known: dict[tuple[int, ...], list[_Chains]] = {}
    for key, numbers in showing.items():
        which = tuple(numbers)
        if which not in known:
            known[which] = list(_together([(n, found[n][1]) for n in numbers]))
        for chains in known[which]:
            first, *others = chains.names
            compared, alike = found[chains.number]
            yield Change(
                project=title,
                chain=first,
                also=tuple(others),
                readings=chains.readings,
                what=alike.what,
                difference=compared.confirmed(alike.shown[key], alike, first),
                why=alike.why,
            )


@attrs.frozen
class _Chains:
    """Chains that show something in the same readings, or some of these.

    Attributes:
        names: of each, the shortest first.
        readings: which.
        number: where the first is found.

    """

    names: list[tuple[str, ...]]
    readings: tuple[str, ...]
    number: int


def _together(showing: Iterable[tuple[int, Alike]]) -> Iterator[_Chains]:
    """Yield chains that share something, once where they share it in the same readings."""
    by_chain: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    for number, alike in showing:
        for names in alike.chains:
            by_chain.setdefault(names, []).append((number, alike.reading))
    members: dict[tuple[str, ...], _Chains] = {}
    for names, shown in sorted(by_chain.items(), key=lambda item: (len(item[0]), item[0])):
        own = tuple(dict.fromkeys(reading for _, reading in shown))
        readings = next((known for known in members if {*own} <= {*known}), own)
        members.setdefault(readings, _Chains([], readings, shown[0][0])).names.append(names)
    yield from members.values()


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
