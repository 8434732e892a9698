"""Who can make a call that a matcher matches, over all agents and chains.

An agent can when denying those calls would take something away from it: that is one comparison,
exact and with a witness (`Table.differences`). It can without being asked when asking for them
would, which is another one where all that the first shows is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from policy.analysis.reach.worklist import MANY_POSITIONS, reach
from policy.compare.compare import Comparison
from policy.compare.tables import differences, told
from policy.compare.witness import Difference
from policy.core.decision import Because, Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.source import Source
from policy.core.values import evolve, field, frozen
from policy.hosts.notation import policies
from policy.hosts.notation import project as notation_project
from policy.hosts.notation.semantics import dialect_of, matching, semantics
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace
from policy.language.parse import parse_notation
from policy.language.syntax import Matcher, Policy
from policy.tables.chain import READINGS, Chain, Reading, SpawnDenied, spawn_call
from policy.tables.compile import compile_policy
from policy.tables.dialect import Dialect
from policy.tables.ruleset import RuleSet
from policy.tables.table import Table

__all__ = [
    "Answer",
    "Call",
    "CallRefusal",
    "Excess",
    "Query",
    "exceeds",
    "query",
    "read_maximum",
    "refusal",
    "taken",
]


def read_maximum(source: Source) -> Policy:
    """Return the policy that a file of one agent states.

    Raises:
        PolicyError: the file cannot be read, an example in it does not hold, or it
            states more or less than that.

    """
    notation_project(source)  # as it would be loaded
    document = parse_notation(source)
    agents = policies(document)
    if len(agents) != 1:
        msg = f"expected one agent, found {len(agents)}"
        raise PolicyError(msg, document.span, help="a maximum is what one agent may do at most")
    return agents[0]


# A tool and the arguments of a call.
Call = tuple[str, dict[str, object]]


@frozen
class CallRefusal:
    """An agent that cannot make such a call, and why.

    Attributes:
        project: where, as `Project.title`.
        reading: ``attenuated`` or ``enforced``.
        agent: who cannot.
        chain: who is refused the call: a chain of the agent, or where none reaches it one
            that may not start it.
        tool: of a call that is refused.
        call: its arguments.
        decision: what it gets; None where no agent starts chains.

    """

    project: str
    reading: str
    agent: str
    chain: tuple[str, ...] = ()
    tool: str = ""
    call: dict[str, object] = field(factory=dict, eq=False)
    decision: Decision | None = None

    @property
    def because(self) -> tuple[Because, ...]:
        """The rules that refuse it; none where nothing grants it."""
        return () if self.decision is None else self.decision.because

    @property
    def is_unreached(self) -> bool:
        """Whether no chain reaches the agent."""
        return self.chain[-1:] != (self.agent,)


def _examples(denied: Table) -> tuple[Call, ...]:
    """Return calls of all that *denied* denies by a rule, one for each of its rules or more."""
    (part,) = denied.use.parts
    everything = Table.of(RuleSet((), Effect.ALLOW, part.rules.dialect))
    named = {entry.tool for entry in part.rules.entries}
    found = [each for each in differences(everything, denied).differences if each.after.because]
    # Others do so in part only, e.g. a command that writes a file.
    found.sort(key=lambda each: each.tool not in named)
    return tuple((each.tool, each.call) for each in found)


def refusal(
    unexplained: CallRefusal,
    calls: Sequence[Call],
    chains: Iterable[Chain],
    starts: Iterable[str],
    reading: Reading,
) -> CallRefusal:
    """Return why an agent cannot make a call.

    Args:
        unexplained: which agent, and where.
        calls: some of those that are asked about.
        chains: those that reach it, the shortest first.
        starts: the agents that start chains.
        reading: how chains come about.

    """
    found: list[CallRefusal] = []
    for chain in chains:
        for tool, call in calls:
            decision = chain.decide(tool, call)
            if decision.effect is Effect.DENY:
                found.append(_explained(unexplained, chain, (tool, call), decision))
    if not found:
        for start in starts:
            try:
                chain = Chain.start(start, reading)
                chain.spawn(unexplained.agent)
            except SpawnDenied as denied:
                if denied.agent != start:
                    call_ = spawn_call(reading, unexplained.agent)
                    found.append(_explained(unexplained, chain, call_, denied.decision))
    # A rule that refuses says more than that no rule grants.
    return min(found, key=lambda one: not one.because, default=unexplained)


def _explained(
    unexplained: CallRefusal, chain: Chain, call: Call, decision: Decision
) -> CallRefusal:
    return evolve(unexplained, chain=chain.names, tool=call[0], call=call[1], decision=decision)


@frozen
class Answer:
    """An agent that can make such a call.

    Attributes:
        project: where, as `Project.title`.
        reading: ``attenuated`` or ``enforced``.
        chain: the shortest chain with the greatest effect.
        tool: of the witness.
        call: its arguments.
        decision: what the witness gets: effect, reasons, links.

    """

    project: str
    reading: str
    chain: tuple[str, ...]
    tool: str
    call: dict[str, object] = field(eq=False)
    decision: Decision

    @property
    def agent(self) -> str:
        """Who can."""
        return self.chain[-1]


@frozen
class Query:
    """Who can, and who cannot.

    Attributes:
        answers: who can, an answer for each agent and reading.
        refused: who cannot, and why; agents that no chain reaches are among them.
        why: why some of the others may be able to; nothing where none is.

    """

    answers: tuple[Answer, ...]
    refused: tuple[CallRefusal, ...]
    why: tuple[str, ...] = ()

    @property
    def without(self) -> tuple[tuple[str, str, str], ...]:
        """Who cannot: project, reading, agent."""
        return tuple((each.project, each.reading, each.agent) for each in self.refused)

    @property
    def exact(self) -> bool:
        """Whether all others really cannot."""
        return not self.why


def query(workspace: Workspace, matcher: Matcher, *, readings: Iterable[str] = READINGS) -> Query:
    """Return who can make a call that *matcher* matches.

    Raises:
        PolicyError: the matcher can match no call.

    """
    asked = [_AskedProject(project, matcher) for project in workspace.projects]
    for each in asked:
        for reading in readings:
            each.run(reading)
    return Query(
        tuple(answer for each in asked for answer in each.answers),
        tuple(refused for each in asked for refused in each.refused),
        tuple(dict.fromkeys(why for each in asked for why in each.why)),
    )


class _AskedProject:
    """The answers for one project."""

    def __init__(self, project: Project, matcher: Matcher) -> None:
        self.answers: list[Answer] = []
        self.refused: list[CallRefusal] = []
        self.why: dict[str, None] = {}
        self._project = project
        dialect = _dialect(project)
        self._denied = matching(matcher, dialect)
        self._asked = matching(matcher, dialect, Effect.ASK)
        self._calls = _examples(self._denied)
        self._known: dict[object, Comparison] = {}

    def run(self, name: str) -> None:
        """Find who can make the call, and who cannot, in the reading of that *name*."""
        project, reading = self._project, self._project.reading(name)
        found = reach(project, reading, project.all_starts)
        for agent in dict.fromkeys([*project.all_starts, *project.agents, *found.chains]):
            chains = found.chains.get(agent, ())
            granted = [answer for chain in chains for answer in self._answers(name, chain)]
            # The first of the greatest effect: chains come shortest first.
            best = max(granted, key=lambda answer: answer.decision.effect, default=None)
            if best is not None:
                self.answers.append(best)
            else:
                unexplained = CallRefusal(project.title, name, agent)
                starts = project.all_starts
                self.refused.append(refusal(unexplained, self._calls, chains, starts, reading))
            if agent in found.most and (best is None or best.decision.effect < Effect.ALLOW):
                # What is refused at most is refused to every chain.
                at_most = taken(found.most[agent], self._denied)
                self.why |= dict.fromkeys(at_most.why)
                if at_most.differences:
                    self.why[MANY_POSITIONS] = None

    def _answers(self, reading: str, chain: Chain) -> Iterator[Answer]:
        """Yield calls of *chain* that are not denied."""
        key = chain.table.use.sets
        if key not in self._known:
            self._known[key] = _granted(chain.table, self._denied, self._asked)
        self.why |= dict.fromkeys(self._known[key].why)
        for found in self._known[key].differences:
            decision = chain.decide(found.tool, found.call)
            if decision.effect is not Effect.DENY:
                title, names = self._project.title, chain.names
                yield Answer(title, reading, names, found.tool, found.call, decision)


def _dialect(project: Project) -> Dialect:
    return dialect_of(entry.declared for entry in project.agents.values())


def taken(table: Table, denied: Table, effect: Effect = Effect.DENY) -> Comparison:
    """Return what *table* grants of the calls that *denied* denies, or asks for: its *effect*.

    Calls of the tools that its rules name come first: a rule for `Read` also applies to commands
    that read a file, which are less plain examples.
    """
    comparison = differences(table, table & denied)
    found = told(comparison.differences, table, denied)
    # What only cannot be read any more, or is asked for, is no call that was asked about.
    by_rule = (
        each for each in found if each.after.effect is effect and each.after.reason is Reason.RULE
    )
    tools = {entry.tool for part in denied.use.parts for entry in part.rules.entries}
    named = sorted(by_rule, key=lambda each: each.tool not in tools)
    return evolve(comparison, differences=tuple(named))


def _granted(table: Table, denied: Table, asked: Table) -> Comparison:
    """Return what *table* grants of the calls that *denied* denies, some of the most among it.

    A comparison shows that there is less, not of each effect what is less: the program behind a
    wrapper may be allowed where it alone is asked for.
    """
    found = taken(table, denied)
    if {each.before.effect for each in found.differences} != {Effect.ASK}:
        return found
    when_asked = taken(table, asked, Effect.ASK)
    why = tuple(dict.fromkeys((*found.why, *when_asked.why)))
    return Comparison((*found.differences, *when_asked.differences), why)


@frozen
class Excess:
    """A call that a chain grants beyond a maximum.

    Attributes:
        project: where, as `Project.title`.
        reading: ``attenuated`` or ``enforced``.
        chain: the shortest chain it concerns.
        difference: the witness; *before* is what the maximum leaves of it.

    """

    project: str
    reading: str
    chain: tuple[str, ...]
    difference: Difference


def exceeds(
    workspace: Workspace, maximum: Policy, *, readings: Iterable[str] = READINGS
) -> tuple[tuple[Excess, ...], tuple[str, ...]]:
    """Return what agents are granted beyond *maximum*, and why there may be more.

    Raises:
        PolicyError: a rule of the maximum can match no call.

    """
    found: dict[object, Excess] = {}
    why: dict[str, None] = {}
    for project in workspace.projects:
        most = Table(compile_policy(maximum, semantics(_dialect(project)), root=True).use)
        for reading in readings:
            positions = reach(project, project.reading(reading), project.all_starts)
            for table in positions.most.values():
                beyond = differences(table & most, table)
                why.update(dict.fromkeys(beyond.why))
                if any(each.widened for each in beyond.differences):
                    why[MANY_POSITIONS] = None
            known: set[object] = set()
            chains = [chain for chains in positions.chains.values() for chain in chains]
            for chain in sorted(chains, key=lambda chain: (len(chain.names), chain.names)):
                if chain.table.use.sets in known:
                    continue
                known.add(chain.table.use.sets)
                comparison = differences(chain.table & most, chain.table)
                why.update(dict.fromkeys(comparison.why))
                for each in told(comparison.differences, chain.table, most):
                    if each.widened:
                        key = (project.title, reading, chain.names[-1], each.tool, str(each.call))
                        excess = Excess(project.title, reading, chain.names, each)
                        found.setdefault(key, excess)
    return tuple(found.values()), tuple(why)
