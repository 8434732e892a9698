"""Values of classes to JSON and back, by what the classes say of their fields.

Writing leaves out what is as it is by default. Reading is strict: every key is known, and nothing
is turned from one type into another.
"""

from __future__ import annotations

import enum
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final, NoReturn, get_args, get_origin, get_type_hints

from policy.core.errors import PolicyError
from policy.core.source import visible
from policy.core.values import attributes, frozen, stated

__all__ = [
    "Codec",
    "Kind",
    "Object",
    "Schema",
    "Wrong",
    "cited",
    "exactly",
    "inside",
    "read_object",
    "refuse",
]

Object = dict[str, Any]
Kind = Any  # what an annotation says, which may be no class


class Wrong(ValueError):
    """What is wrong with one value, and where it stands, e.g. ``$.rules[0]``."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path

    def below(self, step: str) -> Wrong:
        """Return the same mistake, seen from what holds the value at *step*."""
        return Wrong(self.message, step + self.path)

    def __str__(self) -> str:
        return f"{self.message} at ${self.path}"


def refuse(message: str) -> NoReturn:
    """Raise `Wrong`."""
    raise Wrong(message)


def cited(value: object) -> str:
    """Return *value* in backticks, as JSON, and not too long."""
    shown = json.dumps(value, default=str)
    return f"`{visible(shown[:80])}{'…' if len(shown) > 80 else ''}`"


def exactly(kind: type, name: str) -> Callable[[Any], Any]:
    """Return what returns values of a type, and refuses others."""

    def read(value: Any) -> Any:  # noqa: ANN401  # any JSON
        return value if type(value) is kind else refuse(f"expected {name}, found {cited(value)}")

    return read


_list: Final = exactly(list, "a list")
_dict: Final = exactly(dict, "an object")


@frozen
class Codec:
    """How the values of one kind are read from JSON and written.

    Both functions take the value, and whatever else `Schema.codec` is used with. *read* raises
    `Wrong` for what is no such value.
    """

    read: Callable[[Any, Any], Any]
    write: Callable[[Any, Any], Any]

    @classmethod
    def of(cls, read: Callable[[Any], Any], write: Callable[[Any], Any] | None = None) -> Codec:
        """Return one that needs nothing else."""
        return cls(lambda value, _: read(value), lambda value, _: write(value) if write else value)


class Schema:
    """The codecs of all kinds of values, made of the annotations of their classes.

    Attributes:
        checks: class of values -> what refuses one that the class would take.

    """

    def __init__(self, checks: dict[type, Callable[[Any], None]]) -> None:
        self.checks = checks
        self._codecs: dict[Kind, Codec] = {
            str: Codec.of(exactly(str, "a text")),
            int: Codec.of(exactly(int, "a whole number")),
            bool: Codec.of(exactly(bool, "true or false")),
            object: Codec.of(lambda value: value),  # any JSON
        }

    def add(self, kind: Kind, codec: Codec) -> None:
        """Let values of *kind* be read and written by *codec*."""
        self._codecs[kind] = codec

    def codec(self, kind: Kind) -> Codec:
        """Return the codec of values that an annotation describes."""
        found = self._codecs.get(kind)
        if found is None:
            found = self._codecs[kind] = self._made(kind)
        return found

    def _made(self, kind: Kind) -> Codec:
        origin: Kind = get_origin(kind)
        arguments = get_args(kind)
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return _enum(kind)
        if hasattr(kind, "__fields__"):
            return self.values(kind)
        if origin is tuple and arguments[1:] != (...,):
            return _pair([self.codec(each) for each in arguments])
        if origin in (tuple, frozenset):
            return _items(self.codec(arguments[0]), origin)
        if origin is Mapping:
            return self.mapping(arguments[1])
        if arguments[1:] == (type(None),):
            one = self.codec(arguments[0])
            return Codec(
                lambda value, more: None if value is None else one.read(value, more),
                lambda value, more: None if value is None else one.write(value, more),
            )
        msg = f"there is no JSON for {kind}"
        raise TypeError(msg)

    def values(self, kind: type[Any]) -> Codec:
        """Return the codec of a class of values: an object with a key for each attribute."""
        optional = attributes(kind)

        @cache  # made when they are needed, since classes hold themselves
        def codecs() -> dict[str, Codec]:
            hints = get_type_hints(kind)
            return {name: self.codec(hints[name]) for name in optional}

        def read(value: object, more: object) -> object:
            values, found = _dict(value), {}
            for name, codec in codecs().items():
                if name in values:
                    found[name] = inside(f".{name}", codec, values[name], more)
                elif not optional[name]:
                    raise Wrong(f"the key {cited(name)} is missing", f".{name}")
            unknown = sorted(values.keys() - optional.keys())
            if unknown:
                refuse(f"there is no key {', '.join(map(cited, unknown))}")
            made: object = kind(**found)
            if kind in self.checks:
                self.checks[kind](made)
            return made

        return Codec(
            read,
            lambda value, more: {
                name: codecs()[name].write(found, more) for name, found in stated(value)
            },
        )

    def mapping(self, kind: Kind, make: Callable[[Object], Any] = dict) -> Codec:
        """Return the codec of what *make* makes of texts with values of *kind*."""

        def read(value: object, more: object) -> object:
            values, one = _dict(value), self.codec(kind)
            found = {}
            for name, each in values.items():
                found[name] = inside(f"[{cited(name)[1:-1]}]", one, each, more)
            return make(found)

        def write(value: Mapping[str, Any], more: object) -> Object:
            return {name: self.codec(kind).write(each, more) for name, each in value.items()}

        return Codec(read, write)


def inside(step: str, codec: Codec, value: object, more: object) -> Any:  # noqa: ANN401
    """Return what *codec* reads of a value at *step* of another. Raises `Wrong`, with the place."""
    try:
        return codec.read(value, more)
    except Wrong as wrong:
        raise wrong.below(step) from None


def _enum(kind: type[enum.Enum]) -> Codec:
    members = {member.value: member for member in kind}

    def read(value: object) -> enum.Enum:
        if type(value) is str and value in members:
            return members[value]
        refuse(f"expected one of {', '.join(members)}, found {cited(value)}")

    return Codec.of(read, lambda member: member.value)


def _items(each: Codec, make: Callable[[Iterable[Any]], Any]) -> Codec:
    def read(value: object, more: object) -> object:
        items = enumerate(_list(value))
        return make(inside(f"[{number}]", each, item, more) for number, item in items)

    def write(value: Iterable[Any], more: object) -> list[Any]:
        # Sets are in another order in each process.
        items = sorted(value) if make is frozenset else value
        return [each.write(item, more) for item in items]

    return Codec(read, write)


def _pair(codecs: list[Codec]) -> Codec:
    def read(value: object, more: object) -> tuple[Any, ...]:
        items = _list(value)
        if len(codecs) != len(items):
            refuse(f"expected {len(codecs)} values, found {len(items)}")
        pairs = enumerate(zip(codecs, items, strict=True))
        return tuple(inside(f"[{number}]", codec, item, more) for number, (codec, item) in pairs)

    def write(value: Iterable[Any], more: object) -> list[Any]:
        return [codec.write(item, more) for codec, item in zip(codecs, value, strict=True)]

    return Codec(read, write)


# JSON as it is written: no key twice, no number that is none, not too deep.


def read_object(text: str, *, limit: int, what: str) -> Object:
    """Return the object that *text* is.

    Args:
        text: JSON.
        limit: the characters it may have.
        what: it is, e.g. ``a table``.

    Raises:
        PolicyError: it is none.

    """
    if len(text) > limit:
        msg = f"expected {what} of at most {limit:,} characters"
        raise PolicyError(msg)
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        msg = f"this is not JSON: {error.msg.lower()} at {where}"
        raise PolicyError(msg) from None
    except (ValueError, RecursionError) as error:
        why = "nested too deep" if isinstance(error, RecursionError) else str(error)[:200]
        msg = f"this is not JSON: {visible(why)}"
        raise PolicyError(msg) from None
    if not isinstance(value, dict):
        msg = f"expected {what}, found {cited(value)}"
        raise PolicyError(msg)
    return value


def _once(pairs: list[tuple[str, Any]]) -> Object:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        msg = f"the key {cited(twice)} is there twice"
        raise ValueError(msg)
    return value


def _no_number(text: str) -> float:
    msg = f"{text} is no number"
    raise ValueError(msg)
