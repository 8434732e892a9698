"""Agent definitions: Markdown with front matter, and what is wrong with them.

What the host does not read it leaves out without a word (2.1.329, observed):
a file without a name or a description, YAML that it cannot mend, and every key
it does not know. The last leaves an agent all tools that a list of another
spelling was to take away.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final

import attrs

from policy.documents.frontmatter import Kind, misplaced_front_matter, split_front_matter
from policy.documents.node import Mapping, Node, Scalar, Sequence
from policy.documents.text import cite
from policy.documents.traps import find_traps
from policy.errors import PolicyError
from policy.finding import Finding, Severity
from policy.hosts.claude.data.agents import FIELDS, MODES
from policy.hosts.claude.data.tools import ALIASES
from policy.hosts.claude.guarding_hooks import unloadable
from policy.hosts.claude.hooks import Hook, read_hooks
from policy.hosts.claude.salvage import READ_ANYWAY, read_header
from policy.hosts.claude.tool_lists import read_list
from policy.language.syntax import Agents, Declared, Presence
from policy.source import Place, Source, Span

__all__ = ["Definition", "Definitions", "looks_like_agent", "read_agent"]


@attrs.frozen
class Definition:
    """What the front matter of one agent says.

    Attributes:
        name: as agents are started by.
        tools: the tools it has.
        disallowed: the tools it has not.
        mode: its permission mode, or None.
        memory: whether it has a memory.
        servers: names of the MCP servers that it brings along.
        hooks: what runs while it does.
        plugin: whether a plugin offers it.
        place: of its name; None for one that is built in.
        span: of its name.
    """

    name: str
    tools: Declared = Declared(Presence.ABSENT)
    disallowed: Declared = Declared(Presence.ABSENT)
    mode: str | None = None
    memory: bool = False
    servers: tuple[str, ...] = ()
    hooks: tuple[Hook, ...] = ()
    plugin: bool = False
    place: Place | None = None
    span: Span | None = attrs.field(default=None, repr=False)

    @property
    def types(self) -> tuple[str, ...] | None:
        """The agents that ``Agent(a, b)`` in `tools` names; None for all of them."""
        names: list[str] = []
        listed = [m for m in self.tools.matchers if ALIASES.get(m.tool, m.tool) == "Agent"]
        for matcher in listed:
            text = "" if matcher.specifier is None else matcher.specifier.text.strip()
            if text in ("", "*"):
                return None
            if isinstance(matcher.specifier, Agents):
                names += matcher.specifier.names
            else:
                names.append(text)
        return tuple(name for name in names if "*" not in name) if listed else None


@attrs.frozen
class Definitions:
    """What came of one file: an agent or none, and findings."""

    definition: Definition | None = None
    findings: tuple[Finding, ...] = ()


def looks_like_agent(source: Source, *, certainly: bool = False) -> bool:
    """Return whether the file has the front matter of an agent, readable or not.

    Args:
        source: a Markdown file.
        certainly: whether it must also have a key that little else has.

    """
    try:
        front = split_front_matter(source)
    except PolicyError:
        return False
    if front is None:
        return False
    header = "\n" + front.header.text
    if "\nname:" not in header or "\ndescription:" not in header:
        return False
    return not certainly or any(f"\n{key}:" in header for key in _TELLING)


_TELLING: Final = ("tools", "disallowedTools", "color", "permissionMode")


_SKIPPED: Final = "the host leaves the file out, so there is no such agent"


def read_agent(source: Source, *, plugin: bool = False, unnamed: str = "") -> Definitions:
    """Return the agent that *source* defines. Whatever is wrong with it is among the findings.

    Args:
        source: the file.
        plugin: whether it is one of a plugin.
        unnamed: what an agent without a name is called; "" is nothing, so there is none.

    """
    try:
        front = split_front_matter(source)
    except PolicyError as error:
        return Definitions(None, Finding.of(error, "bad-front-matter", consequence=_SKIPPED))
    if front is None or front.kind is not Kind.YAML:
        late = misplaced_front_matter(source)
        if late is None:
            return Definitions()
        return Definitions(None, (_error("bad-front-matter", late.message, late.span, late.help),))
    node, mistake = read_header(front.header)
    findings: tuple[Finding, ...] = ()
    if mistake is not None:
        consequence = _SKIPPED if node is None else READ_ANYWAY
        findings = Finding.of(mistake, "bad-front-matter", consequence=consequence)
    if node is None:
        return Definitions(None, findings)
    if not isinstance(node, Mapping):
        return Definitions(
            None, (_error("bad-front-matter", "expected keys and values", front.opening, _SKIPPED),)
        )
    return _Reader(node, front.opening, plugin, unnamed, list(findings)).read()


def _error(code: str, message: str, span: Span, help: str = "") -> Finding:
    return Finding(code, message, Severity.ERROR, span, help=help)


@attrs.define
class _Reader:
    node: Mapping
    opening: Span
    plugin: bool
    unnamed: str
    findings: list[Finding] = attrs.field(factory=list)

    def read(self) -> Definitions:
        name = self.node.get("name")
        if name is None and self.unnamed:
            name = Scalar(self.unnamed, self.opening)
        if (
            not isinstance(name, Scalar)
            or not isinstance(name.value, str)
            or not name.value.strip()
        ):
            span = name.span if name else self.opening
            return self._none("agent-missing-name", "the agent has no name", span)
        described = self.node.get("description")
        if not isinstance(described, Scalar) or described.value in (None, ""):
            return self._none(
                "agent-missing-description",
                f"the agent {cite(name.value)} has no description",
                name.span,
            )
        if not self.plugin and (
            ":" in name.value or name.value.startswith("-") or len(name.value) > 256
        ):
            return self._none(
                "agent-name-reserved",
                f"{cite(name.value)} cannot be the name of an agent",
                name.span,
            )
        for mistake in () if self.plugin else unloadable(self.node):
            return self._none("bad-front-matter", mistake.message, mistake.node.span)
        tools, found = read_list(self.node.get("tools"), "tools")
        disallowed, more = read_list(self.node.get("disallowedTools"), "disallowedTools")
        self.findings += (*found, *more)
        self._keys()
        self._traps()
        memory = self.node.get("memory")
        return Definitions(
            Definition(
                name.value.strip(),
                tools,
                disallowed,
                self._mode(),
                servers=tuple(_servers(self._kept("mcpServers"))),
                hooks=read_hooks(self._kept("hooks"))[0],
                memory=isinstance(memory, Scalar) and memory.value in ("user", "project", "local"),
                plugin=self.plugin,
                place=name.span.place,
                span=name.span,
            ),
            tuple(self.findings),
        )

    def _kept(self, key: str) -> Node | None:
        """Return the value of a key that agents of plugins do not have."""
        value = self.node.get(key)
        if value is None or not self.plugin:
            return value
        self._warn(
            "plugin-agent-field-ignored",
            f"the host ignores `{key}` of agents in plugins",
            value.span,
        )
        return None

    def _none(self, code: str, message: str, span: Span) -> Definitions:
        return Definitions(None, (*self.findings, _error(code, message, span, _SKIPPED)))

    def _mode(self) -> str | None:
        value = self.node.get("permissionMode")
        if value is None:
            return None
        if self.plugin:
            self._warn(
                "plugin-agent-field-ignored",
                "the host ignores `permissionMode` of agents in plugins",
                value.span,
            )
            return None
        mode = value.value if isinstance(value, Scalar) else None
        if mode == "manual":
            return "default"
        if not isinstance(mode, str) or mode not in MODES:
            self._warn(
                "unknown-mode",
                "expected a permission mode; the host ignores this one",
                value.span,
                help="one of " + ", ".join(MODES),
            )
            return None
        if mode == "bypassPermissions":
            self._warn(
                "permission-mode-ignored",
                "the host ignores `bypassPermissions` of an agent",
                value.span,
            )
        return mode

    def _keys(self) -> None:
        for entry in self.node.entries:
            if entry.name in FIELDS:
                continue
            like_tools = _MISSPELT.get(_letters(entry.name))
            if like_tools:
                self._warn(
                    "misspelt-key",
                    f"`{entry.name}` means nothing to the host, so the agent"
                    f" {_CONSEQUENCES[like_tools]}",
                    entry.key.span,
                    help=f"write `{like_tools}`",
                )
                continue
            near = difflib.get_close_matches(entry.name, sorted(FIELDS), 1, 0.8)
            if near:
                self._warn(
                    "misspelt-key",
                    f"`{entry.name}` means nothing to the host",
                    entry.key.span,
                    help=f"did you mean `{near[0]}`?",
                )

    def _traps(self) -> None:
        for key in ("tools", "disallowedTools"):
            value: Node | None = self.node.get(key)
            if value is not None:
                for remark in find_traps(value):
                    self._warn(str(remark.trap.value), remark.message, remark.span, remark.help)

    def _warn(self, code: str, message: str, span: Span, help: str = "") -> None:
        self.findings.append(Finding(code, message, Severity.WARNING, span, help=help))


def _servers(node: Node | None) -> Iterator[str]:
    # `- name: {command: …}` brings one along; `- name` is one that is there already.
    items = node.items if isinstance(node, Sequence) else (node,)
    for item in items:
        if isinstance(item, Mapping):
            yield from (entry.name for entry in item.entries)


def _letters(key: str) -> str:
    return "".join(filter(str.isalpha, key)).casefold()


_MISSPELT: Final = {
    "tools": "tools",
    "tool": "tools",
    "allowedtools": "tools",
    "allowedtool": "tools",
    "disallowedtools": "disallowedTools",
    "disallowedtool": "disallowedTools",
    "deniedtools": "disallowedTools",
    "permissionmode": "permissionMode",
    "permissions": "tools",
}
_CONSEQUENCES: Final = {
    "tools": "has every tool",
    "disallowedTools": "keeps the tools it names",
    "permissionMode": "has the mode of whoever starts it",
}
