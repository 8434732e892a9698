"""Proves or refutes ``never`` statements, for all calls and all chains of a shape.

A shape such as ``lead > ** > tester`` is an automaton that reads the agents of a chain. Its states
are part of each position, so the search over positions (`policy.analysis.reach.worklist`) keeps
chains of the shape apart from others.
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
    """The shape of a statement as an automaton: agents, ``*`` (one agent), ``**`` (any number).

    State *n* means that the first *n* links are matched.
    """

    links: tuple[str, ...]

    def start(self) -> frozenset[int]:
        """Return the states before the root."""
        return self._closure({0})

    def after(self, states: frozenset[int], agent: str) -> frozenset[int]:
        """Return the states after *agent*; empty if no chain that starts like this can match."""
        found = set()
        for state in states - {len(self.links)}:
            if self.links[state] == "**":
                found.add(state)
            elif self.links[state] in ("*", agent):
                found.add(state + 1)
        return self._closure(found)

    def accepts(self, states: frozenset[int]) -> bool:
        """Return whether a chain that ends in *states* matches the shape."""
        return len(self.links) in states

    def _closure(self, states: set[int]) -> frozenset[int]:
        found = set(states)
        for state, link in enumerate(self.links):
            if state in found and link == "**":
                found.add(state + 1)  # `**` matches no agent too
        return frozenset(found)


@frozen
class _Shaped:
    """A reading whose links carry the states of a shape; it drops chains that cannot match."""

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
        inner, states = _split(parent)
        return self._link(self.reading.step(inner, agent), states)

    def _link(self, link: Link, states: frozenset[int]) -> Link:
        following = self.shape.after(states, link.name)
        if not following:
            raise KeyError(link.name)
        return evolve(link, state=(link.state, following))


def _split(link: Link) -> tuple[Link, frozenset[int]]:
    """Return the link of the wrapped reading, and the states of the shape."""
    assert isinstance(link.state, tuple)  # noqa: S101  # `_Shaped` made every link here
    state, states = link.state
    return evolve(link, state=state), states


def check(project: Project, dialect: Dialect) -> Iterator[ClaimVerdict]:
    """Yield the verdict on every claim of *project*, in the order written."""
    for claim in project.claims:
        if not isinstance(claim, Never):
            yield from check_claim(project, claim, dialect)
            continue
        shape = ChainShape(claim.chain)
        found = reach(project, _Shaped(project.attenuated, shape))
        every = (chain for some in found.chains.values() for chain in some)
        chains = [chain for chain in every if shape.accepts(_split(chain.links[-1])[1])]
        chains.sort(key=lambda chain: (len(chain.links), chain.names))
        for matcher in claim.matchers:
            yield _verdict(claim, matcher, dialect, chains, found)


def _verdict(
    statement: Never, matcher: Matcher, dialect: Dialect, chains: list[Chain], found: Reach
) -> ClaimVerdict:
    """Return the verdict: refuted if one of *chains* may make a call, also one it is asked for."""
    text = f"never {' > '.join(statement.chain)}: {matcher}"
    try:
        tables = [matching(matcher, dialect, effect) for effect in (Effect.DENY, Effect.ASK)]
    except PolicyError as error:
        return ClaimVerdict(text, None, error.message, matcher.span)
    granted = GrantedCalls(*tables)
    for chain in chains:
        can = [*granted.by(chain)]
        if can:
            call, decision = max(can, key=lambda pair: pair[1].effect)
            why = f"{' > '.join(chain.names)} can: {decision}"
            refuted = ClaimVerdict(text, holds=False, why=why, span=matcher.span)
            return evolve(refuted, decision=decision, chain=chain.names, call=call)
    for table in found.most.values():
        # Such a table grants all that any chain of its agent does, of this shape or another.
        granted.note_unfollowed(table)
    if granted.why:
        return ClaimVerdict(text, None, "; ".join(granted.why), matcher.span)
    proof = "no chain of that shape can" if chains else "no chain is of that shape"
    return ClaimVerdict(text, holds=True, why=proof, span=matcher.span)
