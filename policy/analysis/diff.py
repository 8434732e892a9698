"""What a change grants or takes away: decisions that differ, each with a witness.

Two workspaces are compared chain by chain, in each reading (`policy.analysis.reach.worklist` finds
the chains that matter). A chain on one side only is reported as such, unless it shows nothing that
others do not. Chains that changed alike are reported once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from policy.analysis.reach.chains import ComparedChains, cause
from policy.analysis.reach.worklist import MANY_CHAINS, reading_side
from policy.compare.compare import Known
from policy.compare.witness import Difference
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import A_WORKSPACE, PolicyError, expect
from policy.core.finding import Severity
from policy.core.memory import seldom_collecting
from policy.core.progress import steps
from policy.core.values import evolve, frozen
from policy.files.opening import is_unreadable
from policy.files.trees import Tree
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace
from policy.tables.chain import READINGS, usual_spawn_call

# A chain: agents from the root down.
Names = tuple[str, ...]


@frozen(order=True)
class FileChange:
    """A file that differs."""

    path: str  # relative to both trees
    what: str  # what it was read as, or what kind of file it is
    # ``read``, ``not read``, or ``in error``: not understood at all, on one side or both
    # (`is_unreadable`). Mistakes in a file that is read are findings.
    status: str
    errors: int = 0  # how many findings of the new side are errors in this file


def changed_files(
    old: tuple[Tree, Workspace], new: tuple[Tree, Workspace]
) -> tuple[FileChange, ...]:
    """Return the files that differ and may say something about agents."""
    kinds: dict[str, str] = {}
    for _, workspace in (old, new):
        kinds |= {unread.path: unread.what for unread in workspace.unread}
    files = [file for _, w in (old, new) for project in w.projects for file in project.files]
    read = {file.path: file.role for file in files}
    kinds |= read
    found = [finding for _, workspace in (old, new) for finding in workspace.findings]
    errors = {finding.place.file for finding in found if is_unreadable(finding)}
    mistakes = Counter(f.place.file for f in new[1].findings if f.severity is Severity.ERROR)
    changes = []
    for path in sorted(kinds):
        if _content(old[0], path) != _content(new[0], path):
            status = "not read" if path not in read else "in error" if path in errors else "read"
            changes.append(FileChange(path, kinds[path], status, mistakes[path]))
    return tuple(changes)


def _content(tree: Tree, path: str) -> bytes | None:
    try:
        return tree.read(path)
    except PolicyError:
        return None  # not there, or not to be read


@frozen
class Change:
    """Calls that are decided differently."""

    project: str  # where, as `Project.title`
    chain: tuple[str, ...]  # the shortest chain it concerns
    # Further chains it concerns in the same way, in some of *readings*.
    also: tuple[tuple[str, ...], ...]
    readings: tuple[str, ...]  # ``attenuated``, ``enforced`` or both
    # ``rule``, or ``agent-added`` and ``agent-removed`` for a chain that can, or can no longer,
    # come about.
    what: str
    difference: Difference  # tool, witness and the two decisions
    # Why further calls of this chain may be decided differently; nothing where none are.
    why: tuple[str, ...] = ()

    @property
    def chains(self) -> tuple[Names, ...]:
        """Every chain that it concerns."""
        return (self.chain, *self.also)

    @property
    def key(self) -> tuple[object, ...]:
        """What identifies the change among those of one chain, but for the rules that decide."""
        one = self.difference
        return self.project, self.readings, self.what, one.tool, str(one.call), one.effects

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
    """What differs between two workspaces."""

    changes: tuple[Change, ...]  # widened before narrowed
    files: tuple[FileChange, ...]  # every file that differs and may say something about agents
    # Why something else may differ in the files that were read; nothing where nothing does.
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


@seldom_collecting()
def diff_workspaces(
    old: Workspace,
    new: Workspace,
    *,
    readings: Iterable[str] = READINGS,
    files: tuple[FileChange, ...] = (),
    known: Known | None = None,
) -> Diff:
    """Return what *new* decides differently from *old*, with the *files* that differ.

    What comparisons found so far is *known*; what is found is added.
    """
    expect(A_WORKSPACE, "old", old, Workspace)
    expect(A_WORKSPACE, "new", new, Workspace)
    changes: list[Change] = []
    known = {} if known is None else known
    why: dict[str, None] = {}
    for pair in paired(old, new):
        title = (pair[1] or pair[0]).title  # type: ignore[union-attr]  # one of them is there
        found: dict[object, list[Change]] = {}
        compared = {
            name: ComparedChains(reading_side(pair[0], name), reading_side(pair[1], name), known)
            for name in readings
        }
        for reading, chains in compared.items():
            for key, change in _chain_changes(chains, title, reading, why):
                found.setdefault(key, []).append(change)
        for alike in found.values():
            for change in _merged(alike):
                shown = change.difference
                if change.what == "rule":  # with the rules and links of this chain
                    shown = compared[change.readings[0]].at(change.chain, shown)
                changes.append(evolve(change, difference=shown))
    return Diff(tuple(sorted(changes, key=_order)), files, tuple(why))


def objection(before: Workspace, after: Workspace, *, any_change: bool = False) -> str:
    """Return why *after* must not take the place of *before*, or "".

    With *any_change* a call that is granted less is a reason as well, and any new error.
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
    """Yield each project as it is on both sides; for a side that lacks it see `without`."""
    sides = [{(p.host, p.root): p for p in workspace.projects} for workspace in (old, new)]
    for key in sorted({**sides[0], **sides[1]}):
        before, after = (side.get(key) for side in sides)
        yield before or (after and without(after, old)), after or (before and without(before, new))


def without(project: Project, workspace: Workspace) -> Project | None:
    """Return the host's defaults in place of a project that *workspace* does not have.

    None if the host has no defaults without files, or if the files are there but unreadable.
    """
    files = {file.path for file in project.files}
    unreadable = {found.place.file for found in workspace.findings if is_unreadable(found)}
    return project.bare() if project.bare and files.isdisjoint(unreadable) else None


def _chain_changes(
    compared: ComparedChains, title: str, reading: str, why: dict[str, None]
) -> Iterator[tuple[object, Change]]:
    """Yield the changes of each chain, shortest chain first, and note *why* more may change.

    Changes with the same key are reported together, as the first chain shows them.
    """
    pairs = compared.pairs
    if pairs is None:
        return
    if not pairs.is_whole:
        why[MANY_CHAINS] = None
    shown: dict[object, tuple[dict[object, Difference], tuple[str, ...]]] = {}
    reported: dict[str, dict[object, Difference]] = {}
    named = ((pairs.names(pair), pair) for pair in pairs)
    ordered = sorted(named, key=lambda each: (len(each[0]), each[0]))
    for names, pair in steps(ordered, "comparing chains"):
        if pair.before is None or pair.after is None:
            if not pairs.is_implied(pair):
                what = "agent-added" if pair.before is None else "agent-removed"
                difference = _started(compared, names, int(pair.before is None))
                change = Change(title, names, (), (reading,), what, difference)
                yield (what, names[-1], max(difference.effects)), change
        elif pair.before.use != pair.after.use:
            key = pair.agent, pair.before.use, pair.after.use
            if key not in shown:
                found = compared.compare(names)
                why.update(dict.fromkeys(found.why))
                known = reported.setdefault(names[-1], {})
                shown[key] = dict(_by_cause(compared, names, known)), found.why
            differences, more = shown[key]
            for mark, difference in differences.items():
                yield mark, Change(title, names, (), (reading,), "rule", difference, more)


def _started(compared: ComparedChains, names: Names, side: int) -> Difference:
    """Return the call that starts a chain which only one *side* has, as a difference."""
    gone = Decision(Effect.DENY, Reason.UNAVAILABLE)
    if len(names) > 1:
        tool, call, there = compared.chain(side, names[:-1]).most_starting(names[-1])
    else:
        tool, call = usual_spawn_call(names[-1])
        table = compared.chain(side, names).table.hash
        there = Decision(Effect.ALLOW, Reason.DEFAULT, table=table)
    return Difference(tool, call, *((gone, there) if side else (there, gone)))


def _by_cause(
    compared: ComparedChains, names: Names, known: dict[object, Difference]
) -> Iterator[tuple[object, Difference]]:
    """Yield the differences of a chain, each by its call and cause.

    The call is that of another chain with this cause, from *known*, if it shows the cause here too.
    """
    for difference in compared.compare(names).differences:
        own = cause(difference)
        other = known.setdefault(own, difference)
        again = compared.at(names, other) if other.call != difference.call else difference
        shown = again if cause(again) == own else difference
        yield (str(shown.call), own), shown


def _merged(alike: Iterable[Change]) -> Iterator[Change]:
    """Yield one change for all chains that have it in the same readings, or in fewer of them."""
    by_chain: dict[Names, list[Change]] = {}
    for one in alike:
        by_chain.setdefault(one.chain, []).append(one)
    members: dict[tuple[str, ...], list[Change]] = {}
    for _, shown in sorted(by_chain.items(), key=lambda item: (len(item[0]), item[0])):
        own = tuple(dict.fromkeys(one.readings[0] for one in shown))
        readings = next((known for known in members if {*own} <= {*known}), own)
        members.setdefault(readings, []).append(shown[0])
    for readings, (first, *others) in members.items():
        yield evolve(first, also=tuple(other.chain for other in others), readings=readings)


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
