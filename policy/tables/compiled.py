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

__all__ = ["compiled_from_json", "compiled_to_json", "load_compiled"]


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

    Args:
        found: a workspace, or whatever else has projects.
        positions: steps from agent to agent that are followed in the reading of each
            host; longer chains end in a refusal.

    """
    projects = tuple(_compiled(project, positions) for project in found.projects)
    return dumped(projects, tuple[CompiledProject, ...], "projects")


def _compiled(project: Offered, positions: int) -> CompiledProject:
    attenuated, enforced = project.attenuated, project.enforced
    same = isinstance(enforced, Attenuated) and (enforced.tables, enforced.roots) == (
        attenuated.tables,
        attenuated.roots,
    )
    walked = None if same else _Walk(enforced, positions).run()
    declared = _declared(attenuated)
    return CompiledProject(
        project.host, project.profile, project.starts, declared, walked, project.root
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


class _Walk:
    """A walk through every chain of a reading, each position once."""

    def __init__(self, reading: Reading, most: int) -> None:
        self.most = most
        self.reading = reading
        self.numbers: dict[Hashable, int] = {}
        self.links: list[Link] = []

    def run(self) -> Walked:
        """Return the reading as data."""
        agents = self.reading.agents
        starts = self._steps(agents, self.reading.start)
        positions = []
        for number, link in enumerate(self.links):  # which grow meanwhile
            walked = (number + 1) * len(agents) <= self.most
            steps = self._behind(link) if walked else Steps(ends=True)
            positions.append(CompiledPosition(link.name, link.table, steps, link.depth))
        return Walked(agents, starts, tuple(positions), _calls(self.reading))

    def _behind(self, link: Link) -> Steps:
        chain = Chain((link,), self.reading)
        # What the table denies, the table says why.
        agents = [
            agent
            for agent in self.reading.agents
            if chain.most_spawning(agent).effect is not Effect.DENY
        ]
        return self._steps(agents, partial(self.reading.step, link))

    def _steps(self, agents: Iterable[str], follow: Callable[[str], Link]) -> Steps:
        to, refused = {}, {}
        for agent in agents:
            try:
                to[agent] = self._number(follow(agent))
            except SpawnDenied as denied:
                refused[agent] = denied.agent, denied.link, denied.reason, str(denied)
            except KeyError:
                continue
        return Steps(to, refused)

    def _number(self, link: Link) -> int:
        key = (link.name, table_key(link.table), link.depth, link.state)
        if key not in self.numbers:
            self.numbers[key] = len(self.links)
            self.links.append(link)
        return self.numbers[key]


# What a compiled policy must hold, beside values of the right types.


def _check_walked(walked: Walked) -> None:
    for steps in (walked.starts, *(position.steps for position in walked.positions)):
        for number in steps.to.values():
            if not 0 <= number < len(walked.positions):
                refuse(f"there is no number {number}")


def _check_project(project: CompiledProject) -> None:
    unknown = set(project.starts) - set(project.attenuated.agents)
    if unknown:
        refuse(f"there is no agent {cited(min(unknown))}")


CHECKS.update({Walked: _check_walked, CompiledProject: _check_project})
