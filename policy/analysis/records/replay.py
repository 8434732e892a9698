"""Deciding logged calls again, under another policy: what would have been otherwise.

A log repeats itself, so each distinct call of a chain is decided once and then counted: a
million lines cost what their distinct calls cost, and reading them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from typing import Any, TypeVar

from policy.analysis.records.logs import LogProblem
from policy.analysis.records.record import Record
from policy.core.decision import Decision
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.values import define, evolve, frozen
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.placement import ProjectFolders
from policy.tables.projects import Projects

__all__ = ["RecordDecider", "Replay", "Replayed", "Undecided", "replay"]


class Undecided(dict[str, tuple[int, str]]):
    """Why lines of a log were not decided -> how many, and where the first is."""

    def add(self, record: Record | LogProblem, error: PolicyError) -> None:
        """Count the lines of *record*."""
        count, first = self.get(error.message, (0, record.source))
        self[error.message] = (count + record.times, first)

    def as_json(self) -> list[dict[str, object]]:
        """Return the value for programs."""
        return [{"why": why, "lines": lines, "first": at} for why, (lines, at) in self.items()]


class RecordDecider:
    """Decides logged calls by one policy.

    Args:
        projects: the policy: a workspace, or one that was compiled.
        reading: ``attenuated`` or ``enforced``.
        home: the home folder of those who called, absolute; "" where unknown.

    """

    def __init__(self, projects: Projects[Any], reading: str, home: str = "") -> None:
        self._projects = projects
        self._reading = reading
        self._home = home
        self._chains: dict[tuple[tuple[str, ...], str, str], Chain | Decision] = {}
        self._folders: dict[str, ProjectFolders] = {}

    @property
    def start(self) -> str:
        """The one agent that starts chains; "" where there are several, or none."""
        starts = [name for project in self._projects.projects for name in project.starts]
        return starts[0] if len(starts) == 1 else ""

    def decide(self, record: Record) -> Decision:
        """Return what the call of *record* gets. A chain that cannot come about is denied.

        Raises:
            PolicyError: the policy has no agent for the first link, or several.

        """
        found = self.chain(record.chain, record.cwd, record.project)
        if isinstance(found, Decision):
            return found
        return found.decide(record.tool, record.call, checked=True)

    def chain(self, names: tuple[str, ...], cwd: str = "", project: str = "") -> Chain | Decision:
        """Return the chain of agents *names*, or why it cannot come about.

        Args:
            names: from the root down.
            cwd: the folder of the project, absolute, or "".
            project: whose agents they are, where there are several.

        Raises:
            PolicyError: the policy has no agent for the first link, or several.

        """
        found = self._chains.get((names, cwd, project))
        if found is None:
            found = self._chains[names, cwd, project] = self._walked(names, cwd, project)
        return found

    def _found(self, name: str, project: str) -> tuple[Any, str]:
        if project:
            # In a policy of another host, or elsewhere, the agent may be there all the same.
            with suppress(PolicyError):
                return self._projects.find(f"{project}:{name}")
        return self._projects.find(name)

    def _walked(self, names: tuple[str, ...], cwd: str, where: str) -> Chain | Decision:
        try:
            project, first = self._found(names[0], where)
            folders = None
            if cwd:
                folders = self._folders.setdefault(cwd, ProjectFolders(cwd, self._home))
            chain = Chain.start(first, project.reading(self._reading), folders)
            for name in names[1:]:
                chain = chain.spawn(name)
        except SpawnDenied as denied:
            return denied.decision
        return chain


@define
class Replayed:
    """Calls that got the same, and get the same.

    Attributes:
        chain: who called.
        tool: the tool.
        before: what the calls got; None where the log does not say.
        after: what they get now, of one of them.
        example: one of them.
        calls: how many they are.
        distinct: how many of them differ.

    """

    chain: tuple[str, ...]
    tool: str
    before: Effect | None
    after: Decision
    example: Record
    calls: int = 0
    distinct: int = 0

    @property
    def changed(self) -> bool:
        """Whether the calls are decided differently."""
        return self.before is not None and self.before is not self.after.effect

    @property
    def widened(self) -> bool:
        """Whether they are granted more."""
        return self.before is not None and self.before < self.after.effect


@frozen
class Replay:
    """What became of a log.

    Attributes:
        outcomes: the calls that were decided, those that changed first, widened
            before narrowed, the most frequent first.
        undecided: why calls were not decided.
        lines: calls and lines that are none, in all.
        distinct: calls that differ.

    """

    outcomes: tuple[Replayed, ...]
    undecided: Undecided
    lines: int
    distinct: int

    @property
    def changes(self) -> tuple[Replayed, ...]:
        """Those that are decided differently."""
        return tuple(each for each in self.outcomes if each.changed)

    @property
    def widened(self) -> int:
        """How many calls are granted more."""
        return sum(each.calls for each in self.changes if each.widened)

    @property
    def narrowed(self) -> int:
        """How many calls are granted less."""
        return sum(each.calls for each in self.changes) - self.widened


def replay(
    records: Iterable[Record | LogProblem],
    new: RecordDecider,
    old: RecordDecider | None = None,
    *,
    root: str = "",
) -> Replay:
    """Decide logged calls again.

    Args:
        records: of `policy.analysis.records.logs.read_log`.
        new: the policy to decide them by.
        old: what they got, in place of what the log says.
        root: the agent that starts every chain, in place of the one in the log;
            it makes the calls too of which the log does not say who made them.

    """
    outcomes: dict[object, Replayed] = {}
    undecided = Undecided()
    grouped = partial(_grouped, new, old, outcomes)
    for record, group in each_answered(records, grouped, root, undecided, new.start):
        group.calls += record.times
    ordered = tuple(sorted(outcomes.values(), key=_order))
    lines = sum(each.calls for each in ordered) + sum(n for n, _ in undecided.values())
    return Replay(ordered, undecided, lines, sum(each.distinct for each in ordered))


_Answer = TypeVar("_Answer")


def each_answered(
    records: Iterable[Record | LogProblem],
    answer: Callable[[Record], _Answer],
    root: str,
    undecided: Undecided,
    start: str = "",
) -> Iterator[tuple[Record, _Answer]]:
    """Yield the calls of a log, each with what *answer* returns, which is asked once of equal ones.

    A line without a call, and a call for which *answer* raises PolicyError, goes to *undecided*.
    Calls of which the log says nothing of who made them are those of *start*.
    """
    known: dict[bytes, _Answer] = {}
    for record in records:
        try:
            asked = _decidable(record, root, start)
            key = _distinct_key(asked)
            if key not in known:
                known[key] = answer(asked)
        except PolicyError as error:
            undecided.add(record, error)
        else:
            yield asked, known[key]


def _decidable(record: Record | LogProblem, root: str, start: str) -> Record:
    """Return the call to decide. Raises PolicyError where there is none."""
    if isinstance(record, LogProblem):
        raise PolicyError(record.message)
    if record.redacted:
        msg = "arguments were kept from the log"
        raise PolicyError(msg)
    if root:
        return evolve(record, chain=(root, *record.chain[1:]), project="")
    if not record.chain and not record.agent and start:
        return evolve(record, chain=(start,))
    if not record.chain:
        msg = "the log does not say which agent called"
        raise PolicyError(msg)
    return record


def _distinct_key(record: Record) -> bytes:
    """Return what tells calls apart, in a few bytes: logs are long."""
    effect = "" if record.effect is None else record.effect.value
    said = (record.project, record.chain, record.cwd, record.tool, effect, record.call)
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=16).digest()


def _grouped(
    new: RecordDecider, old: RecordDecider | None, outcomes: dict[object, Replayed], record: Record
) -> Replayed:
    before = old.decide(record).effect if old is not None else record.effect
    after = new.decide(record)
    key = record.chain, record.tool, before, after.effect, after.reason, after.because
    made = Replayed(record.chain, record.tool, before, after, record)
    found = outcomes.setdefault(key, made)
    found.distinct += 1
    return found


def _order(each: Replayed) -> tuple[object, ...]:
    call = str(each.example.call)
    return not each.changed, not each.widened, -each.calls, each.chain, each.tool, call
