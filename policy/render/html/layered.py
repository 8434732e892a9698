"""Where the nodes of a graph go: in layers by their distance from where chains start.

Sugiyama's method without its hard parts: layers by breadth-first search, an order
within each by barycentres, swept a few times. Cycles need no care, since an edge that
does not lead one layer down is drawn as such.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import attrs

__all__ = ["Placed", "layered"]

_SWEEPS = 4


@attrs.frozen
class Placed:
    """Node -> its layer, and its index in that layer."""

    at: Mapping[str, tuple[int, int]]
    layers: tuple[tuple[str, ...], ...]


def layered(roots: Iterable[str], edges: Mapping[str, Sequence[str]]) -> Placed:
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
    return Placed(at, tuple(map(tuple, layers)))


def _centre(near: Iterable[str], place: Mapping[str, int], otherwise: int) -> float:
    known = [place[node] for node in near if node in place]
    return sum(known) / len(known) if known else otherwise
