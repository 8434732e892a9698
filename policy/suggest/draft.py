"""A policy in the making: candidates, compared with the policy in force, and mended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policy.chain import SPAWN_TOOL, Chain, attenuate
from policy.comparison.compare import Difference
from policy.compile import compile_policy
from policy.decision import Decision, Reason
from policy.effect import Effect
from policy.errors import PolicyError
from policy.hosts.notation import SEMANTICS
from policy.language.parse import parse_matcher
from policy.language.syntax import (
    Agent,
    Delegate,
    Document,
    Grant,
    Matcher,
    Policy,
    Root,
    Rule,
    Statement,
)
from policy.reach.asked import dialect_of, semantics
from policy.records.decider import Decider
from policy.suggest.candidates import NOWHERE, Candidate, candidates, exact, matcher_of
from policy.suggest.usage import Call, Usage
from policy.table import Table

__all__ = ["Draft"]

_ROUNDS = 64  # each mends what the comparison found in the one before

# Rules that take something away, at most: an agent with more is better off with narrow ones.
_CARVED = 40

_Granted = tuple[Effect, Matcher]


class Draft:
    """Rules for each agent that called, and which agents they start."""

    def __init__(self, usage: Usage, decider: Decider | None, least: int) -> None:
        self._chains = usage.chains
        self._projects = {chain: usage.projects(chain) for chain in self._chains}
        self._decider = decider
        self._agents = list(dict.fromkeys(chain[-1] for chain in self._chains))
        self._candidates: dict[str, list[Candidate]] = {}
        self._carved: dict[str, dict[_Granted, None]] = {agent: {} for agent in self._agents}
        for agent in self._agents:
            calls = [call for call in usage.calls if call.chain[-1] == agent]
            self._candidates[agent] = list(candidates(calls, SEMANTICS.dialect, least))

    def mend(self) -> tuple[str, ...]:
        """Take away what the policy in force does not grant, and return why not all was found."""
        if self._decider is None:
            return ()
        why: tuple[str, ...] = ()
        for _ in range(_ROUNDS):
            excess: list[tuple[str, Difference]] = []
            why = ()
            for chain in self._chains:
                for project in self._projects[chain]:
                    found, unproven = self._compared(chain, project, self._decider)
                    excess += ((chain[-1], difference) for difference in found)
                    why = tuple(dict.fromkeys((*why, *unproven)))
            if not excess:
                return why
            for agent, difference in excess:
                self._answer(agent, difference)
        return (*why, f"after {_ROUNDS} rounds of mending some rule still grants more")

    def document(self) -> Document:
        """Return the policy."""
        body: list[Agent | Root] = [Root(root, span=NOWHERE) for root in self._roots()]
        for agent in self._agents:
            statements: list[Statement] = []
            granted = self._granted(agent)
            for effect in (Effect.ALLOW, Effect.ASK, Effect.DENY):
                matchers = tuple(matcher for one, matcher in granted if one is effect)
                if matchers:
                    statements.append(Grant(effect, matchers, span=NOWHERE))
            if handed_on := self._handed_on(agent):
                statements.append(Delegate(handed_on, span=NOWHERE))
            body.append(Agent(agent, tuple(statements), span=NOWHERE))
        return Document(tuple(body), span=NOWHERE)

    def _roots(self) -> list[str]:
        return list(dict.fromkeys(chain[0] for chain in self._chains))

    def _granted(self, agent: str, *, spawns: bool = True) -> list[_Granted]:
        """Return what *agent* may do: its rules, whom it starts, what is taken away."""
        rules: dict[_Granted, None] = {}
        for each in self._candidates[agent]:
            rules[each.effect, each.matcher] = None
        if spawns:
            rules |= dict.fromkeys(self._spawns(agent))
        return [*rules, *self._carved[agent]]

    def _spawns(self, agent: str) -> Iterator[_Granted]:
        for chain in self._chains:
            if len(chain) > 1 and chain[-2] == agent:
                yield self._starting(chain), matcher_of(SPAWN_TOOL, chain[-1])

    def _starting(self, chain: tuple[str, ...]) -> Effect:
        if self._decider is None:
            return Effect.ALLOW
        above, agent = chain[:-1], chain[-1]
        parents = [self._decider.chain(above, project=one) for one in self._projects[chain]]
        said = [one.spawning(agent).effect for one in parents if isinstance(one, Chain)]
        return min(said, default=Effect.ALLOW)

    def _handed_on(self, agent: str) -> tuple[Matcher, ...]:
        """Return what the agents below need, where *agent* may not do all of it itself."""
        below = {
            later
            for chain in self._chains
            if agent in chain
            for later in chain[chain.index(agent) + 1 :]
        }
        own = {matcher: effect for effect, matcher in reversed(self._granted(agent))}
        needed = [
            granted
            for later in self._agents
            if later in below
            for granted in self._granted(later)
            if granted[0] is not Effect.DENY
        ]
        if all(own.get(matcher, Effect.DENY) >= effect for effect, matcher in needed):
            return ()
        kept = [matcher for effect, matcher in self._granted(agent) if effect is not Effect.DENY]
        return tuple(dict.fromkeys((*kept, *(matcher for _, matcher in needed))))

    # --- against the policy in force ---------------------------------------------------

    def _compared(
        self, chain: tuple[str, ...], project: str, decider: Decider
    ) -> tuple[list[Difference], tuple[str, ...]]:
        """Return what *chain* would be granted beyond the policy, and why that may not be all."""
        current = decider.chain(chain, project=project)
        if not isinstance(current, Chain):
            return [], (f"the policy in force has no chain {' > '.join(chain)}",)
        proposed = self._table(chain, current.table)
        comparison = (current.table & proposed).differences(proposed)
        return [
            difference
            for difference in comparison.differences
            if difference.widened and not _is_guarded(difference.before)
        ], comparison.why

    def _table(self, chain: tuple[str, ...], current: Table) -> Table:
        """Return what *chain* may do, its calls read as the host of the policy in force does."""
        read = semantics(dialect_of([current]))
        table: Table | None = None
        for position, agent in enumerate(chain):
            granted = self._granted(agent, spawns=False)
            rules = tuple(Rule(effect, matcher, span=NOWHERE) for effect, matcher in granted)
            handed = self._handed_on(agent)
            delegate = (
                tuple(Rule(Effect.ALLOW, matcher, span=NOWHERE) for matcher in handed)
                if handed
                else None
            )
            policy = Policy(agent, rules, delegate)
            own = compile_policy(policy, read, root=position == 0)
            table = own if table is None else attenuate(table, own)
        return table or Table()

    def _answer(self, agent: str, difference: Difference) -> None:
        """Take the excess that *difference* shows away from *agent*."""
        carved = self._carved[agent]
        for because in difference.before.because:
            granted = self._taken_over(difference.tool, because.rule, because.effect)
            if granted is not None and granted not in carved:
                carved[granted] = None
                return
        granted = self._call_taken(difference)
        if granted is not None and len(carved) < _CARVED and granted not in carved:
            carved[granted] = None
            return
        blamed = {because.rule for because in difference.after.because}
        self._candidates[agent] = list(self._narrowed(agent, blamed, difference.tool))

    @staticmethod
    def _taken_over(tool: str, rule: str, effect: Effect) -> _Granted | None:
        """Return a rule of the policy in force, as one about calls of *tool*."""
        try:
            matcher = parse_matcher(rule)
        except PolicyError:
            return None
        if effect is Effect.ALLOW or "*" in tool:
            return None
        return effect, Matcher(tool, matcher.specifier, span=NOWHERE)

    @staticmethod
    def _call_taken(difference: Difference) -> _Granted | None:
        """Return a rule about the call that shows the excess alone."""
        if difference.before.effect is Effect.ALLOW or not difference.before.because:
            return None
        call = Call(("",), difference.tool, difference.call, difference.before.effect)
        found = list(candidates([call], SEMANTICS.dialect, least=2))
        return (found[0].effect, found[0].matcher) if len(found) == 1 else None

    def _narrowed(self, agent: str, blamed: Iterable[str], tool: str) -> Iterator[Candidate]:
        matching = [each for each in self._candidates[agent] if str(each.matcher) in blamed]
        # A rule of an agent above may be named instead: then the tool is what is too wide.
        guilty = matching or [each for each in self._candidates[agent] if each.tool == tool]
        for each in self._candidates[agent]:
            if each not in guilty:
                yield each
            elif each.is_wide:
                yield from exact(each, SEMANTICS.dialect)


def _is_guarded(decision: Decision) -> bool:
    """Return whether the host itself keeps the call back, whatever rules say."""
    if decision.reason is Reason.PROTECTED:
        return True
    return bool(decision.because) and all(one.place is None for one in decision.because)
