"""Who can make a call that a matcher matches, over all agents and chains.

An agent can when denying those calls would take something away from it: that is one comparison,
exact and with a witness (`Table.differences`). It can without being asked when asking for them
would, which is another one where all that the first shows is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from policy.analysis.reach.worklist import MANY_POSITIONS, reach
from policy.compare.tables import differences, told
from policy.compare.witness import Difference
from policy.core.decision import Because, Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.source import Source
from policy.core.values import evolve, field, frozen
from policy.hosts.notation import policies
from policy.hosts.notation import project as notation_project
from policy.hosts.notation.semantics import compile_policy, dialect_of, matching
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace
from policy.language.parse import parse_notation
from policy.language.syntax import Matcher, Policy
from policy.tables.chain import READINGS, Chain, Reading, SpawnDenied
from policy.tables.dialect import Dialect
from policy.tables.ruleset import RuleSet
from policy.tables.table import Table


def read_maximum(source: Source) -> Policy:
    """Return the policy of a file of one agent, or raise PolicyError."""
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
class Answer:
    """Whether an agent can make such a call, and why."""

    project: str  # where, as `Project.title`
    reading: str  # ``attenuated`` or ``enforced``
    agent: str  # who can, or cannot
    # A shortest with the greatest effect. Of an agent that cannot, one that is refused the call, or
    # where none reaches it one that may not start it.
    chain: tuple[str, ...] = ()
    tool: str = ""  # of a call that shows it, whose arguments are `call`
    call: dict[str, object] = field(factory=dict, eq=False)
    decision: Decision | None = None  # what it gets; None where no agent starts chains

    @property
    def effect(self) -> Effect:
        """What the call gets."""
        return Effect.DENY if self.decision is None else self.decision.effect

    @property
    def because(self) -> tuple[Because, ...]:
        """The rules that decide it; none where nothing grants it."""
        return () if self.decision is None else self.decision.because

    @property
    def is_unreached(self) -> bool:
        """Whether no chain reaches the agent."""
        return self.chain[-1:] != (self.agent,)

    def shown(self, chain: Chain, call: Call, decision: Decision) -> Answer:
        """Return the same, shown by a call of *chain*."""
        return evolve(self, chain=chain.names, tool=call[0], call=call[1], decision=decision)


def _examples(denied: Table) -> tuple[Call, ...]:
    """Return calls of all that *denied* denies by a rule, one for each of its rules or more."""
    (part,) = denied.use.parts
    everything = Table.of(RuleSet((), Effect.ALLOW, part.rules.dialect))
    named = {entry.tool for entry in part.rules.entries}
    found = [each for each in differences(everything, denied).differences if each.after.because]
    # Others do so in part only, e.g. a command that writes a file.
    found.sort(key=lambda each: each.tool not in named)
    return tuple((each.tool, each.call) for each in found)


def _refusal(
    unexplained: Answer,
    calls: Sequence[Call],
    chains: Iterable[Chain],
    starts: Iterable[str],
    reading: Reading,
) -> Answer:
    """Return why an agent cannot make *calls*, by a chain that reaches it, or its start."""
    found: list[Answer] = []
    for chain in chains:
        for call in calls:
            decision = chain.decide(*call)
            if decision.effect is Effect.DENY:
                found.append(unexplained.shown(chain, call, decision))
    for start in starts if not found else ():
        try:
            chain = Chain.start(start, reading)
            chain.spawn(unexplained.agent)
        except SpawnDenied as denied:
            if denied.agent != start:
                call = reading.spawn_call(unexplained.agent)
                found.append(unexplained.shown(chain, call, denied.decision))
    # A rule that refuses says more than that no rule grants.
    return min(found, key=lambda one: not one.because, default=unexplained)


@frozen
class Query:
    """Who can, and who cannot."""

    answers: tuple[Answer, ...]  # who can, an answer for each agent and reading
    refused: tuple[Answer, ...]  # who cannot, and why; agents that no chain reaches are among them
    why: tuple[str, ...] = ()  # why some of the others may be able to; nothing where none is

    @property
    def without(self) -> tuple[tuple[str, str, str], ...]:
        """Who cannot: project, reading, agent."""
        return tuple((each.project, each.reading, each.agent) for each in self.refused)

    @property
    def exact(self) -> bool:
        """Whether all others really cannot."""
        return not self.why


def query(workspace: Workspace, matcher: Matcher, *, readings: Iterable[str] = READINGS) -> Query:
    """Return who can make a call that *matcher* matches. Raises PolicyError if it matches none."""
    answers: list[Answer] = []
    why: dict[str, None] = {}
    for project in workspace.projects:
        dialect = _dialect(project)
        granted = GrantedCalls(matching(matcher, dialect), matching(matcher, dialect, Effect.ASK))
        calls = _examples(granted.denied)
        for name in readings:
            reading, starts = project.reading(name), project.all_starts
            found = reach(project, reading, starts)
            for agent in dict.fromkeys([*starts, *project.agents, *found.chains]):
                answer, chains = Answer(project.title, name, agent), found.chains.get(agent, ())
                can = [answer.shown(chain, *each) for chain in chains for each in granted.by(chain)]
                # The first of the greatest effect: chains come shortest first.
                best = max(can, key=lambda one: one.effect, default=None)
                answers.append(best or _refusal(answer, calls, chains, starts, reading))
                if agent in found.most and (best is None or best.effect < Effect.ALLOW):
                    granted.at_most(found.most[agent])
        why |= granted.why
    granting = tuple(answer for answer in answers if answer.effect is not Effect.DENY)
    refused = tuple(answer for answer in answers if answer.effect is Effect.DENY)
    return Query(granting, refused, tuple(why))


def _dialect(project: Project) -> Dialect:
    return dialect_of(entry.declared for entry in project.agents.values())


class GrantedCalls:
    """What chains grant of some calls, compared once for chains with the same rule sets.

    *denied* denies these calls, *asked* asks for them; `why` is why more may be granted.
    """

    def __init__(self, denied: Table, asked: Table) -> None:
        self.denied = denied
        self.why: dict[str, None] = {}
        self._asked = asked
        self._known: dict[object, tuple[Difference, ...]] = {}

    def by(self, chain: Chain) -> Iterator[tuple[Call, Decision]]:
        """Yield calls that *chain* grants, and what they get: some of the most among them."""
        key = chain.table.use.sets
        if key not in self._known:
            found = self._taken(chain.table, self.denied, Effect.DENY)
            # A comparison shows that there is less, not of each effect what is less: the program
            # behind a wrapper may be allowed where it alone is asked for.
            if {each.before.effect for each in found} == {Effect.ASK}:
                found += self._taken(chain.table, self._asked, Effect.ASK)
            self._known[key] = found
        for each in self._known[key]:
            decision = chain.decide(each.tool, each.call)
            if decision.effect is not Effect.DENY:
                yield (each.tool, each.call), decision

    def at_most(self, table: Table) -> None:
        """Note that a chain may grant more, unless *table*, which grants no less, grants none."""
        if self._taken(table, self.denied, Effect.DENY):
            self.why[MANY_POSITIONS] = None

    def _taken(self, table: Table, other: Table, effect: Effect) -> tuple[Difference, ...]:
        """Return what *table* grants of the calls that *other* denies, or asks for: its *effect*.

        Calls of the tools that its rules name come first: a rule for `Read` also applies to
        commands that read a file, which are less plain examples.
        """
        comparison = differences(table, table & other)
        self.why |= dict.fromkeys(comparison.why)
        # What only cannot be read any more, or is asked for, is no call that was asked about.
        by_rule = (
            each
            for each in told(comparison.differences, table, other)
            if each.after.effect is effect and each.after.reason is Reason.RULE
        )
        tools = {entry.tool for part in other.use.parts for entry in part.rules.entries}
        return tuple(sorted(by_rule, key=lambda each: each.tool not in tools))


@frozen
class Excess:
    """A call that a chain, a shortest, grants beyond a maximum: before is what that leaves."""

    project: str
    reading: str
    chain: tuple[str, ...]
    difference: Difference


def exceeds(
    workspace: Workspace, maximum: Policy, *, readings: Iterable[str] = READINGS
) -> tuple[tuple[Excess, ...], tuple[str, ...]]:
    """Return what agents are granted beyond *maximum*, and why there may be more.

    Raises PolicyError: a rule of the maximum can match no call.
    """
    found: dict[object, Excess] = {}
    why: dict[str, None] = {}
    for project in workspace.projects:
        most = Table(compile_policy(maximum, _dialect(project), root=True).use)

        def beyond(table: Table, most: Table = most) -> list[Difference]:
            comparison = differences(table & most, table)
            why.update(dict.fromkeys(comparison.why))
            return [each for each in told(comparison.differences, table, most) if each.widened]

        for reading in readings:
            positions = reach(project, project.reading(reading), project.all_starts)
            if any(beyond(table) for table in positions.most.values()):
                why[MANY_POSITIONS] = None
            for chain in positions.by_table:
                for each in beyond(chain.table):
                    key = (project.title, reading, chain.names[-1], each.tool, str(each.call))
                    excess = Excess(project.title, reading, chain.names, each)
                    found.setdefault(key, excess)
    return tuple(found.values()), tuple(why)
