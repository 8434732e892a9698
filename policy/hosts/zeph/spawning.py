"""Starts of agents in Zeph: contexts, checks in its order, and the two readings."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Final

from policy.core import expressions as re
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.source import Place, Span, place_of
from policy.core.values import evolve, field, frozen
from policy.hosts.fields import HostError
from policy.hosts.project import EnforcedReading
from policy.hosts.zeph.definition import (
    EDITING,
    GROUPS,
    SESSION,
    WORKING_DIRECTORY,
    MemoryScope,
    PermissionMode,
    SkillFilter,
    SubAgentDef,
    ToolPolicy,
    ZephProfile,
    find,
    normalize,
    refused,
    upstream_text,
)
from policy.hosts.zeph.session import (
    DECLARED,
    ENFORCED,
    RAW,
    STARTING,
    TrustLevel,
    ZephSession,
    network_rules,
    trust_rules,
)
from policy.language.parse import parse_matcher
from policy.patterns import notations
from policy.patterns.pattern import Pattern
from policy.tables.chain import Attenuated, Link, SpawnDenied, attenuate
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import SPAWN_TOOL, Bounds, Ceiling, LinkedRules, Table


class SpawnOrigin(enum.Enum):
    """Whether a person or an agent asked for the start. The default is ``AUTONOMOUS``."""

    EXPLICIT = "explicit"
    AUTONOMOUS = "autonomous"


class DelegationMode(enum.Enum):
    """When agents may be started."""

    PROACTIVE = "proactive"
    EXPLICIT_REQUEST_ONLY = "explicit_request_only"
    DISABLED = "disabled"


class Forward(enum.Enum):
    """The context that an agent hands on; a field without a value restricts nothing."""

    NOTHING = "none"  # no field is copied, as in Zeph
    RECEIVED = "copy_received"  # a copy of the context of the agent
    EFFECTIVE = "effective"  # that copy, with the tools that the agent may call


def _names(names: Iterable[str] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)


@frozen
class SpawnContext:
    """The context of a started agent. The default, that of the session, restricts nothing.

    As the inherited list, None is every tool and the empty set is no tool.
    """

    max_trust_level: TrustLevel | None = None  # None is no cap
    inherited_tool_allowlist: frozenset[str] | None = field(default=None, converter=_names)
    network_denied: bool = False
    spawn_depth: int = 0  # the number of agents above it
    origin: SpawnOrigin = SpawnOrigin.AUTONOMOUS
    seed_trajectory_score: float | None = None  # the risk score that it starts with
    content_isolation: frozenset[str] = frozenset()  # the protections of content in force
    mcp_tool_names: tuple[str, ...] = ()
    session_mcp_servers: tuple[str, ...] = ()  # servers whose tools its prompt lists
    orchestrator_name: str | None = None  # named in its prompt
    orchestrator_role: str | None = None  # reports show it after the name

    @property
    def identity(self) -> str:
        """The orchestrator as reports show it: one line, at most 128 characters."""
        name, role = self.orchestrator_name or "", self.orchestrator_role
        shown = f"{name} ({role})" if name and role else name
        return " ".join(shown.split())[:128]

    def weakened(self, child: SpawnContext) -> Iterator[Finding]:
        """Yield a finding for every protection in force here and not in *child*."""
        for name in sorted(self.content_isolation - child.content_isolation):
            to = f" of {child.identity}" if child.identity else ""
            yield find("isolation-weakened", file=SESSION, name=name, of=to)

    def then(self, *, allowlist: frozenset[str] | None, forward: Forward) -> SpawnContext:
        """Return the context that an agent with this one, and *allowlist*, hands on."""
        if forward is Forward.NOTHING:
            return SpawnContext()
        inherited = self.inherited_tool_allowlist if forward is Forward.RECEIVED else allowlist
        return evolve(
            self,
            inherited_tool_allowlist=inherited,
            spawn_depth=self.spawn_depth + 1,
            origin=SpawnOrigin.AUTONOMOUS,
        )


@frozen
class AgentsConfig:
    """The section ``[agents]`` of the configuration."""

    enabled: bool = True
    delegation_mode: DelegationMode = DelegationMode.PROACTIVE
    max_spawns_per_session: int = 100  # 0 is no limit
    max_spawn_depth: int = 3  # with 0 no agent is started
    max_concurrent: int = 5
    default_permission_mode: PermissionMode | None = None  # of definitions with ``default``
    default_disallowed_tools: tuple[str, ...] = ()  # denied to every agent
    default_memory_scope: MemoryScope | None = None  # of definitions without one
    allow_bypass_permissions: bool = False
    worktree_manager: bool = False  # whether agents can get a worktree
    bg_isolation: str = "worktree"  # ``none``, or how background agents are isolated
    # Key such as ``agents.default_memory_scope`` -> its span.
    spans: Mapping[str, Span] = field(factory=dict, eq=False, repr=False)

    @property
    def effective_delegation_mode(self) -> DelegationMode:
        """The mode in force: DISABLED unless agents are enabled."""
        return self.delegation_mode if self.enabled else DelegationMode.DISABLED

    @property
    def denied(self) -> Iterator[tuple[str, str, Span | None]]:
        """Each tool denied to every agent, with its rule and span."""
        for index, name in enumerate(self.default_disallowed_tools):
            span = self.spans.get(f"agents.default_disallowed_tools[{index}]")
            yield name, f"default_disallowed_tools: {name}", span

    def mode(self, definition: SubAgentDef) -> PermissionMode:
        """Return the permission mode of an agent."""
        mode = definition.permissions.permission_mode
        return self.default_permission_mode or mode if mode is PermissionMode.DEFAULT else mode

    def memory(self, definition: SubAgentDef) -> MemoryScope | None:
        """Return the memory scope of an agent, or None."""
        return definition.memory or self.default_memory_scope

    def disallowed(self, definition: SubAgentDef) -> tuple[str, ...]:
        """Return the tools denied to an agent, whatever its other lists allow."""
        return (*definition.disallowed_tools, *self.default_disallowed_tools)


@frozen
class SpawnUsage:
    """The numbers of agents of a session: started so far, running, and about to start."""

    spawned: int = 0
    active: int = 0
    reserved: int = 0


@frozen
class ZephOptions:
    """The profile, configuration and session in which agents start."""

    profile: ZephProfile = ZephProfile.ZEPH
    config: AgentsConfig = AgentsConfig()
    context: SpawnContext = SpawnContext()  # of agents that the session starts
    usage: SpawnUsage = SpawnUsage()
    forward: Forward | None = None  # None is the behaviour of the profile
    session: ZephSession = ZephSession()

    @property
    def forwarding(self) -> Forward:
        """The `Forward` in force."""
        if self.forward is not None:
            return self.forward
        return Forward.EFFECTIVE if self.profile is ZephProfile.SPEC else Forward.NOTHING


def matches(pattern: str, name: str) -> bool:
    """Return whether *pattern* matches a skill; only its first ``*`` is a wildcard."""
    prefix, star, suffix = pattern.partition("*")
    if not star:
        return pattern == name
    long_enough = len(name) >= len(prefix) + len(suffix)
    return long_enough and name.startswith(prefix) and name.endswith(suffix)


def check_globs(skills: SkillFilter, definition: SubAgentDef | None = None) -> None:
    """Raise HostError for ``**``, as Zeph does when it starts the agent."""
    for key, globs in (("include", skills.include), ("exclude", skills.exclude)):
        for index, glob in enumerate(globs):
            if "**" in glob:
                span = definition.span(f"skills.{key}[{index}]") if definition else None
                raise refused("Invalid", span, "skill", glob=glob)


def sees(skills: SkillFilter, name: str) -> bool:
    """Return whether *skills* shows an agent the skill *name*. Raises as `check_globs`."""
    check_globs(skills)
    included = not skills.include or any(matches(glob, name) for glob in skills.include)
    return included and not any(matches(glob, name) for glob in skills.exclude)


# The context that the session hands on: no restriction.
TOP: Final = SpawnContext()


@frozen
class Effective:
    """The permissions of a started agent."""

    definition: SubAgentDef
    tools: ToolPolicy  # its lists, narrowed by the inherited list, before memory adds tools
    added: tuple[str, ...] = ()  # the tools that its memory adds
    disallowed: tuple[str, ...] = ()  # denied even if a list allows them
    mode: PermissionMode = PermissionMode.DEFAULT
    memory: MemoryScope | None = None
    network_denied: bool = False
    trust: TrustLevel | None = None  # a cap

    @property
    def allowlist(self) -> frozenset[str] | None:
        """The tools that its lists allow and that it hands on; None is every tool."""
        allow, deny = self.tools.allow, self.tools.deny
        left = _without(allow or (), deny or (), star=True)
        return frozenset(left) if self.tools.restricts else None


@frozen
class SubAgentManager:
    """The checks of a session that starts agents; *definitions* is name -> definition."""

    definitions: Mapping[str, SubAgentDef] = field(hash=False)
    config: AgentsConfig = AgentsConfig()
    usage: SpawnUsage = SpawnUsage()

    def check_spawn(
        self, name: str, context: SpawnContext = TOP, *, parent: SubAgentDef | None = None
    ) -> Effective:
        """Return the permissions of the agent *name*; raise HostError if a check fails."""
        config = self.config
        self._check_session(name, context.origin)
        depth, most = context.spawn_depth, config.max_spawn_depth
        if depth >= most:
            raise refused("MaxDepthExceeded", depth=depth, most=most)
        allowed = parent.allowed_spawns if parent else None
        if parent is not None and allowed is not None and name not in allowed:
            span = parent.span("allowed_spawns")
            raise refused("SpawnDenied", span, parent=parent.name, agent=name)
        effective = self._admitted(name, context, self.usage.active + self.usage.reserved)
        definition, disallowed = effective.definition, effective.disallowed
        added = memory_grants(effective.tools, disallowed)
        if config.memory(definition) is not None and added is not None:
            effective = evolve(effective, memory=config.memory(definition), added=added)
        if definition.permissions.worktree and config.worktree_manager:
            kept = () if config.bg_isolation == "none" else (WORKING_DIRECTORY,)
            effective = evolve(effective, disallowed=(*disallowed, *kept))
        return effective

    def check_resume(self, name: str, context: SpawnContext = TOP) -> Effective:
        """Return the permissions of a resumed agent; raise HostError if a check refuses it.

        The checks are those of an explicit start, without depth and reserved agents. Memory adds no
        tool, and a worktree no denial.
        """
        self._check_session(name, SpawnOrigin.EXPLICIT)
        return self._admitted(name, context, self.usage.active)

    def _check_session(self, name: str, origin: SpawnOrigin) -> None:
        """Raise HostError if the mode of delegation, or the number of starts, refuses *name*."""
        mode, most = self.config.effective_delegation_mode, self.config.max_spawns_per_session
        asked = mode is DelegationMode.EXPLICIT_REQUEST_ONLY and origin is SpawnOrigin.EXPLICIT
        if mode is not DelegationMode.PROACTIVE and not asked:
            # Zeph prints modes as ``ExplicitRequestOnly``.
            shown, by = (str(one.value).title().replace("_", "") for one in (mode, origin))
            raise refused("DelegationDenied", mode=shown, origin=by, agent=name)
        if most and self.usage.spawned >= most:
            raise refused("SessionSpawnLimit", spawned=self.usage.spawned, most=most)

    def _admitted(self, name: str, context: SpawnContext, busy: int) -> Effective:
        """Return the agent *name*, narrowed by *context*; raise HostError if it may not run."""
        definition, config = self.definitions.get(name), self.config
        if definition is None:
            raise refused("NotFound", name=name)
        mode = config.mode(definition)
        if mode is PermissionMode.BYPASS_PERMISSIONS and not config.allow_bypass_permissions:
            span = definition.span("permissions.permission_mode")
            raise refused("Invalid", span, "bypass", agent=definition.name)
        if busy >= config.max_concurrent:
            raise refused("ConcurrencyLimit", active=busy, most=config.max_concurrent)
        check_globs(definition.skills, definition)
        return Effective(
            definition,
            propagate(definition.tools, context.inherited_tool_allowlist),
            disallowed=config.disallowed(definition),
            mode=mode,
            network_denied=context.network_denied,
            trust=context.max_trust_level,
        )


def propagate(tools: ToolPolicy, inherited: Iterable[str] | None) -> ToolPolicy:
    """Return *tools* narrowed to the ids *inherited*; None is no restriction."""
    if inherited is None:
        return tools
    wanted = {normalize(name): name for name in sorted(inherited)}
    kept: Iterable[str] = wanted.values()
    if tools.restricts:
        kept = [name for name in tools.allow or () if normalize(name) in wanted]
    return ToolPolicy(_without(kept, tools.deny or (), star=tools.is_both))


def _without(names: Iterable[str], denied: Iterable[str], *, star: bool) -> tuple[str, ...]:
    """Return *names* without *denied*. If *star*, a denied ``*`` is every tool (issue 970)."""
    gone = set(map(normalize, denied))
    kept = () if star and "*" in gone else names
    return tuple(name for name in kept if normalize(name) not in gone)


def memory_grants(tools: ToolPolicy, disallowed: Iterable[str]) -> tuple[str, ...] | None:
    """Return the tools that a memory adds to a list; None if the lists disable the memory."""
    for denied in (disallowed, tools.deny or ()):
        if set(map(normalize, denied)).issuperset(EDITING):
            return None
    listed = set(map(normalize, tools.allow or ()))
    return tuple(name for name in EDITING if name not in listed) if tools.restricts else ()


def _plan_rules(
    mode: PermissionMode, definition: SubAgentDef, dialect: Dialect
) -> Iterator[RuleSet]:
    """Yield the rules of ``plan``: it denies every tool but the start of agents."""
    if mode is PermissionMode.PLAN:
        place = definition.place("permissions.permission_mode")
        stops = Entry("*", Effect.DENY, rule="permission_mode: plan", place=place)
        yield RuleSet((STARTING, stops), Effect.DENY, dialect)


def _enforced_rules(effective: Effective, options: ZephOptions) -> tuple[RuleSet, ...]:
    """Return the rule sets that Zeph enforces for a started agent."""
    definition, restricts = effective.definition, effective.tools.restricts
    entries = [STARTING]
    if definition.allowed_spawns is not None:
        entries = list(_spawn_entries(definition, definition.allowed_spawns))
    if options.session.peers:
        entries += (Entry(name, Effect.ALLOW, rule="peer messages") for name in GROUPS["peers"])
    listed = [*_list_entries(effective, options)]
    if effective.tools.allow is not None and effective.memory is not None:
        listed += _memory_entries(definition, effective.memory, effective.added)
    if not restricts and not listed and entries == [STARTING]:
        entries = []  # the lists restrict nothing
    default = Effect.DENY if restricts else Effect.ALLOW
    reason = Reason.UNAVAILABLE if restricts else Reason.DEFAULT
    rules = RuleSet((*entries, *listed), default, ENFORCED, reason)
    network = (network_rules(ENFORCED),) if effective.network_denied else ()
    return (rules, *_plan_rules(effective.mode, definition, ENFORCED), *network)


def _spawn_entries(definition: SubAgentDef, allowed: Iterable[str]) -> Iterator[Entry]:
    """Yield entries that allow the start of the agents *allowed*, and deny all others."""
    for index, name in enumerate(allowed):
        rule, place = f"allowed_spawns: {name}", definition.place(f"allowed_spawns[{index}]")
        yield Entry(SPAWN_TOOL, Effect.ALLOW, Pattern.exactly(name), rule=rule, place=place)
    place = definition.place("allowed_spawns")
    yield Entry(SPAWN_TOOL, Effect.DENY, rule="allowed_spawns", place=place)


def _memory_entries(
    definition: SubAgentDef, scope: MemoryScope, added: Iterable[str]
) -> Iterator[Entry]:
    """Yield the entries of the tools that a memory adds."""
    rule, place = f"memory: {scope.value}", definition.place("memory")
    for name in added:
        yield Entry(name, Effect.ALLOW, rule=rule, place=place)


def _list_entries(effective: Effective, options: ZephOptions) -> Iterator[Entry]:
    """Yield an entry for each place of an id in the lists in force."""
    written: dict[tuple[str, Effect], list[tuple[str, Place | None]]] = {}
    for name, effect, rule, place in _listed_names(effective.definition, options.config):
        written.setdefault((normalize(name), effect), []).append((rule, place))
    wild, tools = options.profile is ZephProfile.ISSUE_970, effective.tools
    denied = (*effective.disallowed, *(tools.deny or ()))
    for names, effect in ((denied, Effect.DENY), (tools.allow or (), Effect.ALLOW)):
        for tool, name in {normalize(name): name for name in names}.items():
            if "*" in tool and not (wild and tool == "*"):
                continue
            for rule, place in written.get((tool, effect), ((name, None),)):
                yield Entry(tool, effect, rule=rule, place=place)


def _listed_names(
    definition: SubAgentDef, config: AgentsConfig
) -> Iterator[tuple[str, Effect, str, Place | None]]:
    """Yield name, effect, rule and place of all items in lists of definition and configuration."""
    for name, effect, span in definition.named_tools:
        yield name, effect, name, place_of(span)
    for name, rule, span in config.denied:
        yield name, Effect.DENY, rule, place_of(span)


def _declared_rules(
    definition: SubAgentDef, profile: ZephProfile, config: AgentsConfig
) -> tuple[RuleSet, ...]:
    """Return the rule sets that a definition declares, which are met.

    Names mean what people expect: ``Bash(cargo *)`` matches commands of cargo, ``web_*`` tools that
    begin so, ``mcp__github`` all tools of a server, ``Task(explore)`` the start of an agent.
    """
    listed: dict[Effect, list[Entry]] = {effect: [] for effect in Effect}
    for name, effect, rule, place in _listed_names(definition, config):
        listed[effect] += _read_name(name, effect, rule=rule, place=place)
    if definition.permissions.worktree:
        place, rule = definition.place("permissions.worktree"), "worktree: true"
        listed[Effect.DENY].append(Entry(WORKING_DIRECTORY, Effect.DENY, rule=rule, place=place))
    denied = RuleSet((STARTING, *listed[Effect.DENY]), Effect.ALLOW, DECLARED)
    sets = [denied] if listed[Effect.DENY] else []
    allow = definition.tools.allow
    if allow or (allow is not None and profile is not ZephProfile.ISSUE_970):
        if scope := config.memory(definition):
            added = memory_grants(definition.tools, config.disallowed(definition))
            listed[Effect.ALLOW] += _memory_entries(definition, scope, added or ())
        sets.append(_only(listed[Effect.ALLOW]))
    if (spawns := _spawns(definition)).entries:
        sets.append(spawns)
    return (*sets, *_plan_rules(config.mode(definition), definition, DECLARED))


def _only(entries: Iterable[Entry]) -> RuleSet:
    """Return the rule set of an allow list, which denies all other tools."""
    return RuleSet((STARTING, *entries), Effect.DENY, DECLARED, Reason.UNAVAILABLE)


def _read_name(
    name: str, effect: Effect, *, rule: str, place: Place | None = None
) -> tuple[Entry, ...]:
    """Return the entries of *name*. If it is unreadable, it grants nothing or denies its tool."""
    tool = normalize(name).removeprefix("builtin:")
    if not tool or tool == "task":
        return ()
    if tool.startswith("mcp__") and "__" not in tool.removeprefix("mcp__") and "*" not in tool:
        tool += "__*"
    entry = partial(Entry, tool, effect, rule=rule, place=place)
    whole = (entry(),)
    if "(" not in name or "*" in tool:
        return whole
    try:
        specifier = parse_matcher(name.strip()).specifier
        text = "" if specifier is None else specifier.text.strip()
        if text in ("", "*"):
            return whole
        patterns = _READERS[DECLARED.argument(tool).kind](text)
    except (PolicyError, notations.Unusable):
        return whole if effect is Effect.DENY else ()
    return tuple(entry(pattern) for pattern in patterns)


_READERS: dict[ArgumentKind, Callable[[str], tuple[Pattern, ...]]] = {
    ArgumentKind.TEXT: lambda text: (notations.single(text),),
    ArgumentKind.COMMAND: notations.commands,
    ArgumentKind.PATH: lambda text: notations.paths(text.removeprefix("./"), DECLARED.cwd),
    ArgumentKind.URL: lambda text: notations.hosts(text.removeprefix("domain:").strip()),
}


def _spawns(definition: SubAgentDef) -> RuleSet:
    """Return the rules on starts of agents: ``allowed_spawns``, and ``Task(a, b)`` in lists."""
    found: list[Entry] = []
    for name, effect, span in definition.named_tools:
        if normalize(name) == "task":
            entry = partial(Entry, SPAWN_TOOL, effect, rule=name, place=place_of(span))
            inside = name.partition("(")[2].rpartition(")")[0].split(",")
            agents = [part.strip() for part in inside if part.strip()]
            is_any = not agents or "*" in agents
            found += [entry()] if is_any else [entry(Pattern.exactly(agent)) for agent in agents]
    granted = [entry for entry in found if entry.effect is Effect.ALLOW]
    denied = [entry for entry in found if entry.effect is Effect.DENY]
    known = {entry.pattern for entry in granted}
    any_agent = not granted or None in known
    if definition.allowed_spawns is not None:
        listed = _spawn_entries(definition, definition.allowed_spawns)
        granted = [e for e in listed if any_agent or e.pattern is None or e.pattern in known]
    elif not any_agent:
        granted.append(Entry(SPAWN_TOOL, Effect.DENY, reason=Reason.DEFAULT))
    return RuleSet((*denied, *granted), Effect.ALLOW, DECLARED)


# The session, as the root of chains.
MAIN: Final = "main"


class SpawnRefused(SpawnDenied):
    """A check of Zeph refused to start an agent."""

    def __init__(self, agent: str, link: str, error: HostError) -> None:
        # `DelegationDenied` is the reason `delegation-denied`.
        kind = re.sub(r"(?<=.)(?=[A-Z])", "-", error.kind).lower()
        reason = "depth" if error.kind == "MaxDepthExceeded" else kind
        super().__init__(agent, link, reason)
        self.args = (f"`{link}` may not start `{agent}`: {upstream_text(error)}",)
        self.error = error


def _table(sets: tuple[RuleSet, ...], link: str, bounds: Bounds = Bounds()) -> Table:  # noqa: B008
    return Table(Ceiling.of(LinkedRules(rules, (link,)) for rules in sets), bounds=bounds)


def declared_reading(definitions: Mapping[str, SubAgentDef], options: ZephOptions) -> Attenuated:
    """Return the attenuated reading: the gates of the session, met with each declaration."""
    context = options.context
    cap = context.max_trust_level
    sets = options.session.rule_sets(ENFORCED, cap)
    if context.inherited_tool_allowlist is not None:
        inherited = sorted(context.inherited_tool_allowlist)
        named = (_read_name(n, Effect.ALLOW, rule=f"inherited: {n}") for n in inherited)
        sets += (_only(entry for entries in named for entry in entries),)
    if context.network_denied:
        sets += (network_rules(ENFORCED),)
    if cap is not None:
        sets += (trust_rules(cap, options.session.servers, ENFORCED),)
    starts = options.config.effective_delegation_mode is not DelegationMode.DISABLED
    depth = max(options.config.max_spawn_depth - context.spawn_depth, 0) if starts else 0
    session = _table(sets, MAIN, Bounds(depth, trust=cap.value if cap else None))
    tables = {
        name: _table(_declared_rules(definition, options.profile, options.config), name)
        for name, definition in definitions.items()
    }
    # The session starts each root, and so bounds it.
    roots = {name: attenuate(session, table) for name, table in tables.items()}
    return Attenuated(tables, {**roots, MAIN: session})


@frozen
class ZephState:
    """The state of Zeph at the end of a chain."""

    context: SpawnContext  # of the agent
    allowlist: frozenset[str] | None = None  # the tools of its lists; None is every tool
    trust: TrustLevel | None = None  # the last cap; all agents share the gate of trust
    agent: str = ""  # "" is the session


def enforced_reading(
    definitions: Mapping[str, SubAgentDef], options: ZephOptions | None = None
) -> EnforcedReading:
    """Return the enforced reading: the gates, the lists of the last agent, and its context."""
    options = options or ZephOptions()
    manager = SubAgentManager(definitions, options.config, options.usage)

    def handed(state: ZephState) -> SpawnContext:
        """Return the context of agents started at *state*."""
        start = state.context.then(allowlist=state.allowlist, forward=options.forwarding)
        return start if state.agent else state.context

    def bounded(table: Table, state: ZephState) -> Table:
        depth = options.config.max_spawn_depth - handed(state).spawn_depth
        return evolve(table, bounds=Bounds(max(depth, 0)))

    def start(agent: str) -> Link:
        state = ZephState(options.context)
        table = _table(options.session.rule_sets(RAW), MAIN)
        root = Link(MAIN, bounded(table, state), 0, state)
        return root if agent == MAIN else evolve(step(root, agent), depth=0)

    @cache
    def spawned(agent: str, starter: str, context: SpawnContext, trust: TrustLevel | None) -> Link:
        effective = manager.check_spawn(agent, context, parent=definitions.get(starter))
        trust = trust if effective.trust is None else effective.trust
        after = ZephState(context, effective.allowlist, trust, agent)
        return Link(agent, bounded(_enforced_table(effective, options, trust), after), 0, after)

    def step(parent: Link, agent: str) -> Link:
        state = parent.state if isinstance(parent.state, ZephState) else ZephState(options.context)
        starter = definitions.get(state.agent)
        # The start depends on the starter only through its context and `allowed_spawns`.
        listed = state.agent if starter is not None and starter.allowed_spawns is not None else ""
        try:
            link = spawned(agent, listed, handed(state), state.trust)
        except HostError as error:
            if error.kind == "NotFound":
                raise KeyError(agent) from None
            raise SpawnRefused(agent, parent.name, error) from None
        return evolve(link, depth=parent.depth + 1)

    agents = (MAIN, *(name for name in definitions if name != MAIN))
    return EnforcedReading(agents, start, step)


def resume(
    definitions: Mapping[str, SubAgentDef],
    options: ZephOptions,
    agent: str,
    context: SpawnContext | None = None,
) -> Link:
    """Return the link of *agent*, resumed with *context*. Raises as `check_resume`."""
    manager = SubAgentManager(definitions, options.config, options.usage)
    effective = manager.check_resume(agent, context or TOP)
    after = ZephState(context or TOP, effective.allowlist, effective.trust, agent)
    return Link(agent, _enforced_table(effective, options, effective.trust), 1, after)


def _enforced_table(effective: Effective, options: ZephOptions, trust: TrustLevel | None) -> Table:
    session = options.session
    sets = session.rule_sets(RAW, trust)
    if trust is not None:
        sets += (trust_rules(trust, session.servers, RAW),)
    parts = [LinkedRules(rules, (MAIN,)) for rules in sets]
    name = effective.definition.name
    parts += (LinkedRules(rules, (name,)) for rules in _enforced_rules(effective, options))
    return Table(Ceiling.of(parts))
