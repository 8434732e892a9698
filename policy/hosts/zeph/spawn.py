"""Starting an agent: the checks in the order of Zeph, and what the agent then may call."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, assert_never

import attrs

from policy.hosts.zeph.context import AgentsConfig, DelegationMode, Origin, SpawnContext, Usage
from policy.hosts.zeph.definition import (
    AllowList,
    Both,
    DenyList,
    InheritAll,
    MemoryScope,
    PermissionMode,
    SubAgentDef,
    ToolPolicy,
)
from policy.hosts.zeph.errors import Kind, ZephError
from policy.hosts.zeph.names import EDITING, WORKING_DIRECTORY, normalize
from policy.hosts.zeph.skills import check_globs
from policy.hosts.zeph.trust import TrustLevel

__all__ = [
    "TOP",
    "Effective",
    "SubAgentManager",
    "find_transcript",
    "memory_grants",
    "propagate",
]


# What the session itself hands down: no constraint.
TOP: Final = SpawnContext()


@attrs.frozen
class Effective:
    """What an agent is started with.

    Attributes:
        definition: its own.
        tools: the lists, narrowed by what is inherited, before memory adds to them.
        added: what its memory adds to a list of tools.
        disallowed: the tools that are denied whatever the lists say.
        mode: its mode.
        memory: where it remembers; None where it does not.
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
        """The tools it is left with as far as a list says so, to be handed on; None is any."""
        match self.tools:
            case AllowList(tools=tools):
                return frozenset(tools)
            case Both(allow=allow, deny=deny) if allow:
                return frozenset(_left(allow, deny))
            case _:
                return None


@attrs.frozen(slots=False)
class SubAgentManager:
    """A session that starts agents.

    Attributes:
        definitions: the agents there are, by name.
        config: how it is set up.
        usage: what it has spent.

    """

    definitions: Mapping[str, SubAgentDef] = attrs.field(hash=False)
    config: AgentsConfig = AgentsConfig()
    usage: Usage = Usage()

    def check_spawn(
        self, name: str, context: SpawnContext = TOP, *, parent: SubAgentDef | None = None
    ) -> Effective:
        """Return what the agent *name* is started with.

        Args:
            name: of the agent.
            context: what whoever starts it hands to it.
            parent: the agent that starts it; what it may start counts (issue 970).

        Raises:
            ZephError: the first check that fails.

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
            effective = attrs.evolve(effective, disallowed=disallowed)
        check_globs(definition.skills, definition)
        return effective

    def check_resume(self, name: str, context: SpawnContext | None = None) -> Effective:
        """Return what the agent *name* goes on with.

        As when it is started, but: somebody asked for it, its depth starts
        again, places that are reserved do not count, and it has neither the
        tools of its memory nor a worktree.

        Raises:
            ZephError: the first check that fails.

        """
        _check_delegation(name, Origin.EXPLICIT, self.config)
        _check_budget(self.usage, self.config)
        definition = self._find(name)
        effective = _with_defaults(definition, context or TOP, self.config)
        _check_concurrency(self.usage.active, self.config)
        check_globs(definition.skills, definition)
        return effective

    def _find(self, name: str) -> SubAgentDef:
        if name not in self.definitions:
            raise ZephError(Kind.NOT_FOUND, name)
        return self.definitions[name]


def find_transcript(prefix: str, ids: Iterable[str], running: Collection[str] = ()) -> str:
    """Return the one id that starts with *prefix*, of an agent that has ended.

    Raises:
        ZephError: of kind ``NotFound``, ``AmbiguousId`` or ``StillRunning``.

    """
    found = [one for one in ids if one.startswith(prefix)]
    if not found:
        raise ZephError(Kind.NOT_FOUND, prefix)
    if len(found) > 1:
        message = f"ambiguous id prefix '{prefix}': matches {len(found)} agents"
        raise ZephError(Kind.AMBIGUOUS_ID, message)
    if found[0] in running:
        message = f"agent '{found[0]}' is still running; cancel it first or wait for completion"
        raise ZephError(Kind.STILL_RUNNING, message)
    return found[0]


def _check_delegation(name: str, origin: Origin, config: AgentsConfig) -> None:
    mode = config.effective_delegation_mode
    asked = mode is DelegationMode.EXPLICIT_REQUEST_ONLY and origin is Origin.EXPLICIT
    if mode is not DelegationMode.PROACTIVE and not asked:
        message = (
            f"delegation denied: mode={_shown(mode)} origin={_shown(origin)} agent='{name}'"
            " (see [agents].delegation_mode / [agents].enabled in config.toml)"
        )
        raise ZephError(Kind.DELEGATION_DENIED, message)


def _shown(member: DelegationMode | Origin) -> str:
    """Return a member as Zeph prints it, e.g. ``ExplicitRequestOnly``."""
    return "".join(map(str.capitalize, member.value.split("_")))


def _check_budget(usage: Usage, config: AgentsConfig) -> None:
    most = config.max_spawns_per_session
    if most and usage.spawned >= most:
        message = (
            f"session spawn limit reached (spawned: {usage.spawned}, max: {most})"
            " — raise [agents].max_spawns_per_session"
        )
        raise ZephError(Kind.SESSION_SPAWN_LIMIT, message)


def _check_depth(depth: int, config: AgentsConfig) -> None:
    if depth >= config.max_spawn_depth:
        message = f"max spawn depth exceeded (depth: {depth}, max: {config.max_spawn_depth})"
        raise ZephError(Kind.MAX_DEPTH_EXCEEDED, message)


def _check_concurrency(busy: int, config: AgentsConfig) -> None:
    if busy >= config.max_concurrent:
        message = f"concurrency limit reached (active: {busy}, max: {config.max_concurrent})"
        raise ZephError(Kind.CONCURRENCY_LIMIT, message)


def _check_allowed(name: str, parent: SubAgentDef) -> None:
    if name not in (parent.allowed_spawns or ()):
        message = f"agent '{parent.name}' may not start agent '{name}'"
        span = parent.span("allowed_spawns")
        raise ZephError(Kind.SPAWN_DENIED, message, span, help="list it in `allowed_spawns`")


def _with_defaults(
    definition: SubAgentDef, context: SpawnContext, config: AgentsConfig
) -> Effective:
    """Return *definition* with what the configuration adds, and what is inherited met."""
    mode = definition.permissions.permission_mode
    if mode is PermissionMode.DEFAULT and config.default_permission_mode is not None:
        mode = config.default_permission_mode
    if mode is PermissionMode.BYPASS_PERMISSIONS and not config.allow_bypass_permissions:
        message = (
            f"sub-agent '{definition.name}' requests bypass_permissions mode but it is not allowed"
            " by config (set agents.allow_bypass_permissions = true to enable)"
        )
        raise ZephError(Kind.INVALID, message, definition.span("permissions.permission_mode"))
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
    """Return *tools* as far as they are *inherited*; None is no restriction.

    Names are compared as ids; those that stay keep their spelling.
    """
    if inherited is None:
        return tools
    wanted = {normalize(name): name for name in sorted(inherited)}
    match tools:
        case InheritAll():
            return AllowList(tuple(wanted.values()))
        case AllowList(tools=listed):
            return AllowList(tuple(name for name in listed if normalize(name) in wanted))
        case DenyList(tools=denied):
            return AllowList(_without(wanted.values(), denied))
        case Both(allow=allow, deny=denied):
            kept = [name for name in allow if normalize(name) in wanted]
            return AllowList(_left(kept if allow else wanted.values(), denied))
        case _:
            assert_never(tools)


def _without(names: Iterable[str], denied: Iterable[str]) -> tuple[str, ...]:
    gone = set(map(normalize, denied))
    return tuple(name for name in names if normalize(name) not in gone)


def _left(names: Iterable[str], denied: Collection[str]) -> tuple[str, ...]:
    """Return what two lists side by side leave, where a star is every tool (issue 970)."""
    return () if "*" in map(normalize, denied) else _without(names, denied)


def memory_grants(tools: ToolPolicy, disallowed: Iterable[str]) -> tuple[str, ...] | None:
    """Return the tools that a memory adds to a list; None where it is switched off."""
    excepted = set(map(normalize, disallowed))
    denied = {normalize(name) for name in tools.tools} if isinstance(tools, DenyList) else set()
    if isinstance(tools, Both):
        denied = set(map(normalize, tools.deny))
    if excepted.issuperset(EDITING) or denied.issuperset(EDITING):
        return None
    listed: tuple[str, ...]
    match tools:
        case AllowList(tools=listed) | Both(allow=listed) if listed or isinstance(tools, AllowList):
            there = set(map(normalize, listed))
            return tuple(name for name in EDITING if name not in there)
        case _:
            return ()


def _with_memory(effective: Effective, config: AgentsConfig) -> Effective:
    scope = effective.definition.memory or config.default_memory_scope
    if scope is None:
        return effective
    added = memory_grants(effective.tools, effective.disallowed)
    if added is None:
        return effective
    return attrs.evolve(effective, memory=scope, added=added)
