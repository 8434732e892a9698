"""``never`` statements: proven for all calls and all chains of a shape, or refuted by one of them.

A shape is an automaton over the agents of a chain. Where it stands is part of the
position of an agent, so that the search over positions (`policy.analysis.reach.worklist`)
separates what chains of the shape may do from what others may.
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.analysis.reach.query import GrantedCalls
from policy.analysis.reach.worklist import Reach, reach
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.values import evolve, frozen
from policy.hosts.claims import ClaimVerdict, check_claim
from policy.hosts.notation.semantics import matching
from policy.hosts.project import Project
from policy.language.syntax import Matcher, Never
from policy.tables.chain import Chain, Link, Reading
from policy.tables.dialect import Dialect


@frozen
class ChainShape:
    """Which chains a statement is about: names of agents, ``*`` and ``**``."""

    links: tuple[str, ...]

    def start(self) -> frozenset[int]:
        """Return where the shape stands before the root."""
        return self._on({0})

    def after(self, places: frozenset[int], agent: str) -> frozenset[int]:
        """Return where it stands after *agent*; nowhere where no such chain is of the shape."""
        found = set()
        for place in places - {len(self.links)}:
            if self.links[place] == "**":
                found.add(place)
            elif self.links[place] in ("*", agent):
                found.add(place + 1)
        return self._on(found)

    def holds(self, places: frozenset[int]) -> bool:
        """Return whether a chain that ends where the shape stands is of it."""
        return len(self.links) in places

    def _on(self, places: set[int]) -> frozenset[int]:
        found = set(places)
        for place, link in enumerate(self.links):
            if place in found and link == "**":
                found.add(place + 1)  # of no agent
        return frozenset(found)


@frozen
class _Shaped:
    """A reading whose links know where a shape stands; chains that cannot be of it end."""

    reading: Reading
    shape: ChainShape

    @property
    def name(self) -> str:
        return self.reading.name

    @property
    def agents(self) -> tuple[str, ...]:
        return self.reading.agents

    def spawn_call(self, agent: str) -> tuple[str, dict[str, object]]:
        return self.reading.spawn_call(agent)

    def start(self, agent: str) -> Link:
        return self._link(self.reading.start(agent), self.shape.start())

    def step(self, parent: Link, agent: str) -> Link:
        inner, places = _split(parent)
        return self._link(self.reading.step(inner, agent), places)

    def _link(self, link: Link, places: frozenset[int]) -> Link:
        behind = self.shape.after(places, link.name)
        if not behind:
            raise KeyError(link.name)
        return evolve(link, state=(link.state, behind))


def _split(link: Link) -> tuple[Link, frozenset[int]]:
    """Return the link as its host has it, and where the shape stands after it."""
    assert isinstance(link.state, tuple)  # noqa: S101  # every link here is of `_Shaped`
    state, places = link.state
    return evolve(link, state=state), places


def check(project: Project, dialect: Dialect) -> Iterator[ClaimVerdict]:
    """Yield the verdict on every claim of *project*, in the order written."""
    for claim in project.claims:
        if not isinstance(claim, Never):
            yield from check_claim(project, claim, dialect)
            continue
        shape = ChainShape(claim.chain)
        found = reach(project, _Shaped(project.attenuated, shape))
        every = (chain for some in found.chains.values() for chain in some)
        chains = [chain for chain in every if shape.holds(_split(chain.links[-1])[1])]
        chains.sort(key=lambda chain: (len(chain.links), chain.names))
        for matcher in claim.matchers:
            yield _verdict(claim, matcher, dialect, chains, found)


def _verdict(
    statement: Never, matcher: Matcher, dialect: Dialect, chains: list[Chain], found: Reach
) -> ClaimVerdict:
    """Return whether none of *chains* can make a call: none gets one allowed or asked for."""
    said = f"never {' > '.join(statement.chain)}: {matcher}"
    try:
        tables = [matching(matcher, dialect, effect) for effect in (Effect.DENY, Effect.ASK)]
    except PolicyError as error:
        return ClaimVerdict(said, None, error.message, matcher.span)
    granted = GrantedCalls(*tables)
    for chain in chains:
        can = [*granted.by(chain)]
        if can:
            call, decision = max(can, key=lambda pair: pair[1].effect)
            why = f"{' > '.join(chain.names)} can: {decision}"
            refuted = ClaimVerdict(said, holds=False, why=why, span=matcher.span)
            return evolve(refuted, decision=decision, chain=chain.names, call=call)
    for table in found.most.values():
        # What is refused at most is refused to every chain, of the shape or not.
        granted.at_most(table)
    if granted.why:
        return ClaimVerdict(said, None, "; ".join(granted.why), matcher.span)
    proof = "no chain of that shape can" if chains else "no chain is of that shape"
    return ClaimVerdict(said, holds=True, why=proof, span=matcher.span)
