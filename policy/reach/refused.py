"""Why agents cannot make a call that somebody asks about: what refuses it, or to start them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from policy.chain import Chain, Reading, SpawnDenied, spawn_call
from policy.decision import Because, Decision
from policy.effect import Effect
from policy.ruleset import RuleSet
from policy.table import Table

__all__ = ["Call", "Refusal", "asked_about", "refusal"]

# A tool and the arguments of a call.
Call = tuple[str, dict[str, object]]


@attrs.frozen
class Refusal:
    """An agent that cannot make such a call, and why.

    Attributes:
        project: where, as `Project.title`.
        reading: ``attenuated`` or ``enforced``.
        agent: who cannot.
        chain: who is refused the call: a chain of the agent, or where none comes to it one
            that may not start it.
        tool: of a call that is refused.
        call: its arguments.
        decision: what it gets; None where nobody starts chains.

    """

    project: str
    reading: str
    agent: str
    chain: tuple[str, ...] = ()
    tool: str = ""
    call: dict[str, object] = attrs.field(factory=dict, eq=False)
    decision: Decision | None = None

    @property
    def because(self) -> tuple[Because, ...]:
        """The rules that refuse it; none where nothing grants it."""
        return () if self.decision is None else self.decision.because

    @property
    def is_unreached(self) -> bool:
        """Whether no chain comes to the agent."""
        return self.chain[-1:] != (self.agent,)


def asked_about(denied: Table) -> tuple[Call, ...]:
    """Return calls of all that *denied* denies by a rule, one for each of its rules or more."""
    (part,) = denied.use.parts
    everything = Table.of(RuleSet((), Effect.ALLOW, part.rules.dialect))
    named = {entry.tool for entry in part.rules.entries}
    found = [each for each in everything.differences(denied).differences if each.after.because]
    # Others do so in part only, e.g. a command that writes a file.
    found.sort(key=lambda each: each.tool not in named)
    return tuple((each.tool, each.call) for each in found)


def refusal(
    unexplained: Refusal,
    calls: Sequence[Call],
    chains: Iterable[Chain],
    starts: Iterable[str],
    reading: Reading,
) -> Refusal:
    """Return why an agent cannot make a call.

    Args:
        unexplained: which agent, and where.
        calls: some of those that are asked about.
        chains: those that come to it, the shortest first.
        starts: the agents that start chains.
        reading: how chains come about.

    """
    found: list[Refusal] = []
    for chain in chains:
        for tool, call in calls:
            decision = chain.decide(tool, call)
            if decision.effect is Effect.DENY:
                found.append(_told(unexplained, chain, (tool, call), decision))
    if not found:
        for start in starts:
            try:
                chain = Chain.start(start, reading)
                chain.spawn(unexplained.agent)
            except SpawnDenied as denied:
                if denied.agent != start:
                    call_ = spawn_call(reading, unexplained.agent)
                    found.append(_told(unexplained, chain, call_, denied.decision))
    # What somebody wrote says more than that nobody wrote anything.
    return min(found, key=lambda one: not one.because, default=unexplained)


def _told(unexplained: Refusal, chain: Chain, call: Call, decision: Decision) -> Refusal:
    return attrs.evolve(
        unexplained, chain=chain.names, tool=call[0], call=call[1], decision=decision
    )
