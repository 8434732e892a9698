"""The lines of a row, and what rows are compared by."""

from __future__ import annotations

from typing import Final, NamedTuple

import attrs

from policy.decision import Reason
from policy.dialect import Argument, ArgumentKind
from policy.effect import Effect
from policy.patterns.pattern import Kind, Pattern
from policy.source import Place

__all__ = ["KINDS", "Key", "Lines", "RowEntry", "Said"]


class RowEntry(NamedTuple):
    """One line of a row; without a pattern it decides every call that reaches it."""

    pattern: Pattern | None
    field: str
    effect: Effect
    reason: Reason
    rule: str
    place: Place | None


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


@attrs.frozen(cache_hash=True)
class Key:
    """What things have in common, however much that is: hashed once."""

    value: object


@attrs.frozen(cache_hash=True)
class Said:
    """All that decides, for every argument, what a row grants.

    Attributes:
        entries: what counts of all, and of which somebody wrote it, each in order.
        default: the effect where none of them matches, and the reason.
        beside: what else is asked.

    """

    entries: tuple[tuple[object, ...], ...]
    default: tuple[Effect, Reason]
    beside: object


@attrs.frozen(cache_hash=True)
class Lines:
    """All that decides, for every call, what a row grants.

    Attributes:
        said: of its argument.
        argument: which that is.

    """

    said: Said
    argument: Argument
