"""What the agents of a project may do, as it is handed to the writer of another host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import and_
from typing import Final

import attrs

from policy.chain import Chain, SpawnDenied
from policy.conversion.about import About
from policy.conversion.common_words import in_common
from policy.conversion.listing import said
from policy.effect import Effect
from policy.errors import PolicyError
from policy.hosts import notation
from policy.portable import Portable
from policy.project import FrontEnd, Project
from policy.reach.worklist import Reach, reach
from policy.table import Table

__all__ = ["COMMON", "portable_of"]

# The words of our notation, in which tables of all hosts are compared.
COMMON: Final = notation.SEMANTICS.dialect


def portable_of(project: Project, reader: FrontEnd, said_of: About) -> Portable:
    """Return what the agents of *project* may do as its host has it."""
    found = reach(project, project.enforced)
    counterparts = reader.WRITER.counterparts
    depth = _depth(found)
    agents = []
    for name in dict.fromkeys((*project.starts, *found.chains)):
        chains = found.chains.get(name, ())
        if not chains:
            continue
        table = reduce(
            and_, (Table(chain.table.use, bounds=chain.table.bounds) for chain in chains)
        )
        agent = said(in_common(table, counterparts, COMMON), name, COMMON.arguments)
        started = {other: _starting(chains, other, depth) for other in found.edges.get(name, ())}
        description, prompt = said_of.texts.get(name, ("", ""))
        agents.append(attrs.evolve(agent, starts=started, description=description, prompt=prompt))
    starts = tuple(agent.name for agent in agents if agent.name in project.starts)
    if not starts:
        raise PolicyError("no agent starts a chain", file=project.root)
    return Portable(project.title, project.root, tuple(agents), starts, depth)


def _starting(chains: Iterable[Chain], agent: str, depth: int | None) -> Effect:
    """Return what every chain gets that starts *agent*, but for those as long as there can be."""
    return min(_spawning(c, agent) for c in [*_above(chains, depth)] or chains)


def _above(chains: Iterable[Chain], depth: int | None) -> Iterator[Chain]:
    return (chain for chain in chains if depth is None or len(chain.links) <= depth)


def _spawning(chain: Chain, agent: str) -> Effect:
    """Return what the call gets that starts *agent* and says no more."""
    try:
        chain.spawn(agent)
    except SpawnDenied:
        return Effect.DENY
    return chain.spawning(agent).effect


def _depth(found: Reach) -> int | None:
    """Return how many agents there can be below the first, where that alone ends some chain."""
    depth = max(len(chain.links) for chains in found.chains.values() for chain in chains) - 1
    for name, chains in found.chains.items():
        shorter = [*_above(chains, depth)]
        longest = [chain for chain in chains if chain not in shorter]
        for agent in found.edges.get(name, ()) if shorter else ():
            least = min(_spawning(chain, agent) for chain in shorter)
            if any(_spawning(chain, agent) < least for chain in longest):
                return depth
    return None
