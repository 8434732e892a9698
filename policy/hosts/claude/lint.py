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
from policy.hosts.claude.dialect import dialect
from policy.hosts.claude.discovery import Role
from policy.hosts.claude.hooks import LIST, Hook, takes
from policy.hosts.claude.pools import PoolPosition, has_no_tools, pool
from policy.hosts.claude.rules import misnamed
from policy.hosts.claude.session import HANDED_DOWN, SCOPES, ClaudeSession, child_mode
from policy.hosts.claude.settings import Settings, read_settings
from policy.hosts.claude.skills import Skill
from policy.hosts.fields import Presence
from policy.language.parse import parse_matcher
from policy.language.syntax import Matcher
from policy.patterns import notations
from policy.patterns.automaton import NO_MATCH, Automaton

_EDITING: Final = known.FILE_TOOLS["Edit"]
_SEVERAL: Final = re.compile(r"\)\s*[|,;]\s*\w+\(|^\w+\s*\|")


def hook_findings(hooks: Iterable[Hook]) -> Iterator[Finding]:
    """Yield what is wrong with the hooks of one file."""
    guards: dict[str, list[Hook]] = {}
    for hook in hooks:
        about_others, about_calls = _takes_nothing(hook), _never_holds(hook)
        if about_others:
            yield find("hook-never-fires", hook.place, why=about_others)
        elif about_calls:
            yield find("hook-never-fires", hook.span, why=about_calls)
        elif hook.event == "PreToolUse" and hook.waits:
            guards.setdefault(hook.runs, []).append(hook)
    for same in guards.values():
        # Some of the tools that edit files are seen, and not the others.
        seen = [t for t in _EDITING if any(takes(h.matcher, t) is not False for h in same)]
        missing = [tool for tool in _EDITING if tool not in seen]
        if seen and missing:
            some, others, tools = " and ".join(seen), " or ".join(missing), "|".join(_EDITING)
            at = same[0].place
            yield find("hook-misses-tools", at, seen=some, missing=others, tools=tools)


def _takes_nothing(hook: Hook) -> str:
    """Return why no event can run the hook; "" where one may."""
    matcher = hook.matcher
    if hook.event not in known_hooks.EVENTS:
        return f"`{hook.event}` is no event"
    if hook.event not in known_hooks.TOOL_EVENTS:
        return ""
    if any(takes(matcher, tool) is not False for tool in known.NAMES):
        return ""
    if LIST.fullmatch(matcher):
        names = (name.strip() for name in re.split(r"[|,]", matcher))
        of_servers = any(name.startswith("mcp__") and name.count("__") > 1 for name in names)
    else:
        of_servers = "mcp" in matcher or takes(matcher, "mcp__server__tool") is not False
    return "" if of_servers else f"the matcher `{matcher}` takes no tool"


def _never_holds(hook: Hook) -> str:
    """Return why the condition of the hook matches no call; "" without one, or where it may."""
    if not hook.condition:
        return ""
    if hook.event not in known_hooks.TOOL_EVENTS:
        return "only hooks about the calls of tools have an `if`"
    if _SEVERAL.search(hook.condition):
        return "a condition is one rule, and this is several"
    try:
        tool = tool_of(parse_matcher(hook.condition, hook.span))
    except PolicyError as error:
        return f"the condition is no rule: {error.message}"
    is_known = tool in known.NAMES or tool.startswith("mcp__")
    return "" if is_known else f"there is no tool `{tool}`"


# Tools that only read; a list of these alone looks like a limit.
_READING: Final = frozenset(
    (*known.FILE_TOOLS["Read"], *"WebFetch WebSearch Skill TodoWrite AskUserQuestion LS".split())
)


def skill_findings(skill: Skill) -> Iterator[Finding]:
    """Yield findings about the allowed tools of one skill."""
    names = {tool_of(matcher) for matcher in skill.allowed.matchers}
    for matcher in skill.allowed.matchers:
        name = tool_of(matcher)
        if name in ("Bash", "PowerShell") and not content_of(matcher):
            yield find("skill-allows-every-command", matcher.span, skill=skill.name, name=name)
    if names and names <= _READING:
        yield find("skill-list-is-no-bound", skill.span, skill=skill.name)


def agent_findings(definition: Definition, session: ClaudeSession) -> Iterator[Finding]:
    """Yield what is wrong with the lists of one agent."""
    if definition.span is None:
        return
    agent, tools, mode = definition.name, definition.tools, definition.mode
    if tools.presence in (Presence.NULL, Presence.EMPTY):
        yield find("empty-tools", tools.span, agent=agent)
    for matcher in tools.matchers:
        text, tool = content_of(matcher), matcher.tool
        if text and tool_of(matcher) == "Agent":
            yield find("agent-type-list-ignored", matcher.span, agent=agent, text=text)
        elif text:
            yield find("tools-specifier-not-a-filter", matcher.span, tool=tool, matcher=matcher)
        yield from _unknown(matcher, Effect.ALLOW)
    for matcher in definition.disallowed.matchers:
        if content_of(matcher):
            span, tool = matcher.span, matcher.tool
            yield find("disallowed-tool-specifier", span, tool=tool, matcher=matcher)
        yield from _unknown(matcher, Effect.DENY)
    yield from _pool(definition, session)
    above, place = session.mode, definition.span_of("permissionMode")
    if mode in HANDED_DOWN and child_mode(above, mode) == mode != above:
        yield find("mode-widens", place, agent=agent, session=above, mode=mode)
    if mode and above in HANDED_DOWN and mode != above:
        yield find("permission-mode-ignored", place, case="session", session=above, agent=agent)


def _pool(definition: Definition, session: ClaudeSession) -> Iterator[Finding]:
    """Yield what is wrong with the tools that the lists give the agent."""
    agent, tools, disallowed = definition.name, definition.tools, definition.disallowed
    position = PoolPosition(main=False, background=session.options.in_background(1))
    if has_no_tools(definition, session, position):
        yield find("zero-tools", tools.span, agent=agent)
    names = {matcher.tool for matcher in (*tools.matchers, *disallowed.matchers)}
    if disallowed.matchers or (tools.matchers and all(m.tool != "*" for m in tools.matchers)):
        entries = pool(definition, session, position, dialect(session, "default")).entries
        started = next((entry.effect for entry in entries if entry.tool == "Agent"), None)
        if started is Effect.ALLOW:
            yield find("pool-not-handed-down", tools.span or disallowed.span, agent=agent)
    # A memory gives tools beyond the lists, and gives back none taken away.
    if definition.memory and tools.presence is not Presence.ABSENT and "*" not in names:
        given = " and ".join(tool for tool in known.MEMORY_TOOLS if tool not in names)
        if given:
            place = definition.span_of("memory")
            yield find("memory-widens-tools", place, agent=agent, tools=given)


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
        help_ = "name each server, as in `mcp__github`" if name == "mcp__*" else ""
        yield find("tools-glob-ignored", matcher.span, name=name, help=help_)
        return
    near = difflib.get_close_matches(name, sorted(known.NAMES), 1) or [
        tool for tool in sorted(known.NAMES) if tool.casefold() == name.casefold()
    ]
    help_ = f"did you mean `{near[0]}`?" if near else ""
    yield find("unknown-tool", matcher.span, case="name", name=name, help=help_)


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
    rules = [rule for each in files for rule in each.rules]
    # Files are allowed to a tool of which every call is asked for.
    asked = {rule.text for rule in rules if rule.effect is Effect.ASK}
    for rule in rules:
        tool, opened, _ = rule.text.partition("(")
        if rule.effect is Effect.ALLOW and opened and tool in known.FILE_TOOLS and tool in asked:
            yield find("allow-asked-anyway", rule.span, rule=rule.text, tool=tool)
    # A rule without a star asks for a command, and one with a star denies it.
    of_commands = [rule for rule in rules if rule.text.startswith("Bash(")]
    denied = {rule.text[5:-1] for rule in of_commands if rule.effect is Effect.DENY}
    starred = [one.tokens for text in denied if "*" in text for one in notations.commands(text)]
    index = Automaton(starred)
    for rule in of_commands:
        text = rule.text[5:-1]
        is_exact = rule.effect is Effect.ASK and "*" not in text and text not in denied
        if is_exact and index.first(text) != NO_MATCH:
            yield find("ask-weakens-deny", rule.span, rule=rule.text)
    for plugins in (each.plugins for each in files if each.plugins):
        named = plugins[0].text.strip('"')
        more = f" and {len(plugins) - 1} more" if len(plugins) > 1 else ""
        yield find("plugins-not-read", plugins[0], plugin=named, more=more)
    # The switch for hooks of the strongest scope counts.
    switches = sorted(
        (each for each in files if each.hooks_off), key=lambda e: SCOPES.index(e.scope)
    )
    for settings in switches[:1]:
        if settings.hooks_off and settings.hooks_off[0] and settings.scope != "managed":
            yield find("hooks-disabled", settings.hooks_off[1])
