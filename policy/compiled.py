"""Projects as they come out of a compiled policy: tables and steps, and no files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from policy.chain import SPAWN_TOOL, Attenuated, Link, Reading, SpawnDenied, attenuate
from policy.projects import Projects
from policy.table import Table

__all__ = ["Compiled", "CompiledProject", "Declared", "Position", "Refusal", "Steps", "Walked"]

_Calls = Mapping[str, tuple[str, dict[str, object]]]


@attrs.frozen
class CompiledProject:
    """One place where one host would be started.

    Attributes:
        host: e.g. ``claude-code``.
        profile: host and version.
        root: folder relative to the tree it was compiled from.
        starts: agents that start chains.
        attenuated: the reading that only narrows.
        enforced: what the host really does.

    """

    host: str
    profile: str
    root: str
    starts: tuple[str, ...]
    attenuated: Reading
    enforced: Reading

    @property
    def title(self) -> str:
        """The name by which people address the project."""
        return f"{self.host}@{self.root}" if self.root else self.host

    def reading(self, name: str) -> Reading:
        """Return the reading called *name*. Raises KeyError for any other name."""
        return {"attenuated": self.attenuated, "enforced": self.enforced}[name]


@attrs.frozen(slots=False, repr=False)
class Compiled(Projects[CompiledProject]):
    """What a compiled policy holds.

    Attributes:
        label: the file.
        projects: as they were compiled.
        hash: of its content, ``sha256:…``.

    """

    hash: str


@attrs.frozen(slots=False)
class Declared(Attenuated):
    """The reading that only narrows.

    Attributes:
        starts: agent -> what it may do where a chain starts with it.
        calls: agent -> the call that starts it, where that is no plain one.
        listed: every agent.

    """

    starts: Mapping[str, Table] = attrs.field(kw_only=True)
    calls: _Calls = attrs.field(kw_only=True)
    listed: tuple[str, ...] = attrs.field(kw_only=True)

    @property
    def agents(self) -> tuple[str, ...]:
        """Every agent that can be a link."""
        return self.listed

    def start(self, agent: str) -> Link:
        """Return the first link."""
        return Link(agent, self.starts[agent])

    def step(self, parent: Link, agent: str) -> Link:
        """Return the link behind *parent*."""
        return Link(agent, attenuate(parent.table, self.tables[agent]), parent.depth + 1)

    def spawn_call(self, agent: str) -> tuple[str, dict[str, object]]:
        """Return the call that starts *agent*."""
        return self.calls.get(agent) or (SPAWN_TOOL, {"subagent_type": agent})


@attrs.frozen
class Refusal:
    """Why a host does not start an agent, in its words."""

    agent: str
    link: str
    reason: str
    message: str

    def denied(self) -> SpawnDenied:
        """Return it as what chains raise."""
        denied = SpawnDenied(self.agent, self.link, self.reason)
        denied.args = (self.message,)
        return denied


@attrs.frozen
class Steps:
    """Where the agents that are started lead: to positions by number, or nowhere.

    With *ends*, nobody walked on from here.
    """

    to: Mapping[str, int]
    refused: Mapping[str, Refusal]
    ends: bool = False

    def follow(self, agent: str, link: str) -> int:
        """Return the number of *agent* behind *link*. Raises KeyError for an unknown one."""
        if self.ends:
            raise SpawnDenied(agent, link, "not-compiled")
        if agent in self.refused:
            raise self.refused[agent].denied()
        return self.to[agent]


@attrs.frozen
class Position:
    """An agent at one place of chains."""

    name: str
    table: Table
    depth: int
    steps: Steps


@attrs.frozen(slots=False, eq=False)
class Walked:
    """A reading as it was found by walking through every chain; the state is a number."""

    listed: tuple[str, ...]
    starts: Steps
    positions: Sequence[Position]
    calls: _Calls
    name: str = "enforced"

    @property
    def agents(self) -> tuple[str, ...]:
        """Every agent that can be a link."""
        return self.listed

    def start(self, agent: str) -> Link:
        """Return the first link."""
        return self._link(self.starts.follow(agent, "the root"))

    def step(self, parent: Link, agent: str) -> Link:
        """Return the link behind *parent*."""
        number = parent.state
        if type(number) is not int:
            raise KeyError(agent)
        return self._link(self.positions[number].steps.follow(agent, parent.name))

    def spawn_call(self, agent: str) -> tuple[str, dict[str, object]]:
        """Return the call that starts *agent*."""
        return self.calls.get(agent) or (SPAWN_TOOL, {"subagent_type": agent})

    def _link(self, number: int) -> Link:
        position = self.positions[number]
        return Link(position.name, position.table, position.depth, number)
