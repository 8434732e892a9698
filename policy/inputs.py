"""What the arguments of calls may be, as far as a host reads them before it asks any rule."""

from __future__ import annotations

import enum
import json
import math
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Final

import attrs

__all__ = ["Input", "InputKind", "Inputs"]

# A number as a text: the kinds of texts that hosts take for one.
_NUMERAL: Final = r"\s*[-+]?[0-9]+(?:\.[0-9]+)?\s*"


class InputKind(enum.Enum):
    """What the value of an argument is."""

    TEXT = "text"
    FLAG = "flag"  # true or false, or a word that says so
    NUMBER = "number"  # or a text that is one
    TEXTS = "texts"  # a list of texts, or a text that is one as JSON
    RECORDS = "records"  # a list of objects, likewise
    RECORD = "record"  # an object, likewise
    ANY = "any"
    NONE = "none"  # no value is taken: no rule speaks of a call that has one

    __hash__ = object.__hash__


@attrs.frozen
class Input:
    """What an argument of a call may be.

    Attributes:
        name: of the argument.
        kind: of its value.
        words: those that a text may be; none is any.
        spelling: what all of a text matches, also one that is a number; "" is any.
        whole: whether a number is a whole one.
        least: the smallest number; None is any.
        most: the largest one.

    """

    name: str
    kind: InputKind = InputKind.TEXT
    words: tuple[str, ...] = ()
    spelling: str = ""
    whole: bool = False
    least: int | None = None
    most: int | None = None

    @property
    def type(self) -> type | None:
        """The type of which every value may be given; None where some may not."""
        if self.kind is InputKind.TEXT:
            return None if self.words or self.spelling else str
        if self.kind is InputKind.NUMBER:
            return None if self.least is not None or self.most is not None else int
        return bool if self.kind is InputKind.FLAG else None

    def takes(self, value: object) -> bool:
        """Return whether the argument may be *value*."""
        match self.kind:
            case InputKind.TEXT:
                return isinstance(value, str) and self._takes_text(value)
            case InputKind.FLAG:
                return isinstance(value, bool) or value in ("true", "false")
            case InputKind.NUMBER:
                return self._takes_number(value)
            case InputKind.ANY | InputKind.NONE:
                return self.kind is InputKind.ANY
            case kind:
                return _is_made(value, kind)

    def _takes_text(self, value: str) -> bool:
        if self.words and value not in self.words:
            return False
        return not self.spelling or re.fullmatch(self.spelling, value) is not None

    def _takes_number(self, value: object) -> bool:
        if isinstance(value, str):
            if not re.fullmatch(self.spelling or _NUMERAL, value):
                return False
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        if isinstance(value, float) and not math.isfinite(value):
            return False
        if self.whole and isinstance(value, float) and not value.is_integer():
            return False
        least, most = self.least, self.most
        return (least is None or value >= least) and (most is None or value <= most)

    def nearest(self, text: str) -> tuple[str, ...]:
        """Return what the argument may be, of texts that resemble *text*, itself first."""
        match self.kind:
            case InputKind.TEXT if self.words:
                texts = [text, *self.words]
            case InputKind.FLAG:
                texts = [text, "true", "false"]
            case InputKind.NUMBER:
                digits = re.sub(r"[^-.0-9]+", "1", text)
                texts = [text, digits, f"1{digits}", f"{digits}1", f"{digits}000"]
            case _:
                texts = [text]
        return tuple(each for each in dict.fromkeys(texts) if self.takes(each))


def _is_made(value: object, kind: InputKind) -> bool:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return False
    if kind is InputKind.RECORD:
        return isinstance(value, Mapping)
    if not isinstance(value, (list, tuple)):
        return False
    wanted = str if kind is InputKind.TEXTS else Mapping
    return all(isinstance(each, wanted) for each in value)


@attrs.frozen(cache_hash=True)
class Inputs:
    """What the arguments of a call of one tool may be.

    Attributes:
        each: of them.
        closed: whether a call may have no others.

    """

    each: tuple[Input, ...]
    closed: bool = False

    def takes(self, call: Mapping[str, object]) -> bool:
        """Return whether every argument of *call* is what it may be; one that is lacking is."""
        for name, value in call.items():
            found = self._named.get(name)
            if not (found.takes(value) if found else not self.closed):
                return False
        return True

    @cached_property
    def _named(self) -> dict[str, Input]:
        return {each.name: each for each in self.each}

    @property
    def types(self) -> dict[str, type]:
        """Arguments that may be every value of a type, and that type."""
        return {each.name: each.type for each in self.each if each.type}

    def nearest(self, name: str, text: str) -> tuple[str, ...]:
        """Return what the argument *name* may be, of texts that resemble *text*, itself first."""
        found = self._named.get(name)
        if found is None:
            return () if self.closed else (text,)
        return found.nearest(text)
