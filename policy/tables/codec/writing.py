"""Tables and projects to JSON: one text for one value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast, get_origin

import policy
from policy.commands.knowledge import Program
from policy.core import limits
from policy.core.effect import Effect
from policy.core.values import Protocol, define, evolve, field
from policy.patterns.pattern import Pattern
from policy.patterns.tokens import Alternatives, Gap, OneOf, Run, Token
from policy.tables.chain import SPAWN_TOOL, Chain, Link, Reading, SpawnDenied, attenuate, spawn_call
from policy.tables.codec.reading import (
    COMPILED,
    VERSION,
    DeclaredShape,
    LineShape,
    Offer,
    OriginShape,
    PositionShape,
    RefusalShape,
    Rules,
    SpawnCallShape,
    StepsShape,
    TableShape,
    WalkedShape,
    canonical,
    sources_hash,
)
from policy.tables.dialect import Dialect
from policy.tables.projects import Offered
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table

if TYPE_CHECKING:
    from cattrs import Converter

__all__ = [
    "HEADER",
    "Object",
    "compiled_to_json",
    "header",
    "origin_json",
    "plain",
    "rules_json",
    "table_to_json",
]


Object = dict[str, Any]


def table_to_json(table: Table) -> str:
    """Return *table* as canonical JSON: equal values give equal text, byte for byte."""
    ceilings = [table.use, *([table.delegate] if table.delegate is not None else [])]
    sets = list({id(p.rules): p.rules for c in ceilings for p in c.parts}.values())
    numbers = {id(rules): number for number, rules in enumerate(sets)}
    dialects = list(dict.fromkeys(rules.dialect for rules in sets))
    links = [[list(part.links) for part in ceiling.parts] for ceiling in ceilings]
    parts = [[numbers[id(part.rules)] for part in ceiling.parts] for ceiling in ceilings]
    sources: Object = {
        "rules": [[origin_json(entry) for entry in rules.entries] for rules in sets],
        "use": links[0],
    }
    if links[1:]:
        sources["delegate"] = links[1]
    value = {
        "version": VERSION,
        "hash": table.hash,
        "dialects": [plain(dialect) for dialect in dialects],
        "rules": [rules_json(rules, dialects.index(rules.dialect)) for rules in sets],
        "use": parts[0],
        "delegate": parts[1] if parts[1:] else None,
        "bounds": plain(table.bounds),
        "sources": {"hash": sources_hash(sources), **sources},
    }
    return canonical(value, indent=1) + "\n"


def rules_json(rules: RuleSet, dialect: int) -> Object:
    """Return a rule set; *dialect* is the number of its dialect."""
    entries = [
        LineShape(entry.tool, entry.effect, entry.pattern, entry.field, entry.reason, entry.form)
        for entry in rules.entries
    ]
    written: Object = plain(Rules(dialect, rules.default, tuple(entries), rules.default_reason))
    return written


def origin_json(entry: Entry) -> Object:
    """Return how a line is written, and where."""
    written: Object = plain(OriginShape(entry.rule, entry.place))
    return written


def plain(value: Any) -> Any:  # noqa: ANN401  # any value of any class, as JSON has it
    """Return *value* as JSON; of our classes, what differs from the default."""
    return _converter().unstructure(value)


@cache
def _converter() -> Converter:
    from cattrs import Converter  # noqa: PLC0415  # reading needs none, and is done at every start

    converter = Converter(omit_if_default=True, unstruct_collection_overrides={frozenset: sorted})
    converter.register_unstructure_hook(Pattern, _pattern)
    for kind in (Gap, OneOf):
        converter.register_unstructure_hook(kind, _token)
    converter.register_unstructure_hook_func(_is_tuple, lambda items: [plain(i) for i in items])
    converter.register_unstructure_hook_func(_is_mapping, _mapping)
    return converter


def _is_tuple(kind: Any) -> bool:  # noqa: ANN401  # whatever a field is annotated with
    return (get_origin(kind) or kind) is tuple


def _is_mapping(kind: Any) -> bool:  # noqa: ANN401  # the same
    origin = get_origin(kind) or kind
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _mapping(value: Mapping[str, object]) -> object:
    # The order of programs is part of what they mean.
    if any(isinstance(item, Program) for item in value.values()) and type(value) is dict:
        return [[key, plain(item)] for key, item in value.items()]
    return {key: plain(item) for key, item in value.items()}


def _pattern(pattern: Pattern) -> Object:
    return {"kind": pattern.kind.value, "tokens": [_token(token) for token in pattern.tokens]}


def _token(token: Token) -> object:
    if isinstance(token, str):
        return token
    if isinstance(token, Gap):
        return {"gap": token.value}
    if isinstance(token, Run):
        return {"run without": "".join(sorted(token.excluded))}
    if isinstance(token, Alternatives):
        return {"either": [[_token(part) for part in each] for each in token.alternatives]}
    return {"none of" if token.negated else "one of": "".join(sorted(token.characters))}


# Projects to one compiled policy: everything that deciding needs, and nothing to parse.


HEADER: Final = '{"compiled":%d,"by":"%s","hash":"sha256:%s","content":'


class _Projects(Protocol):
    @property
    def projects(self) -> Iterable[Offered]: ...


class _Listed(Reading, Protocol):
    """A reading that only narrows: what each agent declares is one table."""

    @property
    def tables(self) -> Mapping[str, Table]: ...


def compiled_to_json(found: _Projects, *, positions: int = limits.POSITIONS) -> str:
    """Return the compiled policy of what was *found*: equal projects give equal text.

    Args:
        found: a workspace, or whatever else has projects.
        positions: steps from agent to agent that are followed in the reading of each
            host; longer chains end in a refusal.

    """
    pool = _Pool()
    projects = [plain(_offer(project, pool, positions)) for project in found.projects]
    content = json.dumps(
        {**pool.content(), "projects": projects},
        sort_keys=True,
        allow_nan=False,
        separators=(",", ":"),
    )
    return f"{header(content)}{content}}}\n"


def header(content: str) -> str:
    """Return what stands in front of *content*: the versions, and its hash."""
    digest = hashlib.sha256(content.encode()).hexdigest()
    return HEADER % (COMPILED, policy.__version__, digest)


@define
class _Pool:
    """What tables share, each once, by its number."""

    tables: dict[TableShape, int] = field(factory=dict)
    sets: dict[int, tuple[int, RuleSet]] = field(factory=dict)
    dialects: dict[Dialect, int] = field(factory=dict)

    def number(self, table: Table) -> int:
        """Return the number of *table*."""
        use = tuple(self._set(part.rules) for part in table.use.parts)
        links = tuple(part.links for part in table.use.parts)
        numbers = TableShape(use, links, bounds=table.bounds)
        if table.delegate is not None:
            parts = table.delegate.parts
            numbers = evolve(
                numbers,
                delegate=tuple(self._set(part.rules) for part in parts),
                delegate_links=tuple(part.links for part in parts),
            )
        return self.tables.setdefault(numbers, len(self.tables))

    def _set(self, rules: RuleSet) -> int:
        # The set is kept beside its number, so that no other one gets its id.
        return self.sets.setdefault(id(rules), (len(self.sets), rules))[0]

    def content(self) -> Object:
        """Return everything that has a number."""
        sets = [rules for _, rules in self.sets.values()]
        dialects = [self.dialects.setdefault(rules.dialect, len(self.dialects)) for rules in sets]
        return {
            "tables": [plain(numbers) for numbers in self.tables],
            "rules": [rules_json(*pair) for pair in zip(sets, dialects, strict=True)],
            "origins": [[origin_json(entry) for entry in rules.entries] for rules in sets],
            "dialects": [plain(dialect) for dialect in self.dialects],
        }


def _offer(project: Offered, pool: _Pool, positions: int) -> Offer:
    declared = _declared(cast("_Listed", project.attenuated), pool)
    enforced = project.enforced
    same = (
        type(enforced) is type(project.attenuated)
        and _declared(cast("_Listed", enforced), pool) == declared
    )
    return Offer(
        project.host,
        project.profile,
        project.starts,
        declared,
        None if same else _Walk(enforced, pool, positions).run(),
        project.root,
    )


def _declared(reading: _Listed, pool: _Pool) -> DeclaredShape:
    starts, steps = {}, {}
    parents = []
    for agent in reading.agents:
        try:
            link = reading.start(agent)
        except KeyError:
            continue
        parents.append(link)
        starts[agent] = pool.number(link.table)
    for agent, table in reading.tables.items():
        try:
            narrowed = [(parent, reading.step(parent, agent)) for parent in parents]
        except KeyError:
            continue  # no chain reaches it
        for parent, link in narrowed:
            if link.table != attenuate(parent.table, table):
                msg = f"`{link.name}` behind `{parent.name}` is no meet"
                raise AssertionError(msg)
        steps[agent] = pool.number(table)
    return DeclaredShape(tuple(reading.agents), starts, steps, _calls(reading))


def _calls(reading: Reading) -> dict[str, SpawnCallShape]:
    calls = {}
    for agent in reading.agents:
        tool, arguments = spawn_call(reading, agent)
        if (tool, arguments) != _plain_call(agent):
            calls[agent] = SpawnCallShape(tool, arguments)
    return calls


def _plain_call(agent: str) -> tuple[str, dict[str, object]]:
    return SPAWN_TOOL, {"subagent_type": agent}


class _Walk:
    """A walk through every chain of a reading, each position once."""

    def __init__(self, reading: Reading, pool: _Pool, most: int) -> None:
        self.most = most
        self.reading = reading
        self.pool = pool
        self.numbers: dict[object, int] = {}
        self.links: list[Link] = []
        self.tables: list[int] = []
        self.refusals: dict[RefusalShape, int] = {}

    def run(self) -> WalkedShape:
        """Return the reading as data."""
        to, refused = {}, {}
        steps: dict[str, int] = {}
        kept: list[StepsShape] = []
        positions = []
        for agent in self.reading.agents:
            try:
                to[agent] = self._number(self.reading.start(agent))
            except SpawnDenied as denied:
                refused[agent] = self._refusal(denied)
            except KeyError:
                continue
        for number, link in enumerate(self.links):  # which grow meanwhile
            walked = (number + 1) * len(self.reading.agents) <= self.most
            found = self._steps(link) if walked else StepsShape(ends=True)
            key = repr(found)
            if key not in steps:
                steps[key] = len(kept)
                kept.append(found)
            positions.append(PositionShape(link.name, self.tables[number], steps[key], link.depth))
        return WalkedShape(
            tuple(self.reading.agents),
            StepsShape(to, refused),
            tuple(positions),
            tuple(kept),
            tuple(self.refusals),
            _calls(self.reading),
        )

    def _steps(self, link: Link) -> StepsShape:
        to, refused = {}, {}
        chain = Chain((link,), self.reading)
        for agent in self.reading.agents:
            if chain.most_spawning(agent).effect is Effect.DENY:
                continue  # by the table, which says why
            try:
                to[agent] = self._number(self.reading.step(link, agent))
            except SpawnDenied as denied:
                refused[agent] = self._refusal(denied)
            except KeyError:
                continue
        return StepsShape(to, refused)

    def _number(self, link: Link) -> int:
        table = self.pool.number(link.table)
        key = (link.name, table, link.depth, link.state)
        if key not in self.numbers:
            self.numbers[key] = len(self.links)
            self.links.append(link)
            self.tables.append(table)
        return self.numbers[key]

    def _refusal(self, denied: SpawnDenied) -> int:
        refusal = RefusalShape(denied.agent, denied.link, denied.reason, str(denied))
        return self.refusals.setdefault(refusal, len(self.refusals))
