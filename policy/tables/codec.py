"""Tables to JSON and back: one text for one value, read with the hash that it states.

Reading is strict (`policy.tables.schema`), patterns are in their canonical form, and nothing in
the text is executed. Dialects, rule sets and tables are written once each; what holds them has
their number.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Hashable, Iterable
from importlib.util import find_spec
from typing import Any, Final

import policy
from policy.commands.knowledge import (
    Program,
    Programs,
    ProgramTable,
    Shell,
    Variables,
    Wrapper,
    Wrappers,
)
from policy.core import limits
from policy.core.errors import PolicyError
from policy.core.source import visible
from policy.core.values import evolve, stated
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import GAPS, Alternatives, Gap, OneOf, Run, Token
from policy.tables.dialect import ArgumentKind, Dialect, Input
from policy.tables.ruleset import RuleSet
from policy.tables.schema import (
    Codec,
    Kind,
    Object,
    Schema,
    Wrong,
    cited,
    exactly,
    inside,
    read_object,
    refuse,
)
from policy.tables.table import TRUST, Bounds, Ceiling, LinkedRules, Table

__all__ = ["SCHEMA", "dumped", "loaded", "sealed", "table_from_json", "table_key", "table_to_json"]


# What stands in the way of each value, beside its type.


def _check_bounds(bounds: Bounds) -> None:
    if bounds.trust is not None and bounds.trust not in TRUST:
        refuse(f"expected one of {', '.join(TRUST)}, found {cited(bounds.trust)}")


def _check_rules(rules: RuleSet) -> None:
    if len(rules.entries) > limits.RULES:
        refuse(f"expected at most {limits.RULES:,} lines")


def _check_table(table: Table) -> None:
    if table.origin is not None:
        refuse(f"there is no key {cited('origin')}")


def _check_shell(shell: Shell) -> None:
    if "" in {*shell.wrapping.names, *shell.programs}:
        refuse("expected the names of programs, found an empty text")
    if shell.reader and not _is_host(shell.reader):
        refuse(f"no host {cited(shell.reader)} reads commands")
    if any(_ways(tokens) > 1 for tokens in shell.compound):
        refuse("expected patterns without alternatives")


def _is_host(name: str) -> bool:
    """Return whether *name* is that of a host with a reader of commands."""
    try:
        return name.isidentifier() and find_spec(f"policy.hosts.{name}.shell") is not None
    except ModuleNotFoundError:
        return False


def _check_dialect(dialect: Dialect) -> None:
    kinds = {each.kind for each in (*dialect.arguments.values(), dialect.other)}
    if ArgumentKind.POWERSHELL in kinds and not dialect.shell.reader:
        refuse("expected a host that reads PowerShell")


def _check_texts(known: Program | Wrapper) -> None:
    """Refuse what is no expression: every text that is said of a program is one."""
    texts = [value for _, value in stated(known)]
    operands = known.operands if isinstance(known, Wrapper) else ()
    _compiled(*operands, *(text for text in texts if isinstance(text, str)))


def _compiled(*expressions: str | None) -> None:
    for expression in filter(None, expressions):
        try:
            re.compile(expression)
        except (re.error, OverflowError, RecursionError):
            refuse(f"{cited(expression)} is not an expression")


# Patterns.


def _pattern(value: Object) -> Pattern:
    if type(value) is not dict or value.keys() != {"kind", "tokens"}:
        refuse(f"expected `kind` and `tokens`, found {cited(value)}")
    tokens = tuple(map(_token, _list(value["tokens"])))
    if _ways(tokens) > limits.ALTERNATIVES:
        refuse(f"a pattern has at most {limits.ALTERNATIVES:,} choices of alternatives")
    pattern = Pattern.of(SCHEMA.codec(PatternKind).read(value["kind"], None), tokens)
    if pattern.tokens != tokens:
        refuse(f"expected a pattern in canonical form, found {cited(value['tokens'])}")
    return pattern


_list: Final = exactly(list, "a list")


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
    raise Wrong(f"expected a part of a pattern, found {cited(value)}")


def _written_pattern(pattern: Pattern) -> Object:
    return {"kind": pattern.kind.value, "tokens": [_written(token) for token in pattern.tokens]}


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


# What has a number.


def table_key(table: Table) -> Hashable:
    """Return what tables have in common that are written alike."""
    ceilings = (table.use, *([] if table.delegate is None else [table.delegate]))
    sets = tuple(tuple((id(each.rules), each.links) for each in one.parts) for one in ceilings)
    return sets, table.bounds


# What has numbers, in the order in which it is read, and what those have in common that share one.
_POOLS: Final[dict[type, tuple[str, Callable[[Any], Hashable]]]] = {
    Dialect: ("dialects", lambda dialect: dialect),
    RuleSet: ("rules", id),
    Table: ("tables", table_key),
}


class Pools:
    """The dialects, rule sets and tables of one text, in the order of their numbers."""

    def __init__(self) -> None:
        self._values: dict[type, list[Any]] = {kind: [] for kind in _POOLS}
        self._numbers: dict[Hashable, int] = {}

    def number(self, kind: type, value: object) -> int:
        """Return the number of a value."""
        key, values = (kind, _POOLS[kind][1](value)), self._values[kind]
        if key not in self._numbers:
            self._numbers[key] = len(values)
            # Whose place a table stands in is no part of it.
            values.append(evolve(value, origin=None) if isinstance(value, Table) else value)
        return self._numbers[key]

    def at(self, kind: type, number: int) -> object:
        """Return the value with a number. Raises `Wrong` where none has it."""
        values = self._values[kind]
        return (
            values[number] if 0 <= number < len(values) else refuse(f"there is no number {number}")
        )

    def written(self) -> Object:
        """Return all that has a number."""
        content = {}
        for kind, (name, _) in reversed(_POOLS.items()):
            codec = SCHEMA.values(kind)
            content[name] = [codec.write(value, self) for value in self._values[kind]]
        return content

    def read(self, content: Object) -> None:
        """Read all that has a number. Raises `Wrong`."""
        for kind, (name, _) in _POOLS.items():
            codec, values = SCHEMA.values(kind), self._values[kind]
            for number, value in enumerate(_list(content[name])):
                values.append(inside(f".{name}[{number}]", codec, value, self))


def _numbered(kind: type) -> Codec:
    def read(value: object, pools: Pools) -> object:
        return pools.at(kind, SCHEMA.codec(int).read(value, None))

    return Codec(read, lambda value, pools: pools.number(kind, value))


def _schema() -> Schema:
    schema = Schema(
        {
            Bounds: _check_bounds,
            Dialect: _check_dialect,
            Input: lambda argument: _compiled(argument.spelling),
            Program: _check_texts,
            RuleSet: _check_rules,
            Shell: _check_shell,
            Table: _check_table,
            Variables: lambda variables: _compiled(variables.guarded),
            Wrapper: _check_texts,
        }
    )
    schema.add(Pattern, Codec.of(_pattern, _written_pattern))
    schema.add(Token, Codec.of(_token, _written))
    schema.add(Programs, schema.mapping(Program, ProgramTable))
    schema.add(Wrappers, schema.mapping(Wrapper, ProgramTable))
    linked = schema.codec(tuple[LinkedRules, ...])
    schema.add(
        Ceiling,
        Codec(
            lambda value, pools: Ceiling.of(linked.read(value, pools)),
            lambda ceiling, pools: linked.write(ceiling.parts, pools),
        ),
    )
    for kind in _POOLS:
        schema.add(kind, _numbered(kind))
    return schema


SCHEMA: Final = _schema()


# The whole text: the version of the form, of this package, the hash of the content, the content.


VERSION: Final = 2
_HEADER: Final = re.compile(
    r'\{"compiled":([0-9]+),"by":"([^"]*)","hash":"([^"]*)","content":', re.ASCII
)
_AGAIN: Final = "compile it again, with `policy compile`"


def sealed(content: str) -> str:
    """Return the text with a *content*, which is JSON."""
    digest = hashlib.sha256(content.encode()).hexdigest()
    start = f'{{"compiled":{VERSION},"by":"{policy.__version__}","hash":"sha256:{digest}"'
    return f'{start},"content":{content}}}\n'


def dumped(value: object, kind: Kind, name: str) -> str:
    """Return the text that holds *value*, of a *kind*, under a name."""
    pools = Pools()
    content = {name: SCHEMA.codec(kind).write(value, pools)}
    content.update(pools.written())
    return sealed(json.dumps(content, allow_nan=False, separators=(",", ":")))


def loaded(data: bytes, kind: Kind, name: str, label: str) -> tuple[Any, str]:
    """Return the value of a *kind* that a text has under a name, and the hash of the content.

    Raises:
        PolicyError: it has none, is of another version, or not the text it says it is.

    """
    content, digest = _unsealed(data, label)
    keys = {name, *(each for each, _ in _POOLS.values())}
    try:
        found = read_object(content, limit=limits.COMPILED_BYTES, what="a compiled policy")
        for key in sorted(keys ^ found.keys()):
            refuse(
                f"the key {cited(key)} is missing"
                if key in keys
                else f"there is no key {cited(key)}"
            )
        pools = Pools()
        pools.read(found)
        return inside(f".{name}", SCHEMA.codec(kind), found[name], pools), digest
    except Wrong as error:
        message = f"this is not a compiled policy: {error}"
    except RecursionError:
        message = "this is not a compiled policy: it is nested too deep"
    except PolicyError as error:
        message = error.message
    raise PolicyError(message, file=label, help=_AGAIN)


def _unsealed(data: bytes, label: str) -> tuple[str, str]:
    """Return the content and its hash, which is that of the very bytes."""
    if len(data) > limits.COMPILED_BYTES:
        msg = f"expected a compiled policy of at most {limits.COMPILED_BYTES:,} bytes"
        raise PolicyError(msg, file=label)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise PolicyError("this is not UTF-8", file=label) from None
    header = _HEADER.match(text)
    if header is None:
        msg = f"expected a compiled policy, found `{visible(text[:40])}`"
        raise PolicyError(msg, file=label, help=_AGAIN)
    form, by, stated = header.groups()
    for what, found, expected in (
        ("form", form, f"{VERSION}"),
        ("version", by, policy.__version__),
    ):
        if found != expected:
            msg = f"expected the {what} {expected}, found `{visible(found[:40])}`"
            raise PolicyError(msg, file=label, help=_AGAIN)
    content = text[header.end() :]
    if not content.endswith("}\n"):
        raise PolicyError("the compiled policy is cut off", file=label, help=_AGAIN)
    content = content.removesuffix("}\n")
    digest = f"sha256:{hashlib.sha256(content.encode()).hexdigest()}"
    if stated != digest:
        msg = f"the content has the hash `{digest}`, which is not the one that is stated"
        help_ = f"it was changed after it was compiled; {_AGAIN}"
        raise PolicyError(msg, file=label, help=help_)
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
