"""Findings about rules, hooks, skills, agents and modes taken together.

What is wrong with one file alone is found where it is read.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Final

from policy.core import expressions as re
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.hosts.claude.agents import Definition, content_of, tool_of
from policy.hosts.claude.data import find
from policy.hosts.claude.data import settings as known_hooks
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.data.tools import FILE_TOOLS, MEMORY_TOOLS, NAMES
from policy.hosts.claude.dialect import dialect
from policy.hosts.claude.discovery import Role
from policy.hosts.claude.hooks import LIST, Hook, takes
from policy.hosts.claude.pools import PoolPosition, has_no_tools, pool
from policy.hosts.claude.rules import misnamed
from policy.hosts.claude.session import HANDED_DOWN, SCOPES, ClaudeSession, child_mode
from policy.hosts.claude.settings import Settings, read_settings
from policy.hosts.claude.skills import Skill
from policy.language.parse import parse_matcher
from policy.language.syntax import Matcher, Presence
from policy.patterns import notations
from policy.patterns.automaton import NO_MATCH, Automaton

__all__ = [
    "agent_findings",
    "hook_findings",
    "passed_findings",
    "settings_findings",
    "skill_findings",
]


# --- hooks that never run, or miss tools -----------------------------------------------


def _never_runs(hook: Hook) -> Finding | None:
    """Return that nothing of the kind that a hook is for comes about."""
    if hook.event not in known_hooks.EVENTS:
        return find("hook-never-fires", hook.place, why=f"`{hook.event}` is no event")
    takes_some = any(takes(hook.matcher, tool) is not False for tool in NAMES)
    if hook.event not in known_hooks.TOOL_EVENTS or takes_some or _may_be_of_servers(hook.matcher):
        return None
    return find("hook-never-fires", hook.place, why=f"the matcher `{hook.matcher}` takes no tool")


def _may_be_of_servers(matcher: str) -> bool:
    if LIST.fullmatch(matcher):
        names = (name.strip() for name in re.split(r"[|,]", matcher))
        return any(name.startswith("mcp__") and name.count("__") > 1 for name in names)
    return "mcp" in matcher or takes(matcher, "mcp__server__tool") is not False


def _never_holds(hook: Hook) -> Finding | None:
    """Return that the condition of a hook, if it has one, matches no call."""
    why = ""
    if hook.condition and hook.event not in known_hooks.TOOL_EVENTS:
        why = "only hooks about the calls of tools have an `if`"
    elif _SEVERAL.search(hook.condition):
        why = "a condition is one rule, and this is several"
    elif hook.condition:
        try:
            tool = tool_of(parse_matcher(hook.condition, hook.span))
            is_known = tool in NAMES or tool.startswith("mcp__")
            why = "" if is_known else f"there is no tool `{tool}`"
        except PolicyError as error:
            why = f"the condition is no rule: {error.message}"
    return find("hook-never-fires", hook.span, why=why) if why else None


_SEVERAL: Final = re.compile(r"\)\s*[|,;]\s*\w+\(|^\w+\s*\|")


_EDITING: Final = FILE_TOOLS["Edit"]


def hook_findings(hooks: Iterable[Hook]) -> Iterator[Finding]:
    """Yield what is wrong with the hooks of one file."""
    guards: dict[str, list[Hook]] = {}
    for hook in hooks:
        never = _never_runs(hook) or _never_holds(hook)
        if never is not None:
            yield never
        elif hook.event == "PreToolUse" and hook.waits:
            guards.setdefault(hook.runs, []).append(hook)
    for same in guards.values():
        yield from _missing(same)


def _missing(hooks: list[Hook]) -> Iterator[Finding]:
    """Yield that hooks see some of the tools that edit files, and not the others."""
    seen = [tool for tool in _EDITING if any(takes(h.matcher, tool) is not False for h in hooks)]
    missing = [tool for tool in _EDITING if tool not in seen]
    if seen and missing:
        yield find(
            "hook-misses-tools",
            hooks[0].place,
            seen=" and ".join(seen),
            missing=" or ".join(missing),
            tools="|".join(_EDITING),
        )


def _switched_off(files: Iterable[Settings]) -> Iterator[Finding]:
    """Yield that settings which are no administrator's switch hooks off."""
    for settings in sorted(files, key=lambda each: SCOPES.index(each.scope)):
        if settings.hooks_off is None:
            continue
        off, span = settings.hooks_off
        if off and settings.scope != "managed":
            yield find("hooks-disabled", span)
        return  # the strongest that says so counts


# --- `allowed-tools` of skills and commands ------------------------------------------

# Tools that only read: a list of nothing else looks like a limit.
_READING: Final = frozenset(
    {*FILE_TOOLS["Read"], "WebFetch", "WebSearch", "Skill", "TodoWrite", "AskUserQuestion", "LS"}
)


def skill_findings(skill: Skill) -> Iterator[Finding]:
    """Yield what the list of one skill means beyond what it says."""
    names = {tool_of(matcher) for matcher in skill.allowed.matchers}
    for matcher in skill.allowed.matchers:
        name = tool_of(matcher)
        if name in ("Bash", "PowerShell") and not content_of(matcher):
            yield find("skill-allows-every-command", matcher.span, skill=skill.name, name=name)
    if names and names <= _READING:
        yield find("skill-list-is-no-bound", skill.span, skill=skill.name)


# --- lists and modes of agents --------------------------------------------------------


def agent_findings(definition: Definition, session: ClaudeSession) -> Iterator[Finding]:
    """Yield what is wrong with the lists of one agent."""
    if definition.span is None:
        return
    yield from _tools(definition)
    yield from _disallowed(definition)
    yield from _pool(definition, session)
    yield from _modes(definition, session)


def _pool(definition: Definition, session: ClaudeSession) -> Iterator[Finding]:
    """Yield what is wrong with the tools that the agent has in the end."""
    position = PoolPosition(main=False, background=session.options.in_background(1))
    if has_no_tools(definition, session, position):
        yield find("zero-tools", definition.tools.span, agent=definition.name)
    if _narrows(definition) and _starts_agents(definition, session, position):
        yield find(
            "pool-not-handed-down",
            definition.tools.span or definition.disallowed.span,
            agent=definition.name,
        )
    given = _given_by_memory(definition)
    if given:
        yield find(
            "memory-widens-tools", definition.span, agent=definition.name, tools=" and ".join(given)
        )


def _modes(definition: Definition, session: ClaudeSession) -> Iterator[Finding]:
    """Yield what the mode of the session makes of that of the agent."""
    if (
        definition.mode in HANDED_DOWN
        and child_mode(session.mode, definition.mode) == (definition.mode) != session.mode
    ):
        yield find(
            "mode-widens",
            definition.span,
            agent=definition.name,
            session=session.mode,
            mode=definition.mode,
        )
    if definition.mode and session.mode in HANDED_DOWN and definition.mode != session.mode:
        yield find(
            "permission-mode-ignored",
            definition.span,
            case="session",
            session=session.mode,
            agent=definition.name,
        )


def _narrows(definition: Definition) -> bool:
    listed = definition.tools.matchers and all(m.tool != "*" for m in definition.tools.matchers)
    return bool(listed or definition.disallowed.matchers)


def _starts_agents(definition: Definition, session: ClaudeSession, position: PoolPosition) -> bool:
    rules = pool(definition, session, position, dialect(session, "default"))
    said = [entry.effect for entry in rules.entries if entry.tool == "Agent"]
    return said[:1] == [Effect.ALLOW]


def _given_by_memory(definition: Definition) -> list[str]:
    """Return the tools that a memory gives beyond the lists; it gives back none taken away."""
    if not definition.memory or definition.tools.presence is Presence.ABSENT:
        return []
    names = {m.tool for m in (*definition.tools.matchers, *definition.disallowed.matchers)}
    return [] if "*" in names else [tool for tool in MEMORY_TOOLS if tool not in names]


def _tools(definition: Definition) -> Iterator[Finding]:
    tools = definition.tools
    if tools.presence in (Presence.NULL, Presence.EMPTY):
        yield find("empty-tools", tools.span, agent=definition.name)
    for matcher in tools.matchers:
        text, tool = content_of(matcher), matcher.tool
        if text and tool_of(matcher) == "Agent":
            yield find("agent-type-list-ignored", matcher.span, agent=definition.name, text=text)
        elif text:
            yield find("tools-specifier-not-a-filter", matcher.span, tool=tool, matcher=matcher)
        yield from _unknown(matcher, Effect.ALLOW)


def _disallowed(definition: Definition) -> Iterator[Finding]:
    for matcher in definition.disallowed.matchers:
        if content_of(matcher):
            yield find(
                "disallowed-tool-specifier", matcher.span, tool=matcher.tool, matcher=matcher
            )
        yield from _unknown(matcher, Effect.DENY)


def _unknown(matcher: Matcher, effect: Effect) -> Iterator[Finding]:
    name = tool_of(matcher)
    if name in known.NAMES or name == "*":
        return
    of_server = name.startswith("mcp__") and ("*" not in name or name.endswith("__*"))
    if of_server and (name != "mcp__*" or effect is Effect.DENY):
        if matcher.span is not None:
            yield from misnamed(name, matcher.span, effect)
        return
    if "*" in name:
        yield find(
            "tools-glob-ignored",
            matcher.span,
            name=name,
            help="name each server, as in `mcp__github`" if name == "mcp__*" else "",
        )
        return
    near = difflib.get_close_matches(name, sorted(known.NAMES), 1) or [
        tool for tool in sorted(known.NAMES) if tool.casefold() == name.casefold()
    ]
    yield find(
        "unknown-tool",
        matcher.span,
        case="name",
        name=name,
        help=f"did you mean `{near[0]}`?" if near else "",
    )


# --- settings of several files --------------------------------------------------------


def passed_findings(root: str, passed: list[Role], files: list[Settings]) -> Iterator[Finding]:
    """Yield the denials of folders above that do not hold for a session in the folder *root*."""
    own = {rule.text for each in files for rule in each.rules if rule.effect is Effect.DENY}
    sources = ((role.source, role.scope) for role in passed if role.source is not None)
    for settings in (read_settings(source, scope) for source, scope in sources):
        lost = [r for r in settings.rules if r.effect is Effect.DENY and r.text not in own]
        if lost:
            denies = f" and {len(lost) - 1:,} more deny" if len(lost) > 1 else " denies"
            yield find(
                "denial-not-inherited", lost[0].span, rule=lost[0].text, denies=denies, folder=root
            )


def settings_findings(files: list[Settings]) -> Iterator[Finding]:
    """Yield what is wrong with the rules of a session as a whole."""
    yield from _asked_anyway(files)
    yield from _asked_first(files)
    yield from _of_plugins(files)
    yield from _switched_off(files)


def _asked_anyway(files: list[Settings]) -> Iterator[Finding]:
    """Yield the rules that allow files to a tool of which every call is asked for."""
    rules = [rule for each in files for rule in each.rules]
    asked = {rule.text for rule in rules if rule.effect is Effect.ASK}
    for rule in rules:
        tool, opened, _ = rule.text.partition("(")
        if rule.effect is Effect.ALLOW and opened and tool in FILE_TOOLS and tool in asked:
            yield find("allow-asked-anyway", rule.span, rule=rule.text, tool=tool)


def _asked_first(files: list[Settings]) -> Iterator[Finding]:
    """Yield the commands that a rule without a star asks for, and one with a star denies."""
    rules = [rule for each in files for rule in each.rules if rule.text.startswith("Bash(")]
    denied = [rule.text[5:-1] for rule in rules if rule.effect is Effect.DENY]
    starred = [one.tokens for text in denied if "*" in text for one in notations.commands(text)]
    index = Automaton(starred)
    for rule in rules:
        text = rule.text[5:-1]
        is_exact = rule.effect is Effect.ASK and "*" not in text and text not in denied
        if is_exact and index.first(text) != NO_MATCH:
            yield find("ask-weakens-deny", rule.span, rule=rule.text)


def _of_plugins(files: list[Settings]) -> Iterator[Finding]:
    for plugins in (each.plugins for each in files if each.plugins):
        named = plugins[0].text.strip('"')
        more = f" and {len(plugins) - 1} more" if len(plugins) > 1 else ""
        yield find("plugins-not-read", plugins[0], plugin=named, more=more)
