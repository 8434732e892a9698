"""The gate: everything one call passes, in the host's order, and what stopped it.

The permissions are one stage of it. Nothing behind them lifts a denial, and
nothing before them grants.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import attrs

from policy.effect import Effect
from policy.hosts.a3s.confirmation import Provider, settled
from policy.hosts.a3s.permissions import PermissionPolicy
from policy.hosts.a3s.skills import skill_restricts
from policy.hosts.a3s.versions import NEWEST, Profile

__all__ = ["Facts", "GateReason", "Passage", "Scope", "compose", "evaluate", "evaluate_call"]


class GateReason(enum.Enum):
    """Why the gate answers as it does. The values are the host's."""

    SKILL = "skill_restriction"
    HOOK = "hook_block"
    DENIED = "permission_deny"
    NO_MANAGER = "missing_confirmation_manager"
    UNAVAILABLE = "confirmation_unavailable"
    ALLOWED = "permission_allow"
    NOT_REQUIRED = "confirmation_not_required"
    HOST_DIRECT = "host_direct_trusted"
    INTERNAL = "runtime_internal"
    # Stages that the host gives no name.
    ASKED = "confirmation_required"
    REQUEST_HOOK = "permission_request_hook"
    BUDGET = "budget"

    __hash__ = object.__hash__


@attrs.frozen
class Passage:
    """What a call gets at the gate.

    Attributes:
        effect: the answer.
        reason: why.
        confirm: the scopes that must confirm, of an ASK.

    """

    effect: Effect
    reason: GateReason
    confirm: tuple[str, ...] = ()

    def __bool__(self) -> NoReturn:
        msg = "a Passage is neither true nor false; compare its effect"
        raise TypeError(msg)


@attrs.frozen
class Scope:
    """One scope that a call passes: a session, or an agent it started.

    Attributes:
        name: as it is told.
        effect: what its permissions say; None where it has none, which asks.
        provider: who confirms for it.

    """

    name: str
    effect: Effect | None
    provider: Provider


@attrs.frozen
class Facts:
    """What else decides, and no file says.

    Attributes:
        pre_tool_block: the reason why a hook blocks the call, or None.
        request_hook: what a hook answers an ask with, or None.
        active_skills: the tools of the skills in effect, where a session
            enforces them; None where it does not.
        needs_confirmation: whether the tool itself wants to be confirmed.
        budget_denied: whether the budget is used up.
        host_direct: whether the host program itself makes the call.

    """

    pre_tool_block: str | None = None
    request_hook: Effect | None = None
    active_skills: tuple[str, ...] | None = None
    needs_confirmation: bool = False
    budget_denied: bool = False
    host_direct: bool = False


def evaluate(
    tool: str, scopes: Iterable[Scope], facts: Facts = Facts(), profile: Profile = NEWEST
) -> Passage:
    """Return what a call of *tool* gets that passes *scopes*, the outermost first."""
    if facts.host_direct:
        return Passage(Effect.ALLOW, GateReason.HOST_DIRECT)
    passed = list(scopes)
    if facts.pre_tool_block is not None:
        return Passage(Effect.DENY, GateReason.HOOK)
    if skill_restricts(tool, facts.active_skills or ()):
        return Passage(Effect.DENY, GateReason.SKILL)
    passage = _permitted(passed, facts, profile)
    if passage.effect is not Effect.DENY and facts.budget_denied:
        return Passage(Effect.DENY, GateReason.BUDGET)
    return passage


def _permitted(scopes: list[Scope], facts: Facts, profile: Profile) -> Passage:
    effects = [Effect.ASK if scope.effect is None else scope.effect for scope in scopes]
    if Effect.DENY in effects:
        return Passage(Effect.DENY, GateReason.DENIED)
    asking = [s for s, effect in zip(scopes, effects, strict=True) if effect is Effect.ASK]
    if not asking and not facts.needs_confirmation:
        return Passage(Effect.ALLOW, GateReason.ALLOWED)
    # What the tool wants where nobody asks goes to the outermost.
    passage = _confirmed(asking or scopes[:1])
    if passage.effect is not Effect.ASK or not asking or not profile.since(6, 9):
        return passage
    match facts.request_hook:
        case Effect.DENY:
            return Passage(Effect.DENY, GateReason.REQUEST_HOOK)
        case Effect.ALLOW if not facts.needs_confirmation:
            # It answers for a person that is there; it puts nobody in the place of one.
            return Passage(Effect.ALLOW, GateReason.REQUEST_HOOK)
        case _:
            return passage


def _confirmed(asking: list[Scope]) -> Passage:
    for scope in asking:
        if scope.provider is Provider.NONE:
            return Passage(Effect.DENY, GateReason.NO_MANAGER)
        if scope.provider is Provider.UNAVAILABLE:
            return Passage(Effect.DENY, GateReason.UNAVAILABLE)
    people = tuple(scope.name for scope in asking if settled(scope.provider) is Effect.ASK)
    if people:
        return Passage(Effect.ASK, GateReason.ASKED, people)
    return Passage(Effect.ALLOW, GateReason.NOT_REQUIRED)


def compose(scopes: Iterable[Effect | None]) -> Effect:
    """Return the stricter of what scopes say; scopes without permissions say nothing."""
    return min((effect for effect in scopes if effect is not None), default=Effect.ASK)


def evaluate_call(
    tool: str,
    args: Mapping[str, Any],
    policy: PermissionPolicy | None,
    provider: Provider,
    facts: Facts = Facts(),
) -> Passage:
    """Return what a call gets in a session with this policy."""
    effect = None if policy is None else policy.check(tool, args).effect
    profile = NEWEST if policy is None else policy.profile
    return evaluate(tool, [Scope("session", effect, provider)], facts, profile)
