"""Findings about rules, agents, directories and sessions of A3S."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policy.core import expressions as re
from policy.core.effect import Effect
from policy.core.finding import Finding, Severity
from policy.core.source import Edit
from policy.hosts.a3s.agents import (
    NO_TOOL,
    AgentDefinition,
    AgentDir,
    ConfirmationInheritance,
    Provider,
    SessionSettings,
    excluded,
    kind_of,
    policy_of,
)
from policy.hosts.a3s.rules import (
    SHIPPED,
    A3sProfile,
    Lane,
    PermissionPolicy,
    PermissionRule,
    finding,
    lane_rule,
)
from policy.hosts.data import host_table
from policy.hosts.fields import Presence
from policy.language.mistakes import closest

_TRAPS: Final = host_table("a3s", "traps")


def _rule_findings(
    rule: PermissionRule, effect: Effect, policy: PermissionPolicy, known: frozenset[str]
) -> Iterator[Finding]:
    """Yield the findings about *rule* of *policy*; *known* are tools of other programs."""
    text, span = rule.text, rule.span
    if text.startswith("lane:"):
        executes = effect is Effect.ALLOW and lane_rule(text) is Lane.EXECUTE
        if executes and policy.profile.has_lanes:
            yield finding("a3s-lane-execute", span, rule=text)
    elif rule.problem:
        yield finding("a3s-malformed-rule", span, rule=text, why=rule.problem)
    elif rule.is_too_long:
        does = "grants nothing" if effect is Effect.ALLOW else "denies every call of its tool"
        yield finding("a3s-rule-too-long", span, size=len(text), does=does)
    else:
        yield from _tool_findings(rule, effect, known)
        matched = f"{effect.value} {rule.tool.lower()} {rule.pattern}"
        for name, trap in _TRAPS.items() if rule.pattern and not rule.any_argument else ():
            if found := re.fullmatch(trap, matched, re.DOTALL):
                case, words = name.partition(".")[2], found.groupdict()
                texts = {"rule": rule.text, "tool": rule.tool, **words}
                yield finding(name.partition(".")[0], rule.span, case=case, **texts)


def _tool_findings(
    rule: PermissionRule, effect: Effect, known: frozenset[str]
) -> Iterator[Finding]:
    """Yield the findings about the tool that a rule names."""
    name, span = rule.tool.lower(), rule.span
    if name.startswith("mcp__"):
        if name.count("__") == 1:
            narrow = f"{rule.tool}__*"
            alone = span is not None and rule.text == rule.tool == span.text
            edits = [Edit(span, narrow)] if span and alone and effect is Effect.ALLOW else ()
            yield finding("a3s-server-prefix", span, tool=rule.tool, meant=narrow, edits=edits)
    elif name not in SHIPPED | known and not rule.is_glob:
        other = {"webfetch": "web_fetch", "websearch": "web_search", "agent": "task"}.get(name)
        meant = f"did you mean `{other}`?" if other else ""
        near = closest(name.replace("-", "_"), sorted(SHIPPED))
        help_ = meant or near or "remove it if no other program adds it"
        yield finding("a3s-unknown-tool", span, tool=rule.tool, help=help_)


def _policy_findings(
    policy: PermissionPolicy, known: frozenset[str] = frozenset()
) -> Iterator[Finding]:
    """Yield the findings about *policy*; *known* are tools that the host does not ship."""
    if not policy.enabled:
        edits = [Edit(at, "true")] if (at := policy.enabled_span) else ()
        yield finding("a3s-policy-disabled", at, edits=edits)
    for effect, rules in policy.lists.items():
        for rule in rules:
            if rule.span is not None:  # else it is not written in a file
                yield from _rule_findings(rule, effect, policy, known)


def agent_findings(agent: AgentDefinition) -> Iterator[Finding]:
    """Yield the findings about an agent file."""
    yield from _policy_findings(agent.permissions)
    tools, disallowed = agent.tools, agent.disallowed
    if tools.presence in NO_TOOL:
        yield finding("a3s-empty-tools", tools.span, key=tools.key)
    if disallowed.presence in {Presence.ILL_TYPED, Presence.NULL}:
        yield finding("a3s-list-ignored", disallowed.span, key=disallowed.key)
    for item, span in (*tools.items, *disallowed.items):
        if item.count("(") > item.count(")"):
            yield finding("a3s-list-split", span, item=item)
    yield from _lost(agent)
    policy, approves = agent.permissions, ConfirmationInheritance.AUTO_APPROVE
    asks = policy.ask or policy.default_decision is Effect.ASK
    if asks and agent.has_permissions and agent.confirms is approves:
        yield finding("a3s-auto-approve", agent.span, agent=agent.name)
    if agent.has_permissions and not agent.permissions.profile.parent_bounds:
        yield finding("a3s-agent-unbounded", agent.span, agent=agent.name)
    yield from agent.unapplied


def _lost(agent: AgentDefinition) -> Iterator[Finding]:
    """Yield a finding for each part of the file that another part cancels."""
    policy, block, tools = agent.permissions, agent.block, agent.tools
    preset = kind_of(agent.kind)
    own = preset is not None and block == policy_of(preset["table"], policy.profile)
    if preset is not None and (tools.items or not own):
        key = tools.key if own else "permissions"
        yield finding("a3s-preset-replaced", agent.span, key=key, kind=agent.kind)
    if tools.items and block is not None and not agent.kind:
        lost = [*block.deny, *block.ask, *block.allow]
        shown = f": `{lost[0].text}` is lost" if lost else ""
        span = lost[0].span if lost else tools.span
        yield finding("a3s-permissions-replaced", span, key=tools.key, lost=shown)
    only_asks = policy.ask or (block is not None and block.default_decision is not Effect.ASK)
    if only_asks and not agent.has_permissions and not agent.tool_free:
        span = policy.ask[0].span if policy.ask else agent.span
        yield finding("a3s-definition-dropped", span, agent=agent.name)


def override_findings(earlier: AgentDefinition, agent: AgentDefinition) -> Iterator[Finding]:
    """Yield the findings about *agent*, which replaces *earlier*."""
    name, by = agent.name, agent.span.place if agent.span else agent.name
    help_ = "" if earlier.span else "the host ships an agent of this name"
    yield finding("a3s-agent-overridden", earlier.span or agent.span, agent=name, by=by, help=help_)
    if agent.tool_free or not (earlier.has_permissions or earlier.tool_free):
        return  # it has no tool, or the earlier one had those of its parent
    both = agent.has_permissions and not earlier.tool_free
    if not both or not agent.permissions.table <= earlier.permissions.table:
        yield finding("a3s-override-widens", agent.span, agent=name)


def unconfirmed_findings(agent: AgentDefinition, session: SessionSettings) -> Iterator[Finding]:
    """Yield a finding if neither agent nor session has rules and no person can confirm."""
    bounded = session.permissions is not None or session.style is not None
    free = bounded or agent.has_permissions or agent.tool_free or agent.span is None
    if not free and agent.provider(session.provider).settled is Effect.DENY:
        yield finding("a3s-nobody-asked", agent.span, agent=agent.name)


def directory_findings(directory: AgentDir, profile: A3sProfile) -> Iterator[Finding]:
    """Yield the findings about the tools and schedules of an agent directory."""
    if directory.acl and directory.acl.strip():
        message = "`agent.acl` may contain permissions, and is not read"
        file = f"{directory.root}/agent.acl".lstrip("/")
        yield Finding("key-not-applied", message, Severity.WARNING, file=file)
    for tool in directory.tools:
        yield from tool.unapplied
        if tool.name in SHIPPED:
            yield finding("a3s-shadowed-tool", tool.span, tool=tool.name)
    scripts = frozenset(script.name for script in directory.scripts)
    for script in directory.scripts:
        for name, span in zip(script.allowed_tools or (), script.spans, strict=True):
            if name in excluded(profile):
                yield finding("a3s-script-excluded-tool", span, tool=name)
            elif set(name) & set("*?()") or (name not in SHIPPED and name.lower() in SHIPPED):
                yield finding("a3s-script-literal", span, tool=name)
            elif name in scripts:
                yield finding("a3s-script-starts-script", span, tool=name, script=script.name)
            elif name == "task":
                yield finding("a3s-script-starts-agents", span, script=script.name)
        if script.effective_tools(profile) and not profile.governs_inner_calls:
            yield finding("a3s-script-list-only", script.list_span, script=script.name)
    for schedule in directory.schedules:
        yield from schedule.unapplied
        if schedule.enabled:
            yield finding("a3s-unattended", schedule.span, name=schedule.name)


def session_findings(
    session: SessionSettings, known: frozenset[str] = frozenset()
) -> Iterator[Finding]:
    """Yield the findings about a session; *known* are the tools of its directory."""
    if session.permissions is not None:
        yield from _policy_findings(session.permissions, known)
    if session.provider.settled is Effect.ALLOW:
        at = session.spans.get("confirmation")
        edits = [Edit(at, Provider.MANAGER.value)] if at else ()
        yield finding("a3s-confirmation-off", at, edits=edits)
    task = [p.rules.row("task").constant for p in (session.permissions, session.style) if p]
    denied = any(outcome is not None and outcome.effect is Effect.DENY for outcome in task)
    if not session.auto_delegation.allow_manual_delegation and not denied:
        at = session.spans.get("auto_delegation.allow_manual_delegation")
        yield finding("a3s-delegation-only-hidden", at)
