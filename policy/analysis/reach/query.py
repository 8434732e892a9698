"""Finds the agents that can make a call that a matcher matches, through any chain.

An agent can make such a call if its table differs from the same table with these calls denied. That
is one comparison, exact and with a witness (`Table.differences`). If each call that it shows is
asked for, a second comparison, with these calls asked for, looks for one that is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from policy.analysis.reach.worklist import MANY_POSITIONS, reach
from policy.compare.tables import differences, reported
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
    """Return the policy of the one agent in *source*. Raises PolicyError unless it has just one."""
    notation_project(source)  # raises what loading the file would
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

    project: str  # its `Project.title`
    reading: str  # ``attenuated`` or ``enforced``
    agent: str
    # A shortest chain with the greatest effect. If the agent cannot make the call, a chain that
    # denies it; if no chain reaches the agent, one that may not start it.
    chain: tuple[str, ...] = ()
    tool: str = ""  # the tool of the witness
    call: dict[str, object] = field(factory=dict, eq=False)  # its arguments
    decision: Decision | None = None  # on the witness; None if no agent starts chains

    @property
    def effect(self) -> Effect:
        """The effect of the witness."""
        return Effect.DENY if self.decision is None else self.decision.effect

    @property
    def because(self) -> tuple[Because, ...]:
        """The rules that decide the witness; empty if no rule grants it."""
        return () if self.decision is None else self.decision.because

    @property
    def is_unreached(self) -> bool:
        """Whether no chain reaches the agent."""
        return self.chain[-1:] != (self.agent,)

    def shown(self, chain: Chain, call: Call, decision: Decision) -> Answer:
        """Return this answer with a call of *chain* as its witness."""
        return evolve(self, chain=chain.names, tool=call[0], call=call[1], decision=decision)


def _examples(denied: Table) -> tuple[Call, ...]:
    """Return calls that the rules of *denied* deny, at least one for each rule."""
    (part,) = denied.use.parts
    everything = Table.of(RuleSet((), Effect.ALLOW, part.rules.dialect))
    named = {entry.tool for entry in part.rules.entries}
    found = [each for each in differences(everything, denied).differences if each.after.because]
    # A rule for `Write` also denies a command that writes a file: a worse example.
    found.sort(key=lambda each: each.tool not in named)
    return tuple((each.tool, each.call) for each in found)


def _refusal(
    unexplained: Answer,
    calls: Sequence[Call],
    chains: Iterable[Chain],
    starts: Iterable[str],
    reading: Reading,
) -> Answer:
    """Return *unexplained* with a denied call as its witness, or else a denied start."""
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
    # A rule that denies explains more than a default.
    return min(found, key=lambda one: not one.because, default=unexplained)


@frozen
class Query:
    """The agents that can make such a call, and those that cannot, by reading."""

    answers: tuple[Answer, ...]  # the agents that can
    refused: tuple[Answer, ...]  # the agents that cannot, or that no chain reaches
    why: tuple[str, ...] = ()  # why a refused agent may be able to after all; empty if none is

    @property
    def exact(self) -> bool:
        """Whether it is certain that no refused agent can."""
        return not self.why


def query(workspace: Workspace, matcher: Matcher, *, readings: Iterable[str] = READINGS) -> Query:
    """Return which agents can make a call of *matcher*; raise PolicyError if it matches no call."""
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
                # Chains come shortest first, and `max` returns the first of equals.
                best = max(can, key=lambda one: one.effect, default=None)
                answers.append(best or _refusal(answer, calls, chains, starts, reading))
                if agent in found.most and (best is None or best.effect < Effect.ALLOW):
                    granted.note_unfollowed(found.most[agent])
        why |= granted.why
    granting = tuple(answer for answer in answers if answer.effect is not Effect.DENY)
    refused = tuple(answer for answer in answers if answer.effect is Effect.DENY)
    return Query(granting, refused, tuple(why))


def _dialect(project: Project) -> Dialect:
    return dialect_of(entry.declared for entry in project.agents.values())


class GrantedCalls:
    """The calls of one kind that chains grant; chains with the same rule sets are compared once.

    *denied* is the table that denies calls of the kind, *asked* the one that asks for them. `why`
    says why chains may grant more.
    """

    def __init__(self, denied: Table, asked: Table) -> None:
        self.denied = denied
        self.why: dict[str, None] = {}
        self._asked = asked
        self._compared: dict[object, tuple[Difference, ...]] = {}

    def by(self, chain: Chain) -> Iterator[tuple[Call, Decision]]:
        """Yield some of the calls that *chain* grants, one of the greatest effect among them."""
        key = chain.table.use.sets
        if key not in self._compared:
            found = self._granted(chain.table, self.denied, Effect.DENY)
            # A comparison need not show a call of each effect: a program may be asked for, and
            # allowed behind a wrapper.
            if {each.before.effect for each in found} == {Effect.ASK}:
                found += self._granted(chain.table, self._asked, Effect.ASK)
            self._compared[key] = found
        for each in self._compared[key]:
            decision = chain.decide(each.tool, each.call)
            if decision.effect is not Effect.DENY:
                yield (each.tool, each.call), decision

    def note_unfollowed(self, table: Table) -> None:
        """Note in `why` that chains not followed may grant calls, if *table*, their bound, does."""
        if self._granted(table, self.denied, Effect.DENY):
            self.why[MANY_POSITIONS] = None

    def _granted(self, table: Table, other: Table, effect: Effect) -> tuple[Difference, ...]:
        """Return calls for which *table* grants more than the *effect* that rules of *other* give.

        Calls of tools that these rules name come first. A rule for `Read` also applies to commands
        that read a file, which are worse examples.
        """
        comparison = differences(table, table & other)
        self.why |= dict.fromkeys(comparison.why)
        # A call that the meet denies for another reason than a rule does not match the matcher.
        by_rule = (
            each
            for each in reported(comparison.differences, table, other)
            if each.after.effect is effect and each.after.reason is Reason.RULE
        )
        tools = {entry.tool for part in other.use.parts for entry in part.rules.entries}
        return tuple(sorted(by_rule, key=lambda each: each.tool not in tools))


@frozen
class Excess:
    """A call for which a chain grants more than a maximum; `difference.before` is the maximum."""

    project: str
    reading: str
    chain: tuple[str, ...]  # a shortest one
    difference: Difference


def exceeds(
    workspace: Workspace, maximum: Policy, *, readings: Iterable[str] = READINGS
) -> tuple[tuple[Excess, ...], tuple[str, ...]]:
    """Return the calls granted beyond *maximum*, and why there may be more.

    Raises PolicyError if a rule of the maximum can match no call.
    """
    found: dict[object, Excess] = {}
    why: dict[str, None] = {}
    for project in workspace.projects:
        most = Table(compile_policy(maximum, _dialect(project), root=True).use)

        def beyond(table: Table, most: Table = most) -> list[Difference]:
            comparison = differences(table & most, table)
            why.update(dict.fromkeys(comparison.why))
            return [each for each in reported(comparison.differences, table, most) if each.widened]

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
