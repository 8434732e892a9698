"""What a call gets of both sides, as a pair: which changes there are, and which say more.

A reviewer is told every pair of effects that some call has: that a call which was denied runs
unasked now is another thing than that somebody is asked. What else a command does may be asked
for on both sides alike, so that of commands one pair stands for another (`weaker`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import product
from typing import Final

import attrs

from policy.comparison.witness import Call
from policy.decision import Decision
from policy.effect import Effect

__all__ = ["CHANGES", "Difference", "Effects", "of_direction", "signature", "stronger", "weaker"]

# What a call gets before and after.
Effects = tuple[Effect, Effect]

CHANGES: Final = frozenset((one, other) for one, other in product(Effect, Effect) if one != other)


@attrs.frozen
class Difference:
    """Calls of one tool that are decided differently, shown by one of them.

    Attributes:
        tool: its name.
        call: the witness; both decisions are of it.
        before: what it got.
        after: what it gets.

    """

    tool: str
    call: Call = attrs.field(eq=False)
    before: Decision
    after: Decision

    @property
    def effects(self) -> Effects:
        """What both decisions come to."""
        return self.before.effect, self.after.effect

    @property
    def widened(self) -> bool:
        """Whether more is granted than before."""
        return self.before.effect < self.after.effect

    def is_like(self, effects: Effects) -> bool:
        """Whether it grants more where a change with these effects does, or less."""
        return self.widened is (effects[0] < effects[1])


def signature(found: Difference) -> object:
    """Return what tells differences apart: what each decision comes to, and by which rules."""
    return *found.effects, found.before.because, found.after.because


def of_direction(*, widened: bool) -> frozenset[Effects]:
    """Return the changes that grant more, or those that grant less."""
    return frozenset((before, after) for before, after in CHANGES if (before < after) is widened)


def weaker(changes: Iterable[Effects]) -> set[Effects]:
    """Return *changes*, and what is left of them where something is asked for on both sides.

    Such a command is one of two parts, of which the other one is no news.
    """
    return {
        (before & floor, after & floor)
        for before, after in changes
        for floor in (Effect.ALLOW, Effect.ASK)
    } & CHANGES


def stronger(changes: Container[Effects]) -> set[Effects]:
    """Return the changes of which one of *changes* may be what is left, these included."""
    return {each for each in CHANGES if any(left in changes for left in weaker([each]))}
