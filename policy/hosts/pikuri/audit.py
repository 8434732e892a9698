"""Findings about a host, and the trifecta of its agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policy.core.finding import Finding
from policy.core.source import Edit, Span
from policy.core.values import evolve
from policy.files.text import line_removal
from policy.hosts.pikuri.host import (
    NONE,
    TOOLS,
    AgentNode,
    AllowAll,
    Confirmer,
    Contribution,
    Host,
    Payload,
    Persona,
    Registered,
    Tool,
    ToolSandbox,
    TrifectaLegs,
    TrifectaReport,
    TrifectaVerdict,
    find,
    walk,
)
from policy.hosts.pikuri.reading import FILES, SUB_AGENT

_SERVER: Final = TrifectaLegs(**TOOLS["server"])

# The legs of tools that declare none.
_KNOWN: Final = {tool: TrifectaLegs(**legs) for tool, legs in TOOLS["legs"].items()}


def _contribution(tool: Tool, host: Host) -> Contribution:
    if tool.legs is not None:
        return Contribution(tool.name, tool.legs)
    if tool.server:
        return Contribution(tool.name, _SERVER, assumed=True)
    known = _KNOWN.get(tool.name)
    if known is not None and tool.name == "bash" and host.confirmer is not Confirmer.TERMINAL:
        known = evolve(known, payload=Payload.UNREVIEWED)
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
            edits = _without(tool.span)
            yield find("pikuri-unused-pool", tool.span, tool=tool.name, edits=edits)
    report = trifecta(host, done)
    if report.tree_verdict is not TrifectaVerdict.SILENT:
        chain = ">".join(report.worst_path)
        at = host.spans.get("register", span)
        first_line = Span(at.source, at.start, at.start + len(at.text.split("\n", 1)[0]))
        loud = report.tree_verdict is TrifectaVerdict.LOUD
        yield find("pikuri-trifecta-loud" if loud else "pikuri-trifecta", first_line, chain=chain)


def _without(span: Span | None) -> tuple[Edit, ...]:
    """Return the edit that removes a registration that has a line of its own."""
    edits = line_removal(span, " *- sub_agent_tool: *") if span is not None else ()
    for edit in edits:
        line, below = edit.span.text, edit.span.source.text[edit.span.end :].split("\n", 1)[0]
        if len(below) - len(below.lstrip()) > line.index("-"):
            return ()  # more of the registration is below
    return edits


def _of_host(host: Host, done: Registered, span: Span) -> Iterator[Finding]:
    if host.confirmer is Confirmer.AUTO_APPROVE:
        yield find("pikuri-auto-approve", host.spans.get("confirmer", span))
    tools = (*done.tools, *done.sub_agent_tools)
    if isinstance(host.workspace, AllowAll):
        yield find("pikuri-no-bounds", host.spans.get("workspace", span), case="all")
    elif host.workspace is None:
        opening = next((tool for tool in tools if tool.name in FILES), None)
        if opening is not None:
            yield find("pikuri-no-bounds", opening.span or span, case="none", tool=opening.name)
    for tool in tools:
        if tool.name == "bash" and tool.sandbox is ToolSandbox.NONE:
            yield find("pikuri-no-sandbox", tool.span)


def _of_persona(persona: Persona, host: Host, done: Registered) -> Iterator[Finding]:
    own = {tool.name for tool in done.tools}
    beyond = [name for name in done.tools_of(persona.name) if name not in own]
    if beyond:
        tools, at = ", ".join(f"`{name}`" for name in beyond), persona.span_of(beyond[0])
        yield find("pikuri-beyond-parent", at, persona=persona.name, tools=tools, host=host.name)
    if persona.needs_temp_workspace:
        yield find("pikuri-temp-workspace", persona.span, persona=persona.name)
