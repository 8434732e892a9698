"""Runs both sides on scenarios, and says where they disagree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random

import attrs

from tests.live.generate import Generator
from tests.live.memory import Memory
from tests.live.ours import Ours
from tests.live.scenario import Call, Scenario
from tests.live.theirs import Answer

__all__ = ["CALLS_A_SESSION", "Batch", "Disagreement", "Outcome", "batches", "compare", "kind"]

CALLS_A_SESSION = 40

_GRANTS = {"unavailable": 0, "unspawned": 0, "deny": 0, "ask": 1, "classifier": 1, "allow": 2}


def kind(ours: str, theirs: str) -> str:
    """Return ``agree``, ``looser`` (we grant more), ``stricter`` or ``reason``; of two effects."""
    if ours == theirs:
        return "agree"
    difference = _GRANTS[ours] - _GRANTS[theirs]
    return "looser" if difference > 0 else "stricter" if difference < 0 else "reason"


@attrs.frozen
class Batch:
    """Calls of one scenario, decided in one session of the program."""

    scenario: Scenario
    calls: Sequence[Call]


@attrs.frozen
class Disagreement:
    """One call on which the two sides differ."""

    scenario: Scenario
    call: Call
    ours: str
    theirs: Answer

    @property
    def kind(self) -> str:
        """Return whether we are looser or stricter, or give another reason for the effect."""
        return kind(self.ours, self.theirs.word)


@attrs.define
class Outcome:
    """What became of a batch.

    Attributes:
        agreed: the calls decided alike.
        unstable: those that the program decides as we do when they come alone, and
            otherwise behind other calls: it knows more of the shell then.
        undecided: those that it did not decide, and why.
        disagreements: the others.

    """

    agreed: list[tuple[Call, str]] = attrs.field(factory=list)
    unstable: list[Disagreement] = attrs.field(factory=list)
    undecided: list[tuple[Call, str]] = attrs.field(factory=list)
    disagreements: list[Disagreement] = attrs.field(factory=list)


def batches(
    seed: int, calls: int, *, commands: bool = True, granted: bool = False
) -> Iterator[Batch]:
    """Yield batches of *calls* generated calls altogether.

    Args:
        seed: where they come from.
        calls: how many.
        commands: whether some are commands.
        granted: whether only those are kept on which we may turn out to be looser.

    """
    for number, first in enumerate(range(0, calls, CALLS_A_SESSION)):
        generator = Generator(Random(f"{seed}.{number}"), commands, wide=granted)
        scenario = generator.scenario()
        count = min(CALLS_A_SESSION, calls - first)
        drawn = generator.calls(scenario, count * (_DRAWS if granted else 1))
        yield Batch(scenario, _granted(scenario, drawn, count) if granted else drawn)


# Calls that are drawn for each that is kept.
_DRAWS = 20
# Of calls that we ask for where something is denied, one in so many is kept.
_ASKED = 8


def _granted(scenario: Scenario, drawn: Sequence[Call], count: int) -> Sequence[Call]:
    """Return up to *count* of *drawn* that we allow, or ask for though a rule may deny them."""
    ours = Ours(scenario)
    denies = any("deny" in each.get("permissions", {}) for each in scenario.settings.values())
    kept: list[Call] = []
    asked = 0
    for call in {str(call): call for call in drawn}.values():
        word = ours.decide(call)
        asked += word in ("ask", "classifier")
        if word == "allow" or (denies and word in ("ask", "classifier") and asked % _ASKED == 1):
            kept.append(call)
        if len(kept) == count:
            break
    return kept


def compare(given: Iterable[Batch], memory: Memory, jobs: int) -> Iterator[Outcome]:
    """Yield what became of each batch, in their order; *jobs* sessions run at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda batch: _compare(batch, memory), given)


def _compare(batch: Batch, memory: Memory) -> Outcome:
    outcome = Outcome()
    try:
        answers = memory.decide(batch.scenario, batch.calls)
    except RuntimeError as error:
        outcome.undecided = [(call, str(error)) for call in batch.calls]
        return outcome
    ours = Ours(batch.scenario)
    found = []
    for call, answer in zip(batch.calls, answers, strict=True):
        word = ours.decide(call)
        if not answer.word:
            outcome.undecided.append((call, answer.told))
        elif word == answer.word:
            outcome.agreed.append((call, word))
        else:
            found.append(Disagreement(batch.scenario, call, word, answer))
    for each in found:
        alone = _alone(each, memory)
        if alone == each.ours:
            outcome.unstable.append(each)
        else:
            outcome.disagreements.append(each)
    return outcome


def _alone(found: Disagreement, memory: Memory) -> str:
    """Return what the program does with the call in a session of its own; "" for nothing."""
    try:
        (answer,) = memory.decide(found.scenario, [found.call])
    except RuntimeError:
        return ""
    return answer.word
