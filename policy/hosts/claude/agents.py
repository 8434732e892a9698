"""Agent definitions: Markdown with front matter, and what is wrong with them.

What the host does not read it leaves out without a word (2.1.329, observed): a file without a name
or a description, YAML that it cannot mend, and every key it does not know. The last leaves an agent
all tools that a list under a misspelt key was to take away.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final

from policy.core import expressions as re
from policy.core.errors import PolicyError
from policy.core.finding import Finding, Severity
from policy.core.source import Place, Source, Span
from policy.core.values import define, field, frozen
from policy.files.frontmatter import HeaderLanguage, misplaced_front_matter, split_front_matter
from policy.files.nodes import MappingNode, Node, NodeEntry, ScalarNode, SequenceNode, ShapeMistake
from policy.files.text import cite
from policy.files.yaml_traps import find_traps
from policy.hosts.claude.data import find
from policy.hosts.claude.data import settings as known_hooks
from policy.hosts.claude.data.tools import ALIASES, FIELDS, MODES, server_name
from policy.hosts.claude.hooks import Hook, read_hooks
from policy.language.parse import parse_matcher
from policy.language.syntax import Agents, DeclaredTools, Matcher, Presence

__all__ = [
    "Definition",
    "Definitions",
    "entries_in",
    "looks_like_agent",
    "read_agent",
    "read_header",
    "read_list",
]

# --- YAML that the host mends ---------------------------------------------------------

READ_ANYWAY: Final = "the host reads it anyway, with quotes around what needs them"


def read_header(header: Span) -> tuple[Node | None, PolicyError | None]:
    """Return what the host reads of *header*, None for nothing, and what is wrong with it."""
    from policy.files.yaml_nodes import read_yaml  # noqa: PLC0415  # where there are agents alone

    error = None
    try:
        read_yaml(header.source, header.start, header.end)
    except PolicyError as mistake:
        error = mistake
    return _salvaged(header), error


def _salvaged(header: Span) -> Node | None:
    from policy.files.yaml_nodes import read_loosely  # noqa: PLC0415  # where there are agents alone

    try:
        return read_loosely(header.source, header.start, header.end)
    except PolicyError:
        pass
    written = _Quoted.of(header)
    try:
        node = read_loosely(Source(header.source.name, written.text), 0, len(written.text))
    except PolicyError:
        return None
    return written.placed(node)


_ENTRY: Final = re.compile(r"([A-Za-z_-]+:[ \t]+)([^\n\r\u2028\u2029]+)")
_SPECIAL: Final = re.compile(r"[{}\[\]*&#!|>%@`]|: |^,")
_IN_QUOTES: Final = re.compile(r"\".*\"|'.*'")
# A list in brackets stays one, where it is a list.
_LIST: Final = re.compile(r"\[[^\[\]]*\][ \t]*")


def _needs_quotes(value: str) -> bool:
    if not _SPECIAL.search(value) or _IN_QUOTES.fullmatch(value):
        return False
    return not (_LIST.fullmatch(value) and isinstance(_loosely(value), SequenceNode))


def _loosely(text: str) -> Node | None:
    from policy.files.yaml_nodes import read_loosely  # noqa: PLC0415  # where there are agents alone

    try:
        return read_loosely(Source("", text), 0, len(text))
    except PolicyError:
        return None


@frozen
class _Quoted:
    """A header with quotes around some values.

    Attributes:
        text: the header so.
        header: as it is written.
        places: where each character of the text, and its end, is in the source.
        begun: where in the text values stand that have quotes now.
    """

    text: str
    header: Span
    places: tuple[int, ...]
    begun: frozenset[int]

    @classmethod
    def of(cls, header: Span) -> _Quoted:
        text: list[str] = []
        places: list[int] = []
        begun: list[int] = []
        at = header.start
        for line in header.text.split("\n"):
            found = _ENTRY.fullmatch(line)
            value = found[2] if found else ""
            if _needs_quotes(value):
                start = at + len(line) - len(value)
                text += line[: len(line) - len(value)]
                places += range(at, start)
                begun.append(len(places))
                text.append('"')
                places.append(start)
                for offset, letter in enumerate(value):
                    text += ("\\", letter) if letter in '\\"' else (letter,)
                    places += [start + offset] * (1 + (letter in '\\"'))
                text.append('"')
                places.append(at + len(line))
            else:
                text += line
                places += range(at, at + len(line))
            text.append("\n")
            places.append(at + len(line))
            at += len(line) + 1
        return cls("".join(text), header, (*places, header.end), frozenset(begun))

    def placed(self, node: Node) -> Node:
        """Return *node* with the places of the source."""
        match node:
            case ScalarNode():
                return self._scalar(node)
            case SequenceNode():
                items = tuple(map(self.placed, node.items))
                return SequenceNode(items, self._span(node.span))
            case MappingNode():
                entries = tuple(
                    NodeEntry(self._scalar(entry.key), self.placed(entry.value))
                    for entry in node.entries
                )
                return MappingNode(entries, self._span(node.span))

    def _scalar(self, node: ScalarNode) -> ScalarNode:
        quoted = node.quoted and node.span.start not in self.begun
        return ScalarNode(node.value, self._span(node.span), quoted=quoted)

    def _span(self, span: Span) -> Span:
        return self.header.source.span(self.places[span.start], self.places[span.end])


# --- lists of tools, in every spelling that the host takes ---------------------------

# A string is cut at commas and spaces outside parentheses, and so is each entry of a
# list. A tab or a line break cuts nothing, so that what it stands between is no tool; an
# entry that is left empty is none, and so is one of a list that is no text (2.1.329, observed).


def read_list(node: Node | None, key: str) -> tuple[DeclaredTools, tuple[Finding, ...]]:
    """Return the list that the value of *key* is, and what is wrong with it."""
    match node:
        case None:
            return DeclaredTools(Presence.ABSENT), ()
        case ScalarNode(value=None):
            return DeclaredTools(Presence.NULL, span=node.span), ()
        case ScalarNode(value=str()):
            items = [node]
        case SequenceNode(items=()):
            return DeclaredTools(Presence.EMPTY, span=node.span), ()
        case SequenceNode() if any(map(_is_text, node.items)):
            items = [
                i for i in node.items if isinstance(i, ScalarNode) and isinstance(i.value, str)
            ]
            others = [_ill_typed(item, key) for item in node.items if not _is_text(item)]
            return _listed(node, items, others)
        case SequenceNode() | MappingNode() | ScalarNode():
            return DeclaredTools(Presence.ILL_TYPED, span=node.span), (_ill_typed(node, key),)
    return _listed(node, items, [])


def _listed(
    node: Node, items: list[ScalarNode], findings: list[Finding]
) -> tuple[DeclaredTools, tuple[Finding, ...]]:
    matchers: list[Matcher] = []
    for item in items:
        for start, end in entries_in(str(item.value)):
            text, span = str(item.value)[start:end], item.part(start, end)
            try:
                matchers.append(parse_matcher(text, span))
            except PolicyError:
                findings.append(_nonsense(text, span))
    presence = (
        Presence.LISTED if any(str(item.value).strip(", ") for item in items) else Presence.EMPTY
    )
    return DeclaredTools(presence, tuple(matchers), span=node.span), tuple(findings)


def _is_text(node: Node) -> bool:
    return isinstance(node, ScalarNode) and (node.value is None or isinstance(node.value, str))


def _ill_typed(node: Node, key: str) -> Finding:
    return find("wrong-type", node.span, key=key)


def _nonsense(text: str, span: Span) -> Finding:
    return find("unknown-tool", span, case="text", name=cite(text))


def entries_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each entry of a string starts and ends."""
    depth, start = 0, 0
    for position, character in enumerate(text + ","):
        depth = max(0, depth + (character == "(") - (character == ")"))
        if position == len(text) or (depth == 0 and character in ", "):
            entry = text[start:position]
            left = len(entry) - len(entry.lstrip())
            if entry.strip():
                yield start + left, start + len(entry.rstrip())
            start = position + 1


# --- hooks that guard calls, and cannot be loaded ------------------------------------

# The host leaves the agent out rather than run it without its guard (2.1.329, observed).

_GROUPS: Final = "an object of events, each a list of matchers,"


def unloadable(front: MappingNode) -> Iterator[ShapeMistake]:
    """Yield why the host does not load the agent with this front matter."""
    given = front.get("hooks")
    for entry in front.entries:
        is_scanned = entry.name not in {"hooks", *known_hooks.UNSCANNED}
        if is_scanned and _has_guards(entry.name, entry.value):
            yield ShapeMistake("it below `hooks`", f"`{entry.name}`", entry.value)
    if given is None or (isinstance(given, ScalarNode) and not given.value):
        return
    if not isinstance(given, MappingNode) or _is_matcher(given):
        yield ShapeMistake(_GROUPS, "`hooks`", given)
        return
    for entry in given.entries:
        listed = isinstance(entry.value, SequenceNode)  # as those of a misspelt event
        if entry.name not in known_hooks.EVENTS and _holds_guards(entry.value, groups=not listed):
            yield ShapeMistake("an event", "what guards calls", entry.value)
    yield from read_hooks(given)[1]


def _has_guards(name: str, node: Node, *, groups: bool = True) -> bool:
    """Return whether hooks that guard calls are in the value of a key, or it is one for them."""
    if name in known_hooks.GUARDS and _has_hooks(node):
        return True
    return _holds_guards(node, groups=groups and name not in known_hooks.EVENTS)


def _holds_guards(node: Node, *, groups: bool) -> bool:
    """Return whether hooks that guard calls are somewhere in *node*.

    Where *groups* says so, a group of hooks without its event counts as well.
    """
    if isinstance(node, SequenceNode):
        return any(_holds_guards(item, groups=groups) for item in node.items)
    if not isinstance(node, MappingNode):
        return False
    if groups and _is_matcher(node):
        return True
    return any(_has_guards(entry.name, entry.value, groups=groups) for entry in node.entries)


def _is_matcher(node: MappingNode) -> bool:
    """Return whether *node* is a group of hooks, as they are below an event."""
    hooks = node.get("hooks")
    return hooks is not None and (node.get("matcher") is not None or _has_hooks(hooks))


def _has_hooks(node: Node) -> bool:
    if isinstance(node, SequenceNode):
        return bool(node.items)
    return not isinstance(node, ScalarNode) or node.value is not None


# --- a definition ---------------------------------------------------------------------


@frozen
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
    tools: DeclaredTools = DeclaredTools(Presence.ABSENT)
    disallowed: DeclaredTools = DeclaredTools(Presence.ABSENT)
    mode: str | None = None
    memory: bool = False
    servers: tuple[str, ...] = ()
    hooks: tuple[Hook, ...] = ()
    plugin: bool = False
    place: Place | None = None
    span: Span | None = field(default=None, repr=False)

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


@frozen
class Definitions:
    """The agent that one file defines, if any, and findings."""

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
    return not certainly or any(f"\n{key}:" in header for key in _KEYS_OF_AGENTS)


_KEYS_OF_AGENTS: Final = ("tools", "disallowedTools", "color", "permissionMode")


_SKIPPED: Final = "the host leaves the file out, so there is no such agent"


def read_agent(source: Source, *, plugin: bool = False, unnamed: str = "") -> Definitions:
    """Return the agent that *source* defines, with what is wrong with it among the findings.

    Args:
        source: the file.
        plugin: whether it is one of a plugin.
        unnamed: what an agent without a name is called; "" is nothing, so there is none.

    """
    try:
        front = split_front_matter(source)
    except PolicyError as error:
        return Definitions(None, Finding.of(error, "bad-front-matter", consequence=_SKIPPED))
    if front is None or front.kind is not HeaderLanguage.YAML:
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
    if not isinstance(node, MappingNode):
        return Definitions(
            None, (_error("bad-front-matter", "expected keys and values", front.opening, _SKIPPED),)
        )
    return _Reader(node, front.opening, plugin, unnamed, list(findings)).read()


def _error(code: str, message: str, span: Span, help: str = "") -> Finding:
    return Finding(code, message, Severity.ERROR, span, help=help)


@define
class _Reader:
    node: MappingNode
    opening: Span
    plugin: bool
    unnamed: str
    findings: list[Finding] = field(factory=list)

    def read(self) -> Definitions:
        name = self.node.get("name")
        if name is None and self.unnamed:
            name = ScalarNode(self.unnamed, self.opening)
        if (
            not isinstance(name, ScalarNode)
            or not isinstance(name.value, str)
            or not name.value.strip()
        ):
            span = name.span if name else self.opening
            return self._none("agent-missing-name", "the agent has no name", span)
        described = self.node.get("description")
        if not isinstance(described, ScalarNode) or described.value in (None, ""):
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
                memory=isinstance(memory, ScalarNode)
                and memory.value in ("user", "project", "local"),
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
        self.findings.append(find("plugin-agent-field-ignored", value.span, key=key))
        return None

    def _none(self, code: str, message: str, span: Span) -> Definitions:
        return Definitions(None, (*self.findings, _error(code, message, span, _SKIPPED)))

    def _mode(self) -> str | None:
        value = self._kept("permissionMode")
        if value is None:
            return None
        mode = value.value if isinstance(value, ScalarNode) else None
        if mode == "manual":
            return "default"
        if not isinstance(mode, str) or mode not in MODES:
            self.findings.append(
                Finding(
                    "unknown-mode",
                    "expected a permission mode; the host ignores this one",
                    Severity.WARNING,
                    value.span,
                    help="one of " + ", ".join(MODES),
                )
            )
            return None
        if mode == "bypassPermissions":
            self.findings.append(find("permission-mode-ignored", value.span, case="bypass"))
        return mode

    def _keys(self) -> None:
        for entry in self.node.entries:
            if entry.name in FIELDS:
                continue
            like_tools = _MISSPELT.get(_letters(entry.name))
            if like_tools:
                self.findings.append(
                    find(
                        "misspelt-key",
                        entry.key.span,
                        case="tools",
                        name=entry.name,
                        consequence=_CONSEQUENCES[like_tools],
                        meant=like_tools,
                    )
                )
                continue
            near = difflib.get_close_matches(entry.name, sorted(FIELDS), 1, 0.8)
            if near:
                self.findings.append(
                    find("misspelt-key", entry.key.span, case="near", name=entry.name, near=near[0])
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
    items = node.items if isinstance(node, SequenceNode) else (node,)
    for item in items:
        if isinstance(item, MappingNode):
            yield from (server_name(entry.name) for entry in item.entries)


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
