"""What a change grants or takes away: decisions that differ, each with a witness.

Two workspaces are compared chain by chain, in each reading. Which chains have to be compared
for all of them to be is what `policy.analysis.reach.worklist` finds. A chain on one side only
is reported as such, unless it shows nothing that others do not. Chains whose tables have the
same rule sets are compared once, and those that changed alike are reported once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from policy.analysis.reach.worklist import (
    MANY_CHAINS,
    PositionPair,
    ReadingSide,
    Worklist,
    is_met_alike,
)
from policy.compare.compare import Known
from policy.compare.tables import compare_meets, decided, told
from policy.compare.witness import Call, Difference, ordinary
from policy.core.decision import Because, Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Severity
from policy.core.memory import seldom_collecting
from policy.core.progress import steps
from policy.core.values import define, field, frozen
from policy.files.opening import Tree, is_unreadable
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace
from policy.tables.chain import READINGS, SPAWN_TOOL, Chain, Chains
from policy.tables.table import Table

__all__ = [
    "Alike",
    "ChainChanges",
    "Change",
    "Diff",
    "FileChange",
    "changed_files",
    "diff_workspaces",
    "objection",
    "paired",
    "without",
]


@frozen(order=True)
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


_Names = tuple[str, ...]
_Tables = tuple[Table, Table]


@define(eq=False)
class Alike:
    """Chains of one agent that show the same in one reading.

    Attributes:
        reading: which.
        what: ``rule``, ``agent-added`` or ``agent-removed``.
        shown: their differences, by a key that one shares with those of other chains that are
            reported together with it.
        why: why there may be more.
        chains: the shortest first.

    """

    reading: str
    what: str
    shown: Mapping[object, Difference]
    why: tuple[str, ...] = ()
    chains: list[_Names] = field(factory=list)


@frozen(eq=False)
class _Compared:
    """What tables show that some chains come to, one difference for each cause."""

    tables: _Tables
    differences: tuple[Difference, ...]
    why: tuple[str, ...]


@frozen(cache_hash=True)
class _Cause:
    """What becomes of a tool by which rules."""

    tool: str
    effects: tuple[Effect, Effect]
    rules: tuple[object, object]

    @classmethod
    def of(cls, difference: Difference) -> _Cause:
        """Return that of a difference."""
        before, after = difference.before, difference.after
        rules = (_unlinked(before.because), _unlinked(after.because))
        return cls(difference.tool, (before.effect, after.effect), rules)


@frozen(cache_hash=True)
class _Key:
    """What differences that are reported together have in common: a call, and the cause."""

    call: str
    cause: _Cause


def _unlinked(because: Iterable[Because]) -> tuple[object, ...]:
    """Return rules whichever link of a chain they are those of."""
    return tuple((one.rule, one.effect, one.place) for one in because)


class ChainChanges:
    """What changes along the chains of a project, in one reading.

    Args:
        before: the project; None where nothing is in its place.
        after: the project after the change, or None.
        reading: which reading of them.
        known: what comparisons of tables found so far (`compare.tables.differences`).

    Attributes:
        why: why more may change, once `alike` was called; nothing where nothing does.

    """

    def __init__(
        self, before: Project | None, after: Project | None, reading: str, known: Known
    ) -> None:
        self.why: dict[str, None] = {}
        self._reading = reading
        self._sides = tuple(
            None
            if project is None
            else ReadingSide(project.reading(reading), project.starts, project.asides)
            for project in (before, after)
        )
        self._known = known
        self._compared: dict[object, _Compared] = {}
        self._chains = tuple(Chains(side.reading) if side else None for side in self._sides)
        # agent -> what is reported of it, by cause
        self._reported: dict[str, dict[_Cause, Difference]] = {}

    def alike(self) -> list[Alike]:
        """Return what chains show, the shortest chain first."""
        if _is_same(*self._sides):
            return []
        pairs = Worklist(*self._sides).run()
        if not pairs.is_whole:
            self.why[MANY_CHAINS] = None
        found: dict[object, Alike] = {}
        named = ((pairs.names(pair), pair) for pair in pairs)
        ordered = sorted(named, key=lambda each: (len(each[0]), each[0]))
        for names, pair in steps(ordered, "comparing chains"):
            if pair.before is None or pair.after is None:
                if not pairs.is_implied(pair):
                    found[names] = self._one_sided(names, pair)
            elif pair.before.use != pair.after.use:
                key = pair.agent, pair.before.use, pair.after.use
                if key not in found:
                    found[key] = self._differing(names)
                found[key].chains.append(names)
        return list(found.values())

    def confirmed(self, difference: Difference, alike: Alike, names: _Names) -> Difference:
        """Return a difference as one of the chains decides it: rules and links are its own."""
        if alike.what != "rule":
            return difference
        before, after = self._tables(names)
        return decided(before, after, difference)

    def _one_sided(self, names: _Names, pair: PositionPair) -> Alike:
        """Return that a chain can, or can no longer, come about."""
        side, what = (1, "agent-added") if pair.before is None else (0, "agent-removed")
        gone = Decision(Effect.DENY, Reason.UNAVAILABLE)
        tool, call, there = self._starting(side, names)
        difference = Difference(tool, call, *((gone, there) if side else (there, gone)))
        shown: dict[object, Difference] = {(what, names[-1], there.effect): difference}
        return Alike(self._reading, what, shown, chains=[names])

    def _starting(self, side: int, names: _Names) -> tuple[str, Call, Decision]:
        """Return the call by which a chain of one side comes about, and what it gets."""
        if len(names) > 1:
            return self._chain(side, names[:-1]).most_starting(names[-1])
        table = self._chain(side, names).table.hash
        start = Decision(Effect.ALLOW, Reason.DEFAULT, table=table)
        return SPAWN_TOOL, {"subagent_type": names[-1]}, start

    def _differing(self, names: _Names) -> Alike:
        """Return what the first of some chains shows, and of these none yet."""
        compared = self._compare(self._tables(names))
        # By a call that another chain of the agent shows too, where both show the same.
        known = self._reported.setdefault(names[-1], {})
        shown: dict[object, Difference] = {}
        for difference in compared.differences:
            key = _Key(str(difference.call), _Cause.of(difference))
            other = known.setdefault(key.cause, difference)
            if other is not difference and other.call != difference.call:
                before, after = compared.tables
                again = decided(before, after, other)
                if _Cause.of(again) == key.cause:
                    shown[_Key(str(again.call), key.cause)] = again
                    continue
            shown[key] = difference
        return Alike(self._reading, "rule", shown, compared.why)

    def _compare(self, tables: _Tables) -> _Compared:
        """Return how two tables differ, or two that say the same."""
        before, after = tables
        key = (before.use.sets, after.use.sets)
        found = self._compared.get(key)
        if found is None:
            comparison = compare_meets(before.use.linked, after.use.linked, self._known)
            self.why.update(dict.fromkeys(comparison.why))
            causes: dict[_Cause, Difference] = {}
            found_calls = ordinary(comparison.differences, *tables)
            for difference in told(found_calls, *tables):
                causes.setdefault(_Cause.of(difference), difference)
            shown = tuple(causes.values())
            found = self._compared[key] = _Compared(tables, shown, comparison.why)
        return found

    def _tables(self, names: _Names) -> _Tables:
        return self._chain(0, names).table, self._chain(1, names).table

    def _chain(self, number: int, names: _Names) -> Chain:
        """Return a chain of one side, which has it."""
        chains = self._chains[number]
        if chains is None:
            raise KeyError(names)  # no chain is there
        return chains.of(names)


def _is_same(before: ReadingSide | None, after: ReadingSide | None) -> bool:
    """Return whether nothing can differ, since both sides are met from equal tables."""
    if before is None or after is None:
        return before is after
    is_started_alike = (before.starts, before.alone) == (after.starts, after.alone)
    return is_started_alike and is_met_alike(before.reading, after.reading)


@frozen
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


@frozen
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
    known: Known | None = None,
) -> Diff:
    """Return what *new* decides differently from *old*.

    Args:
        old: before.
        new: after.
        readings: which readings to compare.
        files: the files that differ (`changed_files`).
        known: what comparisons found so far; what is found is added.

    """
    changes: list[Change] = []
    known = {} if known is None else known
    why: dict[str, None] = {}
    for pair in paired(old, new):
        title = (pair[1] or pair[0]).title  # type: ignore[union-attr]  # one of them is there
        alike: list[tuple[ChainChanges, Alike]] = []
        for reading in readings:
            compared = ChainChanges(*pair, reading, known)
            alike += [(compared, each) for each in compared.alike()]
            why.update(compared.why)
        changes += _changes(title, alike)
    return Diff(tuple(sorted(changes, key=_order)), files, tuple(why))


def objection(before: Workspace, after: Workspace, *, any_change: bool = False) -> str:
    """Return why *after* must not take the place of *before*, or "".

    Args:
        before: with the files as they were.
        after: with some of them edited.
        any_change: whether a call that is granted less is a reason as well, and so is any
            finding that is an error.

    """
    known = {(finding.code, finding.place.file) for finding in before.findings}
    for finding in after.findings:
        is_error = any_change and finding.severity is Severity.ERROR
        is_new = (finding.code, finding.place.file) not in known
        if is_new and (is_error or is_unreadable(finding)):
            return f"{finding.place}: {finding.message}"
    compared: Known = {}
    for mode in ("", *{**before.modes, **after.modes}):
        old, new = before.modes.get(mode, before), after.modes.get(mode, after)
        diff = diff_workspaces(old, new, known=compared)
        within = f" in the mode `{mode}`" if mode else ""
        for change in diff.changes:
            if change.widened or any_change:
                difference = change.difference
                call = " ".join(map(str, difference.call.values()))
                return (
                    f"`{'>'.join(change.chain)}` would get {difference.after.effect} instead of"
                    f" {difference.before.effect} for `{difference.tool}({call})`{within}"
                )
        if not diff.exact:
            return f"the comparison is not exact{within}: {'; '.join(diff.why)}"
    return ""


def paired(old: Workspace, new: Workspace) -> Iterator[tuple[Project | None, Project | None]]:
    """Yield every project of either side, with what is in its place on the other.

    That is the project there, or what the host does there without files, or
    None where it does nothing.
    """
    sides = [{(p.host, p.root): p for p in workspace.projects} for workspace in (old, new)]
    for key in sorted({**sides[0], **sides[1]}):
        before, after = (side.get(key) for side in sides)
        yield before or (after and without(after, old)), after or (before and without(before, new))


def without(project: Project, workspace: Workspace) -> Project | None:
    """Return what the host does in the place of a project that *workspace* does not have.

    None where it starts nothing there without files, or where the files are there and cannot be
    read.
    """
    files = {file.path for file in project.files}
    unreadable = {found.place.file for found in workspace.findings if is_unreadable(found)}
    return project.bare() if project.bare and files.isdisjoint(unreadable) else None


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


@frozen
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
