"""Deciding calls that somebody wrote down: by which chain, in which folder."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from policy.anchors import Anchored, Folders
from policy.chain import Chain, SpawnDenied
from policy.decision import Decision
from policy.errors import PolicyError
from policy.projects import Projects
from policy.records.record import Record

__all__ = ["Decider"]


class Decider:
    """Decides logged calls by one policy.

    Args:
        projects: the policy: a workspace, or one that was compiled.
        reading: ``attenuated`` or ``enforced``.
        home: the home folder of those who called, absolute; "" where unknown.

    """

    def __init__(self, projects: Projects[Any], reading: str, home: str = "") -> None:
        self._projects = projects
        self._reading = reading
        self._home = home
        self._chains: dict[tuple[tuple[str, ...], str, str], Chain | Decision] = {}
        self._folders: dict[str, Folders] = {}

    def decide(self, record: Record) -> Decision:
        """Return what the call of *record* gets. A chain that cannot come about is denied.

        Raises:
            PolicyError: the policy has no agent for the first link, or several.

        """
        found = self.chain(record.chain, record.cwd, record.project)
        if isinstance(found, Decision):
            return found
        return found.table.decide_read(record.tool, record.call)

    def chain(self, names: tuple[str, ...], cwd: str = "", project: str = "") -> Chain | Decision:
        """Return the chain of agents *names*, or why it cannot come about.

        Args:
            names: from the root down.
            cwd: the folder of the project, absolute, or "".
            project: whose agents they are, where there are several.

        Raises:
            PolicyError: the policy has no agent for the first link, or several.

        """
        found = self._chains.get((names, cwd, project))
        if found is None:
            found = self._chains[names, cwd, project] = self._walked(names, cwd, project)
        return found

    def _found(self, name: str, project: str) -> tuple[Any, str]:
        if project:
            # In a policy of another host, or elsewhere, the agent may be there all the same.
            with suppress(PolicyError):
                return self._projects.find(f"{project}:{name}")
        return self._projects.find(name)

    def _walked(self, names: tuple[str, ...], cwd: str, where: str) -> Chain | Decision:
        try:
            project, first = self._found(names[0], where)
            reading = project.reading(self._reading)
            if cwd:
                folders = self._folders.setdefault(cwd, Folders(cwd, self._home))
                reading = Anchored(reading, folders)
            chain = Chain.start(first, reading)
            for name in names[1:]:
                chain = chain.spawn(name)
        except SpawnDenied as denied:
            return denied.decision
        return chain
