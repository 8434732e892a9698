"""The two readings of chains of agents: what Zeph does, and what the files declare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from policy.chain import Link, SpawnDenied, attenuate
from policy.hosts.zeph.context import DelegationMode, SpawnContext
from policy.hosts.zeph.declared import allowlist_rules, declared_rules
from policy.hosts.zeph.definition import SubAgentDef
from policy.hosts.zeph.dialects import ENFORCED, RAW
from policy.hosts.zeph.errors import Kind, ZephError
from policy.hosts.zeph.network import network_rules
from policy.hosts.zeph.options import Options
from policy.hosts.zeph.spawn import Effective, SubAgentManager
from policy.hosts.zeph.tables import enforced_rules, session_rules
from policy.hosts.zeph.trust import TrustGate, TrustLevel
from policy.ruleset import RuleSet
from policy.table import Bounds, Ceiling, Part, Table

__all__ = ["MAIN", "Declared", "Enforced", "SpawnRefused"]

# The session, which starts agents and is none.
MAIN: Final = "main"


class SpawnRefused(SpawnDenied):
    """A check of Zeph fails.

    Attributes:
        error: which, and in its words.

    """

    def __init__(self, agent: str, link: str, error: ZephError) -> None:
        reason = "depth" if error.kind is Kind.MAX_DEPTH_EXCEEDED else _words(error.kind)
        super().__init__(agent, link, reason)
        self.args = (f"`{link}` may not start `{agent}`: {error.upstream}",)
        self.error = error


def _words(kind: Kind) -> str:
    """Return a kind as reasons are written: ``DelegationDenied`` is ``delegation-denied``."""
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in kind.value).lstrip("-")


def _table(sets: tuple[RuleSet, ...], link: str, bounds: Bounds = Bounds()) -> Table:  # noqa: B008
    return Table(Ceiling.of(Part(rules, (link,)) for rules in sets), bounds=bounds)


@attrs.frozen(slots=False, eq=False)
class Declared:
    """The attenuated reading: the session, and what every agent of a chain declares, met."""

    root: Table
    tables: Mapping[str, Table]
    name: str = "attenuated"

    @classmethod
    def of(cls, definitions: Mapping[str, SubAgentDef], options: Options) -> Declared:
        """Return the reading of *definitions*."""
        context = options.context
        cap = context.max_trust_level
        sets = session_rules(options.session, ENFORCED, cap)
        if context.inherited_tool_allowlist is not None:
            sets += (allowlist_rules(context.inherited_tool_allowlist),)
        if context.network_denied:
            sets += (network_rules(ENFORCED),)
        if cap is not None:
            sets += (TrustGate(cap, options.session.servers).rules(ENFORCED),)
        depth = max(options.config.max_spawn_depth - context.spawn_depth, 0)
        if options.config.effective_delegation_mode is DelegationMode.DISABLED:
            depth = 0
        bounds = Bounds(depth, trust=cap.value if cap else None)
        tables = {
            name: _table(declared_rules(definition, options.profile, options.config), name)
            for name, definition in definitions.items()
        }
        return cls(_table(sets, MAIN, bounds), tables)

    @property
    def agents(self) -> tuple[str, ...]:
        """The session and every agent."""
        return (MAIN, *(name for name in self.tables if name != MAIN))

    def start(self, agent: str) -> Link:
        """Return the session, or *agent* as it starts that."""
        root = Link(MAIN, self.root)
        return root if agent == MAIN else attrs.evolve(self.step(root, agent), depth=0)

    def step(self, parent: Link, agent: str) -> Link:
        """Return the link behind *parent*."""
        return Link(agent, attenuate(parent.table, self.tables[agent]), parent.depth + 1)


@attrs.frozen
class State:
    """What Zeph knows of a position.

    Attributes:
        context: what the agent there got.
        allowlist: the tools that it has left, None being all of them.
        trust: the cap that the gate was last set to; all agents share the gate.
        agent: its name, "" for the session.

    """

    context: SpawnContext
    allowlist: frozenset[str] | None = None
    trust: TrustLevel | None = None
    agent: str = ""


@attrs.frozen(slots=False, eq=False)
class Enforced:
    """What Zeph does: the lists of the agent itself, and what it was handed."""

    definitions: Mapping[str, SubAgentDef]
    options: Options = Options()
    name: str = "enforced"
    _known: dict[object, Link] = attrs.field(factory=dict, init=False, repr=False)

    @property
    def agents(self) -> tuple[str, ...]:
        """The session and every agent."""
        return (MAIN, *(name for name in self.definitions if name != MAIN))

    @property
    def manager(self) -> SubAgentManager:
        """The session, as it starts agents."""
        return SubAgentManager(self.definitions, self.options.config, self.options.usage)

    def start(self, agent: str) -> Link:
        """Return the session, or *agent* as it starts that."""
        table = _table(session_rules(self.options.session, RAW), MAIN)
        root = Link(MAIN, table, 0, State(self.options.context))
        return root if agent == MAIN else attrs.evolve(self.step(root, agent), depth=0)

    def step(self, parent: Link, agent: str) -> Link:
        """Return the link behind *parent*."""
        state = parent.state if isinstance(parent.state, State) else State(self.options.context)
        context, starter = state.context, self.definitions.get(state.agent)
        if state.agent:
            forward = self.options.forwarding
            context = context.then(SpawnContext(), allowlist=state.allowlist, forward=forward)
        # Who starts it matters no further than by what is handed over, and by its own list.
        listed = state.agent if starter is not None and starter.allowed_spawns is not None else ""
        key = (agent, listed, context, state.trust)
        link = self._known.get(key)
        if link is None:
            link = self._known[key] = self._start(agent, parent.name, starter, context, state.trust)
        return attrs.evolve(link, depth=parent.depth + 1)

    def _start(
        self,
        agent: str,
        parent: str,
        starter: SubAgentDef | None,
        context: SpawnContext,
        trust: TrustLevel | None,
    ) -> Link:
        try:
            effective = self.manager.check_spawn(agent, context, parent=starter)
        except ZephError as error:
            if error.kind is Kind.NOT_FOUND:
                raise KeyError(agent) from None
            raise SpawnRefused(agent, parent, error) from None
        trust = trust if effective.trust is None else effective.trust
        after = State(context, effective.allowlist, trust, agent)
        return Link(agent, self._table(effective, trust), 0, after)

    def resume(self, agent: str, context: SpawnContext | None = None) -> Link:
        """Return *agent* as it goes on after it ended, with what is handed to it then.

        Raises:
            ZephError: Zeph refuses it.

        """
        effective = self.manager.check_resume(agent, context)
        after = State(context or SpawnContext(), effective.allowlist, effective.trust, agent)
        return Link(agent, self._table(effective, effective.trust), 1, after)

    def _table(self, effective: Effective, trust: TrustLevel | None) -> Table:
        session = self.options.session
        sets = session_rules(session, RAW, trust)
        if trust is not None:
            sets += (TrustGate(trust, session.servers).rules(RAW),)
        parts = [Part(rules, (MAIN,)) for rules in sets]
        name = effective.definition.name
        parts += (Part(rules, (name,)) for rules in enforced_rules(effective, self.options))
        return Table(Ceiling.of(parts))
