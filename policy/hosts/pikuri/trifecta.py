"""The trifecta: private data, untrusted text and a way out, together in one agent.

Any two of the three are harmless. A report says where all three meet and how bad that is; it
never decides a call. The grid is in `README.md` beside this module.
"""

from __future__ import annotations

import enum
from functools import reduce, total_ordering
from operator import or_
from typing import Final

from policy.core.values import evolve, field, frozen
from policy.hosts.errors import HostError
from policy.hosts.pikuri.versions import PikuriErrorKind


@total_ordering
class _Grade(enum.Enum):
    """A grade; members are in the order of what they let happen."""

    def __lt__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        grades = list(type(self))
        return grades.index(self) < grades.index(other)


class Untrusted(_Grade):
    """How directly an agent reads untrusted text."""

    NONE = "none"
    SOFT = "soft"  # through a report of another agent
    HARD = "hard"  # the text itself


class Destination(_Grade):
    """Where an agent can send something."""

    NO_EGRESS = "no_egress"
    LISTED = "listed"  # to places on a list
    OPEN = "open"  # anywhere


class Payload(_Grade):
    """Whether a person reviews what is sent."""

    NO_EGRESS = "no_egress"
    REVIEWED = "reviewed"
    UNREVIEWED = "unreviewed"


class TrifectaVerdict(_Grade):
    """How bad it is that the legs meet."""

    SILENT = "silent"
    SOFT = "soft"
    LOUD = "loud"


@frozen
class TrifectaLegs:
    """The three legs of an agent or of a tool. ``|`` takes the worse of each.

    Raises:
        HostError: only one of destination and payload is `no_egress`.

    """

    private: bool = False
    untrusted: Untrusted = field(default=Untrusted.NONE, converter=Untrusted)
    destination: Destination = field(default=Destination.NO_EGRESS, converter=Destination)
    payload: Payload = field(default=Payload.NO_EGRESS, converter=Payload)

    def __attrs_post_init__(self) -> None:
        if (self.destination is Destination.NO_EGRESS) != (self.payload is Payload.NO_EGRESS):
            raise HostError(
                PikuriErrorKind.INVALID_LEGS,
                "a destination and a review of the payload go together: both are `no_egress`,"
                " or neither is",
            )

    def __or__(self, other: TrifectaLegs) -> TrifectaLegs:
        """Return the legs of one agent that has both."""
        return TrifectaLegs(
            self.private or other.private,
            max(self.untrusted, other.untrusted),
            max(self.destination, other.destination),
            max(self.payload, other.payload),
        )

    def cap_payload_review(self, channel: Payload) -> TrifectaLegs:
        """Return the legs seen through a channel whose payload is reviewed as *channel* is."""
        payload = min(self.payload, channel)
        if payload is Payload.NO_EGRESS:
            return evolve(self, destination=Destination.NO_EGRESS, payload=payload)
        return evolve(self, payload=payload)

    def relabel_inbound(self) -> TrifectaLegs:
        """Return the legs that a child passes to its parent: a report is not the text itself."""
        return evolve(self, untrusted=min(self.untrusted, Untrusted.SOFT))

    @property
    def verdict(self) -> TrifectaVerdict:
        """How bad it is."""
        egress = self.destination is not Destination.NO_EGRESS
        if not (self.private and egress and self.untrusted is not Untrusted.NONE):
            return TrifectaVerdict.SILENT
        worst = (Untrusted.HARD, Destination.OPEN, Payload.UNREVIEWED)
        if (self.untrusted, self.destination, self.payload) == worst:
            return TrifectaVerdict.LOUD
        return TrifectaVerdict.SOFT


NONE: Final = TrifectaLegs()


@frozen
class Contribution:
    """The legs of one tool or extension; *assumed* if it declares none."""

    label: str
    legs: TrifectaLegs = NONE
    assumed: bool = False


@frozen
class AgentNode:
    """An agent, what it holds, and the agents it may start.

    Attributes:
        name: the agent.
        contributions: the legs of its tools.
        children: the agents that it may start.
        channel: whether a person reviews what it sends to them.

    """

    name: str
    contributions: tuple[Contribution, ...] = ()
    children: tuple[AgentNode, ...] = ()
    channel: Payload = Payload.UNREVIEWED

    @property
    def legs(self) -> TrifectaLegs:
        """The legs of the agent itself."""
        return reduce(or_, (contribution.legs for contribution in self.contributions), NONE)


@frozen
class TrifectaReport:
    """Where the legs meet. It reports and decides no call.

    Attributes:
        verdict: the verdict of the root alone.
        tree_verdict: the worst verdict of all agents, with what reaches them from children.
        worst_path: the agents from the root to that one.
        channel_egress: the legs that reach the root from its children.
        lines: the report, one line an agent.

    """

    verdict: TrifectaVerdict
    tree_verdict: TrifectaVerdict
    worst_path: tuple[str, ...]
    channel_egress: TrifectaLegs
    lines: tuple[str, ...] = ()

    def render(self) -> str:
        """Return the report as text."""
        return "\n".join((*self.lines, f"verdict: {self.tree_verdict.value}"))


def walk(node: AgentNode) -> TrifectaReport:
    """Return where the legs meet in *node* and the agents below it."""
    found = list(_walk(node, (node.name,)))
    worst = max(found, key=lambda one: one[1].verdict)
    lines = tuple(
        f"{'>'.join(path)}: {legs.verdict.value} (private {'yes' if legs.private else 'no'},"
        f" untrusted {legs.untrusted.value}, egress {legs.destination.value})"
        for path, legs in found
    )
    return TrifectaReport(
        node.legs.verdict, worst[1].verdict, worst[0], _through_channels(node), lines
    )


def _through_channels(node: AgentNode) -> TrifectaLegs:
    found = NONE
    for child in node.children:
        legs = (child.legs | _through_channels(child)).relabel_inbound()
        # A child passes on what it knows through the channel only.
        found |= legs.cap_payload_review(node.channel)
    return found


def _walk(node: AgentNode, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], TrifectaLegs]]:
    found = [(path, node.legs | _through_channels(node))]
    for child in node.children:
        found += _walk(child, (*path, child.name))
    return found
