"""Who can make a call that a matcher matches, over all agents and chains.

An agent can when denying those calls would take something away from it: that
is one comparison, exact and with a witness (`Table.differences`). It can unasked when
asking for them would, which is another one where all that the first shows is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from policy.chain import READINGS, Chain
from policy.comparison.compare import Comparison, Difference
from policy.compile import compile_policy
from policy.decision import Decision, Reason
from policy.dialect import Dialect
from policy.effect import Effect
from policy.language.syntax import Matcher, Policy
from policy.project import Project
from policy.reach.asked import dialect_of, matching, semantics
from policy.reach.refused import Refusal, asked_about, refusal
from policy.reach.worklist import MANY_POSITIONS, reach
from policy.table import Table
from policy.telling import told
from policy.workspace import Workspace

__all__ = ["Answer", "Excess", "Query", "exceeds", "query", "taken"]


@attrs.frozen
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
    call: dict[str, object] = attrs.field(eq=False)
    decision: Decision

    @property
    def agent(self) -> str:
        """Who can."""
        return self.chain[-1]


@attrs.frozen
class Query:
    """Who can, and who cannot.

    Attributes:
        answers: who can, an answer for each agent and reading.
        refused: who cannot, and why; agents that no chain reaches are among them.
        why: why some of the others may be able to; nothing where none is.

    """

    answers: tuple[Answer, ...]
    refused: tuple[Refusal, ...]
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
    answers: list[Answer] = []
    refused: list[Refusal] = []
    why: dict[str, None] = {}
    for project in workspace.projects:
        denied = matching(matcher, _dialect(project))
        asked = matching(matcher, _dialect(project), Effect.ASK)
        calls = asked_about(denied)
        for reading in readings:
            found = reach(project, project.reading(reading), project.all_starts)
            known: dict[object, Comparison] = {}
            for agent in dict.fromkeys([*project.all_starts, *project.agents, *found.chains]):
                granted: list[Answer] = []
                for chain in found.chains.get(agent, ()):
                    key = chain.table.use.sets
                    if key not in known:
                        known[key] = _granted(chain.table, denied, asked)
                    why.update(dict.fromkeys(known[key].why))
                    granted += _answers(project, reading, chain, known[key])
                # The first of the greatest effect: chains come shortest first.
                best = max(granted, key=lambda answer: answer.decision.effect, default=None)
                if best is not None:
                    answers.append(best)
                else:
                    refused.append(
                        refusal(
                            Refusal(project.title, reading, agent),
                            calls,
                            found.chains.get(agent, ()),
                            project.all_starts,
                            project.reading(reading),
                        )
                    )
                if agent in found.most and (best is None or best.decision.effect < Effect.ALLOW):
                    # What is refused at most is refused to every chain.
                    at_most = taken(found.most[agent], denied)
                    why.update(dict.fromkeys(at_most.why))
                    if at_most.differences:
                        why[MANY_POSITIONS] = None
    return Query(tuple(answers), tuple(refused), tuple(why))


def _dialect(project: Project) -> Dialect:
    return dialect_of(entry.declared for entry in project.agents.values())


def taken(table: Table, denied: Table, effect: Effect = Effect.DENY) -> Comparison:
    """Return what *table* grants of the calls that *denied* denies, or asks for: its *effect*.

    Calls of the tools that its rules name come first: a rule for `Read` is of commands too that
    read a file, and nobody thinks of these before.
    """
    comparison = table.differences(table & denied)
    found = told(comparison.differences, table, denied)
    # What only cannot be read any more, or is asked for, is no call that was asked about.
    by_rule = (
        each for each in found if each.after.effect is effect and each.after.reason is Reason.RULE
    )
    tools = {entry.tool for part in denied.use.parts for entry in part.rules.entries}
    named = sorted(by_rule, key=lambda each: each.tool not in tools)
    return attrs.evolve(comparison, differences=tuple(named))


def _granted(table: Table, denied: Table, asked: Table) -> Comparison:
    """Return what *table* grants of the calls that *denied* denies, some of the most among it.

    A comparison shows that there is less, not of each effect what is less: the program behind a
    wrapper may be allowed where it alone is asked for.
    """
    found = taken(table, denied)
    if {each.before.effect for each in found.differences} != {Effect.ASK}:
        return found
    unasked = taken(table, asked, Effect.ASK)
    why = tuple(dict.fromkeys((*found.why, *unasked.why)))
    return Comparison((*found.differences, *unasked.differences), why)


def _answers(project: Project, reading: str, chain: Chain, known: Comparison) -> Iterator[Answer]:
    for found in known.differences:
        decision = chain.decide(found.tool, found.call)
        if decision.effect is not Effect.DENY:
            yield Answer(project.title, reading, chain.names, found.tool, found.call, decision)


@attrs.frozen
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
                beyond = (table & most).differences(table)
                why.update(dict.fromkeys(beyond.why))
                if any(each.widened for each in beyond.differences):
                    why[MANY_POSITIONS] = None
            known: set[object] = set()
            chains = [chain for chains in positions.chains.values() for chain in chains]
            for chain in sorted(chains, key=lambda chain: (len(chain.names), chain.names)):
                if chain.table.use.sets in known:
                    continue
                known.add(chain.table.use.sets)
                comparison = (chain.table & most).differences(chain.table)
                why.update(dict.fromkeys(comparison.why))
                for each in told(comparison.differences, chain.table, most):
                    if each.widened:
                        key = (project.title, reading, chain.names[-1], each.tool, str(each.call))
                        excess = Excess(project.title, reading, chain.names, each)
                        found.setdefault(key, excess)
    return tuple(found.values()), tuple(why)
