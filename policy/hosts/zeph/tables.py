"""Tables of agents, and their chains: as Zeph enforces them, and as the files declare them.

Starting an agent is a call of `Task` here. No list of Zeph applies to it, and a tool with the id
``task`` is a different one.
"""

from __future__ import annotations

import enum
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.source import Place
from policy.core.values import evolve, frozen
from policy.hosts.errors import HostError
from policy.hosts.project import EnforcedReading
from policy.hosts.zeph.definition import (
    PermissionMode,
    SubAgentDef,
    ZephProfile,
)
from policy.hosts.zeph.names import (
    GROUPS,
    PROGRAMS,
    WORKING_DIRECTORY,
    ZephErrorKind,
    normalize,
    upstream_text,
)
from policy.hosts.zeph.session import (
    DECLARED,
    ENFORCED,
    RAW,
    ToolScope,
    ZephOptions,
    ZephSession,
    blocked_rules,
)
from policy.hosts.zeph.spawning import (
    AgentsConfig,
    DelegationMode,
    Effective,
    SpawnContext,
    SubAgentManager,
    TrustGate,
    TrustLevel,
    effective_trust,
    memory_grants,
)
from policy.language.parse import parse_matcher
from policy.patterns import notations
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Gap, OneOf, Token
from policy.tables.chain import SPAWN_TOOL, Attenuated, Link, SpawnDenied, attenuate
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Bounds, Ceiling, Part, Table

__all__ = [
    "MAIN",
    "SpawnRefused",
    "allowlist_rules",
    "declared_reading",
    "declared_rules",
    "enforced_reading",
    "enforced_rules",
    "network_rules",
    "plan_rules",
    "read_name",
    "resume",
    "session_rules",
    "spawn_entries",
    "spawn_names",
]


# A character that ends the name of a program.
_END: Final = OneOf(frozenset(string.ascii_letters + string.digits + "_-."), negated=True)


def network_rules(dialect: Dialect) -> RuleSet:
    """Return the rules that deny the tools and commands that reach the network.

    They do not apply to tools of servers, as in Zeph.
    """
    rule = "network denied"
    entries = [Entry(name, Effect.DENY, rule=rule) for name in GROUPS["network"]]
    entries += (
        Entry("bash", Effect.DENY, pattern, rule=f"{rule}: {' '.join(words)}")
        for words in map(str.split, PROGRAMS["reaching"])
        for pattern in _mentions(words)
    )
    entries += (
        Entry("bash", Effect.DENY, Pattern.text(f"*{device}*"), rule=f"{rule}: {device}")
        for device in PROGRAMS["devices"]
    )
    return RuleSet(tuple(entries), Effect.ALLOW, dialect)


def _mentions(words: list[str]) -> Iterator[Pattern]:
    """Yield patterns for commands with the words in this order, with other words or without."""
    middles: list[list[Token]] = [[words[0]]]
    for word in words[1:]:
        middles = [[*middle, *gap, word] for middle in middles for gap in _GAPS]
    for before in _BEFORE:
        for middle in middles:
            for after in _AFTER:
                yield Pattern.of(PatternKind.TEXT, [*before, *middle, *after])


# What may be between two words, before the first and after the last.
_GAPS: Final[tuple[list[Token], ...]] = ([_END], [_END, Gap.ANY, _END])
_BEFORE: Final[tuple[list[Token], ...]] = ([], [Gap.ANY, _END])
_AFTER: Final[tuple[list[Token], ...]] = ([], [_END, Gap.ANY])


# --- the gates of the session, and the lists of agents as Zeph enforces them ----------


_STARTING = Entry(SPAWN_TOOL, Effect.ALLOW, rule="starting an agent")

# The text of a list entry, and its place.
_Written = tuple[str, Place | None]
_Ids = Mapping[tuple[str, Effect], Sequence[_Written]]


def session_rules(
    session: ZephSession, dialect: Dialect, cap: TrustLevel | None = None
) -> tuple[RuleSet, ...]:
    """Return the rule sets of the gates of a session.

    Args:
        session: the session.
        dialect: how calls are read.
        cap: a cap on the trust of the caller; None is no cap.

    """
    sets = []
    if session.rules is not None:
        trust = effective_trust(session.trust or TrustLevel.TRUSTED, cap)
        sets.append(session.rules.rule_set(trust, session.env))
    if session.grants.records:
        sets.append(session.grants.rule_set(dialect))
    if session.blocked:
        sets.append(blocked_rules(session.blocked, dialect))
    if session.policy is not None:
        sets.append(session.policy.rule_set(dialect, gated=True))
    if session.trust is not None:
        sets.append(TrustGate(session.trust, session.servers).rules(dialect))
    if session.scope is not None:
        sets.append(_scope_rules(session.scope, dialect))
    return tuple(sets)


def _scope_rules(scope: ToolScope, dialect: Dialect) -> RuleSet:
    names = {name.removeprefix("builtin:") for name in scope.tools} | scope.tools
    entries = (Entry(name, Effect.ALLOW, rule="in scope") for name in sorted(names))
    return RuleSet((_STARTING, *entries), Effect.DENY, dialect, Reason.UNAVAILABLE)


def plan_rules(mode: PermissionMode, definition: SubAgentDef, dialect: Dialect) -> RuleSet | None:
    """Return the rules of the mode: ``plan`` denies every tool, but agents can be started."""
    if mode is not PermissionMode.PLAN:
        return None
    place = definition.place("permissions.permission_mode")
    stops = Entry("*", Effect.DENY, rule="permission_mode: plan", place=place)
    return RuleSet((_STARTING, stops), Effect.DENY, dialect)


def enforced_rules(effective: Effective, options: ZephOptions) -> tuple[RuleSet, ...]:
    """Return the rule sets that Zeph enforces for a started agent."""
    definition = effective.definition
    entries = [_STARTING]
    if definition.allowed_spawns is not None:
        entries = list(spawn_entries(definition, definition.allowed_spawns))
    if options.session.peers:
        entries += (Entry(name, Effect.ALLOW, rule="peer messages") for name in GROUPS["peers"])
    listed, default = _listed(effective, options)
    if not listed and default is Effect.ALLOW and entries == [_STARTING]:
        entries = []  # the lists restrict nothing
    reason = Reason.DEFAULT if default is Effect.ALLOW else Reason.UNAVAILABLE
    sets = [RuleSet((*entries, *listed), default, ENFORCED, reason)]
    plan = plan_rules(effective.mode, definition, ENFORCED)
    if plan is not None:
        sets.append(plan)
    if effective.network_denied:
        sets.append(network_rules(ENFORCED))
    return tuple(sets)


def spawn_entries(definition: SubAgentDef, allowed: Iterable[str]) -> Iterator[Entry]:
    """Yield the entries of ``allowed_spawns``: these agents, and no other."""
    for index, name in enumerate(allowed):
        rule, place = f"allowed_spawns: {name}", definition.place(f"allowed_spawns[{index}]")
        yield Entry(SPAWN_TOOL, Effect.ALLOW, Pattern.exactly(name), rule=rule, place=place)
    place = definition.place("allowed_spawns")
    yield Entry(SPAWN_TOOL, Effect.DENY, rule="allowed_spawns", place=place)


def _listed(effective: Effective, options: ZephOptions) -> tuple[list[Entry], Effect]:
    written = _written(effective.definition, options.config)
    wild = options.profile is ZephProfile.ISSUE_970
    tools = effective.tools
    found = [
        entry
        for names, effect in (
            (effective.disallowed, Effect.DENY),
            (tools.deny or (), Effect.DENY),
            (tools.allow or (), Effect.ALLOW),
        )
        for entry in _entries(names, effect, written, wild=wild)
    ]
    if tools.allow is not None:
        found += _added(effective)
    return found, Effect.DENY if tools.restricts else Effect.ALLOW


def _added(effective: Effective) -> Iterator[Entry]:
    if effective.memory is None:
        return
    rule, place = f"memory: {effective.memory.value}", effective.definition.place("memory")
    for name in effective.added:
        yield Entry(name, Effect.ALLOW, rule=rule, place=place)


def _entries(names: Iterable[str], effect: Effect, written: _Ids, *, wild: bool) -> Iterator[Entry]:
    """Yield an entry for each place where an id is written in lists of *effect*.

    A star is an ordinary character, and no tool has one in its name.
    """
    for tool, name in {normalize(name): name for name in names}.items():
        if "*" in tool and not (wild and tool == "*"):
            continue
        for rule, place in written.get((tool, effect), ((name, None),)):
            yield Entry(tool, effect, rule=rule, place=place)


def _written(definition: SubAgentDef, config: AgentsConfig) -> _Ids:
    """Return id and effect -> where the definition and the configuration list it."""
    found: dict[tuple[str, Effect], list[_Written]] = {}
    for name, effect, span in definition.named_tools:
        one = (name, span.place if span else None)
        found.setdefault((normalize(name), effect), []).append(one)
    for index, name in enumerate(config.default_disallowed_tools):
        key = f"default_disallowed_tools[{index}]"
        written = (f"default_disallowed_tools: {name}", config.place(key))
        found.setdefault((normalize(name), Effect.DENY), []).append(written)
    return found


# --- the lists of agents as declared --------------------------------------------------
#
# ``Bash(cargo *)`` matches commands of cargo, ``*`` every tool, ``web_*`` tools with that start,
# ``shell`` is bash, ``mcp__github`` matches all tools of that server, and ``Task(explore)`` the
# start of that agent. The tools of a memory are declared too, so a parent can narrow them.


_STARTING_DECLARED = Entry(SPAWN_TOOL, Effect.ALLOW, rule="starting an agent")


def declared_rules(
    definition: SubAgentDef, profile: ZephProfile, config: AgentsConfig
) -> tuple[RuleSet, ...]:
    """Return the rule sets that a definition declares, all of which hold."""
    sets: list[RuleSet] = []
    for key, names, effect in definition.lists:
        entries = list(_list(definition, key, names, effect))
        if effect is Effect.DENY:
            if entries:
                sets.append(RuleSet((_STARTING_DECLARED, *entries), Effect.ALLOW, DECLARED))
        elif names or profile is not ZephProfile.ISSUE_970:
            entries += _memory(definition, config)
            rules = RuleSet(
                (_STARTING_DECLARED, *entries), Effect.DENY, DECLARED, Reason.UNAVAILABLE
            )
            sets.append(rules)
    sets += (rules for rules in (_spawns(definition), _beside(definition, config)) if rules.entries)
    mode = definition.permissions.permission_mode
    if mode is PermissionMode.DEFAULT and config.default_permission_mode is not None:
        mode = config.default_permission_mode
    plan = plan_rules(mode, definition, DECLARED)
    return (*sets, plan) if plan is not None else tuple(sets)


def allowlist_rules(names: frozenset[str]) -> RuleSet:
    """Return the rules of a list of tools that an agent inherits."""
    entries = [
        entry
        for name in sorted(names)
        for entry in read_name(name, Effect.ALLOW, rule=f"inherited: {name}")
    ]
    return RuleSet((_STARTING_DECLARED, *entries), Effect.DENY, DECLARED, Reason.UNAVAILABLE)


def _list(
    definition: SubAgentDef, key: str, names: tuple[str, ...], effect: Effect
) -> Iterator[Entry]:
    for index, name in enumerate(names):
        place = definition.place(f"tools.{key}[{index}]")
        yield from read_name(name, effect, rule=name, place=place)


def _memory(definition: SubAgentDef, config: AgentsConfig) -> Iterator[Entry]:
    scope = definition.memory or config.default_memory_scope
    if scope is None or definition.tools.allow is None:
        return
    disallowed = (*definition.disallowed_tools, *config.default_disallowed_tools)
    place = definition.place("memory")
    for name in memory_grants(definition.tools, disallowed) or ():
        yield Entry(name, Effect.ALLOW, rule=f"memory: {scope.value}", place=place)


def _beside(definition: SubAgentDef, config: AgentsConfig) -> RuleSet:
    """Return the rules of the configuration and of a worktree, which deny tools."""
    entries = [
        entry
        for index, name in enumerate(config.default_disallowed_tools)
        for entry in read_name(
            name,
            Effect.DENY,
            rule=f"default_disallowed_tools: {name}",
            place=config.place(f"default_disallowed_tools[{index}]"),
        )
    ]
    if definition.permissions.worktree:
        place = definition.place("permissions.worktree")
        entries.append(Entry(WORKING_DIRECTORY, Effect.DENY, rule="worktree: true", place=place))
    return RuleSet((_STARTING_DECLARED, *entries) if entries else (), Effect.ALLOW, DECLARED)


# --- entries of lists -----------------------------------------------------------------


def read_name(
    name: str, effect: Effect, *, rule: str, place: Place | None = None
) -> tuple[Entry, ...]:
    """Return the entries of one name in a list.

    A name that cannot be parsed grants nothing, or denies every call of its tool.
    """
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


# --- which agents may be started ------------------------------------------------------


def spawn_names(name: str) -> tuple[str, ...] | None:
    """Return the agents that ``Task(a, b)`` names; None is any agent."""
    _, _, inside = name.partition("(")
    names = tuple(part.strip() for part in inside.rpartition(")")[0].split(",") if part.strip())
    return None if not names or "*" in names else names


def _spawns(definition: SubAgentDef) -> RuleSet:
    """Return the rules on starting agents: ``allowed_spawns``, and ``Task(…)`` in lists."""
    denied: list[Entry] = []
    granted: list[Entry] = []
    for name, effect, span in definition.named_tools:
        if normalize(name) == "task":
            into = denied if effect is Effect.DENY else granted
            place = span.place if span else None
            entry = partial(Entry, SPAWN_TOOL, effect, rule=name, place=place)
            agents = spawn_names(name)
            into += [entry(Pattern.exactly(agent)) for agent in agents] if agents else [entry()]
    unlimited = not granted
    allowed = definition.allowed_spawns
    if allowed is not None:
        listed = list(spawn_entries(definition, allowed))
        if not unlimited:
            known = {entry.pattern for entry in granted}
            listed = [e for e in listed if e.pattern is None or None in known or e.pattern in known]
        return RuleSet((*denied, *listed), Effect.ALLOW, DECLARED)
    if unlimited or any(entry.pattern is None for entry in granted):
        return RuleSet((*denied, *granted), Effect.ALLOW, DECLARED)
    rest = Entry(SPAWN_TOOL, Effect.DENY, reason=Reason.DEFAULT)
    return RuleSet((*denied, *granted, rest), Effect.ALLOW, DECLARED)


# --- the two readings of chains -------------------------------------------------------


# The session, which starts agents and is not one.
MAIN: Final = "main"


class SpawnRefused(SpawnDenied):
    """A check of Zeph refuses to start an agent.

    Attributes:
        error: the error of the check.

    """

    def __init__(self, agent: str, link: str, error: HostError) -> None:
        reason = "depth" if error.kind is ZephErrorKind.MAX_DEPTH_EXCEEDED else _words(error.kind)
        super().__init__(agent, link, reason)
        self.args = (f"`{link}` may not start `{agent}`: {upstream_text(error)}",)
        self.error = error


def _words(kind: enum.Enum) -> str:
    """Return a kind in the form of reasons: ``DelegationDenied`` is ``delegation-denied``."""
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in str(kind.value)).lstrip("-")


def _table(sets: tuple[RuleSet, ...], link: str, bounds: Bounds = Bounds()) -> Table:  # noqa: B008
    return Table(Ceiling.of(Part(rules, (link,)) for rules in sets), bounds=bounds)


def declared_reading(definitions: Mapping[str, SubAgentDef], options: ZephOptions) -> Attenuated:
    """Return the attenuated reading: the session, and what every agent of a chain declares."""
    context = options.context
    cap = context.max_trust_level
    sets = session_rules(options.session, ENFORCED, cap)
    if context.inherited_tool_allowlist is not None:
        sets += (allowlist_rules(context.inherited_tool_allowlist),)
    if context.network_denied:
        sets += (network_rules(ENFORCED),)
    if cap is not None:
        sets += (TrustGate(cap, options.session.servers).rules(ENFORCED),)
    depth = max(options.config.max_spawn_depth - context.spawn_depth, 0)
    if options.config.effective_delegation_mode is DelegationMode.DISABLED:
        depth = 0
    session = _table(sets, MAIN, Bounds(depth, trust=cap.value if cap else None))
    tables = {
        name: _table(declared_rules(definition, options.profile, options.config), name)
        for name, definition in definitions.items()
    }
    # An agent that starts a chain is started by the session all the same.
    roots = {name: attenuate(session, table) for name, table in tables.items()}
    return Attenuated(tables, {**roots, MAIN: session})


@frozen
class ZephState:
    """The state of Zeph at a position of a chain.

    Attributes:
        context: the context that the agent got.
        allowlist: the tools that its lists allow; None is every tool.
        trust: the last cap on the gate of trust, which all agents share.
        agent: its name, "" for the session.

    """

    context: SpawnContext
    allowlist: frozenset[str] | None = None
    trust: TrustLevel | None = None
    agent: str = ""


def enforced_reading(
    definitions: Mapping[str, SubAgentDef], options: ZephOptions | None = None
) -> EnforcedReading:
    """Return the enforced reading: the lists of the agent itself, and its context."""
    options = options or ZephOptions()
    manager = SubAgentManager(definitions, options.config, options.usage)
    known: dict[object, Link] = {}

    def start(agent: str) -> Link:
        state = ZephState(options.context)
        table = _table(session_rules(options.session, RAW), MAIN)
        root = Link(MAIN, bounded(table, state), 0, state)
        return root if agent == MAIN else evolve(step(root, agent), depth=0)

    def step(parent: Link, agent: str) -> Link:
        state = parent.state if isinstance(parent.state, ZephState) else ZephState(options.context)
        context, starter = state.context, definitions.get(state.agent)
        if state.agent:
            context = handed(state)
        # The starter matters only by what it hands on and by its own `allowed_spawns`.
        listed = state.agent if starter is not None and starter.allowed_spawns is not None else ""
        key = (agent, listed, context, state.trust)
        if key not in known:
            known[key] = spawned(agent, parent.name, starter, context, state.trust)
        return evolve(known[key], depth=parent.depth + 1)

    def handed(state: ZephState) -> SpawnContext:
        forward = options.forwarding
        return state.context.then(SpawnContext(), allowlist=state.allowlist, forward=forward)

    def bounded(table: Table, state: ZephState) -> Table:
        context = handed(state) if state.agent else state.context
        depth = max(options.config.max_spawn_depth - context.spawn_depth, 0)
        return evolve(table, bounds=Bounds(depth))

    def spawned(
        agent: str,
        parent: str,
        starter: SubAgentDef | None,
        context: SpawnContext,
        trust: TrustLevel | None,
    ) -> Link:
        try:
            effective = manager.check_spawn(agent, context, parent=starter)
        except HostError as error:
            if error.kind is ZephErrorKind.NOT_FOUND:
                raise KeyError(agent) from None
            raise SpawnRefused(agent, parent, error) from None
        trust = trust if effective.trust is None else effective.trust
        after = ZephState(context, effective.allowlist, trust, agent)
        return Link(agent, bounded(_enforced_table(effective, options, trust), after), 0, after)

    return EnforcedReading(_agents(definitions), start, step)


def resume(
    definitions: Mapping[str, SubAgentDef],
    options: ZephOptions,
    agent: str,
    context: SpawnContext | None = None,
) -> Link:
    """Return the link of *agent* when it resumes with *context*.

    Raises:
        HostError: Zeph refuses it.

    """
    manager = SubAgentManager(definitions, options.config, options.usage)
    effective = manager.check_resume(agent, context)
    after = ZephState(context or SpawnContext(), effective.allowlist, effective.trust, agent)
    return Link(agent, _enforced_table(effective, options, effective.trust), 1, after)


def _agents(definitions: Mapping[str, SubAgentDef]) -> tuple[str, ...]:
    return (MAIN, *(name for name in definitions if name != MAIN))


def _enforced_table(effective: Effective, options: ZephOptions, trust: TrustLevel | None) -> Table:
    session = options.session
    sets = session_rules(session, RAW, trust)
    if trust is not None:
        sets += (TrustGate(trust, session.servers).rules(RAW),)
    parts = [Part(rules, (MAIN,)) for rules in sets]
    name = effective.definition.name
    parts += (Part(rules, (name,)) for rules in enforced_rules(effective, options))
    return Table(Ceiling.of(parts))
