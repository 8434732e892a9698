"""Projects by name, their chains, and projects that come out of a compiled policy."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from policy.core.errors import AN_AGENT, PolicyError, expect
from policy.core.memory import seldom_collecting
from policy.core.values import Generic, TypeVar, evolve, field, frozen
from policy.tables.chain import READINGS, Attenuated, Chain, Reading, known_names
from policy.tables.placement import ProjectPlace, Rootless

_EACH = 'pass each agent from the root on: `chain("main", "explore")`'


@frozen(repr=False)
class BaseProject:
    """One place where one host would be started: the agents that it offers, and their chains."""

    host: str  # e.g. ``zeph``
    profile: str  # host and version
    root: str  # folder relative to the tree, "" for its top
    starts: tuple[str, ...]  # agents that start chains
    attenuated: Attenuated  # the reading that only narrows

    @property
    def title(self) -> str:
        """The host, and the folder if the project is not at the top."""
        return f"{self.host}@{self.root}" if self.root else self.host

    @abstractmethod
    def reading(self, name: str) -> Reading:
        """Return the reading called *name*. Raises KeyError for any other name."""


def distinguishing_name(project: BaseProject, among: Sequence[BaseProject]) -> str:
    """Return the host or title of *project*; "" if no other project shares a start agent."""
    starts = set(project.starts)
    if sum(not starts.isdisjoint(other.starts) for other in among) < 2:
        return ""
    alone = sum(other.host == project.host for other in among) < 2
    return project.host if alone else project.title


_Project = TypeVar("_Project", bound=BaseProject)


@frozen(repr=False)
class Projects(Generic[_Project]):
    """The projects of one tree, in the order of their hosts and roots.

    People know the tree by its *label*. *place* is the folder for which chains decide paths, or
    that none is known.
    """

    label: str
    projects: tuple[_Project, ...]
    place: ProjectPlace = field(factory=Rootless, kw_only=True, eq=False)

    @seldom_collecting()
    def chain(self, *names: str, reading: str = "attenuated") -> Chain:
        """Return the chain of agents *names*, from the root down.

        Args:
            names: the first may be qualified, as ``host:name`` or ``host@folder:name``.
            reading: ``attenuated`` or ``enforced``.

        Raises:
            SpawnDenied: a link may not start the next, or there is no such agent.
            PolicyError: the first name is unknown, or stands for several agents; or there is no
                such reading.
            TypeError: an agent is no text.
        """
        for name in names:
            expect(AN_AGENT, "names", name, str)
        if reading not in READINGS:
            msg = f"there is no reading `{reading}`"
            raise PolicyError(msg, help="there are `attenuated` and `enforced`")
        if not names:
            msg = "expected the name of an agent, found an empty chain"
            raise PolicyError(msg, help=_EACH)
        project, first = self.find(names[0])
        chain = Chain.start(first, project.reading(reading), self.place_of(project))
        for name in names[1:]:
            chain = chain.spawn(name)
        return chain

    def place_of(self, project: BaseProject) -> ProjectPlace:
        """Return where the calls of a project are made: in its folder, below that of the tree."""
        # A file of our notation may lie anywhere in the project that it is about.
        return self.place.below("" if project.root.endswith(".policy") else project.root)

    def find(self, name: str) -> tuple[_Project, str]:
        """Return the project of an agent and its name there.

        Raises:
            PolicyError: the name is unknown, or stands for several agents.
        """
        found = self._named(name)
        starting = [(project, local) for project, local in found if local in project.starts]
        candidates = starting or found
        if len(candidates) == 1:
            return candidates[0]
        if not candidates:
            known = {agent for p in self.projects for agent in p.attenuated.agents}
            if not known:
                raise PolicyError("no file here says what an agent may do", file=self.label)
            help_ = _EACH if ">" in name else known_names(known, name)
            raise PolicyError(f"there is no agent `{name}`", help=help_, file=self.label)
        places = ", ".join(f"`{project.title}:{local}`" for project, local in candidates[:6])
        msg = f"`{name}` stands for {len(candidates)} agents"
        raise PolicyError(msg, help=f"name one of {places}", file=self.label)

    def _named(self, name: str) -> list[tuple[_Project, str]]:
        """Return every agent that *name* may mean, by title, else by host, else by bare name."""
        for qualifiers in ([p.title for p in self.projects], [p.host for p in self.projects]):
            pairs = [(p, f"{one}:") for p, one in zip(self.projects, qualifiers, strict=True)]
            found = [(p, name.removeprefix(one)) for p, one in pairs if name.startswith(one)]
            if known := [(p, local) for p, local in found if local in p.attenuated.agents]:
                return known
        return [(p, name) for p in self.projects if name in p.attenuated.agents]

    def __repr__(self) -> str:
        projects = ", ".join(project.title for project in self.projects[:4])
        more = f" and {len(self.projects) - 4} more" if len(self.projects) > 4 else ""
        return f"<{type(self).__name__} {self.label}: {projects or 'no projects'}{more}>"


@frozen
class CompiledProject(BaseProject):
    """A project without its files."""

    # Whether the host really does what is declared.
    enforces: bool = field(default=False, kw_only=True)

    def reading(self, name: str) -> Reading:
        """Return the reading called *name*.

        Raises:
            KeyError: there is no such reading.
            PolicyError: the host does another thing than is declared.
        """
        if name == "attenuated":
            return self.attenuated
        if name not in READINGS:
            raise KeyError(name)
        if not self.enforces:
            msg = f"a compiled policy does not hold what `{self.host}` does beside what is declared"
            raise PolicyError(msg, help="name the files it is of")
        return evolve(self.attenuated, name="enforced")


@frozen(repr=False)
class Compiled(Projects[CompiledProject]):
    """What a compiled policy holds: *label* is its file, *hash* that of its content."""

    hash: str
