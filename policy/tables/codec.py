"""Tables to JSON and back. Equal tables give equal text, and reading checks its hash.

What stands in an object is what the class of the value says of its fields. Writing leaves out what
is as it is by default. Reading is strict: every key is known, nothing is turned from one type into
another, patterns are in their canonical form, and nothing in the text is executed. Dialects, rule
sets and tables are written once each; what holds them has their number.
"""

from __future__ import annotations

import enum
import hashlib
import json
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from itertools import repeat
from typing import Any, Final, NoReturn, get_args, get_origin, get_type_hints

import policy
from policy.commands import knowledge
from policy.core import limits
from policy.core.errors import PolicyError
from policy.core.source import cited, visible
from policy.core.values import attributes, stated
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import GAPS, Alternatives, Gap, OneOf, Run, Token
from policy.tables.dialect import ArgumentKind, Dialect, Input
from policy.tables.ruleset import RuleSet
from policy.tables.table import TRUST, Bounds, Ceiling, LinkedRules, Table

_Object = dict[str, Any]
_Kind = Any  # what an annotation says, which may be no class


class _Wrong(ValueError):
    """What is wrong with one value."""


def refuse(message: str) -> NoReturn:
    """Refuse the value that is read, at its place in the text."""
    raise _Wrong(message)


# What must hold of a value, beside its type.


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


def _check_texts(known: knowledge.Program | knowledge.Wrapper) -> None:
    """Refuse what is no expression: every text that is said of a program is one."""
    operands = known.operands if isinstance(known, knowledge.Wrapper) else ()
    texts = (text for _, text in stated(known) if isinstance(text, str))
    _check_expressions(*operands, *texts)


def _check_expressions(*expressions: str) -> None:
    for expression in filter(None, expressions):
        try:
            re.compile(expression)
        except (re.error, OverflowError, RecursionError):
            refuse(f"{cited(expression)} is not an expression")


CHECKS: Final[dict[type, Callable[[Any], None]]] = {
    Bounds: _check_bounds,
    Dialect: _check_dialect,
    Input: lambda argument: _check_expressions(argument.spelling),
    knowledge.Program: _check_texts,
    RuleSet: _check_rules,
    knowledge.Variables: lambda variables: _check_expressions(variables.guarded),
    knowledge.Wrapper: _check_texts,
}


def table_key(table: Table) -> Hashable:
    """Return what tables have in common that are written alike."""
    ceilings = (table.use, *([] if table.delegate is None else [table.delegate]))
    sets = tuple(tuple((id(each.rules), each.links) for each in one.parts) for one in ceilings)
    return sets, table.bounds


# In the order in which it is read, and what those have in common that share a number.
_POOLS: Final[dict[type, tuple[str, Callable[[Any], Hashable]]]] = {
    Dialect: ("dialects", lambda dialect: dialect),
    RuleSet: ("rules", id),
    Table: ("tables", table_key),
}


# How a kind is read and written, and the kinds that it is made of.
_NAMES: Final = {str: "a text", int: "a whole number", bool: "true or false"}


@cache
def _shape(kind: _Kind) -> tuple[str, Any]:
    origin: _Kind = get_origin(kind)
    arguments = get_args(kind)
    if kind in _SPECIAL:
        return "special", None
    if kind is object:
        return "any", None
    if kind in _NAMES:
        return "exactly", _NAMES[kind]
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return "enum", {member.value: member for member in kind}
    if hasattr(kind, "__fields__"):
        return "values", None
    if origin is tuple and arguments[1:] != (...,):
        return "items", (tuple, arguments, len(arguments))
    if origin in (tuple, frozenset):
        return "items", (origin, repeat(arguments[0]), None)
    if origin is Mapping:
        return "mapping", arguments[1]
    if arguments[1:] == (type(None),):
        return "optional", arguments[0]
    msg = f"there is no JSON for {kind}"
    raise TypeError(msg)


@cache
def _fields(kind: type) -> dict[str, tuple[_Kind, bool]]:
    """Return the attributes of a class of values: what each is, and whether it may be left out."""
    hints, known = get_type_hints(kind), attributes(kind).items()
    # The table that another one comes from is no part of it.
    return {name: (hints[name], optional) for name, optional in known if name != "origin"}


def _list(value: Any) -> list[Any]:  # noqa: ANN401  # any JSON
    return value if type(value) is list else refuse(f"expected a list, found {cited(value)}")


def _object(value: Any) -> _Object:  # noqa: ANN401
    return value if type(value) is dict else refuse(f"expected an object, found {cited(value)}")


class _Content:
    """What one text holds: its dialects, rule sets and tables, in the order of their numbers.

    *path* is where the value stands that is read, e.g. ``[".rules", "[0]"]``.
    """

    def __init__(self) -> None:
        self.path: list[str] = []
        self._values: dict[type, list[Any]] = {kind: [] for kind in _POOLS}
        self._numbers: dict[Hashable, int] = {}

    def read(self, kind: _Kind, value: Any) -> Any:  # noqa: ANN401
        """Return the value of a *kind* that some JSON is."""
        how, of = _shape(kind)
        match how:
            case "special":
                return _SPECIAL[kind][0](self, value)
            case "values":
                return self.read_values(kind, value)
            case "optional":
                return None if value is None else self.read(of, value)
            case "exactly":
                wrong = type(value) is not kind
                return refuse(f"expected {of}, found {cited(value)}") if wrong else value
            case "enum":
                if type(value) is str and value in of:
                    return of[value]
                refuse(f"expected one of {', '.join(of)}, found {cited(value)}")
            case "items":
                (make, kinds, count), items = of, _list(value)
                if count not in (None, len(items)):
                    refuse(f"expected {count} values, found {len(items)}")
                pairs = enumerate(zip(kinds, items, strict=False))
                return make([self.inside(f"[{n}]", self.read, *pair) for n, pair in pairs])
            case "mapping":
                return {
                    name: self.inside(f"[{json.dumps(name)}]", self.read, of, each)
                    for name, each in _object(value).items()
                }
            case _:
                return value

    def read_values(self, kind: type, value: object) -> object:
        """Return the value of a class: an object with a key for each attribute."""
        values, found, fields = _object(value), {}, _fields(kind)
        for name, (each, optional) in fields.items():
            if name in values:
                found[name] = self.inside(f".{name}", self.read, each, values[name])
            elif not optional:
                self.path.append(f".{name}")
                refuse(f"the key {cited(name)} is missing")
        if unknown := sorted(values.keys() - fields.keys()):
            refuse(f"the key {', '.join(map(cited, unknown))} is unknown")
        made: object = kind(**found)
        if kind in CHECKS:
            CHECKS[kind](made)
        return made

    def inside(self, step: str, read: Callable[..., Any], *given: object) -> Any:  # noqa: ANN401
        """Return what *read* returns of the value at *step* of the one that is read."""
        self.path.append(step)
        found = read(*given)
        self.path.pop()
        return found

    def write(self, kind: _Kind, value: Any) -> Any:  # noqa: ANN401
        """Return the JSON of a value of a *kind*."""
        how, of = _shape(kind)
        match how:
            case "special":
                return _SPECIAL[kind][1](self, value)
            case "values":
                return self.write_values(kind, value)
            case "optional":
                return None if value is None else self.write(of, value)
            case "enum":
                return value.value
            case "items":
                # Sets are in another order in each process.
                items = sorted(value) if of[0] is frozenset else value
                return [self.write(each, item) for each, item in zip(of[1], items, strict=False)]
            case "mapping":
                return {name: self.write(of, each) for name, each in value.items()}
            case _:
                return value

    def write_values(self, kind: type, value: object) -> _Object:
        """Return the object of a value of a class."""
        fields, said = _fields(kind), stated(value)
        return {name: self.write(fields[name][0], found) for name, found in said if name in fields}

    def number(self, kind: type, value: object) -> int:
        """Return the number of a value."""
        key, values = (kind, _POOLS[kind][1](value)), self._values[kind]
        if key not in self._numbers:
            self._numbers[key] = len(values)
            values.append(value)
        return self._numbers[key]

    def at(self, kind: type, value: object) -> object:
        """Return the value with a number."""
        values, number = self._values[kind], self.read(int, value)
        if not 0 <= number < len(values):
            refuse(f"there is no number {number}")
        return values[number]

    def written(self) -> _Object:
        """Return all that has a number."""
        return {
            name: [self.write_values(kind, value) for value in self._values[kind]]
            for kind, (name, _) in reversed(_POOLS.items())
        }

    def fill(self, content: _Object) -> None:
        """Read all that has a number."""
        for kind, (name, _) in _POOLS.items():
            for number, value in enumerate(self.inside(f".{name}", _list, content[name])):
                found = self.inside(f".{name}[{number}]", self.read_values, kind, value)
                self._values[kind].append(found)


# What is written otherwise than by the fields of a class.


def _pattern(content: _Content, value: object) -> Pattern:
    if type(value) is not dict or value.keys() != {"kind", "tokens"}:
        refuse(f"expected `kind` and `tokens`, found {cited(value)}")
    tokens = tuple(map(_token, _list(value["tokens"])))
    if _ways(tokens) > limits.ALTERNATIVES:
        refuse(f"a pattern has at most {limits.ALTERNATIVES:,} choices of alternatives")
    pattern = Pattern.of(content.read(PatternKind, value["kind"]), tokens)
    if pattern.tokens != tokens:
        refuse(f"expected a pattern in canonical form, found {cited(value['tokens'])}")
    return pattern


def _token(value: object) -> Token:
    if type(value) is str and value:
        return value
    if type(value) is dict and len(value) == 1:
        ((key, text),) = value.items()
        if key == "gap":
            if type(text) is str and text in GAPS:
                return GAPS[text]
            refuse(f"expected one of {', '.join(GAPS)}, found {cited(text)}")
        if key in {"one of", "none of"} and type(text) is str and text:
            return OneOf(frozenset(text), negated=key == "none of")
        if key == "run without" and type(text) is str:
            return Run(frozenset(text))
        if key == "either" and type(text) is list and text:
            return Alternatives.of(*(map(_token, _list(each)) for each in text))
    refuse(f"expected a part of a pattern, found {cited(value)}")


def _written(token: Token) -> object:
    if isinstance(token, str):
        return token
    if isinstance(token, Gap):
        return {"gap": token.value}
    if isinstance(token, Run):
        return {"run without": "".join(sorted(token.excluded))}
    if isinstance(token, Alternatives):
        return {"either": [[*map(_written, each)] for each in token.alternatives]}
    return {"none of" if token.negated else "one of": "".join(sorted(token.characters))}


def _ways(tokens: Iterable[Token]) -> int:
    """Return how many choices there are of the alternatives of a pattern, or too many."""
    ways = 1
    for token in tokens:
        if isinstance(token, Alternatives):
            ways = min(ways * sum(map(_ways, token.alternatives)), limits.ALTERNATIVES + 1)
    return ways


_Codec = tuple[Callable[[_Content, Any], Any], Callable[[_Content, Any], Any]]


def _numbered(kind: type) -> _Codec:
    return lambda content, value: content.at(kind, value), lambda c, value: c.number(kind, value)


def _of_programs(kind: type) -> _Codec:
    table = Mapping[str, kind]  # type: ignore[valid-type]
    return lambda content, value: knowledge.ProgramTable(
        content.read(table, value)
    ), lambda c, value: c.write(table, value)


_PARTS: Final = tuple[LinkedRules, ...]
_SPECIAL: Final[dict[_Kind, _Codec]] = {
    Pattern: (
        _pattern,
        lambda _, value: {"kind": value.kind.value, "tokens": [*map(_written, value.tokens)]},
    ),
    Token: (lambda _, value: _token(value), lambda _, value: _written(value)),
    knowledge.Programs: _of_programs(knowledge.Program),
    knowledge.Wrappers: _of_programs(knowledge.Wrapper),
    Ceiling: (
        lambda content, value: Ceiling.of(content.read(_PARTS, value)),
        lambda content, value: content.write(_PARTS, value.parts),
    ),
    **{kind: _numbered(kind) for kind in _POOLS},
}


def read_object(text: str, *, limit: int, what: str) -> _Object:
    """Return the object that *text* is, of at most *limit* characters.

    Raises:
        PolicyError: it is none, and so not *what* it should be, e.g. ``a table``.
    """
    if len(text) > limit:
        raise PolicyError(f"expected {what} of at most {limit:,} characters")
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        why = "nested too deep" if isinstance(error, RecursionError) else str(error)[:200]
        raise PolicyError(f"this is not JSON: {visible(why)}") from None
    if not isinstance(value, dict):
        raise PolicyError(f"expected {what}, found {cited(value)}")
    return value


def _once(pairs: list[tuple[str, Any]]) -> _Object:
    value: _Object = {}
    for name, each in pairs:
        if name in value:
            raise ValueError(f"the key {cited(name)} is there twice")
        value[name] = each
    return value


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


# The whole text: the version of the form, of this package, the hash of the content, the content.


VERSION: Final = 4
_HEADER: Final = re.compile(
    r'\{"compiled":([0-9]+),"by":"([^"]*)","hash":"([^"]*)","content":', re.ASCII
)


def sealed(content: str) -> str:
    """Return the text with a *content*, which is JSON."""
    digest = hashlib.sha256(content.encode()).hexdigest()
    start = f'{{"compiled":{VERSION},"by":"{policy.__version__}","hash":"sha256:{digest}"'
    return f'{start},"content":{content}}}\n'


def dumped(value: object, kind: _Kind, name: str) -> str:
    """Return the text that holds *value*, of a *kind*, under a name."""
    content = _Content()
    written = {name: content.write(kind, value)} | content.written()
    return sealed(json.dumps(written, allow_nan=False, separators=(",", ":")))


def loaded(data: bytes, kind: _Kind, name: str, label: str) -> tuple[Any, str]:
    """Return the value of a *kind* that a text has under a name, and the hash of the content.

    Raises:
        PolicyError: it has none, is of another version, or not the text it says it is.
    """
    keys = {name, *(each for each, _ in _POOLS.values())}
    content = _Content()
    try:
        text, digest = _unsealed(data)
        found = read_object(text, limit=limits.COMPILED_BYTES, what="a compiled policy")
        for key in sorted(keys ^ found.keys()):
            refuse(f"the key {cited(key)} is {'missing' if key in keys else 'unknown'}")
        content.fill(found)
        return content.inside(f".{name}", content.read, kind, found[name]), digest
    except _Wrong as wrong:
        message = f"this is not a compiled policy: {wrong} at ${''.join(content.path)}"
    except RecursionError:
        message = "this is not a compiled policy: it is nested too deep"
    except PolicyError as error:
        message = error.message
    raise PolicyError(message, file=label, help="compile it again, with `policy compile`")


def _unsealed(data: bytes) -> tuple[str, str]:
    """Return the content and its hash, which is that of the very bytes."""
    if len(data) > limits.COMPILED_BYTES:
        msg = f"expected a compiled policy of at most {limits.COMPILED_BYTES:,} bytes"
        raise PolicyError(msg)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise PolicyError("this is not UTF-8") from None
    header = _HEADER.match(text)
    if header is None:
        raise PolicyError(f"expected a compiled policy, found `{visible(text[:40])}`")
    form, by, stated = header.groups()
    if (form, by) != (f"{VERSION}", policy.__version__):
        expected = f"the form {VERSION} of version {policy.__version__}"
        raise PolicyError(f"expected {expected}, found the form {form[:40]} of {visible(by[:40])}")
    content = text[header.end() :]
    if not content.endswith("}\n"):
        raise PolicyError("the compiled policy is cut off")
    content = content.removesuffix("}\n")
    digest = f"sha256:{hashlib.sha256(content.encode()).hexdigest()}"
    if stated != digest:
        why = f"the content has the hash `{digest}`, which is not the one that is stated"
        msg = f"{why}: it was changed after it was compiled"
        raise PolicyError(msg)
    return content, digest


def table_to_json(table: Table) -> str:
    """Return *table* as JSON: equal values give equal text, byte for byte."""
    return dumped(table, Table, "table")


def table_from_json(text: str) -> Table:
    """Return the table that *text* is.

    Raises:
        PolicyError: it is none, or not the one it says it is.
    """
    table: Table = loaded(text.encode("utf-8", "surrogatepass"), Table, "table", "<table>")[0]
    return table
