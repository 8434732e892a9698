"""Tables to JSON and back. Equal tables give equal text, and reading checks its hash.

An object has a key for each attribute of a value that is not as it is by default. Reading is
strict: every key is known, nothing is turned from one type into another, patterns are in their
canonical form, and nothing in the text is executed. Dialects and rule sets are written once each;
what holds them has their number.
"""

from __future__ import annotations

import enum
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any, Final, NoReturn, get_args, get_origin, get_type_hints

import policy
from policy.commands import knowledge
from policy.core import limits
from policy.core.call_json import parsed
from policy.core.errors import A_TABLE, A_TEXT, PolicyError, expect
from policy.core.source import cited, visible
from policy.core.values import attributes, stated
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import GAPS, Alternatives, Gap, OneOf, Run, Token
from policy.tables.dialect import ArgumentKind, Dialect, Input
from policy.tables.ruleset import RuleSet
from policy.tables.table import TRUST, Bounds, Ceiling, LinkedRules, Table

_Kind = Any  # what an annotation says, which may be no class


def refuse(message: str) -> NoReturn:
    """Refuse the value that is read."""
    raise ValueError(message)


# Conditions that a value must meet in addition to its type.


def _check_bounds(bounds: Bounds) -> None:
    if bounds.trust is not None and bounds.trust not in TRUST:
        refuse(f"expected one of {', '.join(TRUST)}, found {cited(bounds.trust)}")


def _check_rules(rules: RuleSet) -> None:
    if len(rules.entries) > limits.RULES:
        refuse(f"expected at most {limits.RULES:,} lines")


def _check_dialect(dialect: Dialect) -> None:
    shell = dialect.shell
    kinds = {each.kind for each in (*dialect.arguments.values(), dialect.other)}
    if "" in {*shell.wrapping.names, *shell.programs}:
        refuse("expected the names of programs, found an empty text")
    if shell.reader and not _is_host(shell.reader):
        refuse(f"no host {cited(shell.reader)} reads commands")
    if ArgumentKind.POWERSHELL in kinds and not shell.reader:
        refuse("expected a host that reads PowerShell")
    if any(_ways(tokens) > 1 for tokens in shell.compound):
        refuse("expected patterns without alternatives")


def _is_host(name: str) -> bool:
    """Return whether *name* is that of a host with a reader of commands."""
    try:
        return name.isidentifier() and find_spec(f"policy.hosts.{name}.shell") is not None
    except ModuleNotFoundError:
        return False


def _ways(tokens: Iterable[Token]) -> int:
    """Return how many choices there are of the alternatives of a pattern, or too many."""
    ways = 1
    for token in tokens:
        if isinstance(token, Alternatives):
            ways = min(ways * sum(map(_ways, token.alternatives)), limits.ALTERNATIVES + 1)
    return ways


def _check_characters(characters: frozenset[str]) -> None:
    if any(len(each) != 1 for each in characters):
        refuse(f"expected characters, found {cited(sorted(characters))}")


def _check_expressions(value: object) -> None:
    """Refuse a value with a text, or a tuple of texts, that is no regular expression."""
    for _, found in stated(value):
        for text in found if isinstance(found, tuple) else [found]:
            if isinstance(text, str):
                _check_expression(text)


def _check_expression(text: str) -> None:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError):
        refuse(f"{cited(text)} is not an expression")


CHECKS: Final[dict[type, Callable[[Any], None]]] = {
    Alternatives: lambda token: token.alternatives or refuse("expected alternatives, found none"),
    Bounds: _check_bounds,
    Dialect: _check_dialect,
    Input: lambda argument: _check_expression(argument.spelling),
    knowledge.Kinds: _check_expressions,
    knowledge.Program: _check_expressions,
    knowledge.Variables: _check_expressions,
    knowledge.Wrapper: _check_expressions,
    OneOf: lambda token: _check_characters(token.characters or refuse("expected a character")),
    RuleSet: _check_rules,
    Run: lambda token: _check_characters(token.excluded),
}


# The table that another one comes from is no part of it.
_ORIGIN: Final = "origin"


@cache
def _fields(kind: _Kind) -> dict[str, tuple[_Kind, bool]]:
    """Return the attributes of a class of values: what each is, and whether it may be left out."""
    hints, known = get_type_hints(kind), attributes(kind).items()
    return {name: (hints[name], optional) for name, optional in known if name != _ORIGIN}


# Under which key a text has what is written once.
_POOLS: Final[dict[_Kind, str]] = {RuleSet: "rules", Dialect: "dialects"}


class _Writer:
    """Writes values: rule sets and dialects once each, which get numbers as they are met."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._numbered: dict[type, list[object]] = {kind: [] for kind in _POOLS}

    def text(self, name: str, value: object) -> str:
        """Return an object with *value* under a name, and with all that has a number."""
        texts = {name: self._json(value)}
        for kind, values in self._numbered.items():
            texts[_POOLS[kind]] = self._json([self._object(each) for each in values])
        return "{" + ",".join(f'"{key}":{text}' for key, text in texts.items()) + "}"

    def _json(self, value: object) -> str:
        return json.dumps(value, default=self._json_form, separators=(",", ":"))

    def _json_form(self, value: Any) -> object:  # noqa: ANN401
        """Return the JSON form of a value that JSON has no type for."""
        match value:
            case RuleSet():
                return self._number(RuleSet, id(value), value)  # equal ones may lie elsewhere
            case Dialect():
                return self._number(Dialect, value, value)
            case Ceiling():
                return value.parts
            case Gap():
                return {"gap": value.value}
            case enum.Enum():
                return value.value
            case frozenset():
                return sorted(value)  # they are in another order in each process
            case Mapping():
                return dict(value)
            case _:
                return self._object(value) if hasattr(value, "__fields__") else [*value]

    def _number(self, kind: type, key: object, value: object) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self._numbered[kind])
            self._numbered[kind].append(value)
        return self._numbers[key]

    def _object(self, value: object) -> dict[str, object]:
        return {name: found for name, found in stated(value) if name != _ORIGIN}


_NAMES: Final[dict[_Kind, str]] = {str: "a text", int: "a whole number", bool: "true or false"}

# What a part of a pattern is that is no text and no gap, by a key of it.
_PARTS: Final = {"characters": OneOf, "excluded": Run, "alternatives": Alternatives}


class _Reader:
    """Reads what `_Writer` writes; *numbered* is what has numbers."""

    def __init__(self) -> None:
        self.numbered: dict[_Kind, list[object]] = {}

    def read(self, kind: _Kind, value: Any) -> Any:  # noqa: ANN401
        """Return the value of a *kind* that some JSON is."""
        if type(value) is kind:
            return value
        if kind in _NAMES:
            refuse(f"expected {_NAMES[kind]}, found {cited(value)}")
        if hasattr(kind, "__fields__"):
            return (self._at if kind in self.numbered else self._value)(kind, value)
        if kind is Token:
            return self._token(value)
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return _member(kind, value)
        origin: _Kind = get_origin(kind)
        arguments = get_args(kind)
        if origin is Mapping:
            return self._mapping(arguments[1], value)
        if origin is knowledge.ProgramTable:
            return origin(self._mapping(arguments[0], value))
        if origin in (tuple, frozenset):
            return self._items(origin, arguments, _expected(list, value, "a list"))
        if arguments[1:] == (type(None),):
            return None if value is None else self.read(arguments[0], value)
        if kind is object:
            return value
        raise TypeError(f"there is no JSON for {kind}")

    def _at(self, kind: _Kind, value: object) -> object:
        number, values = self.read(int, value), self.numbered[kind]
        return values[number] if 0 <= number < len(values) else refuse(f"there is no {number}")

    def _mapping(self, kind: _Kind, value: Any) -> dict[str, Any]:  # noqa: ANN401
        found = _expected(dict, value, "an object").items()
        return {name: self.read(kind, each) for name, each in found}

    def _items(self, origin: _Kind, kinds: tuple[_Kind, ...], items: list[Any]) -> object:
        if origin is frozenset or kinds[1:] == (...,):
            return origin([self.read(kinds[0], item) for item in items])
        if len(items) != len(kinds):
            refuse(f"expected {len(kinds)} values, found {len(items)}")
        return tuple(map(self.read, kinds, items))

    def _value(self, kind: _Kind, value: Any) -> object:  # noqa: ANN401
        if kind is Ceiling:
            return Ceiling.of(self.read(tuple[LinkedRules, ...], value))
        given, found, fields = _expected(dict, value, "an object"), {}, _fields(kind)
        for name, (each, optional) in fields.items():
            if name in given:
                found[name] = self.read(each, given[name])
            elif not optional:
                refuse(f"the key {cited(name)} is missing")
        if unknown := sorted(given.keys() - fields.keys()):
            refuse(f"the key {', '.join(map(cited, unknown))} is unknown")
        if kind is Pattern:
            return _pattern(value, **found)
        made: object = kind(**found)
        if kind in CHECKS:
            CHECKS[kind](made)
        return made

    def _token(self, value: Any) -> Any:  # noqa: ANN401
        if type(value) is dict:
            if value.keys() == {"gap"}:
                return GAPS.get(str(value["gap"])) or refuse(f"there is no gap {cited(value)}")
            for key in value.keys() & _PARTS.keys():
                return self._value(_PARTS[key], value)
        return _expected(str, value, "a part of a pattern") or refuse("expected a text, found none")


def _expected(kind: type, value: Any, name: str) -> Any:  # noqa: ANN401
    return value if type(value) is kind else refuse(f"expected {name}, found {cited(value)}")


def _member(kind: type[enum.Enum], value: object) -> object:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(member.value for member in kind)
        refuse(f"expected one of {known}, found {cited(value)}")


def _pattern(value: object, kind: PatternKind, tokens: tuple[Token, ...]) -> Pattern:
    if _ways(tokens) > limits.ALTERNATIVES:
        refuse(f"a pattern has at most {limits.ALTERNATIVES:,} choices of alternatives")
    pattern = Pattern.of(kind, tokens)
    if pattern.tokens != tokens:
        refuse(f"expected a pattern in canonical form, found {cited(value)}")
    return pattern


# The whole text: the version of the form, of this package, the hash of the content, the content.


VERSION: Final = 5


def sealed(content: str) -> str:
    """Return the text with a *content*, which is JSON."""
    digest = hashlib.sha256(content.encode()).hexdigest()
    start = f'{{"compiled":{VERSION},"by":"{policy.__version__}","hash":"sha256:{digest}"'
    return f'{start},"content":{content}}}\n'


def dumped(name: str, value: object) -> str:
    """Return the text that holds *value* under a name."""
    return sealed(_Writer().text(name, value))


def loaded(data: bytes | str, name: str, kind: _Kind, label: str) -> tuple[Any, str]:
    """Return the value of a *kind* that a text has under a name, and the hash of the content.

    Raises:
        PolicyError: it has none, has another version, or a hash that is not that of its content.
    """
    try:
        content, digest = _unsealed(data)
        if content.keys() != {name, *_POOLS.values()}:
            refuse(f"the keys {cited(sorted(content))} are not those of one")
        reader = _Reader()
        for pool in reversed(_POOLS):
            values = _expected(list, content[_POOLS[pool]], "a list")
            reader.numbered[pool] = [reader.read(pool, value) for value in values]
        return reader.read(kind, content[name]), digest
    except RecursionError:
        why = "it is nested too deep"
    except ValueError as error:
        why = visible(str(error)[:300])
    message = f"this is not a compiled policy: {why}"
    raise PolicyError(message, file=label, help="compile it again, with `policy compile`")


def _unsealed(data: bytes | str) -> tuple[dict[str, Any], str]:
    """Return the content of a text, and its hash."""
    if len(data) > limits.COMPILED_BYTES:
        refuse(f"expected at most {limits.COMPILED_BYTES:,} bytes")
    try:
        text = data if isinstance(data, str) else data.decode()
        whole = parsed(text)
    except ValueError:
        refuse("it is no JSON")
    if type(whole) is not dict or type(whole.get("content")) is not dict:
        refuse(f"expected an object with a content, found {cited(whole)}")
    form, by = whole.get("compiled"), whole.get("by")
    if (form, by) != (VERSION, policy.__version__):
        found = f"the form {cited(form)} of version {cited(by)}"
        refuse(f"expected the form {VERSION} of version {policy.__version__}, found {found}")
    if text != sealed(json.dumps(whole["content"], separators=(",", ":"))):
        refuse("it was changed after it was compiled")
    return whole["content"], whole["hash"]


def table_to_json(table: Table) -> str:
    """Return *table* as JSON: equal values give equal text, byte for byte."""
    expect(A_TABLE, "table", table, Table)
    return dumped("table", table)


def table_from_json(text: str) -> Table:
    """Return the table that *text* is.

    Raises:
        PolicyError: it is no table, or its hash is not that of its content.
    """
    expect(A_TEXT, "text", text, str)
    table: Table = loaded(text, "table", Table, "<table>")[0]
    return table
