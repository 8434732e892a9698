"""Packs compiled policies for the store, with `pickle`.

Reading a compiled policy from JSON checks every value, and reads the data on hundreds of programs.
Entries of the store are signed, so they are read without checks: rules when their tool is called,
and data on a program when a command runs it.

No class or function is found by name; one list has all that an entry may hold.
"""

from __future__ import annotations

from _io import BytesIO
from _pickle import Pickler, Unpickler  # `pickle` itself imports far more

from policy.commands import knowledge
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.memory import OnDemand
from policy.core.source import Place
from policy.core.values import TYPE_CHECKING, Any, stated
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import GAPS, Alternatives, OneOf, Run
from policy.tables import dialect as dialects
from policy.tables.chain import Attenuated
from policy.tables.projects import Compiled, CompiledProject
from policy.tables.ruleset import EntriesOnDemand, Entry, Form, RuleSet
from policy.tables.table import Bounds, Ceiling, LinkedRules, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Final, NoReturn


def packed(compiled: Compiled) -> bytes:
    """Return *compiled* as bytes."""
    projects = []
    for project in compiled.projects:
        reading = project.attenuated
        declared = dict(reading.tables), dict(reading.roots), reading.calls
        projects.append((project.host, project.profile, project.root, project.starts, declared))
    return _dumped((compiled.label, compiled.hash, projects))


def unpacked(data: bytes) -> Compiled:
    """Return the policy that `packed` turned into *data*."""
    label, digest, projects = _loaded(data)
    found = []
    for host, profile, root, starts, (tables, roots, calls) in projects:
        reading = Attenuated(tables, roots, calls=calls)
        found.append(CompiledProject(host, profile, root, starts, reading))
    return Compiled(label, tuple(found), hash=digest)


def _value(kind: Any, attributes: dict[str, object]) -> object:
    return kind(**attributes)


def _rules(tools: Sequence[str], entries: Sequence[bytes], *others: Any) -> RuleSet:
    on_demand: Any = EntriesOnDemand(tools, lambda number: _loaded(entries[number]))
    return RuleSet(on_demand, *others)


def _programs(known: Mapping[str, bytes], digest: str) -> knowledge.ProgramTable[Any]:
    return knowledge.ProgramTable(OnDemand(known, lambda name: _loaded(known[name])), digest)


_pattern: Final = Pattern.canonical

_VALUES: Final[tuple[Any, ...]] = (
    *(Bounds, Ceiling, Entry, LinkedRules, Place, Table, Alternatives, OneOf, Run),
    *(dialects.Argument, dialects.Dialect, dialects.Input, dialects.Inputs),
    *(knowledge.FileTools, knowledge.Kinds, knowledge.Program, knowledge.Shell),
    *(knowledge.Variables, knowledge.Wrapper, knowledge.Wrapping),
)
_ENUMS: Final[tuple[Any, ...]] = (
    *(Effect, Form, PatternKind, Reason),
    *(dialects.ArgumentKind, dialects.InputKind, knowledge.Files),
)
# The objects that an entry may hold, by number.
_KNOWN: Final[tuple[Any, ...]] = (
    *(_value, _rules, _programs, _pattern),
    *_VALUES,
    *GAPS.values(),
    *(member for kind in _ENUMS for member in kind),
)
_NUMBERS: Final = {id(known): number for number, known in enumerate(_KNOWN)}


class _Packer(Pickler):
    def persistent_id(self, value: object) -> int | None:
        return _NUMBERS.get(id(value))

    def reducer_override(self, value: Any) -> Any:
        kind = type(value)
        if kind is Pattern:
            return _pattern, (value.kind, value.tokens)
        if kind is RuleSet:
            entries = [_dumped(entry) for entry in value.entries]
            default = value.default, value.dialect, value.default_reason
            return _rules, ([*value.written_tools], entries, *default)
        if kind is knowledge.ProgramTable:
            known = {name: _dumped(value[name]) for name in value}
            return _programs, (known, value.value)
        return (_value, (kind, dict(stated(value)))) if kind in _VALUES else NotImplemented


class _Unpacker(Unpickler):
    persistent_load = _KNOWN.__getitem__

    def find_class(self, module: str, name: str) -> NoReturn:
        raise LookupError(f"{module}.{name}")


def _dumped(value: object) -> bytes:
    stream = BytesIO()
    _Packer(stream, 5).dump(value)
    return stream.getvalue()


def _loaded(data: bytes) -> Any:
    return _Unpacker(BytesIO(data)).load()
