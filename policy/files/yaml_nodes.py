"""YAML to nodes with places, and why a text is not YAML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, Protocol, assert_never

import attrs
import yaml

from policy.core import limits
from policy.core.errors import PolicyError, PolicyErrors
from policy.core.source import Source, Span
from policy.files.nodes import (
    VALUES,
    MappingNode,
    Node,
    NodeEntry,
    ScalarNode,
    SequenceNode,
    Value,
    describe,
)
from policy.files.text import BYTE_ORDER_MARK, cite

__all__ = [
    "ENTRY",
    "STRING",
    "UNPRINTABLE",
    "Builder",
    "Range",
    "YamlLine",
    "build",
    "closing",
    "explain",
    "line_at",
    "quoted",
    "read_loosely",
    "read_yaml",
]


@attrs.frozen
class Range:
    """The part of a source that is read as YAML."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        """The characters of the part."""
        return self.source.text[self.start : self.end]

    def span(self, start: int, end: int) -> Span:
        """Return a span of the source, by its offsets there."""
        return self.source.span(start, end)


@attrs.frozen
class YamlLine:
    """A line, and ``key: value`` where it is that.

    ``at`` is where the parser stopped on it; ``value`` starts at ``value_start``
    and ends with the line.
    """

    part: Range
    at: int
    start: int
    text: str
    key: str = ""
    value: str = ""
    value_start: int = 0

    def span(self, start: int, end: int) -> Span:
        """Return characters *start* to *end* of the value."""
        return self.part.span(self.value_start + start, self.value_start + end)

    def whole(self) -> Span:
        """Return the line without the blanks around it."""
        return self.part.span(self.start + self.indent, self.start + len(self.text.rstrip()))

    @property
    def indent(self) -> int:
        """How many blanks the line starts with."""
        return len(self.text) - len(self.text.lstrip())


ENTRY: Final = re.compile(
    r"(?:[ ]|-[ ])*+"
    r"(?P<key>\"[^\"]*+\"|'[^']*+'|[^\s:#\"'\[\]{},&*!|>%@`-][^:]*+)[ ]*:(?:[ \t]++|$)"
    r"(?P<value>.*)"
)
_ITEM: Final = re.compile(r"[ ]*+(?:-[ ]++)++(?P<value>.*)")


def line_at(part: Range, offset: int) -> YamlLine:
    """Return the line of *offset*."""
    text = part.source.text
    start = max(text.rfind("\n", part.start, offset) + 1, part.start)
    end = text.find("\n", offset, part.end)
    line = text[start : part.end if end < 0 else end].rstrip("\r")
    found = ENTRY.match(line) or _ITEM.match(line)
    if not found:
        return YamlLine(part, offset, start, line)
    groups = found.groupdict()
    key, value = groups.get("key", ""), groups["value"].rstrip()
    return YamlLine(part, offset, start, line, key, value, start + found.start("value"))


STRING: Final = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^']|'')*+'", re.DOTALL)

# Within brackets: strings, comments and brackets.
_BRACKETED: Final = re.compile(STRING.pattern + r"|(?<=[ \t])#[^\n]*|[\[\]{}]", re.DOTALL)


def closing(text: str, start: int, end: int) -> int | None:
    """Return the offset after the bracket that closes the one at *start*."""
    depth = 0
    for found in _BRACKETED.finditer(text, start, end):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return None


_SHOWN: Final = 70  # characters of an example in a help line


def quoted(line: YamlLine) -> str:
    """Return help that shows the value in quotes, if it is short enough to show."""
    value = line.value.strip()
    name = f"{line.key}: " if line.key else "- "
    if len(name) + len(value) <= _SHOWN:
        if not re.search(r'["\\]', value):
            return f'put the value in quotes: `{name}"{value}"`'
        if "'" not in value:
            return f"put the value in quotes: `{name}'{value}'`"
    return f"put the value in quotes, or write `{name}>-` and the text below it, indented"


# Why a text is not YAML, in the words of the person who wrote it.
#
# What a YAML parser says is about its own state, and the two parsers that may be
# in use say it differently. Here only the place counts: the line is looked at
# again for the mistakes people make, the commonest first, and whichever explains
# it is reported.


def explain(part: Range, offsets: Iterable[int]) -> PolicyError:
    """Return what is wrong with *part*, which cannot be read.

    The first of *offsets* is where a parser stopped; if there is a second, what
    it was reading starts there.
    """
    offsets = [min(max(offset, part.start), part.end) for offset in offsets] or [part.start]
    error = _conflict(part) or _unclosed(part, offsets[-1])
    if error is not None:
        return error
    lines = [line_at(part, offset) for offset in offsets]
    for line in lines:
        for mistake in _MISTAKES:
            error = mistake(line)
            if error is not None:
                return error
    return _unexpected(lines[0])


# --- mistakes of more than a line ------------------------------------------

_CONFLICT: Final = re.compile(r"^(?:<{7} .*|={7}\r?$|>{7} .*)", re.MULTILINE)


def _conflict(part: Range) -> PolicyError | None:
    found = _CONFLICT.search(part.source.text, part.start, part.end)
    if not found:
        return None
    span = part.span(found.start(), found.start() + len(found[0].rstrip()))
    return PolicyError("a merge conflict is left in the text", span, help="resolve it")


_CLOSERS: Final = {"[": "]", "{": "}", "'": "'", '"': '"'}


def _unclosed(part: Range, offset: int) -> PolicyError | None:
    """Find the bracket or quote at *offset* that nothing closes."""
    text, sign = part.source.text, part.source.text[offset : min(offset + 1, part.end)]
    if sign in ("[", "{"):
        closed = closing(text, offset, part.end) is not None
    elif sign in ("'", '"'):
        closed = STRING.match(text, offset, part.end) is not None
    else:
        return None
    if closed:
        return None
    line = text[offset : part.end].partition("\n")[0]
    if sign in ("[", "{") and " #" in line:
        mend = "` #` starts a comment that runs to the end of its line; put the item in quotes"
    elif sign in ("[", "{"):
        mend = f"close it by `{_CLOSERS[sign]}`, or quote the value if it is text"
    else:
        mend = "close it at the end of the value"
    return PolicyError(f"the `{sign}` is not closed", part.span(offset, offset + 1), help=mend)


# --- mistakes of a line -----------------------------------------------------


def _tab(line: YamlLine) -> PolicyError | None:
    found = re.match(r"[ ]*+(\t++)\s*+\S", line.text)
    if not found:
        return None
    span = line.part.span(line.start + found.start(1), line.start + found.end(1))
    return PolicyError("a tab indents this line", span, help="YAML is indented with spaces")


def _placeholder(line: YamlLine) -> PolicyError | None:
    found = re.match(r"[^:\"'{]*+(?P<it>\{\{[^{}]*+\}\}|\{%[^%]*+%\})", line.text)
    if not found:
        return None
    return PolicyError(
        f"{cite(found['it'])} is the placeholder of a template, not YAML",
        line.part.span(line.start + found.start("it"), line.start + found.end("it")),
        help="fill the template in; a placeholder that is meant as text needs quotes",
    )


# Characters no unquoted value may start with, and what is to be said of them.
_STARTERS: Final = {
    "*": "`*` starts an alias",
    "&": "`&` starts an anchor",
    "!": "`!` starts a tag",
    "%": "`%` starts a directive",
    "@": "`@` is reserved",
    "`": "a backtick is reserved",
}


def _starter(line: YamlLine) -> PolicyError | None:
    meaning = _STARTERS.get(line.value[:1])
    if meaning is None:
        return None
    return PolicyError(f"{meaning} at the start of a value", line.span(0, 1), help=quoted(line))


def _block(line: YamlLine) -> PolicyError | None:
    found = re.match(r"[|>][-+0-9]*+[ \t]*+(?!#)(\S.*)", line.value)
    if not found:
        return None
    sign = line.value[0]
    return PolicyError(
        f"expected a new line after `{sign}`, found {cite(found[1])}",
        line.span(found.start(1), found.end(1)),
        help=f"`{sign}` starts a block of text, which stands below it, indented; "
        f"text that itself starts with `{sign}` needs quotes",
    )


_BRACKETS: Final = {"[": "list", "{": "mapping"}


def _bracket(line: YamlLine) -> PolicyError | None:
    """Find ``[a] [b]``, which ends before its line does."""
    sign = line.value[:1]
    close = closing(line.value, 0, len(line.value)) if sign in _BRACKETS else None
    rest = re.compile(r"[ \t]*+(?!#)(\S.*)").match(line.value, close) if close else None
    if not rest:
        return None
    if rest[1].strip("]}"):
        mend = f"`{sign}` at the start of a value starts a {_BRACKETS[sign]}; {quoted(line)}"
    else:
        mend = "there is a closing bracket too many"
    return PolicyError(
        f"expected the end of the line after {cite(line.value[:close])}, found {cite(rest[1])}",
        line.span(rest.start(1), rest.end(1)),
        help=mend,
    )


def _nested_bracket(line: YamlLine) -> PolicyError | None:
    """Find ``[a [b]]``."""
    found = re.match(r"\[[^\]\[{}\"']*[^\s,\[]([ \t]*)\[", line.value)
    if not found:
        return None
    span = line.span(found.end() - 1, found.end())
    return PolicyError("expected `,` or `]`, found `[`", span, help=quoted(line))


def _item(line: YamlLine) -> PolicyError | None:
    """Find the item of a list in brackets that no item may be."""
    if not line.value.startswith("["):
        return None
    at = max(line.at - line.value_start, 1)
    start = max(line.value.rfind(",", 0, at), 0) + 1
    ends = (line.value.find(sign, at) for sign in ",]")
    item = line.value[start : min((end for end in ends if end >= 0), default=at)]
    start += len(item) - len(item.lstrip())
    item = item.strip()
    if item[:1] in _STARTERS:
        message = f"{_STARTERS[item[0]]} at the start of an item"
    elif ": " in item and item[0] not in "[{\"'":
        message = "`: ` in an item without quotes"
    else:
        return None
    mend = "put the item in quotes" + ("" if '"' in item else f': `"{item}"`')
    return PolicyError(message, line.span(start, start + len(item)), help=mend)


def _quote(line: YamlLine) -> PolicyError | None:
    """Find ``"a" b``, which ends before its line does, and what no string may hold."""
    sign, text = line.value[:1], line.part.source.text
    if sign not in ("'", '"'):
        return None
    string = STRING.match(text, line.value_start, line.part.end)
    if not string:
        return _unclosed(line.part, line.value_start)
    rest = re.compile(r"[ \t]*+([^\s#].*)").match(text, string.end(), line.part.end)
    if not rest:
        return _escape(line, string[0])
    return PolicyError(
        f"expected the end of the line after the closing `{sign}`, found {cite(rest[1])}",
        line.part.span(rest.start(1), rest.start(1) + len(rest[1].rstrip())),
        help=f"a `{sign}` at the start of a value must close at its end; quote the whole value",
    )


_ESCAPE: Final = re.compile(
    r"\\(?:[0abt\tnvfre \"/\\N_LP\n\r]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
)


def _escape(line: YamlLine, string: str) -> PolicyError | None:
    for found in re.finditer(r"\\.", string, re.DOTALL):
        if string[0] == '"' and not _ESCAPE.match(string, found.start()):
            return PolicyError(
                f"{cite(found[0])} is not an escape of YAML",
                line.span(*found.span()),
                help=f"write `\\{found[0]}`, or use single quotes, where `\\` is itself",
            )
    return None


def _dash(line: YamlLine) -> PolicyError | None:
    if not line.key or not re.match(r"-(?:[ \t]|$)", line.value):
        return None
    return PolicyError(
        "`- ` on the line of its key",
        line.span(0, 1),
        help="items of a list stand below their key, each on a line of its own",
    )


def _colon(line: YamlLine) -> PolicyError | None:
    """Find ``description: this: that``."""
    found = re.search(r":(?:[ \t]|$)", line.value)
    if not found or line.value[0] in "[{\"'|>":
        return None
    head = line.value[: found.start()]
    if head.count("(") > head.count(")"):
        rule = re.sub(r":[ \t]+", ":", line.value)
        mend = f"put the rule in quotes, or leave no blank after `:`: {cite(rule)}"
    else:
        mend = quoted(line)
    span = line.span(found.start(), found.start() + 1)
    return PolicyError("`: ` in a value without quotes", span, help=mend)


def _continued(line: YamlLine) -> PolicyError | None:
    """Find ``second: line`` indented below ``key: first line``."""
    if not line.key:
        return None
    above = line.part.source.text[line.part.start : line.start].splitlines()
    outer = (text for text in reversed(above) if text.strip() and _indent(text) < line.indent)
    owner = ENTRY.match(next(outer, ""))
    if owner is None or not owner["value"] or owner["value"][0] in "[{|>\"'":
        return None
    colon = line.part.source.text.rindex(":", line.start, line.value_start)
    return PolicyError(
        f"`: ` in a line that continues the value of {cite(owner['key'])}",
        line.part.span(colon, colon + 1),
        help="a long text needs `>-` after its key, and every line of it indented; "
        "a key starts at the column of the keys above it",
    )


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _keyless(line: YamlLine) -> PolicyError | None:
    """Find text where a key must stand."""
    if line.key or not line.text.strip() or re.match(r"\s*(?:[-#\[{}\],\"']|\.\.\.)", line.text):
        return None
    return PolicyError(
        f"expected `key: value`, found {cite(line.text)}",
        line.whole(),
        help="a long text needs `>-` after its key, and every line of it indented",
    )


# Which mistakes are looked for, in this order.
_MISTAKES: Final[tuple[Callable[[YamlLine], PolicyError | None], ...]] = (
    _tab,
    _placeholder,
    _starter,
    _block,
    _bracket,
    _nested_bracket,
    _item,
    _quote,
    _dash,
    _colon,
    _continued,
    _keyless,
)


def _unexpected(line: YamlLine) -> PolicyError:
    rest = line.part.source.text[line.at : line.part.end]
    if not rest.strip():
        return PolicyError(
            "the text ends in the middle of a value", line.part.span(line.at, line.at)
        )
    found = rest.partition("\n")[0].strip()
    what = cite(found) if found else "the end of the line"
    return PolicyError(
        f"expected the next `key: value` or list item, found {what}",
        line.part.span(line.at, line.at + max(len(found), 1)),
        help="keys of one mapping, and items of one list, start at the same column",
    )


# YAML to nodes, keeping places and refusing what makes text mean something else.
#
# Anchors, tags, repeated keys, keys that are not text and second documents are
# mistakes here: each lets a file say one thing to a reader and another to a
# program. Plain words are resolved by the core schema of YAML 1.2, as the hosts'
# own readers do, so that ``yes`` and ``on`` stay text.
#
# Nodes are built from parser events, one at a time, never from composed nodes:
# composing recurses in C and a deep document ends the process.


_LOADER: Final[type] = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


def read_yaml(source: Source, start: int = 0, end: int | None = None) -> Node:
    """Return the document in *source* from *start* up to *end*.

    An empty document is null. Raises `PolicyError` where the text is not YAML,
    and `PolicyErrors` for every other mistake at once.
    """
    end = len(source.text) if end is None else end
    if source.text.startswith(BYTE_ORDER_MARK, start, end):
        start += 1
    part = Range(source, start, end)
    _check_text(part)
    builder = Builder(part)
    root = build(builder, part)
    if builder.errors:
        raise PolicyErrors(builder.errors)
    return root


def build(builder: Builder, part: Range) -> Node:
    """Return what *builder* makes of the text. Raises `PolicyError` where it is not YAML."""
    try:
        for event in yaml.parse(part.text, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        marks = (error.problem_mark, error.context_mark)
        raise explain(part, [part.start + mark.index for mark in marks if mark]) from None
    return builder.root or ScalarNode(None, part.span(part.start, part.start))


# What YAML allows in a file; a parser in C and one in Python tell this apart
# with different words and offsets, so neither is asked.
UNPRINTABLE: Final = re.compile(
    "[^\x09\x0a\x0d\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)


def _check_text(part: Range) -> None:
    if part.end - part.start > limits.FILE_BYTES:
        raise PolicyError(
            f"the text has {part.end - part.start:,} characters; "
            f"at most {limits.FILE_BYTES:,} are read",
            part.source.span(part.start, part.start),
        )
    bad = UNPRINTABLE.search(part.source.text, part.start, part.end)
    if bad:
        raise PolicyError(
            f"the character U+{ord(bad[0]):04X} is not allowed in YAML",
            part.source.span(bad.start(), bad.end()),
            help="remove it, or write it as an escape in a double-quoted string",
        )


# After so many, one more helps nobody.
_MISTAKES_YAML_NODES: Final = 100


class _Mark(Protocol):
    """A place, as both parsers give it."""

    @property
    def index(self) -> int:
        """Characters from the start of the text."""


@attrs.define
class _Open:
    """A list or mapping whose end has not come yet."""

    start: int
    keyed: bool
    items: list[Node] = attrs.Factory(list)
    entries: list[NodeEntry] = attrs.Factory(list)
    names: dict[str, Span] = attrs.Factory(dict)
    key: ScalarNode | None = None

    def end(self) -> int:
        """Return where the last child ends."""
        if self.entries:
            return self.entries[-1].value.span.end
        return self.items[-1].span.end if self.items else self.start


class Builder:
    """Makes nodes of events, and a list of what is wrong with them."""

    def __init__(self, part: Range) -> None:
        self.source = part.source
        self.offset = part.start
        self.root: Node | None = None
        self.errors: list[PolicyError] = []
        self._open: list[_Open] = []
        self._count = 0

    def take(self, event: yaml.Event) -> None:
        """Add what *event* says."""
        match event:
            case yaml.ScalarEvent():
                self._check_properties(event)
                self._add(self._scalar(event))
            case yaml.AliasEvent():
                self._refuse_alias(event)
                self._add(ScalarNode(None, self._span(event)))
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                self._check_properties(event)
                self._start(event)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._add(self._close(event))
            case yaml.DocumentStartEvent() if self.root is not None:
                raise PolicyError(
                    "a second document starts here",
                    self._span(event),
                    help="keep one document; nothing after the first is read",
                )

    def _note(self, error: PolicyError) -> None:
        self.errors.append(error)
        if len(self.errors) == _MISTAKES_YAML_NODES:
            last = PolicyError(
                f"{_MISTAKES_YAML_NODES} mistakes; the text is not read further", error.span
            )
            raise PolicyErrors([*self.errors, last])

    def _span(self, event: yaml.Event) -> Span:
        return self.source.span(self._at(event.start_mark), self._at(event.end_mark))

    def _at(self, mark: _Mark | None) -> int:
        # Annotated as optional; the parsers set it on every event.
        return self.offset + (mark.index if mark else 0)

    def _scalar(self, event: yaml.ScalarEvent) -> ScalarNode:
        span = self._span(event)
        if event.style in ("'", '"'):
            return ScalarNode(event.value, span, quoted=True)
        if event.style in ("|", ">"):
            return ScalarNode(
                event.value, span.source.span(span.start, span.start + len(span.text.rstrip()))
            )
        return ScalarNode(self._resolve(event.value, span), span)

    def _resolve(self, text: str, span: Span) -> Value:
        if text in _WORDS:
            return _WORDS[text]
        if not _NUMBER.fullmatch(text):
            return text
        if len(text) > _DIGITS:
            self._note(PolicyError(f"the number has more than {_DIGITS} digits", span))
            return None
        return _number(text)

    def _start(self, event: yaml.CollectionStartEvent) -> None:
        if len(self._open) == limits.NESTING:
            raise PolicyError(
                f"lists and mappings are nested more than {limits.NESTING} deep", self._span(event)
            )
        start = self._at(event.start_mark)
        self._open.append(_Open(start, isinstance(event, yaml.MappingStartEvent)))

    def _close(self, event: yaml.CollectionEndEvent) -> Node:
        opened = self._open.pop()
        # The mark of a block's end is where the next thing starts, far below.
        bracketed = self.source.text[opened.start] in "[{"
        end = self._at(event.end_mark) if bracketed else opened.end()
        span = self.source.span(opened.start, end)
        if opened.keyed:
            return MappingNode(tuple(opened.entries), span)
        return SequenceNode(tuple(opened.items), span)

    def _add(self, node: Node) -> None:
        self._count += 1
        if self._count > VALUES:
            raise PolicyError(f"the text holds more than {VALUES:,} values", node.span)
        if not self._open:
            self.root = node
            return
        into = self._open[-1]
        if not into.keyed:
            into.items.append(node)
        elif into.key is None:
            into.key = self._key(node, into)
        else:
            into.entries.append(NodeEntry(into.key, node))
            into.key = None

    def _key(self, node: Node, into: _Open) -> ScalarNode:
        if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
            self._note(_no_key(node))
            return ScalarNode("", node.span)
        first = into.names.setdefault(node.value, node.span)
        if first is not node.span:
            error = PolicyError(
                f"the key {cite(node.value)} is there twice",
                node.span,
                help=f"it is first at {first.place}; keep one of them",
            )
            self._note(error)
        return node

    def _check_properties(self, event: yaml.NodeEvent) -> None:
        tag = getattr(event, "tag", None)
        span = self._span(event)
        if event.anchor:
            self._note(
                PolicyError(
                    f"`&{event.anchor}` is an anchor, and anchors are not read",
                    _property(span, "&"),
                    help="write the value out; text that starts with `&` needs quotes",
                )
            )
        if tag:
            self._note(
                PolicyError(
                    f"{cite(_property(span, '!').text)} is a tag, and tags are not read",
                    _property(span, "!"),
                    help="remove it; text that starts with `!` needs quotes",
                )
            )

    def _refuse_alias(self, event: yaml.AliasEvent) -> None:
        span = self._span(event)
        self._note(
            PolicyError(
                f"{cite(span.text)} is an alias, and aliases are not read",
                span,
                help="write the value out; text that starts with `*` needs quotes",
            )
        )


def _property(span: Span, sign: str) -> Span:
    """Return the tag or anchor among the properties that start at *span*."""
    found = re.compile(rf"(?:[&!]\S*\s+)?({sign}[^\s,\[\]{{}}]*)").match(
        span.source.text, span.start
    )
    if not found:
        return span
    return span.source.span(found.start(1), found.end(1))


def _no_key(node: Node) -> PolicyError:
    before = node.span.source.text[max(node.span.start - 1, 0) : node.span.start]
    if isinstance(node, MappingNode) and before == "{":
        after = node.span.source.text[node.span.end : node.span.end + 1]
        span = node.span.source.span(node.span.start - 1, node.span.end + (after == "}"))
        return PolicyError(
            f"{cite(span.text)} is the placeholder of a template, not a value",
            span,
            help="fill the template in; a placeholder that is meant as text needs quotes",
        )
    match node:
        case ScalarNode(value=None) if not node.raw:
            return PolicyError("expected a key before `:`", node.span)
        case ScalarNode():
            return PolicyError(
                f"expected a key that is text, found {describe(node)}",
                node.span,
                help=f'put it in quotes: `"{node.raw}"`',
            )
        case SequenceNode() | MappingNode():
            return PolicyError(f"expected a key that is text, found {describe(node)}", node.span)
        case _:
            assert_never(node)


# --- the core schema of YAML 1.2 -------------------------------------------

_WORDS: Final[dict[str, Value]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **{
        sign + word: float(f"{sign}inf")
        for sign in ("", "+", "-")
        for word in (".inf", ".Inf", ".INF")
    },
}

_NUMBER: Final = re.compile(
    r"0o[0-7]++|0x[0-9a-fA-F]++|[-+]?+(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?+)(?:[eE][-+]?+[0-9]++)?+"
)

# Beyond this Python itself refuses to make a number of text.
_DIGITS: Final = 4000


def _number(text: str) -> int | float:
    if text.startswith(("0o", "0x")):
        return int(text, 0)
    try:
        return int(text)
    except ValueError:
        return float(text)


# YAML as a program reads it that refuses none: anchors, tags, repeated keys, merged mappings.
#
# For hosts that read on where `policy.files.yaml_nodes` stops. What people write so
# is reported by the strict reader; this one says what comes of it.


def read_loosely(source: Source, start: int, end: int) -> Node:
    """Return the document in *source* from *start* up to *end*; of a key twice the last counts.

    Characters that YAML has not, and tabs that lines begin with, are read as blanks.
    Raises `PolicyError` where the text is no YAML even so.
    """
    start += source.text.startswith(BYTE_ORDER_MARK, start, end)
    part = _Readable(source, start, end)
    return build(_Loose(part), part)


class _Readable(Range):
    """A part of a source whose stray characters are blanks."""

    @property
    def text(self) -> str:
        """The characters of the part, as many as there are."""
        blank = _TABS.sub(lambda found: " " * len(found[0]), super().text)
        return UNPRINTABLE.sub(" ", blank)


_TABS: Final = re.compile("^[ \t]*\t[ \t]*", re.MULTILINE)


class _Loose(Builder):
    """Takes what `Builder` refuses, and does what an alias says within its limits."""

    def __init__(self, part: Range) -> None:
        super().__init__(part)
        self._anchored: dict[str, tuple[Node, int]] = {}
        self._begun: list[tuple[str | None, int]] = []

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.AliasEvent():
                nothing = ScalarNode(None, self._span(event)), 1
                node, values = self._anchored.get(event.anchor or "", nothing)
                # What stands for a thousand values counts as a thousand.
                self._count += values - 1
                self._add(attrs.evolve(node, span=self._span(event)))
            case yaml.ScalarEvent():
                self._named(event.anchor, self._scalar(event), 1)
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                self._begun.append((event.anchor, self._count))
                self._start(event)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                anchor, before = self._begun.pop()
                self._named(anchor, _merged(self._close(event)), self._count - before + 1)
            case _:
                super().take(event)

    def _named(self, anchor: str | None, node: Node, values: int) -> None:
        if anchor:
            self._anchored[anchor] = node, min(values, VALUES)
        self._add(node)

    def _note(self, error: PolicyError) -> None:
        """Leave a mistake to the strict reader."""


def _merged(node: Node) -> Node:
    if not isinstance(node, MappingNode):
        return node
    merged = [
        inner
        for entry in node.entries
        if entry.name == "<<" and isinstance(entry.value, MappingNode)
        for inner in entry.value.entries
    ]
    # What is written beside it counts, since of a key twice the last one does.
    return attrs.evolve(node, entries=(*merged, *node.entries)) if merged else node
