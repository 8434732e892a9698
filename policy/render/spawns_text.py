"""Who starts whom, as an indented tree in which every agent is opened up once."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import attrs

from policy.reach.audit import AgentAudit, ProjectAudit
from policy.render.layout import Ink, Page
from policy.render.words import listed
from policy.source import visible

__all__ = ["spawn_graph"]

_MOST_LINES = 40
_MOST_NAMES = 8
_FEW = 3


def spawn_graph(audited: ProjectAudit, page: Page, *, everything: bool) -> list[str]:
    """Return the spawn graph of a project; nothing where nobody starts anybody."""
    if not any(any(agent.spawns) for agent in audited.agents):
        return []
    graph = _Graph(audited.project.starts, {agent.name: agent for agent in audited.agents})
    lines = _Drawing(graph, page, everything=everything).lines(4)
    if len(lines) > _MOST_LINES and not everything:
        more = f"    … {len(lines) - _MOST_LINES} more lines, shown with --all"
        lines = [*lines[:_MOST_LINES], page.paint(more, "dim")]
    return ["  " + page.paint("spawn graph", "bold"), *lines]


class _Graph:
    """Edges of both readings, and for each agent where it is opened up.

    The agents that start chains hang below ``""``, which is no agent. An agent
    is opened up below the first that starts it on a shortest chain.
    """

    def __init__(self, starts: Sequence[str], agents: Mapping[str, AgentAudit]) -> None:
        self.agents = agents
        self.edges: dict[str, dict[str, str]] = {"": dict.fromkeys(starts, "")}
        for name, agent in agents.items():
            declared, real = map(set, agent.spawns)
            self.edges[name] = {
                target: _only(target in declared, target in real)
                for target in dict.fromkeys((*agent.spawns[0], *agent.spawns[1]))
            }
        self.targets = {name for edges in self.edges.values() for name in edges} - set(starts)
        self.parent: dict[str, str] = {}
        waiting = deque([""])
        while waiting:
            name = waiting.popleft()
            for target in self.edges.get(name, ()):
                if target not in self.parent:
                    self.parent[target] = name
                    waiting.append(target)

    def opened(self, name: str) -> list[str]:
        """Return the agents that are opened up below *name*."""
        return [target for target in self.edges.get(name, ()) if self.parent[target] == name]

    def above(self, name: str) -> set[str]:
        """Return the agents around *name*."""
        found = set()
        while name := self.parent.get(name, ""):
            found.add(name)
        return found


def _only(declared: bool, real: bool) -> str:  # noqa: FBT001  # one question each
    return "" if declared and real else "attenuated only" if declared else "enforced only"


@attrs.frozen
class _Drawing:
    graph: _Graph
    page: Page
    everything: bool = attrs.field(kw_only=True)

    def lines(self, indent: int) -> list[str]:
        """Return the lines below ``""``."""
        lines: list[str] = []
        waiting = [*reversed(self._below("", indent))]
        while waiting:
            alone, own, deeper = waiting.pop()
            lines += own
            if alone:
                waiting += reversed(self._below(alone, deeper))
        return lines

    def _below(self, name: str, indent: int) -> list[tuple[str, list[str], int]]:
        """Return the lines right below *name*, each with who is opened up below it, and where.

        Agents of which the same holds share one; nobody is opened up below these.
        """
        groups: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
        for target in self.graph.opened(name):
            note = self.graph.edges[name][target]
            alone = target if self.graph.opened(target) else ""
            groups.setdefault((alone, note, tuple(self._back(target))), []).append(target)
        return [
            (alone, self._line(members, note, back, indent), indent + 2)
            for (alone, note, back), members in groups.items()
        ]

    def _back(self, name: str) -> list[str]:
        """Return the agents that *name* starts and that are opened up elsewhere."""
        edges = self.graph.edges.get(name, {})
        if len(edges) > _FEW and self.graph.targets == edges.keys():
            return [f"every agent here ({len(edges)})"]
        above = self.graph.above(name)
        back = []
        for target, note in edges.items():
            if self.graph.parent[target] == name:
                continue
            shown = "itself" if target == name else visible(target)
            marks = [*(["cycle"] if target in above else []), *([note] if note else [])]
            back.append(f"{shown} ({', '.join(marks)})" if marks else shown)
        return back

    def _line(self, members: list[str], note: str, back: Sequence[str], indent: int) -> list[str]:
        most = None if self.everything else _MOST_NAMES
        pieces: list[str | Ink] = [*listed(members, most)]
        if note:
            pieces[-1] = f"{pieces[-1]} ({note})"
        if back:
            pieces[-1] = f"{pieces[-1]} -> {back[0]}"
            pieces += listed(back[1:], most)
        return self.page.flow(pieces, " " * indent, indent=indent + 4)
