"""Plain values to instances of classes, with nothing taken on trust.

Every type has a reader, made once from the annotations of its fields. Nothing is
turned from one type into another: 3 is no text, a text no list of its characters.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final, TypeVar, cast, get_args, get_origin, get_type_hints

import attrs

from policy import limits
from policy.inputs import Input
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import GAPS, Either, OneOf, Run, Token
from policy.programs import Named, Program, Wrapper
from policy.shells import Shell, Variables
from policy.source import visible
from policy.table import TRUST, Bounds

__all__ = ["Wrong", "cited", "structured"]

_T = TypeVar("_T")
_Type = Any  # what an annotation says, which may be no class
_Reader = Callable[[object], Any]


class Wrong(ValueError):
    """What is wrong with one value, and where it stands, e.g. ``$.rules[0]``."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.path = ""

    def below(self, step: str) -> Wrong:
        """Return the same mistake, seen from what holds the value at *step*."""
        self.path = step + self.path
        return self


def structured(value: object, kind: type[_T]) -> _T:
    """Return *value* as a *kind*.

    Raises:
        Wrong: it is none; with the place of the first mistake, e.g. `$.rules[0]`.

    """
    hinted: _Type = kind
    try:
        return cast("_T", _reader(hinted)(value))
    except Wrong as wrong:
        raise Wrong(f"{wrong.message} at ${wrong.path}") from None


def cited(value: object) -> str:
    """Return *value* in backticks, as JSON, and not too long."""
    shown = json.dumps(value, default=str)
    return f"`{visible(shown[:80])}{'…' if len(shown) > 80 else ''}`"


@cache
def _reader(kind: _Type) -> _Reader:
    """Return what reads values of the type *kind*."""
    if kind in _READERS:
        return _READERS[kind]
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _enum(kind)
    if attrs.has(kind):
        return _class(kind)
    origin: _Type = get_origin(kind)
    arguments = get_args(kind)
    if origin is tuple:
        return _tuple(arguments)
    if origin is frozenset:
        return _frozenset(arguments[0])
    if origin is Named:
        return lambda value: Named(_values(value, _reader(arguments[0])))
    if origin is Mapping:
        return _mapping(arguments[1])
    if arguments[1:] == (type(None),):
        return _optional(arguments[0])
    msg = f"nothing reads {kind}"
    raise TypeError(msg)


def _exactly(kind: type, name: str) -> _Reader:
    def read(value: object) -> object:
        if type(value) is not kind:
            msg = f"expected {name}, found {cited(value)}"
            raise Wrong(msg)
        return value

    return read


_list: Final = _exactly(list, "a list")
_dict: Final = _exactly(dict, "an object")


def _enum(kind: type[enum.Enum]) -> _Reader:
    members = {member.value: member for member in kind}

    def read(value: object) -> enum.Enum:
        if type(value) is str and value in members:
            return members[value]
        msg = f"expected one of {', '.join(members)}, found {cited(value)}"
        raise Wrong(msg)

    return read


def _optional(kind: _Type) -> _Reader:
    read = _reader(kind)
    return lambda value: None if value is None else read(value)


def _items(values: list[Any], read: Callable[[Any], Any]) -> list[Any]:
    found = []
    for index, value in enumerate(values):
        try:
            found.append(read(value))
        except Wrong as wrong:
            raise wrong.below(f"[{index}]") from None
    return found


def _tuple(kinds: tuple[_Type, ...]) -> _Reader:
    if kinds[1:] == (...,):
        every = _reader(kinds[0])
        return lambda value: tuple(_items(_list(value), every))

    def read(value: object) -> tuple[Any, ...]:
        values = _list(value)
        if len(kinds) != len(values):
            msg = f"expected {len(kinds)} values, found {len(values)}"
            raise Wrong(msg)
        pairs = list(zip(map(_reader, kinds), values, strict=True))
        return tuple(_items(pairs, lambda pair: pair[0](pair[1])))

    return read


def _frozenset(kind: _Type) -> _Reader:
    read = _reader(kind)
    return lambda value: frozenset(_items(_list(value), read))


def _mapping(kind: _Type) -> _Reader:
    if kind is Program:
        # The digest of programs goes by the order of their subcommands.
        pairs = tuple[tuple[str, Program], ...]
        return lambda value: dict(_reader(pairs)(value))
    read = _reader(kind)
    return lambda value: _values(value, read)


def _values(value: object, read: _Reader) -> dict[str, Any]:
    values = _dict(value)
    return dict(zip(values, _items(list(values.values()), read), strict=True))


def _class(kind: type[Any]) -> _Reader:
    hints = get_type_hints(kind)
    fields = [(field.name, field.default is attrs.NOTHING) for field in attrs.fields(kind)]
    names = frozenset(name for name, _ in fields)
    readers: dict[str, _Reader] = {}  # made when they are needed, since classes hold themselves

    def read(value: object) -> object:
        values = _dict(value)
        found = {}
        for name, needed in fields:
            if name in values:
                if name not in readers:
                    readers[name] = _reader(hints[name])
                try:
                    found[name] = readers[name](values[name])
                except Wrong as wrong:
                    raise wrong.below(f".{name}") from None
            elif needed:
                msg = f"the key {cited(name)} is missing"
                raise Wrong(msg).below(f".{name}")
        if not names.issuperset(values):
            unknown = ", ".join(map(cited, sorted(values.keys() - names)))
            msg = f"there is no key {unknown}"
            raise Wrong(msg)
        made: object = kind(**found)
        _check(made)
        return made

    return read


def _pattern(value: object) -> Pattern:
    values = _dict(value)
    if values.keys() != {"kind", "tokens"}:
        msg = f"expected `kind` and `tokens`, found {cited(value)}"
        raise Wrong(msg)
    tokens = tuple(map(_token, _list(values["tokens"])))
    if _ways(tokens) > limits.ALTERNATIVES:
        msg = f"a pattern has at most {limits.ALTERNATIVES:,} choices of alternatives"
        raise Wrong(msg)
    pattern = Pattern.of(_reader(Kind)(values["kind"]), tokens)
    if pattern.tokens != tokens:
        msg = f"expected a pattern in canonical form, found {cited(values['tokens'])}"
        raise Wrong(msg)
    return pattern


def _token(value: object) -> Token:
    if type(value) is str and value:
        return value
    if type(value) is dict and len(value) == 1:
        ((key, text),) = value.items()
        if key == "gap":
            if type(text) is str and text in GAPS:
                return GAPS[text]
            msg = f"expected one of {', '.join(GAPS)}, found {cited(text)}"
            raise Wrong(msg)
        if key in {"one of", "none of"} and type(text) is str and text:
            return OneOf(frozenset(text), negated=key == "none of")
        if key == "run without" and type(text) is str:
            return Run(frozenset(text))
        if key == "either" and type(text) is list and text:
            return Either(*(map(_token, _list(each)) for each in text))
    msg = f"expected a part of a pattern, found {cited(value)}"
    raise Wrong(msg)


def _ways(tokens: Iterable[Token]) -> int:
    """Return how many choices there are of the alternatives of a pattern, or too many."""
    ways = 1
    for token in tokens:
        if isinstance(token, Either):
            ways = min(ways * sum(map(_ways, token.alternatives)), limits.ALTERNATIVES + 1)
    return ways


def _compiled(*expressions: str) -> None:
    for expression in expressions:
        try:
            re.compile(expression)
        except (re.error, OverflowError, RecursionError):
            msg = f"{cited(expression)} is not an expression"
            raise Wrong(msg) from None


def _check(value: object) -> None:
    """Refuse what a class would take and the engine could not work with."""
    if isinstance(value, Bounds) and value.trust is not None and value.trust not in TRUST:
        msg = f"expected one of {', '.join(TRUST)}, found {cited(value.trust)}"
        raise Wrong(msg)
    if isinstance(value, Shell) and "" in {*value.wrapping.names, *value.programs}:
        raise Wrong("expected the names of programs, found an empty text")
    if isinstance(value, Variables):
        _compiled(value.guarded)
    if isinstance(value, Input):
        _compiled(value.spelling)
    if isinstance(value, Program):
        _compiled(value.unchecked or "")
        _compiled(value.first, value.operands, value.flags or "", value.values, value.pairs)
        _compiled(value.lists_if, value.files, value.unsafe, value.needs)
        _compiled(value.given, value.spelling, value.skipped or "", value.sure, value.beside)
    if isinstance(value, Wrapper):
        _compiled(value.flags, value.values, value.value, *value.operands)
        _compiled(value.idle, value.runs, value.scripts)


_READERS: Final[dict[_Type, _Reader]] = {
    str: _exactly(str, "a text"),
    int: _exactly(int, "a whole number"),
    bool: _exactly(bool, "true or false"),
    object: lambda value: value,  # any JSON
    Pattern: _pattern,
}
