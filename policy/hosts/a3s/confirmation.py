"""Who confirms what is asked for, and what comes of it."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Final

import attrs

from policy.effect import Effect
from policy.hosts.a3s.names import Lane, lane_of
from policy.hosts.a3s.versions import NEWEST, Profile

__all__ = ["ConfirmationPolicy", "Provider", "TimeoutAction", "all_settled", "settled"]


class Provider(enum.Enum):
    """Who answers for a scope."""

    NONE = "none"  # nobody was wired in
    UNAVAILABLE = "unavailable"  # somebody, but not here
    DISABLED = "disabled"  # nobody is asked, so it happens
    AUTO = "auto"  # everything is approved
    MANAGER = "manager"  # a person

    __hash__ = object.__hash__


_SETTLED: Final = {
    Provider.NONE: Effect.DENY,
    Provider.UNAVAILABLE: Effect.DENY,
    Provider.DISABLED: Effect.ALLOW,
    Provider.AUTO: Effect.ALLOW,
    Provider.MANAGER: Effect.ASK,
}


def settled(provider: Provider) -> Effect:
    """Return what an ask comes to: an ask is left only where a person is asked."""
    return _SETTLED[provider]


class TimeoutAction(enum.Enum):
    """What a timeout did before version 9."""

    REJECT = "reject"
    AUTO_APPROVE = "auto_approve"

    __hash__ = object.__hash__


@attrs.frozen
class ConfirmationPolicy:
    """How a scope asks. As the host has it by default it does not ask at all.

    Attributes:
        enabled: whether anybody is asked; if not, what is asked for happens.
        default_timeout_ms: how long an answer may take.
        timeout_action: what happens then, before version 9.
        yolo_lanes: lanes that are not asked for, before version 9.

    """

    enabled: bool = False
    default_timeout_ms: int = 30_000
    timeout_action: TimeoutAction = TimeoutAction.REJECT
    yolo_lanes: frozenset[Lane] = frozenset()

    @property
    def provider(self) -> Provider:
        """Who answers where this is the policy of a manager."""
        return Provider.MANAGER if self.enabled else Provider.DISABLED

    def is_yolo(self, tool: str, profile: Profile = NEWEST) -> bool:
        """Return whether *tool* is in a lane that is not asked for."""
        return profile.timers_settle and lane_of(tool) in self.yolo_lanes

    def requires_confirmation(self, tool: str, profile: Profile = NEWEST) -> bool:
        """Return whether a person is asked about a call of *tool*."""
        return self.enabled and not self.is_yolo(tool, profile)

    def request(
        self,
        tool: str,
        profile: Profile = NEWEST,
        *,
        timed_out: bool = False,
        duplicate_id: bool = False,
    ) -> Effect:
        """Return what a request for confirmation comes to without any answer."""
        if not self.requires_confirmation(tool, profile):
            return Effect.ALLOW
        if duplicate_id and not profile.timers_settle:
            return Effect.DENY  # two live requests with one id reject each other
        if timed_out and profile.timers_settle:
            approves = self.timeout_action is TimeoutAction.AUTO_APPROVE
            return Effect.ALLOW if approves else Effect.DENY
        return Effect.ASK

    def __and__(self, other: ConfirmationPolicy) -> ConfirmationPolicy:
        """Return the policy of two scopes at once: the stricter in every respect."""
        rejects = TimeoutAction.REJECT in (self.timeout_action, other.timeout_action)
        return ConfirmationPolicy(
            self.enabled or other.enabled,
            min(self.default_timeout_ms, other.default_timeout_ms),
            TimeoutAction.REJECT if rejects else TimeoutAction.AUTO_APPROVE,
            self.yolo_lanes & other.yolo_lanes,
        )


def all_settled(providers: Iterable[Provider]) -> Effect:
    """Return what an ask of several scopes comes to: each must confirm."""
    return min(map(settled, providers), default=Effect.ALLOW)
