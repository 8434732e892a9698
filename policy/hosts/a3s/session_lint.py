"""What is wrong with an agent directory, its scripts, or a session."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from policy.edits import Edit
from policy.effect import Effect
from policy.finding import Finding, Severity
from policy.hosts.a3s.agent_dir import AgentDir, McpTool
from policy.hosts.a3s.codes import finding
from policy.hosts.a3s.confirmation import Provider
from policy.hosts.a3s.lint import policy_findings
from policy.hosts.a3s.names import SHIPPED
from policy.hosts.a3s.scripts import LIMITS, ScriptToolSpec, excluded
from policy.hosts.a3s.session_file import SessionSettings
from policy.hosts.a3s.versions import Profile

__all__ = ["directory_findings", "session_findings"]


def directory_findings(directory: AgentDir, profile: Profile) -> Iterator[Finding]:
    """Yield what is wrong with the tools and schedules of an agent directory."""
    if directory.acl and directory.acl.strip():
        yield Finding(
            "key-not-applied",
            "`agent.acl` may say something about permissions, and is not read",
            Severity.WARNING,
            file=f"{directory.root}/agent.acl".lstrip("/"),
        )
    for tool in directory.tools:
        if isinstance(tool, McpTool):
            yield from (key.finding for key in tool.unapplied)
        if tool.name in SHIPPED:
            yield finding(
                "a3s-shadowed-tool",
                f"the host has a tool `{tool.name}`, which stays",
                tool.span,
                help="give the tool another name",
            )
    scripts = frozenset(script.name for script in directory.scripts)
    for script in directory.scripts:
        yield from _listed(script, profile, scripts)
        yield from _script(script, profile)
    for path in directory.skipped:
        yield finding(
            "a3s-left-out",
            "the file leads out of the folder",
            file=path,
            help="put the file itself there",
        )
    for schedule in directory.schedules:
        yield from (key.finding for key in schedule.unapplied)
        if schedule.enabled:
            yield finding(
                "a3s-unattended",
                f"`{schedule.name}` starts the agent by itself",
                schedule.span,
                help="see that nothing it needs must be confirmed; `enabled: false` turns it off",
            )


def _listed(
    script: ScriptToolSpec, profile: Profile, scripts: Collection[str]
) -> Iterator[Finding]:
    """Yield what is wrong with single items of the list of a script."""
    for name, span in zip(script.allowed_tools or (), script.spans, strict=True):
        if name in excluded(profile):
            yield finding(
                "a3s-script-excluded-tool", f"no script may call `{name}`", span, help="remove it"
            )
        elif set(name) & set("*?()") or (name not in SHIPPED and name.lower() in SHIPPED):
            yield finding(
                "a3s-script-literal",
                f"`{name}` is the name of no tool",
                span,
                help="name each tool exactly, without patterns",
            )
        elif name in scripts:
            yield finding(
                "a3s-script-starts-script",
                f"`{name}` is a script, which `{script.name}` may start",
                span,
                help="leave it out; no script is to start a script",
            )
        elif name == "task":
            yield finding(
                "a3s-script-starts-agents",
                f"`{script.name}` may start agents, which may do what is not in its list",
                span,
                help="leave `task` out, or deny it in the session",
            )


def _script(script: ScriptToolSpec, profile: Profile) -> Iterator[Finding]:
    span = script.list_span or script.span
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
    keys = ", ".join(f"`{limit.key}`" for limit in LIMITS)
    for key, at in script.unknown_limits:
        yield finding("a3s-limit-ignored", f"`{key}` is no limit", at, help=f"known are {keys}")
    for key, at in script.unknown:
        close = key.lower().replace("-", "").replace("_", "") == "allowedtools"
        help_ = "did you mean `allowed_tools`?" if close else "remove it, or mend its name"
        yield finding("a3s-unknown-key", f"`{key}` means nothing to the host", at, help=help_)


_UNASKED: Final = frozenset({Provider.DISABLED, Provider.AUTO})


def session_findings(
    session: SessionSettings, known: frozenset[str] = frozenset()
) -> Iterator[Finding]:
    """Yield what is wrong with a session; *known* are tools of its directory."""
    if session.permissions is not None:
        yield from policy_findings(session.permissions, session.span, known)
    if session.provider in _UNASKED:
        span = session.confirmation_span
        yield finding(
            "a3s-confirmation-off",
            "nobody is asked, so what rules ask for happens",
            span,
            help="write `confirmation: manager`",
            edits=[Edit(span, Provider.MANAGER.value)] if span else (),
        )
    task = [p.rules.row("task").constant for p in (session.permissions, session.style) if p]
    denied = any(outcome is not None and outcome.effect is Effect.DENY for outcome in task)
    if not session.auto_delegation.allow_manual_delegation and not denied:
        yield finding(
            "a3s-delegation-only-hidden",
            "the tools that start agents are hidden from the model, and may be called",
            session.hiding_span,
            help="deny `task` as well",
        )
