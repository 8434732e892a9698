"""``pikuri.host.yaml``: a host, written down, and every host below a tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import attrs

from policy.core.errors import PolicyError, PolicyErrors
from policy.core.finding import Finding
from policy.core.source import Source, Span
from policy.files.layout import layout_yaml_file
from policy.files.nodes import MappingNode, Node, ScalarNode, SequenceNode, describe
from policy.files.opening import Tree
from policy.files.text import cite
from policy.files.yaml_nodes import read_yaml
from policy.hosts.pikuri import fields
from policy.hosts.pikuri.audit import findings
from policy.hosts.pikuri.fields import fail, keys_of
from policy.hosts.pikuri.host import (
    BUNDLED,
    NEWEST,
    STEPS,
    Confirmer,
    Host,
    Persona,
    PersonaSet,
    PikuriError,
    PikuriErrorKind,
    PikuriErrors,
    PikuriProfile,
    Registration,
    SubAgent,
    Tool,
    bundled,
    configure,
)
from policy.hosts.pikuri.reading import PikuriEnforced, declared_reading
from policy.hosts.project import AgentEntry, Project, ReadFile
from policy.tables.chain import Attenuated

__all__ = ["HOST", "HOST_FILE", "canonical", "load", "project", "read_host"]


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
# A registration, by its first key -> the keys it may have beside it.
_REGISTRATIONS: Final = {
    "tool": ("legs", "sandbox"),
    "sub_agent_tool": ("legs", "sandbox"),
    "mcp": (),
    "personas": (),
}


def read_host(source: Source) -> Host:
    """Return the host that *source* writes down.

    Raises:
        PikuriErrors: everything that is wrong with it.

    """
    try:
        node = read_yaml(source)
    except PolicyError as error:
        raise PikuriErrors(_as_ours(error)) from None
    reader = _Reader()
    with reader:
        host = reader.host(node)
    if reader.errors:
        raise PikuriErrors(reader.errors)
    return host


def _as_ours(error: PolicyError) -> Iterator[PikuriError]:
    for one in error.errors if isinstance(error, PolicyErrors) else (error,):
        if isinstance(one, PikuriError):
            yield one
        else:
            yield PikuriError(PikuriErrorKind.HOST_FILE, one.message, one.span, help=one.help)


@attrs.define
class _Reader:
    """Reads one file. Within ``with`` a mistake is noted, and the reading goes on behind it."""

    errors: list[PikuriError] = attrs.field(factory=list)
    profile: PikuriProfile = NEWEST

    def __enter__(self) -> None:
        """Start a part whose mistakes are its own."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, (PikuriError, PikuriErrors)):
            self.errors += _as_ours(error)
            return True
        return False

    def host(self, node: Node) -> Host:
        """Return the host."""
        keys = keys_of(node, _KEYS, "keys and values")
        version = keys.get("pikuri")
        if version is not None:
            self.profile = fields.version(version)
        name, bounds, confirmer = "host", None, Confirmer.TERMINAL
        registered: list[Registration] = []
        with self:
            said = keys.get("host")
            name = name if said is None else fields.name(said)
        with self:
            bounds = fields.workspace(keys.get("workspace"))
        with self:
            confirmer = fields.confirmer(keys.get("confirmer"))
        with self:
            for item in _items(keys.get("register")):
                with self:
                    registered += self._registration(item)
        spans = {entry.name: entry.value.span for entry in keys.entries}
        return Host(name, tuple(registered), bounds, confirmer, self.profile, spans)

    def _registration(self, item: Node) -> Iterable[Registration]:
        if isinstance(item, ScalarNode) and item.value == "sub_agent":
            if self.profile.has_personas:
                fail(
                    f"{self.profile} has personas in place of `sub_agent`",
                    item.span,
                    "write `personas`, or the version that is meant under `pikuri`",
                )
            return (SubAgent(item.span),)
        every = (*_REGISTRATIONS, *_REGISTRATIONS["tool"])
        keys = keys_of(item, every, "a registration")
        kinds = [entry for entry in keys.entries if entry.name in _REGISTRATIONS]
        if len(kinds) != 1:
            known = ", ".join(f"`{kind}`" for kind in _REGISTRATIONS)
            found = " and ".join(f"`{entry.name}`" for entry in kinds) or "none"
            span = kinds[1].key.span if kinds else keys.span
            fail(f"expected one of {known}, found {found}", span)
        kind, value = kinds[0].name, kinds[0].value
        keys_of(keys, (kind, *_REGISTRATIONS[kind]), "a registration")
        if kind == "personas":
            return (self._personas(value, kinds[0].key.span),)
        if kind == "mcp":
            return [
                Tool(name, server="mcp", span=at)
                for name, at in fields.texts(value, "the name of a tool")
            ]
        return (self._tool(value, keys, sub_agents_only=kind == "sub_agent_tool"),)

    def _tool(self, value: Node, keys: MappingNode, *, sub_agents_only: bool) -> Tool:
        return Tool(
            fields.text(value, "the name of a tool"),
            sub_agents_only=sub_agents_only,
            legs=fields.legs(keys.get("legs")),
            sandbox=fields.sandbox(keys.get("sandbox")),
            span=value.span,
        )

    def _personas(self, node: Node, span: Span) -> PersonaSet:
        if not self.profile.has_personas:
            fail(f"{self.profile} has no personas", span, "write `- sub_agent`")
        if not isinstance(node, SequenceNode):
            fail(f"expected a list of personas, found {describe(node)}", node.span)
        found = []
        for item in node.items:
            with self:
                found.append(self._persona(item))
        return PersonaSet(tuple(found), span)

    def _persona(self, node: Node) -> Persona:
        if isinstance(node, ScalarNode):
            shipped = bundled(self.profile).get(str(node.value))
            if shipped is None:
                known = ", ".join(f"`{name}`" for name in BUNDLED)
                msg = f"there is no bundled persona {cite(node.raw)}"
                fail(msg, node.span, f"known are {known}; any other is written out")
            return attrs.evolve(shipped, span=node.span)
        keys = keys_of(node, _PERSONA_KEYS, "a persona")
        name = keys.get("name")
        if name is None:
            fail("expected a persona with a `name`", keys.span)
        tools = fields.texts(keys.get("tool_names"), "the name of a tool")
        temp = keys.get("needs_temp_workspace")
        if temp is not None and fields.truth(temp) and not self.profile.has_temp_workspaces:
            fail(f"{self.profile} has no temporary workspaces", temp.span)
        return Persona(
            fields.text(name, "a name"),
            _optional(keys.get("description")),
            tuple(tool for tool, _ in tools),
            _optional(keys.get("system_prompt")),
            fields.steps(keys.get("max_steps"), STEPS),
            fields.truth(temp),
            span=name.span,
            spans=tuple(span for _, span in tools),
        )


def _items(node: Node | None) -> tuple[Node, ...]:
    if node is None or (isinstance(node, ScalarNode) and node.value is None):
        return ()
    if not isinstance(node, SequenceNode):
        fail(f"expected a list at `register`, found {describe(node)}", node.span)
    return node.items


def _optional(node: Node | None) -> str:
    return "" if node is None else fields.text(node, "a text")


# Every host of Pikuri below a tree, with what is the matter with it.


HOST: Final = "pikuri"


def load(tree: Tree) -> tuple[Project, ...]:
    """Return the project of every ``pikuri.host.yaml`` below *tree*."""
    return tuple(
        _loaded(tree, path) for path in tree.paths() if path.rpartition("/")[2] == HOST_FILE
    )


def canonical(path: str, source: Source) -> str | None:
    """Return a ``pikuri.host.yaml`` laid out, None for any other file.

    Raises:
        PolicyError: it cannot be read.

    """
    return layout_yaml_file(source) if path.rpartition("/")[2] == HOST_FILE else None


def _loaded(tree: Tree, path: str) -> Project:
    root = path.rpartition("/")[0]
    try:
        return project(tree.source(path), root)
    except PolicyError as error:
        nobody = Attenuated({})
        consequence = "nothing of the host is in force"
        found = Finding.of(error, "pikuri-unreadable-host", consequence=consequence)
        files = (ReadFile(path, "host"),)
        return Project(HOST, str(NEWEST), root, {}, (), nobody, nobody, files, found)


def project(source: Source, root: str = "") -> Project:
    """Return the project that one file is.

    Raises:
        PikuriErrors: the file, or the host that it is of, has a mistake.

    """
    host = read_host(source)
    done = configure(host)
    reading = declared_reading(host, done)
    spans = {persona.name: persona.span for persona in done.personas}
    entries = {
        name: AgentEntry(name, span.place if (span := spans.get(name)) else None, table)
        for name, table in sorted(reading.tables.items())
    }
    return Project(
        host=HOST,
        profile=str(host.profile),
        root=root,
        agents=entries,
        starts=(host.name,),
        attenuated=reading,
        enforced=PikuriEnforced(reading, done),
        files=(ReadFile(source.name, "host"),),
        findings=tuple(findings(host, done, source.whole())),
    )
