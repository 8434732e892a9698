"""Projects, which front ends make from files, and the protocol of a front end.

A project is one place in which one host may start: the agents that the host offers there, and the
two readings of their chains. It lists the files that the front end read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from policy.core.effect import Effect
from policy.core.finding import Finding
from policy.core.source import Place, Span, place_of
from policy.core.values import field, frozen
from policy.files.trees import Tree
from policy.tables.chain import Link, Reading, usual_spawn_call
from policy.tables.projects import BaseProject
from policy.tables.table import Table


@frozen
class ReadFile:
    """A file that was read."""

    path: str  # relative to the tree
    role: str  # what it was read as, e.g. ``agent``, ``settings``
    assumed: str = ""  # why the role is a guess, or ""


@frozen
class WrittenRule:
    """A rule as a file has it, whether the host applies it or not."""

    rule: str
    effect: Effect
    place: Place


@frozen
class AgentEntry:
    """An agent a project offers."""

    name: str  # its name in chains
    place: Place | None  # where it is defined; None for a built-in agent
    declared: Table  # the table that its own definition declares


def agent_entries(
    tables: Mapping[str, Table], spans: Mapping[str, Span | None]
) -> dict[str, AgentEntry]:
    """Return the agents of *tables* in the order of their names, with their places in *spans*."""
    return {
        name: AgentEntry(name, place_of(spans.get(name)), table)
        for name, table in sorted(tables.items())
    }


@frozen(repr=False)
class Project(BaseProject):
    """One place in which one host may start, with its files."""

    agents: Mapping[str, AgentEntry]  # by name, in the order of their names
    enforced: Reading  # the reading that the host applies
    files: tuple[ReadFile, ...] = ()  # the files that the front end read
    findings: tuple[Finding, ...] = ()  # mistakes and risks in them
    claims: tuple[object, ...] = ()  # statements to be tested (`policy.hosts.claims`)
    # Further starts of chains that reports show separately: agents that they start inherit their
    # grants.
    variants: tuple[str, ...] = ()
    # Rules in its files that no table has, since the host skips them or never reaches them.
    written: tuple[WrittenRule, ...] = ()
    # Returns the project that the host has there without its files; None for a host that does not
    # start without files.
    bare: Callable[[], Project] | None = field(default=None, eq=False)
    # Other places that the host reads and the front end did not, with the options that name them.
    elsewhere: tuple[str, ...] = ()
    # Class of tools, "read", "change", "run", "network" or "start" -> its tools, the most ordinary
    # first.
    tool_classes: Mapping[str, tuple[str, ...]] = field(factory=dict, eq=False)
    # The permission mode in its files; "" for a host without modes, and for a project without the
    # guards of the host.
    mode: str = ""
    # Other mode -> the project in this mode; also the project without the guards. Empty for a host
    # without modes and guards.
    modes: Mapping[str, Project] = field(factory=dict, eq=False)

    def reading(self, name: str) -> Reading:
        """Return the reading called *name*. Raises KeyError for any other name."""
        return {"attenuated": self.attenuated, "enforced": self.enforced}[name]

    @property
    def own_agents(self) -> list[str]:
        """The agents that a file defines, or that chains start with."""
        return [name for name, agent in self.agents.items() if agent.place or name in self.starts]

    @property
    def all_starts(self) -> tuple[str, ...]:
        """Every agent that a chain starts with."""
        return (*self.starts, *self.variants)

    def __repr__(self) -> str:
        agents = len(self.agents)
        return f"<Project {self.title}: {agents} agent{'' if agents == 1 else 's'}>"


@frozen(eq=False)
class EnforcedReading:
    """The reading that a host applies, as two functions. They raise KeyError for unknown agents."""

    agents: tuple[str, ...]  # every agent that can be a link
    start: Callable[[str], Link]  # agent -> the first link of a chain
    step: Callable[[Link, str], Link]  # a link and an agent that it starts -> the next link
    # Agent -> the tool and the arguments of the call that starts it.
    spawn_call: Callable[[str], tuple[str, dict[str, object]]] = usual_spawn_call
    name: str = "enforced"


class FrontEnd(Protocol):
    """Reads the files of one host. A module with these names is a front end."""

    @property
    def HOST(self) -> str:  # noqa: N802  # a constant of a module
        """The name of the host."""

    def load(self, tree: Tree) -> tuple[Project, ...]:
        """Return every project below *tree*. A file that cannot be read is a finding."""
