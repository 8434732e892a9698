"""Defects that show only where rules, agents and modes are seen together."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Final

from policy.effect import Effect
from policy.finding import Finding, Severity
from policy.hosts.claude.agents import Definition
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.data.agents import MEMORY_TOOLS
from policy.hosts.claude.dialect import dialect
from policy.hosts.claude.modes import child_mode
from policy.hosts.claude.negations import opened
from policy.hosts.claude.paths import Anchors
from policy.hosts.claude.pools import Position, has_no_tools, pool
from policy.hosts.claude.session import Session
from policy.hosts.claude.settings import Settings
from policy.hosts.claude.shadowed import shadowed
from policy.language.syntax import Matcher, Presence
from policy.source import Span

__all__ = ["agent_findings", "passed_findings", "settings_findings"]

_HANDED_DOWN: Final = ("acceptEdits", "auto", "bypassPermissions")


def _warn(code: str, message: str, span: Span | None, help: str = "") -> Finding:
    return Finding(code, message, Severity.WARNING, span, help=help)


def agent_findings(definition: Definition, session: Session) -> Iterator[Finding]:
    """Yield what is wrong with the lists of one agent."""
    if definition.span is None:
        return
    yield from _tools(definition)
    yield from _disallowed(definition)
    yield from _pool(definition, session)
    yield from _modes(definition, session)


def _pool(definition: Definition, session: Session) -> Iterator[Finding]:
    """Yield what is wrong with the tools that the agent comes to."""
    position = Position(main=False, background=session.options.in_background(1))
    if has_no_tools(definition, session, position):
        yield Finding(
            "zero-tools",
            f"no tool of `{definition.name}` exists, so the host refuses to start it",
            Severity.ERROR,
            definition.tools.span,
        )
    if _narrows(definition) and _starts_agents(definition, session, position):
        yield Finding(
            "pool-not-handed-down",
            f"what `{definition.name}` starts is not bound by its lists: each agent has its own",
            Severity.NOTE,
            definition.tools.span or definition.disallowed.span,
            help="take away what no agent below may have in the settings, with `permissions.deny`",
        )
    given = _given_by_memory(definition)
    if given:
        yield Finding(
            "memory-widens-tools",
            f"`memory` gives `{definition.name}` {' and '.join(given)} as well",
            Severity.ERROR,
            definition.span,
        )


def _modes(definition: Definition, session: Session) -> Iterator[Finding]:
    """Yield what the mode of the session makes of that of the agent."""
    if (
        definition.mode in _HANDED_DOWN
        and child_mode(session.mode, definition.mode) == (definition.mode) != session.mode
    ):
        yield _warn(
            "mode-widens",
            f"`{definition.name}` does without asking what `{session.mode}` asks for: the host"
            f" starts it in the mode `{definition.mode}`",
            definition.span,
        )
    if definition.mode and session.mode in _HANDED_DOWN and definition.mode != session.mode:
        yield _warn(
            "permission-mode-ignored",
            f"in a session of mode `{session.mode}` the host ignores that of `{definition.name}`",
            definition.span,
        )


def _narrows(definition: Definition) -> bool:
    listed = definition.tools.matchers and all(m.tool != "*" for m in definition.tools.matchers)
    return bool(listed or definition.disallowed.matchers)


def _starts_agents(definition: Definition, session: Session, position: Position) -> bool:
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
        yield _warn(
            "empty-tools",
            f"the list of tools is empty, so `{definition.name}` has none",
            tools.span,
            help="leave the key out for every tool",
        )
    for matcher in tools.matchers:
        text = "" if matcher.specifier is None else matcher.specifier.text.strip()
        if text not in ("", "*"):
            if known.ALIASES.get(matcher.tool, matcher.tool) == "Agent":
                yield _warn(
                    "agent-type-list-ignored",
                    f"the host lets `{definition.name}` start every agent, not only `{text}`,"
                    " unless a session is started as it",
                    matcher.span,
                )
            else:
                yield _warn(
                    "tools-specifier-not-a-filter",
                    f"the host gives all of `{matcher.tool}`, not only `{matcher}`",
                    matcher.span,
                    help="deny the other calls in the settings, with `permissions.deny`",
                )
        yield from _unknown(matcher)


def _disallowed(definition: Definition) -> Iterator[Finding]:
    for matcher in definition.disallowed.matchers:
        if matcher.specifier is not None and matcher.specifier.text.strip() not in ("", "*"):
            yield _warn(
                "disallowed-tool-specifier",
                f"the host takes away all of `{matcher.tool}`, not only `{matcher}`",
                matcher.span,
                help="deny calls in the settings, with `permissions.deny`",
            )
        yield from _unknown(matcher)


def _unknown(matcher: Matcher) -> Iterator[Finding]:
    name = known.ALIASES.get(matcher.tool, matcher.tool)
    if name in known.NAMES or name == "*":
        return
    if name.startswith("mcp__") and ("*" not in name or name.endswith("__*") or name == "mcp__*"):
        return
    if "*" in name:
        yield _warn(
            "tools-glob-ignored", f"`{name}` matches no tool in a list of an agent", matcher.span
        )
        return
    near = difflib.get_close_matches(name, sorted(known.NAMES), 1) or [
        tool for tool in sorted(known.NAMES) if tool.casefold() == name.casefold()
    ]
    yield _warn(
        "unknown-tool",
        f"there is no tool `{name}`, so the host leaves it out",
        matcher.span,
        help=f"did you mean `{near[0]}`?" if near else "",
    )


def passed_findings(
    root: str, passed: Iterable[Settings], files: list[Settings]
) -> Iterator[Finding]:
    """Yield the denials of folders above that do not hold for a session in the folder *root*."""
    own = {rule.text for each in files for rule in each.rules if rule.effect is Effect.DENY}
    for settings in passed:
        lost = [r for r in settings.rules if r.effect is Effect.DENY and r.text not in own]
        if lost:
            denies = f" and {len(lost) - 1:,} more deny" if len(lost) > 1 else " denies"
            yield _warn(
                "denial-not-inherited",
                f"`{lost[0].text}`{denies} nothing in a session that is started in"
                f" `{root}`: the host reads the settings of that folder alone",
                lost[0].span,
                help=f"deny it in `{root}/.claude/settings.json` as well, or in the settings of"
                " the user or of an administrator",
            )


def settings_findings(session: Session, files: list[Settings]) -> Iterator[Finding]:
    """Yield what is wrong with the rules of a session as a whole."""
    yield from _negations(files)
    yield from shadowed(session, files)
    yield from _of_plugins(files)
    if session.options.os == "windows":
        yield from _twins(files)


def _of_plugins(files: list[Settings]) -> Iterator[Finding]:
    for plugins in (each.plugins for each in files if each.plugins):
        named = plugins[0].text.strip('"')
        more = f" and {len(plugins) - 1} more" if len(plugins) > 1 else ""
        yield Finding(
            "plugins-not-read",
            f"`{named}`{more} may bring agents, skills, hooks and servers, which are not read here",
            Severity.NOTE,
            plugins[0],
            help="read the folder of a plugin by itself, where it was installed",
        )


def _twins(files: list[Settings]) -> Iterator[Finding]:
    denied = [rule for each in files for rule in each.rules if rule.effect is Effect.DENY]
    if any(rule.text.startswith("PowerShell") for rule in denied):
        return
    for rule in denied:
        if rule.text.startswith("Bash("):
            yield _warn(
                "shell-twin-missing",
                f"`{rule.text}` denies a command that PowerShell may run",
                rule.span,
                help=f"deny `PowerShell{rule.text[4:]}` as well",
            )


def _negations(files: list[Settings]) -> Iterator[Finding]:
    for settings in files:
        for number, rule in enumerate(settings.rules):
            _, _, content = rule.text.partition("(")
            if rule.effect is Effect.ALLOW or not content.startswith("!"):
                continue
            before = [
                (other.text, found.opened)
                for other in settings.rules[:number]
                if (found := opened(other, [rule], _ANCHORS)) is not None
            ]
            path = next((p.witness() for _, patterns in before for p in patterns), None)
            if before and path:
                yield Finding(
                    "order-matters",
                    f"`{rule.text}` opens `{path.removeprefix('/@project/')}` only because it"
                    f" stands behind `{before[0][0]}`",
                    Severity.NOTE,
                    rule.span,
                    help="a list that is sorted, or put together from others, shuts it again",
                )
            elif not before:
                yield _warn(
                    "negation-ineffective",
                    f"`{rule.text}` opens nothing: no rule before it shuts what it names",
                    rule.span,
                    help="it speaks of rules of its own list and file that stand before it, and"
                    " that begin with neither `/` nor `~`",
                )


# What a negation opens does not depend on where the folders are.
_ANCHORS: Final = Anchors("/@project", "/@home", "/@project")
