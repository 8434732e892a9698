"""A project in the words that all hosts share, as one host is converted into another.

A front end is read into these values, and the writer of another host makes files of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Final

from policy.compare.tables import differences, glob_pattern
from policy.core import expressions as re
from policy.core import values
from policy.core.effect import Effect
from policy.patterns.pattern import Pattern
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Bounds, Table

_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]+")


@values.frozen
class PortableLine:
    """One rule about the calls of a tool."""

    effect: Effect  # the effect of the calls that match
    pattern: Pattern  # what the argument must match
    field: str = ""  # the parameter that *pattern* applies to, or "" for the argument itself
    # Whether a file contains it; other rules are built into the host.
    written: bool = values.field(default=True, eq=False)


@values.frozen
class ToolRules:
    """The rules of one tool: the first that matches a call decides, else the default."""

    default: Effect
    lines: tuple[PortableLine, ...] = ()
    kind: ArgumentKind = ArgumentKind.TEXT

    @property
    def constant(self) -> Effect | None:
        """The effect of every call if all get the same, else None."""
        return self.default if all(one.effect is self.default for one in self.lines) else None

    @property
    def least(self) -> Effect:
        """The strictest effect that any call gets."""
        return min((line.effect for line in self.lines), default=self.default) & self.default


@values.frozen
class PortableAgent:
    """One agent."""

    name: str  # its name in its project
    # Tool -> its rules. The tool that starts agents is not among them.
    tools: Mapping[str, ToolRules] = values.field(hash=False)
    otherwise: Effect = Effect.DENY  # the effect of calls of any other tool
    # Glob over names of tools -> the effect of their calls, except of those in *tools*.
    globs: Mapping[str, Effect] = values.field(factory=dict, hash=False)
    # Agent that it may start -> allow or ask.
    starts: Mapping[str, Effect] = values.field(factory=dict, hash=False)
    bounds: Bounds = Bounds()  # its limits
    description: str = ""  # its description, or ""
    prompt: str = ""  # its prompt, or ""

    def about(self, tool: str) -> ToolRules:
        """Return the rules of *tool*, by its name or by a glob."""
        effects = [e for glob, e in self.globs.items() if glob_pattern(glob).matches(tool)]
        return self.tools.get(tool) or ToolRules(min(effects, default=self.otherwise))

    def host_tools(self, counterparts: Mapping[str, str]) -> Iterator[tuple[str, str, ToolRules]]:
        """Yield each tool, its name in the host, and its rules; *counterparts* has host -> ours."""
        theirs = {name: tool for tool, name in counterparts.items()}
        return ((tool, theirs.get(tool, tool), rules) for tool, rules in self.tools.items())

    @property
    def one_line(self) -> str:
        """Its description on one line, without control characters."""
        text = " ".join(self.description.split())
        return "".join(c for c in text if c.isprintable()) or f"The agent {self.name}."


@values.frozen
class Dropped:
    """Something that the files of the other host cannot express."""

    what: str  # a description in a few words
    agent: str = ""  # the agent that it belongs to, or ""


@values.frozen
class Portable:
    """A project: the agents that chains reach, the one that starts the others first."""

    title: str  # the title of the project
    root: str  # the folder of its files
    agents: tuple[PortableAgent, ...]  # each with what it may do in every chain that reaches it
    starts: tuple[str, ...] = ()  # agents that start chains
    depth: int | None = None  # the limit of agents below the first, or None
    cwd: str = "/@project"  # the working folder in patterns of paths
    home: str = "/@home"  # the home folder in them

    @property
    def first(self) -> PortableAgent:
        """The agent that starts the others."""
        return self.agents[0]

    def agent(self, name: str) -> PortableAgent | None:
        """Return the agent of that name, or None."""
        return next((agent for agent in self.agents if agent.name == name), None)

    @property
    def dropped_starts(self) -> tuple[Dropped, ...]:
        """The starts of chains that files drop in which only the first agent starts one."""
        others = (name for name in self.starts if name != self.first.name)
        return tuple(Dropped("starting a chain", name) for name in others)

    def renamed(self, reserved: Iterable[str] = ()) -> dict[str, str]:
        """Return a name of letters, digits, dashes and underscores for each agent, each another."""
        names: dict[str, str] = {}
        taken = set(reserved)
        for agent in self.agents:
            base = _OTHER.sub("-", agent.name).strip("-_")[:60] or "agent"
            others = (f"{base}-{number}" for number in count(3))
            name = next(n for n in chain((base, f"{base}-agent"), others) if n not in taken)
            taken.add(name)
            names[agent.name] = name
        return names


@values.frozen
class WrittenFiles:
    """The files that a writer makes of a project."""

    files: Mapping[str, str]  # path, below the folder of the project, -> text
    names: Mapping[str, str]  # agent -> its name in the files
    above: tuple[str, ...] = ()  # agents of the host that precede every chain of the project
    dropped: tuple[Dropped, ...] = ()  # what the files do not express
    fixed: frozenset[str] = frozenset()  # tools that no file of this host can deny


@values.frozen
class RuleFile:
    """A file of a host that holds rules for every agent."""

    path: str  # in the folder of a project
    agent: str  # that every chain starts with
    # Effect -> rules, the texts of matchers; returns the text of the file.
    write: Callable[[Mapping[Effect, Sequence[str]]], str]


@values.frozen
class Writer:
    """Writes the files of one host."""

    # Tool of the host -> its name in our notation, for tools that have one.
    counterparts: Mapping[str, str]
    carried: frozenset[str]  # the keys of the host's files that a conversion carries over
    write: Callable[[Portable], WrittenFiles]  # returns files that grant no more than a project


def covers(pattern: Pattern | None, by: Iterable[Pattern]) -> bool:
    """Return whether one of the patterns *by* is shown to contain *pattern*."""
    return pattern is not None and any(_within(pattern, other) for other in by)


def _within(pattern: Pattern, other: Pattern) -> bool:
    # A pattern with a literal start contains only patterns with the same start.
    start, starts = (p.tokens[0] if p.tokens else "" for p in (other, pattern))
    if isinstance(start, str) and not (isinstance(starts, str) and starts.startswith(start)):
        return False
    try:
        return pattern.kind is other.kind and pattern <= other
    except OverflowError:
        return False


def ranked(rules: ToolRules) -> tuple[dict[Effect, list[PortableLine]], Effect]:
    """Return the rules by effect, and the default, for a host that tries deny, ask, allow in turn.

    No call gets more than *rules* grants.
    """
    lists: dict[Effect, list[PortableLine]] = {effect: [] for effect in Effect}
    default = rules.default
    for line in rules.lines:
        before = (one for one in lists[Effect.ALLOW] if one.field == line.field)
        asks = line.effect is Effect.ASK and default is not Effect.ALLOW
        # Tried first, it would ask for calls that an earlier rule allows.
        if not (asks and any(covers(one.pattern, [line.pattern]) for one in before)):
            lists[line.effect].append(line)
    return lists, default


def no_more(tool: str, one: ToolRules, other: ToolRules) -> bool:
    """Return whether *one* is shown to grant no more of *tool* than *other* does."""
    most = Effect.ALLOW if one.constant is None else one.constant
    if one == other or (other.constant is not None and most <= other.constant):
        return True
    kind = next((each.kind for each in (one, other) if each.lines), ArgumentKind.TEXT)
    dialect = Dialect("", {tool: Argument(kind, ("argument",))})

    def table(rules: ToolRules) -> Table:
        entries = (Entry(tool, line.effect, line.pattern, line.field) for line in rules.lines)
        return Table.of(RuleSet(tuple(entries), rules.default, dialect))

    found = differences(table(other), table(one))
    return found.exact and not any(difference.widened for difference in found.differences)


def quoted(text: str) -> str:
    """Return *text* as a string of YAML and of JSON."""
    return json.dumps(text, ensure_ascii=False)
