"""``pikuri.host.yaml``: a host, written down.

Pikuri has no such file; hosts are programs. Its lines are what such a program
does, in the same order::

    pikuri: "0.1.0"              # the version; the newest where it is absent
    host: coder                  # its name in chains; `host` where it is absent
    workspace:                   # or `allow_all`; absent is not said
      project_root: /srv/app
      readable: [/usr/lib]
      writable: [/tmp/out]
    confirmer: terminal          # or auto_approve (`--yolo`)
    register:
      - tool: read               # add_tool
      - tool: bash
        sandbox: bubblewrap
        legs: {private: true, untrusted: soft, egress: open, review: reviewed}
      - sub_agent_tool: fetch    # add_sub_agent_tool
      - mcp: [issues_list]       # tools of servers, for the host alone
      - personas:                # add_extension
          - FILE_MINER           # of that version
          - name: reviewer
            description: reads changes
            tool_names: [read]
            max_steps: 10
      - sub_agent                # up to 0.0.3

Keys that are not known are refused, and so is a file with any mistake.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NoReturn

from policy.documents.node import Mapping, Node, Scalar, Sequence, describe
from policy.documents.yaml_nodes import read_yaml
from policy.errors import PolicyError, PolicyErrors
from policy.hosts.pikuri.errors import Kind, PikuriError, PikuriErrors
from policy.hosts.pikuri.host import Host, PersonaSet, Registration, SubAgent, Tool
from policy.hosts.pikuri.personas import BUNDLED, Persona, bundled
from policy.hosts.pikuri.trifecta import Destination, Payload, TrifectaLegs, Untrusted
from policy.hosts.pikuri.versions import NEWEST, Profile
from policy.hosts.pikuri.workspace import AllowAll, Confirmer, Filesystem, Workspace
from policy.source import Source, Span

__all__ = ["HOST_FILE", "read_host"]

HOST_FILE: Final = "pikuri.host.yaml"

_KEYS: Final = ("pikuri", "host", "workspace", "confirmer", "register")
_PERSONA_KEYS: Final = (
    "name",
    "description",
    "tool_names",
    "system_prompt",
    "max_steps",
    "needs_temp_workspace",
)
_WORKSPACE_KEYS: Final = ("project_root", "readable", "writable", "links")
_TOOL_KEYS: Final = ("tool", "sub_agent_tool", "legs", "sandbox")
_LEGS_KEYS: Final = ("private", "untrusted", "egress", "review")


def read_host(source: Source) -> Host:
    """Return the host that *source* writes down.

    Raises:
        PikuriErrors: everything that is wrong with it.

    """
    try:
        node = read_yaml(source)
    except PolicyError as error:
        raise PikuriErrors(_as_ours(error)) from None
    errors: list[PikuriError] = []
    try:
        host = _Reader(errors).host(node)
    except PikuriError as error:
        errors.append(error)
    if errors:
        raise PikuriErrors(errors)
    return host


def _as_ours(error: PolicyError) -> Iterable[PikuriError]:
    for one in error.errors if isinstance(error, PolicyErrors) else (error,):
        yield PikuriError(Kind.HOST_FILE, one.message, one.span, help=one.help)


def _fail(message: str, span: Span | None, help: str = "") -> NoReturn:
    raise PikuriError(Kind.HOST_FILE, message, span, help=help)


def _keys(node: Node, known: tuple[str, ...], what: str) -> Mapping:
    if not isinstance(node, Mapping):
        _fail(f"expected {what}, found {describe(node)}", node.span)
    for entry in node.entries:
        if entry.name not in known:
            listed = ", ".join(f"`{key}`" for key in known)
            _fail(f"unknown key `{entry.name}`", entry.key.span, f"known are {listed}")
    return node


def _text(node: Node, what: str) -> str:
    if isinstance(node, Scalar) and isinstance(node.value, str) and node.value:
        return node.value
    _fail(f"expected {what}, found {describe(node)}", node.span)


def _texts(node: Node | None, what: str) -> tuple[tuple[str, Span], ...]:
    if node is None:
        return ()
    if not isinstance(node, Sequence):
        _fail(f"expected a list of {what}, found {describe(node)}", node.span)
    found = []
    for item in node.items:
        span = item.content_span() if isinstance(item, Scalar) else None
        found.append((_text(item, what), span or item.span))
    return tuple(found)


def _truth(node: Node | None) -> bool:
    if node is None:
        return False
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        return node.value
    _fail(f"expected `true` or `false`, found {describe(node)}", node.span)


class _Reader:
    """Reads one file; mistakes of registrations are collected, so that all are told."""

    def __init__(self, errors: list[PikuriError]) -> None:
        self.errors = errors
        self.profile = NEWEST

    def host(self, node: Node) -> Host:
        """Return the host."""
        keys = _keys(node, _KEYS, "keys and values")
        version = keys.get("pikuri")
        if version is not None:
            self.profile = _version(version)
        name = keys.get("host")
        return Host(
            "host" if name is None else _text(name, "a name"),
            tuple(self._registrations(keys.get("register"))),
            _workspace(keys.get("workspace")),
            _confirmer(keys.get("confirmer")),
            self.profile,
        )

    def _registrations(self, node: Node | None) -> Iterable[Registration]:
        if node is None:
            return
        if not isinstance(node, Sequence):
            _fail(f"expected a list at `register`, found {describe(node)}", node.span)
        for item in node.items:
            try:
                yield from self._registration(item)
            except PikuriError as error:
                self.errors.append(error)
            except PikuriErrors as error:
                self.errors += [one for one in error.errors if isinstance(one, PikuriError)]

    def _registration(self, item: Node) -> Iterable[Registration]:
        if isinstance(item, Scalar) and item.value == "sub_agent":
            if self.profile.has_personas:
                _fail(
                    "this version has personas in place of `sub_agent`",
                    item.span,
                    "write `personas`, or the version that is meant under `pikuri`",
                )
            yield SubAgent(item.span)
            return
        keys = _keys(item, (*_TOOL_KEYS, "mcp", "personas"), "a registration")
        kinds = [k for k in ("tool", "sub_agent_tool", "mcp", "personas") if keys.get(k)]
        if len(kinds) != 1:
            _fail("expected one of `tool`, `sub_agent_tool`, `mcp`, `personas`", item.span)
        value = keys.get(kinds[0])
        if value is None:
            return
        if kinds[0] == "personas":
            yield self._personas(value, item.span)
        elif kinds[0] == "mcp":
            for name, span in _texts(value, "tools"):
                yield Tool(name, server="mcp", span=span)
        else:
            sandbox = keys.get("sandbox")
            yield Tool(
                _text(value, "the name of a tool"),
                sub_agents_only=kinds[0] == "sub_agent_tool",
                legs=_legs(keys.get("legs")),
                sandbox="" if sandbox is None else _text(sandbox, "a sandbox"),
                span=value.span,
            )

    def _personas(self, node: Node, span: Span) -> PersonaSet:
        if not self.profile.has_personas:
            _fail("this version has no personas", span, "write `- sub_agent`")
        if not isinstance(node, Sequence):
            _fail(f"expected a list of personas, found {describe(node)}", node.span)
        return PersonaSet(tuple(self._persona(item) for item in node.items), span)

    def _persona(self, node: Node) -> Persona:
        if isinstance(node, Scalar):
            found = bundled(self.profile).get(str(node.value))
            if found is None:
                known = ", ".join(f"`{name}`" for name in BUNDLED)
                _fail(f"there is no bundled persona `{node.raw}`", node.span, f"known are {known}")
            return Persona(
                found.name,
                found.description,
                found.tool_names,
                found.system_prompt,
                found.max_steps,
                span=node.span,
            )
        keys = _keys(node, _PERSONA_KEYS, "a persona")
        name = keys.get("name")
        if name is None:
            _fail("expected a persona with a `name`", node.span)
        tools = _texts(keys.get("tool_names"), "the names of tools")
        steps = keys.get("max_steps")
        if steps is not None and not (isinstance(steps, Scalar) and type(steps.value) is int):
            _fail(f"expected a number at `max_steps`, found {describe(steps)}", steps.span)
        temp = _truth(keys.get("needs_temp_workspace"))
        if temp and not self.profile.has_temp_workspaces:
            _fail("this version has no temporary workspaces", node.span)
        return Persona(
            _text(name, "a name"),
            _optional(keys.get("description")),
            tuple(tool for tool, _ in tools),
            _optional(keys.get("system_prompt")),
            int(str(steps.value)) if isinstance(steps, Scalar) else 20,
            temp,
            span=name.span,
            spans=tuple(span for _, span in tools),
        )


def _optional(node: Node | None) -> str:
    return "" if node is None else _text(node, "a text")


def _version(node: Node) -> Profile:
    text = node.raw.strip("\"'") if isinstance(node, Scalar) else ""
    try:
        return Profile.of(text)
    except ValueError as error:
        _fail(str(error), node.span)


def _workspace(node: Node | None) -> Workspace | None:
    if node is None:
        return None
    if isinstance(node, Scalar) and node.value == "allow_all":
        return AllowAll()
    keys = _keys(node, _WORKSPACE_KEYS, "a workspace, or `allow_all`")
    root = keys.get("project_root")
    if root is None:
        _fail("expected a workspace with a `project_root`", node.span)
    links = keys.get("links")
    found: dict[str, str] = {}
    if links is not None:
        mapping = links if isinstance(links, Mapping) else None
        if mapping is None:
            _fail(f"expected names and targets at `links`, found {describe(links)}", links.span)
        found = {entry.name: _text(entry.value, "a path") for entry in mapping.entries}
    readable, writable = (
        tuple(_rooted(path, span) for path, span in _texts(keys.get(key), "folders"))
        for key in ("readable", "writable")
    )
    return Filesystem(_absolute(root), readable, writable, found)


def _absolute(node: Node) -> str:
    return _rooted(_text(node, "a folder"), node.span)


def _rooted(path: str, span: Span) -> str:
    if not path.startswith("/"):
        _fail(f"expected an absolute path, found `{path}`", span)
    return path


def _confirmer(node: Node | None) -> Confirmer:
    if node is None:
        return Confirmer.TERMINAL
    said = _text(node, "a confirmer").lower()
    known = [confirmer.value for confirmer in Confirmer]
    if said not in known:
        _fail(f"expected a confirmer, found `{said}`", node.span, "one of " + ", ".join(known))
    return Confirmer(said)


def _legs(node: Node | None) -> TrifectaLegs | None:
    if node is None:
        return None
    keys = _keys(node, _LEGS_KEYS, "legs")
    words: list[str] = []
    for key, kind, default in (
        ("untrusted", Untrusted, "none"),
        ("egress", Destination, "no_egress"),
        ("review", Payload, "no_egress"),
    ):
        value = keys.get(key)
        said = default if value is None else _text(value, "a grade")
        known = [grade.value for grade in kind]
        if said not in known:
            span = value.span if value else node.span
            _fail(f"expected a grade, found `{said}`", span, "one of " + ", ".join(known))
        words.append(said)
    try:
        return TrifectaLegs(
            _truth(keys.get("private")),
            Untrusted(words[0]),
            Destination(words[1]),
            Payload(words[2]),
        )
    except PikuriError as error:
        raise PikuriError(error.kind, error.message, node.span) from None
