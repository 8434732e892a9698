"""Plain values to instances of classes, with nothing taken on trust.

The only module that knows cattrs, which by itself turns almost anything into
almost anything: a text into a tuple of its characters, 3 into "3".
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar, get_args, get_origin

import attrs
from cattrs import ClassValidationError, Converter, IterableValidationError, transform_error
from cattrs.errors import ForbiddenExtraKeysError, IterableValidationNote
from cattrs.gen import make_dict_structure_fn

from policy.dialect import Named, Program, Wrapper
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import Gap, OneOf, Run, Token
from policy.source import visible
from policy.table import TRUST, Bounds

__all__ = ["Wrong", "cited", "structured"]

_T = TypeVar("_T")
_Type = Any  # what an annotation says, which may be no class


class Wrong(ValueError):
    """What is wrong with one value; where it stands, `structured` adds."""


_FAILURES = (ClassValidationError, IterableValidationError, Wrong)


def structured(value: object, kind: type[_T]) -> _T:
    """Return *value* as a *kind*.

    Raises:
        Wrong: it is none; with the place of the first mistake, e.g. `$.rules[0]`.

    """
    try:
        return _CONVERTER.structure(value, kind)
    except _FAILURES as error:
        raise Wrong(_first(error)) from None


def cited(value: object) -> str:
    """Return *value* in backticks, as JSON, and not too long."""
    shown = json.dumps(value, default=str)
    return f"`{visible(shown[:80])}{'…' if len(shown) > 80 else ''}`"


def _first(error: Exception) -> str:
    if isinstance(error, Wrong):
        return str(error)
    return transform_error(error, format_exception=_described)[0].replace(" @ ", " at ", 1)


def _described(error: BaseException, _: type | None) -> str:
    if isinstance(error, KeyError):
        return f"the key {cited(error.args[0])} is missing"
    if isinstance(error, ForbiddenExtraKeysError):
        names = ", ".join(cited(name) for name in sorted(error.extra_fields))
        return f"there is no key {names}"
    return str(error)


def _exactly(kind: type) -> Callable[[object, object], object]:
    names = {str: "a text", int: "a whole number", bool: "true or false"}

    def hook(value: object, _: object) -> object:
        if type(value) is not kind:
            msg = f"expected {names[kind]}, found {cited(value)}"
            raise Wrong(msg)
        return value

    return hook


def _enum(value: object, kind: type[enum.Enum]) -> enum.Enum:
    for member in kind:
        if type(value) is str and member.value == value:
            return member
    known = ", ".join(str(member.value) for member in kind)
    msg = f"expected one of {known}, found {cited(value)}"
    raise Wrong(msg)


def _list(value: object) -> list[Any]:
    if type(value) is not list:
        msg = f"expected a list, found {cited(value)}"
        raise Wrong(msg)
    return value


def _dict(value: object) -> dict[str, Any]:
    if type(value) is not dict:
        msg = f"expected an object, found {cited(value)}"
        raise Wrong(msg)
    return value


def _each(values: Iterable[Any], kinds: Iterable[Any], whole: _Type) -> list[Any]:
    """Return *values* structured one by one, with the number of a wrong one in its error."""
    found, errors = [], []
    for index, (value, kind) in enumerate(zip(values, kinds, strict=True)):
        try:
            found.append(_CONVERTER.structure(value, kind))
        except _FAILURES as error:
            note = IterableValidationNote(f"at index {index}", index, kind)
            error.__notes__ = [*getattr(error, "__notes__", []), note]
            errors.append(error)
            break  # one is enough to refuse, and there may be a million
    if errors:
        msg = "a value of a list is wrong"
        raise IterableValidationError(msg, errors, whole)
    return found


def _tuple(value: object, kind: _Type) -> tuple[Any, ...]:
    values = _list(value)
    kinds = get_args(kind)
    if kinds[1:] == (...,):
        kinds = (kinds[0],) * len(values)
    if len(kinds) != len(values):
        msg = f"expected {len(kinds)} values, found {len(values)}"
        raise Wrong(msg)
    return tuple(_each(values, kinds, kind))


def _frozenset(value: object, kind: _Type) -> frozenset[Any]:
    values = _list(value)
    return frozenset(_each(values, get_args(kind) * len(values), kind))


def _mapping(value: object, kind: _Type) -> dict[str, Any]:
    of = get_args(kind)[1]
    if of is Program:
        # The digest of programs goes by the order of their subcommands.
        return dict(_tuple(value, tuple[tuple[str, Program], ...]))
    values = _dict(value)
    return dict(zip(values, _each(values.values(), [of] * len(values), kind), strict=True))


def _named(value: object, kind: _Type) -> Named[Any]:
    values, (of,) = _dict(value), get_args(kind)
    return Named(dict(zip(values, _each(values.values(), [of] * len(values), kind), strict=True)))


def _pattern(value: object, _: object) -> Pattern:
    values = _dict(value)
    if values.keys() != {"kind", "tokens"}:
        msg = f"expected `kind` and `tokens`, found {cited(value)}"
        raise Wrong(msg)
    kind: Kind = _CONVERTER.structure(values["kind"], Kind)
    tokens = tuple(map(_read_token, _list(values["tokens"])))
    pattern = Pattern.of(kind, tokens)
    if pattern.tokens != tokens:
        msg = f"expected a pattern in canonical form, found {cited(values['tokens'])}"
        raise Wrong(msg)
    return pattern


def _read_token(value: object) -> Token:
    if type(value) is str and value:
        return value
    if type(value) is dict and len(value) == 1:
        ((key, text),) = value.items()
        if key == "gap":
            gap: Gap = _CONVERTER.structure(text, Gap)
            return gap
        if key in {"one of", "none of"} and type(text) is str and text:
            return OneOf(frozenset(text), negated=key == "none of")
        if key == "run without" and type(text) is str:
            return Run(frozenset(text))
    msg = f"expected a part of a pattern, found {cited(value)}"
    raise Wrong(msg)


def _compiled(*expressions: str) -> None:
    for expression in expressions:
        try:
            re.compile(expression)
        except (re.error, OverflowError, RecursionError):
            msg = f"{cited(expression)} is not an expression"
            raise Wrong(msg) from None


def _checked(value: object) -> None:
    """Refuse what a class would take and the engine could not work with."""
    if isinstance(value, Bounds) and value.trust is not None and value.trust not in TRUST:
        msg = f"expected one of {', '.join(TRUST)}, found {cited(value.trust)}"
        raise Wrong(msg)
    if isinstance(value, Program):
        _compiled(value.first, value.operands)
    if isinstance(value, Wrapper):
        _compiled(value.flags, value.values, value.value, *value.operands)


def _class(kind: type[Any], converter: Converter) -> Callable[[object, object], object]:
    structure = make_dict_structure_fn(kind, converter)

    def hook(value: object, _: object) -> object:
        made: object = structure(_dict(value), kind)
        _checked(made)
        return made

    return hook


def _converter() -> Converter:
    converter = Converter(forbid_extra_keys=True, detailed_validation=True)
    converter.register_structure_hook_factory(attrs.has, _class)
    for kind in (str, int, bool):
        converter.register_structure_hook(kind, _exactly(kind))
    converter.register_structure_hook_func(_is_enum, _enum)
    converter.register_structure_hook_func(lambda kind: _is(kind, tuple), _tuple)
    converter.register_structure_hook_func(lambda kind: _is(kind, frozenset), _frozenset)
    converter.register_structure_hook_func(lambda kind: _is(kind, Mapping), _mapping)
    converter.register_structure_hook_func(lambda kind: _is(kind, Named), _named)
    converter.register_structure_hook(Pattern, _pattern)
    return converter


def _is(kind: _Type, origin: object) -> bool:
    return get_origin(kind) is origin


def _is_enum(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, enum.Enum)


_CONVERTER: Final = _converter()
