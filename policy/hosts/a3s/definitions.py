"""`AgentDefinition`: what one agent is, wherever it comes from, and who confirms for it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

import attrs

from policy.effect import Effect
from policy.hosts.a3s.agents_data import AGENT_ALIASES, SHIPPED_AGENTS, policy_of
from policy.hosts.a3s.errors import A3sError, Kind
from policy.hosts.a3s.permissions import PermissionPolicy
from policy.hosts.a3s.versions import NEWEST, Profile
from policy.language.syntax import Presence
from policy.ruleset import RuleSet
from policy.source import Span

__all__ = [
    "AgentDefinition",
    "AgentRegistry",
    "ConfirmationInheritance",
    "Listed",
    "built_in_agents",
]


class ConfirmationInheritance(enum.Enum):
    """Who confirms what an agent that was started asks for."""

    AUTO_APPROVE = "auto_approve"
    DENY_ON_ASK = "deny_on_ask"
    INHERIT_PARENT = "inherit_parent"

    __hash__ = object.__hash__


@attrs.frozen
class Listed:
    """A list of tools of an agent file, as written.

    Attributes:
        presence: how it is there.
        items: the tools it names.
        spans: where each of them is written.
        key: the name it goes by in the file.
        span: where the value is written.
        dropped: where items are written that are no texts, which nobody reads.

    """

    presence: Presence = Presence.ABSENT
    items: tuple[str, ...] = ()
    spans: tuple[Span, ...] = attrs.field(default=(), eq=False, repr=False)
    key: str = ""
    span: Span | None = attrs.field(default=None, eq=False, repr=False)
    dropped: tuple[Span, ...] = attrs.field(default=(), eq=False, repr=False)


@attrs.frozen(slots=False)
class AgentDefinition:
    """One agent.

    Attributes:
        name: as it is started by.
        description: one line.
        permissions: what the host makes of the file.
        native: whether the host ships it.
        hidden: whether it is left out of lists.
        model: the model it runs on, or None.
        prompt: what it is told.
        max_steps: steps it may take, or None.
        tool_free: whether it has no tool at all.
        confirmation: who confirms, or None where nothing is said.
        confirmation_said: whether the file says who confirms.
        kind: the kind of worker it is, or "".
        kind_span: where that is written.
        block: the permissions as written, before any list replaced them.
        tools: the list of its tools.
        disallowed: the list of tools it has not.
        span: where its name is written.
        unknown: keys that mean nothing, and where they are written.
        second: keys that stand beside one that counts, likewise.

    """

    name: str
    description: str
    permissions: PermissionPolicy = PermissionPolicy()
    native: bool = False
    hidden: bool = False
    model: str | None = None
    prompt: str = ""
    max_steps: int | None = None
    tool_free: bool = False
    confirmation: ConfirmationInheritance | None = None
    kind: str = ""
    confirmation_said: bool = attrs.field(default=False, eq=False, repr=False)
    kind_span: Span | None = attrs.field(default=None, eq=False, repr=False)
    block: PermissionPolicy | None = attrs.field(default=None, eq=False, repr=False)
    tools: Listed = attrs.field(default=Listed(), eq=False, repr=False)
    disallowed: Listed = attrs.field(default=Listed(), eq=False, repr=False)
    span: Span | None = attrs.field(default=None, eq=False, repr=False)
    unknown: tuple[tuple[str, Span], ...] = attrs.field(default=(), eq=False, repr=False)
    second: tuple[tuple[str, Span], ...] = attrs.field(default=(), eq=False, repr=False)

    @property
    def has_permissions(self) -> bool:
        """Whether the host takes it to have permissions: asks and defaults do not count."""
        return self.permissions.says_something

    @property
    def confirms(self) -> ConfirmationInheritance:
        """Who confirms, said or not."""
        if self.confirmation is not None:
            return self.confirmation
        if self.has_permissions:
            return ConfirmationInheritance.AUTO_APPROVE
        return ConfirmationInheritance.DENY_ON_ASK

    @property
    def declared(self) -> tuple[RuleSet, ...]:
        """What the file declares, taken at its word: the meet of all it says.

        A list of no tools, or what is no list, is a list of no tools; a list
        of tools does not undo what is denied beside it.
        """
        permissions = self.permissions
        if self.tool_free:
            return (RuleSet((), Effect.DENY, permissions.rules.dialect),)
        found: list[RuleSet] = []
        if self.tools.presence in _NOTHING_LISTED:
            found.append(RuleSet((), Effect.DENY, permissions.rules.dialect))
        block = self.block
        if block is not None:
            found.append(block.rules)
        if permissions not in (block, PermissionPolicy(profile=permissions.profile)):
            found.append(permissions.rules)
        return tuple(found)


_NOTHING_LISTED: Final = frozenset({Presence.EMPTY, Presence.ILL_TYPED, Presence.NULL})


def built_in_agents(profile: Profile = NEWEST) -> dict[str, AgentDefinition]:
    """Return the agents that the host ships, by name."""
    return {
        name: AgentDefinition(
            name,
            shipped.description,
            policy_of(shipped.table, profile),
            native=True,
            hidden=shipped.hidden,
            tool_free=shipped.tool_free,
            confirmation=ConfirmationInheritance(shipped.confirmation)
            if shipped.confirmation
            else None,
        )
        for name, shipped in SHIPPED_AGENTS.items()
    }


@attrs.frozen
class AgentRegistry:
    """The agents by name; other names of those that the host ships are known too."""

    agents: Mapping[str, AgentDefinition]

    def find(self, name: str) -> AgentDefinition:
        """Return the agent of that name, or of that other name; case counts.

        Raises:
            A3sError: there is none.

        """
        found = self.agents.get(name) or self.agents.get(AGENT_ALIASES.get(name, ""))
        if found is None:
            raise A3sError(
                Kind.UNKNOWN_AGENT,
                f"Unknown agent type: '{name}'",
                help="known are " + ", ".join(f"`{known}`" for known in sorted(self.agents)),
            )
        return found

    def project(self, agent: AgentDefinition) -> AgentRegistry:
        """Return the registry with an agent that another system projects into it.

        Raises:
            A3sError: its name is another name of an agent that is there.

        """
        if agent.name in AGENT_ALIASES and AGENT_ALIASES[agent.name] in self.agents:
            raise A3sError(
                Kind.ALIAS_CONFLICT,
                f"projected agent name '{agent.name}' conflicts with the compatibility registry",
                agent.span,
                help=f"`{agent.name}` is another name of `{AGENT_ALIASES[agent.name]}`",
            )
        return AgentRegistry({**self.agents, agent.name: agent})
