"""Findings about definitions and sessions: where Zeph does something else than files suggest."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from policy.core.effect import Effect
from policy.core.finding import Finding, Severity
from policy.core.source import Edit, Span
from policy.files.frontmatter import HeaderLanguage as Language
from policy.files.text import cite
from policy.hosts.errors import HostError
from policy.hosts.zeph.definition import (
    AllowList,
    Both,
    DenyList,
    HookDef,
    HookMatcher,
    PermissionMode,
    Permissions,
    SubAgentDef,
    ZephProfile,
    frame,
)
from policy.hosts.zeph.names import EDITING, KNOWN, SHELLS, normalize
from policy.hosts.zeph.session import ZephOptions
from policy.hosts.zeph.spawning import (
    AgentsConfig,
    Forward,
    SpawnContext,
    TrustLevel,
    check_globs,
    effective_trust,
    memory_grants,
)
from policy.hosts.zeph.tables import listed_names
from policy.hosts.zeph.writer import as_zeph_saves

__all__ = [
    "COMMAND",
    "STEPS",
    "blocked_fence",
    "condition_holds",
    "definition_findings",
    "entry_findings",
    "find",
    "fires",
    "hook_findings",
    "matches",
    "rewritten",
    "session_findings",
]


def find(
    code: str,
    message: str,
    span: Span | None,
    help: str = "",
    severity: Severity = Severity.WARNING,
    *,
    edits: tuple[Edit, ...] = (),
) -> Finding:
    """Return a finding; most are warnings."""
    return Finding(code, message, severity, span, help=help, edits=edits)


def rewritten(span: Span | None, word: str) -> tuple[Edit, ...]:
    """Return the edit that replaces a value by *word* and keeps its quotes."""
    if span is None or not _WORD.fullmatch(word) or "\n" in span.text or "#" in span.text:
        return ()
    quote = span.text[:1] if span.text[:1] in ("'", '"') else ""
    return (Edit(span, f"{quote}{word}{quote}"),)


# A word that needs no quotes in YAML.
_WORD: Final = re.compile(r"(?!(?:true|false|null)\Z)[a-z][a-z0-9_]*")


def entry_findings(
    name: str, effect: Effect, span: Span | None, options: ZephOptions
) -> Iterator[Finding]:
    """Yield the findings about one name in a list of tools."""
    tool, allows = normalize(name), effect is Effect.ALLOW
    if tool == "task":
        yield find(
            "spawn-rule-ignored",
            f"{cite(name)} is a tool called `task`; Zeph lets every agent start every other",
            span,
        )
    elif "*" in tool:
        if tool == "*" and options.profile is ZephProfile.ISSUE_970:
            return
        does = "grants nothing" if allows else "denies nothing"
        yield find(
            "dead-star", f"{cite(name)} {does}: a star in a list of tools is not a wildcard", span,
            "list the tools by their ids", Severity.ERROR,
        )  # fmt: skip
    elif "(" in name and tool:
        yield _cut(name, tool, span, allows=allows)
    elif not tool:
        yield find("dead-entry", f"{cite(name)} is not the id of a tool", span)
    else:
        servers = {*options.session.servers, *options.context.mcp_tool_names}
        yield from _unknown(name, tool, span, allows=allows, servers=servers)


def _cut(name: str, tool: str, span: Span | None, *, allows: bool) -> Finding:
    if allows:
        return find(
            "argument-widened",
            f"{cite(name)} grants all of `{tool}`: a name ends before its first parenthesis",
            span,
            "leave the tool out, or restrict its calls with rules of the session",
            Severity.ERROR,
        )
    return find(
        "argument-cut",
        f"{cite(name)} denies all of `{tool}`: a name ends before its first parenthesis",
        span,
        f"write `{tool}` if that is meant",
        edits=rewritten(span, tool),
    )


def _unknown(
    name: str, tool: str, span: Span | None, *, allows: bool, servers: Collection[str]
) -> Iterator[Finding]:
    if tool in KNOWN or tool in map(normalize, servers):
        return
    does = "grants no tool" if allows else "denies no tool"
    if tool in SHELLS:
        yield find(
            "alias-not-known", f"{cite(name)} {does}: the id of the shell is `bash`", span,
            "write `bash`", Severity.ERROR,
        )  # fmt: skip
    elif ":" in tool:
        yield find(
            "namespace-not-known", f"{cite(name)} {does}: ids have no namespace here", span,
            f"write `{tool.rpartition(':')[2]}`", Severity.ERROR,
        )  # fmt: skip
    elif tool.startswith("mcp__"):
        if tool.count("__") < 2:
            yield find(
                "server-without-tool", f"{cite(name)} {does}: a server is no tool", span,
                f"list its tools, as `{tool}__tool`", Severity.ERROR,
            )  # fmt: skip
        elif servers:
            near = difflib.get_close_matches(tool, sorted(servers), 1, 0.7)
            yield find(
                "unknown-server-tool", f"{cite(name)} is not the id of a tool that the"
                " servers of the session offer", span, f"did you mean `{near[0]}`?" if near else "",
            )  # fmt: skip
    else:
        near = difflib.get_close_matches(tool.replace("-", "_"), sorted(KNOWN), 1, 0.85)
        near = [one for one in sorted(servers) if one.endswith(f"__{tool}")] or near
        yield find(
            "unknown-tool", f"{cite(name)} is not the id of a tool that Zeph ships", span,
            f"did you mean `{near[0]}`?" if near else
            "tools of servers are listed by their whole id, as `mcp__server__tool`",
            Severity.WARNING if near else Severity.NOTE,
        )  # fmt: skip


# --- hooks: they are read and matched, and never run ----------------------------------
#
# Zeph runs a hook before it checks the lists of the agent, so also for calls that those deny. A
# failure of a hook blocks nothing, also with ``fail_closed``.


# The steps of a call of an agent, in order.
STEPS: Final = (
    "tool grant check",
    "PreToolUse hooks",
    "FilteredToolExecutor",
    "PostToolUse hooks",
    "secret masking",
)


def matches(matcher: str, tool: str) -> bool:
    """Return whether one of the names between ``|`` is part of *tool*, in exact case.

    ``*`` is not a wildcard.
    """
    return any(token in tool for token in matcher.split("|") if token)


def condition_holds(condition: str | None, tool: str) -> bool:
    """Return whether ``if`` holds: only ``tool:name`` can hold."""
    if condition is None:
        return True
    kind, colon, text = condition.partition(":")
    return kind == "tool" and bool(colon) and bool(text) and text in tool


def fires(matcher: HookMatcher, hook: HookDef, tool: str) -> bool:
    """Return whether *hook* runs for calls of *tool*."""
    return matches(matcher.matcher, tool) and condition_holds(hook.condition, tool)


def hook_findings(
    definition: SubAgentDef, options: ZephOptions, scope: str | None
) -> Iterator[Finding]:
    """Yield the findings about the hooks of one definition."""
    for path, span in definition.ignored:
        if path.startswith("hooks."):
            yield find(
                "hooks-key-ignored", f"Zeph ignores `{path}`, so these hooks never run", span,
                "write `PreToolUse` or `PostToolUse`", Severity.ERROR,
            )  # fmt: skip
    if len(definition.hooks) and scope in ("extra", "unknown"):
        yield find(
            "hooks-kept", f"the hooks of `{definition.name}` run, though its file is neither of the"
            " project nor of the command line", definition.span("hooks"),
        )  # fmt: skip
    events = {
        "PreToolUse": definition.hooks.pre_tool_use,
        "PostToolUse": definition.hooks.post_tool_use,
    }
    tools = {*KNOWN, *options.session.servers}
    for event, matchers in events.items():
        for index, matcher in enumerate(matchers):
            yield from _matcher(definition, matcher, f"hooks.{event}[{index}]", tools)


def _matcher(
    definition: SubAgentDef, matcher: HookMatcher, path: str, tools: Iterable[str]
) -> Iterator[Finding]:
    span = definition.span(f"{path}.matcher")
    tokens = [token for token in matcher.matcher.split("|") if token]
    dead = [
        token for token in tokens
        if not any(matches(token, tool) for tool in tools) and not token.startswith("mcp")
    ]  # fmt: skip
    if not tokens:
        yield find(
            "hook-never-fires", "an empty matcher matches no tool", span,
            "name the tools, as `bash|write`", Severity.ERROR,
        )  # fmt: skip
    elif dead:
        lower = [token.lower() for token in dead]
        known = all(any(matches(token, tool) for tool in tools) for token in lower)
        yield find(
            "hook-never-fires", f"{cite('|'.join(dead))} matches no tool: case counts, and there"
            " is no wildcard", span,
            f"write `{'|'.join(lower)}`" if known else "", Severity.ERROR,
        )  # fmt: skip
    for index, hook in enumerate(matcher.hooks):
        if hook.fail_closed:
            yield find(
                "hook-cannot-block", "`fail_closed` blocks nothing: the call goes on when the hook"
                " fails", definition.span(f"{path}.hooks[{index}].fail_closed"),
                "deny the tool in a list", Severity.ERROR,
            )  # fmt: skip
        condition = hook.condition
        if condition is not None and not any(condition_holds(condition, tool) for tool in tools):
            yield find(
                "hook-never-fires", f"{cite(condition)} holds for no tool",
                definition.span(f"{path}.hooks[{index}].if"), "write `tool:name`, as `tool:bash`",
                Severity.ERROR,
            )  # fmt: skip
    meant = [tool for tool in sorted(tools) if matches(matcher.matcher, tool)]
    if meant and "PreToolUse" in path and all(_is_denied(definition, tool) for tool in meant):
        yield find(
            "hook-runs-for-denied-calls", f"{cite(matcher.matcher)} runs before the lists are"
            " checked and only for calls that they deny", span,
            severity=Severity.NOTE,
        )  # fmt: skip


def _is_denied(definition: SubAgentDef, tool: str) -> bool:
    for _, names, effect in listed_names(definition):
        is_listed = tool in map(normalize, names)
        if is_listed if effect is Effect.DENY else not is_listed:
            return True
    return False


# --- definitions ----------------------------------------------------------------------


def definition_findings(
    definition: SubAgentDef, options: ZephOptions, scope: str | None
) -> Iterator[Finding]:
    """Yield the findings about one definition."""
    for key, names, effect in listed_names(definition):
        for index, name in enumerate(names):
            span = definition.span(f"tools.{key}[{index}]")
            yield from entry_findings(name, effect, span, options)
    yield from _lists(definition, options)
    yield from _memory(definition, options.config)
    yield from _mode(definition, options.config, scope)
    yield from _skills(definition)
    yield from hook_findings(definition, options, scope)
    yield from _saving(definition)
    yield from _resuming(definition, options.config)
    yield from _language(definition)


def _lists(definition: SubAgentDef, options: ZephOptions) -> Iterator[Finding]:
    tools, name = definition.tools, definition.name
    if tools == AllowList():
        yield find(
            "empty-allow", f"`{name}` has no tool at all: its list of them is there, and empty",
            definition.span("tools.allow"), "leave `allow` out for every tool",
        )  # fmt: skip
    if isinstance(tools, Both) and not tools.allow:
        span = definition.span("tools.allow")
        if span is not None:
            yield find(
                "empty-allow-grants-all",
                f"`{name}` has every tool that is not denied: an empty list means every"
                " tool here, and no tool in Zeph as shipped",
                span,
            )
    lost = _not_handed_down(definition, options.forwarding)
    if lost:
        yield find(
            "not-handed-down", f"agents that `{name}` starts are not bound by {lost}",
            definition.span("tools"), "repeat the lists in every agent", Severity.NOTE,
        )  # fmt: skip
    if definition.permissions.permission_mode is PermissionMode.PLAN:
        yield find(
            "plan-starts-agents", f"`{name}` only plans, but the agents it starts execute",
            definition.span("permissions.permission_mode"), severity=Severity.NOTE,
        )  # fmt: skip
    if definition.permissions.background:
        yield find(
            "background-outlives", f"`{name}` goes on when its parent is stopped",
            definition.span("permissions.background"), severity=Severity.NOTE,
        )  # fmt: skip


def _not_handed_down(definition: SubAgentDef, forward: Forward) -> str:
    """Return the rules that do not bind the agents that this one starts, or ""."""
    listed = [effect for _, names, effect in listed_names(definition) if names]
    if forward is Forward.EFFECTIVE:
        denies = Effect.DENY in listed
        return "its deny lists: only allow lists are handed on" if denies else ""
    if not listed and not isinstance(definition.tools, AllowList):
        return ""
    if forward is Forward.RECEIVED:
        return "its lists: only the inherited list is handed on"
    return "its lists: the parent must copy them, and Zeph does not"


def _memory(definition: SubAgentDef, config: AgentsConfig) -> Iterator[Finding]:
    scope = definition.memory or config.default_memory_scope
    if scope is None:
        return
    disallowed = (*definition.disallowed_tools, *config.default_disallowed_tools)
    added = memory_grants(definition.tools, disallowed)
    span = definition.span("memory", "name")
    if added is None:
        yield find(
            "memory-switched-off",
            f"`{definition.name}` has no memory: read, write and edit are denied to it", span,
        )  # fmt: skip
        return
    denied = set(map(normalize, disallowed))
    given = [name for name in added if name not in denied]
    if isinstance(definition.tools, DenyList):
        # With an inherited list its deny list becomes an allow list, to which memory adds tools.
        given = [name for name in EDITING if name in set(map(normalize, definition.tools.tools))]
    if given:
        listed = ", ".join(f"`{name}`" for name in given)
        yield find(
            "memory-widens-tools",
            f"its memory gives `{definition.name}` {listed}, beyond its list and the list"
            " that it inherits",
            span,
            "deny them with `tools.except`",
            Severity.ERROR,
        )


# Modes without an effect on an agent; the configuration may replace `default`.
_LIKE_DEFAULT: Final = (
    PermissionMode.DEFAULT,
    PermissionMode.ACCEPT_EDITS,
    PermissionMode.DONT_ASK,
)


def _mode(definition: SubAgentDef, config: AgentsConfig, scope: str | None) -> Iterator[Finding]:
    mode = definition.permissions.permission_mode
    span, name = definition.span("permissions.permission_mode"), definition.name
    if mode is PermissionMode.BYPASS_PERMISSIONS:
        if not config.allow_bypass_permissions:
            yield find(
                "bypass-refused", f"Zeph refuses to start `{name}`, which asks for"
                " `bypass_permissions`", span, "leave the mode out", Severity.ERROR,
            )  # fmt: skip
        else:
            yield find(
                "bypass-without-effect", f"`bypass_permissions` lifts no list of `{name}`", span,
                severity=Severity.NOTE,
            )  # fmt: skip
    elif mode in _LIKE_DEFAULT[1:] and config.default_permission_mode in (None, *_LIKE_DEFAULT):
        yield find(
            "mode-without-effect", f"`{mode.value}` has no effect on an agent", span,
            "leave the mode out", Severity.NOTE,
            edits=rewritten(span, PermissionMode.DEFAULT.value),
        )  # fmt: skip
    default = config.default_permission_mode
    if mode is PermissionMode.DEFAULT and default not in (None, mode):
        written = definition.spans.get("permissions.permission_mode")
        if written is not None and default is not None:
            yield find(
                "default-mode-replaced", f"the mode of `{name}` is `{default.value}`, that of the"
                " configuration, which replaces `default`", written,
                f"write `{default.value}`", edits=rewritten(written, default.value),
            )  # fmt: skip
    if scope == "user" and mode is not PermissionMode.DEFAULT:
        yield find(
            "mode-of-user-definition",
            f"`{name}` is a definition of a user, whose mode should be `default`; only one entry"
            " point of Zeph refuses it",
            span,
        )


# --- skills, files --------------------------------------------------------------------


def _skills(definition: SubAgentDef) -> Iterator[Finding]:
    for path, span in definition.ignored:
        if path.startswith("skills."):
            yield find(
                "skills-key-ignored", f"Zeph ignores `{path}`, so `{definition.name}` sees every"
                " skill that the other keys allow", span, "write `include` or `exclude`",
                Severity.ERROR,
            )  # fmt: skip
    try:
        check_globs(definition.skills, definition)
    except HostError as error:
        yield find(
            "skill-glob-refused", f"Zeph refuses to start `{definition.name}`: {error.message}",
            error.span, error.help, Severity.ERROR,
        )  # fmt: skip
    for key, globs in _globs(definition):
        for index, glob in enumerate(globs):
            if "**" not in glob and _LITERAL.search(glob):
                yield find(
                    "skill-glob-literal", f"in {cite(glob)} only the first `*` is a wildcard",
                    definition.span(f"skills.{key}[{index}]"),
                )  # fmt: skip


# Characters that look like wildcards and are not.
_LITERAL: Final = re.compile(r"\*.*\*|[?\[]")


def _globs(definition: SubAgentDef) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ("include", definition.skills.include), ("exclude", definition.skills.exclude)


def _saving(definition: SubAgentDef) -> Iterator[Finding]:
    saved = as_zeph_saves(definition).permissions
    if saved == definition.permissions:
        return
    if saved.worktree != definition.permissions.worktree:
        yield find(
            "worktree-lost-on-save", f"when Zeph saves `{definition.name}` it drops `worktree`, and"
            " with it the denial of `set_working_directory`",
            definition.span("permissions.worktree"), "set another permission as well",
        )  # fmt: skip
    if definition.permissions.max_history_messages != Permissions().max_history_messages:
        yield find(
            "history-lost-on-save", f"when Zeph saves `{definition.name}` it drops"
            " `max_history_messages`", definition.span("permissions.max_history_messages"),
            severity=Severity.NOTE,
        )  # fmt: skip


def _resuming(definition: SubAgentDef, config: AgentsConfig) -> Iterator[Finding]:
    lost = []
    disallowed = (*definition.disallowed_tools, *config.default_disallowed_tools)
    is_kept = definition.memory or config.default_memory_scope
    if is_kept and memory_grants(definition.tools, disallowed):
        lost.append("the tools of its memory")
    if definition.permissions.worktree:
        lost.append("a worktree, nor the denial of `set_working_directory`")
    if lost:
        yield find(
            "resume-differs", f"when `{definition.name}` resumes, it has no"
            f" {' and no '.join(lost)}", definition.span("memory", "permissions.worktree", "name"),
            severity=Severity.NOTE,
        )  # fmt: skip


def _language(definition: SubAgentDef) -> Iterator[Finding]:
    text = definition.text
    if text is not None and frame(text).language is Language.TOML:
        yield find(
            "deprecated-toml", f"the header of `{definition.name}` is TOML, which Zeph 1.0 will not"
            " read", text.span(0, 3), "write it in YAML, between `---`",
        )  # fmt: skip


# --- sessions -------------------------------------------------------------------------


def session_findings(options: ZephOptions) -> Iterator[Finding]:
    """Yield the findings about the gates of a session, and about the context that it hands on."""
    session = options.session
    if session.policy is not None:
        yield from session.policy.findings()
    if session.rules is not None:
        yield from session.rules.findings()
    if session.scope is not None:
        yield from session.scope.findings
    yield from _gates(options)
    yield from _handed_down(options.context, options.forwarding)


def _note(code: str, message: str, severity: Severity = Severity.NOTE) -> Finding:
    return Finding(code, message, severity, file="<session>")


def _gates(options: ZephOptions) -> Iterator[Finding]:
    session, context = options.session, options.context
    cap = context.max_trust_level
    trust = effective_trust(session.trust or TrustLevel.TRUSTED, cap)
    if trust is TrustLevel.QUARANTINED:
        yield _note(
            "quarantine-leaves-web-search",
            "quarantine denies `fetch` and `web_scrape`, and leaves `web_search` callable",
            Severity.WARNING,
        )
    if cap is not None and cap < (session.trust or TrustLevel.TRUSTED):
        yield _note(
            "trust-cap-shared",
            f"the cap `{cap.value}` is set on a gate that all agents share, so it binds the"
            " parent of the agent too, and the next cap replaces it",
        )
    if context.network_denied and (session.servers or context.session_mcp_servers):
        yield _note(
            "network-denial-misses-servers",
            "without network, tools of servers can still be called",
            Severity.WARNING,
        )


def _handed_down(context: SpawnContext, forward: Forward) -> Iterator[Finding]:
    for server in context.session_mcp_servers:
        tools = [name for name in context.mcp_tool_names if name.startswith(f"mcp__{server}__")]
        offered = ", ".join(f"`{name}`" for name in tools) or "none that is known here"
        message = f"the server `{server}` offers tools to agents: {offered}"
        yield _note("server-offers-tools", message)
    if context.identity:
        yield _note("told-to-obey", f"prompts of agents name the orchestrator `{context.identity}`")
    below = context.then(SpawnContext(), allowlist=None, forward=forward)
    yield from context.weakened(below)


# --- calls that an agent writes as a fenced block: refused, since no list applies to them


# The name of the tool in the refusal.
COMMAND: Final = "fenced-block"


def blocked_fence(text: str, tags: Iterable[str]) -> str | None:
    """Return the first of *tags* that a closed fence in *text* has, or None.

    A fence may start and end anywhere, also within a line. A confirmation makes no difference.
    """
    return next((tag for tag in tags if _closed(tag).search(text)), None)


def _closed(tag: str) -> re.Pattern[str]:
    # `bashrc` and `bash-x` are other tags.
    return re.compile(rf"```{re.escape(tag)}(?![\w-]).*?```", re.DOTALL)
