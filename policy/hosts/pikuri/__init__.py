"""Pikuri: ``pikuri.host.yaml``, the host that a file describes, and every such file below a tree.

A mistake anywhere in a file refuses the whole file, since the host would not start either.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from policy.core import expressions as re
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.source import Edit, Source, Span
from policy.core.values import evolve
from policy.files.nodes import MappingNode, Node, ScalarNode
from policy.files.opening import Tree
from policy.files.text import cite, line_removal
from policy.files.yaml_nodes import read_yaml
from policy.hosts.data import tool_classes
from policy.hosts.fields import Fields, HostError, is_null
from policy.hosts.pikuri.host import (
    BUNDLED,
    FILES,
    NEWEST,
    STEPS,
    TOOLS,
    AllowAll,
    Confirmer,
    Destination,
    Filesystem,
    Host,
    Payload,
    Persona,
    PersonaSet,
    PikuriProfile,
    Registered,
    Registration,
    SubAgent,
    Tool,
    ToolSandbox,
    TrifectaLegs,
    TrifectaVerdict,
    Untrusted,
    Workspace,
    bundled,
    configure,
    declared_reading,
    enforced_reading,
    find,
    trifecta,
)
from policy.hosts.project import Project, ReadFile, agent_entries
from policy.tables.chain import Attenuated

__all__ = ["HOST", "load", "read_host"]


HOST: Final = "pikuri"
HOST_FILE: Final = "pikuri.host.yaml"

# A registration, by its first key -> the keys it may have beside it.
_REGISTRATIONS: Final = {
    "tool": ("legs", "sandbox"),
    "sub_agent_tool": ("legs", "sandbox"),
    "mcp": (),
    "personas": (),
}
_PERSONA: Final = (
    *("name", "description", "tool_names", "system_prompt", "max_steps", "needs_temp_workspace"),
)


# --- projects -------------------------------------------------------------------------


def load(tree: Tree) -> tuple[Project, ...]:
    """Return the project of every ``pikuri.host.yaml`` below *tree*."""
    return tuple(_loaded(tree, path) for path in tree.paths() if _is_host_file(path))


def _is_host_file(path: str) -> bool:
    return path.rpartition("/")[2] == HOST_FILE


def _loaded(tree: Tree, path: str) -> Project:
    root = path.rpartition("/")[0]
    try:
        return project(tree.source(path), root)
    except PolicyError as error:
        nothing, why = Attenuated({}), "nothing of the host is in force"
        found = Finding.of(error, "pikuri-unreadable-host", consequence=why)
        files = (ReadFile(path, "host"),)
        return Project(HOST, str(NEWEST), root, {}, (), nothing, nothing, files, found)


def project(source: Source, root: str = "") -> Project:
    """Return the project of one file.

    Raises:
        HostErrors: every mistake in the file, or in what its host registers.

    """
    host = read_host(source)
    done = configure(host)
    declared = declared_reading(host, done)
    spans = {persona.name: persona.span for persona in done.personas}
    return Project(
        host=HOST,
        profile=str(host.profile),
        root=root,
        agents=agent_entries(declared.tables, spans),
        starts=(host.name,),
        attenuated=declared,
        enforced=enforced_reading(host, done),
        files=(ReadFile(source.name, "host"),),
        findings=tuple(_findings(host, done, source.whole())),
        tool_classes=tool_classes(TOOLS["classes"]),
    )


# --- one file -------------------------------------------------------------------------


def read_host(source: Source) -> Host:
    """Return the host that *source* describes.

    Raises:
        HostErrors: every mistake in it.

    """
    fields = Fields.read(partial(read_yaml, source), "host_file", filled=True)
    fields.known("pikuri", "host", "workspace", "confirmer", "register")
    profile = fields.version("pikuri", NEWEST)
    registered: list[Registration] = []
    listed = () if is_null(fields.get("register")) else fields.sequence("register")
    for index, item in enumerate(listed):
        registered += _registration(item, fields, f"register[{index}]", profile)
    name, workspace = fields.text("host", "host"), _workspace(fields)
    if name and not re.fullmatch(r"[\w.-]+", name):
        help_ = "letters, digits, `-`, `_` and `.`"
        fields.note(f"expected a name, found {cite(name)}", fields.span("host"), help_)
    confirmer = fields.choice("confirmer", Confirmer.TERMINAL)
    spans = {entry.name: entry.value.span for entry in fields.entries}
    fields.check()
    return Host(name, tuple(registered), workspace, confirmer, profile, spans)


def _registration(
    item: Node, fields: Fields, name: str, profile: PikuriProfile
) -> Iterable[Registration]:
    if isinstance(item, ScalarNode) and item.value == "sub_agent":
        if profile.has_personas:
            help_ = "write `personas`, or the version that is meant under `pikuri`"
            fields.note(f"{profile} has personas in place of `sub_agent`", item.span, help_)
        return (SubAgent(item.span),)
    keys = fields.item(item, name)
    if keys.node is None:
        return ()
    kinds = [entry for entry in keys.node.entries if entry.name in _REGISTRATIONS]
    if len(kinds) != 1:
        known = ", ".join(f"`{kind}`" for kind in _REGISTRATIONS)
        found = " and ".join(f"`{entry.name}`" for entry in kinds) or "none"
        keys.note(f"expected one of {known}, found {found}", kinds[1].key.span if kinds else None)
        return ()
    kind = kinds[0].name
    keys.known(kind, *_REGISTRATIONS[kind])
    if kind == "personas":
        return _personas(keys, kinds[0].key.span, profile)
    if kind == "mcp":
        return [Tool(tool, server="mcp", span=span) for tool, span in keys.items("mcp")]
    sandbox = keys.choice("sandbox", ToolSandbox.NONE)
    pool = kind == "sub_agent_tool"
    return (Tool(keys.text(kind), pool, "", _legs(keys), sandbox, keys.span(kind)),)


def _personas(fields: Fields, span: Span, profile: PikuriProfile) -> Iterable[Registration]:
    if not profile.has_personas:
        fields.note(f"{profile} has no personas", span, "write `- sub_agent`")
        return ()
    found = [
        persona
        for index, item in enumerate(fields.sequence("personas"))
        if (persona := _persona(item, fields, f"personas[{index}]", profile))
    ]
    return () if fields.errors else (PersonaSet(tuple(found), span),)


def _persona(item: Node, fields: Fields, name: str, profile: PikuriProfile) -> Persona | None:
    if isinstance(item, ScalarNode):
        if shipped := bundled(profile).get(str(item.value)):
            return evolve(shipped, span=item.span)
        known = ", ".join(f"`{name}`" for name in BUNDLED)
        help_ = f"known are {known}; any other is written out"
        fields.note(f"there is no bundled persona {cite(item.raw)}", item.span, help_)
        return None
    keys = fields.item(item, name)
    keys.known(*_PERSONA)
    tools, own = keys.items("tool_names"), keys.text("name")
    description, prompt = keys.text("description", ""), keys.text("system_prompt", "")
    steps, temp = keys.number("max_steps", STEPS, least=1), keys.truth("needs_temp_workspace")
    if temp and not profile.has_temp_workspaces:
        keys.note(f"{profile} has no temporary workspaces", keys.span("needs_temp_workspace"))
    if keys.errors:
        return None
    names, spans = tuple(tool for tool, _ in tools), tuple(span for _, span in tools)
    span = keys.span("name")
    return Persona(own, description, names, prompt, steps, temp, span=span, spans=spans)


def _workspace(fields: Fields) -> Workspace | None:
    """Return the folders in which tools open files, None where the file does not say."""
    node = fields.get("workspace")
    if node is None:
        return None
    if isinstance(node, ScalarNode) and node.value == "allow_all":
        return AllowAll()
    if not isinstance(node, MappingNode):
        fields.wrong("workspace", "keys and values, or `allow_all`", node)
        return None
    keys = fields.below("workspace")
    keys.known("project_root", "readable", "writable", "links")
    root, links = keys.text("project_root"), keys.below("links")
    found = {_absolute(links, e.name, e.key.span): links.text(e.name) for e in links.entries}
    readable, writable = (
        tuple(_absolute(keys, path, span) for path, span in keys.items(key))
        for key in ("readable", "writable")
    )
    return Filesystem(_absolute(keys, root, keys.span("project_root")), readable, writable, found)


def _absolute(fields: Fields, path: str, span: Span | None) -> str:
    if not path.startswith("/") or "\0" in path:
        fields.note(f"expected an absolute path, found {cite(path)}", span)
    elif ".." in path.split("/"):
        help_ = f"write {cite(posixpath.normpath(path))}"
        fields.note(f"expected a path without `..`, found {cite(path)}", span, help_)
    return path


def _legs(fields: Fields) -> TrifectaLegs | None:
    """Return the legs that a tool declares, None where it declares none."""
    if fields.get("legs") is None:
        return None
    keys = fields.below("legs")
    keys.known("private", "untrusted", "egress", "review")
    private, untrusted = keys.truth("private"), keys.choice("untrusted", Untrusted.NONE)
    egress = keys.choice("egress", Destination.NO_EGRESS)
    try:
        return TrifectaLegs(private, untrusted, egress, keys.choice("review", Payload.NO_EGRESS))
    except HostError as error:
        missing = "review" if keys.get("egress") else "egress"
        help_ = "" if keys.get(missing) else f"write `{missing}` too"
        keys.errors.append(HostError(error.kind, error.message, keys.span(""), help=help_))
        return None


# --- findings --------------------------------------------------------------------------


def _findings(host: Host, done: Registered, span: Span) -> Iterator[Finding]:
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
