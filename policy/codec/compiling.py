"""Projects to one compiled policy: everything that deciding needs, and nothing to parse."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Final, Protocol, cast

import attrs

import policy
from policy import limits
from policy.chain import SPAWN_TOOL, Chain, Link, Reading, SpawnDenied, attenuate, spawn_call
from policy.codec.shape import (
    COMPILED,
    Call,
    Declared,
    Numbers,
    Offer,
    Position,
    Refusal,
    Steps,
    Walked,
)
from policy.codec.writing import Object, origin_json, plain, rules_json
from policy.dialect import Dialect
from policy.effect import Effect
from policy.projects import Offered
from policy.ruleset import RuleSet
from policy.table import Table

__all__ = ["HEADER", "compiled_to_json", "header"]

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


@attrs.define
class _Pool:
    """What tables share, each once, by its number."""

    tables: dict[Numbers, int] = attrs.field(factory=dict)
    sets: dict[int, tuple[int, RuleSet]] = attrs.field(factory=dict)
    dialects: dict[Dialect, int] = attrs.field(factory=dict)

    def number(self, table: Table) -> int:
        """Return the number of *table*."""
        use = tuple(self._set(part.rules) for part in table.use.parts)
        links = tuple(part.links for part in table.use.parts)
        numbers = Numbers(use, links, bounds=table.bounds)
        if table.delegate is not None:
            parts = table.delegate.parts
            numbers = attrs.evolve(
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


def _declared(reading: _Listed, pool: _Pool) -> Declared:
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
            continue  # nobody starts it
        for parent, link in narrowed:
            if link.table != attenuate(parent.table, table):
                msg = f"`{link.name}` behind `{parent.name}` is no meet"
                raise AssertionError(msg)
        steps[agent] = pool.number(table)
    return Declared(tuple(reading.agents), starts, steps, _calls(reading))


def _calls(reading: Reading) -> dict[str, Call]:
    calls = {}
    for agent in reading.agents:
        tool, arguments = spawn_call(reading, agent)
        if (tool, arguments) != _plain_call(agent):
            calls[agent] = Call(tool, arguments)
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
        self.refusals: dict[Refusal, int] = {}

    def run(self) -> Walked:
        """Return the reading as data."""
        to, refused = {}, {}
        steps: dict[str, int] = {}
        kept: list[Steps] = []
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
            found = self._steps(link) if walked else Steps(ends=True)
            key = repr(found)
            if key not in steps:
                steps[key] = len(kept)
                kept.append(found)
            positions.append(Position(link.name, self.tables[number], steps[key], link.depth))
        return Walked(
            tuple(self.reading.agents),
            Steps(to, refused),
            tuple(positions),
            tuple(kept),
            tuple(self.refusals),
            _calls(self.reading),
        )

    def _steps(self, link: Link) -> Steps:
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
        return Steps(to, refused)

    def _number(self, link: Link) -> int:
        table = self.pool.number(link.table)
        key = (link.name, table, link.depth, link.state)
        if key not in self.numbers:
            self.numbers[key] = len(self.links)
            self.links.append(link)
            self.tables.append(table)
        return self.numbers[key]

    def _refusal(self, denied: SpawnDenied) -> int:
        refusal = Refusal(denied.agent, denied.link, denied.reason, str(denied))
        return self.refusals.setdefault(refusal, len(self.refusals))
