"""What a row says of a call, and the outcomes that no rule is the reason of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from policy.decision import Reason
from policy.effect import Effect
from policy.rows.entry import RowEntry

if TYPE_CHECKING:
    from policy.ruleset import RuleSet

__all__ = [
    "BY_DEFAULT",
    "HARMLESS",
    "UNANALYSABLE",
    "UNREADABLE",
    "Outcome",
    "doubted",
    "guarded",
    "strictness",
    "unsure",
]


@attrs.frozen(eq=False)
class Outcome:
    """What a row says of a call: the entries are the reasons."""

    effect: Effect
    reason: Reason
    entries: tuple[RowEntry, ...] = ()


# What a rule for any command overrides where the host's shell says so.
BY_DEFAULT: Final = frozenset({Reason.DEFAULT, Reason.CLASSIFIER, Reason.UNANALYSABLE})


def strictness(outcome: Outcome) -> tuple[Effect, bool]:
    """Return what outcomes are ordered by, the strictest first.

    Of two that are equally strict, a rule says more than a default.
    """
    return outcome.effect, outcome.reason in BY_DEFAULT


def unsure(rules: RuleSet) -> Outcome:
    """Return what a call gets of which it cannot be told what the rules say."""
    if not rules.dialect.asks:
        return _REFUSED
    return _JUDGED if rules.default_reason is Reason.CLASSIFIER else UNANALYSABLE


def doubted(rules: RuleSet) -> Outcome:
    """Return what a call gets that a rule may deny: no model judges it."""
    if rules.dialect.asks and rules.default_reason is Reason.CLASSIFIER:
        return _GUARDED_REFUSED
    return unsure(rules)


def guarded(rules: RuleSet) -> Outcome:
    """Return what a call gets that no rule can allow."""
    return _GUARDED if unsure(rules) is UNANALYSABLE else _GUARDED_REFUSED


UNREADABLE: Final = {
    reason: Outcome(Effect.DENY, reason) for reason in (Reason.MALFORMED, Reason.TOO_LONG)
}
UNANALYSABLE: Final = Outcome(Effect.ASK, Reason.UNANALYSABLE)
HARMLESS: Final = Outcome(Effect.ALLOW, Reason.DEFAULT)
_JUDGED: Final = Outcome(Effect.ASK, Reason.CLASSIFIER)
_REFUSED: Final = Outcome(Effect.DENY, Reason.UNANALYSABLE)
_GUARDED: Final = Outcome(Effect.ASK, Reason.PROTECTED)
_GUARDED_REFUSED: Final = Outcome(Effect.DENY, Reason.PROTECTED)
