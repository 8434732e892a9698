"""What agents used: the distinct calls of a log that the policy in force grants."""

from __future__ import annotations

import json
from collections.abc import Iterable

import attrs

from policy.chain import SPAWN_TOOL
from policy.effect import Effect
from policy.errors import PolicyError
from policy.records.decider import Decider
from policy.records.reading import Problem
from policy.records.record import Record

__all__ = ["Call", "Usage", "usage_of"]

_SPAWNS = frozenset({SPAWN_TOOL, "Agent"})


@attrs.frozen
class Call:
    """A distinct call that was made.

    Attributes:
        chain: who called.
        tool: the tool.
        arguments: of the call.
        effect: what it gets of the policy in force, or got, as the log has it.
        cwd: the folder of the project, or "".
        project: whose agents they are, as the log says, or "".
        times: how often it was made.

    """

    chain: tuple[str, ...]
    tool: str
    arguments: dict[str, object] = attrs.field(eq=False)
    effect: Effect
    cwd: str = ""
    project: str = ""
    times: int = attrs.field(default=1, eq=False)


@attrs.frozen
class Usage:
    """What was used.

    Attributes:
        calls: that are allowed or asked for.
        left_out: why calls are not covered -> how many, and where the first is.

    """

    calls: tuple[Call, ...]
    left_out: dict[str, tuple[int, str]]

    @property
    def chains(self) -> tuple[tuple[str, ...], ...]:
        """Every chain that called, and those it came about by, the shortest first."""
        found = {call.chain[:n] for call in self.calls for n in range(1, len(call.chain) + 1)}
        return tuple(sorted(found, key=lambda chain: (len(chain), chain)))

    def projects(self, chain: tuple[str, ...]) -> tuple[str, ...]:
        """Return whose agents *chain* is made of, as the log says of calls by it and below it."""
        length = len(chain)
        return tuple(dict.fromkeys(c.project for c in self.calls if c.chain[:length] == chain))


def usage_of(
    records: Iterable[Record | Problem], decider: Decider | None = None, *, root: str = ""
) -> Usage:
    """Return what the calls of a log use.

    Args:
        records: of `policy.records.reading.read_log`.
        decider: the policy in force; without one a log says what its calls got.
        root: the agent that starts every chain, in place of the one in the log.

    """
    found: dict[object, Call] = {}
    left_out: dict[str, tuple[int, str]] = {}
    for record in records:
        times = 1 if isinstance(record, Problem) else record.times
        try:
            call = _call(record, decider, root)
        except PolicyError as error:
            count, first = left_out.get(error.message, (0, record.source))
            left_out[error.message] = (count + times, first)
            continue
        if call.tool in _SPAWNS:
            continue  # who is started is told by the chains
        key = (
            call.project,
            call.chain,
            call.tool,
            call.cwd,
            json.dumps(call.arguments, sort_keys=True),
        )
        known = found.get(key)
        found[key] = attrs.evolve(call, times=times + (known.times if known else 0))
    return Usage(tuple(found.values()), left_out)


def _call(record: Record | Problem, decider: Decider | None, root: str) -> Call:
    """Return the call to cover. Raises PolicyError where there is none."""
    if isinstance(record, Problem):
        raise PolicyError(record.message)
    if record.redacted:
        raise PolicyError("arguments were kept from the log")
    if root:
        record = attrs.evolve(record, chain=(root, *record.chain[1:]), project="")
    if not record.chain:
        raise PolicyError("the log does not say which agent called")
    effect = record.effect if decider is None else decider.decide(record).effect
    if effect is None:
        raise PolicyError("the log does not say what the call got")
    if effect is Effect.DENY:
        raise PolicyError("the call is denied")
    return Call(record.chain, record.tool, record.call, effect, record.cwd, record.project)
