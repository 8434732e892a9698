"""What comparisons found so far: calls, and the lines on both sides that decide them differently.

Tools and agents share most of their lines. Where the same lines meet again, the calls are asked,
not searched for.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from policy.compare.meaning import RowMeaning, meaning
from policy.compare.tool_pair import ToolPair, remembered
from policy.compare.witness import Call, Difference, Effects
from policy.core import values
from policy.core.decision import Decision
from policy.core.effect import Effect
from policy.tables.entry import Outcome
from policy.tables.lookup import Lookup
from policy.tables.row import Row

__all__ = ["Calls", "Known", "key_of", "known_calls", "shared"]

# Lines on both sides -> what they decide differently; and names of tools likewise.
Known = dict[object, Any]


@values.frozen(eq=False)
class Calls:
    """Calls that are decided differently, and why there may be more.

    What rows say of them is remembered: most tables share most of their rows.
    """

    calls: tuple[Call, ...]
    why: tuple[str, ...]
    _said: dict[Row, tuple[Outcome, ...]] = values.field(factory=dict)

    def said(self, row: Row) -> tuple[Outcome, ...]:
        """Return what *row* says of each call."""
        said = self._said.get(row)
        if said is None:
            said = tuple([row.outcome(call, remembered) for call in self.calls])
            self._said[row] = said
        return said

    def decided(self, lookup: Lookup) -> list[Decision]:
        """Return what each call gets."""
        if lookup.constant is not None:
            return [lookup.constant] * len(self.calls)
        by_row = [self.said(row) for row, _ in lookup.rows]
        return [lookup.combined(outcomes) for outcomes in zip(*by_row, strict=True)]

    def differences(self, tool: str, before: Lookup, after: Lookup) -> Iterator[Difference]:
        """Yield what each call of *tool* gets of both sides, alike ones once."""
        seen: set[tuple[int, int]] = set()
        sides = (self.decided(lookup) for lookup in (before, after))
        for call, was, now in zip(self.calls, *sides, strict=True):
            both = id(was), id(now)  # a lookup gives one decision for what is said alike
            if both not in seen:
                seen.add(both)
                yield Difference(tool, call, was, now)


def known_calls(before: Lookup, after: Lookup, known: Known) -> Calls | None:
    """Return what there is to find, where these lines were searched already.

    A row without entries that both sides have takes away from what the others grant,
    alike, e.g. where a command opens files. Where it allows every call that the others
    decide differently it hides none, and they are all there are.
    """
    found: Calls | None = known.get(key_of(before, after))
    if found is not None:
        return found
    empty, others = (
        {meaning(row): row for row, _ in lookup.rows if not row.entries}
        for lookup in (before, after)
    )
    shared = {lines: row for lines, row in empty.items() if lines in others}
    found = known.get(key_of(before, after, shared)) if shared else None
    if found is None:
        return None
    said = (outcome.effect for row in shared.values() for outcome in found.said(row))
    return found if all(effect is Effect.ALLOW for effect in said) else None


def key_of(before: Lookup, after: Lookup, but: Container[RowMeaning] = ()) -> object:
    """Return all that decides what two lookups grant, without some rows."""
    return tuple(
        (lookup.floor, tuple(meaning(row) for row, _ in lookup.rows if meaning(row) not in but))
        for lookup in (before, after)
    )


def shared(
    pair: ToolPair, found: Iterable[Difference], known: Known, why: dict[str, None]
) -> Iterator[Difference]:
    """Yield what is *found* of a pair, or was of one whose argument has another name.

    Why there may be more is added to *why*, and to what the pair says of that itself.
    """
    key = _text_key(pair) if not why else None
    texts = known.get(key) if key is not None else None
    field = pair.shape.argument.fields[:1]
    if texts is not None:
        why |= texts.why
        pair.why |= texts.of_pair
        pair.doubts |= texts.doubts
        yield from (pair.decided(dict(zip(field, [text], strict=True))) for text in texts.texts)
        return
    told: list[object] = []
    for difference in found:
        told.extend(difference.call[name] for name in field)
        yield difference
    if key is not None:
        known[key] = _Texts(tuple(told), {**why}, {**pair.why}, {**pair.doubts})


@values.frozen(eq=False)
class _Texts:
    """Arguments of calls that are decided differently, and why there may be more.

    Attributes:
        texts: the arguments.
        why: why any calls may change.
        of_pair: the same of those that were compared.
        doubts: and of changes that none was found to have.

    """

    texts: tuple[object, ...]
    why: Mapping[str, None]
    of_pair: Mapping[str, None]
    doubts: Mapping[tuple[str, Effects], None]


def _text_key(pair: ToolPair) -> object:
    """Return all that decides what a text gets, whatever the argument is called.

    None where other arguments count, or what they are.
    """
    field = pair.shape.argument.fields[:1]
    rows = [row for lookup in pair.lookups for row, _ in lookup.rows]
    if not field or any(row.has_parameters for row in rows):
        return None
    if not all(lookup.takes_any(*field) for lookup in pair.lookups):
        return None
    return (
        _text_key,
        values.evolve(pair.shape.argument, fields=()),
        *(
            (lookup.floor, tuple(meaning(row).of_text for row, _ in lookup.rows))
            for lookup in pair.lookups
        ),
    )
