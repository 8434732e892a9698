"""Decides logged calls again under another policy, and compares.

Each distinct call of a chain is decided once and then counted, since logs repeat calls.
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

# The most lines that are named for each reason.
_MOST_PLACES: Final = 100


class Undecided(dict[str, tuple[int, tuple[str, ...]]]):
    """Why lines of a log were not decided -> their number, and the places of the first."""

    def add(self, why: str, record: Record | LogProblem) -> None:
        """Count *record*, as often as it occurs."""
        lines, places = self.get(why, (0, ()))
        places = (*places, record.source) if len(places) < _MOST_PLACES else places
        self[why] = lines + record.times, places

    def as_json(self) -> list[dict[str, object]]:
        """Return these reasons as JSON shows them."""
        return [
            {"why": why, "lines": lines, "first": places[0], "places": list(places)}
            for why, (lines, places) in self.items()
        ]


class RecordDecider:
    """Decides logged calls by one policy; *home* is an absolute folder, or "" if unknown."""

    def __init__(self, projects: Projects[Any], reading: str, home: str = "") -> None:
        self._projects = projects
        self._reading = reading
        self._home = home
        self._chains: dict[tuple[tuple[str, ...], str, str], Chain | Decision] = {}

    @property
    def start(self) -> str:
        """The one agent that starts chains; "" if there are several, or none."""
        starts = [name for project in self._projects.projects for name in project.starts]
        return starts[0] if len(starts) == 1 else ""

    def decide(self, record: Record) -> Decision:
        """Return the decision on the call of *record*; a denial if its chain is refused."""
        found = self.chain(record.chain, record.cwd, record.project)
        if isinstance(found, Decision):
            return found
        return found.decide(record.tool, record.call, checked=True)

    def chain(self, names: tuple[str, ...], cwd: str = "", project: str = "") -> Chain | Decision:
        """Return the chain of agents *names*, or the denial of a start.

        Raises PolicyError unless the policy has just one agent with the first name.
        """
        key = names, cwd, project
        if key not in self._chains:
            found, first = None, names[0]
            # The policy may have the agent in a project of another title.
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
    """Calls of one chain and tool with equal effects before, and equal decisions after."""

    chain: tuple[str, ...]
    tool: str
    before: Effect | None  # None if the log does not say
    after: Decision  # of one of them
    example: Record  # one of them
    calls: int = 0  # their number
    distinct: int = 0  # the number of distinct calls
    _members: list[Record] = field(factory=list, repr=False)

    def add(self, record: Record) -> None:
        """Add a distinct call; calls with unchanged effects are counted and not kept."""
        self.distinct += 1
        if self.changed:
            self._members.append(record)

    @property
    def members(self) -> Sequence[Record]:
        """The distinct calls, if their effect changed; else empty."""
        return self._members

    @property
    def changed(self) -> bool:
        """Whether the effect changed."""
        return self.before is not None and self.before is not self.after.effect

    @property
    def widened(self) -> bool:
        """Whether the calls are widened."""
        return self.before is not None and self.before < self.after.effect


@frozen
class Replay:
    """The outcome of replaying a log."""

    # Changed calls first, widened before narrowed, frequent before rare.
    outcomes: tuple[Replayed, ...]
    undecided: Undecided
    lines: int  # all lines, decided or not
    distinct: int  # the number of distinct calls

    @property
    def changes(self) -> tuple[Replayed, ...]:
        """The outcomes whose effect changed."""
        return tuple(each for each in self.outcomes if each.changed)

    @property
    def widened(self) -> int:
        """The number of widened calls."""
        return sum(each.calls for each in self.changes if each.widened)

    @property
    def narrowed(self) -> int:
        """The number of narrowed calls."""
        return sum(each.calls for each in self.changes) - self.widened


def replay(
    records: Iterable[Record | LogProblem],
    new: RecordDecider,
    old: RecordDecider | None = None,
    *,
    root: str = "",
) -> Replay:
    """Return the decisions of *new* on logged calls, compared with the log, or with *old* if given.

    *root*, if not "", replaces the first agent of every chain, and makes the calls without one.
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
    """Yield each call of a log with its *answer*, which is computed once for equal calls.

    A line without a call, or with one for which *answer* raises PolicyError, goes to *undecided*.
    *root*, if not "", replaces the first agent of every chain; *start*, if not "", makes the calls
    of which the log does not name the agent.
    """
    answers: dict[bytes, _Answer] = {}
    for record in records:
        try:
            asked = _decidable(record, root, start)
            effect = "" if asked.effect is None else asked.effect.value
            identity = (asked.project, asked.chain, asked.cwd, asked.tool, effect, asked.call)
            # A digest, since logs are long.
            text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
            key = blake2b(text.encode(), digest_size=16).digest()
            if key not in answers:
                answers[key] = answer(asked)
        except PolicyError as error:
            undecided.add(error.message, record)
        else:
            yield asked, answers[key]


def _decidable(record: Record | LogProblem, root: str, start: str) -> Record:
    """Return the call to decide; raise PolicyError if there is none."""
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
