"""The shape of tables and compiled policies as JSON text, read strictly.

Nothing is read without the hash that the text states.
"""

from __future__ import annotations

import enum
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, Final, TypeVar, cast, get_args, get_origin, get_type_hints

from policy.commands.knowledge import Program, ProgramTable, Shell, Variables, Wrapper
from policy.core import limits
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.source import Place, visible
from policy.core.values import field, frozen, optional
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import GAPS, Alternatives, OneOf, Run, Token
from policy.tables.dialect import ArgumentKind, Dialect, Input
from policy.tables.entry import Form
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import TRUST, Bounds, Ceiling, Part, Table

__all__ = [
    "COMPILED",
    "VERSION",
    "CompiledShape",
    "Content",
    "DeclaredShape",
    "LineShape",
    "Object",
    "Offer",
    "OriginShape",
    "PositionShape",
    "RefusalShape",
    "Rules",
    "SourcesShape",
    "SpawnCallShape",
    "StepsShape",
    "TableShape",
    "WalkedShape",
    "Wrong",
    "at",
    "canonical",
    "ceiling",
    "cited",
    "read_object",
    "ruleset",
    "sources_hash",
    "structured",
    "table_from_json",
]


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
    if hasattr(kind, "__fields__"):
        return _class(kind)
    origin: _Type = get_origin(kind)
    arguments = get_args(kind)
    if origin is tuple:
        return _tuple(arguments)
    if origin is frozenset:
        return _frozenset(arguments[0])
    if origin is ProgramTable:
        return lambda value: ProgramTable(_values(value, _reader(arguments[0])))
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
    fields = [(name, name not in optional(kind)) for name in kind.__match_args__]
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
    pattern = Pattern.of(_reader(PatternKind)(values["kind"]), tokens)
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
            return Alternatives(*(map(_token, _list(each)) for each in text))
    msg = f"expected a part of a pattern, found {cited(value)}"
    raise Wrong(msg)


def _ways(tokens: Iterable[Token]) -> int:
    """Return how many choices there are of the alternatives of a pattern, or too many."""
    ways = 1
    for token in tokens:
        if isinstance(token, Alternatives):
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
    if isinstance(value, Shell):
        if value.reader and not _is_host(value.reader):
            raise Wrong(f"no host {cited(value.reader)} reads commands")
        if any(_ways(tokens) > 1 for tokens in value.compound):
            raise Wrong("expected patterns without alternatives")
    if isinstance(value, Dialect) and not value.shell.reader:
        kinds = {each.kind for each in (*value.arguments.values(), value.other)}
        if ArgumentKind.POWERSHELL in kinds:
            raise Wrong("expected a host that reads PowerShell")
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


def _is_host(name: str) -> bool:
    """Return whether *name* is that of a host with a reader of commands."""
    try:
        return name.isidentifier() and find_spec(f"policy.hosts.{name}.shell") is not None
    except ModuleNotFoundError:
        return False


_READERS: Final[dict[_Type, _Reader]] = {
    str: _exactly(str, "a text"),
    int: _exactly(int, "a whole number"),
    bool: _exactly(bool, "true or false"),
    object: lambda value: value,  # any JSON
    Pattern: _pattern,
    Token: _token,
}


# The shape of tables and compiled policies as text: classes whose fields are the keys.


VERSION: Final = 1
COMPILED: Final = 1


@frozen
class LineShape:
    """One line of a rule set: what counts of it."""

    tool: str
    effect: Effect
    pattern: Pattern | None = None
    field: str = ""
    reason: Reason = Reason.RULE
    form: Form = Form.PLAIN


@frozen
class Rules:
    """A rule set; *dialect* is the number of one."""

    dialect: int
    default: Effect
    entries: tuple[LineShape, ...]
    default_reason: Reason = Reason.DEFAULT


@frozen
class OriginShape:
    """How a line is written, and where."""

    rule: str = ""
    place: Place | None = None


@frozen
class SourcesShape:
    """What explains a table: the origin of each line, and the links of each part."""

    hash: str
    rules: tuple[tuple[OriginShape, ...], ...]
    use: tuple[tuple[str, ...], ...]
    delegate: tuple[tuple[str, ...], ...] = ()


@frozen
class CompiledShape:
    """The whole text. *use* and *delegate* are numbers of rule sets."""

    version: int
    hash: str
    dialects: tuple[Dialect, ...]
    rules: tuple[Rules, ...]
    use: tuple[int, ...]
    delegate: tuple[int, ...] | None
    bounds: Bounds
    sources: SourcesShape


@frozen
class TableShape:
    """A table: the numbers of its rule sets, and the links that each belongs to."""

    use: tuple[int, ...] = ()
    links: tuple[tuple[str, ...], ...] = ()
    delegate: tuple[int, ...] | None = None
    delegate_links: tuple[tuple[str, ...], ...] = ()
    bounds: Bounds = Bounds()


@frozen
class SpawnCallShape:
    """The call that starts an agent, where it is no plain `Task`."""

    tool: str
    input: Mapping[str, object]


@frozen
class DeclaredShape:
    """A reading that only narrows: numbers of tables, of agents as they start and as they follow.

    An agent that is not among *steps* is never started.
    """

    agents: tuple[str, ...]
    starts: Mapping[str, int]
    steps: Mapping[str, int]
    calls: Mapping[str, SpawnCallShape] = field(factory=dict)


@frozen
class RefusalShape:
    """Why a host does not start an agent."""

    agent: str
    link: str
    reason: str
    message: str


@frozen
class StepsShape:
    """Where the agents that are started lead: numbers of positions, and of refusals.

    With *ends*, the compiled policy goes no further.
    """

    to: Mapping[str, int] = field(factory=dict)
    refused: Mapping[str, int] = field(factory=dict)
    ends: bool = False


@frozen
class PositionShape:
    """An agent at one place of chains; *table* and *steps* are numbers."""

    name: str
    table: int
    steps: int
    depth: int = 0


@frozen
class WalkedShape:
    """A reading as it was found by walking through every chain of it."""

    agents: tuple[str, ...]
    starts: StepsShape
    positions: tuple[PositionShape, ...]
    steps: tuple[StepsShape, ...]
    refusals: tuple[RefusalShape, ...] = ()
    calls: Mapping[str, SpawnCallShape] = field(factory=dict)


@frozen
class Offer:
    """A project. Where *enforced* is left out it is as declared."""

    host: str
    profile: str
    starts: tuple[str, ...]
    attenuated: DeclaredShape
    enforced: WalkedShape | None = None
    root: str = ""


@frozen
class Content:
    """What a compiled policy holds; *origins* explain the rule sets of the same number."""

    dialects: tuple[Dialect, ...]
    rules: tuple[Rules, ...]
    origins: tuple[tuple[OriginShape, ...], ...]
    tables: tuple[TableShape, ...]
    projects: tuple[Offer, ...]


# JSON as tables are written in: no key twice, no number that is none, not too deep.


Object = dict[str, Any]


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


def canonical(value: object, *, indent: int | None = None) -> str:
    """Return *value* as JSON text: equal values give equal text."""
    return json.dumps(value, indent=indent, sort_keys=True, allow_nan=False)


def sources_hash(sources: Mapping[str, object]) -> str:
    """Return the hash of what explains a table."""
    return "sha256:" + hashlib.sha256(canonical(sources).encode()).hexdigest()


# Tables and rule sets out of these shapes.


def ruleset(
    rules: Rules, origins: Sequence[OriginShape], dialects: Sequence[Dialect], path: str
) -> RuleSet:
    """Return the rule set at *path*; raise `Wrong` where a part of it is not there."""
    if len(rules.entries) > limits.RULES:
        msg = f"expected at most {limits.RULES:,} lines at {path}"
        raise Wrong(msg)
    if len(origins) != len(rules.entries):
        msg = f"expected the source of every line of {path}"
        raise Wrong(msg)
    entries = (
        Entry(
            line.tool,
            line.effect,
            line.pattern,
            line.field,
            line.reason,
            o.rule,
            o.place,
            line.form,
        )
        for line, o in zip(rules.entries, origins, strict=True)
    )
    dialect = at(dialects, rules.dialect, f"{path}.dialect")
    return RuleSet(tuple(entries), rules.default, dialect, rules.default_reason)


def ceiling(
    numbers: Sequence[int],
    links: Sequence[tuple[str, ...]],
    sets: Sequence[RuleSet],
    path: str,
    links_path: str,
) -> Ceiling:
    """Return the ceiling at *path*; raise `Wrong` where a part of it is not there."""
    if len(numbers) != len(links):
        msg = f"expected the links of every part at {links_path}"
        raise Wrong(msg)
    return Ceiling.of(
        Part(at(sets, number, path), of) for number, of in zip(numbers, links, strict=True)
    )


def at(values: Sequence[_T], number: int, path: str) -> _T:
    """Return what has *number*; raise `Wrong` where nothing has."""
    if not 0 <= number < len(values):
        msg = f"there is no number {number} at {path}"
        raise Wrong(msg)
    return values[number]


def table_from_json(text: str) -> Table:
    """Return the table that *text* is.

    Raises:
        PolicyError: it is none, or not the one it says it is.

    """
    value = read_object(text, limit=limits.COMPILED_BYTES, what="a table")
    version = value.get("version")
    if type(version) is not int or version != VERSION:
        help_ = "compile the table again with this version of the package"
        msg = f"expected a table of version {VERSION}, found {cited(version)}"
        raise PolicyError(msg, help=help_)
    try:
        file = structured(value, CompiledShape)
        table = _table(file)
    except Wrong as error:
        msg = f"this is not a table: {error}"
        raise PolicyError(msg) from None
    except RecursionError:
        msg = "this is not a table: it is nested too deep"
        raise PolicyError(msg) from None
    if table.hash != file.hash:
        msg = f"the table states the hash {cited(file.hash)} and has `{table.hash}`"
        help_ = "it was changed after it was compiled; compile it again"
        raise PolicyError(msg, help=help_)
    sources = {key: part for key, part in value["sources"].items() if key != "hash"}
    found = sources_hash(sources)
    if found != file.sources.hash:
        msg = f"the sources state the hash {cited(file.sources.hash)} and have `{found}`"
        help_ = "the places of rules were changed after the table was compiled"
        raise PolicyError(msg, help=help_)
    return table


def _table(file: CompiledShape) -> Table:
    if len(file.sources.rules) != len(file.rules):
        msg = "expected the sources of every rule set at $.sources.rules"
        raise Wrong(msg)
    sets = [
        ruleset(rules, origins, file.dialects, f"$.rules[{number}]")
        for number, (rules, origins) in enumerate(zip(file.rules, file.sources.rules, strict=True))
    ]
    use = ceiling(file.use, file.sources.use, sets, "$.use", "$.sources.use")
    delegate = None
    if file.delegate is not None:
        delegate = ceiling(
            file.delegate, file.sources.delegate, sets, "$.delegate", "$.sources.delegate"
        )
    return Table(use, delegate, file.bounds)
