"""One line of a rule set, and what a row of lines says of a call."""

from __future__ import annotations

import enum

from policy.core import values
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.source import Place
from policy.patterns.pattern import Pattern, PatternKind
from policy.tables.dialect import ArgumentKind

TYPE_CHECKING = False  # importing `typing` takes too long for a hook
if TYPE_CHECKING:
    from typing import Final

    from policy.tables.ruleset import RuleSet


class Form(enum.Enum):
    """How a rule says what it says, where a host looks at that beside what it matches."""

    PLAIN = "plain"  # in no way that counts
    PREFIX = "prefix"  # as the text alone that others go on from: `git` of `Bash(git:*)`
    BARE = "bare"  # as what comes before a star, and no command: `git` of `Bash(git *)`
    WITHIN = "within"  # as all that is in a folder: `Read(src/**)`
    ALONE = "alone"  # as the only rule that allows calls of its tool: `Bash` without `Bash(git *)`

    # As of every effect and reason: what rows are compared by holds one of each line.
    __hash__ = object.__hash__


@values.frozen
class Entry:
    """One line of a rule set, and of the rows of the tools that it applies to."""

    tool: str  # a tool name, or a glob over names (`policy.patterns.notations.names`)
    effect: Effect  # what it says
    pattern: Pattern | None = None  # what its argument must be; None is any call
    # The parameter that *pattern* matches; "" is the argument that the dialect names for the tool.
    field: str = ""
    reason: Reason = Reason.RULE  # what a decision by this entry gives as its reason
    rule: str = values.field(default="", hash=False)  # the rule as written
    place: Place | None = values.field(default=None, hash=False)  # where it is written
    form: Form = Form.PLAIN  # how it says so, where that counts


# The patterns that each kind of argument is matched with.
KINDS: Final = {
    **dict.fromkeys(ArgumentKind, PatternKind.TEXT),
    ArgumentKind.PATH: PatternKind.PATH,
    ArgumentKind.URL: PatternKind.HOST,
}


@values.frozen(eq=False)
class Outcome:
    """What a row says of a call: the entries are the reasons."""

    effect: Effect
    reason: Reason
    entries: tuple[Entry, ...] = ()


# What a rule for any command overrides where the host's shell says so.
BY_DEFAULT: Final = frozenset({Reason.DEFAULT, Reason.CLASSIFIER, Reason.UNANALYSABLE})


def strictness(outcome: Outcome | Decision) -> tuple[Effect, bool]:
    """Return what answers are ordered by: the strictest first, and a rule before a default."""
    return outcome.effect, outcome.reason in BY_DEFAULT


def unsure(rules: RuleSet) -> Outcome:
    """Return what a call gets of which it cannot be told what the rules say."""
    if not rules.dialect.asks:
        return _REFUSED
    return _JUDGED if rules.default_reason is Reason.CLASSIFIER else UNANALYSABLE


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
