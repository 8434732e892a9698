"""Compiled policies as plain values that `marshal` reads, for the store.

Reading a compiled policy from JSON checks every value of it, and reads what the host knows about
each of hundreds of programs. The store signs what it holds, so its entries are read back without
checks, and what is known about programs when a command runs one of them.

`marshal` is for the same version of Python, and `unpacked` trusts what it is given: use both for
entries of the `Store` alone, whose names say which Python and which code wrote them.
"""

from __future__ import annotations

import marshal

from policy.commands import knowledge
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.memory import OnDemand
from policy.core.source import Place
from policy.core.values import TYPE_CHECKING, stated
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import GAPS, Alternatives, Gap, OneOf, Run
from policy.tables import dialect as dialects
from policy.tables.entry import Form
from policy.tables.projects import Compiled, CompiledDeclared, CompiledProject
from policy.tables.ruleset import EntriesOnDemand, Entry, RuleSet
from policy.tables.table import Bounds, Ceiling, LinkedRules, Table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

__all__ = ["packed", "unpacked"]

# Classes of values, each known by its number.
_VALUES: Final[tuple[Any, ...]] = (
    Bounds,
    Entry,
    Place,
    dialects.Argument,
    dialects.Dialect,
    dialects.Input,
    dialects.Inputs,
    knowledge.FileTools,
    knowledge.Kinds,
    knowledge.Program,
    knowledge.Shell,
    knowledge.Syntax,
    knowledge.Variables,
    knowledge.Wrapper,
    knowledge.Wrapping,
)
_ENUMS: Final[tuple[Any, ...]] = (
    Effect,
    Form,
    PatternKind,
    Reason,
    dialects.ArgumentKind,
    dialects.InputKind,
    knowledge.Files,
)
# What stands for values of other classes.
_PATTERN, _PROGRAMS, _GAP, _ONE_OF, _RUN, _ALTERNATIVES = range(-1, -7, -1)
_MEMBERS: Final = {
    member: (len(_VALUES) + number, member.value)
    for number, kind in enumerate(_ENUMS)
    for member in kind
}


def packed(compiled: Compiled) -> bytes:
    """Return *compiled*, without what its hosts really do, as bytes."""
    return marshal.dumps(_Packing().compiled(compiled))


def unpacked(data: bytes) -> Compiled:
    """Return what `packed` was given; *data* must be what it returned."""
    return _unpacked_compiled(marshal.loads(data))  # noqa: S302  # signed


class _Packing:
    """Packs values; dialects, rule sets and tables that are shared are packed once."""

    def __init__(self) -> None:
        self.dialects: dict[int, tuple[int, object]] = {}
        self.sets: dict[int, tuple[int, object]] = {}
        self.tables: dict[int, tuple[int, object]] = {}
        self.alive: list[object] = []  # so that no two of them have one identity

    def compiled(self, compiled: Compiled) -> Any:
        projects = [
            (
                (project.host, project.profile, project.root, project.starts),
                self._declared(project.attenuated),
            )
            for project in compiled.projects
        ]
        pools = (self.dialects, self.sets, self.tables)
        contents = [[content for _, content in pool.values()] for pool in pools]
        return compiled.label, compiled.hash, contents, projects

    def _declared(self, reading: Any) -> object:
        assert type(reading) is CompiledDeclared  # noqa: S101  # no other comes from JSON
        tables = {agent: self._table(table) for agent, table in reading.tables.items()}
        roots = {agent: self._table(table) for agent, table in reading.roots.items()}
        return tables, roots, reading.listed, reading.calls

    def _table(self, table: Table) -> int:
        return self._number(self.tables, table, self._tabled)

    def _tabled(self, table: Table) -> object:
        delegate = None if table.delegate is None else self._ceiling(table.delegate)
        return self._ceiling(table.use), delegate, _plain(table.bounds)

    def _ceiling(self, ceiling: Ceiling) -> object:
        return [
            (self._number(self.sets, part.rules, self._ruled), part.links) for part in ceiling.parts
        ]

    def _ruled(self, rules: RuleSet) -> object:
        entries = [entry.tool for entry in rules.entries], [*map(_plain, rules.entries)]
        dialect = self._number(self.dialects, rules.dialect, _plain)
        return dialect, entries, rules.default.value, rules.default_reason.value

    def _number(self, pool: dict[int, tuple[int, object]], value: Any, pack: Any) -> int:
        found = pool.get(id(value))
        if found is None:
            self.alive.append(value)
            content = pack(value)
            found = pool[id(value)] = len(pool), content
        return found[0]


def _plain(value: Any) -> Any:
    """Return *value* as plain values: values of classes are tuples, and tuples are lists."""
    kind = type(value)
    if kind in _VALUES:
        return _VALUES.index(kind), [(name, _plain(found)) for name, found in stated(value)]
    if kind in _ENUMS:
        return _MEMBERS[value]
    if kind is tuple:
        return [_plain(each) for each in value]
    if kind is dict:
        return {name: _plain(each) for name, each in value.items()}
    if kind is Pattern:
        return _PATTERN, value.kind.value, [_plain(token) for token in value.tokens]
    if kind is knowledge.ProgramTable:
        programs = {name: _plain(value[name]) for name in value}
        return _PROGRAMS, value.value, list(value), marshal.dumps(programs)
    if kind is Gap:
        return _GAP, value.value
    if kind is OneOf:
        return _ONE_OF, value.characters, value.negated
    if kind is Run:
        return _RUN, value.excluded
    if kind is Alternatives:
        return _ALTERNATIVES, [_plain(each) for each in value.alternatives]
    return value


def _unpacked_compiled(plain: Any) -> Compiled:
    label, digest, pools, projects = plain
    known = [_value(each) for each in pools[0]]
    sets = [
        RuleSet(_entries(*entries), Effect(default), known[dialect], Reason(reason))
        for dialect, entries, default, reason in pools[1]
    ]

    def ceiling(parts: Any) -> Ceiling:
        return Ceiling(tuple([LinkedRules(sets[number], links) for number, links in parts]))

    tables = [
        Table(ceiling(use), None if delegate is None else ceiling(delegate), _value(bounds))
        for use, delegate, bounds in pools[2]
    ]

    def project(named: Any, declared: Any) -> CompiledProject:
        *numbered, listed, calls = declared
        steps, roots = ({agent: tables[n] for agent, n in each.items()} for each in numbered)
        reading = CompiledDeclared(steps, roots, listed=listed, calls=calls)
        host, profile, root, agents = named
        return CompiledProject(host, profile, agents, reading, root=root)

    return Compiled(label, tuple([project(*each) for each in projects]), hash=digest)


def _entries(tools: list[str], entries: list[Any]) -> Any:
    return EntriesOnDemand(tools, lambda number: _value(entries[number]))


_KINDS: Final = {kind.value: kind for kind in PatternKind}
_BY_NUMBER: Final = {packed: member for member, packed in _MEMBERS.items()}


def _value(plain: Any) -> Any:
    """Return the value that `_plain` made *plain* of."""
    kind = type(plain)
    if kind is list:
        return tuple([_value(each) for each in plain])
    if kind is dict:
        return {name: _value(each) for name, each in plain.items()}
    if kind is not tuple:
        return plain
    number, content, *rest = plain
    if number >= len(_VALUES):
        return _BY_NUMBER[plain]
    if number >= 0:
        return _VALUES[number](**{name: _value(each) for name, each in content})
    if number == _PATTERN:
        return Pattern.canonical(_KINDS[content], _value(rest[0]))
    if number == _PROGRAMS:
        return knowledge.ProgramTable(OnDemand(rest[0], _programs(rest[1])), content)
    if number == _GAP:
        return GAPS[content]
    if number == _ONE_OF:
        return OneOf(content, rest[0])
    if number == _RUN:
        return Run(content)
    return Alternatives(_value(content))


def _programs(data: bytes) -> Any:
    found: Mapping[str, object] = {}

    def program(name: str) -> Any:
        nonlocal found
        found = found or marshal.loads(data)  # noqa: S302  # signed
        return _value(found[name])

    return program
