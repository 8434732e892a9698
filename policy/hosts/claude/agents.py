"""Agent definitions: Markdown with front matter, and what is wrong with them.

What the host does not read it leaves out without a word (2.1.329, observed): a file without a name
or a description, YAML that it cannot mend, and every key it does not know. The last leaves an agent
all tools that a list under a misspelt key was to take away.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Final

from policy.core import expressions as re
from policy.core.errors import PolicyError
from policy.core.finding import Finding, Severity
from policy.core.source import Place, Source, Span
from policy.core.values import define, field, frozen
from policy.files.frontmatter import HeaderLanguage, misplaced_front_matter, split_front_matter
from policy.files.nodes import (
    MappingNode,
    Node,
    NodeEntry,
    ScalarNode,
    SequenceNode,
    ShapeMistake,
    walk,
)
from policy.files.text import cite
from policy.hosts.claude.data import find
from policy.hosts.claude.data import settings as known_hooks
from policy.hosts.claude.data.tools import ALIASES, FIELDS, MISSPELT, MODES, server_name
from policy.hosts.claude.hooks import Hook, read_hooks
from policy.language.parse import parse_matcher
from policy.language.syntax import Agents, DeclaredTools, Matcher, Presence

__all__ = [
    "Definition",
    "content_of",
    "entries_in",
    "header_of",
    "letters_of",
    "looks_like_agent",
    "read_agent",
    "read_header",
    "read_list",
    "tool_of",
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
    return _loosely(header) or _mended(header), error


def _loosely(part: Span) -> Node | None:
    from policy.files.yaml_nodes import read_loosely  # noqa: PLC0415  # where there are agents alone

    try:
        return read_loosely(part.source, part.start, part.end)
    except PolicyError:
        return None


_ENTRY: Final = re.compile(r"[A-Za-z_-]+:[ \t]+([^\n\r\u2028\u2029]+)")
_SPECIAL: Final = re.compile(r"[{}\[\]*&#!|>%@`]|: |^,")
_IN_QUOTES: Final = re.compile(r"\".*\"|'.*'")
# A list in brackets stays one, where it is a list.
_LIST: Final = re.compile(r"\[[^\[\]]*\][ \t]*")


def _needs_quotes(value: str) -> bool:
    if not _SPECIAL.search(value) or _IN_QUOTES.fullmatch(value):
        return False
    is_list = _LIST.fullmatch(value) and _loosely(Source("", value).whole())
    return not isinstance(is_list, SequenceNode)


def _mended(header: Span) -> Node | None:
    """Return what the host reads with quotes around the values that need them.

    Such a value is read as a plain word of its length, so that all places are those of the file.
    """
    source, letters, values = header.source, [*header.source.text], dict[int, int]()
    at = header.start
    for line in header.text.split("\n"):
        found = _ENTRY.fullmatch(line)
        if found and _needs_quotes(found[1]):
            start, end = at + found.start(1), at + len(line)
            values[start] = end
            letters[start:end] = "x" * (end - start)
        at += len(line) + 1
    node = _loosely(Source(source.name, "".join(letters)).span(header.start, header.end))
    if node is None:
        return None
    read = {(each.span.start, each.span.end) for each in walk(node)}
    return _placed(node, source, values) if values.items() <= read else None


def _placed(node: Node, source: Source, values: Mapping[int, int]) -> Node:
    """Return *node* in *source*, with the text of the *values* there."""
    match node:
        case ScalarNode():
            return _placed_scalar(node, source, values)
        case SequenceNode():
            items = tuple(_placed(item, source, values) for item in node.items)
            return SequenceNode(items, _span_in(source, node))
        case MappingNode():
            entries = tuple(
                NodeEntry(
                    _placed_scalar(entry.key, source, values), _placed(entry.value, source, values)
                )
                for entry in node.entries
            )
            return MappingNode(entries, _span_in(source, node))


def _placed_scalar(node: ScalarNode, source: Source, values: Mapping[int, int]) -> ScalarNode:
    span = _span_in(source, node)
    value = span.text if span.start in values else node.value
    return ScalarNode(value, span, quoted=node.quoted)


def _span_in(source: Source, node: Node) -> Span:
    return source.span(node.span.start, node.span.end)


# --- lists of tools, in every spelling that the host takes ---------------------------

# A string is cut at commas and spaces outside parentheses, and so is each entry of a
# list. A tab or a line break cuts nothing, so that what it stands between is no tool; an
# entry that is left empty is none, and so is one of a list that is no text (2.1.329, observed).


def read_list(node: Node | None, key: str) -> tuple[DeclaredTools, list[Finding]]:
    """Return the list that the value of *key* is, and what is wrong with it."""
    if node is None:
        return DeclaredTools(Presence.ABSENT), []
    if isinstance(node, ScalarNode) and node.value is None:
        return DeclaredTools(Presence.NULL, span=node.span), []
    if isinstance(node, SequenceNode) and not node.items:
        return DeclaredTools(Presence.EMPTY, span=node.span), []
    items = node.items if isinstance(node, SequenceNode) else (node,)
    others = [item for item in items if not _is_text(item)]
    if len(others) == len(items):
        return DeclaredTools(Presence.ILL_TYPED, span=node.span), [
            find("wrong-type", node.span, key=key)
        ]
    findings = [find("wrong-type", item.span, key=key) for item in others]
    matchers: list[Matcher] = []
    texts = [item for item in items if isinstance(item, ScalarNode) and isinstance(item.value, str)]
    for item in texts:
        for start, end in entries_in(str(item.value)):
            text, span = str(item.value)[start:end], item.part(start, end)
            try:
                matchers.append(parse_matcher(text, span))
            except PolicyError:
                findings.append(find("unknown-tool", span, case="text", name=cite(text)))
    is_listed = any(str(item.value).strip(", ") for item in texts)
    presence = Presence.LISTED if is_listed else Presence.EMPTY
    return DeclaredTools(presence, tuple(matchers), span=node.span), findings


def _is_text(node: Node) -> bool:
    return isinstance(node, ScalarNode) and (node.value is None or isinstance(node.value, str))


def tool_of(matcher: Matcher) -> str:
    """Return the tool that an entry of a list names."""
    return ALIASES.get(matcher.tool, matcher.tool)


def content_of(matcher: Matcher) -> str:
    """Return the specifier of an entry of a list; "" for every call of its tool."""
    text = "" if matcher.specifier is None else matcher.specifier.text.strip()
    return "" if text == "*" else text


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


def _has_guards(name: str, node: Node) -> bool:
    """Return whether hooks that guard calls are in the value of a key, or it is one for them."""
    is_guard = name in known_hooks.GUARDS and _has_hooks(node)
    return is_guard or _holds_guards(node, groups=name not in known_hooks.EVENTS)


def _holds_guards(node: Node, *, groups: bool) -> bool:
    """Return whether hooks that guard calls are somewhere in *node*.

    Where *groups* says so, a group of hooks without its event counts as well.
    """
    mappings = [each for each in walk(node) if isinstance(each, MappingNode)]
    entries = (entry for each in mappings for entry in each.entries)
    named = any(entry.name in known_hooks.GUARDS and _has_hooks(entry.value) for entry in entries)
    return named or (groups and any(map(_is_matcher, mappings)))


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
        listed = [matcher for matcher in self.tools.matchers if tool_of(matcher) == "Agent"]
        if not listed or not all(map(content_of, listed)):
            return None
        names: list[str] = []
        for matcher in listed:
            given = matcher.specifier
            names += given.names if isinstance(given, Agents) else [content_of(matcher)]
        return tuple(name for name in names if "*" not in name)


def header_of(source: Source) -> str:
    """Return the front matter of a file behind a line break, readable or not; "" for none."""
    try:
        front = split_front_matter(source)
    except PolicyError:
        return ""
    return "" if front is None else "\n" + front.header.text


def looks_like_agent(source: Source, *, certainly: bool = False) -> bool:
    """Return whether the file has the front matter of an agent, readable or not.

    Args:
        source: a Markdown file.
        certainly: whether it must also have a key that little else has.

    """
    header = header_of(source)
    if "\nname:" not in header or "\ndescription:" not in header:
        return False
    return not certainly or any(f"\n{key}:" in header for key in _KEYS_OF_AGENTS)


_KEYS_OF_AGENTS: Final = ("tools", "disallowedTools", "color", "permissionMode")


_SKIPPED: Final = "the host leaves the file out, so there is no such agent"


def read_agent(
    source: Source, *, plugin: bool = False, unnamed: str = ""
) -> tuple[Definition | None, list[Finding]]:
    """Return the agent that *source* defines, if any, and what is wrong with it.

    Args:
        source: the file.
        plugin: whether it is one of a plugin.
        unnamed: what an agent without a name is called; "" is nothing, so there is none.

    """
    try:
        front = split_front_matter(source)
    except PolicyError as error:
        return None, [*Finding.of(error, "bad-front-matter", consequence=_SKIPPED)]
    if front is None or front.kind is not HeaderLanguage.YAML:
        late = misplaced_front_matter(source)
        return None, [] if late is None else [*Finding.of(late, "bad-front-matter")]
    node, mistake = read_header(front.header)
    findings: list[Finding] = []
    if mistake is not None:
        consequence = _SKIPPED if node is None else READ_ANYWAY
        findings += Finding.of(mistake, "bad-front-matter", consequence=consequence)
    if isinstance(node, MappingNode):
        return _Reader(node, front.opening, plugin, unnamed, findings).read(), findings
    if node is not None:
        findings.append(_bad("expected keys and values", front.opening, _SKIPPED))
    return None, findings


def _bad(message: str, span: Span, help: str = "") -> Finding:
    return Finding("bad-front-matter", message, Severity.ERROR, span, help=help)


@define
class _Reader:
    """Reads the header of one agent, and adds to its findings."""

    node: MappingNode
    opening: Span
    plugin: bool
    unnamed: str
    findings: list[Finding]

    def read(self) -> Definition | None:
        """Return the agent; None, with the reason among the findings, where there is none."""
        named = self._named()
        if named is None:
            return None
        for mistake in () if self.plugin else unloadable(self.node):
            self.findings.append(_bad(mistake.message, mistake.node.span, _SKIPPED))
            return None
        self._keys()
        name, span = named
        memory = self.node.get("memory")
        return Definition(
            name,
            self._list("tools"),
            self._list("disallowedTools"),
            self._mode(),
            memory=isinstance(memory, ScalarNode) and memory.value in ("user", "project", "local"),
            servers=tuple(_servers(self._kept("mcpServers"))),
            hooks=read_hooks(self._kept("hooks"))[0],
            plugin=self.plugin,
            place=span.place,
            span=span,
        )

    def _named(self) -> tuple[str, Span] | None:
        given = self.node.get("name")
        name = given.value if isinstance(given, ScalarNode) else None
        name = self.unnamed if given is None else name
        span = self.opening if given is None else given.span
        described = self.node.get("description")
        if not isinstance(name, str) or not name.strip():
            self.findings.append(find("agent-missing-name", span))
        elif not isinstance(described, ScalarNode) or described.value in (None, ""):
            self.findings.append(find("agent-missing-description", span, name=cite(name)))
        elif not self.plugin and (":" in name or name.startswith("-") or len(name) > 256):
            self.findings.append(find("agent-name-reserved", span, name=cite(name)))
        else:
            return name.strip(), span
        return None

    def _list(self, key: str) -> DeclaredTools:
        value = self.node.get(key)
        listed, found = read_list(value, key)
        self.findings += found
        return listed

    def _kept(self, key: str) -> Node | None:
        """Return the value of a key that agents of plugins do not have."""
        value = self.node.get(key)
        if value is None or not self.plugin:
            return value
        self.findings.append(find("plugin-agent-field-ignored", value.span, key=key))
        return None

    def _mode(self) -> str | None:
        value = self._kept("permissionMode")
        if value is None:
            return None
        mode = value.value if isinstance(value, ScalarNode) else None
        if mode == "manual":
            return "default"
        if not isinstance(mode, str) or mode not in MODES:
            help_ = "one of " + ", ".join(MODES)
            self.findings.append(find("unknown-mode", value.span, case="agent", help=help_))
            return None
        if mode == "bypassPermissions":
            self.findings.append(find("permission-mode-ignored", value.span, case="bypass"))
        return mode

    def _keys(self) -> None:
        for name, span in ((entry.name, entry.key.span) for entry in self.node.entries):
            meant = MISSPELT.get(letters_of(name), "")
            near = difflib.get_close_matches(name, sorted(FIELDS), 1, 0.8)
            if name in FIELDS:
                continue
            if meant:
                self.findings.append(find("misspelt-key", span, case=meant, name=name))
            elif near:
                found = find("misspelt-key", span, case="near", name=name, near=near[0])
                self.findings.append(found)


def _servers(node: Node | None) -> Iterator[str]:
    # `- name: {command: …}` brings one along; `- name` is one that is there already.
    items = node.items if isinstance(node, SequenceNode) else (node,)
    for item in items:
        if isinstance(item, MappingNode):
            yield from (server_name(entry.name) for entry in item.entries)


def letters_of(key: str) -> str:
    """Return the letters of a key, small."""
    return "".join(filter(str.isalpha, key)).casefold()
