"""Calls of one tool that differ in one text only, as two lookups decide them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

from policy.compare.pair import UNREAD, TextPair
from policy.compare.reads import read_alike
from policy.compare.sides import ListSide
from policy.compare.view import View, denies_all
from policy.compare.witness import CHANGES, Call, CallShape, Difference, Effects
from policy.core.effect import Effect
from policy.tables.dialect import ArgumentKind
from policy.tables.lookup import Lookup

__all__ = ["ToolPair", "remembered"]

# What a host name can hold: hardly a rule names all of it.
_HOST_LETTERS = "xyz0123456789qjkvwabcdefghilmnoprstu"


class ToolPair(TextPair):
    """Calls of one tool that differ in one text only.

    Attributes:
        doubts: why more of them may change than were shown, and how.

    """

    def __init__(self, tool: str, before: Lookup, after: Lookup, shape: CallShape) -> None:
        self.tool = tool
        self.lookups = (before, after)
        self.shape = shape
        self.doubts: dict[tuple[str, Effects], None] = {}
        # Most texts are tried in several ways.
        self.known: dict[str, Difference] = {}
        self.given = (_side(before, shape), _side(after, shape))
        super().__init__(
            *self.seen_as(self.given),
            domain=shape.domain,
            wider=shape.wider,
            ask=self.asked,
            words=shape.readable,
            letters=_HOST_LETTERS if shape.argument.kind is ArgumentKind.URL else "",
        )

    def seen_as(self, sides: tuple[ListSide, ListSide]) -> tuple[ListSide, ListSide]:
        """Return the sides as this comparison sees them."""
        return sides

    @cached_property
    def denying(self) -> Sequence[View]:
        """None: what a host knows of a call decides beside lines, so every edit is asked about."""
        return ()

    @cached_property
    def precluded(self) -> frozenset[Effects]:
        """The changes that no call shows: a side that denies every call grants none of them."""
        denied = [denies_all(lookup) for lookup in self.lookups]
        return frozenset(
            change
            for change in CHANGES
            if any(
                denies and effect is not Effect.DENY
                for denies, effect in zip(denied, change, strict=True)
            )
        )

    def asked(self, text: str) -> Difference:
        """Return what the call whose argument is read as *text* gets of both."""
        found = self.known.get(text)
        if found is None:
            found = self.known[text] = self.decided(self.shape.call(text))
        return found

    def otherwise(
        self, text: str, chosen: Mapping[int, int], wanted: Effects
    ) -> Iterator[Difference]:
        """Yield the same, and nothing where the other arguments are refused: so are all texts."""
        asked = self.asked(text)
        if UNREAD.isdisjoint((asked.before.reason, asked.after.reason)):
            yield from super().otherwise(text, chosen, wanted)

    def doubt(self, why: str, wanted: Effects) -> None:
        """Admit the same as long as no other call shows it."""
        self.doubts[why, wanted] = None

    def left(self, effects: Collection[Effects]) -> Iterator[str]:
        """Yield why more calls may change than those that change with *effects*."""
        return (why for why, change in self.doubts if change not in effects)

    def unreadable(self) -> Difference | None:
        """Return the difference of calls whose argument cannot be read, if there is one."""
        call = self.shape.unreadable()
        if call is None:
            return None
        found = self.decided(call)
        return None if found.before.effect is found.after.effect else found

    def decided(self, call: Call) -> Difference:
        """Return what a call gets of both."""
        before, after = (
            lookup.decide(call, remember=False, read=remembered) for lookup in self.lookups
        )
        return Difference(self.tool, call, before, after)


# Every row of both sides reads the same text, and so do tables with other rules for it.
remembered = lru_cache(maxsize=16_384)(read_alike)


def _side(lookup: Lookup, shape: CallShape) -> ListSide:
    views = (View.of(row, shape.parameters, shape.sole) for row, _ in lookup.rows)
    return ListSide(tuple(views), lookup.floor)
