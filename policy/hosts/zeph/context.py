"""What an agent gets from whoever starts it, and how a session is set up.

In Zeph every field must be copied by the caller, and one that is left out
constrains nothing. Here a context follows from the one before it; in which way
is a choice that the readings make (`Forward`).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping

import attrs

from policy.finding import Finding
from policy.hosts.zeph.definition import MemoryScope, PermissionMode
from policy.hosts.zeph.trust import TrustLevel
from policy.source import Place, Span

__all__ = ["AgentsConfig", "DelegationMode", "Forward", "Origin", "SpawnContext", "Usage"]


class Origin(enum.Enum):
    """Who wants an agent started. Nothing said is ``AUTONOMOUS``."""

    EXPLICIT = "explicit"
    AUTONOMOUS = "autonomous"

    __hash__ = object.__hash__


class DelegationMode(enum.Enum):
    """When agents may be started at all."""

    PROACTIVE = "proactive"
    EXPLICIT_REQUEST_ONLY = "explicit_request_only"
    DISABLED = "disabled"

    __hash__ = object.__hash__


class Forward(enum.Enum):
    """What an agent hands on to those it starts."""

    NOTHING = "none"  # as it happens: nobody copies the fields
    RECEIVED = "copy_received"  # what it got itself
    EFFECTIVE = "effective"  # what it has left

    __hash__ = object.__hash__


def _names(names: Iterable[str] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)


@attrs.frozen
class SpawnContext:
    """What is handed to an agent that is started. The default is that of the top.

    Attributes:
        max_trust_level: a cap on its trust; None is no cap.
        inherited_tool_allowlist: the tools it may use at most. None is all of
            them, the empty set is none.
        network_denied: whether it may not reach the network.
        spawn_depth: agents above it.
        origin: who wants it started.
        seed_trajectory_score: the risk it starts with, so that starting an
            agent is no way to be rid of it.
        content_isolation: names of the protections of content in force.
        mcp_tool_names: tools of servers, to tell which names are known.
        session_mcp_servers: servers whose tools its prompt lists.
        orchestrator_name: who it is told to obey.
        orchestrator_role: and in which role; not shown without a name.
        parent_provider_name: the provider of the model above it.
        parent_messages: what was said above it; not looked at.
        parent_cancel: whether it ends with whoever started it; not if it runs
            in the background.

    """

    max_trust_level: TrustLevel | None = None
    inherited_tool_allowlist: frozenset[str] | None = attrs.field(default=None, converter=_names)
    network_denied: bool = False
    spawn_depth: int = 0
    origin: Origin = Origin.AUTONOMOUS
    seed_trajectory_score: float | None = None
    content_isolation: frozenset[str] = frozenset()
    mcp_tool_names: tuple[str, ...] = ()
    session_mcp_servers: tuple[str, ...] = ()
    orchestrator_name: str | None = None
    orchestrator_role: str | None = None
    parent_provider_name: str | None = None
    parent_messages: tuple[str, ...] = ()
    parent_cancel: bool = False

    @property
    def identity(self) -> str:
        """The orchestrator as reports show it: one line, at most 128 characters."""
        if not self.orchestrator_name:
            return ""
        role = f" ({self.orchestrator_role})" if self.orchestrator_role else ""
        return " ".join((self.orchestrator_name + role).split())[:128]

    def weakened(self, child: SpawnContext) -> Iterator[Finding]:
        """Yield the protections that are in force here and not in *child*."""
        for name in sorted(self.content_isolation - child.content_isolation):
            to = f" of {child.identity}" if child.identity else ""
            message = f"`{name}` is not in force for the agents{to}"
            yield Finding("isolation-weakened", message, file="<session>")

    def then(
        self, own: SpawnContext, *, allowlist: frozenset[str] | None, forward: Forward
    ) -> SpawnContext:
        """Return the context of an agent that is started by one that got this.

        Args:
            own: what that one adds by itself; the default adds nothing.
            allowlist: the tools that it has left; None is all of them.
            forward: what it hands on.

        """
        if forward is Forward.NOTHING:
            return attrs.evolve(own, spawn_depth=0)
        caps = [c for c in (self.max_trust_level, own.max_trust_level) if c is not None]
        scores = (self.seed_trajectory_score, own.seed_trajectory_score)
        inherited = self.inherited_tool_allowlist if forward is Forward.RECEIVED else allowlist
        return attrs.evolve(
            self,
            max_trust_level=min(caps, default=None),
            inherited_tool_allowlist=inherited,
            network_denied=self.network_denied or own.network_denied,
            spawn_depth=self.spawn_depth + 1,
            origin=own.origin,
            seed_trajectory_score=max((s for s in scores if s is not None), default=None),
            content_isolation=self.content_isolation | own.content_isolation,
        )


@attrs.frozen
class AgentsConfig:
    """The section ``[agents]`` of the configuration.

    Attributes:
        enabled: whether agents may be started at all.
        delegation_mode: when.
        max_spawns_per_session: agents started in one session; 0 is any number.
        max_spawn_depth: agents above one another; with 0 none is started.
        max_concurrent: agents at a time.
        default_permission_mode: of definitions whose mode is ``default``.
        default_disallowed_tools: denied to every agent.
        default_memory_scope: of definitions that name none.
        allow_bypass_permissions: whether ``bypass_permissions`` may be asked for.
        worktree_manager: whether agents can have a worktree of their own.
        bg_isolation: ``none``, or how agents in the background are kept apart.
        spans: where what is written, by names such as ``agents.default_memory_scope``.

    """

    enabled: bool = True
    delegation_mode: DelegationMode = DelegationMode.PROACTIVE
    max_spawns_per_session: int = 100
    max_spawn_depth: int = 3
    max_concurrent: int = 5
    default_permission_mode: PermissionMode | None = None
    default_disallowed_tools: tuple[str, ...] = ()
    default_memory_scope: MemoryScope | None = None
    allow_bypass_permissions: bool = False
    worktree_manager: bool = False
    bg_isolation: str = "worktree"
    spans: Mapping[str, Span] = attrs.field(factory=dict, eq=False, repr=False)

    @property
    def effective_delegation_mode(self) -> DelegationMode:
        """The mode in force: none where agents are switched off."""
        return self.delegation_mode if self.enabled else DelegationMode.DISABLED

    def place(self, name: str) -> Place | None:
        """Return where *name* of the section is written, or None."""
        span = self.spans.get(f"agents.{name}")
        return span.place if span else None


@attrs.frozen
class Usage:
    """What a session has spent.

    Attributes:
        spawned: agents started so far.
        active: agents at work.
        reserved: agents about to be.

    """

    spawned: int = 0
    active: int = 0
    reserved: int = 0
