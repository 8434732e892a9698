"""Agent definitions: Markdown with front matter, and the mistakes in it.

The host silently skips a file without name or description, YAML that it cannot repair, and unknown
keys (2.1.329, observed). So a list under a misspelt key takes no tool away.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from policy.core import expressions as re
from policy.core.errors import PolicyError
from policy.core.finding import Finding, Severity
from policy.core.source import Place, Source, Span
from policy.core.values import define, field, frozen
from policy.files.frontmatter import HeaderLanguage, misplaced_front_matter, split_front_matter
from policy.files.nodes import MappingNode, Node, ScalarNode, SequenceNode, ShapeMistake, walk
from policy.files.text import cite
from policy.hosts.claude.data import find
from policy.hosts.claude.data import settings as known_hooks
from policy.hosts.claude.data.tools import ALIASES, FIELDS, MISSPELT, MODES, server_name
from policy.hosts.claude.hooks import Hook, read_hooks
from policy.hosts.fields import DeclaredTools, Presence, is_null, value_of
from policy.language.parse import parse_matcher
from policy.language.syntax import Agents, Matcher


def read_header(header: Span) -> tuple[Node | None, PolicyError | None]:
    """Return *header* as the host reads it, or None, and the mistake in it, if there is one."""
    from policy.files.yaml_nodes import read_yaml  # noqa: PLC0415  # where there are agents alone

    error = None
    try:
        read_yaml(header.source, header.start, header.end)
    except PolicyError as mistake:
        error = mistake
    return _read_or_none(header) or _repaired(header), error


def _read_or_none(part: Span, as_text: Mapping[int, int] | None = None) -> Node | None:
    from policy.files.yaml_nodes import read_loosely  # noqa: PLC0415  # where there are agents alone

    try:
        return read_loosely(part.source, part.start, part.end, as_text or {})
    except PolicyError:
        return None


_ENTRY: Final = re.compile(r"[A-Za-z_-]+:[ \t]+([^\n\r\u2028\u2029]+)")
_SPECIAL: Final = re.compile(r"[{}\[\]*&#!|>%@`]|: |^,")
_IN_QUOTES: Final = re.compile(r"\".*\"|'.*'")
# A list in brackets needs no quotes.
_LIST: Final = re.compile(r"\[[^\[\]]*\][ \t]*")


def _needs_quotes(value: str) -> bool:
    if not _SPECIAL.search(value) or _IN_QUOTES.fullmatch(value):
        return False
    is_list = _LIST.fullmatch(value) and _read_or_none(Source("", value).whole())
    return not isinstance(is_list, SequenceNode)


def _repaired(header: Span) -> Node | None:
    """Return *header* as read with quotes around the values that need them; None if unreadable."""
    values, at = dict[int, int](), header.start
    for line in header.text.split("\n"):
        found = _ENTRY.fullmatch(line)
        if found and _needs_quotes(found[1]):
            values[at + found.start(1)] = at + len(line)
        at += len(line) + 1
    node = _read_or_none(header, values)
    if node is None:
        return None
    read = {(each.span.start, each.span.end) for each in walk(node)}
    return node if values.items() <= read else None


def read_list(node: Node | None, key: str) -> tuple[DeclaredTools, list[Finding]]:
    """Return the list of tools at *key*, and the findings about it.

    The host cuts a string, and each entry of a list, at commas and spaces outside parentheses, and
    skips an entry that is empty or no text (2.1.329, observed).
    """
    if node is None:
        return DeclaredTools(Presence.ABSENT), []
    if is_null(node):
        return DeclaredTools(Presence.NULL, span=node.span), []
    if isinstance(node, SequenceNode) and not node.items:
        return DeclaredTools(Presence.EMPTY, span=node.span), []
    items = node.items if isinstance(node, SequenceNode) else (node,)
    others = [each for each in items if not isinstance(value_of(each), str | None)]
    findings = [find("wrong-type", item.span, key=key) for item in others]
    if len(others) == len(items):
        found = [find("wrong-type", node.span, key=key)]
        return DeclaredTools(Presence.ILL_TYPED, span=node.span), found
    matchers: list[Matcher] = []
    presence = Presence.EMPTY
    for item in items:
        value = value_of(item)
        if not isinstance(item, ScalarNode) or not isinstance(value, str):
            continue
        presence = Presence.LISTED if value.strip(", ") else presence
        for start, end in entries_in(value):
            text, span = value[start:end], item.part(start, end)
            try:
                matchers.append(parse_matcher(text, span))
            except PolicyError:
                findings.append(find("unknown-tool", span, case="text", name=cite(text)))
    return DeclaredTools(presence, tuple(matchers), span=node.span), findings


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


def unloadable(front: MappingNode) -> Iterator[ShapeMistake]:
    """Yield the mistakes in hooks for which the host skips an agent (2.1.329, observed)."""
    given = front.get("hooks")
    for entry in front.entries:
        is_scanned = entry.name not in {"hooks", *known_hooks.UNSCANNED}
        groups = entry.name not in known_hooks.EVENTS
        if is_scanned and _has_guards(entry.name, entry.value, groups=groups):
            yield ShapeMistake("it below `hooks`", f"`{entry.name}`", entry.value)
    if given is None or not value_of(given):
        return
    if not isinstance(given, MappingNode) or _is_group(given):
        wanted = "an object of events, each a list of matchers,"
        yield ShapeMistake(wanted, "`hooks`", given)
        return
    for entry in given.entries:
        listed = isinstance(entry.value, SequenceNode)  # as those of a misspelt event
        is_event = entry.name in known_hooks.EVENTS
        if not is_event and _has_guards(entry.name, entry.value, groups=not listed):
            yield ShapeMistake("an event", "what guards calls", entry.value)
    yield from read_hooks(given)[1]


def _has_guards(key: str, value: Node, *, groups: bool) -> bool:
    """Return whether *value*, at *key*, has hooks that guard calls, or any hooks in *groups*."""
    mappings = [each for each in walk(value) if isinstance(each, MappingNode)]
    inner = ((entry.name, entry.value) for each in mappings for entry in each.entries)
    named = any(n in known_hooks.GUARDS and _has_hooks(node) for n, node in ((key, value), *inner))
    return named or (groups and any(map(_is_group, mappings)))


def _is_group(node: MappingNode) -> bool:
    """Return whether *node* is a group of hooks, as they are below an event."""
    hooks = node.get("hooks")
    return hooks is not None and (node.get("matcher") is not None or _has_hooks(hooks))


def _has_hooks(node: Node) -> bool:
    if isinstance(node, SequenceNode):
        return bool(node.items)
    return not is_null(node)


@frozen
class Definition:
    """What the front matter of one agent says."""

    name: str  # as agents are started by
    tools: DeclaredTools = DeclaredTools(Presence.ABSENT)  # the tools it has
    disallowed: DeclaredTools = DeclaredTools(Presence.ABSENT)  # the tools it has not
    mode: str | None = None  # its permission mode, or None
    memory: bool = False  # whether it has a memory
    servers: tuple[str, ...] = ()  # names of the MCP servers that it brings along
    hooks: tuple[Hook, ...] = ()  # what runs while it does
    plugin: bool = False  # whether a plugin offers it
    place: Place | None = None  # of its name; None for one that is built in
    span: Span | None = field(default=None, repr=False)  # of its name
    # Key of its header -> where the value stands.
    spans: Mapping[str, Span] = field(factory=dict, eq=False, repr=False)

    def span_of(self, key: str) -> Span | None:
        """Return where the value of a key stands, or the name of the agent."""
        return self.spans.get(key, self.span)

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


_OWN_KEYS: Final = ("tools", "disallowedTools", "color", "permissionMode")


def looks_like_agent(source: Source, *, certainly: bool = False) -> bool:
    """Return whether a file has the header of an agent; *certainly*: a key of agents alone."""
    header = header_of(source)
    if "\nname:" not in header or "\ndescription:" not in header:
        return False
    return not certainly or any(f"\n{key}:" in header for key in _OWN_KEYS)


_SKIPPED: Final = "the host leaves the file out, so there is no such agent"


@lru_cache(maxsize=512)  # a diff reads the same text many times
def read_agent(
    source: Source, *, plugin: bool = False, unnamed: str = ""
) -> tuple[Definition | None, list[Finding]]:
    """Return the agent of *source*, called *unnamed* if it has no name, and its findings."""
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
        repaired = "the host reads it anyway, with quotes around what needs them"
        consequence = _SKIPPED if node is None else repaired
        findings += Finding.of(mistake, "bad-front-matter", consequence=consequence)
    if isinstance(node, MappingNode):
        return _Reader(node, front.opening, plugin, unnamed, findings).read(), findings
    if node is not None:
        findings.append(_bad("expected keys and values", front.opening))
    return None, findings


def _bad(message: str, span: Span) -> Finding:
    return Finding("bad-front-matter", message, Severity.ERROR, span, help=_SKIPPED)


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
            self.findings.append(_bad(mistake.message, mistake.node.span))
            return None
        name, span = named
        self._note_misspelt()
        servers = self._kept("mcpServers")
        return Definition(
            name,
            self._list("tools"),
            self._list("disallowedTools"),
            self._mode(),
            memory=value_of(self.node.get("memory")) in ("user", "project", "local"),
            # `- name: {command: …}` brings one along; `- name` is one that is there already.
            servers=tuple(
                server_name(entry.name)
                for item in (servers.items if isinstance(servers, SequenceNode) else (servers,))
                for entry in (item.entries if isinstance(item, MappingNode) else ())
            ),
            hooks=read_hooks(self._kept("hooks"))[0],
            plugin=self.plugin,
            place=span.place,
            span=span,
            spans={entry.name: entry.value.span for entry in self.node.entries},
        )

    def _named(self) -> tuple[str, Span] | None:
        given = self.node.get("name")
        name = self.unnamed if given is None else value_of(given)
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
        """Return the value of a key that the host ignores in agents of plugins."""
        value = self.node.get(key)
        if value is None or not self.plugin:
            return value
        self.findings.append(find("plugin-agent-field-ignored", value.span, key=key))
        return None

    def _mode(self) -> str | None:
        value = self._kept("permissionMode")
        if value is None:
            return None
        mode = value_of(value)
        if mode == "manual":
            return "default"
        if not isinstance(mode, str) or mode not in MODES:
            help_ = "one of " + ", ".join(MODES)
            self.findings.append(find("unknown-mode", value.span, case="agent", help=help_))
            return None
        if mode == "bypassPermissions":
            self.findings.append(find("permission-mode-ignored", value.span, case="bypass"))
        return mode

    def _note_misspelt(self) -> None:
        for name, span in ((entry.name, entry.key.span) for entry in self.node.entries):
            meant = MISSPELT.get(letters_of(name), "")
            near = difflib.get_close_matches(name, sorted(FIELDS), 1, 0.8)
            if name not in FIELDS and (meant or near):
                case, word = meant or "near", "".join(near)
                self.findings.append(find("misspelt-key", span, case=case, name=name, near=word))


def letters_of(key: str) -> str:
    """Return the letters of a key in lower case."""
    return "".join(filter(str.isalpha, key)).casefold()
