"""What an agent gets that was started by another: the stricter of two, and who confirms.

The host does not take every definition for permissions: one that only asks, or
only has a default, is dropped, and the agent has the permissions of its parent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policy.effect import Effect
from policy.hosts.a3s.confirmation import Provider
from policy.hosts.a3s.definitions import AgentDefinition, ConfirmationInheritance
from policy.hosts.a3s.gate import Facts, GateReason, Passage, Scope, compose, evaluate
from policy.hosts.a3s.names import SPAWNING
from policy.hosts.a3s.permissions import PermissionPolicy
from policy.hosts.a3s.rules import PermissionRule
from policy.hosts.a3s.versions import Profile

__all__ = ["bound_of", "child_visible", "delegate", "own_provider"]


def own_provider(agent: AgentDefinition, parent: Provider) -> Provider:
    """Return who confirms what the agent itself asks for."""
    if agent.tool_free:
        return Provider.NONE
    match agent.confirms:
        case ConfirmationInheritance.AUTO_APPROVE:
            return Provider.AUTO
        case ConfirmationInheritance.DENY_ON_ASK:
            return Provider.NONE
        case ConfirmationInheritance.INHERIT_PARENT:
            return parent


def bound_of(
    parent: PermissionPolicy | None, agent: AgentDefinition
) -> tuple[PermissionPolicy | None, PermissionPolicy | None]:
    """Return whose permissions bound the agent: of its parent, and its own."""
    profile = agent.permissions.profile
    own = agent.permissions if agent.has_permissions else None
    if not profile.children_are_checked or (own is not None and not profile.parent_bounds):
        return None, own
    return parent, own


def delegate(  # a parent, who confirms for it, an agent and a call
    parent: PermissionPolicy | None,
    confirmation: Provider,
    agent: AgentDefinition,
    tool: str,
    args: Mapping[str, Any],
    *,
    needs_confirmation: bool = False,
    only_permissions: bool = False,
) -> Passage:
    """Return what a call gets of an agent that *parent* started.

    Args:
        parent: the permissions of the session that starts it, or None.
        confirmation: who confirms for that session.
        agent: what was started.
        tool: what it calls; it never has the tools that start agents.
        args: and with what.
        needs_confirmation: whether the tool itself wants to be confirmed.
        only_permissions: whether to leave out who confirms.

    """
    if agent.tool_free:
        return Passage(Effect.DENY, GateReason.NO_MANAGER)
    if tool.lower() in SPAWNING:
        return Passage(Effect.DENY, GateReason.DENIED)
    above, own = bound_of(parent, agent)
    scopes = []
    for name, policy, provider in (
        ("parent", above, confirmation),
        (agent.name, own, own_provider(agent, confirmation)),
    ):
        if policy is not None:
            scopes.append(Scope(name, policy.check(tool, args).effect, provider))
    if not scopes:
        scopes.append(Scope(agent.name, None, own_provider(agent, confirmation)))
    if only_permissions:
        effect = compose(scope.effect for scope in scopes)
        return Passage(effect, GateReason.DENIED if effect is Effect.DENY else GateReason.ALLOWED)
    facts = Facts(needs_confirmation=needs_confirmation)
    if needs_confirmation and scopes[0].name != "parent":
        scopes.insert(0, Scope("parent", Effect.ALLOW, confirmation))
    return evaluate(tool, scopes, facts, agent.permissions.profile)


def child_visible(
    tool: str,
    parent: PermissionPolicy | None,
    agent: AgentDefinition,
    *,
    hidden: tuple[str, ...] = (),
) -> bool:
    """Return whether the model of an agent that was started is shown *tool*.

    Args:
        tool: the name.
        parent: the permissions of the session that started it, or None.
        agent: what was started.
        hidden: what the host program hides from the parent without denying it:
            an agent that names such a tool is shown it all the same.

    """
    if tool.lower() in SPAWNING or agent.tool_free:
        return False
    profile = agent.permissions.profile
    if not profile.hides_tools:
        return True
    if agent.has_permissions and not agent.permissions.visible(tool):
        return False
    if parent is not None and not parent.visible(tool):
        return False
    if agent.has_permissions and agent.permissions.declares(tool):
        return True
    return not any(_names(text, tool, profile) for text in hidden)


def _names(text: str, tool: str, profile: Profile) -> bool:
    return PermissionRule.of(text, profile).names(tool)
