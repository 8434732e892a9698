"""What the lists of an agent declare, call by call, whatever Zeph makes of them.

``Bash(cargo *)`` is the commands of cargo, ``*`` every tool, ``web_*`` those
with that start, ``shell`` is bash, ``mcp__github`` all tools of that server,
and ``Task(explore)`` the start of that agent. A memory's tools are part of
what is declared, so that whoever starts the agent can narrow them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from policy.chain import SPAWN_TOOL
from policy.decision import Reason
from policy.dialect import ArgumentKind
from policy.effect import Effect
from policy.errors import PolicyError
from policy.hosts.zeph.context import AgentsConfig
from policy.hosts.zeph.definition import AllowList, Both, PermissionMode, Profile, SubAgentDef
from policy.hosts.zeph.dialects import DECLARED
from policy.hosts.zeph.names import WORKING_DIRECTORY, normalize
from policy.hosts.zeph.spawn import memory_grants
from policy.hosts.zeph.tables import listed_names, plan_rules, spawn_entries
from policy.language.parse import parse_matcher
from policy.patterns import notations
from policy.patterns.pattern import Pattern
from policy.ruleset import Entry, RuleSet
from policy.source import Place

__all__ = ["allowlist_rules", "declared_rules", "read_name", "spawn_names"]

_STARTING = Entry(SPAWN_TOOL, Effect.ALLOW, rule="starting an agent")


def declared_rules(
    definition: SubAgentDef, profile: Profile, config: AgentsConfig
) -> tuple[RuleSet, ...]:
    """Return what a definition declares: each of its lists by itself, to be met."""
    sets: list[RuleSet] = []
    for key, names, effect in listed_names(definition):
        entries = list(_list(definition, key, names, effect))
        if effect is Effect.DENY:
            if entries:
                sets.append(RuleSet((_STARTING, *entries), Effect.ALLOW, DECLARED))
        elif names or profile is not Profile.ISSUE_970:
            entries += _memory(definition, config)
            rules = RuleSet((_STARTING, *entries), Effect.DENY, DECLARED, Reason.UNAVAILABLE)
            sets.append(rules)
    sets += (rules for rules in (_spawns(definition), _beside(definition, config)) if rules.entries)
    mode = definition.permissions.permission_mode
    if mode is PermissionMode.DEFAULT and config.default_permission_mode is not None:
        mode = config.default_permission_mode
    plan = plan_rules(mode, definition, DECLARED)
    return (*sets, plan) if plan is not None else tuple(sets)


def allowlist_rules(names: frozenset[str]) -> RuleSet:
    """Return what a list of tools that is handed down leaves."""
    entries = [
        entry
        for name in sorted(names)
        for entry in read_name(name, Effect.ALLOW, rule=f"inherited: {name}")
    ]
    return RuleSet((_STARTING, *entries), Effect.DENY, DECLARED, Reason.UNAVAILABLE)


def _list(
    definition: SubAgentDef, key: str, names: tuple[str, ...], effect: Effect
) -> Iterator[Entry]:
    for index, name in enumerate(names):
        span = definition.span(f"tools.{key}[{index}]")
        yield from read_name(name, effect, rule=name, place=span.place if span else None)


def _memory(definition: SubAgentDef, config: AgentsConfig) -> Iterator[Entry]:
    scope = definition.memory or config.default_memory_scope
    if scope is None or not isinstance(definition.tools, AllowList | Both):
        return
    disallowed = (*definition.disallowed_tools, *config.default_disallowed_tools)
    span = definition.span("memory")
    for name in memory_grants(definition.tools, disallowed) or ():
        place = span.place if span else None
        yield Entry(name, Effect.ALLOW, rule=f"memory: {scope.value}", place=place)


def _beside(definition: SubAgentDef, config: AgentsConfig) -> RuleSet:
    """Return what is denied beside the lists: by the configuration, and in a worktree."""
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
        span = definition.span("permissions.worktree")
        place = span.place if span else None
        entries.append(Entry(WORKING_DIRECTORY, Effect.DENY, rule="worktree: true", place=place))
    return RuleSet((_STARTING, *entries) if entries else (), Effect.ALLOW, DECLARED)


# --- entries of lists -----------------------------------------------------------


def read_name(
    name: str, effect: Effect, *, rule: str, place: Place | None = None
) -> tuple[Entry, ...]:
    """Return the lines of one entry of a list.

    What cannot be read grants nothing, and denies all of its tool.
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


# --- which agents may be started -------------------------------------------------


def spawn_names(name: str) -> tuple[str, ...] | None:
    """Return the agents that ``Task(a, b)`` names; None is any. Only for such entries."""
    _, _, inside = name.partition("(")
    names = tuple(part.strip() for part in inside.rpartition(")")[0].split(",") if part.strip())
    return None if not names or "*" in names else names


def _spawns(definition: SubAgentDef) -> RuleSet:
    """Return which agents may be started: by ``allowed_spawns``, and by ``Task(…)`` in lists."""
    denied: list[Entry] = []
    granted: list[Entry] = []
    unlimited = not any(
        normalize(name) == "task" for _, names, effect in listed_names(definition)
        for name in names if effect is Effect.ALLOW
    )  # fmt: skip
    for key, names, effect in listed_names(definition):
        for index, name in enumerate(names):
            if normalize(name) != "task":
                continue
            span = definition.span(f"tools.{key}[{index}]")
            place = span.place if span else None
            entry = partial(Entry, SPAWN_TOOL, effect, rule=name, place=place)
            into = denied if effect is Effect.DENY else granted
            agents = spawn_names(name)
            into += [entry(Pattern.exactly(agent)) for agent in agents] if agents else [entry()]
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
