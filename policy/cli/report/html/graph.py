"""The spawn graph as inline SVG, agents with the same edges in one node."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import attrs

from policy.analysis.reach.audit import AgentAudit
from policy.cli.report.html.text import anchor, text
from policy.cli.report.text import count
from policy.core.source import visible

__all__ = ["LayeredNode", "graph_svg", "layered"]


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


# The spawn graph as a picture: inline SVG, agents with the same edges in one node.


# Nodes and edges of one picture; beyond, nobody could follow a line.
_MOST_NODES: Final = 60
_MOST_EDGES: Final = 300

_WIDE, _HIGH = 190, 30  # a node
_ACROSS, _DOWN = 110, 18  # between layers, and within one
_LETTERS: Final = 24

# Whoever may start more than so many agents, and every one there is, is not drawn
# with all these edges: it is said beside it.
_FEW: Final = 3


@attrs.frozen
class _Node:
    """Agents that start the same agents and are started by the same."""

    members: tuple[str, ...]

    @property
    def title(self) -> str:
        """What is written in it."""
        if len(self.members) > 1:
            return count(len(self.members), "agent")
        name = visible(self.members[0])
        return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"


def graph_svg(agents: Sequence[AgentAudit], starts: Sequence[str], project: str) -> str:
    """Return the picture of who starts whom, or why there is none.

    Args:
        agents: of one project.
        starts: those that start chains.
        project: what stands before the anchors of its agents.

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
        # Whoever starts all of a group starts itself too: that is no difference.
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
