"""Compiled policies: projects to JSON and back, as their files declare them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from policy.core import limits
from policy.core.errors import A_PATH, A_WORKSPACE, PolicyError, expect
from policy.core.source import cited
from policy.core.values import evolve
from policy.tables.chain import Attenuated, usual_spawn_call
from policy.tables.codec import CHECKS, dumped, loaded, refuse
from policy.tables.placement import place_at
from policy.tables.projects import BaseProject, Compiled, CompiledProject, Projects


def load_compiled(path: str | Path, *, root: str | Path | None = None) -> Compiled:
    """Return the compiled policy in the file at *path*.

    Args:
        path: the file.
        root: the folder of the project, for which chains decide paths. Without one, a path
            that is absolute or leaves the project is denied (``no-root``).

    Raises:
        PolicyError: it cannot be read, is no compiled policy, has another version, or a hash that
            is not that of its content.
    """
    expect(A_PATH, "path", path, (str, os.PathLike))
    label = str(path)
    if Path(path).is_fifo():  # reading it might never end
        raise PolicyError("cannot be read: it is a named pipe", file=label)
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(limits.COMPILED_BYTES + 1)
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise PolicyError(f"cannot be read: {why}", file=label) from None
    return evolve(compiled_from_json(data, label), place=place_at(root))


def compiled_from_json(data: bytes | str, label: str = "<compiled>") -> Compiled:
    """Return the compiled policy that *data* is.

    Raises:
        PolicyError: it is no compiled policy, has another version, or a hash that is not that of
            its content.
    """
    expect("a compiled policy", "data", data, (bytes, str))
    projects, digest = loaded(data, "projects", tuple[CompiledProject, ...], label)
    return Compiled(label, projects, digest)


def compiled_to_json(found: Projects[Any]) -> str:
    """Return the compiled policy of a workspace: equal projects give equal text."""
    expect(A_WORKSPACE, "found", found, Projects)
    projects = tuple(map(_compiled, found.projects))
    return dumped("projects", projects)


def _compiled(project: BaseProject) -> CompiledProject:
    declared, real = project.attenuated, project.reading("enforced")
    enforces = isinstance(real, Attenuated) and (real.tables, real.roots) == (
        declared.tables,
        declared.roots,
    )
    links = [declared.start(agent) for agent in declared.agents]
    tables = {}
    for agent, table in declared.tables.items():
        try:
            declared.step(links[0], agent)
        except KeyError:
            continue  # no chain reaches it
        tables[agent] = table
    roots = {link.name: link.table for link in links if tables.get(link.name) is not link.table}
    calls = {agent: declared.spawn_call(agent) for agent in declared.agents}
    calls = {agent: call for agent, call in calls.items() if call != usual_spawn_call(agent)}
    reading = Attenuated(tables, roots, calls=calls)
    where = project.host, project.profile, project.root
    return CompiledProject(*where, project.starts, reading, enforces=enforces)


def _check_project(project: CompiledProject) -> None:
    if unknown := set(project.starts) - set(project.attenuated.agents):
        refuse(f"there is no agent {cited(min(unknown))}")


CHECKS[CompiledProject] = _check_project
