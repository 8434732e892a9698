"""Tables to JSON and back. The only module that knows cattrs.

Reading is strict: every key is known, nothing is turned from one type into
another, patterns are in their canonical form, and the content hash that the
text states is that of the table it gives. Nothing in it is executed. What a
table only explains (places, the wording of rules, whose they are) stands apart
under ``sources``, with a hash of its own.
"""

from __future__ import annotations

import enum
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar, get_args, get_origin

import attrs
from cattrs import ClassValidationError, Converter, IterableValidationError, transform_error
from cattrs.errors import ForbiddenExtraKeysError
from cattrs.gen import make_dict_structure_fn
from cattrs.v import IterableValidationNote

from policy import limits
from policy.decision import Reason
from policy.dialect import Dialect, Program, Programs
from policy.effect import Effect
from policy.errors import PolicyError
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import Gap, OneOf, Token
from policy.ruleset import Entry, RuleSet
from policy.source import Place, visible
from policy.table import TRUST, Bounds, Ceiling, Part, Table

__all__ = ["VERSION", "table_from_json", "table_to_json"]

VERSION: Final = 1

# A compiled table says more of each rule than the file it came from.
_CHARACTERS: Final = 16 * limits.FILE_BYTES

_Object = dict[str, Any]
_T = TypeVar("_T")


# --- the shape of the text ----------------------------------------------------


@attrs.frozen
class _Line:
    """One line of a rule set: what counts of it."""

    tool: str
    effect: Effect
    pattern: Pattern | None = None
    field: str = ""
    reason: Reason = Reason.RULE


@attrs.frozen
class _Rules:
    """A rule set; *dialect* is the number of one."""

    dialect: int
    default: Effect
    entries: tuple[_Line, ...]
    default_reason: Reason = Reason.DEFAULT


@attrs.frozen
class _Origin:
    """How a line is written, and where."""

    rule: str = ""
    place: Place | None = None


@attrs.frozen
class _Sources:
    """What explains a table: the origin of each line, and the links of each part."""

    hash: str
    rules: tuple[tuple[_Origin, ...], ...]
    use: tuple[tuple[str, ...], ...]
    delegate: tuple[tuple[str, ...], ...] = ()


@attrs.frozen
class _File:
    """The whole text. *use* and *delegate* are numbers of rule sets."""

    version: int
    hash: str
    dialects: tuple[Dialect, ...]
    rules: tuple[_Rules, ...]
    use: tuple[int, ...]
    delegate: tuple[int, ...] | None
    bounds: Bounds
    sources: _Sources


# --- writing --------------------------------------------------------------------


def table_to_json(table: Table) -> str:
    """Return *table* as canonical JSON: equal values give equal text, byte for byte."""
    ceilings = [table.use, *([table.delegate] if table.delegate is not None else [])]
    sets = list({id(p.rules): p.rules for c in ceilings for p in c.parts}.values())
    numbers = {id(rules): number for number, rules in enumerate(sets)}
    dialects = list(dict.fromkeys(rules.dialect for rules in sets))
    links = [[list(part.links) for part in ceiling.parts] for ceiling in ceilings]
    parts = [[numbers[id(part.rules)] for part in ceiling.parts] for ceiling in ceilings]
    sources: _Object = {
        "rules": [[_origin(entry) for entry in rules.entries] for rules in sets],
        "use": links[0],
    }
    if links[1:]:
        sources["delegate"] = links[1]
    value = {
        "version": VERSION,
        "hash": table.hash,
        "dialects": [_plain(dialect) for dialect in dialects],
        "rules": [_rules(rules, dialects.index(rules.dialect)) for rules in sets],
        "use": parts[0],
        "delegate": parts[1] if parts[1:] else None,
        "bounds": _plain(table.bounds),
        "sources": {"hash": _hash(sources), **sources},
    }
    return _text(value, indent=1) + "\n"


def _text(value: object, *, indent: int | None = None) -> str:
    return json.dumps(value, indent=indent, sort_keys=True, allow_nan=False)


def _hash(sources: _Object) -> str:
    return "sha256:" + hashlib.sha256(_text(sources).encode()).hexdigest()


def _rules(rules: RuleSet, dialect: int) -> _Object:
    entries = [
        _Line(entry.tool, entry.effect, entry.pattern, entry.field, entry.reason)
        for entry in rules.entries
    ]
    written: _Object = _plain(_Rules(dialect, rules.default, tuple(entries), rules.default_reason))
    return written


def _origin(entry: Entry) -> _Object:
    written: _Object = _plain(_Origin(entry.rule, entry.place))
    return written


def _plain(value: object) -> Any:
    """Return *value* as JSON has it; of our classes, what differs from the default."""
    if isinstance(value, Pattern):
        return {"kind": value.kind.value, "tokens": [_token(token) for token in value.tokens]}
    if attrs.has(type(value)):
        return {
            field.name: _plain(getattr(value, field.name))
            for field in attrs.fields(type(value))
            if getattr(value, field.name) != _default(field)
        }
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        if any(isinstance(item, Program) for item in value.values()) and type(value) is dict:
            return [[key, _plain(item)] for key, item in value.items()]
        return {key: _plain(item) for key, item in value.items()}
    return value


def _default(field: attrs.Attribute[Any]) -> object:
    default = field.default
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # a class at run time
        return default.factory()  # type: ignore[union-attr]
    return default


def _token(token: Token) -> object:
    if isinstance(token, str):
        return token
    if isinstance(token, Gap):
        return {"gap": token.value}
    return {"none of" if token.negated else "one of": "".join(sorted(token.characters))}


# --- reading --------------------------------------------------------------------


def table_from_json(text: str) -> Table:
    """Return the table that *text* is.

    Raises:
        PolicyError: it is none, or not the one it says it is.

    """
    value = _value(text)
    version = value.get("version")
    if type(version) is not int or version != VERSION:
        help_ = "compile the table again with this version of the package"
        msg = f"expected a table of version {VERSION}, found {_cited(version)}"
        raise PolicyError(
            msg, help=help_
        )
    try:
        file = _CONVERTER.structure(value, _File)
        table = _table(file)
    except (ClassValidationError, IterableValidationError, _Wrong) as error:
        msg = f"this is not a table: {_first(error)}"
        raise PolicyError(msg) from None
    except RecursionError:
        msg = "this is not a table: it is nested too deep"
        raise PolicyError(msg) from None
    if table.hash != file.hash:
        msg = f"the table states the hash {_cited(file.hash)} and has `{table.hash}`"
        raise PolicyError(
            msg,
            help="it was changed after it was compiled; compile it again",
        )
    sources = {key: part for key, part in value["sources"].items() if key != "hash"}
    if _hash(sources) != file.sources.hash:
        msg = f"the sources state the hash {_cited(file.sources.hash)} and have `{_hash(sources)}`"
        raise PolicyError(
            msg,
            help="the places of rules were changed after the table was compiled",
        )
    return table


class _Wrong(ValueError):
    """What is wrong with one value; the path to it is cattrs' to tell."""


def _cited(value: object) -> str:
    shown = json.dumps(value, default=str)
    return f"`{visible(shown[:80])}{'…' if len(shown) > 80 else ''}`"


def _value(text: str) -> _Object:
    if len(text) > _CHARACTERS:
        msg = f"expected a table of at most {_CHARACTERS:,} characters"
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
        msg = f"expected a table, found {_cited(value)}"
        raise PolicyError(msg)
    return value


def _once(pairs: list[tuple[str, Any]]) -> _Object:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        msg = f"the key {_cited(twice)} is there twice"
        raise ValueError(msg)
    return value


def _no_number(text: str) -> float:
    msg = f"{text} is no number"
    raise ValueError(msg)


def _first(error: Exception) -> str:
    if isinstance(error, _Wrong):
        return str(error)
    return transform_error(error, format_exception=_described)[0].replace(" @ ", " at ", 1)


def _described(error: BaseException, _: type | None) -> str:
    if isinstance(error, KeyError):
        return f"the key {_cited(error.args[0])} is missing"
    if isinstance(error, ForbiddenExtraKeysError):
        names = ", ".join(_cited(name) for name in sorted(error.extra_fields))
        return f"there is no key {names}"
    return str(error)


def _table(file: _File) -> Table:
    if len(file.sources.rules) != len(file.rules):
        msg = "expected the sources of every rule set at $.sources.rules"
        raise _Wrong(msg)
    sets = [
        _ruleset(rules, origins, file.dialects, number)
        for number, (rules, origins) in enumerate(zip(file.rules, file.sources.rules, strict=True))
    ]
    use = _ceiling(file.use, file.sources.use, sets, "use")
    delegate = None
    if file.delegate is not None:
        delegate = _ceiling(file.delegate, file.sources.delegate, sets, "delegate")
    return Table(use, delegate, file.bounds)


def _ruleset(
    rules: _Rules, origins: Sequence[_Origin], dialects: Sequence[Dialect], number: int
) -> RuleSet:
    if len(origins) != len(rules.entries):
        msg = f"expected the source of every line at $.sources.rules[{number}]"
        raise _Wrong(msg)
    entries = (
        Entry(line.tool, line.effect, line.pattern, line.field, line.reason, o.rule, o.place)
        for line, o in zip(rules.entries, origins, strict=True)
    )
    dialect = _at(dialects, rules.dialect, f"$.rules[{number}].dialect")
    return RuleSet(tuple(entries), rules.default, dialect, rules.default_reason)


def _ceiling(
    numbers: Sequence[int], links: Sequence[tuple[str, ...]], sets: Sequence[RuleSet], key: str
) -> Ceiling:
    if len(numbers) != len(links):
        msg = f"expected the links of every part at $.sources.{key}"
        raise _Wrong(msg)
    return Ceiling.of(
        Part(_at(sets, number, f"$.{key}"), of) for number, of in zip(numbers, links, strict=True)
    )


def _at(values: Sequence[_T], number: int, path: str) -> _T:
    if not 0 <= number < len(values):
        msg = f"there is no number {number} at {path}"
        raise _Wrong(msg)
    return values[number]


# --- reading: one hook for each type ------------------------------------------------


def _exactly(kind: type) -> Callable[[object, object], object]:
    names = {str: "a text", int: "a whole number", bool: "true or false"}

    def hook(value: object, _: object) -> object:
        if type(value) is not kind:
            msg = f"expected {names[kind]}, found {_cited(value)}"
            raise _Wrong(msg)
        return value

    return hook


def _enum(value: object, kind: type[enum.Enum]) -> enum.Enum:
    for member in kind:
        if type(value) is str and member.value == value:
            return member
    known = ", ".join(str(member.value) for member in kind)
    msg = f"expected one of {known}, found {_cited(value)}"
    raise _Wrong(msg)


def _list(value: object) -> list[Any]:
    if type(value) is not list:
        msg = f"expected a list, found {_cited(value)}"
        raise _Wrong(msg)
    return value


def _dict(value: object) -> _Object:
    if type(value) is not dict:
        msg = f"expected an object, found {_cited(value)}"
        raise _Wrong(msg)
    return value


def _each(values: Iterable[Any], kinds: Iterable[Any], whole: Any) -> list[Any]:
    """Return *values* structured one by one, with the number of a wrong one in its error."""
    found, errors = [], []
    for index, (value, kind) in enumerate(zip(values, kinds, strict=True)):
        try:
            found.append(_CONVERTER.structure(value, kind))
        except (ClassValidationError, IterableValidationError, _Wrong) as error:
            note = IterableValidationNote(f"at index {index}", index, kind)
            error.__notes__ = [*getattr(error, "__notes__", []), note]
            errors.append(error)
            break  # one is enough to refuse, and there may be a million
    if errors:
        msg = "a value of a list is wrong"
        raise IterableValidationError(msg, errors, whole)
    return found


def _tuple(value: object, kind: Any) -> tuple[Any, ...]:
    values = _list(value)
    kinds = get_args(kind)
    if kinds[1:] == (...,):
        kinds = (kinds[0],) * len(values)
    if len(kinds) != len(values):
        msg = f"expected {len(kinds)} values, found {len(values)}"
        raise _Wrong(msg)
    return tuple(_each(values, kinds, kind))


def _frozenset(value: object, kind: Any) -> frozenset[Any]:
    values = _list(value)
    return frozenset(_each(values, get_args(kind) * len(values), kind))


def _mapping(value: object, kind: Any) -> dict[str, Any]:
    of = get_args(kind)[1]
    if of is Program:
        # The digest of programs goes by the order of their subcommands.
        return dict(_tuple(value, tuple[tuple[str, Program], ...]))
    values = _dict(value)
    return dict(zip(values, _each(values.values(), [of] * len(values), kind), strict=True))


def _programs(value: object, _: object) -> Programs:
    return Programs(_each_program(_dict(value)))


def _each_program(values: _Object) -> dict[str, Program]:
    found = _each(values.values(), [Program] * len(values), Programs)
    return dict(zip(values, found, strict=True))


def _pattern(value: object, _: object) -> Pattern:
    values = _dict(value)
    if values.keys() != {"kind", "tokens"}:
        msg = f"expected `kind` and `tokens`, found {_cited(value)}"
        raise _Wrong(msg)
    kind: Kind = _CONVERTER.structure(values["kind"], Kind)
    tokens = tuple(map(_read_token, _list(values["tokens"])))
    pattern = Pattern.of(kind, tokens)
    if pattern.tokens != tokens:
        msg = f"expected a pattern in canonical form, found {_cited(values['tokens'])}"
        raise _Wrong(msg)
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
    msg = f"expected a part of a pattern, found {_cited(value)}"
    raise _Wrong(msg)


def _checked(value: object) -> None:
    """Refuse what a class would take and the engine could not work with."""
    if isinstance(value, Bounds) and value.trust is not None and value.trust not in TRUST:
        msg = f"expected one of {', '.join(TRUST)}, found {_cited(value.trust)}"
        raise _Wrong(msg)
    if isinstance(value, Program):
        for expression in (value.first, value.operands):
            try:
                re.compile(expression)
            except (re.error, OverflowError, RecursionError):
                msg = f"{_cited(expression)} is not an expression"
                raise _Wrong(msg) from None


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
    converter.register_structure_hook_func(lambda kind: get_origin(kind) is tuple, _tuple)
    converter.register_structure_hook_func(lambda kind: get_origin(kind) is frozenset, _frozenset)
    converter.register_structure_hook_func(lambda kind: get_origin(kind) is Mapping, _mapping)
    converter.register_structure_hook(Programs, _programs)
    converter.register_structure_hook(Pattern, _pattern)
    return converter


def _is_enum(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, enum.Enum)


_CONVERTER: Final = _converter()
