"""Starting an agent: trust, contexts, the checks in the order of Zeph, and the result."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import total_ordering
from typing import Final

from policy.core.effect import Effect
from policy.core.finding import Finding
from policy.core.source import Place, Span
from policy.core.values import evolve, field, frozen
from policy.hosts.errors import HostError
from policy.hosts.zeph.definition import (
    AllowList,
    Both,
    MemoryScope,
    PermissionMode,
    SkillFilter,
    SubAgentDef,
    ToolPolicy,
)
from policy.hosts.zeph.names import (
    EDITING,
    GROUPS,
    SESSION,
    WORKING_DIRECTORY,
    ZephErrorKind,
    find,
    normalize,
)
from policy.tables.chain import SPAWN_TOOL
from policy.tables.dialect import Dialect
from policy.tables.ruleset import Entry, RuleSet

__all__ = [
    "DEFAULT_TRUST",
    "TOP",
    "AgentsConfig",
    "DelegationMode",
    "Effective",
    "Forward",
    "SpawnContext",
    "SpawnOrigin",
    "SpawnUsage",
    "SubAgentManager",
    "TrustGate",
    "TrustLevel",
    "check_globs",
    "effective_trust",
    "filter_skills",
    "find_transcript",
    "fold",
    "matches",
    "memory_grants",
    "propagate",
    "sees",
]


@total_ordering
class TrustLevel(enum.Enum):
    """``BLOCKED < QUARANTINED < VERIFIED < TRUSTED``, in the order of what they grant."""

    BLOCKED = "blocked"
    QUARANTINED = "quarantined"
    VERIFIED = "verified"
    TRUSTED = "trusted"

    def __lt__(self, other: TrustLevel) -> bool:
        """Return whether *self* grants less than *other*."""
        return _RANK[self] < _RANK[other]


_RANK = {level: rank for rank, level in enumerate(TrustLevel)}

# The trust of a skill without one.
DEFAULT_TRUST: Final = TrustLevel.QUARANTINED


def effective_trust(own: TrustLevel, cap: TrustLevel | None) -> TrustLevel:
    """Return the lesser of both; None is no cap."""
    return own if cap is None else min(own, cap)


def fold(levels: Iterable[TrustLevel]) -> TrustLevel:
    """Return the least trust of the active skills; TRUSTED if there is none."""
    return min(levels, default=TrustLevel.TRUSTED)


@frozen
class TrustGate:
    """The tools that a level of trust denies.

    Attributes:
        level: the level.
        servers: ids of the tools that servers offer, all of which quarantine denies.
        quarantined: the other tools that quarantine denies.

    """

    level: TrustLevel
    servers: tuple[str, ...] = ()
    quarantined: tuple[str, ...] = tuple(GROUPS["quarantined"])

    def rules(self, dialect: Dialect) -> RuleSet:
        """Return the gate as rules. A loose dialect compares names loosely."""
        if self.level >= TrustLevel.VERIFIED:
            return RuleSet((), Effect.ALLOW, dialect)
        rule = f"trust: {self.level.value}"
        spawns = Entry(SPAWN_TOOL, Effect.ALLOW, rule=rule)
        if self.level is TrustLevel.BLOCKED:
            return RuleSet((spawns, Entry("*", Effect.DENY, rule=rule)), Effect.DENY, dialect)
        names = [*self.quarantined, *(f"*_{name}" for name in self.quarantined), *self.servers]
        return RuleSet(
            (spawns, *(Entry(name, Effect.DENY, rule=rule) for name in names)),
            Effect.ALLOW,
            dialect,
        )


# --- contexts, and the configuration of agents ----------------------------------------
#
# In Zeph the caller must copy every field of a context, and a missing field restricts nothing.
# Here a context follows from the one above it, in a way that the reading chooses (`Forward`).


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
    """What an agent hands on to those it starts."""

    NOTHING = "none"  # nothing, as in Zeph, where no caller copies the fields
    RECEIVED = "copy_received"  # the context that it got
    EFFECTIVE = "effective"  # the tools that it may call


def _names(names: Iterable[str] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)


@frozen
class SpawnContext:
    """The context that a started agent gets. The default is that of the session.

    Attributes:
        max_trust_level: a cap on its trust; None is no cap.
        inherited_tool_allowlist: the tools that it may use at most. None is every tool, the
            empty set is no tool.
        network_denied: whether it may not reach the network.
        spawn_depth: the number of agents above it.
        origin: whether a person or an agent asked for it.
        seed_trajectory_score: the risk score that it starts with, so that a start does not
            reset the score.
        content_isolation: names of the protections of content in force.
        mcp_tool_names: names of the tools of servers.
        session_mcp_servers: servers whose tools its prompt lists.
        orchestrator_name: the orchestrator that its prompt names.
        orchestrator_role: the role of that; not shown without a name.
        parent_provider_name: the provider of the parent's model.
        parent_messages: the messages of the parent, which are not used.
        parent_cancel: whether it ends with its parent, unless it runs in the background.

    """

    max_trust_level: TrustLevel | None = None
    inherited_tool_allowlist: frozenset[str] | None = field(default=None, converter=_names)
    network_denied: bool = False
    spawn_depth: int = 0
    origin: SpawnOrigin = SpawnOrigin.AUTONOMOUS
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
        """Yield a finding for every protection in force here and not in *child*."""
        for name in sorted(self.content_isolation - child.content_isolation):
            to = f" of {child.identity}" if child.identity else ""
            yield find("isolation-weakened", file=SESSION, name=name, of=to)

    def then(
        self, own: SpawnContext, *, allowlist: frozenset[str] | None, forward: Forward
    ) -> SpawnContext:
        """Return the context of an agent that is started by an agent with this context.

        Args:
            own: what the starting agent adds; the default adds nothing.
            allowlist: the tools that the starting agent may call; None is every tool.
            forward: what the starting agent hands on.

        """
        if forward is Forward.NOTHING:
            return evolve(own, spawn_depth=0)
        caps = [c for c in (self.max_trust_level, own.max_trust_level) if c is not None]
        scores = (self.seed_trajectory_score, own.seed_trajectory_score)
        inherited = self.inherited_tool_allowlist if forward is Forward.RECEIVED else allowlist
        return evolve(
            self,
            max_trust_level=min(caps, default=None),
            inherited_tool_allowlist=inherited,
            network_denied=self.network_denied or own.network_denied,
            spawn_depth=self.spawn_depth + 1,
            origin=own.origin,
            seed_trajectory_score=max((s for s in scores if s is not None), default=None),
            content_isolation=self.content_isolation | own.content_isolation,
        )


@frozen
class AgentsConfig:
    """The section ``[agents]`` of the configuration.

    Attributes:
        enabled: whether agents may be started at all.
        delegation_mode: when they may be started.
        max_spawns_per_session: the limit of starts in one session; 0 is no limit.
        max_spawn_depth: the limit of depth; with 0 no agent is started.
        max_concurrent: the limit of agents at a time.
        default_permission_mode: the mode of definitions whose mode is ``default``.
        default_disallowed_tools: tools denied to every agent.
        default_memory_scope: the memory of definitions without one.
        allow_bypass_permissions: whether a definition may have ``bypass_permissions``.
        worktree_manager: whether agents can have a worktree of their own.
        bg_isolation: ``none``, or how background agents are isolated.
        spans: name such as ``agents.default_memory_scope`` -> where it is written.

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
    spans: Mapping[str, Span] = field(factory=dict, eq=False, repr=False)

    @property
    def effective_delegation_mode(self) -> DelegationMode:
        """The mode in force: DISABLED unless agents are enabled."""
        return self.delegation_mode if self.enabled else DelegationMode.DISABLED

    def place(self, name: str) -> Place | None:
        """Return where *name* of the section is written, or None."""
        span = self.spans.get(f"agents.{name}")
        return span.place if span else None


@frozen
class SpawnUsage:
    """The agents of a session.

    Attributes:
        spawned: agents started so far.
        active: running agents.
        reserved: agents about to start.

    """

    spawned: int = 0
    active: int = 0
    reserved: int = 0


# --- skills: globs in which only the first `*` is a wildcard --------------------------


def matches(pattern: str, name: str) -> bool:
    """Return whether a glob matches the name of a skill; case counts.

    ``a*b*`` is what starts with ``a`` and ends with ``b*``.
    """
    prefix, star, suffix = pattern.partition("*")
    if not star:
        return pattern == name
    long_enough = len(name) >= len(prefix) + len(suffix)
    return long_enough and name.startswith(prefix) and name.endswith(suffix)


def check_globs(skills: SkillFilter, definition: SubAgentDef | None = None) -> None:
    """Refuse ``**``, as Zeph does when it starts an agent with it.

    Raises:
        HostError: of kind ``Invalid``.

    """
    for key, patterns in (("include", skills.include), ("exclude", skills.exclude)):
        for index, pattern in enumerate(patterns):
            if "**" in pattern:
                message = f"glob pattern '{pattern}' uses '**' which is not supported"
                span = definition.span(f"skills.{key}[{index}]") if definition else None
                raise HostError(ZephErrorKind.INVALID, message, span, help="write a single `*`")


def sees(skills: SkillFilter, name: str) -> bool:
    """Return whether the filter lets an agent see the skill *name*.

    Raises:
        HostError: of kind ``Invalid``, where a glob has ``**``.

    """
    check_globs(skills)
    included = not skills.include or any(matches(glob, name) for glob in skills.include)
    return included and not any(matches(glob, name) for glob in skills.exclude)


def filter_skills(names: Iterable[str], *filters: SkillFilter) -> tuple[str, ...]:
    """Return the skills that all of *filters*, those of a chain, let an agent see.

    Raises:
        HostError: of kind ``Invalid``, where a glob has ``**``.

    """
    for each in filters:
        check_globs(each)
    return tuple(name for name in names if all(sees(each, name) for each in filters))


# --- the checks -----------------------------------------------------------------------


# The context that the session hands on: no restriction.
TOP: Final = SpawnContext()


@frozen
class Effective:
    """The permissions that an agent is started with.

    Attributes:
        definition: its definition.
        tools: its lists, narrowed by the inherited list, before memory adds tools.
        added: the tools that its memory adds.
        disallowed: tools that are denied even if a list allows them.
        mode: its mode.
        memory: where it keeps its memory, or None.
        network_denied: whether it may not reach the network.
        trust: the cap on its trust, or None.

    """

    definition: SubAgentDef
    tools: ToolPolicy
    added: tuple[str, ...] = ()
    disallowed: tuple[str, ...] = ()
    mode: PermissionMode = PermissionMode.DEFAULT
    memory: MemoryScope | None = None
    network_denied: bool = False
    trust: TrustLevel | None = None

    @property
    def allowlist(self) -> frozenset[str] | None:
        """The tools that its lists allow, to be handed on; None is every tool."""
        allow, deny = self.tools.allow, self.tools.deny
        return frozenset(_left(allow or (), deny or ())) if self.tools.restricts else None


@frozen(slots=False)
class SubAgentManager:
    """A session that starts agents.

    Attributes:
        definitions: name -> definition.
        config: the configuration of agents.
        usage: the agents that it has started.

    """

    definitions: Mapping[str, SubAgentDef] = field(hash=False)
    config: AgentsConfig = AgentsConfig()
    usage: SpawnUsage = SpawnUsage()

    def check_spawn(
        self, name: str, context: SpawnContext = TOP, *, parent: SubAgentDef | None = None
    ) -> Effective:
        """Return the permissions that the agent *name* is started with.

        Args:
            name: the name of the agent.
            context: the context that it gets.
            parent: the agent that starts it, whose `allowed_spawns` applies (issue 970).

        Raises:
            HostError: the first check that fails.

        """
        config = self.config
        _check_delegation(name, context.origin, config)
        _check_budget(self.usage, config)
        _check_depth(context.spawn_depth, config)
        if parent is not None and parent.allowed_spawns is not None:
            _check_allowed(name, parent)
        definition = self._find(name)
        effective = _with_defaults(definition, context, config)
        _check_concurrency(self.usage.active + self.usage.reserved, config)
        effective = _with_memory(effective, config)
        isolated = config.worktree_manager and config.bg_isolation != "none"
        if definition.permissions.worktree and isolated:
            disallowed = (*effective.disallowed, WORKING_DIRECTORY)
            effective = evolve(effective, disallowed=disallowed)
        check_globs(definition.skills, definition)
        return effective

    def check_resume(self, name: str, context: SpawnContext | None = None) -> Effective:
        """Return the permissions with which the agent *name* resumes.

        These are those of a start that a person asks for, without the check of depth, without
        reserved agents, and without the tools of its memory and a worktree.

        Raises:
            HostError: the first check that fails.

        """
        _check_delegation(name, SpawnOrigin.EXPLICIT, self.config)
        _check_budget(self.usage, self.config)
        definition = self._find(name)
        effective = _with_defaults(definition, context or TOP, self.config)
        _check_concurrency(self.usage.active, self.config)
        check_globs(definition.skills, definition)
        return effective

    def _find(self, name: str) -> SubAgentDef:
        if name not in self.definitions:
            raise HostError(ZephErrorKind.NOT_FOUND, name)
        return self.definitions[name]


def find_transcript(prefix: str, ids: Iterable[str], running: Collection[str] = ()) -> str:
    """Return the one id that starts with *prefix*, of an agent that has ended.

    Raises:
        HostError: of kind ``NotFound``, ``AmbiguousId`` or ``StillRunning``.

    """
    found = [one for one in ids if one.startswith(prefix)]
    if not found:
        raise HostError(ZephErrorKind.NOT_FOUND, prefix)
    if len(found) > 1:
        message = f"ambiguous id prefix '{prefix}': matches {len(found)} agents"
        raise HostError(ZephErrorKind.AMBIGUOUS_ID, message)
    if found[0] in running:
        message = f"agent '{found[0]}' is still running; cancel it first or wait for completion"
        raise HostError(ZephErrorKind.STILL_RUNNING, message)
    return found[0]


def _check_delegation(name: str, origin: SpawnOrigin, config: AgentsConfig) -> None:
    mode = config.effective_delegation_mode
    asked = mode is DelegationMode.EXPLICIT_REQUEST_ONLY and origin is SpawnOrigin.EXPLICIT
    if mode is not DelegationMode.PROACTIVE and not asked:
        message = (
            f"delegation denied: mode={_shown(mode)} origin={_shown(origin)} agent='{name}'"
            " (see [agents].delegation_mode / [agents].enabled in config.toml)"
        )
        raise HostError(ZephErrorKind.DELEGATION_DENIED, message)


def _shown(member: DelegationMode | SpawnOrigin) -> str:
    """Return a member in the form that Zeph prints, e.g. ``ExplicitRequestOnly``."""
    return "".join(map(str.capitalize, member.value.split("_")))


def _check_budget(usage: SpawnUsage, config: AgentsConfig) -> None:
    most = config.max_spawns_per_session
    if most and usage.spawned >= most:
        message = (
            f"session spawn limit reached (spawned: {usage.spawned}, max: {most})"
            " — raise [agents].max_spawns_per_session"
        )
        raise HostError(ZephErrorKind.SESSION_SPAWN_LIMIT, message)


def _check_depth(depth: int, config: AgentsConfig) -> None:
    if depth >= config.max_spawn_depth:
        message = f"max spawn depth exceeded (depth: {depth}, max: {config.max_spawn_depth})"
        raise HostError(ZephErrorKind.MAX_DEPTH_EXCEEDED, message)


def _check_concurrency(busy: int, config: AgentsConfig) -> None:
    if busy >= config.max_concurrent:
        message = f"concurrency limit reached (active: {busy}, max: {config.max_concurrent})"
        raise HostError(ZephErrorKind.CONCURRENCY_LIMIT, message)


def _check_allowed(name: str, parent: SubAgentDef) -> None:
    if name not in (parent.allowed_spawns or ()):
        message = f"agent '{parent.name}' may not start agent '{name}'"
        span = parent.span("allowed_spawns")
        raise HostError(
            ZephErrorKind.SPAWN_DENIED, message, span, help="list it in `allowed_spawns`"
        )


def _with_defaults(
    definition: SubAgentDef, context: SpawnContext, config: AgentsConfig
) -> Effective:
    """Return *definition* with the defaults of the configuration, narrowed by the context."""
    mode = definition.permissions.permission_mode
    if mode is PermissionMode.DEFAULT and config.default_permission_mode is not None:
        mode = config.default_permission_mode
    if mode is PermissionMode.BYPASS_PERMISSIONS and not config.allow_bypass_permissions:
        message = (
            f"sub-agent '{definition.name}' requests bypass_permissions mode but it is not allowed"
            " by config (set agents.allow_bypass_permissions = true to enable)"
        )
        raise HostError(
            ZephErrorKind.INVALID, message, definition.span("permissions.permission_mode")
        )
    disallowed = (*definition.disallowed_tools, *config.default_disallowed_tools)
    return Effective(
        definition,
        propagate(definition.tools, context.inherited_tool_allowlist),
        disallowed=disallowed,
        mode=mode,
        network_denied=context.network_denied,
        trust=context.max_trust_level,
    )


def propagate(tools: ToolPolicy, inherited: Iterable[str] | None) -> ToolPolicy:
    """Return *tools* narrowed to those *inherited*; None is no restriction.

    Names are compared as ids and keep their spelling.
    """
    if inherited is None:
        return tools
    wanted = {normalize(name): name for name in sorted(inherited)}
    kept: Iterable[str] = wanted.values()
    if tools.restricts:
        kept = [name for name in tools.allow or () if normalize(name) in wanted]
    left = _left if isinstance(tools, Both) else _without
    return AllowList(left(kept, tools.deny or ()))


def _without(names: Iterable[str], denied: Iterable[str]) -> tuple[str, ...]:
    gone = set(map(normalize, denied))
    return tuple(name for name in names if normalize(name) not in gone)


def _left(names: Iterable[str], denied: Collection[str]) -> tuple[str, ...]:
    """Return *names* without *denied*, where a star denies every tool (issue 970)."""
    return () if "*" in map(normalize, denied) else _without(names, denied)


def memory_grants(tools: ToolPolicy, disallowed: Iterable[str]) -> tuple[str, ...] | None:
    """Return the tools that a memory adds to a list; None if the lists disable the memory."""
    for denied in (disallowed, tools.deny or ()):
        if set(map(normalize, denied)).issuperset(EDITING):
            return None
    listed = set(map(normalize, tools.allow or ()))
    return tuple(name for name in EDITING if name not in listed) if tools.restricts else ()


def _with_memory(effective: Effective, config: AgentsConfig) -> Effective:
    scope = effective.definition.memory or config.default_memory_scope
    if scope is None:
        return effective
    added = memory_grants(effective.tools, effective.disallowed)
    if added is None:
        return effective
    return evolve(effective, memory=scope, added=added)
