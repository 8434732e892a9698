"""Spawn chains: the rights of agents that start one another.

A *reading* gives the link of an agent from the link of its parent. In the attenuated reading, as
policies declare it, a chain only narrows (`attenuate`). The enforced reading is what the host does,
and its front end defines it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType

from policy.core.decision import Because, Clause, Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import AN_AGENT, expect
from policy.core.values import Final, Protocol, evolve, field, frozen
from policy.tables.table import NO_CALL, SPAWN_TOOL, Bounds, Table

# The names of the two readings of every project.
READINGS = ("attenuated", "enforced")

# No further arguments of a call that starts an agent.
NO_ARGUMENTS: Final[Mapping[str, object]] = MappingProxyType({})


class SpawnDenied(Exception):
    """A link of a chain may not start the agent.

    Attributes:
        agent: the agent that may not be started.
        link: the link of the chain that denies the start.
        because: the rules that deny it; () if no rule grants it.
        reason: ``rule``, or a code such as ``depth``, ``unknown-agent`` or one of the host.
    """

    def __init__(
        self,
        agent: str,
        link: str,
        reason: str,
        because: tuple[Because, ...] = (),
        reading: Reading | None = None,
    ) -> None:
        why = "; ".join(map(str, because)) or _WHY.get(reason, reason).format(link)
        super().__init__(f"`{agent}` may not be started here: {why}")
        self.agent = agent
        self.link = link
        self.because = because
        self.reason = reason
        self._reading = reading

    def __str__(self) -> str:
        """Return the message; for an unknown agent with the names of known agents."""
        text = super().__str__()
        known = self._reading.agents if self._reading else ()
        if not known or self.agent in known:
            return text
        no_such = "" if self.reason == "unknown-agent" else f" there is no agent `{self.agent}`,"
        return f"{text};{no_such} {known_names(known, self.agent)}"

    @property
    def decision(self) -> Decision:
        """The decision on each call of an agent that may not be started."""
        reason = _REASONS.get(self.reason, Reason.DEFAULT)
        return Decision(Effect.DENY, reason, self.because, (self.link,))


def known_names(names: Iterable[str], meant: str = "") -> str:
    """Return a clause that suggests the name nearest to *meant*, or else lists the *names*."""
    from difflib import get_close_matches  # noqa: PLC0415  # only errors need it

    known = sorted(names)
    if near := get_close_matches(str(meant), known):
        return f"did you mean `{near[0]}`?"
    more = f" and {len(known) - 8} more" if len(known) > 8 else ""
    return "known are " + ", ".join(f"`{name}`" for name in known[:8]) + more


_WHY = {
    "default": "nothing in `{}` grants it",
    "unavailable": "`{}` has no tool that starts agents",
    "depth": "the limit of depth of `{}` is reached",
    "unknown-agent": "there is no such agent",
    "not-started": "it was not started here",  # an agent that calls all the same
}
_REASONS = {reason.value: reason for reason in Reason}


@frozen
class Link:
    """An agent at its position in a chain."""

    name: str  # the agent
    table: Table  # its rights, and what it may hand on, at this position
    depth: int = 0  # how many agents are above it
    state: object = None  # further data of the position, for the reading of the host
    confirm: tuple[str, ...] = ()  # the links that ask before the agent is started


class Reading(Protocol):
    """A reading of one project: how an agent's rights follow from those of its parent.

    One that goes by the number of agents in front, in a way that files or options change, says by
    an attribute `by_depth` which way that is. One whose steps look at no name of a parent, but at
    its rights and state, has `by_rights` set.
    """

    @property
    def name(self) -> str:
        """``attenuated`` or ``enforced``."""

    @property
    def agents(self) -> tuple[str, ...]:
        """Every agent that can be a link."""

    def start(self, agent: str) -> Link:
        """Return the first link. Raises KeyError for an unknown agent."""

    def step(self, parent: Link, agent: str) -> Link:
        """Return the link of *agent* below *parent*. Raises KeyError for an unknown agent."""

    def spawn_call(self, agent: str) -> tuple[str, dict[str, object]]:
        """Return the tool and the arguments of the call that starts *agent*."""


class Decider(Protocol):
    """A table, or a table whose calls are made in one place."""

    def decide(self, tool: str, call: Mapping[str, object], *, checked: bool = ...) -> Decision:
        """Return the decision on a call (see `Table.decide`)."""

    def account(self, tool: str, call: Mapping[str, object]) -> tuple[Clause, ...]:
        """Return the clauses of a shell command, each with its decision (see `Table.account`)."""


class CallPlace(Protocol):
    """The place in which calls are made, such as a known folder."""

    def decider(self, table: Table) -> Decider:
        """Return the decider of calls that *table* decides in this place."""


def attenuate(parent: Table, child: Table) -> Table:
    """Return the table of a started agent: *child* meets what *parent* may hand on."""
    use = child.use & parent.delegated
    delegate = None
    if child.delegate is not None or parent.delegate is not None:
        delegate = child.delegated & parent.delegated
    return Table(use, delegate, child.bounds & handed_down(parent.bounds))


def handed_down(bounds: Bounds) -> Bounds:
    """Return the bounds one level below an agent with *bounds*."""
    return evolve(bounds, depth=None if bounds.depth is None else bounds.depth - 1)


def usual_spawn_call(agent: str) -> tuple[str, dict[str, object]]:
    """Return the tool and the arguments with which most hosts start *agent*."""
    return SPAWN_TOOL, {"subagent_type": agent}


@frozen
class Attenuated:
    """The attenuated reading: the meet of what every link declares."""

    tables: Mapping[str, Table]  # agent -> the table that it declares
    # Agent -> its table at the start of a chain, if that differs. No agent starts an agent that is
    # in this mapping alone.
    roots: Mapping[str, Table] = field(factory=dict)
    # Start of chains in other projects -> its table, for comparisons with them.
    variants: Mapping[str, Table] = field(factory=dict)
    # Agent -> the call that starts it, if that is not the usual call.
    calls: Mapping[str, tuple[str, Mapping[str, object]]] = field(factory=dict)
    name: str = "attenuated"

    @property
    def agents(self) -> tuple[str, ...]:
        """Every agent that can be a link."""
        return tuple(dict.fromkeys((*self.tables, *self.roots)))

    def start(self, agent: str) -> Link:
        """Return the first link."""
        own = self.roots.get(agent) or self.tables.get(agent)
        return Link(agent, own or self.variants[agent])

    def step(self, parent: Link, agent: str) -> Link:
        """Return the link behind *parent*."""
        return Link(agent, attenuate(parent.table, self.tables[agent]), parent.depth + 1)

    def spawn_call(self, agent: str) -> tuple[str, dict[str, object]]:
        """Return the tool and the arguments of the call that starts *agent*."""
        tool, call = self.calls.get(agent) or usual_spawn_call(agent)
        return tool, {**call}


@frozen(repr=False)
class Chain:
    """The agents from the root to the agent that makes a call.

    Attributes:
        links: the links from the root down.
        reading: the reading that gives further links.
        place: where calls are made; None for a project without a folder.
    """

    links: tuple[Link, ...]
    reading: Reading = field(eq=False, repr=False)
    place: CallPlace | None = field(default=None, eq=False, repr=False)

    @classmethod
    def start(cls, agent: str, reading: Reading, place: CallPlace | None = None) -> Chain:
        """Return the chain of the root *agent* alone. Raises SpawnDenied for an unknown agent."""
        try:
            return cls((reading.start(agent),), reading, place)
        except KeyError:
            raise SpawnDenied(agent, "the root", "unknown-agent", (), reading) from None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the agents."""
        return tuple(link.name for link in self.links)

    @property
    def table(self) -> Table:
        """The table of the last agent at its position in the chain."""
        return self.links[-1].table

    @cached_property
    def _decider(self) -> Decider:
        return self.table if self.place is None else self.place.decider(self.table)

    def decide(
        self, tool: str, call: Mapping[str, object] = NO_CALL, *, checked: bool = False
    ) -> Decision:
        """Return the decision on a call of the last agent in `place` (see `Table.decide`)."""
        return self._decider.decide(tool, call, checked=checked)

    def account(self, tool: str, call: Mapping[str, object]) -> tuple[Clause, ...]:
        """Return the clauses of a shell command, each with its decision (see `Table.account`)."""
        return self._decider.account(tool, call)

    def start_call(
        self, agent: str, arguments: Mapping[str, object] = NO_ARGUMENTS
    ) -> tuple[str, dict[str, object]]:
        """Return the call that starts *agent*, with those of *arguments* that rules look at."""
        tool, call = self.reading.spawn_call(agent)
        looked: dict[str, object] = {}
        for row, _ in self.table.lookup(tool).rows if arguments else ():
            fields = {entry.field for entry in row.entries}.difference(row.argument.fields)
            looked.update((field, arguments[field]) for field in fields if field in arguments)
        return tool, {**looked, **call}

    def spawning(self, agent: str, arguments: Mapping[str, object] = NO_ARGUMENTS) -> Decision:
        """Return the decision for a call that starts *agent* with more arguments, e.g. a model."""
        return self.table.decide(*self.start_call(agent, arguments))

    def most_starting(self, agent: str) -> tuple[str, dict[str, object], Decision]:
        """Return the call that starts *agent* and has the widest effect, and its decision.

        If too many calls would have to be tried, the decision is an upper bound.
        """
        tool, call = self.reading.spawn_call(agent)
        lookup = self.table.lookup(tool)
        rows = [row for row, _ in lookup.rows]
        if not any(row.has_parameters for row in rows):
            return tool, call, self.table.decide(tool, call)
        from policy.tables.parameters import calls_beside  # noqa: PLC0415  # few rules need it

        found = [(arguments, lookup.combined(each)) for arguments, each in calls_beside(rows, call)]
        return tool, *max(found, key=lambda pair: pair[1].effect)

    def spawn(self, agent: str, arguments: Mapping[str, object] | None = None) -> Chain:
        """Return the narrower chain in which the last agent started *agent*.

        If a link asks, this is the chain after the confirmation; `Link.confirm` of its last link
        has the links that ask.

        Args:
            agent: the agent that is started.
            arguments: further arguments of the call, e.g. the model; by default those with the
                widest effect.

        Raises:
            SpawnDenied: a link denies it, a limit of depth is reached, or there
                is no such agent.
        """
        expect(AN_AGENT, "agent", agent, str)
        last = self.links[-1]
        decision = (
            self.most_starting(agent)[2] if arguments is None else self.spawning(agent, arguments)
        )
        if decision.effect is Effect.DENY:
            is_deep = decision.reason is Reason.DEPTH  # the last may start none, whose limit it is
            denying = decision.links[0] if decision.links and not is_deep else last.name
            because = decision.because
            raise SpawnDenied(agent, denying, decision.reason.value, because, self.reading)
        if last.table.bounds.is_last:
            raise SpawnDenied(agent, last.name, "depth")
        try:
            link = self.reading.step(last, agent)
        except KeyError:
            raise SpawnDenied(agent, last.name, "unknown-agent", (), self.reading) from None
        if decision.effect is Effect.ASK:
            link = evolve(link, confirm=decision.links or (last.name,))
        return Chain((*self.links, link), self.reading, self.place)

    def __repr__(self) -> str:
        return f"<Chain {self} {self.reading.name} {self.table!r}>"

    def __str__(self) -> str:
        return ">".join(self.names)
