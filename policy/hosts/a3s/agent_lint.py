"""What is wrong with an agent, a script or a session: each trap, where it is written."""

from __future__ import annotations

from collections.abc import Iterator

from policy.effect import Effect
from policy.finding import Finding
from policy.hosts.a3s.agent_dir import AgentDir
from policy.hosts.a3s.codes import finding
from policy.hosts.a3s.confirmation import Provider
from policy.hosts.a3s.definitions import AgentDefinition, ConfirmationInheritance, Listed
from policy.hosts.a3s.lint import policy_findings
from policy.hosts.a3s.names import SHIPPED
from policy.hosts.a3s.scripts import ScriptToolSpec, excluded
from policy.hosts.a3s.session_file import SessionSettings
from policy.hosts.a3s.versions import Profile
from policy.source import Source
from policy.syntax import Presence

__all__ = ["agent_findings", "directory_findings", "header_findings", "session_findings"]

_UNRESTRICTED = frozenset({Presence.EMPTY, Presence.ILL_TYPED, Presence.NULL})


def agent_findings(agent: AgentDefinition) -> Iterator[Finding]:
    """Yield what is wrong with an agent file."""
    yield from policy_findings(agent.permissions, agent.span)
    for listed in (agent.tools, agent.disallowed):
        yield from _split(listed)
    if agent.tools.presence in _UNRESTRICTED:
        yield finding(
            "a3s-empty-tools",
            f"`{agent.tools.key}` names no tool, which the host takes for no restriction",
            agent.tools.span,
            help="deny what it must not have by `disallowedTools`, or set `tool_free: true`",
        )
    block = agent.block
    if agent.tools.items and block is not None and not agent.kind:
        lost = [*block.deny, *block.ask, *block.allow]
        yield finding(
            "a3s-permissions-replaced",
            f"`{agent.tools.key}` replaces `permissions`"
            + (f": `{lost[0].text}` is lost" if lost else ""),
            lost[0].span if lost else agent.tools.span,
            help="write what is denied under `disallowedTools`",
        )
    policy = agent.permissions
    said = policy.ask or (block is not None and block.default_decision is not _ASKS)
    if said and not agent.has_permissions and not agent.tool_free:
        yield finding(
            "a3s-definition-dropped",
            f"`{agent.name}` neither allows nor denies anything, so its permissions are dropped",
            policy.ask[0].span if policy.ask else agent.span,
            help="allow or deny something by name",
        )
    if (
        agent.has_permissions
        and agent.confirms is ConfirmationInheritance.AUTO_APPROVE
        and (policy.ask or policy.default_decision is _ASKS)
    ):
        yield finding(
            "a3s-auto-approve",
            f"what `{agent.name}` asks for is approved at once",
            agent.span,
            help="write `confirmation_inheritance: inherit_parent`",
        )
    for key, span in agent.second:
        yield finding("a3s-second-list", f"`{key}` is not read", span, help="keep one of them")
    for key, span in agent.unknown:
        yield finding("a3s-unknown-key", f"`{key}` means nothing to the host", span)


_ASKS = Effect.ASK


def _split(listed: Listed) -> Iterator[Finding]:
    for item, span in zip(listed.items, listed.spans, strict=True):
        if item.count("(") > item.count(")"):
            yield finding(
                "a3s-list-split",
                f"`{item}` is cut at a comma between parentheses",
                span,
                help="write the tools as a list, a rule a line",
            )


def header_findings(source: Source, end: int) -> Iterator[Finding]:
    """Yield a finding where the header of a Markdown file is cut within a line."""
    before = source.text[:end].rpartition("\n")[2]
    if before.strip():
        yield finding(
            "a3s-header-cut",
            "the header ends within this line",
            source.span(end, end + 3),
            help="write another dash, or the text in a block below",
        )


def directory_findings(directory: AgentDir, profile: Profile) -> Iterator[Finding]:
    """Yield what is wrong with the tools and schedules of an agent directory."""
    for tool in directory.tools:
        if tool.name in SHIPPED:
            yield finding(
                "a3s-shadowed-tool",
                f"the host has a tool `{tool.name}`, which stays",
                tool.span,
                help="give the tool another name",
            )
    for script in directory.scripts:
        yield from _script(script, profile)
    for path in directory.skipped:
        yield finding("a3s-left-out", "the file leads out of the folder", file=path)
    for schedule in directory.schedules:
        if schedule.enabled:
            yield finding(
                "a3s-unattended", f"`{schedule.name}` starts the agent by itself", schedule.span
            )


def _script(script: ScriptToolSpec, profile: Profile) -> Iterator[Finding]:
    span = script.list_span or script.span
    for name in script.allowed_tools or ():
        if name in excluded(profile):
            yield finding(
                "a3s-script-excluded-tool", f"no script may call `{name}`", span, help="remove it"
            )
        elif set(name) & set("*?()"):
            yield finding(
                "a3s-script-literal",
                f"`{name}` is the name of no tool",
                span,
                help="name each tool, without patterns",
            )
    if script.omitted:
        yield finding(
            "a3s-script-without-tools",
            f"`{script.name}` may call no tool",
            span,
            help="list the tools under `allowed_tools`",
        )
    if script.effective_tools(profile) and not profile.governs_inner_calls:
        yield finding(
            "a3s-script-list-only",
            f"the calls of `{script.name}` do not pass the permissions of the session",
            span,
            help="use version 5 or later",
        )


def session_findings(
    session: SessionSettings, known: frozenset[str] = frozenset()
) -> Iterator[Finding]:
    """Yield what is wrong with a session; *known* are tools of its directory."""
    if session.permissions is not None:
        yield from policy_findings(session.permissions, session.span, known)
    if session.provider in {Provider.DISABLED, Provider.AUTO}:
        yield finding(
            "a3s-confirmation-off",
            "nobody is asked, so what rules ask for happens",
            session.confirmation_span,
            help="write `confirmation: manager`",
        )
    task = [p.rules.row("task").constant for p in (session.permissions, session.style) if p]
    if not session.auto_delegation.allow_manual_delegation and not any(
        outcome is not None and outcome.effect is Effect.DENY for outcome in task
    ):
        yield finding(
            "a3s-delegation-only-hidden",
            "the tools that start agents are hidden from the model, and may be called",
            session.hiding_span,
            help="deny `task` as well",
        )
