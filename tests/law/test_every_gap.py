"""Of random policies of every host: what `audit` says of agents, against every chain and call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest
from hypothesis import strategies as st

from policy.analysis.reach.audit import AgentAudit, Gaps, ReadingGap, audit
from policy.compare.pair import OVERLAPS
from policy.core.effect import Effect
from policy.hosts.project import Project
from policy.tables.chain import Chain, SpawnDenied
from tests.told import COMMANDS, Effects, is_told
from tests.universes import UNIVERSES, Model, Universe, models, tried, walks

_Names = tuple[str, ...]

# Hosts of which a policy takes no second: those are tried at length.
QUICK = [name for name, each in UNIVERSES.items() if each.host != "claude-code"]


class Walked:
    """Every chain of a project in one reading, and what each call of it gets."""

    def __init__(self, universe: Universe, project: Project, reading: str) -> None:
        self.calls = universe.calls
        self.reading = project.reading(reading)
        variants = walks(self.reading, (*project.variants,), 1)
        started = walks(self.reading, project.starts, universe.longest, universe.said)
        self.chains: Mapping[_Names, Chain] = {
            chain.names: chain for some in (variants, started) for chain in some
        }
        self._effects: dict[object, list[Effect]] = {}

    def effects(self, chain: Chain) -> list[Effect]:
        """Return what each call gets."""
        key = chain.table.use.sets
        if key not in self._effects:
            self._effects[key] = [chain.decide(*call).effect for call in self.calls]
        return self._effects[key]

    def most(self, chains: Iterable[Chain]) -> list[Effect]:
        """Return what each call gets at most."""
        some = [self.effects(chain) for chain in chains]
        return [max(each) for each in zip(*some, strict=True)] or [Effect.DENY] * len(self.calls)

    def of(self, agent: str) -> list[Chain]:
        """Return the chains whose last agent it is."""
        return [chain for names, chain in self.chains.items() if names[-1] == agent]

    def chain(self, names: _Names) -> Chain | None:
        """Return one of any length; None where it cannot come about."""
        try:
            chain = Chain.start(names[0], self.reading)
            for name in names[1:]:
                chain = chain.spawn(name)
        except SpawnDenied:
            return self.chains.get(names)
        return chain


def check_positions(walked: Walked, agent: AgentAudit, chains: Iterable[Chain]) -> None:
    """Compare the positions that are told with every chain: these grant all, and nothing more."""
    told = [walked.chain(chain.names) for chain in chains]
    shown = [chain for chain in told if chain is not None]
    assert len(shown) == len(told), "every chain that is told comes about"
    # A chain that is longer than those that are walked may show more.
    every = walked.of(agent.name)
    assert bool(shown) == bool(every), agent.name
    assert walked.most(shown) == walked.most([*every, *shown]), agent.name


def check_gaps(ours: Walked, theirs: Walked, agent: str, gaps: Iterable[ReadingGap]) -> None:
    """Compare where the host grants something else than is declared with every call."""
    told: set[tuple[str, Effects]] = set()
    for gap in gaps:
        for walked, decision in ((ours, gap.before), (theirs, gap.after)):
            chain = walked.chain(gap.chain)
            assert chain is not None
            assert chain.decide(gap.tool, gap.call).effect is decision.effect
        told.add((gap.tool, gap.effects))
    for chain in ours.of(agent):
        real = theirs.chains.get(chain.names)
        if real is None:
            continue
        both = zip(ours.calls, ours.effects(chain), theirs.effects(real), strict=True)
        for call, was, now in both:
            own = {effects for tool, effects in told if call[0] not in COMMANDS or tool == call[0]}
            assert is_told(was, now, own, call[0]), (chain.names, call, was, now)


def check_audit(universe: Universe, model: Model) -> None:
    workspace = universe.load(model)
    (project,) = workspace.projects
    (audited,) = audit(workspace).projects
    assert audited.exact
    ours, theirs = (Walked(universe, project, each) for each in ("attenuated", "enforced"))
    gaps = Gaps(project, {})
    for agent in audited.agents:
        check_positions(ours, agent, agent.attenuated)
        check_positions(theirs, agent, agent.enforced)
        for walked, spawns in zip((ours, theirs), agent.spawns, strict=True):
            assert {*spawns} == {
                names[-1] for names in walked.chains if names[-2:-1] == (agent.name,)
            }
        found, why = gaps.find(agent.name)
        assert agent.escalations == tuple(gap for gap in found if gap.widened)
        assert {*agent.dead_letters} <= {gap for gap in found if not gap.widened}
        overlap = universe.host == "claude-code" and all(OVERLAPS in reason for reason in why)
        assert not why or overlap, why
        if not why:
            check_gaps(ours, theirs, agent.name, found)


def draw_audit(universe: Universe, data: st.DataObject) -> None:
    check_audit(universe, data.draw(models(universe)))


@pytest.mark.parametrize("host", UNIVERSES)
def test_what_agents_may_do_at_most_and_where_hosts_grant_more_is_told(host: str) -> None:
    tried(draw_audit, UNIVERSES[host], 6)


@pytest.mark.slow
@pytest.mark.parametrize("host", QUICK)
def test_of_many_policies_what_agents_may_do_at_most_and_where_hosts_grant_more_is_told(
    host: str,
) -> None:
    tried(draw_audit, UNIVERSES[host], 80)
