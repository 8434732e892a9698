"""Pikuri: the front end of a host, and the one to copy for another.

From top to bottom:

- `HOST` and `load`, the protocol `policy.hosts.project.FrontEnd`: `front_ends.py` imports the
  package, and calls `load`, when a tree has a file of the host.
- `project`: all that the engine knows of one place in which the host may start.
- `dialect` and the rule sets: the arguments of tools, and the entries that decide their calls, in
  the order of precedence. Every decision uses them.
- The readings of chains: `start` is called for the first agent of a chain, and `step` for each
  agent that another starts.
- The findings about a project.
- What is Pikuri's own: what a host registers, the trifecta, which decides no call, and the file.

`writer.py` has `WRITER`, which ``policy convert --to pikuri`` uses.
"""

from __future__ import annotations

import enum
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from functools import partial, reduce
from operator import or_
from typing import Any, Final

from policy.core import expressions as re
from policy.core import limits
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.source import Source, Span, place_of
from policy.core.values import attributes, evolve, field, frozen
from policy.files.nodes import MappingNode, Node, ScalarNode
from policy.files.text import cite
from policy.files.trees import Tree
from policy.files.yaml_nodes import read_yaml
from policy.hosts.data import FindingTexts, Grade, arguments_of, host_table, tool_classes
from policy.hosts.fields import (
    ErrorTexts,
    Fields,
    HostError,
    HostErrors,
    HostVersion,
    Since,
    is_null,
)
from policy.hosts.project import EnforcedReading, Project, ReadFile, agent_entries
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Gap
from policy.tables.chain import Attenuated, Link, SpawnDenied
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Bounds, Ceiling, LinkedRules, Table

# --- the protocol: called once for a tree

HOST: Final = "pikuri"
HOST_FILE: Final = "pikuri.host.yaml"
TOOLS: Final = host_table("pikuri", "tools")


def load(tree: Tree) -> tuple[Project, ...]:
    """Return the project of every ``pikuri.host.yaml`` below *tree*."""
    files = (path for path in tree.paths() if path.rpartition("/")[2] == HOST_FILE)
    return tuple(_loaded(tree, path) for path in files)


def _loaded(tree: Tree, path: str) -> Project:
    """Return the project of one file; if it cannot be read, one without agents and a finding."""
    root = path.rpartition("/")[0]
    try:
        return project(tree.source(path), root)
    except PolicyError as error:
        nothing, why = Attenuated({}), "nothing of the host is in force"
        findings = Finding.of(error, "pikuri-unreadable-host", consequence=why)
        files = (ReadFile(path, "host"),)
        return Project(HOST, str(NEWEST), root, (), nothing, {}, nothing, files, findings)


def project(source: Source, root: str = "") -> Project:
    """Return the project of the file *source* in the folder *root*. Raises HostErrors."""
    host = read_host(source)
    registered = configure(host)
    declared = declared_reading(host, registered)
    spans = {persona.name: persona.span for persona in registered.personas}
    return Project(
        host=HOST,
        profile=str(host.profile),
        root=root,
        agents=agent_entries(declared.tables, spans),
        starts=(host.name,),
        attenuated=declared,
        enforced=enforced_reading(host, registered),
        files=(ReadFile(source.name, "host"),),
        findings=tuple(_findings(host, registered, source.whole())),
        tool_classes=tool_classes(TOOLS["classes"]),
    )


# --- the dialect: called for each rule set, asked by each decision

# Stands for the folder that a persona gets at each start.
TEMP: Final = "/@temp"

# The tools that the folders of a workspace bound.
FILES: Final = frozenset({*TOOLS["reading"], *TOOLS["writing"]})


def dialect(host: Host, workspace: Workspace | None) -> Dialect:
    """Return the dialect: the arguments of the tools, and the folder and the links of files."""
    spawn = {host.profile.spawn_tool: Argument(ArgumentKind.TEXT, ("name",))}
    found = Dialect(str(host.profile), {**arguments_of(TOOLS["arguments"]), **spawn})
    if not isinstance(workspace, Filesystem):
        return found
    links = tuple(sorted((link, to.rstrip("/")) for link, to in workspace.links.items()))
    return evolve(found, cwd=workspace.project_root.rstrip("/"), links=links)


# --- the rule sets: called for each agent; within a rule set the first entry that matches decides


def _pool(
    host: Host, tools: Iterable[Tool], extra: Iterable[Entry] = (), *, temp: bool = False
) -> RuleSet:
    """Return the rule set that allows *tools* in the workspace of the host, or in a new folder."""
    workspace = Filesystem(TEMP) if temp else host.workspace
    entries = [entry for tool in tools for entry in _tool_entries(tool, workspace, host.confirmer)]
    return RuleSet((*entries, *extra), Effect.DENY, dialect(host, workspace), Reason.UNAVAILABLE)


def _tool_entries(tool: Tool, workspace: Workspace | None, confirmer: Confirmer) -> Iterator[Entry]:
    """Yield the entries of one tool: files in the folders of the workspace, then a denial."""
    name, place = tool.name, place_of(tool.span)
    effect = confirmation(confirmer, name, exists=True)
    if not isinstance(workspace, Filesystem) or name not in FILES:
        yield Entry(name, effect, rule=name, place=place)
        return
    for root in workspace.roots(write=name in TOOLS["writing"]):
        pattern = Pattern.of(PatternKind.PATH, [root.rstrip("/"), Gap.DEEP])
        below = f"{name}({root.rstrip('/')}/**)"
        yield Entry(name, effect, pattern, rule=below, place=place)
    yield Entry(name, Effect.DENY, rule=f"{name} (elsewhere)", place=place)


def _spawn_entries(host: Host, registered: Registered) -> Iterator[Entry]:
    """Yield an entry for each agent that the host may start."""
    spawn = host.profile.spawn_tool
    for persona in registered.personas:
        pattern, place = Pattern.exactly(persona.name), place_of(persona.span)
        yield Entry(spawn, Effect.ALLOW, pattern, rule=f"{spawn}({persona.name})", place=place)
    if registered.snapshot is not None:
        yield Entry(spawn, Effect.ALLOW, rule=SUB_AGENT)


def _persona_rules(host: Host, persona: Persona) -> RuleSet:
    """Return the rule set of a persona: the exact names in its list."""
    entries = (
        Entry(tool, Effect.ALLOW, rule=tool, place=place_of(persona.span_of(tool)))
        for tool in persona.tool_names
    )
    return RuleSet(tuple(entries), Effect.DENY, dialect(host, host.workspace), Reason.UNAVAILABLE)


# --- the readings: called once for a project; `start` and `step` once for each link of a chain


def declared_reading(host: Host, registered: Registered) -> Attenuated:
    """Return the declared reading: a persona may use what its list and the pools both allow.

    The pools have the folders and the confirmer, so these bind all agents.
    """
    links, own = (host.name,), registered.tools
    use = _pool(host, (*own, *registered.server_tools), _spawn_entries(host, registered))
    pools = _pool(host, (*own, *registered.sub_agent_tools))
    used, handed_on = (Ceiling.of([LinkedRules(rules, links)]) for rules in (use, pools))
    tables = {host.name: Table(used, handed_on, Bounds(depth=1))}
    for persona in registered.personas:
        tables[persona.name] = Table.of(_persona_rules(host, persona), link=persona.name)
    if registered.snapshot is not None:
        kept = [tool for tool in own if tool.name in registered.snapshot]
        tables[SUB_AGENT] = Table.of(_pool(host, kept), link=SUB_AGENT)
    spawn = host.profile.spawn_tool
    calls = {agent: (spawn, {"name": agent}) for agent in tables}
    return Attenuated(tables, calls=calls)


def enforced_reading(host: Host, registered: Registered) -> EnforcedReading:
    """Return the enforced reading: as declared, with a new folder for some personas."""
    declared = declared_reading(host, registered)

    def step(parent: Link, agent: str) -> Link:
        if parent.depth:
            raise SpawnDenied(agent, parent.name, "depth")
        link = declared.step(parent, agent)
        persona = next((p for p in registered.personas if p.name == agent), None)
        if persona is None or not persona.needs_temp_workspace:
            return link
        pools = _pool(host, (*registered.tools, *registered.sub_agent_tools), temp=True)
        named = evolve(_persona_rules(host, persona), dialect=pools.dialect)
        parts = [LinkedRules(pools, (host.name,)), LinkedRules(named, (agent,))]
        return evolve(link, table=Table(Ceiling.of(parts), bounds=link.table.bounds))

    return EnforcedReading(declared.agents, declared.start, step, declared.spawn_call)


# --- the findings: called once for a project; their texts are in `data/findings.toml`

find: Final = FindingTexts("policy.hosts.pikuri")


def _findings(host: Host, registered: Registered, span: Span) -> Iterator[Finding]:
    """Yield the findings about a host; *span* is the place of those without another."""
    if host.confirmer is Confirmer.AUTO_APPROVE:
        yield find("pikuri-auto-approve", host.spans.get("confirmer", span))
    tools = (*registered.tools, *registered.sub_agent_tools)
    if isinstance(host.workspace, AllowAll):
        yield find("pikuri-no-bounds", host.spans.get("workspace", span), case="all")
    elif host.workspace is None:
        opening = next((tool for tool in tools if tool.name in FILES), None)
        if opening is not None:
            yield find("pikuri-no-bounds", opening.span or span, case="none", tool=opening.name)
    for tool in tools:
        if tool.name == "bash" and tool.sandbox is ToolSandbox.NONE:
            yield find("pikuri-no-sandbox", tool.span)
    own = {tool.name for tool in registered.tools}
    for persona in registered.personas:
        name, beyond = persona.name, [t for t in registered.tools_of(persona.name) if t not in own]
        if beyond:
            shown, at = ", ".join(f"`{tool}`" for tool in beyond), persona.span_of(beyond[0])
            yield find("pikuri-beyond-parent", at, persona=name, tools=shown, host=host.name)
        if persona.needs_temp_workspace:
            yield find("pikuri-temp-workspace", persona.span, persona=name)
    named = {name for persona in registered.personas for name in persona.tool_names}
    for tool in registered.sub_agent_tools:
        if tool.name not in named:
            yield find("pikuri-unused-pool", tool.span, tool=tool.name)
    report = trifecta(host, registered)
    if report.tree_verdict is not TrifectaVerdict.SILENT:
        chain = ">".join(report.worst_path)
        at = host.spans.get("register", span)
        first_line = Span(at.source, at.start, at.start + len(at.text.split("\n", 1)[0]))
        loud = report.tree_verdict is TrifectaVerdict.LOUD
        yield find("pikuri-trifecta-loud" if loud else "pikuri-trifecta", first_line, chain=chain)


# --- what is Pikuri's own: versions

# The sub-agent of versions up to 0.0.3.
SUB_AGENT: Final = "sub_agent"
refused: Final = ErrorTexts("pikuri")


class PikuriProfile(HostVersion):
    """One version of Pikuri, with the features that differ."""

    HOST = "pikuri"
    EXAMPLE = "0.1"

    # Personas replace the one sub-agent, which had the tools registered before it.
    has_personas = Since(0, 0, 4)
    # The bundled file miner has `file_list`.
    lists_files = Since(0, 1, 0)
    # A persona may get a new workspace at each start.
    has_temp_workspaces = Since(0, 1, 0)

    @property
    def spawn_tool(self) -> str:
        """The name of the tool that starts agents."""
        return str(TOOLS["spawning"]["pikuri" if self.has_personas else "pikuri<=0.0.3"])


NEWEST: Final = PikuriProfile((0, 1, 0))


# --- the workspace: the folders that bound tools


def _full(path: str, root: str) -> str:
    full = posixpath.normpath(path if path.startswith("/") else f"{root}/{path}")
    return "/" + full.lstrip("/")


def _folder(path: str) -> str:
    return _full(path, "/")


def _folders(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(_folder, paths))


def _targets(links: Mapping[str, str]) -> dict[str, str]:
    """Return *links* as absolute paths, shorter links first, since paths resolve from the start."""
    full = ((_folder(link), target) for link, target in sorted(links.items()))
    return {link: _full(target, posixpath.dirname(link)) for link, target in full}


@frozen
class Filesystem:
    """The folders that bound tools, as absolute paths. Relative paths start at `project_root`.

    *links* has the targets of symbolic links, since no file is opened here.
    """

    project_root: str = field(converter=_folder)  # read and written
    readable: tuple[str, ...] = field(default=(), converter=_folders)
    writable: tuple[str, ...] = field(default=(), converter=_folders)  # and read
    links: Mapping[str, str] = field(factory=dict, converter=_targets, hash=False)

    def roots(self, *, write: bool) -> tuple[str, ...]:
        """Return the folders that may be written, or read, and the targets of their links."""
        written = (self.project_root, *self.writable)
        named = written if write else (*written, *self.readable)
        led_to = (real for root in named if (real := self._real(root)) is not None)
        return tuple(dict.fromkeys((*named, *led_to)))

    def decide(self, path: str, *, write: bool) -> Effect:
        """Return ALLOW if *path* is in the folders, with ``..`` and links resolved; else DENY."""
        full = _full(path, self.project_root)
        real, roots = self._real(full), self.roots(write=write)
        if not path or "\0" in path or real is None:
            return Effect.DENY
        inside = all(any(_below(one, root) for root in roots) for one in (full, real))
        return Effect.ALLOW if inside else Effect.DENY

    def _real(self, path: str) -> str | None:
        """Return *path* with its links resolved, None if they form a circle."""
        for _ in range(limits.LINKS):
            link = next((link for link in self.links if _below(path, link)), None)
            if link is None:
                return path
            path = _full(self.links[link] + path[len(link) :], "/")
        return None


@frozen
class AllowAll:
    """A workspace without bounds on files; a finding reports it."""

    def decide(self, path: str, *, write: bool) -> Effect:  # noqa: ARG002  # as a Filesystem
        """Return ALLOW for every valid path."""
        return Effect.ALLOW if path and "\0" not in path else Effect.DENY


Workspace = Filesystem | AllowAll


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


# --- what a host registers: tools and personas


class ToolSandbox(enum.Enum):
    """The sandbox in which commands of a tool run."""

    NONE = "none"
    BUBBLEWRAP = "bubblewrap"


class Confirmer(enum.Enum):
    """Who confirms calls. Each call is confirmed separately."""

    TERMINAL = "terminal"
    AUTO_APPROVE = "auto_approve"  # `--yolo`


def confirmation(
    confirmer: Confirmer, tool: str, *, exists: bool = False, identical: bool = False
) -> Effect:
    """Return the effect of a call of *tool* that the workspace allows.

    A person confirms every command, and each write that replaces a file by other content; no edit.
    """
    confirmed = tool == "bash" or (tool == "write" and exists and not identical)
    return Effect.ASK if confirmed and confirmer is Confirmer.TERMINAL else Effect.ALLOW


class Untrusted(Grade):
    """How directly an agent reads untrusted text."""

    NONE = "none"
    SOFT = "soft"  # through the report of another agent
    HARD = "hard"  # the text itself


class Destination(Grade):
    """Where an agent can send data."""

    NO_EGRESS = "no_egress"
    LISTED = "listed"  # places on a list
    OPEN = "open"  # any place


class Payload(Grade):
    """Whether a person reviews the data that is sent."""

    NO_EGRESS = "no_egress"
    REVIEWED = "reviewed"
    UNREVIEWED = "unreviewed"


class TrifectaVerdict(Grade):
    """How easily an injected instruction can leak data."""

    SILENT = "silent"
    SOFT = "soft"
    LOUD = "loud"


@frozen
class TrifectaLegs:
    """The trifecta of an agent or a tool: private data, untrusted text and egress.

    Two of the three are harmless; README.md has the grid. ``|`` takes the worse grade of each.
    Raises HostError if just one of destination and payload is `no_egress`.
    """

    private: bool = False
    untrusted: Untrusted = field(default=Untrusted.NONE, converter=Untrusted)
    destination: Destination = field(default=Destination.NO_EGRESS, converter=Destination)
    payload: Payload = field(default=Payload.NO_EGRESS, converter=Payload)

    def __attrs_post_init__(self) -> None:
        if (self.destination is Destination.NO_EGRESS) != (self.payload is Payload.NO_EGRESS):
            raise refused("invalid_legs")

    def __or__(self, other: TrifectaLegs) -> TrifectaLegs:
        """Return the legs of an agent that has both."""
        both = ((getattr(self, leg), getattr(other, leg)) for leg in attributes(TrifectaLegs))
        return TrifectaLegs(*map(max, both))

    def cap_payload_review(self, channel: Payload) -> TrifectaLegs:
        """Return these legs behind a channel: egress is reviewed if *channel* is."""
        payload = min(self.payload, channel)
        closed = payload is Payload.NO_EGRESS
        to = Destination.NO_EGRESS if closed else self.destination
        return evolve(self, destination=to, payload=payload)

    def relabel_inbound(self) -> TrifectaLegs:
        """Return the legs that the report of a child brings: untrusted text is SOFT at most."""
        return evolve(self, untrusted=min(self.untrusted, Untrusted.SOFT))

    @property
    def verdict(self) -> TrifectaVerdict:
        """The verdict by the grid."""
        legs = (self.untrusted, self.destination, self.payload)
        if not self.private or Untrusted.NONE in legs or Destination.NO_EGRESS in legs:
            return TrifectaVerdict.SILENT
        worst = (Untrusted.HARD, Destination.OPEN, Payload.UNREVIEWED)
        return TrifectaVerdict.LOUD if legs == worst else TrifectaVerdict.SOFT


NONE: Final = TrifectaLegs()


@frozen
class Tool:
    """One tool."""

    name: str
    sub_agents_only: bool = False  # whether only personas may have it (`add_sub_agent_tool`)
    server: str = ""  # the server that offers it; personas cannot have its tools
    legs: TrifectaLegs | None = None  # None if it declares none
    sandbox: ToolSandbox = ToolSandbox.NONE
    span: Span | None = field(default=None, eq=False, repr=False)


# The steps of a persona that states none.
STEPS: Final = 20


def _tuple(value: Any) -> tuple[str, ...]:  # noqa: ANN401  # checked here
    if isinstance(value, str):
        raise refused("invalid_persona", None, "list")
    return tuple(value)


@frozen
class Persona:
    """One kind of agent that a host may start."""

    name: str  # unique in a host
    description: str = ""  # for the model of the host
    tool_names: tuple[str, ...] = field(default=(), converter=_tuple)  # exact; () is no tool
    system_prompt: str = ""
    max_steps: int = STEPS  # of each start
    needs_temp_workspace: bool = False  # whether each start gets a new, empty folder
    span: Span | None = field(default=None, eq=False, repr=False, kw_only=True)
    spans: tuple[Span, ...] = field(default=(), eq=False, repr=False, kw_only=True)  # of the tools

    # A persona gets no prompt or message of its parent, and returns its last message.
    replaces_parent = True
    fresh_context = True
    returns = "final_message"

    def __attrs_post_init__(self) -> None:
        if not self.name:
            raise refused("invalid_persona", self.span, "name")
        if type(self.max_steps) is not int or self.max_steps < 1:
            raise refused("invalid_persona", self.span, "steps", steps=self.max_steps)

    def span_of(self, tool: str) -> Span | None:
        """Return the span of *tool* in the list, or else of the name of the persona."""
        if len(self.spans) == len(self.tool_names) and tool in self.tool_names:
            return self.spans[self.tool_names.index(tool)]
        return self.span


def bundled(profile: PikuriProfile = NEWEST) -> dict[str, Persona]:
    """Return the personas that a version ships: constant -> persona."""
    if not profile.has_personas:
        return {}
    shipped = {constant: Persona(**persona) for constant, persona in TOOLS["personas"].items()}
    miner = shipped["FILE_MINER"]
    listing = ("file_list",) if profile.lists_files else ()
    return {**shipped, "FILE_MINER": evolve(miner, tool_names=(*listing, *miner.tool_names))}


@frozen
class PersonaSet:
    """The extension that makes personas available (`Extension.new(personas:)`)."""

    personas: tuple[Persona, ...] = field(converter=tuple[Persona, ...])
    span: Span | None = field(default=None, eq=False, repr=False)

    def configure(self, host: Registered) -> None:
        """Raise HostErrors if a persona names a tool that neither pool of *host* has so far."""
        known = ", ".join(f"`{name}`" for name in host.pool_tools) or "nothing"
        errors = [
            refused(
                "unknown_tool_name", one.span_of(tool), persona=one.name, tool=tool, known=known
            )
            for one in self.personas
            for tool in one.tool_names
            if tool not in host.pool_tools
        ]
        seen: dict[str, Persona] = {}
        for persona in (*host.personas, *self.personas):
            first = seen.setdefault(persona.name, persona)
            if first is not persona:
                at = f" at {first.span.place}" if first.span else ""
                errors.append(refused("duplicate_persona", persona.span, name=persona.name, at=at))
        if errors:
            raise HostErrors(errors)


@frozen
class SubAgent:
    """The sub-agent of versions up to 0.0.3: it has the tools registered before it."""

    span: Span | None = field(default=None, eq=False, repr=False)


Registration = Tool | PersonaSet | SubAgent


@frozen
class Registered:
    """The tools and personas that a host has registered."""

    tools: tuple[Tool, ...] = ()  # for the host, and for personas that name them
    sub_agent_tools: tuple[Tool, ...] = ()  # for personas alone
    server_tools: tuple[Tool, ...] = ()  # for the host alone
    personas: tuple[Persona, ...] = ()
    snapshot: tuple[str, ...] | None = None  # the tools of the sub-agent of old versions
    profile: PikuriProfile = NEWEST

    @property
    def pool_tools(self) -> tuple[str, ...]:
        """The names of the tools in both pools, which personas may name."""
        return tuple(tool.name for tool in (*self.tools, *self.sub_agent_tools))

    @property
    def callable(self) -> tuple[str, ...]:
        """The names of the tools that the host may call, the one that starts agents among them."""
        names = [tool.name for tool in (*self.tools, *self.server_tools)]
        if self.personas or self.snapshot is not None:
            names.append(self.profile.spawn_tool)
        return tuple(names)

    def persona(self, name: str) -> Persona:
        """Return the persona *name*. Raises HostError if there is none."""
        named = {persona.name: persona for persona in self.personas}
        if name not in named:
            known = ", ".join(f"`{one}`" for one in named) or "none"
            raise refused("unknown_persona", name=name, known=known)
        return named[name]

    def tools_of(self, name: str) -> tuple[str, ...]:
        """Return the tools of the persona *name*: those in the pools that it names."""
        named = self.persona(name).tool_names
        return tuple(dict.fromkeys(tool for tool in self.pool_tools if tool in named))

    def available(self, chain: tuple[str, ...], tool: str) -> bool:
        """Return whether the last agent of *chain*, or the host if that is (), has *tool*.

        Raises HostError for an unknown persona, or one that starts another.
        """
        for agent in chain[:1]:
            self.persona(agent)
        if len(chain) > 1:
            agent, other, *_ = chain
            raise refused("no_agent_tool", agent=agent, tool=self.profile.spawn_tool, other=other)
        return tool in (self.tools_of(chain[0]) if chain else self.callable)


@frozen
class Host:
    """A host as described by its file."""

    name: str = "host"
    registrations: tuple[Registration, ...] = ()  # in order
    workspace: Workspace | None = None
    confirmer: Confirmer = Confirmer.TERMINAL
    profile: PikuriProfile = NEWEST
    spans: Mapping[str, Span] = field(factory=dict, eq=False, repr=False)  # by key of the file


def configure(host: Host) -> Registered:
    """Return the registrations of *host*; raise HostErrors if one keeps it from starting."""
    errors = []
    for each in host.registrations:
        if isinstance(each, Tool) and each.name == host.profile.spawn_tool:
            errors.append(refused("reserved_tool", each.span, tool=each.name))
        for persona in each.personas if isinstance(each, PersonaSet) else ():
            if persona.name == host.name:
                own = refused("duplicate_persona", persona.span, "host", name=persona.name)
                errors.append(own)
    if errors:
        raise HostErrors(errors)
    done = Registered(profile=host.profile)
    for each in host.registrations:
        match each:
            case PersonaSet(personas=personas):
                each.configure(done)
                done = evolve(done, personas=(*done.personas, *personas))
            case SubAgent():
                done = evolve(done, snapshot=tuple(tool.name for tool in done.tools))
            case Tool(sub_agents_only=True):
                done = evolve(done, sub_agent_tools=(*done.sub_agent_tools, each))
            case Tool(server=""):
                done = evolve(done, tools=(*done.tools, each))
            case Tool():
                done = evolve(done, server_tools=(*done.server_tools, each))
    return done


def available_agents(registered: Registered) -> str:
    """Return the descriptions of personas, as the model of the host sees them."""
    return "\n".join(f"{persona.name}: {persona.description}" for persona in registered.personas)


# --- the trifecta: a verdict that decides no call


@frozen
class AgentNode:
    """An agent with the agents that it may start."""

    name: str
    legs: TrifectaLegs = NONE  # of all its tools
    children: tuple[AgentNode, ...] = ()
    channel: Payload = (
        Payload.UNREVIEWED
    )  # whether a person reviews the data that it sends to children


@frozen
class TrifectaReport:
    """The verdicts on a host. They decide no call."""

    verdict: TrifectaVerdict  # of the root alone
    tree_verdict: TrifectaVerdict  # the worst verdict of all agents, reports of children included
    worst_path: tuple[str, ...]  # the chain of the agent with that verdict


def walk(node: AgentNode) -> TrifectaReport:
    """Return the verdicts on *node* and the agents below it."""
    path, legs = max(_walk(node, (node.name,)), key=lambda one: one[1].verdict)
    return TrifectaReport(node.legs.verdict, legs.verdict, path)


def _through_channels(node: AgentNode) -> TrifectaLegs:
    total = NONE
    for child in node.children:
        legs = (child.legs | _through_channels(child)).relabel_inbound()
        total |= legs.cap_payload_review(node.channel)
    return total


def _walk(node: AgentNode, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], TrifectaLegs]]:
    yield path, node.legs | _through_channels(node)
    for child in node.children:
        yield from _walk(child, (*path, child.name))


_SERVER: Final = TrifectaLegs(**TOOLS["server"])

# Tool -> its legs, if it declares none.
_KNOWN: Final = {tool: TrifectaLegs(**legs) for tool, legs in TOOLS["legs"].items()}


def _legs_of(tool: Tool, host: Host) -> TrifectaLegs:
    if tool.legs is not None:
        return tool.legs
    if tool.server:
        return _SERVER
    known = _KNOWN.get(tool.name, NONE)
    confirmed = tool.name != "bash" or host.confirmer is Confirmer.TERMINAL
    return known if confirmed else evolve(known, payload=Payload.UNREVIEWED)


def trifecta(host: Host, done: Registered) -> TrifectaReport:
    """Return the trifecta of *host* and its personas."""

    def node(name: str, tools: Iterable[Tool], children: Iterable[AgentNode] = ()) -> AgentNode:
        legs = reduce(or_, (_legs_of(tool, host) for tool in tools), NONE)
        return AgentNode(name, legs, tuple(children))

    pools = (*done.tools, *done.sub_agent_tools)
    started = [(persona.name, done.tools_of(persona.name)) for persona in done.personas]
    if done.snapshot is not None:
        started.append((SUB_AGENT, done.snapshot))
    children = (node(name, (t for t in pools if t.name in names)) for name, names in started)
    return walk(node(host.name, (*done.tools, *done.server_tools), children))


# --- the file

# First key of a registration -> its other keys.
_REGISTRATIONS: Final = {
    "tool": ("legs", "sandbox"),
    "sub_agent_tool": ("legs", "sandbox"),
    "mcp": (),
    "personas": (),
}
_PERSONA: Final = "name description tool_names system_prompt max_steps needs_temp_workspace".split()


def read_host(source: Source) -> Host:
    """Return the host in *source*; raise HostErrors with every mistake."""
    fields = Fields.read(partial(read_yaml, source), "host_file", filled=True)
    fields.known("pikuri", "host", "workspace", "confirmer", "register")
    profile = fields.version("pikuri", NEWEST)
    registered: list[Registration] = []
    listed = () if is_null(fields.get("register")) else fields.sequence("register")
    for index, item in enumerate(listed):
        registered += _registration(item, fields, f"register[{index}]", profile)
    name, workspace = fields.text("host", "host"), _workspace(fields)
    if name and not re.fullmatch(r"[\w.-]+", name):
        help_ = "letters, digits, `-`, `_` and `.`"
        fields.note(f"expected a name, found {cite(name)}", fields.span("host"), help_)
    confirmer = fields.choice("confirmer", Confirmer.TERMINAL)
    spans = {entry.name: entry.value.span for entry in fields.entries}
    fields.check()
    return Host(name, tuple(registered), workspace, confirmer, profile, spans)


def _registration(
    item: Node, fields: Fields, name: str, profile: PikuriProfile
) -> Iterable[Registration]:
    if isinstance(item, ScalarNode) and item.value == "sub_agent":
        if profile.has_personas:
            help_ = "write `personas`, or the version that is meant under `pikuri`"
            fields.note(f"{profile} has personas in place of `sub_agent`", item.span, help_)
        return (SubAgent(item.span),)
    keys = fields.item(item, name)
    if keys.node is None:
        return ()
    kinds = [entry for entry in keys.node.entries if entry.name in _REGISTRATIONS]
    if len(kinds) != 1:
        known = ", ".join(f"`{kind}`" for kind in _REGISTRATIONS)
        given = " and ".join(f"`{entry.name}`" for entry in kinds) or "none"
        keys.note(f"expected one of {known}, found {given}", kinds[1].key.span if kinds else None)
        return ()
    kind = kinds[0].name
    keys.known(kind, *_REGISTRATIONS[kind])
    if kind == "mcp":
        return [Tool(tool, server="mcp", span=span) for tool, span in keys.items("mcp")]
    if kind != "personas":
        sandbox, pool = keys.choice("sandbox", ToolSandbox.NONE), kind == "sub_agent_tool"
        return (Tool(keys.text(kind), pool, "", _legs(keys), sandbox, keys.span(kind)),)
    span = kinds[0].key.span
    if not profile.has_personas:
        keys.note(f"{profile} has no personas", span, "write `- sub_agent`")
        return ()
    personas = [
        _persona(persona, keys, f"personas[{index}]", profile)
        for index, persona in enumerate(keys.sequence("personas"))
    ]
    return () if keys.errors else (PersonaSet(tuple(filter(None, personas)), span),)


def _persona(item: Node, fields: Fields, name: str, profile: PikuriProfile) -> Persona | None:
    if isinstance(item, ScalarNode):
        if shipped := bundled(profile).get(str(item.value)):
            return evolve(shipped, span=item.span)
        known = ", ".join(f"`{name}`" for name in TOOLS["personas"])
        help_ = f"known are {known}; any other is written out"
        fields.note(f"there is no bundled persona {cite(item.raw)}", item.span, help_)
        return None
    keys = fields.item(item, name)
    keys.known(*_PERSONA)
    tools, own = keys.items("tool_names"), keys.text("name")
    description, prompt = keys.text("description", ""), keys.text("system_prompt", "")
    steps, temp = keys.number("max_steps", STEPS, least=1), keys.truth("needs_temp_workspace")
    if temp and not profile.has_temp_workspaces:
        keys.note(f"{profile} has no temporary workspaces", keys.span("needs_temp_workspace"))
    if keys.errors:
        return None
    names, spans = tuple(tool for tool, _ in tools), tuple(span for _, span in tools)
    span = keys.span("name")
    return Persona(own, description, names, prompt, steps, temp, span=span, spans=spans)


def _workspace(fields: Fields) -> Workspace | None:
    """Return the folders that bound tools; None if the file names none."""
    node = fields.get("workspace")
    if node is None:
        return None
    if isinstance(node, ScalarNode) and node.value == "allow_all":
        return AllowAll()
    if not isinstance(node, MappingNode):
        fields.wrong("workspace", "keys and values, or `allow_all`", node)
        return None
    keys = fields.below("workspace")
    keys.known("project_root", "readable", "writable", "links")
    root, links = keys.text("project_root"), keys.below("links")
    targets = {_absolute(links, e.name, e.key.span): links.text(e.name) for e in links.entries}
    readable, writable = (
        tuple(_absolute(keys, path, span) for path, span in keys.items(key))
        for key in ("readable", "writable")
    )
    return Filesystem(_absolute(keys, root, keys.span("project_root")), readable, writable, targets)


def _absolute(fields: Fields, path: str, span: Span | None) -> str:
    if not path.startswith("/") or "\0" in path:
        fields.note(f"expected an absolute path, found {cite(path)}", span)
    elif ".." in path.split("/"):
        help_ = f"write {cite(posixpath.normpath(path))}"
        fields.note(f"expected a path without `..`, found {cite(path)}", span, help_)
    return path


def _legs(fields: Fields) -> TrifectaLegs | None:
    """Return the legs that a tool declares, or None."""
    if fields.get("legs") is None:
        return None
    keys = fields.below("legs")
    keys.known("private", "untrusted", "egress", "review")
    private, untrusted = keys.truth("private"), keys.choice("untrusted", Untrusted.NONE)
    egress = keys.choice("egress", Destination.NO_EGRESS)
    try:
        return TrifectaLegs(private, untrusted, egress, keys.choice("review", Payload.NO_EGRESS))
    except HostError as error:
        missing = "review" if keys.get("egress") else "egress"
        help_ = "" if keys.get(missing) else f"write `{missing}` too"
        keys.errors.append(HostError(error.kind, error.message, keys.span(""), help=help_))
        return None
