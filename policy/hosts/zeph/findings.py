"""Findings about definitions and sessions that do not do what they seem to."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Final

from policy.core import expressions as re
from policy.core.effect import Effect
from policy.core.finding import Finding
from policy.core.source import Span
from policy.files.text import cite
from policy.hosts.fields import HostError
from policy.hosts.zeph.definition import (
    EDITING,
    KNOWN,
    SESSION,
    SHELLS,
    TOOLS,
    HookMatcher,
    PermissionMode,
    SubAgentDef,
    ToolPolicy,
    ZephProfile,
    find,
    is_toml,
    normalize,
)
from policy.hosts.zeph.spawning import Forward, ZephOptions, check_globs, memory_grants

# The steps of a call, in order: hooks run before lists deny it.
STEPS: Final[list[str]] = TOOLS["steps"]


def entry_findings(
    name: str, effect: Effect, span: Span | None, options: ZephOptions
) -> Iterator[Finding]:
    """Yield the findings about one name in a list of tools."""
    tool, allows, shown = normalize(name), effect is Effect.ALLOW, cite(name)
    does = "grants" if allows else "denies"
    servers = {*options.session.servers, *options.context.mcp_tool_names}
    of_server = tool.startswith("mcp__") and tool.count("__") > 1
    known = tool in KNOWN or tool in map(normalize, servers) or (of_server and not servers)
    if tool == "task":
        yield find("spawn-rule-ignored", span, name=shown)
    elif "*" in tool:
        if tool != "*" or options.profile is not ZephProfile.ISSUE_970:
            yield find("dead-star", span, name=shown, does=does)
    elif "(" in name and tool and allows:
        yield find("argument-widened", span, name=shown, tool=tool)
    elif "(" in name and tool:
        yield find("argument-cut", span, name=shown, tool=tool)
    elif not tool:
        yield find("dead-entry", span, name=shown)
    elif tool in SHELLS and not known:
        yield find("alias-not-known", span, name=shown, does=does)
    elif not known:
        names = sorted({*KNOWN, *servers})
        near = difflib.get_close_matches(tool.replace("-", "_"), names, 1, 0.85)
        near = [one for one in sorted(servers) if one.endswith(f"__{tool}")] or near
        # Ids have no namespace.
        near = [tool.rpartition(":")[2]] if ":" in tool else near
        case = "near" if near else "other"
        yield find("unknown-tool", span, case=case, name=shown, near="".join(near))


# No hook is run here. In Zeph a failing hook blocks no call, even with ``fail_closed``.
def matches(matcher: str, tool: str) -> bool:
    """Return whether *tool* contains one of the texts between ``|``, in exact case."""
    return any(token in tool for token in matcher.split("|") if token)


def condition_holds(condition: str | None, tool: str) -> bool:
    """Return whether ``if`` of a hook holds; only ``tool:name`` can."""
    if condition is None:
        return True
    kind, _, text = condition.partition(":")
    return kind == "tool" and bool(text) and text in tool


def _matcher_findings(
    definition: SubAgentDef, matcher: HookMatcher, path: str, tools: Iterable[str]
) -> Iterator[Finding]:
    """Yield the findings about the matcher at *path*, and about its hooks."""
    span = definition.span(f"{path}.matcher")
    tokens = [token for token in matcher.matcher.split("|") if token]
    dead = [t for t in tokens if not t.startswith("mcp") and not any(t in tool for tool in tools)]
    if not tokens:
        yield find("hook-never-fires", span, case="empty")
    elif dead:
        lower = [token.lower() for token in dead]
        known = all(any(token in tool for tool in tools) for token in lower)
        shown, help_ = cite("|".join(dead)), f"write `{'|'.join(lower)}`" if known else ""
        yield find("hook-never-fires", span, case="matcher", matcher=shown, help=help_)
    for index, hook in enumerate(matcher.hooks):
        at = f"{path}.hooks[{index}]"
        if hook.fail_closed:
            yield find("hook-cannot-block", definition.span(f"{at}.fail_closed"))
        condition = hook.condition
        if condition is not None and not any(condition_holds(condition, tool) for tool in tools):
            where = definition.span(f"{at}.if")
            yield find("hook-never-fires", where, case="condition", condition=cite(condition))


def definition_findings(
    definition: SubAgentDef, options: ZephOptions, scope: str | None
) -> Iterator[Finding]:
    """Yield the findings about one definition."""
    tools, agent, config, span = definition.tools, definition.name, options.config, definition.span
    for name, effect, at in definition.named_tools:
        yield from entry_findings(name, effect, at, options)
    listed = span("tools.allow")
    if tools == ToolPolicy(allow=()):
        yield find("empty-allow", listed, agent=agent)
    if tools.is_both and not tools.allow and listed is not None:
        yield find("empty-allow-grants-all", listed, agent=agent)
    if lost := _not_handed_down(definition, options.forwarding):
        yield find("not-handed-down", span("tools"), agent=agent, lost=lost)
    yield from _memory(definition, options)
    mode, at = definition.permissions.permission_mode, span("permissions.permission_mode")
    if mode is PermissionMode.PLAN:
        yield find("plan-starts-agents", at, agent=agent)
    if mode is PermissionMode.BYPASS_PERMISSIONS and not config.allow_bypass_permissions:
        yield find("bypass-refused", at, agent=agent)
    if scope == "user" and mode is not PermissionMode.DEFAULT:
        yield find("mode-of-user-definition", at, agent=agent)
    try:
        check_globs(definition.skills, definition)
    except HostError as error:
        why, help_ = error.message, error.help
        yield find("skill-glob-refused", error.span, agent=agent, why=why, help=help_)
    known = {*KNOWN, *options.session.servers}
    for event, matchers in definition.hooks.items():
        for index, matcher in enumerate(matchers):
            yield from _matcher_findings(definition, matcher, f"hooks.{event}[{index}]", known)
    yield from definition.unapplied
    text = definition.text
    if text is not None and is_toml(text):
        yield find("deprecated-toml", text.span(0, 3), agent=agent)


def _not_handed_down(definition: SubAgentDef, forward: Forward) -> str:
    """Return, in words, the lists that do not bound agents that this one starts, or ""."""
    listed = [effect for _, names, effect in definition.lists if names]
    if forward is Forward.EFFECTIVE:
        denies = Effect.DENY in listed
        return "its deny lists: only allow lists are handed on" if denies else ""
    if not listed and not definition.tools.restricts:
        return ""
    if forward is Forward.RECEIVED:
        return "its lists: only the inherited list is handed on"
    return "its lists: the parent must copy them, and Zeph does not"


def _memory(definition: SubAgentDef, options: ZephOptions) -> Iterator[Finding]:
    if options.config.memory(definition) is None:
        return
    disallowed = options.config.disallowed(definition)
    added = memory_grants(definition.tools, disallowed)
    span = definition.span("memory", "name")
    if added is None:
        yield find("memory-switched-off", span, agent=definition.name)
        return
    given = set(added) - set(map(normalize, disallowed))
    if definition.tools.allow is None and definition.tools.deny is not None:
        # With an inherited list its deny list becomes an allow list, to which memory adds tools.
        given = set(map(normalize, definition.tools.deny))
    if given & set(EDITING):
        tools = ", ".join(f"`{name}`" for name in EDITING if name in given)
        yield find("memory-widens-tools", span, agent=definition.name, tools=tools)


def session_findings(options: ZephOptions) -> Iterator[Finding]:
    """Yield the findings about the gates of a session, and about the context that it hands on."""
    session, context = options.session, options.context
    for gate in (session.policy, session.rules):
        yield from gate.findings() if gate is not None else ()
    if session.scope is not None:
        yield from session.scope.findings
    for server in context.session_mcp_servers:
        start = f"mcp__{server}__"
        tools = ", ".join(f"`{name}`" for name in context.mcp_tool_names if name.startswith(start))
        offered = tools or "none that is known here"
        yield find("server-offers-tools", file=SESSION, server=server, tools=offered)
    if context.identity:
        yield find("told-to-obey", file=SESSION, name=context.identity)
    yield from context.weakened(context.then(allowlist=None, forward=options.forwarding))


# No list applies to a call that an agent writes as a fenced block; it is refused by this name.
COMMAND: Final = "fenced-block"


def blocked_fence(text: str, tags: Iterable[str]) -> str | None:
    """Return the first of *tags* on a closed fence in *text*, or None."""
    # `bashrc` and `bash-x` are other tags than `bash`.
    closed = r"```{}(?![\w-]).*?```"
    return next(
        (tag for tag in tags if re.search(closed.format(re.escape(tag)), text, re.DOTALL)), None
    )
