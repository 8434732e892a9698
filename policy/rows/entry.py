"""The lines of a row."""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

from policy.decision import Reason
from policy.dialect import ArgumentKind
from policy.effect import Effect
from policy.patterns.pattern import Kind, Pattern
from policy.source import Place

__all__ = ["KINDS", "Form", "RowEntry"]


class Form(enum.Enum):
    """How a rule says what it says, where a host looks at that beside what it matches.

    Attributes:
        PLAIN: in no way that counts.
        PREFIX: as the text alone that others go on from, e.g. ``git`` of ``Bash(git:*)``.
        BARE: as what comes before a star, e.g. ``git`` of ``Bash(git *)``: it spells no
            command out.
        WITHIN: as all that is in a folder, e.g. ``Read(src/**)``.
        LENT: as a rule for another tool, e.g. that a file may be read since it may be edited.

    """

    PLAIN = "plain"
    PREFIX = "prefix"
    BARE = "bare"
    WITHIN = "within"
    LENT = "lent"

    # As of every effect and reason: what rows are compared by holds one of each line.
    __hash__ = object.__hash__


class RowEntry(NamedTuple):
    """One line of a row; without a pattern it decides every call that reaches it."""

    pattern: Pattern | None
    field: str
    effect: Effect
    reason: Reason
    rule: str
    place: Place | None
    form: Form = Form.PLAIN

    @property
    def is_built_in(self) -> bool:
        """Whether a host asks by itself for what this matches, whatever rules allow it."""
        asks = self.effect is Effect.ASK and self.reason is Reason.DEFAULT
        return asks and self.pattern is not None and not self.field


# The patterns that each kind of argument is matched with.
KINDS: Final = {
    ArgumentKind.TEXT: Kind.TEXT,
    ArgumentKind.COMMAND: Kind.TEXT,
    ArgumentKind.POWERSHELL: Kind.TEXT,
    ArgumentKind.PATH: Kind.PATH,
    ArgumentKind.URL: Kind.HOST,
    ArgumentKind.LENIENT: Kind.TEXT,
    ArgumentKind.FILES: Kind.TEXT,
    ArgumentKind.JOINED: Kind.TEXT,
    ArgumentKind.JSON: Kind.TEXT,
}
