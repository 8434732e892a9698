"""What the values of a document must be, as data, and where they are something else.

A shape says what people call it, so that a mistake tells what was expected, of which key,
and what stands there. Nothing here knows a host.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from typing import Final, Protocol

import attrs

from policy.documents.node import Mapping as Object
from policy.documents.node import Node, Scalar, Sequence, describe

__all__ = ["Either", "Kind", "Listed", "Mistake", "Named", "Record", "Shape", "Word"]


@attrs.frozen
class Mistake:
    """A value that is not what was expected, and where it is."""

    wanted: str
    name: str
    node: Node

    @property
    def message(self) -> str:
        """What is wrong, in a line."""
        return f"expected {self.wanted} for {self.name}, found {describe(self.node)}"


class Shape(Protocol):
    """What a value must be."""

    @property
    def wanted(self) -> str:
        """What people call it, e.g. ``a list``."""

    def mistakes(self, node: Node, name: str) -> Iterator[Mistake]:
        """Yield where *node*, the value of the key *name*, is something else."""


# A whole number beyond is none that every program reads as it is written.
_WHOLE: Final = 2**53 - 1
_ADDRESS: Final = re.compile(r"[A-Za-z][\w+.-]*://.")
_TIME: Final = re.compile(r"(?:[01]?[0-9]|2[0-3]):[0-5][0-9]")


class Kind(enum.Enum):
    """A value without others below it, as people call it."""

    TEXT = "a string"
    TRUTH = "true or false"
    NUMBER = "a number"
    SECONDS = "a number of seconds above 0"
    SHARE = "a number above 0 and up to 1"
    RATE = "a number from 0 to 1"
    COUNT = "a whole number above 0"
    WHOLE = "a whole number, 0 or more"
    ADDRESS = "an address such as https://example.com/"
    TIME = "a time such as 07:30"

    __hash__ = object.__hash__

    @property
    def wanted(self) -> str:
        """What people call it."""
        return self.value

    def mistakes(self, node: Node, name: str) -> Iterator[Mistake]:
        """Yield *node* where it is something else."""
        if not self.holds(node):
            yield Mistake(self.wanted, f"`{name}`", node)

    def holds(self, node: Node) -> bool:
        """Return whether the value is of this kind."""
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, bool):
            return self is Kind.TRUTH
        if isinstance(value, int | float):
            return self._counts(value)
        if not isinstance(value, str):
            return False
        match self:
            case Kind.TEXT:
                return True
            case Kind.ADDRESS:
                return _ADDRESS.match(value) is not None
            case Kind.TIME:
                return _TIME.fullmatch(value) is not None
            case _:
                return False

    def _counts(self, value: float) -> bool:
        match self:
            case Kind.NUMBER:
                return True
            case Kind.SECONDS:
                return value > 0
            case Kind.SHARE:
                return 0 < value <= 1
            case Kind.RATE:
                return 0 <= value <= 1
            case Kind.COUNT:
                return value == int(value) and 0 < value <= _WHOLE
            case Kind.WHOLE:
                return value == int(value) and 0 <= value <= _WHOLE
            case _:
                return False


@attrs.frozen(init=False)
class Word:
    """One of some words."""

    words: tuple[str, ...]

    def __init__(self, *words: str) -> None:
        """Take the words in the order that people are told them."""
        self.__attrs_init__(words)

    @property
    def wanted(self) -> str:
        """The words."""
        *others, last = (f"`{word}`" for word in self.words)
        return f"{', '.join(others)} or {last}" if others else last

    def mistakes(self, node: Node, name: str) -> Iterator[Mistake]:
        """Yield *node* where it is none of them."""
        if not isinstance(node, Scalar) or node.value not in self.words:
            yield Mistake(self.wanted, f"`{name}`", node)


@attrs.frozen
class Listed:
    """A list whose every item has one shape."""

    item: Shape
    wanted: str = "a list"

    def mistakes(self, node: Node, name: str) -> Iterator[Mistake]:
        """Yield *node* where it is no list, else what is wrong with its items."""
        if not isinstance(node, Sequence):
            yield Mistake(self.wanted, f"`{name}`", node)
            return
        for item in node.items:
            yield from self.item.mistakes(item, f"{name}[]")


@attrs.frozen
class Named:
    """An object of names that anybody chooses, whose every value has one shape; None is any."""

    value: Shape | None = None
    wanted: str = "an object"

    def mistakes(self, node: Node, name: str) -> Iterator[Mistake]:
        """Yield *node* where it is no object, else what is wrong with its values."""
        if not isinstance(node, Object):
            yield Mistake(self.wanted, f"`{name}`", node)
        elif self.value is not None:
            for entry in node.entries:
                yield from self.value.mistakes(entry.value, f"{name}.{entry.name}")


@attrs.frozen
class Record:
    """An object with keys of its own; other keys may hold anything.

    Attributes:
        fields: what each key must be where it is there.
        needed: the keys that must be there.
    """

    fields: Mapping[str, Shape]
    needed: tuple[str, ...] = ()
    wanted: str = "an object"

    def mistakes(self, node: Node, name: str) -> Iterator[Mistake]:
        """Yield *node* where it is no object, else what is wrong with it."""
        if not isinstance(node, Object):
            yield Mistake(self.wanted, f"`{name}`", node)
            return
        for key in self.needed:
            if node.entry(key) is None:
                yield Mistake(f"a key `{key}`", f"`{name}`" if name else "the document", node)
        for entry in node.entries:
            shape = self.fields.get(entry.name)
            if shape is not None:
                yield from shape.mistakes(entry.value, f"{name}.{entry.name}".lstrip("."))


@attrs.frozen(init=False)
class Either:
    """What has one of some shapes."""

    shapes: tuple[Shape, ...]

    def __init__(self, *shapes: Shape) -> None:
        """Take the shapes in the order that people are told them."""
        self.__attrs_init__(shapes)

    @property
    def wanted(self) -> str:
        """The shapes."""
        return ", or ".join(shape.wanted for shape in self.shapes)

    def mistakes(self, node: Node, name: str) -> Iterator[Mistake]:
        """Yield what is wrong with *node* by the shape that fits it best, else *node*."""
        found = [list(shape.mistakes(node, name)) for shape in self.shapes]
        if all(found):
            inner = [each for each in found if all(one.node is not node for one in each)]
            yield from min(inner, key=len) if inner else [Mistake(self.wanted, f"`{name}`", node)]
