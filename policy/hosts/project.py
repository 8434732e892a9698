"""Projects: what a front end makes of the files that it finds.

A project is one place where one host would be started: its settings, the agents that it offers
there, and the two readings of their chains. It lists the files that were read.
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
    """A rule as written in a file, applied or not."""

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
    """Return the agents of *tables* in the order of their names, each where *spans* has it."""
    return {
        name: AgentEntry(name, place_of(spans.get(name)), table)
        for name, table in sorted(tables.items())
    }


@frozen(repr=False)
class Project(BaseProject):
    """One place where one host would be started, with its files."""

    agents: Mapping[str, AgentEntry]  # by name, in the order of their names
    enforced: Reading  # what the host really does
    files: tuple[ReadFile, ...] = ()  # what was read for it
    findings: tuple[Finding, ...] = ()  # mistakes and risks in those
    claims: tuple[object, ...] = ()  # statements to be tested (`policy.hosts.claims`)
    # Starts of chains that reports show apart, since agents started after them inherit what they
    # grant.
    asides: tuple[str, ...] = ()
    # Rules that its files contain and no table holds: the host skips some, and never reaches
    # others.
    written: tuple[WrittenRule, ...] = ()
    # Makes the project as the host runs it there without any files of its own; None for a host that
    # starts nothing without files.
    bare: Callable[[], Project] | None = field(default=None, eq=False)
    # Other places that the host reads, which were not read here, with the option that names them.
    elsewhere: tuple[str, ...] = ()
    # What tools do, "read", "change", "run", "network" or "start" -> the tools that do it, the most
    # ordinary first.
    tool_classes: Mapping[str, tuple[str, ...]] = field(factory=dict, eq=False)
    # The permission mode that its files say; "" for a host that has none, and for a project without
    # the guards of the host.
    mode: str = ""
    # Each other mode -> the project in it, and the project without those guards; empty for a host
    # that has neither.
    modes: Mapping[str, Project] = field(factory=dict, eq=False)

    def reading(self, name: str) -> Reading:
        """Return the reading called *name*. Raises KeyError for any other name."""
        return {"attenuated": self.attenuated, "enforced": self.enforced}[name]

    @property
    def all_starts(self) -> tuple[str, ...]:
        """Every agent that a chain starts with."""
        return (*self.starts, *self.asides)

    def __repr__(self) -> str:
        agents = len(self.agents)
        return f"<Project {self.title}: {agents} agent{'' if agents == 1 else 's'}>"


@frozen(eq=False)
class EnforcedReading:
    """What a host does, as two functions. Both functions raise KeyError for an unknown agent."""

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
