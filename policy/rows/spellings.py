"""How the entries of a row speak of a command as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from policy.effect import Effect
from policy.patterns.pattern import Pattern
from policy.patterns.tokens import Gap
from policy.rows.entry import Form, RowEntry
from policy.rows.outcome import BY_DEFAULT

__all__ = ["Spellings", "may_join", "spellings"]


@attrs.frozen
class Spellings:
    """How entries speak of a command as a whole.

    Attributes:
        exact: the texts that they spell out, and the index of the first that does.
        withheld: those of them that a rule denies or asks for.
        joining: the indices of such rules that may match several commands, and no first of them;
            those that spell them out come last.
        joined: whether one of them has a star.

    """

    exact: Mapping[str, int]
    withheld: frozenset[str]
    joining: tuple[int, ...]
    joined: bool


def spellings(entries: Sequence[RowEntry], indices: Sequence[int]) -> Spellings:
    """Return how *entries* speak of a command; those of *indices* look at its text."""
    exact: dict[str, int] = {}
    for index in indices:
        pattern, form = entries[index].pattern, entries[index].form
        if pattern is not None and pattern.exact and form is not Form.BARE:
            exact.setdefault(str(pattern), index)
    withheld = {text: index for text, index in exact.items() if _withholds(entries[index])}
    starred = [
        index
        for index, entry in enumerate(entries)
        if _withholds(entry) and entry.pattern is not None and may_join(entry.pattern)
    ]
    spelled = (index for text, index in withheld.items() if not _PARTING.isdisjoint(text))
    return Spellings(exact, frozenset(withheld), (*starred, *spelled), bool(starred))


def _withholds(entry: RowEntry) -> bool:
    """Return whether a rule denies or asks: what a host does by itself is said of no whole."""
    return entry.effect is not Effect.ALLOW and entry.reason not in BY_DEFAULT


def may_join(pattern: Pattern) -> bool:
    """Return whether a pattern may match several commands, and no first of them."""
    if pattern.exact:
        return False
    texts = [token for token in pattern.tokens if isinstance(token, str)]
    return (
        pattern.tokens[-1] is not Gap.ANY
        or len(pattern.tokens) > _BEGUN  # it has more than one gap
        or not _PARTING.isdisjoint("".join(texts))  # or names what parts or groups commands
    )


# A text and what stands behind it.
_BEGUN: Final = 2
_PARTING: Final = frozenset(";&|\n(")
