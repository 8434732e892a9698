"""What a front end makes of the files that it finds: agents, and how they chain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import attrs

from policy.compare.overlap import glob_pattern
from policy.core.effect import Effect
from policy.core.finding import Finding
from policy.core.source import Place, Source
from policy.files.opening import Tree
from policy.patterns.pattern import Pattern
from policy.tables.chain import SPAWN_TOOL, Attenuated, Link, Reading
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Bounds, Table

__all__ = [
    "AgentEntry",
    "DeclaredReading",
    "Dropped",
    "EnforcedReading",
    "FrontEnd",
    "Portable",
    "PortableAgent",
    "PortableLine",
    "Project",
    "ReadFile",
    "ToolRules",
    "Writer",
    "WrittenFiles",
    "WrittenRule",
    "covers",
    "no_more",
    "ranked",
]


@attrs.frozen
class PortableLine:
    """One line about the calls of a tool.

    Attributes:
        effect: what it says.
        pattern: what the argument must be.
        field: the parameter that *pattern* speaks of, or "" for the argument itself.
        written: whether somebody wrote it, rather than that the host has it built in.

    """

    effect: Effect
    pattern: Pattern
    field: str = ""
    written: bool = attrs.field(default=True, eq=False)


@attrs.frozen
class ToolRules:
    """What is said of one tool: the first line that matches decides, else the default."""

    default: Effect
    lines: tuple[PortableLine, ...] = ()
    kind: ArgumentKind = ArgumentKind.TEXT

    @property
    def constant(self) -> Effect | None:
        """The effect of every call, if it is one."""
        return self.default if all(one.effect is self.default for one in self.lines) else None


@attrs.frozen
class PortableAgent:
    """One agent.

    Attributes:
        name: as its project names it.
        tools: what it may do, by tool; starting agents is not among them.
        otherwise: what calls of any other tool get.
        globs: what calls of tools get whose names match; those in *tools* aside.
        starts: the agents that it may start, and whether that is asked for.
        starting: what more is denied, or asked for, of calls that start agents, by
            what else they say.
        bounds: its limits.
        description: what it is for, as its file says it; "" is nothing.
        prompt: the text below a header, or "".

    """

    name: str
    tools: Mapping[str, ToolRules] = attrs.field(hash=False)
    otherwise: Effect = Effect.DENY
    globs: Mapping[str, Effect] = attrs.field(factory=dict, hash=False)
    starts: Mapping[str, Effect] = attrs.field(factory=dict, hash=False)
    starting: tuple[PortableLine, ...] = ()
    bounds: Bounds = Bounds()
    description: str = ""
    prompt: str = ""

    def about(self, tool: str) -> ToolRules:
        """Return what is said of *tool*, named or not."""
        found = self.tools.get(tool)
        if found is not None:
            return found
        effects = [e for glob, e in self.globs.items() if glob_pattern(glob).matches(tool)]
        return ToolRules(min(effects, default=self.otherwise))


@attrs.frozen
class Portable:
    """A project: the agents that chains can reach, the one that starts them first.

    Attributes:
        title: how people know the project.
        root: the folder of its files.
        agents: by what they may do in every chain that reaches them.
        starts: agents that start chains.
        depth: agents below the first that there can be, or None.
        cwd: the working folder in patterns of paths.
        home: the home folder in them.

    """

    title: str
    root: str
    agents: tuple[PortableAgent, ...]
    starts: tuple[str, ...] = ()
    depth: int | None = None
    cwd: str = "/@project"
    home: str = "/@home"

    @property
    def first(self) -> PortableAgent:
        """The agent that starts the others."""
        return self.agents[0]

    def agent(self, name: str) -> PortableAgent | None:
        """Return the agent of that name, if chains reach it."""
        return next((agent for agent in self.agents if agent.name == name), None)


@attrs.frozen
class Dropped:
    """Something that the files of the other host cannot say.

    Attributes:
        what: in a few words.
        agent: whose it is, or "".

    """

    what: str
    agent: str = ""


@attrs.frozen
class WrittenFiles:
    """The files that a writer makes of a project.

    Attributes:
        files: path, below the folder of the project, -> text.
        names: agent -> what the files call it.
        above: the agents of the host that stand before every chain of the project.
        dropped: what the files do not say.
        fixed: tools that no file of this host can take away.

    """

    files: Mapping[str, str]
    names: Mapping[str, str]
    above: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    fixed: frozenset[str] = frozenset()


class Writer(Protocol):
    """Writes the files of one host."""

    @property
    def counterparts(self) -> Mapping[str, str]:
        """Return what our notation calls each tool of the host that it has a name for."""

    def knows(self, tool: str) -> bool:
        """Return whether the host may have a tool that has this name in common words."""

    @property
    def carried(self) -> frozenset[str]:
        """Return the keys of the host's files that tables, names and texts hold."""

    def write(self, portable: Portable) -> WrittenFiles:
        """Return files that grant no more than *portable*."""


def covers(pattern: Pattern | None, by: Iterable[Pattern]) -> bool:
    """Return whether one of some patterns contains *pattern*, as far as that can be told."""
    return pattern is not None and any(_within(pattern, other) for other in by)


def _within(pattern: Pattern, other: Pattern) -> bool:
    if pattern.kind is not other.kind:
        return False
    # What every text of the one starts with, those of the other start with too.
    start, starts = (p.tokens[0] if p.tokens else "" for p in (other, pattern))
    if isinstance(start, str) and not (isinstance(starts, str) and starts.startswith(start)):
        return False
    try:
        return pattern <= other
    except OverflowError:
        return False


def ranked(said: ToolRules) -> tuple[dict[Effect, list[PortableLine]], Effect]:
    """Return the lines of each effect, and the default, for who asks deny, ask, allow in turn.

    Nothing gets more than *said* has it get.
    """
    lists: dict[Effect, list[PortableLine]] = {effect: [] for effect in Effect}
    default = said.default
    for line in said.lines:
        if line.effect is Effect.ASK and default is not Effect.ALLOW:
            # Asked first, it would ask for what is allowed before it here.
            before = (one for one in lists[Effect.ALLOW] if one.field == line.field)
            if any(covers(one.pattern, [line.pattern]) for one in before):
                continue
        lists[line.effect].append(line)
    return lists, default


def no_more(tool: str, one: ToolRules, other: ToolRules) -> bool:
    """Return whether *one* is shown to grant no more of *tool* than *other* does."""
    if other.constant is not None or one.constant is not None:
        least = other.constant if other.constant is not None else other.default
        most = one.constant if one.constant is not None else Effect.ALLOW
        if most <= least and other.constant is not None:
            return True
    if one == other:
        return True
    kind = next((each.kind for each in (one, other) if each.lines), ArgumentKind.TEXT)
    dialect = Dialect("", {tool: Argument(kind, ("argument",))})
    tables = [
        Table.of(
            RuleSet(
                tuple(Entry(tool, ln.effect, ln.pattern, ln.field) for ln in each.lines),
                each.default,
                dialect,
            )
        )
        for each in (other, one)
    ]
    found = tables[0].differences(tables[1])
    return found.exact and not any(difference.widened for difference in found.differences)


# What a front end makes of the files it finds: agents, and how they chain.
#
# A *project* is one place where one host would be started: its settings, the
# agents it offers there, and the two readings of their chains. The front end
# also says which files it read, so that nothing is passed over in silence.


@attrs.frozen
class ReadFile:
    """A file that was read.

    Attributes:
        path: relative to the tree.
        role: what it was read as, e.g. ``agent``, ``settings``.
        assumed: why that is a guess, or "".

    """

    path: str
    role: str
    assumed: str = ""


@attrs.frozen
class WrittenRule:
    """A rule as its file says it, whatever comes of it."""

    rule: str
    effect: Effect
    place: Place


@attrs.frozen
class AgentEntry:
    """An agent a project offers.

    Attributes:
        name: as chains name it.
        place: where it is defined; None for one that is built in.
        declared: what its own definition declares, with nothing above it.

    """

    name: str
    place: Place | None
    declared: Table


@attrs.frozen(slots=False, repr=False)
class Project:
    """One place where one host would be started.

    Attributes:
        host: e.g. ``claude-code``.
        profile: host and version, e.g. ``claude-code@2.1.329``.
        root: folder relative to the tree, "" for its top.
        agents: by name, in the order of their names.
        starts: agents that start chains.
        attenuated: the reading that only narrows.
        enforced: what the host really does.
        files: what was read for it.
        findings: what is the matter with those.
        claims: statements to be tested (`policy.hosts.claims`), where the host has such.
        asides: starts of chains that are told of by themselves: what they grant beyond
            the others, whoever is started behind them has as well.
        written: rules that its files say, where no table may hold them: the host skips
            some, or never asks them.
        bare: what the host does in this place without files of the project's own, where
            it runs there all the same; None of a host that starts nothing without files.
        elsewhere: what the host reads of other places too, and was not read here, with how
            to give it.
        modes: the project as a session in each other permission mode has it, by mode, and
            without the guards of the host; empty for a host that has neither.

    """

    host: str
    profile: str
    root: str
    agents: Mapping[str, AgentEntry]
    starts: tuple[str, ...]
    attenuated: Reading
    enforced: Reading
    files: tuple[ReadFile, ...] = ()
    findings: tuple[Finding, ...] = ()
    claims: tuple[object, ...] = ()
    asides: tuple[str, ...] = ()
    written: tuple[WrittenRule, ...] = ()
    bare: Callable[[], Project] | None = attrs.field(default=None, eq=False)
    elsewhere: tuple[str, ...] = ()
    modes: Mapping[str, Project] = attrs.field(factory=dict, eq=False)

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

    @property
    def title(self) -> str:
        """The name by which people address the project."""
        return f"{self.host}@{self.root}" if self.root else self.host


# The call that starts an agent: the tool and its arguments.
SpawnCall = Callable[[str], tuple[str, dict[str, object]]]


def default_spawn_call(agent: str) -> tuple[str, dict[str, object]]:
    """Return the call that starts *agent* in most hosts."""
    return SPAWN_TOOL, {"subagent_type": agent}


@attrs.frozen(slots=False)
class DeclaredReading(Attenuated):
    """The attenuated reading of a host that starts agents by a call of its own."""

    spawn_call: SpawnCall = attrs.field(kw_only=True, eq=False)


@attrs.frozen(slots=False, eq=False)
class EnforcedReading:
    """What a host does, as two functions.

    Attributes:
        agents: every agent that can be a link.
        start: agent -> the first link of a chain.
        step: a link and an agent that it starts -> the next link.
        spawn_call: agent -> the call that starts it.

    Both functions raise KeyError for an unknown agent.

    """

    agents: tuple[str, ...]
    start: Callable[[str], Link]
    step: Callable[[Link, str], Link]
    spawn_call: SpawnCall = default_spawn_call
    name: str = "enforced"


class FrontEnd(Protocol):
    """Reads and writes the files of one host; a module with these names is one."""

    @property
    def HOST(self) -> str:  # noqa: N802  # a constant of a module
        """The name of the host."""

    @property
    def WRITER(self) -> Writer:  # noqa: N802  # likewise
        """What writes its files."""

    def load(self, tree: Tree) -> tuple[Project, ...]:
        """Return every project below *tree*. What cannot be read is a finding of its project."""

    def canonical(self, path: str, source: Source) -> str | None:
        """Return *source* in its canonical form; None where it is no file of this host.

        It says the same to the host, and keeps every comment and all text that
        the host does not read.

        Args:
            path: with slashes, with as many folders above the file as are known.
            source: its text.

        Raises:
            PolicyError: it cannot be read, or not be printed without loss.

        """
