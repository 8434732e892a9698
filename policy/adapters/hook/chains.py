"""Finds the chain of a call, from the root to the agent that calls.

An event names only the agent that calls. Next to the transcript of a session, Claude Code keeps a
note on each agent: its type, the agent that started it, its depth. The format of notes is private,
so they count only if all of them are consistent. Otherwise every chain that ends in an agent of the
type is possible.
"""

from __future__ import annotations

import os
from functools import partial, reduce
from operator import and_

from policy.adapters.hook.event import Event, is_name
from policy.adapters.hook.store import read_own_file
from policy.core.call_json import parsed
from policy.core.effect import Effect
from policy.core.values import Final, evolve
from policy.tables.chain import Chain, Link, SpawnDenied, attenuate
from policy.tables.projects import BaseProject
from policy.tables.table import UNRESTRICTED, Table

HOST: Final = "claude-code"

# The type of an agent that has the context and the rights of its parent.
FORK: Final = "fork"

# The most positions that are searched if the chain of an agent is unknown.
_POSITIONS: Final = 4096

_DEEPEST: Final = 64
_BYTES: Final = 64 * 1024
_SUFFIX: Final = ".jsonl"

# The type of an agent, the agent that started it or "", and its depth.
_Note = tuple[str, str, int]


def started_by(event: Event) -> tuple[str, ...] | None:
    """Return the types of the agents below the main conversation; None if notes prove no chain."""
    if not event.agent_id:
        return ()
    folder = _folder(event.transcript)
    notes: dict[str, _Note] = {}
    current = event.agent_id
    while current:
        note = _note(folder, current) if folder and current not in notes else None
        if note is None or len(notes) >= _DEEPEST:
            return None
        notes[current] = note
        _, current, _ = note
    types, _, depths = zip(*notes.values(), strict=True)
    # Unless the depths count down to one, a note is missing or wrong.
    proven = types[0] == event.agent_type and [*depths] == [*range(len(types), 0, -1)]
    return tuple(reversed(types)) if proven else None


def _folder(transcript: str) -> str | None:
    """Return the folder of the notes of a session, or None."""
    if not transcript.startswith("/") or "\0" in transcript or not transcript.endswith(_SUFFIX):
        return None
    base = transcript.removesuffix(_SUFFIX)
    folder, name = os.path.split(base)
    if os.path.basename(folder) == "subagents":  # noqa: PTH119  # the transcript of an agent
        return folder
    return os.path.join(base, "subagents") if name else None  # noqa: PTH118


def _note(folder: str, agent: str) -> _Note | None:
    """Return the note on an agent; None if it is missing or invalid."""
    file = os.path.join(folder, f"agent-{agent}.meta.json")  # noqa: PTH118
    try:
        value = parsed(read_own_file(file, _BYTES, private=False).decode())
    except (OSError, ValueError, RecursionError):
        return None
    if type(value) is not dict:
        return None
    kind, parent, depth = map(value.get, ("agentType", "parentAgentId", "spawnDepth"))
    if type(kind) is not str or not kind or type(depth) is not int:
        return None
    if parent is not None and (type(parent) is not str or not is_name(parent)):
        return None
    return kind, parent or "", depth


def chains_of(
    project: BaseProject, event: Event, types: tuple[str, ...] | None, root: str = ""
) -> list[Chain]:
    """Return the chain of a call, or every possible one. Raises SpawnDenied if there is none.

    *types* are those of the agents below the main conversation (`started_by`). *root* is the agent
    of that, if the project has several.
    """
    if types is None:
        return _any(project, event, root)
    main = "" if event.agent_id else event.agent_type
    if main and main not in project.starts and project.host != HOST:
        # A session that runs as an agent has the rights of that agent below the root.
        main, types = "", (main, *types)
    starts = _starts(project, main or root)
    return [reduce(partial(_spawn, project), types, _start(project, start)) for start in starts]


def _starts(project: BaseProject, root: str) -> tuple[str, ...]:
    if root:
        if project.host != HOST and root not in project.starts:
            raise SpawnDenied(root, "the root", "unknown-agent")
        return (root,)
    if len(project.starts) > 1 and "main" in project.starts:
        return ("main",)
    return project.starts


def _start(project: BaseProject, agent: str) -> Chain:
    reading = project.attenuated
    if project.host == HOST and agent not in reading.agents:
        agent = project.starts[0]  # the lists of the host bound an unknown agent
    return Chain.start(agent, reading)


def _spawn(project: BaseProject, chain: Chain, agent: str) -> Chain:
    """Return the chain in which the last agent of *chain* started *agent*."""
    known = agent in project.attenuated.agents
    if agent == FORK or (project.host == HOST and not known):
        # At most what the agent that started it may hand on.
        last, asked = chain.links[-1], chain.most_starting(agent)[2]
        if asked.effect is Effect.DENY:
            raise SpawnDenied(agent, last.name, asked.reason.value, asked.because)
        if (depth := last.table.bounds.depth) is not None and depth <= 0:
            raise SpawnDenied(agent, last.name, "depth")
        table = attenuate(last.table, Table(last.table.use, last.table.delegate))
        link = Link(agent, table, last.depth + 1, last.state)
        return Chain((*chain.links, link), chain.reading)
    return chain.spawn(agent)


def _any(project: BaseProject, event: Event, root: str) -> list[Chain]:
    """Return every possible chain of the agent that calls."""
    found: list[Chain] = []
    seen: set[tuple[str, Table]] = set()
    waiting = [_start(project, start) for start in _starts(project, root)]
    agents = tuple(dict.fromkeys((*project.attenuated.agents, event.agent_type, FORK)))
    while waiting:
        chain = waiting.pop()
        for agent in agents:
            if agent == FORK and chain.links[-1].name == FORK:
                continue
            try:
                following = _spawn(project, chain, agent)
            except SpawnDenied:
                continue
            last = following.links[-1]
            key = (last.name, last.table)
            if key in seen:
                continue
            seen.add(key)
            if len(seen) > _POSITIONS:
                raise SpawnDenied(event.agent_type, "the root", "unknown-agent")
            if last.name == event.agent_type:
                found.append(following)
            waiting.append(following)
    if not found:
        raise SpawnDenied(event.agent_type, "the root", "unknown-agent")
    return found


def met(chains: list[Chain]) -> Chain:
    """Return the first of *chains* with what all of them grant. Raises SpawnDenied for none."""
    if not chains:
        raise SpawnDenied("main", "the root", "unknown-agent")
    first = chains[0]
    if len(chains) == 1:
        return first
    table = reduce(and_, (chain.table for chain in chains), UNRESTRICTED)
    last = evolve(first.links[-1], table=table)
    return Chain((*first.links[:-1], last), first.reading)
