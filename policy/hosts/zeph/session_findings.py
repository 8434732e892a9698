"""What a session does that definitions do not show: its gates, and what it hands down."""

from __future__ import annotations

from collections.abc import Iterator

from policy.finding import Finding, Severity
from policy.hosts.zeph.context import Forward, SpawnContext
from policy.hosts.zeph.options import Options
from policy.hosts.zeph.trust import TrustLevel, effective_trust

__all__ = ["session_findings"]


def session_findings(options: Options) -> Iterator[Finding]:
    """Yield what is the matter with the gates of a session, and with what it hands down."""
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


def _gates(options: Options) -> Iterator[Finding]:
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
            f"the cap `{cap.value}` is set on a gate that all agents share, so it holds for whoever"
            " starts the agent as well, and the next one replaces it",
        )
    if context.network_denied and (session.servers or context.session_mcp_servers):
        yield _note(
            "network-denial-misses-servers",
            "without network, tools of servers can be called all the same",
            Severity.WARNING,
        )


def _handed_down(context: SpawnContext, forward: Forward) -> Iterator[Finding]:
    for server in context.session_mcp_servers:
        tools = [name for name in context.mcp_tool_names if name.startswith(f"mcp__{server}__")]
        offered = ", ".join(f"`{name}`" for name in tools) or "none that is known here"
        said = f"the server `{server}` offers tools to agents: {offered}"
        yield _note("server-offers-tools", said)
    if context.identity:
        yield _note("told-to-obey", f"agents are told to obey `{context.identity}`")
    below = context.then(SpawnContext(), allowlist=None, forward=forward)
    yield from context.weakened(below)
