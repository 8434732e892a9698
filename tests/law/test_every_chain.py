"""Of random policies of every host: who can make a call, and what nobody can, against every chain."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from hypothesis import strategies as st

from policy.analysis.reach.never import check
from policy.analysis.reach.query import READINGS, Answer, Query, query
from policy.core import values
from policy.core.effect import Effect
from policy.core.source import Source
from policy.hosts.notation.semantics import dialect_of
from policy.hosts.project import Project
from policy.language.parse import parse_matcher, parse_notation
from policy.language.syntax import Never as Statement
from policy.tables.chain import Chain
from tests.universes import UNIVERSES, Call, Model, Universe, models, tried

# agent -> what it gets at most, and how many agents a shortest chain with that has.
_Best = dict[str, tuple[Effect, int]]

# Hosts of which a policy takes no second: those are tried at length.
QUICK = [name for name, each in UNIVERSES.items() if each.host != "claude-code"]


def best(chains: Iterable[Chain], calls: list[Call]) -> _Best:
    """Return who is granted one of *calls*."""
    found: _Best = {}
    for chain in chains:
        most = max((chain.decide(*call).effect for call in calls), default=Effect.DENY)
        known, length = found.get(chain.names[-1], (Effect.DENY, 0))
        if most > known or (most is known is not Effect.DENY and len(chain.names) < length):
            found[chain.names[-1]] = most, len(chain.names)
    return found


def is_confirmed(universe: Universe, project: Project, matcher: str, answer: Answer) -> None:
    chain = Chain.start(answer.chain[0], project.reading(answer.reading))
    for name in answer.chain[1:]:
        chain = chain.spawn(name)
    assert chain.decide(answer.tool, answer.call) == answer.decision
    assert answer.decision.effect is not Effect.DENY
    assert universe.is_about(matcher, (answer.tool, answer.call)), (matcher, answer)


def check_query(universe: Universe, model: Model, matcher: str) -> Query:
    """Compare who can, and who cannot, with every chain and call."""
    workspace = universe.load(model)
    (project,) = workspace.projects
    found = query(workspace, parse_matcher(matcher))
    for reading in READINGS:
        answers = [answer for answer in found.answers if answer.reading == reading]
        for answer in answers:
            is_confirmed(universe, project, matcher, answer)
        shown = [(answer.tool, answer.call) for answer in answers]
        asked = [call for call in (*universe.calls, *shown) if universe.is_about(matcher, call)]
        told = {each.agent: (each.decision.effect, len(each.chain)) for each in answers}
        assert len(told) == len(answers), "each agent is told of once"
        assert told == best(universe.walks(project, reading), asked), (reading, matcher)
        without = {each.agent for each in found.refused if each.reading == reading}
        everybody = {*project.agents, *project.all_starts}
        assert without == everybody - told.keys()
    return found


def draw_query(universe: Universe, data: st.DataObject) -> None:
    model = data.draw(models(universe))
    found = check_query(universe, model, data.draw(st.sampled_from(sorted(universe.matchers))))
    assert found.exact, found.why


@pytest.mark.parametrize("host", UNIVERSES)
def test_who_can_make_a_call_can_by_a_shortest_chain_and_nobody_else_can(host: str) -> None:
    tried(draw_query, UNIVERSES[host], 10)


def test_an_agent_that_only_plans_does_not_change_how_others_are_asked_about() -> None:
    universe = UNIVERSES["zeph"]
    options = {name: some[0] for name, some in universe.options.items()} | {"bob mode": "plan"}
    model = Model({"cy tools": ("Bash(a *)",)}, options)
    assert check_query(universe, model, "bash(* b)").exact


@pytest.mark.slow
@pytest.mark.parametrize("host", QUICK)
def test_of_many_policies_who_can_make_a_call_can_by_a_shortest_chain(host: str) -> None:
    tried(draw_query, UNIVERSES[host], 60)


# --- what nobody can ------------------------------------------------------------------


def _shape(links: list[str]) -> re.Pattern[str]:
    parts = {"*": r"\S+ ", "**": r"(?:\S+ )*"}  # a name may have a dash
    return re.compile("".join(parts.get(link, f"{link} ") for link in links))


def _statement(links: list[str], matcher: str) -> Statement:
    text = f"never {' > '.join(links)}: {matcher}\n"
    (found,) = parse_notation(Source("claims.policy", text)).body
    assert isinstance(found, Statement)
    return found


def check_never(universe: Universe, model: Model, links: list[str], matcher: str) -> bool | None:
    """Compare a claim with every chain and call."""
    project = universe.project(model)
    project = values.evolve(project, claims=(_statement(links, matcher),))
    reading, shape = project.attenuated, _shape(links)
    (found,) = check(project, dialect_of(e.declared for e in project.agents.values()))
    asked = [call for call in universe.calls if universe.is_about(matcher, call)]
    if found.holds is False:
        assert found.call is not None
        assert universe.is_about(matcher, found.call)
        assert shape.fullmatch("".join(f"{name} " for name in found.chain))
        chain = Chain.start(found.chain[0], reading)
        for name in found.chain[1:]:
            chain = chain.spawn(name)
        assert chain.decide(*found.call) == found.decision
        assert found.decision is not None
        assert found.decision.effect is not Effect.DENY
        asked.append(found.call)
    lengths = [
        len(chain.names)
        for chain in universe.walks(project, "attenuated")
        if shape.fullmatch("".join(f"{name} " for name in chain.names))
        and any(chain.decide(*call).effect is not Effect.DENY for call in asked)
    ]
    if lengths:
        assert found.holds is False
        assert len(found.chain) == min(lengths)
    return found.holds


def draw_never(universe: Universe, data: st.DataObject) -> None:
    model = data.draw(models(universe))
    names = ["*", "**", *universe.project(model).agents][:6]
    links = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=4))
    matcher = data.draw(st.sampled_from(sorted(universe.matchers)))
    assert check_never(universe, model, links, matcher) is not None


@pytest.mark.parametrize("host", UNIVERSES)
def test_what_never_happens_is_proven_and_what_does_is_shown_by_a_shortest_chain(host: str) -> None:
    tried(draw_never, UNIVERSES[host], 10)


@pytest.mark.slow
@pytest.mark.parametrize("host", QUICK)
def test_of_many_policies_what_never_happens_is_proven_and_what_does_is_shown(host: str) -> None:
    tried(draw_never, UNIVERSES[host], 60)
