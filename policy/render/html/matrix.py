"""Agents against tools: what each may do at most, agents and tools that are alike once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from policy.comparison.tools import OTHER_TOOL
from policy.decision import Reason
from policy.effect import Effect
from policy.reach.audit import AgentAudit, Position
from policy.reach.privileges import Privilege

__all__ = ["KINDS", "Cell", "Column", "Matrix", "matrix"]

# What a cell says, from least to most granted, and its mark.
KINDS: Final = {
    "none": ("", "not available"),
    "deny": ("✕", "denied"),
    "some-ask": ("¿", "some calls are asked for, the rest is denied"),
    "ask": ("?", "asked for, or denied"),
    "some": ("◐", "some calls are allowed"),
    "allow": ("●", "allowed"),
}
_RANK: Final = {kind: rank for rank, kind in enumerate(KINDS)}


@attrs.frozen
class Cell:
    """What an agent may do with a tool, at the position that grants it most.

    Attributes:
        enforced: of `KINDS`, as its host has it.
        attenuated: the same as its files declare it.

    """

    enforced: str
    attenuated: str


@attrs.frozen
class Column:
    """Tools of which the same holds for every agent."""

    tools: tuple[str, ...]


@attrs.frozen
class Matrix:
    """The whole.

    Attributes:
        columns: the tools.
        rows: agents of which the same holds, and a cell for each column.

    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[Cell, ...]], ...]


def matrix(agents: Iterable[AgentAudit]) -> Matrix:
    """Return the matrix of the agents that some chain reaches."""
    reached = [agent for agent in agents if agent.attenuated or agent.enforced]
    known: dict[object, Mapping[str, str]] = {}
    said: dict[str, tuple[Mapping[str, str], Mapping[str, str]]] = {}
    tools: dict[str, None] = {}
    for agent in reached:
        real, declared = (
            _most([_kinds(position, known) for position in positions])
            for positions in (agent.enforced, agent.attenuated)
        )
        said[agent.name] = (real, declared)
        tools.update(dict.fromkeys((*real, *declared)))
    names = [*sorted(tools.keys() - {OTHER_TOOL}), OTHER_TOOL]
    vectors = {
        tool: tuple(Cell(_of(real, tool), _of(declared, tool)) for real, declared in said.values())
        for tool in names
    }
    columns: dict[tuple[Cell, ...], list[str]] = {}
    for tool, cells in vectors.items():
        columns.setdefault(cells, []).append(tool)
    columns = {cells: some for cells, some in columns.items() if any(map(_is_there, cells))}
    order = sorted(columns, key=lambda cells: (-max(map(_rank, cells)), columns[cells][0]))
    rows: dict[tuple[Cell, ...], list[str]] = {}
    for number, name in enumerate(said):
        rows.setdefault(tuple(cells[number] for cells in order), []).append(name)
    return Matrix(
        tuple(Column(tuple(columns[cells])) for cells in order),
        tuple((tuple(members), cells) for cells, members in rows.items()),
    )


def _is_there(cell: Cell) -> bool:
    return cell != Cell("none", "none")


def _rank(cell: Cell) -> int:
    return max(_RANK[cell.enforced], _RANK[cell.attenuated])


def _of(kinds: Mapping[str, str], tool: str) -> str:
    return kinds.get(tool) or kinds.get(OTHER_TOOL) or "none"


def _most(positions: list[Mapping[str, str]]) -> Mapping[str, str]:
    """Return the most that several positions grant, tool by tool."""
    if len(positions) == 1:
        return positions[0]
    tools = dict.fromkeys(tool for kinds in positions for tool in kinds)
    return {
        tool: max((_of(kinds, tool) for kinds in positions), key=_RANK.__getitem__)
        for tool in tools
    }


def _kinds(position: Position, known: dict[object, Mapping[str, str]]) -> Mapping[str, str]:
    # Positions with one table share one tuple of privileges.
    key = id(position.privileges)
    if key not in known:
        known[key] = {one.glob or one.tool: _kind(one) for one in position.privileges}
    return known[key]


def _kind(privilege: Privilege) -> str:
    if privilege.effect is not None:
        return "none" if privilege.reason is Reason.UNAVAILABLE else privilege.effect.value
    effects = {because.effect for because in privilege.rules}
    if privilege.otherwise is not None:
        effects.add(privilege.otherwise)
    if privilege.otherwise is Effect.DENY and privilege.layers:
        effects.discard(Effect.DENY)
    if Effect.ALLOW in effects:
        return "some"
    if Effect.ASK in effects:
        return "some-ask" if privilege.otherwise is Effect.DENY else "ask"
    return "deny"
