"""Hooks that never run, that run for others' files, or that cannot stop what they look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policy.documents.text import cite
from policy.effect import Effect
from policy.finding import Finding, Severity
from policy.hosts.zeph.definition import HookMatcher, SubAgentDef
from policy.hosts.zeph.entry_findings import find
from policy.hosts.zeph.hooks import condition_holds, matches
from policy.hosts.zeph.names import KNOWN, normalize
from policy.hosts.zeph.options import Options
from policy.hosts.zeph.tables import listed_names

__all__ = ["hook_findings"]


def hook_findings(
    definition: SubAgentDef, options: Options, scope: str | None
) -> Iterator[Finding]:
    """Yield what is the matter with the hooks of one definition."""
    for path, span in definition.ignored:
        if path.startswith("hooks."):
            yield find(
                "hooks-key-ignored", f"`{path}` means nothing, so these hooks never run", span,
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
            "hook-never-fires", "an empty matcher is part of the id of no tool", span,
            "name the tools, as `bash|write`", Severity.ERROR,
        )  # fmt: skip
    elif dead:
        lower = [token.lower() for token in dead]
        known = all(any(matches(token, tool) for tool in tools) for token in lower)
        yield find(
            "hook-never-fires", f"{cite('|'.join(dead))} is part of the id of no tool: case counts,"
            " and there is no wildcard", span,
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
                "hook-never-fires", f"{cite(condition)} holds for the id of no tool",
                definition.span(f"{path}.hooks[{index}].if"), "write `tool:name`, as `tool:bash`",
                Severity.ERROR,
            )  # fmt: skip
    meant = [tool for tool in sorted(tools) if matches(matcher.matcher, tool)]
    if meant and "PreToolUse" in path and all(_is_denied(definition, tool) for tool in meant):
        yield find(
            "hook-runs-for-denied-calls", f"{cite(matcher.matcher)} runs before the lists are asked"
            " and only for calls that they deny", span,
            severity=Severity.NOTE,
        )  # fmt: skip


def _is_denied(definition: SubAgentDef, tool: str) -> bool:
    for _, names, effect in listed_names(definition):
        is_listed = tool in map(normalize, names)
        if is_listed if effect is Effect.DENY else not is_listed:
            return True
    return False
