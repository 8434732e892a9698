"""A document with places: what YAML and JSON have in common.

A reader makes `Scalar`, `Sequence` and `Mapping`; each knows the span it was
read from, so that whatever is wrong with it later can be shown where it is
written. Nodes compare by what they say. Nothing here knows a host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final, assert_never

import attrs

from policy.source import Span

__all__ = [
    "VALUES",
    "Entry",
    "Mapping",
    "Node",
    "Scalar",
    "Sequence",
    "Value",
    "describe",
    "plain",
    "repeated",
    "walk",
]

# Values in one document, more than twice the rules of a file. Sixteen megabytes of
# ``1,`` would fill a gigabyte with nodes.
VALUES: Final = 500_000

Value = str | int | float | bool | None


def _typed(value: Value) -> tuple[str, Value]:
    # Python holds that True == 1 == 1.0; documents do not.
    return type(value).__name__, value


@attrs.frozen
class Scalar:
    """A string, number, truth value or null, and the text it was read from."""

    value: Value = attrs.field(eq=_typed)
    span: Span = attrs.field(eq=False, repr=False)
    quoted: bool = attrs.field(default=False, eq=False)

    @property
    def raw(self) -> str:
        """The text as written, with its quotes: ``yes``, ``1.10``, ``"a"``."""
        return self.span.text

    def content_span(self) -> Span | None:
        """Return the span of the value without its quotes.

        None when the value is not written out as it is: it has escapes, or
        runs over several lines.
        """
        span, raw = self.span, self.span.text
        if self.quoted and raw[1:-1] == self.value:
            return Span(span.source, span.start + 1, span.end - 1)
        if not self.quoted and (raw == self.value or not isinstance(self.value, str)):
            return span
        return None

    def part(self, start: int, end: int) -> Span:
        """Return where characters *start* to *end* of the value are written.

        That is the whole scalar when they cannot be told apart.
        """
        content = self.content_span()
        if content is not None:
            return Span(content.source, content.start + start, content.start + end)
        offsets = self._offsets
        if offsets is None or not 0 <= start <= end < len(offsets):
            return self.span
        return Span(
            self.span.source, self.span.start + offsets[start], self.span.start + offsets[end]
        )

    @cached_property
    def _offsets(self) -> list[int] | None:
        """Where each character of an escaped value starts in the raw text."""
        if not self.quoted or not isinstance(self.value, str):
            return None
        raw = self.raw
        pieces = _WRITTEN[raw[0]]
        offsets = [match.start() for match in pieces.finditer(raw, 1, len(raw) - 1)]
        return [*offsets, len(raw) - 1] if len(offsets) == len(self.value) else None


# What one character of a value may be written as, by the quote around it.
_WRITTEN: Final = {
    '"': re.compile(
        r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
        r"|\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|.)|.",
        re.DOTALL,
    ),
    "'": re.compile(r"''|.", re.DOTALL),
}


@attrs.frozen
class Sequence:
    """A list."""

    items: tuple[Node, ...]
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class Entry:
    """A key and its value; the key is a `Scalar` so that a place in it can be shown."""

    key: Scalar
    value: Node

    @property
    def name(self) -> str:
        """The key as text; every reader refuses keys that are not."""
        return str(self.key.value)


@attrs.frozen
class Mapping:
    """Entries in the order written; a key may be there twice, and the last one counts."""

    entries: tuple[Entry, ...]
    span: Span = attrs.field(eq=False, repr=False)

    @cached_property
    def _last(self) -> dict[str, Entry]:
        return {entry.name: entry for entry in self.entries}

    def entry(self, name: str) -> Entry | None:
        """Return the entry that counts for *name*."""
        return self._last.get(name)

    def get(self, name: str) -> Node | None:
        """Return the value of *name*, or None where there is no such key."""
        entry = self._last.get(name)
        return entry.value if entry else None

    def repeated(self) -> tuple[tuple[Entry, Entry], ...]:
        """Return every entry that a later one replaces, with the one that counts."""
        if len(self._last) == len(self.entries):
            return ()
        pairs = ((entry, self._last[entry.name]) for entry in self.entries)
        return tuple((lost, kept) for lost, kept in pairs if lost is not kept)


Node = Scalar | Sequence | Mapping


def walk(node: Node) -> Iterator[Node]:
    """Yield *node* and all below it, in the order of the text."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        match current:
            case Scalar():
                pass
            case Sequence(items=items):
                waiting.extend(reversed(items))
            case Mapping(entries=entries):
                waiting.extend(entry.value for entry in reversed(entries))
            case _:
                assert_never(current)


def repeated(node: Node) -> tuple[tuple[Entry, Entry], ...]:
    """Return `Mapping.repeated` of every mapping in *node*, in the order of the text."""
    pairs = [pair for part in walk(node) if isinstance(part, Mapping) for pair in part.repeated()]
    return tuple(sorted(pairs, key=lambda pair: pair[0].key.span.start))


def plain(node: Node) -> object:
    """Return *node* as dicts, lists and scalars, without places."""
    match node:
        case Scalar(value=value):
            return value
        case Sequence(items=items):
            return [plain(item) for item in items]
        case Mapping(entries=entries):
            return {entry.name: plain(entry.value) for entry in entries}
        case _:
            assert_never(node)


def describe(node: Node) -> str:
    """Return what a person calls *node*: ``a list``, ``a mapping``, ``the number `5` ``."""
    match node:
        case Sequence():
            return "a list"
        case Mapping():
            return "a mapping"
        case Scalar(value=str()):
            return "a string"
        case Scalar(value=None):
            return "null"
        case Scalar(value=bool()):
            return f"`{node.raw}`"
        case Scalar():
            return f"the number `{node.raw}`"
        case _:
            assert_never(node)
