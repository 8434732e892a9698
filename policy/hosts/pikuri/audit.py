"""Findings about a host, and the trifecta of its agents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import attrs

from policy.core.finding import Finding, Severity
from policy.core.source import Edit, Span
from policy.hosts.pikuri.host import (
    AllowAll,
    Confirmer,
    Host,
    Persona,
    Registered,
    Tool,
    ToolSandbox,
)
from policy.hosts.pikuri.reading import FILES, SUB_AGENT
from policy.hosts.pikuri.trifecta import (
    NONE,
    AgentNode,
    Contribution,
    Destination,
    Payload,
    TrifectaLegs,
    TrifectaReport,
    TrifectaVerdict,
    Untrusted,
    walk,
)

__all__ = ["CODES", "findings", "tree_of", "trifecta"]

# Each has a page in `policy.analysis.catalogue`.
CODES: Final = {
    "pikuri-unreadable-host": Severity.ERROR,
    "pikuri-auto-approve": Severity.WARNING,
    "pikuri-no-bounds": Severity.WARNING,
    "pikuri-beyond-parent": Severity.NOTE,
    "pikuri-temp-workspace": Severity.NOTE,
    "pikuri-no-sandbox": Severity.NOTE,
    "pikuri-trifecta": Severity.NOTE,
    "pikuri-trifecta-loud": Severity.NOTE,
    "pikuri-unused-pool": Severity.NOTE,
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

# The legs of tools that declare none.
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


def tree_of(host: Host, done: Registered) -> AgentNode:
    """Return the agents of a host with the legs of their tools."""
    pools = (*done.tools, *done.sub_agent_tools)
    started = [(persona.name, done.tools_of(persona.name)) for persona in done.personas]
    if done.snapshot is not None:
        started.append((SUB_AGENT, done.snapshot))
    children = tuple(
        AgentNode(name, tuple(_contribution(tool, host) for tool in pools if tool.name in names))
        for name, names in started
    )
    own = (*done.tools, *done.server_tools)
    return AgentNode(host.name, tuple(_contribution(tool, host) for tool in own), children)


def trifecta(host: Host, done: Registered) -> TrifectaReport:
    """Return where the three legs meet. The report decides no call."""
    return walk(tree_of(host, done))


def findings(host: Host, done: Registered, span: Span) -> Iterator[Finding]:
    """Yield the findings about a host that starts; *span* is for those without a place."""
    yield from _of_host(host, done, span)
    for persona in done.personas:
        yield from _of_persona(persona, host, done)
    named = {name for persona in done.personas for name in persona.tool_names}
    for tool in done.sub_agent_tools:
        if tool.name not in named:
            msg = f"no persona names `{tool.name}`, so no agent has it"
            help_ = "leave it out, or let a persona name it"
            found = _finding("pikuri-unused-pool", msg, tool.span, help=help_)
            yield attrs.evolve(found, edits=_without(tool.span))
    report = trifecta(host, done)
    if report.tree_verdict is not TrifectaVerdict.SILENT:
        chain = ">".join(report.worst_path)
        msg = f"private data, untrusted text and a way out meet in `{chain}`"
        loud = report.tree_verdict is TrifectaVerdict.LOUD
        at = host.spans.get("register", span)
        first_line = Span(at.source, at.start, at.start + len(at.text.split("\n", 1)[0]))
        code = "pikuri-trifecta-loud" if loud else "pikuri-trifecta"
        yield _finding(code, msg, first_line, help=_APART if loud else _LESS)


def _without(span: Span | None) -> tuple[Edit, ...]:
    """Return the edit that removes a registration that has a line of its own."""
    if span is None:
        return ()
    source, number = span.source, span.place.line
    line = source.line(number)
    if not _ALONE.fullmatch(line):
        return ()
    start = source.offset(number, 1)
    end = min(start + len(line) + 1, len(source.text))
    following = source.text[end:].split("\n", 1)[0]
    if len(following) - len(following.lstrip()) > line.index("-"):
        return ()  # more of the registration is below
    return (Edit(source.span(start, end), ""),)


_ALONE: Final = re.compile(r" *- sub_agent_tool: *[\w.-]+ *")


def _of_host(host: Host, done: Registered, span: Span) -> Iterator[Finding]:
    if host.confirmer is Confirmer.AUTO_APPROVE:
        msg = "no person confirms calls: every request of a tool is approved"
        at = host.spans.get("confirmer", span)
        yield _finding("pikuri-auto-approve", msg, at, help="write `confirmer: terminal`")
    if isinstance(host.workspace, AllowAll):
        msg = "the tools may open any file"
        yield _finding("pikuri-no-bounds", msg, host.spans.get("workspace", span), help=_BOUND)
    elif host.workspace is None:
        opening = next((t for t in (*done.tools, *done.sub_agent_tools) if t.name in FILES), None)
        if opening is not None:
            msg = f"no workspace is declared, so `{opening.name}` may open any file"
            yield _finding("pikuri-no-bounds", msg, opening.span or span, help=_BOUND)
    for tool in (*done.tools, *done.sub_agent_tools):
        if tool.name == "bash" and tool.sandbox is ToolSandbox.NONE:
            msg = "commands run without a sandbox"
            yield _finding("pikuri-no-sandbox", msg, tool.span, help="write `sandbox: bubblewrap`")


def _of_persona(persona: Persona, host: Host, done: Registered) -> Iterator[Finding]:
    own = {tool.name for tool in done.tools}
    beyond = [name for name in done.tools_of(persona.name) if name not in own]
    if beyond:
        names = ", ".join(f"`{name}`" for name in beyond)
        msg = f"`{persona.name}` holds {names}, which `{host.name}` cannot call"
        yield _finding("pikuri-beyond-parent", msg, persona.span_of(beyond[0]))
    if persona.needs_temp_workspace:
        msg = f"`{persona.name}` opens files in a folder of its own"
        yield _finding("pikuri-temp-workspace", msg, persona.span)


_APART: Final = "give the tools that reach the network to a persona, by `sub_agent_tool`"
_LESS: Final = "remove one of the three, or declare with `legs` what a tool brings"
_BOUND: Final = "name the folders: `workspace: {project_root: /srv/app}`"


def _finding(code: str, message: str, span: Span | None, *, help: str = "") -> Finding:
    return Finding(code, message, CODES[code], span, help=help)
