"""A spawn graph before and after a change, as Mermaid, which forges draw in comments."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from policy.changes.spawn_changes import Spawn
from policy.source import visible

__all__ = ["spawn_mermaid"]

# Edges of one picture. Beyond the first only what changed is drawn, and the ways to it,
# beyond the second nothing: nobody could read it.
_WHOLE: Final = 16
_MOST: Final = 120

_LONGEST: Final = 40


def spawn_mermaid(edges: Sequence[Spawn]) -> list[str]:
    """Return the lines of a picture of *edges*; none where there are too many."""
    shown = list(edges)
    if len(shown) > _WHOLE:
        ways = _ways(edges)
        shown = [edge for edge in edges if edge.change or edge in ways]
    if len(shown) > _MOST:
        return []
    names = dict.fromkeys(name for edge in shown for name in (edge.parent, edge.child))
    ids = {name: f"n{number}" for number, name in enumerate(names)}
    lines = ["```mermaid", "flowchart LR"]
    lines += [f"  {ids[name]}{_node(name)}" for name in names]
    for edge in shown:
        arrow = {"added": "==>|new|", "removed": "-.->|gone|"}.get(edge.change, "-->")
        lines.append(f"  {ids[edge.parent]} {arrow} {ids[edge.child]}")
    for change, style in _STYLES.items():
        numbers = [str(number) for number, edge in enumerate(shown) if edge.change == change]
        if numbers:
            lines.append(f"  linkStyle {','.join(numbers)} {style}")
    return [*lines, "```"]


def _ways(edges: Sequence[Spawn]) -> set[Spawn]:
    """Return the edges of a shortest way from a start to each agent that starts others anew."""
    children: dict[str, list[Spawn]] = {}
    for edge in edges:
        children.setdefault(edge.parent, []).append(edge)
    reached: dict[str, Spawn] = {}
    waiting = deque([""])
    while waiting:
        for edge in children.get(waiting.popleft(), ()):
            if edge.child not in reached:
                reached[edge.child] = edge
                waiting.append(edge.child)
    found: set[Spawn] = set()
    for changed in edges:
        at = changed.parent if changed.change else ""
        while at in reached and reached[at] not in found:
            found.add(reached[at])
            at = reached[at].parent
    return found


_STYLES: Final = {"added": "stroke:#cf222e,stroke-width:3px", "removed": "stroke:#1a7f37"}


def _node(name: str) -> str:
    if not name:
        return "(( ))"
    text = visible(name)
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    # All that could end the text or mean something in it.
    return '["' + "".join(c if c.isalnum() or c in " -.…" else f"#{ord(c)};" for c in text) + '"]'
