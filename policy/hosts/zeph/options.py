"""What definitions do not say: which Zeph, how it is set up, what its session allows."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from policy.hosts.zeph.autonomy import PermissionPolicy
from policy.hosts.zeph.context import AgentsConfig, Forward, SpawnContext, Usage
from policy.hosts.zeph.definition import Profile
from policy.hosts.zeph.enforcer import PolicyEnforcer
from policy.hosts.zeph.grants import PermissionGrants
from policy.hosts.zeph.scopes import ToolScope
from policy.hosts.zeph.shell import BlockedCommand
from policy.hosts.zeph.trust import TrustLevel, fold

__all__ = ["Options", "Session", "build_spawn_context"]


@attrs.frozen
class Session:
    """What holds for every call, whoever makes it: all agents share the gates of a session.

    Attributes:
        policy: autonomy and rules; None where there is no gate for them.
        trust: in force for the session, or None.
        servers: ids of the tools that servers offer.
        scope: the tools in scope, or None.
        peers: whether agents get tools to talk to one another.
        rules: the policy rules, or None.
        env: variables that are there, which rules can ask for.
        grants: those that were given in the run; what has ended is denied.
        blocked: the commands that the shell refuses, whatever the rules say.

    """

    policy: PermissionPolicy | None = None
    trust: TrustLevel | None = None
    servers: tuple[str, ...] = ()
    scope: ToolScope | None = None
    peers: bool = False
    rules: PolicyEnforcer | None = None
    env: tuple[str, ...] = ()
    grants: PermissionGrants = PermissionGrants()
    blocked: tuple[BlockedCommand, ...] = ()


@attrs.frozen
class Options:
    """How agents are started.

    Attributes:
        profile: which Zeph.
        config: how it is set up.
        context: what the session hands to the agents that it starts.
        usage: what it has spent.
        forward: what agents hand on; None is what the profile does.
        session: what holds for every call.

    """

    profile: Profile = Profile.ZEPH
    config: AgentsConfig = AgentsConfig()
    context: SpawnContext = SpawnContext()
    usage: Usage = Usage()
    forward: Forward | None = None
    session: Session = Session()

    @property
    def forwarding(self) -> Forward:
        """What agents hand on."""
        if self.forward is not None:
            return self.forward
        return Forward.EFFECTIVE if self.profile is Profile.SPEC else Forward.NOTHING


def build_spawn_context(
    session: Session, universe: Iterable[str], skills: Iterable[TrustLevel] = ()
) -> SpawnContext:
    """Return what Zeph hands to an agent that the session starts.

    Args:
        session: its rules leave some of the tools.
        universe: the tools there are.
        skills: the trust of the skills that are active.

    """
    policy = session.policy
    left = policy.effective_tool_allowlist(universe) if policy else None
    return SpawnContext(max_trust_level=fold(skills), inherited_tool_allowlist=left)
