"""Compiled policies: projects to JSON and back, with every chain of what their hosts really do."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from policy.core import limits
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.source import cited
from policy.core.values import evolve
from policy.tables.chain import (
    Attenuated,
    Chain,
    Link,
    Reading,
    SpawnDenied,
    plain_call,
    spawn_call,
)
from policy.tables.codec import CHECKS, dumped, loaded, refuse, table_key
from policy.tables.placement import place_at
from policy.tables.projects import (
    Calls,
    Compiled,
    CompiledDeclared,
    CompiledPosition,
    CompiledProject,
    Offered,
    Projects,
    Steps,
    Walked,
)


def load_compiled(path: str | Path, *, root: str | Path | None = None) -> Compiled:
    """Return the compiled policy in the file at *path*.

    Args:
        path: the file.
        root: the folder of the project, for which chains decide paths. Without one, a path
            that is absolute or leaves the project is denied (``no-root``).

    Raises:
        PolicyError: it cannot be read, is none, is of another version, or not the one
            it says it is.

    """
    label = str(path)
    try:
        # A pipe without a writer would block for ever.
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise PolicyError("not a file", file=label)
            data = stream.read(limits.COMPILED_BYTES + 1)
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise PolicyError(f"cannot be read: {why}", file=label) from None
    return evolve(compiled_from_json(data, label), place=place_at(root))


def compiled_from_json(data: bytes, label: str = "<compiled>") -> Compiled:
    """Return the compiled policy that *data* is.

    Raises:
        PolicyError: it is none, is of another version, or not the one it says it is.

    """
    projects, digest = loaded(data, tuple[CompiledProject, ...], "projects", label)
    return Compiled(label, projects, digest)


def compiled_to_json(found: Projects[Any], *, positions: int = limits.POSITIONS) -> str:
    """Return the compiled policy of what was *found*: equal projects give equal text.

    At most so many *positions* of the reading of each host are followed, from agent to agent;
    longer chains end in a refusal.
    """
    projects = tuple(_compiled(project, positions) for project in found.projects)
    return dumped(projects, tuple[CompiledProject, ...], "projects")


def _compiled(project: Offered, positions: int) -> CompiledProject:
    attenuated, enforced = project.attenuated, project.enforced
    same = isinstance(enforced, Attenuated) and (enforced.tables, enforced.roots) == (
        attenuated.tables,
        attenuated.roots,
    )
    return CompiledProject(
        project.host,
        project.profile,
        project.starts,
        _declared(attenuated),
        None if same else _walked(enforced, positions),
        project.root,
    )


def _declared(reading: Attenuated) -> CompiledDeclared:
    """Return a reading with the tables of those agents that it starts."""
    links = [reading.start(agent) for agent in reading.agents]
    tables = {}
    for agent, table in reading.tables.items():
        try:
            reading.step(links[0], agent)
        except KeyError:
            continue  # no chain reaches it
        tables[agent] = table
    roots = {link.name: link.table for link in links if tables.get(link.name) is not link.table}
    return CompiledDeclared(tables, roots, listed=reading.agents, calls=_calls(reading))


def _calls(reading: Reading) -> Calls:
    calls = {agent: spawn_call(reading, agent) for agent in reading.agents}
    return {agent: call for agent, call in calls.items() if call != plain_call(agent)}


def _walked(reading: Reading, most: int) -> Walked:
    """Return a reading as data, by a walk through every chain, each position once."""
    agents = reading.agents
    numbers: dict[Hashable, int] = {}
    links: list[Link] = []

    def steps(agents: Iterable[str], follow: Callable[[str], Link]) -> Steps:
        to, refused = {}, {}
        for agent in agents:
            try:
                link = follow(agent)
            except SpawnDenied as denied:
                refused[agent] = denied.agent, denied.link, denied.reason, str(denied)
                continue
            except KeyError:
                continue
            key = (link.name, table_key(link.table), link.depth, link.state)
            if key not in numbers:
                numbers[key] = len(links)
                links.append(link)
            to[agent] = numbers[key]
        return Steps(to, refused)

    starts = steps(agents, reading.start)
    positions = []
    for number, link in enumerate(links):  # which grow meanwhile
        behind = Steps(ends=True)
        if (number + 1) * len(agents) <= most:
            chain = Chain((link,), reading)
            # What the table denies, the table says why.
            granted = (a for a in agents if chain.most_spawning(a).effect is not Effect.DENY)
            behind = steps(granted, partial(reading.step, link))
        positions.append(CompiledPosition(link.name, link.table, behind, link.depth))
    return Walked(agents, starts, tuple(positions), _calls(reading))


# What must hold of a compiled policy, beside values of the right types.


def _check_walked(walked: Walked) -> None:
    for steps in (walked.starts, *(position.steps for position in walked.positions)):
        for number in steps.to.values():
            if not 0 <= number < len(walked.positions):
                refuse(f"there is no number {number}")


def _check_project(project: CompiledProject) -> None:
    if unknown := set(project.starts) - set(project.attenuated.agents):
        refuse(f"there is no agent {cited(min(unknown))}")


CHECKS.update({Walked: _check_walked, CompiledProject: _check_project})
