"""Deciding logged calls again, under another policy: what would have been otherwise.

A log repeats itself, so each distinct call of a chain is decided once and then
counted: a million lines cost what their distinct calls cost, and reading them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import Final

import attrs

from policy.decision import Decision
from policy.effect import Effect
from policy.errors import PolicyError
from policy.records.decider import Decider
from policy.records.reading import Problem
from policy.records.record import Record

__all__ = ["Outcome", "Replay", "Replayed", "replay"]


@attrs.frozen
class Outcome:
    """What a call got, and what it gets: calls that share this are counted together.

    Attributes:
        chain: who called.
        tool: the tool.
        before: what the calls got; None where the log does not say.
        after: what they get now, of one of them.

    """

    chain: tuple[str, ...]
    tool: str
    before: Effect | None
    after: Decision

    @property
    def changed(self) -> bool:
        """Whether the calls are decided differently."""
        return self.before is not None and self.before is not self.after.effect

    @property
    def widened(self) -> bool:
        """Whether they are granted more."""
        return self.before is not None and self.before < self.after.effect


@attrs.define
class Replayed:
    """The calls of one outcome.

    Attributes:
        outcome: what they got, and get.
        example: one of them.
        calls: how many they are.
        distinct: how many of them differ.

    """

    outcome: Outcome
    example: Record
    calls: int = 0
    distinct: int = 0


@attrs.frozen
class Replay:
    """What became of a log.

    Attributes:
        outcomes: the calls that were decided, those that changed first, widened
            before narrowed, the most frequent first.
        undecided: why calls were not decided -> how many, and the first of them.
        lines: calls and lines that are none, in all.
        distinct: calls that differ.

    """

    outcomes: tuple[Replayed, ...]
    undecided: Mapping[str, tuple[int, str]]
    lines: int
    distinct: int

    @property
    def changes(self) -> tuple[Replayed, ...]:
        """Those that are decided differently."""
        return tuple(each for each in self.outcomes if each.outcome.changed)

    @property
    def widened(self) -> int:
        """How many calls are granted more."""
        return sum(each.calls for each in self.changes if each.outcome.widened)

    @property
    def narrowed(self) -> int:
        """How many calls are granted less."""
        return sum(each.calls for each in self.changes) - self.widened


def replay(
    records: Iterable[Record | Problem],
    new: Decider,
    old: Decider | None = None,
    *,
    root: str = "",
    progress: Callable[[int], None] = lambda _: None,
) -> Replay:
    """Decide logged calls again.

    Args:
        records: of `policy.records.reading.read_log`.
        new: the policy to decide them by.
        old: what they got, in place of what the log says.
        root: the agent that starts every chain, in place of the one in the log;
            it makes the calls too of which the log does not say who made them.
        progress: told of the number of lines that were read, now and then.

    """
    known: dict[bytes, Replayed] = {}
    outcomes: dict[object, Replayed] = {}
    undecided: dict[str, tuple[int, str]] = {}
    lines = told = 0
    for record in records:
        times = 1 if isinstance(record, Problem) else record.times
        lines += times
        if lines >= told:
            progress(lines)
            told = lines + _TOLD
        key = b"" if isinstance(record, Problem) else _digest(record)
        group = known.get(key)  # none has the key of a problem
        if group is None:
            try:
                group = known[key] = _grouped(_decidable(record, root), new, old, outcomes)
            except PolicyError as error:
                count, first = undecided.get(error.message, (0, record.source))
                undecided[error.message] = (count + times, first)
                continue
            group.distinct += 1
        group.calls += times
    ordered = sorted(outcomes.values(), key=_order)
    return Replay(tuple(ordered), undecided, lines, len(known))


# Lines between two words of progress.
_TOLD: Final = 20_000


def _decidable(record: Record | Problem, root: str) -> Record:
    """Return the call to decide. Raises PolicyError where there is none."""
    if isinstance(record, Problem):
        raise PolicyError(record.message)
    if record.redacted:
        msg = "arguments were kept from the log"
        raise PolicyError(msg)
    if root:
        return attrs.evolve(record, chain=(root, *record.chain[1:]), project="")
    if not record.chain:
        msg = "the log does not say which agent called"
        raise PolicyError(msg)
    return record


def _digest(record: Record) -> bytes:
    """Return what tells calls apart, in a few bytes: logs are long."""
    effect = record.effect.value if record.effect else ""
    said = (record.project, record.chain, record.cwd, record.tool, effect, record.call)
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=16).digest()


def _grouped(
    record: Record, new: Decider, old: Decider | None, outcomes: dict[object, Replayed]
) -> Replayed:
    before = old.decide(record).effect if old is not None else record.effect
    after = new.decide(record)
    key = record.chain, record.tool, before, after.effect, after.reason, after.because
    found = outcomes.get(key)
    if found is None:
        outcome = Outcome(record.chain, record.tool, before, after)
        found = outcomes[key] = Replayed(outcome, record)
    return found


def _order(each: Replayed) -> tuple[object, ...]:
    outcome = each.outcome
    return (
        not outcome.changed,
        not outcome.widened,
        -each.calls,
        outcome.chain,
        outcome.tool,
        str(each.example.call),
    )
