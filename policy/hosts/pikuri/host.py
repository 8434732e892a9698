"""A host: what it registers, in order, and what is wrong with that.

An extension is validated against the tools that were registered before it,
those for sub-agents alone included. One persona that names anything else stops
the whole host.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from policy.hosts.pikuri.errors import Kind, PikuriError, PikuriErrors
from policy.hosts.pikuri.personas import Persona
from policy.hosts.pikuri.trifecta import TrifectaLegs
from policy.hosts.pikuri.versions import NEWEST, Profile
from policy.hosts.pikuri.workspace import Confirmer, Workspace
from policy.source import Span

__all__ = [
    "Host",
    "PersonaSet",
    "Registered",
    "Registration",
    "SubAgent",
    "Tool",
    "available_agents",
    "configure",
]


@attrs.frozen
class Tool:
    """One tool.

    Attributes:
        name: exact.
        sub_agents_only: whether only personas may have it (`add_sub_agent_tool`).
        server: the server it comes from, which personas have nothing of, or "".
        legs: what it brings together, or None where that is not said.
        sandbox: what its commands run in, or "".
        span: where it is written.

    """

    name: str
    sub_agents_only: bool = False
    server: str = ""
    legs: TrifectaLegs | None = None
    sandbox: str = ""
    span: Span | None = attrs.field(default=None, eq=False, repr=False)


@attrs.frozen
class PersonaSet:
    """The extension that makes personas available (`Extension.new(personas:)`)."""

    personas: tuple[Persona, ...] = attrs.field(converter=tuple[Persona, ...])
    span: Span | None = attrs.field(default=None, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        errors = list(_duplicates(self.personas))
        if errors:
            raise PikuriErrors(errors)

    def configure(self, host: Registered) -> None:
        """Check every persona against what *host* has registered so far.

        Raises:
            PikuriErrors: a persona names another tool; none of them is registered then.

        """
        errors = [
            _unknown(persona, tool, host.known)
            for persona in self.personas
            for tool in persona.tool_names
            if tool not in host.known
        ]
        errors += _duplicates((*host.personas, *self.personas))
        if errors:
            raise PikuriErrors(errors)


@attrs.frozen
class SubAgent:
    """The sub-agent of versions up to 0.0.3: it has what its parent had at this point."""

    span: Span | None = attrs.field(default=None, eq=False, repr=False)


Registration = Tool | PersonaSet | SubAgent


def _duplicates(personas: Iterable[Persona]) -> Iterable[PikuriError]:
    seen: dict[str, Persona] = {}
    for persona in personas:
        first = seen.setdefault(persona.name, persona)
        if first is not persona:
            at = f" at {first.span.place}" if first.span else ""
            msg = f"there is a persona `{persona.name}` already{at}"
            yield PikuriError(Kind.DUPLICATE_PERSONA, msg, persona.span, help="rename one of them")


def _unknown(persona: Persona, tool: str, known: Iterable[str]) -> PikuriError:
    names = ", ".join(f"`{name}`" for name in known) or "nothing"
    return PikuriError(
        Kind.UNKNOWN_TOOL,
        f"persona `{persona.name}` names `{tool}`, which is not registered before it",
        persona.span_of(tool),
        help=f"registered are {names}; register the tool first, or leave the persona out",
    )


@attrs.frozen
class Registered:
    """What a host has after its block has run.

    Attributes:
        tools: that it may call itself.
        sub_agent_tools: that only personas may have.
        server_tools: of servers, which only it may call.
        personas: that it may start.
        snapshot: the tools of the sub-agent of old versions, or None.
        profile: the version.

    """

    tools: tuple[Tool, ...] = ()
    sub_agent_tools: tuple[Tool, ...] = ()
    server_tools: tuple[Tool, ...] = ()
    personas: tuple[Persona, ...] = ()
    snapshot: tuple[str, ...] | None = None
    profile: Profile = NEWEST

    @property
    def known(self) -> tuple[str, ...]:
        """The names that a persona may name."""
        return tuple(tool.name for tool in (*self.tools, *self.sub_agent_tools))

    @property
    def callable(self) -> tuple[str, ...]:
        """The names of what the host itself may call, the tool that starts agents included."""
        names = [tool.name for tool in (*self.tools, *self.server_tools)]
        if self.personas or self.snapshot is not None:
            names.append(self.profile.spawn_tool)
        return tuple(names)

    def persona(self, name: str) -> Persona:
        """Return the persona of that name.

        Raises:
            PikuriError: there is none.

        """
        for persona in self.personas:
            if persona.name == name:
                return persona
        known = ", ".join(f"`{persona.name}`" for persona in self.personas) or "none"
        msg = f"there is no persona `{name}`"
        raise PikuriError(Kind.UNKNOWN_PERSONA, msg, help=f"registered are {known}")

    def tools_of(self, name: str) -> tuple[str, ...]:
        """Return the tools of a child: what the persona names, out of both pools."""
        named = self.persona(name).tool_names
        return tuple(dict.fromkeys(tool for tool in self.known if tool in named))

    def available(self, chain: tuple[str, ...], tool: str) -> bool:
        """Return whether the last agent of *chain*, behind the host, has *tool*.

        Raises:
            PikuriError: a persona is unknown, or a child would start another.

        """
        for agent in chain[:1]:
            self.persona(agent)
        if len(chain) > 1:
            msg = f"`{chain[0]}` has no tool `{self.profile.spawn_tool}` to start `{chain[1]}` with"
            raise PikuriError(Kind.NO_AGENT_TOOL, msg)
        return tool in (self.tools_of(chain[0]) if chain else self.callable)


@attrs.frozen
class Host:
    """A host as it is written down.

    Attributes:
        name: as chains name it.
        registrations: in order.
        workspace: the folders its tools may open, or None where that is not said.
        confirmer: who answers what its tools ask.
        profile: the version.
        spans: key of the host file -> where its value is written.

    """

    name: str = "host"
    registrations: tuple[Registration, ...] = ()
    workspace: Workspace | None = None
    confirmer: Confirmer = Confirmer.TERMINAL
    profile: Profile = NEWEST
    spans: Mapping[str, Span] = attrs.field(factory=dict, eq=False, repr=False)


def configure(host: Host) -> Registered:
    """Return what *host* has once it has registered everything.

    Raises:
        PikuriErrors: a registration is refused; the host does not start.

    """
    errors = [*_reserved(host), *_named_as(host)]
    if errors:
        raise PikuriErrors(errors)
    done = Registered(profile=host.profile)
    for registration in host.registrations:
        match registration:
            case PersonaSet(personas=personas):
                registration.configure(done)
                done = attrs.evolve(done, personas=(*done.personas, *personas))
            case SubAgent():
                snapshot = tuple(tool.name for tool in done.tools)
                done = attrs.evolve(done, snapshot=snapshot)
            case Tool(sub_agents_only=True):
                done = attrs.evolve(done, sub_agent_tools=(*done.sub_agent_tools, registration))
            case Tool(server=""):
                done = attrs.evolve(done, tools=(*done.tools, registration))
            case Tool():
                done = attrs.evolve(done, server_tools=(*done.server_tools, registration))
    return done


def _reserved(host: Host) -> Iterable[PikuriError]:
    """Yield the tools that take the name of the one that starts agents."""
    spawn = host.profile.spawn_tool
    for tool in host.registrations:
        if isinstance(tool, Tool) and tool.name == spawn:
            msg = f"`{spawn}` is the tool that starts agents, which the host installs itself"
            help_ = "leave it out; it is there once there are agents to start"
            yield PikuriError(Kind.RESERVED_TOOL, msg, tool.span, help=help_)


def _named_as(host: Host) -> Iterable[PikuriError]:
    """Yield the personas that chains could not tell from the host."""
    for registration in host.registrations:
        for persona in registration.personas if isinstance(registration, PersonaSet) else ():
            if persona.name == host.name:
                msg = f"the persona `{persona.name}` has the name of the host"
                help_ = "give the host another name in chains with `host`"
                yield PikuriError(Kind.DUPLICATE_PERSONA, msg, persona.span, help=help_)


def available_agents(registered: Registered) -> str:
    """Return what the model of the host is told of the personas it may start."""
    return "\n".join(f"{persona.name}: {persona.description}" for persona in registered.personas)
