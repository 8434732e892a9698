"""What somebody responsible should know of a host: findings, and where three legs meet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policy.finding import Finding, Severity
from policy.hosts.pikuri.host import Host, Registered, Tool
from policy.hosts.pikuri.trifecta import (
    NONE,
    Contribution,
    Destination,
    Node,
    Payload,
    Report,
    TrifectaLegs,
    Untrusted,
    Verdict,
    walk,
)
from policy.hosts.pikuri.workspace import AllowAll, Confirmer
from policy.source import Span

__all__ = ["CODES", "findings", "tree_of", "trifecta"]

# Code -> severity, and what somebody should know who meets it.
CODES: Final[dict[str, tuple[Severity, str]]] = {
    "pikuri-unreadable-host": (Severity.ERROR, "A host with any mistake does not start at all."),
    "pikuri-auto-approve": (Severity.WARNING, "Whatever a tool asks is approved."),
    "pikuri-no-bounds": (Severity.WARNING, "The tools may open any file."),
    "pikuri-beyond-parent": (
        Severity.NOTE,
        "An agent holds a tool that its parent cannot call: it is in the pool for agents alone.",
    ),
    "pikuri-temp-workspace": (
        Severity.NOTE,
        "Each start has a new folder in place of the folders of the host.",
    ),
    "pikuri-no-sandbox": (Severity.NOTE, "Commands run without a sandbox."),
    "pikuri-trifecta": (
        Severity.WARNING,
        "Private data, text of strangers and a way out meet. A smoke alarm: nothing is refused.",
    ),
    "pikuri-unused-pool": (
        Severity.NOTE,
        "A tool for agents alone that no persona names is held by nobody.",
    ),
}

_FILES: Final = TrifectaLegs(private=True)
_WEB: Final = TrifectaLegs(
    untrusted=Untrusted.HARD, destination=Destination.OPEN, payload=Payload.UNREVIEWED
)
_SEARCH: Final = TrifectaLegs(
    untrusted=Untrusted.HARD, destination=Destination.LISTED, payload=Payload.UNREVIEWED
)
_SERVER: Final = TrifectaLegs(
    private=True,
    untrusted=Untrusted.HARD,
    destination=Destination.OPEN,
    payload=Payload.UNREVIEWED,
)

# What tools bring that do not say so themselves.
_KNOWN: Final = {
    **dict.fromkeys(("read", "grep", "glob", "file_list"), _FILES),
    **dict.fromkeys(("fetch", "web_scrape"), _WEB),
    "web_search": _SEARCH,
    "write": NONE,
    "edit": NONE,
}


def _contribution(tool: Tool, host: Host) -> Contribution:
    if tool.legs is not None:
        return Contribution(tool.name, tool.legs)
    if tool.server:
        return Contribution(tool.name, _SERVER, assumed=True)
    if tool.name == "bash":
        seen = host.confirmer is Confirmer.TERMINAL
        review = Payload.REVIEWED if seen else Payload.UNREVIEWED
        legs = TrifectaLegs(
            private=True,
            untrusted=Untrusted.SOFT,
            destination=Destination.OPEN,
            payload=review,
        )
        return Contribution(tool.name, legs)
    known = _KNOWN.get(tool.name)
    return Contribution(tool.name, known or NONE, assumed=known is None)


def tree_of(host: Host, done: Registered) -> Node:
    """Return the agents of a host with what their tools bring."""
    everything = {tool.name: tool for tool in (*done.tools, *done.sub_agent_tools)}
    children = tuple(
        Node(
            persona.name,
            tuple(_contribution(everything[n], host) for n in done.tools_of(persona.name)),
        )
        for persona in done.personas
    )
    own = (*done.tools, *done.server_tools)
    return Node(host.name, tuple(_contribution(tool, host) for tool in own), children)


def trifecta(host: Host, done: Registered) -> Report:
    """Return where the three legs meet. It decides nothing."""
    return walk(tree_of(host, done))


def findings(host: Host, done: Registered, span: Span) -> Iterator[Finding]:
    """Yield what is worth knowing of a host that starts; *span* is for what has no place."""
    if host.confirmer is Confirmer.AUTO_APPROVE:
        yield _finding("pikuri-auto-approve", "nobody confirms any call", span)
    if isinstance(host.workspace, AllowAll):
        yield _finding("pikuri-no-bounds", "the tools may open any file", span)
    for tool in done.tools:
        if tool.name == "bash" and tool.sandbox in {"", "none"}:
            yield _finding("pikuri-no-sandbox", "commands run without a sandbox", tool.span)
    own = {tool.name for tool in done.tools}
    for persona in done.personas:
        beyond = [name for name in done.tools_of(persona.name) if name not in own]
        if beyond:
            names = ", ".join(f"`{name}`" for name in beyond)
            msg = f"`{persona.name}` holds {names}, which `{host.name}` cannot call"
            yield _finding("pikuri-beyond-parent", msg, persona.span_of(beyond[0]))
        if persona.needs_temp_workspace:
            msg = f"`{persona.name}` opens files in a folder of its own"
            yield _finding("pikuri-temp-workspace", msg, persona.span)
    named = {name for persona in done.personas for name in persona.tool_names}
    for tool in done.sub_agent_tools:
        if tool.name not in named:
            msg = f"no persona names `{tool.name}`"
            yield _finding("pikuri-unused-pool", msg, tool.span)
    report = trifecta(host, done)
    if report.tree_verdict is not Verdict.SILENT:
        chain = ">".join(report.worst_path)
        msg = f"private data, untrusted text and a way out meet in `{chain}`"
        yield _finding("pikuri-trifecta", f"{msg} ({report.tree_verdict.value})", span, help=_MEND)


_MEND: Final = "give the tools that reach the network to a persona, by `sub_agent_tool`"


def _finding(code: str, message: str, span: Span | None, *, help: str = "") -> Finding:
    return Finding(code, message, CODES[code][0], span, help=help)
