"""What the lists of an agent come to, as rules: in Zeph, and as they are declared.

To start an agent is a call of `Task` here; no list of Zeph speaks of that, and
a tool with the id ``task`` is another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import assert_never

from policy.chain import SPAWN_TOOL
from policy.decision import Reason
from policy.dialect import Dialect
from policy.effect import Effect
from policy.hosts.zeph.context import AgentsConfig
from policy.hosts.zeph.definition import (
    AllowList,
    Both,
    DenyList,
    InheritAll,
    PermissionMode,
    Profile,
    SubAgentDef,
)
from policy.hosts.zeph.dialects import ENFORCED
from policy.hosts.zeph.names import PEERS, normalize
from policy.hosts.zeph.network import network_rules
from policy.hosts.zeph.options import Options, Session
from policy.hosts.zeph.scopes import ToolScope
from policy.hosts.zeph.shell import blocked_rules
from policy.hosts.zeph.spawn import Effective
from policy.hosts.zeph.trust import TrustGate, TrustLevel, effective_trust
from policy.patterns.pattern import Pattern
from policy.ruleset import Entry, RuleSet
from policy.source import Place

__all__ = ["enforced_rules", "plan_rules", "session_rules", "spawn_entries"]

_STARTING = Entry(SPAWN_TOOL, Effect.ALLOW, rule="starting an agent")

# What is written of a tool, and where.
_Written = tuple[str, Place | None]
_Ids = Mapping[tuple[str, Effect], Sequence[_Written]]


def session_rules(
    session: Session, dialect: Dialect, cap: TrustLevel | None = None
) -> tuple[RuleSet, ...]:
    """Return what the gates of a session say of every call.

    Args:
        session: whose gates.
        dialect: of what is decided.
        cap: on the trust of the caller; None is no cap.

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
    """Return what the mode denies: in ``plan`` every tool, though agents can be started."""
    if mode is not PermissionMode.PLAN:
        return None
    span = definition.span("permissions.permission_mode")
    place = span.place if span else None
    stops = Entry("*", Effect.DENY, rule="permission_mode: plan", place=place)
    return RuleSet((_STARTING, stops), Effect.DENY, dialect)


def enforced_rules(effective: Effective, options: Options) -> tuple[RuleSet, ...]:
    """Return what Zeph makes of an agent's lists."""
    definition = effective.definition
    entries = [_STARTING]
    if definition.allowed_spawns is not None:
        entries = list(spawn_entries(definition, definition.allowed_spawns))
    if options.session.peers:
        entries += (Entry(name, Effect.ALLOW, rule="peer messages") for name in PEERS)
    listed, default = _listed(effective, options)
    if not listed and default is Effect.ALLOW and entries == [_STARTING]:
        entries = []  # nothing is said, so there is no rule set to meet
    reason = Reason.DEFAULT if default is Effect.ALLOW else Reason.UNAVAILABLE
    sets = [RuleSet((*entries, *listed), default, ENFORCED, reason)]
    plan = plan_rules(effective.mode, definition, ENFORCED)
    if plan is not None:
        sets.append(plan)
    if effective.network_denied:
        sets.append(network_rules(ENFORCED))
    return tuple(sets)


def spawn_entries(definition: SubAgentDef, allowed: Iterable[str]) -> Iterator[Entry]:
    """Yield the lines of ``allowed_spawns``: these agents, and no other."""
    for index, name in enumerate(allowed):
        span = definition.span(f"allowed_spawns[{index}]")
        place = span.place if span else None
        rule = f"allowed_spawns: {name}"
        yield Entry(SPAWN_TOOL, Effect.ALLOW, Pattern.exactly(name), rule=rule, place=place)
    span = definition.span("allowed_spawns")
    place = span.place if span else None
    yield Entry(SPAWN_TOOL, Effect.DENY, rule="allowed_spawns", place=place)


def _listed(effective: Effective, options: Options) -> tuple[list[Entry], Effect]:
    written = _written(effective.definition, options.config)
    wild = options.profile is Profile.ISSUE_970
    excepted = _entries(effective.disallowed, Effect.DENY, written, wild=wild)
    added = tuple(_added(effective))
    match effective.tools:
        case InheritAll():
            return [*excepted], Effect.ALLOW
        case DenyList(tools=tools):
            denied = _entries(tools, Effect.DENY, written, wild=wild)
            return [*excepted, *denied], Effect.ALLOW
        case AllowList(tools=tools):
            allowed = _entries(tools, Effect.ALLOW, written, wild=wild)
            return [*excepted, *allowed, *added], Effect.DENY
        case Both(allow=allow, deny=deny):
            denied = _entries(deny, Effect.DENY, written, wild=wild)
            allowed = _entries(allow, Effect.ALLOW, written, wild=wild)
            default = Effect.DENY if allow else Effect.ALLOW
            return [*excepted, *denied, *allowed, *added], default
        case _:
            assert_never(effective.tools)


def _added(effective: Effective) -> Iterator[Entry]:
    if effective.memory is None:
        return
    span = effective.definition.span("memory")
    rule, place = f"memory: {effective.memory.value}", span.place if span else None
    for name in effective.added:
        yield Entry(name, Effect.ALLOW, rule=rule, place=place)


def _entries(names: Iterable[str], effect: Effect, written: _Ids, *, wild: bool) -> Iterator[Entry]:
    """Yield a line for each place where an id is written, of all lists that say the same of it.

    A star is a letter, and no tool has it in its name.
    """
    for tool, name in {normalize(name): name for name in names}.items():
        if "*" in tool and not (wild and tool == "*"):
            continue
        for rule, place in written.get((tool, effect), ((name, None),)):
            yield Entry(tool, effect, rule=rule, place=place)


def _written(definition: SubAgentDef, config: AgentsConfig) -> _Ids:
    """Return what the definition and the configuration say of each id, and where."""
    found: dict[tuple[str, Effect], list[_Written]] = {}
    for key, names, effect in listed_names(definition):
        for index, name in enumerate(names):
            span = definition.span(f"tools.{key}[{index}]")
            one = (name, span.place if span else None)
            found.setdefault((normalize(name), effect), []).append(one)
    for index, name in enumerate(config.default_disallowed_tools):
        key = f"default_disallowed_tools[{index}]"
        written = (f"default_disallowed_tools: {name}", config.place(key))
        found.setdefault((normalize(name), Effect.DENY), []).append(written)
    return found


def listed_names(definition: SubAgentDef) -> Iterator[tuple[str, tuple[str, ...], Effect]]:
    """Yield the lists of tools of a definition: key, names, and what they say."""
    yield "except", definition.disallowed_tools, Effect.DENY
    match definition.tools:
        case AllowList(tools=tools):
            yield "allow", tools, Effect.ALLOW
        case DenyList(tools=tools):
            yield "deny", tools, Effect.DENY
        case Both(allow=allow, deny=deny):
            yield "deny", deny, Effect.DENY
            yield "allow", allow, Effect.ALLOW
        case InheritAll():
            return
        case _:
            assert_never(definition.tools)
