"""What a definition says and Zeph does not do, or does and nobody said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from policy.documents.frontmatter import Kind as Language
from policy.documents.text import cite
from policy.finding import Finding, Severity
from policy.hosts.zeph.context import AgentsConfig
from policy.hosts.zeph.definition import (
    AllowList,
    Both,
    DenyList,
    HookMatcher,
    PermissionMode,
    Permissions,
    SubAgentDef,
)
from policy.hosts.zeph.entry_findings import entry_findings
from policy.hosts.zeph.errors import ZephError
from policy.hosts.zeph.framing import frame
from policy.hosts.zeph.hooks import matches
from policy.hosts.zeph.names import EDITING, KNOWN, normalize
from policy.hosts.zeph.options import Options
from policy.hosts.zeph.skills import check_globs
from policy.hosts.zeph.spawn import memory_grants
from policy.hosts.zeph.tables import listed_names
from policy.hosts.zeph.writing import as_zeph_saves
from policy.source import Span

__all__ = ["definition_findings"]


def definition_findings(
    definition: SubAgentDef, options: Options, scope: str | None
) -> Iterator[Finding]:
    """Yield what is the matter with one definition that was loaded."""
    for key, names, effect in listed_names(definition):
        for index, name in enumerate(names):
            span = definition.span(f"tools.{key}[{index}]")
            yield from entry_findings(name, effect, span, options)
    yield from _lists(definition, options)
    yield from _memory(definition, options.config)
    yield from _mode(definition, options.config, scope)
    yield from _skills(definition)
    yield from _hooks(definition, options, scope)
    yield from _saving(definition)
    yield from _language(definition)


def _find(
    code: str,
    message: str,
    span: Span | None,
    help: str = "",
    severity: Severity = Severity.WARNING,
) -> Finding:
    return Finding(code, message, severity, span, help=help)


def _lists(definition: SubAgentDef, options: Options) -> Iterator[Finding]:
    tools, name = definition.tools, definition.name
    if tools == AllowList():
        yield _find(
            "empty-allow", f"`{name}` has no tool at all: its list of them is there, and empty",
            definition.span("tools.allow"), "leave `allow` out for every tool",
        )  # fmt: skip
    if isinstance(tools, Both) and not tools.allow:
        span = definition.span("tools.allow")
        if span is not None:
            yield _find(
                "empty-allow-grants-all",
                f"`{name}` has every tool that is not denied: an empty list is none here, and the"
                " opposite in Zeph as shipped",
                span,
            )
    lists = (names for _, names, _ in listed_names(definition))
    narrowed = isinstance(tools, AllowList) or any(lists)
    if narrowed and options.forwarding.value == "none":
        yield _find(
            "not-handed-down", f"what `{name}` starts is not bound by its lists: whoever starts an"
            " agent must copy them, and nobody does",
            definition.span("tools"), "repeat the lists in every agent", Severity.NOTE,
        )  # fmt: skip
    if definition.permissions.permission_mode is PermissionMode.PLAN:
        yield _find(
            "plan-starts-agents", f"`{name}` only plans, but the agents it starts execute",
            definition.span("permissions.permission_mode"), severity=Severity.NOTE,
        )  # fmt: skip
    if definition.permissions.background:
        yield _find(
            "background-outlives", f"`{name}` goes on when whoever started it is stopped",
            definition.span("permissions.background"), severity=Severity.NOTE,
        )  # fmt: skip


def _memory(definition: SubAgentDef, config: AgentsConfig) -> Iterator[Finding]:
    scope = definition.memory or config.default_memory_scope
    if scope is None:
        return
    disallowed = (*definition.disallowed_tools, *config.default_disallowed_tools)
    added = memory_grants(definition.tools, disallowed)
    span = definition.span("memory", "name")
    if added is None:
        yield _find(
            "memory-switched-off",
            f"`{definition.name}` has no memory: read, write and edit are denied to it", span,
        )  # fmt: skip
        return
    denied = set(map(normalize, disallowed))
    given = [name for name in added if name not in denied]
    if isinstance(definition.tools, DenyList):
        # Handed a list, it has an allow list of its own, to which all is added.
        given = [name for name in EDITING if name in set(map(normalize, definition.tools.tools))]
    if given:
        listed = ", ".join(f"`{name}`" for name in given)
        yield _find(
            "memory-widens-tools",
            f"its memory gives `{definition.name}` {listed}, beyond its list and whatever is handed"
            " down to it",
            span,
            "deny them with `tools.except`",
            Severity.ERROR,
        )


def _mode(definition: SubAgentDef, config: AgentsConfig, scope: str | None) -> Iterator[Finding]:
    mode = definition.permissions.permission_mode
    span, name = definition.span("permissions.permission_mode"), definition.name
    if mode is PermissionMode.BYPASS_PERMISSIONS:
        if not config.allow_bypass_permissions:
            yield _find(
                "bypass-refused", f"Zeph refuses to start `{name}`, which asks for"
                " `bypass_permissions`", span, "leave the mode out", Severity.ERROR,
            )  # fmt: skip
        else:
            yield _find(
                "bypass-without-effect", f"`bypass_permissions` lifts no list of `{name}`", span,
                severity=Severity.NOTE,
            )  # fmt: skip
    elif mode in (PermissionMode.ACCEPT_EDITS, PermissionMode.DONT_ASK):
        yield _find(
            "mode-without-effect", f"`{mode.value}` changes nothing for an agent", span,
            severity=Severity.NOTE,
        )  # fmt: skip
    if scope == "user" and mode is not PermissionMode.DEFAULT:
        yield _find(
            "mode-of-user-definition",
            f"`{name}` is a user's definition, whose mode should be `default`; only one of the ways"
            " in that Zeph has refuses it",
            span,
        )


# --- skills, hooks, files ------------------------------------------------------------


def _skills(definition: SubAgentDef) -> Iterator[Finding]:
    for path, span in definition.ignored:
        if path.startswith("skills."):
            yield _find(
                "skills-key-ignored", f"`{path}` means nothing, so `{definition.name}` sees every"
                " skill that the other keys leave", span, "write `include` or `exclude`",
                Severity.ERROR,
            )  # fmt: skip
    try:
        check_globs(definition.skills, definition)
    except ZephError as error:
        yield _find(
            "skill-glob-refused", f"Zeph refuses to start `{definition.name}`: {error.message}",
            error.span, error.help, Severity.ERROR,
        )  # fmt: skip
    for key, globs in _globs(definition):
        for index, glob in enumerate(globs):
            if "**" not in glob and _LITERAL.search(glob):
                yield _find(
                    "skill-glob-literal", f"in {cite(glob)} only the first `*` is a wildcard",
                    definition.span(f"skills.{key}[{index}]"),
                )  # fmt: skip


# What looks like a wildcard and is a letter.
_LITERAL: Final = re.compile(r"\*.*\*|[?\[]")


def _globs(definition: SubAgentDef) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ("include", definition.skills.include), ("exclude", definition.skills.exclude)


def _hooks(definition: SubAgentDef, options: Options, scope: str | None) -> Iterator[Finding]:
    for path, span in definition.ignored:
        if path.startswith("hooks."):
            yield _find(
                "hooks-key-ignored", f"`{path}` means nothing, so these hooks never run", span,
                "write `PreToolUse` or `PostToolUse`", Severity.ERROR,
            )  # fmt: skip
    if len(definition.hooks) and scope in ("extra", "unknown"):
        yield _find(
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
    dead = [
        token for token in matcher.matcher.split("|")
        if not any(matches(token, tool) for tool in tools) and not token.startswith("mcp")
    ]  # fmt: skip
    if dead:
        lower = [token.lower() for token in dead]
        known = all(any(matches(token, tool) for tool in tools) for token in lower)
        yield _find(
            "hook-never-fires", f"{cite('|'.join(dead))} is part of the id of no tool: case counts,"
            " and there is no wildcard", span,
            f"write `{'|'.join(lower)}`" if known else "", Severity.ERROR,
        )  # fmt: skip
    for index, hook in enumerate(matcher.hooks):
        if hook.fail_closed:
            yield _find(
                "hook-cannot-block", "`fail_closed` blocks nothing: the call goes on when the hook"
                " fails", definition.span(f"{path}.hooks[{index}].fail_closed"),
                "deny the tool in a list", Severity.ERROR,
            )  # fmt: skip
        condition = hook.condition
        if condition is not None and not condition.startswith("tool:"):
            yield _find(
                "hook-never-fires", f"{cite(condition)} is no condition of Zeph, so it never"
                " holds", definition.span(f"{path}.hooks[{index}].if"), "write `tool:name`",
                Severity.ERROR,
            )  # fmt: skip


def _saving(definition: SubAgentDef) -> Iterator[Finding]:
    saved = as_zeph_saves(definition).permissions
    if saved == definition.permissions:
        return
    if saved.worktree != definition.permissions.worktree:
        yield _find(
            "worktree-lost-on-save", f"when Zeph saves `{definition.name}` it drops `worktree`, and"
            " with it the denial of `set_working_directory`",
            definition.span("permissions.worktree"), "set another permission as well",
        )  # fmt: skip
    if definition.permissions.max_history_messages != Permissions().max_history_messages:
        yield _find(
            "history-lost-on-save", f"when Zeph saves `{definition.name}` it drops"
            " `max_history_messages`", definition.span("permissions.max_history_messages"),
            severity=Severity.NOTE,
        )  # fmt: skip


def _language(definition: SubAgentDef) -> Iterator[Finding]:
    text = definition.text
    if text is not None and frame(text).language is Language.TOML:
        yield _find(
            "deprecated-toml", f"the header of `{definition.name}` is TOML, which Zeph 1.0 will not"
            " read", text.span(0, 3), "write it in YAML, between `---`",
        )  # fmt: skip
