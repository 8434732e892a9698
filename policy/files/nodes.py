"""The nodes of JSON, YAML and TOML documents, with spans; and checks of their shape."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Final, assert_never

from policy.core import expressions as re
from policy.core.source import Span
from policy.core.values import define, field, frozen

# The most values in one document, since 16 MB of ``1,`` would fill 1 GB with nodes.
VALUES: Final = 500_000

# The most digits of a number that Python converts.
DIGITS: Final = 4000

Value = str | int | float | bool | None


@frozen
class ScalarNode:
    """A string, number, boolean or null, with its span."""

    value: Value
    span: Span = field(eq=False, repr=False)
    quoted: bool = field(default=False, eq=False)

    def __eq__(self, other: object) -> bool:
        # In Python True == 1 == 1.0, but not in documents.
        if not isinstance(other, ScalarNode):
            return NotImplemented
        return (type(self.value), self.value) == (type(other.value), other.value)

    def __hash__(self) -> int:
        return hash(self.value)

    @property
    def raw(self) -> str:
        """The text as written, with its quotes: ``yes``, ``1.10``, ``"a"``."""
        return self.span.text

    def content_span(self) -> Span | None:
        """Return the span of the value without quotes; None if the text spells it differently."""
        span, raw = self.span, self.span.text
        if self.quoted and raw[1:-1] == self.value:
            return Span(span.source, span.start + 1, span.end - 1)
        if not self.quoted and (raw == self.value or not isinstance(self.value, str)):
            return span
        return None

    def part(self, start: int, end: int) -> Span:
        """Return the span of the characters *start* to *end* of the value, or else of all of it."""
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
        """The offset in the raw text of each character of an escaped value."""
        if not self.quoted or not isinstance(self.value, str):
            return None
        raw = self.raw
        pieces = _WRITTEN[raw[0]]
        offsets = [match.start() for match in pieces.finditer(raw, 1, len(raw) - 1)]
        return [*offsets, len(raw) - 1] if len(offsets) == len(self.value) else None


# Quote -> the spellings of one character of the value.
_WRITTEN: Final = {
    '"': re.compile(
        r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
        r"|\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|.)|.",
        re.DOTALL,
    ),
    "'": re.compile(r"''|.", re.DOTALL),
}


@frozen
class SequenceNode:
    """A list."""

    items: tuple[Node, ...]
    span: Span = field(eq=False, repr=False)


@frozen
class NodeEntry:
    """A key and its value, both with spans."""

    key: ScalarNode
    value: Node

    @property
    def name(self) -> str:
        """The key as text; readers refuse other keys."""
        return str(self.key.value)


@frozen
class MappingNode:
    """Entries in the order written; of a repeated key the last one counts."""

    entries: tuple[NodeEntry, ...]
    span: Span = field(eq=False, repr=False)

    @cached_property
    def _last(self) -> dict[str, NodeEntry]:
        return {entry.name: entry for entry in self.entries}

    def entry(self, name: str) -> NodeEntry | None:
        """Return the entry that counts for *name*."""
        return self._last.get(name)

    def get(self, name: str) -> Node | None:
        """Return the value of *name*, or None without such a key."""
        entry = self._last.get(name)
        return entry.value if entry else None

    def repeated(self) -> tuple[tuple[NodeEntry, NodeEntry], ...]:
        """Return each entry that a later entry replaces, with that later entry."""
        if len(self._last) == len(self.entries):
            return ()
        pairs = ((entry, self._last[entry.name]) for entry in self.entries)
        return tuple((lost, kept) for lost, kept in pairs if lost is not kept)


Node = ScalarNode | SequenceNode | MappingNode


@define
class OpenNode:
    """A list or mapping whose end a reader has not reached."""

    start: int
    keyed: bool
    items: list[Node] = field(factory=list)
    entries: list[NodeEntry] = field(factory=list)
    key: ScalarNode | None = None

    def add(self, node: Node) -> None:
        """Add the next item, or the value of the last key."""
        if self.key is None:
            self.items.append(node)
        else:
            self.entries.append(NodeEntry(self.key, node))
            self.key = None

    @property
    def end(self) -> int:
        """The offset of the end of the last child."""
        if self.entries:
            return self.entries[-1].value.span.end
        return self.items[-1].span.end if self.items else self.start

    def closed(self, span: Span) -> Node:
        """Return the list or mapping, written at *span*."""
        if self.keyed:
            return MappingNode(tuple(self.entries), span)
        return SequenceNode(tuple(self.items), span)


def walk(node: Node) -> Iterator[Node]:
    """Yield *node* and its descendants, in the order of the text."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        match current:
            case ScalarNode():
                pass
            case SequenceNode(items=items):
                waiting.extend(reversed(items))
            case MappingNode(entries=entries):
                waiting.extend(entry.value for entry in reversed(entries))
            case _:
                assert_never(current)


def repeated(node: Node) -> tuple[tuple[NodeEntry, NodeEntry], ...]:
    """Return `Mapping.repeated` of every mapping in *node*, in the order of the text."""
    pairs = [
        pair for part in walk(node) if isinstance(part, MappingNode) for pair in part.repeated()
    ]
    return tuple(sorted(pairs, key=lambda pair: pair[0].key.span.start))


def python_value(node: Node) -> object:
    """Return the value of *node* as Python dictionaries, lists and scalars."""
    match node:
        case ScalarNode(value=value):
            return value
        case SequenceNode(items=items):
            return [python_value(item) for item in items]
        case MappingNode(entries=entries):
            return {entry.name: python_value(entry.value) for entry in entries}
        case _:
            assert_never(node)


def describe(node: Node) -> str:
    """Return the name of *node* in messages: ``a list``, ``a mapping``, ``the number `5` ``."""
    match node:
        case SequenceNode():
            return "a list"
        case MappingNode():
            return "a mapping"
        case ScalarNode(value=str()):
            return "a string"
        case ScalarNode(value=None):
            return "null"
        case ScalarNode(value=bool()):
            return f"`{node.raw}`"
        case ScalarNode():
            return f"the number `{node.raw}`"
        case _:
            assert_never(node)


@frozen
class ShapeMistake:
    """A value without the expected shape, and its span."""

    wanted: str
    name: str
    node: Node

    @property
    def message(self) -> str:
        """The message in one line."""
        return f"expected {self.wanted} for {self.name}, found {describe(self.node)}"


# The largest whole number that every program reads exactly.
_WHOLE: Final = 2**53 - 1
_ADDRESS: Final = re.compile(r"[A-Za-z][\w+.-]*://.")
_TIME: Final = re.compile(r"(?:[01]?[0-9]|2[0-3]):[0-5][0-9]\Z")


def _number(holds: Callable[[float], bool]) -> Callable[[Value], bool]:
    return lambda value: (
        isinstance(value, int | float) and not isinstance(value, bool) and holds(value)
    )


def _text(form: re.Pattern[str]) -> Callable[[Value], bool]:
    return lambda value: isinstance(value, str) and form.match(value) is not None


class ValueKind(enum.Enum):
    """The shape of a scalar: its name in messages, and a test of values."""

    TEXT = "a string", lambda value: isinstance(value, str)
    TRUTH = "true or false", lambda value: isinstance(value, bool)
    NUMBER = "a number", _number(lambda _: True)
    SECONDS = "a number of seconds above 0", _number(lambda value: value > 0)
    SHARE = "a number above 0 and up to 1", _number(lambda value: 0 < value <= 1)
    RATE = "a number from 0 to 1", _number(lambda value: 0 <= value <= 1)
    COUNT = (
        "a whole number above 0",
        _number(lambda value: value % 1 == 0 and 0 < value <= _WHOLE),
    )
    WHOLE = (
        "a whole number, 0 or more",
        _number(lambda value: value % 1 == 0 and 0 <= value <= _WHOLE),
    )
    ADDRESS = "an address such as https://example.com/", _text(_ADDRESS)
    TIME = "a time such as 07:30", _text(_TIME)

    __hash__ = object.__hash__

    @property
    def wanted(self) -> str:
        """The name of the shape in messages."""
        return self.value[0]


@frozen
class OneWord:
    """A string that is one of *words*, in the order of messages."""

    words: tuple[str, ...]

    @property
    def wanted(self) -> str:
        """The words."""
        *others, last = (f"`{word}`" for word in self.words)
        return f"{', '.join(others)} or {last}" if others else last


@frozen
class ListOf:
    """A list whose items have one shape."""

    item: ValueShape
    wanted: str = "a list"


@frozen
class MappingOf:
    """An object with any keys, whose values have one shape."""

    value: ValueShape
    wanted: str = "an object"


@frozen
class ObjectOf:
    """An object with known keys; other keys may have any value."""

    fields: Mapping[str, ValueShape]  # key -> the shape of its value, if present
    needed: tuple[str, ...] = ()  # the keys that must be present
    wanted: str = "an object"


@frozen
class AnyOf:
    """A value of one of several shapes, in the order of messages."""

    shapes: tuple[ValueShape, ...]

    @property
    def wanted(self) -> str:
        """The shapes."""
        return ", or ".join(shape.wanted for shape in self.shapes)


ValueShape = ValueKind | OneWord | ListOf | MappingOf | ObjectOf | AnyOf


def shape_mistakes(shape: ValueShape, node: Node, name: str) -> Iterator[ShapeMistake]:
    """Yield each mistake of *node*, the value of the key *name*, against *shape*."""
    match shape, node:
        case (ValueKind(), ScalarNode(value=value)) if shape.value[1](value):
            pass
        case (OneWord(words=words), ScalarNode(value=value)) if value in words:
            pass
        case ListOf(item=inner), SequenceNode(items=items):
            for item in items:
                yield from shape_mistakes(inner, item, f"{name}[]")
        case MappingOf(value=inner), MappingNode(entries=entries):
            for entry in entries:
                yield from shape_mistakes(inner, entry.value, f"{name}.{entry.name}")
        case ObjectOf(), MappingNode():
            yield from _of_keys(shape, node, name)
        case AnyOf(shapes=shapes), _:
            by_shape = [list(shape_mistakes(each, node, name)) for each in shapes]
            if all(by_shape):  # no shape fits: report the mistakes for the best one
                inside = [each for each in by_shape if all(one.node is not node for one in each)]
                wrong = ShapeMistake(shape.wanted, f"`{name}`", node)
                yield from min(inside, key=len) if inside else [wrong]
        case _:
            yield ShapeMistake(shape.wanted, f"`{name}`", node)


def _of_keys(shape: ObjectOf, node: MappingNode, name: str) -> Iterator[ShapeMistake]:
    for key in shape.needed:
        if node.entry(key) is None:
            yield ShapeMistake(f"a key `{key}`", f"`{name}`" if name else "the document", node)
    for entry in node.entries:
        inner = shape.fields.get(entry.name)
        if inner is not None and node.entry(entry.name) is entry:
            yield from shape_mistakes(inner, entry.value, f"{name}.{entry.name}".lstrip("."))
