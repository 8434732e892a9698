"""Deciding logged calls again, under another policy: what would have been otherwise.

A log repeats itself, so each distinct call of a chain is decided once and then counted: a
million lines cost what their distinct calls cost, and reading them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any, Final, TypeVar

from policy.analysis.records.logs import LogProblem
from policy.analysis.records.record import Record
from policy.core.decision import Decision
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.values import define, evolve, field, frozen
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.placement import ProjectFolders
from policy.tables.projects import Projects

# Lines that are named for each reason: a log may have millions.
_MOST_PLACES: Final = 100


class Undecided(dict[str, tuple[int, tuple[str, ...]]]):
    """Why lines of a log were not decided -> how many, and where the first of them are."""

    def add(self, why: str, record: Record | LogProblem) -> None:
        """Count a line, or the equal lines of a log that was counted first."""
        lines, places = self.get(why, (0, ()))
        places = (*places, record.source) if len(places) < _MOST_PLACES else places
        self[why] = lines + record.times, places

    def as_json(self) -> list[dict[str, object]]:
        """Return the value for programs."""
        return [
            {"why": why, "lines": lines, "first": places[0], "places": list(places)}
            for why, (lines, places) in self.items()
        ]


class RecordDecider:
    """Decides logged calls by one policy; *home* is an absolute folder, or "" where unknown."""

    def __init__(self, projects: Projects[Any], reading: str, home: str = "") -> None:
        self._projects = projects
        self._reading = reading
        self._home = home
        self._chains: dict[tuple[tuple[str, ...], str, str], Chain | Decision] = {}

    @property
    def start(self) -> str:
        """The one agent that starts chains; "" where there are several, or none."""
        starts = [name for project in self._projects.projects for name in project.starts]
        return starts[0] if len(starts) == 1 else ""

    def decide(self, record: Record) -> Decision:
        """Return what the call of *record* gets: denied where its chain cannot come about."""
        found = self.chain(record.chain, record.cwd, record.project)
        if isinstance(found, Decision):
            return found
        return found.decide(record.tool, record.call, checked=True)

    def chain(self, names: tuple[str, ...], cwd: str = "", project: str = "") -> Chain | Decision:
        """Return the chain of agents *names* of a project, or why it cannot come about.

        Raises PolicyError where the policy has no agent for the first link, or several.
        """
        key = names, cwd, project
        if key not in self._chains:
            found, first = None, names[0]
            # In a policy of another host, or elsewhere, the agent may be there all the same.
            with suppress(PolicyError):
                found = self._projects.find(f"{project}:{first}") if project else None
            there, first = found or self._projects.find(first)
            place = ProjectFolders(cwd, self._home) if cwd else None
            try:
                chain = Chain.start(first, there.reading(self._reading), place)
                for name in names[1:]:
                    chain = chain.spawn(name)
                self._chains[key] = chain
            except SpawnDenied as denied:
                self._chains[key] = denied.decision
        return self._chains[key]


@define
class Replayed:
    """Calls that got the same, and get the same."""

    chain: tuple[str, ...]
    tool: str
    before: Effect | None  # what the calls got; None where the log does not say
    after: Decision  # what they get now, of one of them
    example: Record  # one of them
    calls: int = 0  # how many they are
    distinct: int = 0  # how many of them differ
    _members: list[Record] = field(factory=list, repr=False)

    def add(self, record: Record) -> None:
        """Add a call that differs from the others; those that did not change are counted alone."""
        self.distinct += 1
        if self.changed:
            self._members.append(record)

    @property
    def members(self) -> Sequence[Record]:
        """Those that differ, where they are decided differently."""
        return self._members

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
    """What became of a log."""

    # The calls that were decided, those that changed first, widened before narrowed, the most
    # frequent first.
    outcomes: tuple[Replayed, ...]
    undecided: Undecided  # why calls were not decided
    lines: int  # calls and lines that are none, in all
    distinct: int  # calls that differ

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
    """Decide logged calls again by *new*, and compare with *old* in place of what the log says.

    *root* starts every chain in place of the agent in the log, and makes the calls of which the log
    does not say who made them.
    """
    outcomes: dict[object, Replayed] = {}

    def outcome_of(record: Record) -> Replayed:
        before = old.decide(record).effect if old is not None else record.effect
        after = new.decide(record)
        key = record.chain, record.tool, before, after.effect, after.reason, after.because
        made = Replayed(record.chain, record.tool, before, after, record)
        found = outcomes.setdefault(key, made)
        found.add(record)
        return found

    undecided = Undecided()
    for record, group in each_answered(records, outcome_of, root, undecided, new.start):
        group.calls += record.times
    ordered = tuple(sorted(outcomes.values(), key=_order))
    lines = sum(each.calls for each in ordered) + sum(n for n, _ in undecided.values())
    return Replay(ordered, undecided, lines, sum(each.distinct for each in ordered))


def _order(each: Replayed) -> tuple[object, ...]:
    call = str(each.example.call)
    return not each.changed, not each.widened, -each.calls, each.chain, each.tool, call


_Answer = TypeVar("_Answer")


def each_answered(
    records: Iterable[Record | LogProblem],
    answer: Callable[[Record], _Answer],
    root: str,
    undecided: Undecided,
    start: str,
) -> Iterator[tuple[Record, _Answer]]:
    """Yield the calls of a log, each with what *answer* returns, which is asked once of equal ones.

    A line without a call, and a call for which *answer* raises PolicyError, goes to *undecided*.
    *root* starts every chain in place of the one in the log, and *start* made the calls of which
    the log says nothing of who did, where these are not "".
    """
    known: dict[bytes, _Answer] = {}
    for record in records:
        try:
            asked = _decidable(record, root, start)
            effect = "" if asked.effect is None else asked.effect.value
            said = (asked.project, asked.chain, asked.cwd, asked.tool, effect, asked.call)
            # What tells calls apart, in a few bytes: logs are long.
            text = json.dumps(said, sort_keys=True, separators=(",", ":"))
            key = blake2b(text.encode(), digest_size=16).digest()
            if key not in known:
                known[key] = answer(asked)
        except PolicyError as error:
            undecided.add(error.message, record)
        else:
            yield asked, known[key]


def _decidable(record: Record | LogProblem, root: str, start: str) -> Record:
    """Return the call to decide. Raises PolicyError where there is none."""
    if isinstance(record, LogProblem):
        raise PolicyError(record.message)
    if record.redacted:
        raise PolicyError("arguments were kept from the log")
    if root:
        return evolve(record, chain=(root, *record.chain[1:]), project="")
    if not record.chain and not record.agent and start:
        return evolve(record, chain=(start,))
    if not record.chain:
        raise PolicyError("the log does not say which agent called")
    return record
