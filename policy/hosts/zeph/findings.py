"""What a definition says and Zeph does not do, or does and nobody said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from policy.documents.frontmatter import Kind as Language
from policy.documents.text import cite
from policy.effect import Effect
from policy.finding import Finding, Severity
from policy.hosts.zeph.context import AgentsConfig, Forward
from policy.hosts.zeph.definition import (
    AllowList,
    Both,
    DenyList,
    PermissionMode,
    Permissions,
    SubAgentDef,
)
from policy.hosts.zeph.entry_findings import entry_findings, find, rewritten
from policy.hosts.zeph.errors import ZephError
from policy.hosts.zeph.framing import frame
from policy.hosts.zeph.hook_findings import hook_findings
from policy.hosts.zeph.names import EDITING, normalize
from policy.hosts.zeph.options import Options
from policy.hosts.zeph.skills import check_globs
from policy.hosts.zeph.spawn import memory_grants
from policy.hosts.zeph.tables import listed_names
from policy.hosts.zeph.writing import as_zeph_saves

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
    yield from hook_findings(definition, options, scope)
    yield from _saving(definition)
    yield from _resuming(definition, options.config)
    yield from _language(definition)


def _lists(definition: SubAgentDef, options: Options) -> Iterator[Finding]:
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
                f"`{name}` has every tool that is not denied: an empty list is none here, and the"
                " opposite in Zeph as shipped",
                span,
            )
    lost = _not_handed_down(definition, options.forwarding)
    if lost:
        yield find(
            "not-handed-down", f"what `{name}` starts is not bound by {lost}",
            definition.span("tools"), "repeat the lists in every agent", Severity.NOTE,
        )  # fmt: skip
    if definition.permissions.permission_mode is PermissionMode.PLAN:
        yield find(
            "plan-starts-agents", f"`{name}` only plans, but the agents it starts execute",
            definition.span("permissions.permission_mode"), severity=Severity.NOTE,
        )  # fmt: skip
    if definition.permissions.background:
        yield find(
            "background-outlives", f"`{name}` goes on when whoever started it is stopped",
            definition.span("permissions.background"), severity=Severity.NOTE,
        )  # fmt: skip


def _not_handed_down(definition: SubAgentDef, forward: Forward) -> str:
    """Return what does not reach the agents that this one starts, or ""."""
    listed = [effect for _, names, effect in listed_names(definition) if names]
    if forward is Forward.EFFECTIVE:
        denies = Effect.DENY in listed
        return "what its lists deny: only lists that allow are handed on" if denies else ""
    if not listed and not isinstance(definition.tools, AllowList):
        return ""
    if forward is Forward.RECEIVED:
        return "its lists: what it got itself is handed on"
    return "its lists: whoever starts an agent must copy them, and nobody does"


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
        # Handed a list, it has an allow list of its own, to which all is added.
        given = [name for name in EDITING if name in set(map(normalize, definition.tools.tools))]
    if given:
        listed = ", ".join(f"`{name}`" for name in given)
        yield find(
            "memory-widens-tools",
            f"its memory gives `{definition.name}` {listed}, beyond its list and whatever is handed"
            " down to it",
            span,
            "deny them with `tools.except`",
            Severity.ERROR,
        )


# What makes no difference to an agent, but that `default` is replaced by the configuration.
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
            "mode-without-effect", f"`{mode.value}` changes nothing for an agent", span,
            "leave the mode out", Severity.NOTE,
            edits=rewritten(span, PermissionMode.DEFAULT.value),
        )  # fmt: skip
    default = config.default_permission_mode
    if mode is PermissionMode.DEFAULT and default not in (None, mode):
        written = definition.spans.get("permissions.permission_mode")
        if written is not None and default is not None:
            yield find(
                "default-mode-replaced", f"the mode of `{name}` is `{default.value}`, that of the"
                " configuration: `default` counts as nothing said", written,
                f"write `{default.value}`", edits=rewritten(written, default.value),
            )  # fmt: skip
    if scope == "user" and mode is not PermissionMode.DEFAULT:
        yield find(
            "mode-of-user-definition",
            f"`{name}` is a user's definition, whose mode should be `default`; only one of the ways"
            " in that Zeph has refuses it",
            span,
        )


# --- skills, files ------------------------------------------------------------


def _skills(definition: SubAgentDef) -> Iterator[Finding]:
    for path, span in definition.ignored:
        if path.startswith("skills."):
            yield find(
                "skills-key-ignored", f"`{path}` means nothing, so `{definition.name}` sees every"
                " skill that the other keys leave", span, "write `include` or `exclude`",
                Severity.ERROR,
            )  # fmt: skip
    try:
        check_globs(definition.skills, definition)
    except ZephError as error:
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


# What looks like a wildcard and is a letter.
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
            "resume-differs", f"when `{definition.name}` goes on after it ended, it has no"
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
