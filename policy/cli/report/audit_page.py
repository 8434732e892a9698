"""The audit as one HTML page without network requests: findings, matrix, spawn graph, agents.

Agents with the same privileges share a block, and agents with the same edges share a node. The
page names the hashes of its one style sheet and its one script, so a browser runs nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import attrs

from policy.analysis.reach.audit import AgentAudit, Audit, AuditPosition, ProjectAudit
from policy.analysis.reach.privileges import Privilege
from policy.cli.report.audit import GapGroup, dead_letters, elsewhere, escalations, gap_count
from policy.cli.report.privileges import (
    LABELS,
    Most,
    PositionSummary,
    Summary,
    mosts,
    position_summaries,
)
from policy.cli.report.text import chain_text, count, explained
from policy.compare.overlap import OTHER_TOOL
from policy.core.credentials import masked
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.finding import Finding, Severity
from policy.core.source import Source, visible

__all__ = [
    "Cell",
    "Column",
    "LayeredNode",
    "Matrix",
    "audit_html",
    "graph_svg",
    "layered",
    "matrix",
]


def text(value: str) -> str:
    """Return *value* as text, for an element or an attribute in double quotes."""
    return html.escape(visible(masked(value)), quote=True)


def place_text(value: str) -> str:
    """Return a place as text that may break after a folder or before a line."""
    shown = text(value)
    return shown.replace("/", "/<wbr>").replace(":", "<wbr>:", 1)


def code(value: str) -> str:
    """Return *value* as code."""
    return f"<code>{text(value)}</code>"


def prose(value: str) -> str:
    """Return *value* as text, with code for its parts in backticks."""
    parts = visible(masked(value)).split("`")
    if len(parts) % 2 == 0:
        return text(value)
    return "".join(code(part) if index % 2 else text(part) for index, part in enumerate(parts))


def anchor(*parts: str) -> str:
    """Return an identifier for *parts* in a page, of letters and digits."""
    return "x" + hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


# --- findings ------------------------------------------------------------------------

# Lines shown before and after one that a finding is about.
_AROUND: Final = 3
_LONGEST: Final = 400  # characters of a line
_RANKS: Final = {severity: rank for rank, severity in enumerate(Severity)}


def finding_rows(findings: Iterable[Finding]) -> str:
    """Return the findings as a table, the worst first, each with a link to its place."""
    rows = []
    for finding in sorted(findings, key=lambda one: _RANKS[one.severity]):
        place = finding.place
        if finding.span is not None:
            at = f'<a href="#{_line(place.file, place.line)}">{place_text(str(place))}</a>'
        else:
            at = place_text(finding.file)
        severity = finding.severity.value
        help_ = f'<br><span class="dim">{prose(finding.help)}</span>' if finding.help else ""
        cells = [
            f'<td class="{severity}">{severity}</td><td class="place">{at}</td>',
            f"<td>{prose(finding.message)}{help_}</td>",
            f'<td class="code">{code(finding.code)}</td>',
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    heads = "<th>severity</th><th>place</th><th>finding</th><th>code</th>"
    return (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def file_blocks(findings: Iterable[Finding]) -> str:
    """Return the lines around every finding, by file."""
    sources: dict[str, Source] = {}
    marked: dict[str, set[int]] = {}
    for finding in findings:
        if finding.span is None:
            continue
        file = finding.place.file
        sources.setdefault(file, finding.span.source)
        marked.setdefault(file, set()).add(finding.place.line)
    return "".join(_file(sources[file], lines) for file, lines in sorted(marked.items()))


def _file(source: Source, marked: set[int]) -> str:
    source = Source(source.name, masked(source.text))
    last, _ = source.line_and_column(len(source.text))
    near = {
        number
        for line in marked
        for number in range(max(line - _AROUND, 1), min(line + _AROUND, last) + 1)
    }
    lines, before = [], 0
    for number in sorted(near):
        if number != before + 1:
            lines.append('<span class="gap" data-n="">⋮</span>')
        shown = source.line(number).replace("\t", "    ")
        shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
        kind = ' class="marked"' if number in marked else ""
        lines.append(
            f'<span id="{_line(source.name, number)}"{kind} data-n="{number}">{text(shown)} </span>'
        )
        before = number
    return (
        f"<details open><summary>{code(source.name)}</summary>"
        f"<div><pre>{''.join(lines)}</pre></div></details>"
    )


def _line(file: str, line: int) -> str:
    return anchor("line", file, str(line))


# --- agents --------------------------------------------------------------------------


_MOST_NAMES = 12


def agent_blocks(agents: Iterable[AgentAudit], project: str) -> str:
    """Return the blocks of the agents of *project*."""
    groups: dict[str, list[AgentAudit]] = {}
    idle: list[str] = []
    for agent in agents:
        if agent.attenuated or agent.enforced:
            groups.setdefault(_body(agent), []).append(agent)
        else:
            idle.append(agent.name)
    blocks = [_block(members, body, project) for body, members in groups.items()]
    if idle:
        names = "".join(f'<li id="{anchor(project, name)}">{text(name)}</li>' for name in idle)
        head = f"no chain reaches {count(len(idle), 'agent')}"
        blocks.append(f"<details><summary>{head}</summary><div><ul>{names}</ul></div></details>")
    return "".join(blocks)


def _block(members: list[AgentAudit], body: str, project: str) -> str:
    names = [agent.name for agent in members]
    shown = ", ".join(f"<b>{text(name)}</b>" for name in names[:_MOST_NAMES])
    if len(names) > _MOST_NAMES:
        shown += f" and {len(names) - _MOST_NAMES:,} more"
    if len(names) > 1:
        shown += f' <span class="dim">({len(names):,} agents)</span>'
    else:
        place = members[0].place
        shown += f' <span class="place">{text(str(place)) if place else "built in"}</span>'
    others = "".join(f'<span id="{anchor(project, name)}"></span>' for name in names[1:])
    return (
        f'<details id="{anchor(project, names[0])}" data-names="{text(" ".join(names))}">'
        f"<summary>{shown}</summary><div>{others}{body}</div></details>"
    )


def _body(agent: AgentAudit) -> str:
    parts = [_most(each) for each in mosts(agent)]
    parts += map(_position, position_summaries(agent))
    rows = [("may start", _spawns(agent))] if any(agent.spawns) else []
    bounds = agent.bounds
    limits = {"depth": bounds.depth, "turns": bounds.turns, "trust": bounds.trust}
    said = ", ".join(f"{name} {value}" for name, value in limits.items() if value is not None)
    rows += [("limits", text(said))] if said else []
    if not agent.exact:
        why = f"the two readings may differ in more: {'; '.join(agent.why)}"
        rows.append(("not exact", why))
    return "".join(parts) + (_list(rows) if rows else "")


def _most(most: Most) -> str:
    head = f"at most{f' as {most.reading}' if most.reading else ''}"
    rows = [
        (said.label, (f"by {text(said.by)}: " if said.by else "") + " ".join(map(code, said.calls)))
        for said in most.said
    ]
    said = '<span class="dim">of the patterns that match a call the narrowest holds</span>'
    return f"<h4>{head} {said}</h4>{_list(rows)}"


def _position(told: PositionSummary) -> str:
    notes = [f"{told.reading} only"] if told.reading else []
    if told.position.confirm:
        notes.append("once its start is confirmed")
    if told.but_for:
        notes.append(f"as {_chain(told.but_for)}, but for")
    noted = f" ({', '.join(notes)})" if notes else ""
    found = f"<h4>{text(_chain(told.position.chain) + noted)}</h4>{_list(_rows(told.common))}"
    for reading, summary in (("attenuated", told.attenuated), ("enforced", told.enforced)):
        if told.attenuated or told.enforced:
            rows = _rows(summary) or [("", "nothing")]
            found += f"<h5>as {reading}, where the two differ</h5>{_list(rows)}"
    return found


def _chain(chain: tuple[str, ...]) -> str:
    # Agents with the same privileges share a block, so their own name is not in it.
    return f"{chain_text(chain[:-1])} > …" if len(chain) > 1 else "starts chains"


def _rows(summary: Summary) -> list[tuple[str, str]]:
    rows = [
        (label, " ".join(map(code, summary.lines[label])))
        for label in LABELS
        if label in summary.lines
    ]
    return rows + [
        ("depends", f"{code(tool)} the strictest of:<br>" + "<br>".join(map(code, layers)))
        for tool, layers in summary.layered.items()
    ]


_CLASSES: Final = {"allow": "allow", "ask": "ask", "deny": "deny", "never": "deny"}


def _list(rows: Iterable[tuple[str, str]]) -> str:
    items = (
        f'<dt class="{_CLASSES.get(label, "dim")}">{text(label)}</dt><dd>{value}</dd>'
        for label, value in rows
    )
    return f"<dl>{''.join(items)}</dl>"


def _spawns(agent: AgentAudit) -> str:
    declared, real = agent.spawns
    if declared == real:
        return _names(declared)
    return f"attenuated: {_names(declared)}; enforced: {_names(real)}"


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(map(text, names[: _MOST_NAMES * 2]))
    more = len(names) - _MOST_NAMES * 2
    return (f"{shown} and {more:,} more" if more > 0 else shown) or "no agent"


def differences(groups: Iterable[GapGroup], project: str) -> str:
    """Return calls on which the two readings differ, as rows of a table."""
    groups = list(groups)
    enforced = any(row.enforced is not None for group in groups for row in group.rows)
    lines = []
    for group in groups:
        links = [f'<a href="#{anchor(project, name)}">{text(name)}</a>' for name in group.agents]
        who = ", ".join(links[:_MOST_NAMES])
        if len(links) > _MOST_NAMES:
            who += f" and {len(links) - _MOST_NAMES:,} more"
        for row in group.rows:
            cells = [
                who,
                code(chain_text(group.chain)),
                " ".join(map(code, group.calls(row))),
                f"{_effect(row.before.value)} → {_effect(row.after.value)}",
                _said(group.declared),
            ]
            if enforced:
                cells.append("" if row.enforced is None else _said(row.enforced))
            lines.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    titles = ("agents", "by chain", "calls", "declared → enforced", "declared", "enforced")
    heads = "".join(f"<th>{title}</th>" for title in titles[: 6 if enforced else 5])
    return (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _said(decision: Decision) -> str:
    rules = [code(b.rule) + _at(str(b.place) if b.place else "") for b in decision.because]
    return " ".join(rules) or prose(explained(decision))


def _effect(effect: str) -> str:
    return f'<b class="{effect}">{effect}</b>'


def _at(place: str) -> str:
    return f' <span class="place">{place_text(place)}</span>' if place else ""


# --- the matrix of agents and tools --------------------------------------------------


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
            _most_kinds([_kinds(position, known) for position in positions])
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


def _most_kinds(positions: list[Mapping[str, str]]) -> Mapping[str, str]:
    """Return the most that several positions grant, tool by tool."""
    if len(positions) == 1:
        return positions[0]
    tools = dict.fromkeys(tool for kinds in positions for tool in kinds)
    return {
        tool: max((_of(kinds, tool) for kinds in positions), key=_RANK.__getitem__)
        for tool in tools
    }


def _kinds(position: AuditPosition, known: dict[object, Mapping[str, str]]) -> Mapping[str, str]:
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


# --- the spawn graph -----------------------------------------------------------------

_SWEEPS = 4


@attrs.frozen
class LayeredNode:
    """Node -> its layer, and its index in that layer."""

    at: Mapping[str, tuple[int, int]]
    layers: tuple[tuple[str, ...], ...]


def layered(roots: Iterable[str], edges: Mapping[str, Sequence[str]]) -> LayeredNode:
    """Return where every node that *roots* reach goes."""
    depth = dict.fromkeys(roots, 0)
    waiting = deque(depth)
    while waiting:
        node = waiting.popleft()
        for child in edges.get(node, ()):
            if child not in depth:
                depth[child] = depth[node] + 1
                waiting.append(child)
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node, layer in depth.items():
        layers[layer].append(node)
    parents: dict[str, list[str]] = {}
    for node in depth:
        for child in edges.get(node, ()):
            parents.setdefault(child, []).append(node)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        near = parents if down else edges
        numbers = range(1, len(layers)) if down else range(len(layers) - 2, -1, -1)
        for number in numbers:
            fixed = layers[number - 1 if down else number + 1]
            place = {node: index for index, node in enumerate(fixed)}
            own = {node: index for index, node in enumerate(layers[number])}
            centre = {n: _centre(near.get(n, ()), place, own[n]) for n in own}
            layers[number] = sorted(own, key=centre.__getitem__)
    at = {node: (x, y) for x, layer in enumerate(layers) for y, node in enumerate(layer)}
    return LayeredNode(at, tuple(map(tuple, layers)))


def _centre(near: Iterable[str], place: Mapping[str, int], otherwise: int) -> float:
    known = [place[node] for node in near if node in place]
    return sum(known) / len(known) if known else otherwise


# Nodes and edges of one picture; with more, no line can be followed.
_MOST_NODES: Final = 60
_MOST_EDGES: Final = 300

_WIDE, _HIGH = 190, 30  # a node
_ACROSS, _DOWN = 110, 18  # between layers, and within one
_LETTERS: Final = 24

# An agent that may start every agent, and more than so many, has a note instead of the edges.
_FEW: Final = 3


@attrs.frozen
class _Node:
    """Agents that start the same agents and are started by the same."""

    members: tuple[str, ...]

    @property
    def title(self) -> str:
        """The text in it."""
        if len(self.members) > 1:
            return count(len(self.members), "agent")
        name = visible(self.members[0])
        return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"


def graph_svg(agents: Sequence[AgentAudit], starts: Sequence[str], project: str) -> str:
    """Return the picture of which agent starts which, or why there is none.

    Args:
        agents: of one project.
        starts: those that start chains.
        project: the prefix of the anchors of its agents.

    """
    edges = {
        agent.name: {target: _reading(agent, target) for target in _targets(agent)}
        for agent in agents
    }
    if not any(edges.values()):
        return "<p>No agent starts another.</p>"
    nodes = _nodes(edges, starts)
    everyone = {child for children in edges.values() for child in children}
    every = {
        name
        for name, children in edges.items()
        if len(everyone) > _FEW and everyone <= children.keys() and name not in starts
    }
    node_of = {name: node.members[0] for node in nodes for name in node.members}
    drawn: dict[str, dict[str, str]] = {}
    for parent, children in edges.items():
        for child, reading in children.items():
            if parent in node_of and child in node_of and parent not in every:
                drawn.setdefault(node_of[parent], {})[node_of[child]] = reading
    total = sum(map(len, drawn.values()))
    if len(nodes) > _MOST_NODES or total > _MOST_EDGES:
        said = f"{count(len(nodes), 'group')} of agents and {count(total, 'edge')}"
        return f"<p>Too large to draw: {said}. Each agent below tells whom it may start.</p>"
    roots = [node_of[name] for name in starts if name in node_of]
    return _svg(nodes, drawn, roots, every, project)


def _targets(agent: AgentAudit) -> list[str]:
    return list(dict.fromkeys((*agent.spawns[0], *agent.spawns[1])))


def _reading(agent: AgentAudit, target: str) -> str:
    declared, real = agent.spawns
    return "both" if target in declared and target in real else _ONLY[target in declared]


_ONLY: Final = {True: "attenuated", False: "enforced"}


def _nodes(edges: dict[str, dict[str, str]], starts: Sequence[str]) -> list[_Node]:
    parents: dict[str, set[tuple[str, str]]] = {}
    for parent, children in edges.items():
        for child, reading in children.items():
            parents.setdefault(child, set()).add((parent, reading))
    groups: dict[object, list[str]] = {}
    for name, children in edges.items():
        if name not in starts and name not in parents:
            continue  # no chain reaches it
        # An agent that starts a whole group starts itself too, which is no difference.
        above = frozenset(p for p in parents.get(name, ()) if p[0] != name)
        below = frozenset(c for c in children.items() if c[0] != name)
        own = children.get(name, "")
        alone = name if name in starts else ""
        groups.setdefault((alone, above, below, own), []).append(name)
    return [_Node(tuple(members)) for members in groups.values()]


def _svg(
    nodes: list[_Node],
    edges: dict[str, dict[str, str]],
    roots: list[str],
    every: set[str],
    project: str,
) -> str:
    children = {node: list(targets) for node, targets in edges.items()}
    placed = layered(dict.fromkeys(roots), children)
    by_name = {node.members[0]: node for node in nodes}
    high = max((len(layer) for layer in placed.layers), default=1) * (_HIGH + _DOWN) + _DOWN
    wide = len(placed.layers) * (_WIDE + _ACROSS) + _ACROSS
    corners = {
        name: (
            _ACROSS / 2 + x * (_WIDE + _ACROSS),
            _DOWN + y * (_HIGH + _DOWN) + (high - _DOWN - len(layer) * (_HIGH + _DOWN)) / 2,
        )
        for x, layer in enumerate(placed.layers)
        for y, name in enumerate(layer)
    }
    lines = [
        _edge(corners[parent], corners[child], reading, parent, child)
        for parent, targets in edges.items()
        for child, reading in targets.items()
        if parent in corners and child in corners
    ]
    boxes = [
        _box(by_name[name], corner, project, is_every=name in every)
        for name, corner in corners.items()
    ]
    return (
        f'<svg viewBox="0 0 {wide:.0f} {high:.0f}" width="{wide:.0f}" height="{high:.0f}"'
        f' role="img" aria-label="who starts whom">{_MARKERS}{"".join(lines)}{"".join(boxes)}</svg>'
    )


_MARKERS: Final = "<defs>{}</defs>".format(
    "".join(
        f'<marker id="arrow-{reading}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8"'
        f' markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" class="head {reading}"/></marker>'
        for reading in ("both", "attenuated", "enforced")
    )
)


def _edge(
    start: tuple[float, float], end: tuple[float, float], reading: str, parent: str, child: str
) -> str:
    """Return an edge: forward from side to side, any other around the outside."""
    (x, y), (to_x, to_y) = start, end
    if to_x > x:
        x, y, to_y = x + _WIDE, y + _HIGH / 2, to_y + _HIGH / 2
        bend = (to_x - x) / 2
        path = f"M{x:.0f} {y:.0f}C{x + bend:.0f} {y:.0f} {to_x - bend:.0f} {to_y:.0f}"
        path += f" {to_x:.0f} {to_y:.0f}"
    elif start == end:
        x += _WIDE
        path = f"M{x:.0f} {y + 8:.0f}c28 -14 28 28 0 14"
    else:
        x, to_x = x + _WIDE, to_x + _WIDE
        y, to_y = y + _HIGH / 2, to_y + _HIGH / 2 + 6
        out = max(x, to_x) + 44
        path = f"M{x:.0f} {y:.0f}C{out:.0f} {y:.0f} {out:.0f} {to_y:.0f} {to_x:.0f} {to_y:.0f}"
    said = f"{visible(parent)} starts {visible(child)}"
    note = "" if reading == "both" else f" ({reading} only)"
    return (
        f'<path d="{path}" class="edge {reading}" marker-end="url(#arrow-{reading})">'
        f"<title>{text(said + note)}</title></path>"
    )


def _box(node: _Node, corner: tuple[float, float], project: str, *, is_every: bool) -> str:
    x, y = corner
    names = ", ".join(map(visible, node.members[:40]))
    more = f" and {len(node.members) - 40} more" if len(node.members) > 40 else ""
    note = (
        f'<text class="all" x="{x + _WIDE + 40:.0f}" y="{y + _HIGH / 2 + 4:.0f}">→ everyone</text>'
        if is_every
        else ""
    )
    return (
        f'<a href="#{anchor(project, node.members[0])}"><g class="node">'
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{_WIDE}" height="{_HIGH}" rx="6"/>'
        f'<text x="{x + _WIDE / 2:.0f}" y="{y + _HIGH / 2 + 5:.0f}">{text(node.title)}</text>'
        f"<title>{text(names + more)}</title></g></a>{note}"
    )


# --- the page ------------------------------------------------------------------------


_MOST_TOOLS: Final = 6


def audit_html(audit: Audit) -> str:
    """Return *audit* as one self-contained HTML file: no request leaves the page."""
    body = [
        f"<h1>Audit of {code(audit.label)}</h1>",
        _tiles(audit),
        *(f'<p class="dim">{prose(missing)}</p>' for missing in (elsewhere(audit),) if missing),
        '<input type="search" id="search" placeholder="agents whose name holds …" hidden>',
    ]
    if audit.findings:
        body += ['<h2 id="findings">Findings</h2>', finding_rows(audit.findings)]
    named: set[str] = set()
    body += [part for project in audit.projects for part in _project(project, named)]
    if any(finding.span for finding in audit.findings):
        body += ['<h2 id="files">Where the findings are</h2>', file_blocks(audit.findings)]
    if audit.unread:
        items = "".join(
            f"<li>{code(file.path)} <span class='dim'>{text(file.what)}</span></li>"
            for file in audit.unread
        )
        body += [f'<h2 id="unread">Files that are not read</h2><ul>{items}</ul>']
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{text(_CONTENT_POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Audit of {text(audit.label)}</title><style>{_STYLE}</style>"
        f"<script>{_SCRIPT}</script></head>\n<body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _tiles(audit: Audit) -> str:
    agents = [agent for project in audit.projects for agent in project.agents]
    severities = Counter(finding.severity.value for finding in audit.findings)

    def told(gaps: Callable[[Iterable[AgentAudit]], list[GapGroup]]) -> int:
        return sum(gap_count(gaps(project.agents)) for project in audit.projects)

    tiles = [
        (len(audit.projects), "project", "", ""),
        (len(agents), "agent", "", ""),
        (told(escalations), "escalation", "#escalations", "bad"),
        (told(dead_letters), "dead letter", "#dead-letters", ""),
        (severities["error"], "error", "#findings", "bad"),
        (severities["warning"], "warning", "#findings", ""),
        (severities["note"], "note", "#findings", ""),
        (len(audit.unread), "unread file", "#unread", "bad"),
    ]
    shown = "".join(_tile(*tile) for tile in tiles)
    exact = all(project.exact for project in audit.projects)
    note = "" if exact else '<p class="error">Not exact: there are more positions than shown.</p>'
    return f'<div class="tiles">{shown}</div>{note}'


def _tile(number: int, label: str, link: str, kind: str) -> str:
    inner = f"<b>{number:,}</b>{label}{'' if number == 1 else 's'}"
    if not number or not link:
        return f"<span>{inner}</span>"
    return f'<a href="{link}" class="{kind}">{inner}</a>'


def _project(audited: ProjectAudit, named: set[str]) -> list[str]:
    """Return what a project comes to; *named* are the sections that the page has by now."""
    project = audited.project
    parts = [
        f'<h2>{code(project.title)} <span class="dim">{text(project.profile)}</span></h2>',
        "<h3>Agents and tools</h3>",
        _legend(),
        _matrix(audited),
        "<h3>Spawn graph</h3>",
        _EDGES,
        f'<div class="scroll">{graph_svg(audited.agents, project.starts, project.title)}</div>',
    ]
    for name, title, said, told in (
        (
            "escalations",
            "Escalations",
            "granted by the host beyond what is declared along the chain",
            escalations(audited.agents),
        ),
        (
            "dead-letters",
            "Dead letters",
            "said in the files, and refused by the host",
            dead_letters(audited.agents),
        ),
    ):
        if told:
            # What the counts lead to is the first of its kind.
            mark = "" if name in named else f' id="{name}"'
            named.add(name)
            head = f'<h3{mark}>{title} <span class="dim">{said}</span></h3>'
            parts += [head, differences(told, project.title)]
    return [*parts, "<h3>Agents</h3>", agent_blocks(audited.agents, project.title)]


_EDGES: Final = (
    '<p class="legend"><span>— in both readings</span><span class="deny">— enforced only</span>'
    '<span class="dim">- - attenuated only</span></p>'
)


def _legend() -> str:
    kinds = "".join(
        f'<span class="{kind}">{mark} {said}</span>'
        for kind, (mark, said) in reversed(KINDS.items())
        if mark
    )
    return (
        f'<p class="legend">{kinds}<span class="none">empty: not available</span>'
        '<span><span class="box deny">!</span> the files declare something else</span></p>'
    )


def _matrix(audited: ProjectAudit) -> str:
    found = matrix(audited.agents)
    heads = "".join(f"<th><span {_head(column)}</span></th>" for column in found.columns)
    rows = []
    for names, cells in found.rows:
        links = ", ".join(
            f'<a href="#{anchor(audited.project.title, name)}">{text(name)}</a>'
            for name in names[:_MOST_TOOLS]
        )
        more = f" and {len(names) - _MOST_TOOLS:,} more" if len(names) > _MOST_TOOLS else ""
        columns = zip(found.columns, cells, strict=True)
        row = "".join(_cell(names, column, cell) for column, cell in columns)
        rows.append(f'<tr data-names="{text(" ".join(names))}"><th>{links}{more}</th>{row}</tr>')
    return (
        '<div class="scroll"><table class="matrix"><thead><tr><th>agent</th>'
        f"{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _tools(column: Column) -> list[str]:
    return ["any other tool" if tool == OTHER_TOOL else tool for tool in column.tools]


def _head(column: Column) -> str:
    tools = _tools(column)
    more = f" and {len(tools) - 1} more" if len(tools) > 1 else ""
    return f'title="{text(", ".join(tools))}">{text(tools[0])}{more}'


def _cell(names: tuple[str, ...], column: Column, cell: Cell) -> str:
    mark, said = KINDS[cell.enforced]
    apart = cell.enforced != cell.attenuated
    declared = f"; the files declare: {KINDS[cell.attenuated][1]}" if apart else ""
    who = names[0] if len(names) == 1 else f"{len(names)} agents"
    title = f"{who}, {_tools(column)[0]}: {said}{declared}"
    kind = f"{cell.enforced} apart" if apart else cell.enforced
    return f'<td class="{kind}" title="{text(title)}">{mark}</td>'


# --- the style sheet and the script --------------------------------------------------

_STYLE: Final = """
:root { color-scheme: light dark; --fg: #1f2328; --dim: #59636e; --bg: #fff; --line: #d1d9e0;
  --soft: #f6f8fa; --link: #0969da; --allow: #1a7f37; --ask: #9a6700; --deny: #cf222e;
  --allow-bg: #dafbe1; --ask-bg: #fff8c5; --deny-bg: #ffebe9; }
@media (prefers-color-scheme: dark) { :root { --fg: #e6edf3; --dim: #9198a1; --bg: #0d1117;
  --line: #3d444d; --soft: #151b23; --link: #4493f8; --allow: #3fb950; --ask: #d29922;
  --deny: #f85149; --allow-bg: #12261e; --ask-bg: #272115; --deny-bg: #2a1215; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 90rem; padding: 1rem 1.5rem 6rem; background: var(--bg);
  color: var(--fg); font: 15px/1.5 system-ui, sans-serif; }
h1 code, h2 code { font-size: 1em; }
h1 { font-size: 1.6rem; margin: .5rem 0; } h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem;
  border-bottom: 1px solid var(--line); padding-bottom: .3rem; } h3 { margin: 1.4rem 0 .4rem; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
code, pre, .place { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
td.place, td.code > code { overflow-wrap: normal; }
.dim, .place { color: var(--dim); } nav { display: flex; gap: 1rem; flex-wrap: wrap; }
.tiles { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0; }
.tiles > * { border: 1px solid var(--line); border-radius: 8px; padding: .4rem .9rem;
  background: var(--soft); color: inherit; } .tiles b { display: block; font-size: 1.3rem; }
.tiles .bad b { color: var(--deny); }
input[type=search] { font: inherit; color: inherit; background: var(--bg); width: 24rem;
  max-width: 100%; padding: .35rem .6rem; border: 1px solid var(--line); border-radius: 6px; }
.scroll { overflow: auto; max-height: 80vh; border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: separate; border-spacing: 0; } td, th { text-align: left;
  vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
thead th { position: sticky; top: 0; background: var(--soft); z-index: 1; }
.matrix th:first-child { position: sticky; left: 0; background: var(--soft); z-index: 2;
  max-width: 18rem; overflow-wrap: anywhere; }
.matrix thead th:not(:first-child) { vertical-align: bottom; }
.matrix thead th > span { writing-mode: vertical-rl; transform: rotate(180deg); max-height: 14rem;
  overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-weight: 500; }
.matrix td { text-align: center; min-width: 2.2rem; cursor: help; }
.allow, .some { color: var(--allow); } .ask, .some-ask { color: var(--ask); }
.deny { color: var(--deny); } .none { color: var(--dim); }
td.allow, td.some { background: var(--allow-bg); }
td.ask, td.some-ask { background: var(--ask-bg); }
td.apart { outline: 2px solid var(--deny); outline-offset: -3px; }
td.apart::after { content: "!"; color: var(--deny); font-weight: 700; margin-left: .15rem; }
.legend span { display: inline-block; margin-right: 1.1rem; }
.legend .box { outline: 2px solid var(--deny); outline-offset: -1px; padding: 0 .3rem; }
svg text { fill: var(--fg); font: 13px system-ui, sans-serif; text-anchor: middle; }
svg .all { fill: var(--dim); font-size: 11px; }
svg rect { fill: var(--soft); stroke: var(--dim); } a:hover rect { stroke: var(--link); }
.edge { fill: none; stroke: var(--dim); stroke-width: 1.3; } .head { fill: var(--dim); }
.edge.enforced { stroke: var(--deny); stroke-width: 2; } .head.enforced { fill: var(--deny); }
.edge.attenuated { stroke-dasharray: 5 4; } .edge:hover { stroke-width: 3.5; }
details { border: 1px solid var(--line); border-radius: 8px; margin: .4rem 0; }
details > summary { cursor: pointer; padding: .35rem .8rem; } details[open] > summary {
  border-bottom: 1px solid var(--line); background: var(--soft); } details > div {
  padding: .4rem .9rem .8rem; } dl { display: grid; grid-template-columns: 8rem 1fr; margin: 0;
  gap: .1rem .8rem; } dt { font-weight: 600; } dd { margin: 0; }
dd code { margin-right: .6rem; }
.error { color: var(--deny); } .warning { color: var(--ask); } .note { color: var(--dim); }
pre { margin: 0; padding: .5rem 0; overflow-x: auto; } pre span { display: block;
  padding: 0 .8rem; white-space: pre; } pre span::before { content: attr(data-n);
  display: inline-block; width: 3.2rem; margin-right: 1rem; text-align: right; color: var(--dim); }
pre span.marked { background: var(--ask-bg); } pre span:target { background: var(--deny-bg); }
:target > summary { outline: 2px solid var(--link); } .gap { color: var(--dim); padding: 0 4rem; }
@media print { .scroll { max-height: none; overflow: visible; } input { display: none; } }
"""

# Opens what a link leads to, and hides the agents that a search does not find.
_SCRIPT: Final = """
const reveal = () => {
  const found = document.getElementById(location.hash.slice(1));
  for (let at = found; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  if (found) found.scrollIntoView({ block: "center" });
};
addEventListener("hashchange", reveal);
addEventListener("DOMContentLoaded", () => {
  reveal();
  const search = document.getElementById("search");
  search.hidden = false;
  search.addEventListener("input", () => {
    const wanted = search.value.toLowerCase();
    for (const one of document.querySelectorAll("[data-names]"))
      one.hidden = !one.dataset.names.toLowerCase().includes(wanted);
  });
});
"""


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


_CONTENT_POLICY: Final = (
    f"default-src 'none'; style-src '{_hash(_STYLE)}';"
    f" script-src '{_hash(_SCRIPT)}'; base-uri 'none'"
)
