"""YAML to nodes with places, refusing what makes text mean something else.

Anchors, tags, repeated keys, keys that are not text and second documents are mistakes here:
each lets a file say one thing to a reader and another to a program. Plain words are resolved by
the core schema of YAML 1.2, as the hosts' own readers do, so that ``yes`` and ``on`` stay text.
`read_loosely` is for hosts that read on where `read_yaml` stops.

Nodes are built from parser events, one at a time, never from composed nodes: composing
recurses in C, and a deep document ends the process.

What a YAML parser says is wrong is about its own state, and the parser in C and the one in
Python say it differently. So only the place where it stopped counts: the line there is checked
for the mistakes people make, the commonest first, and the first that explains it is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import yaml

from policy.core import expressions as re
from policy.core import limits
from policy.core.errors import PolicyError, PolicyErrors
from policy.core.source import Source, Span
from policy.core.values import define, evolve, field, frozen
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

__all__ = ["read_loosely", "read_yaml"]

_LOADER: Final[type] = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


def read_yaml(source: Source, start: int = 0, end: int | None = None) -> Node:
    """Return the document in *source* from *start* up to *end*; an empty one is null.

    Raises:
        PolicyError: the text is not YAML.
        PolicyErrors: every other mistake, all at once.

    """
    part = _Range.of(source, start, end)
    part.check()
    builder = _Builder(part)
    root = _built(builder, part)
    if builder.errors:
        raise PolicyErrors(builder.errors)
    return root


def read_loosely(source: Source, start: int, end: int) -> Node:
    """Return the document as a program reads it that refuses no anchor, tag or repeated key.

    Of a repeated key the last counts. Characters that YAML does not allow, and tabs that lines
    begin with, are read as blanks.

    Raises:
        PolicyError: the text is no YAML even so.

    """
    part = _ReadableRange.of(source, start, end)
    return _built(_LooseBuilder(part), part)


def _built(builder: _Builder, part: _Range) -> Node:
    try:
        for event in yaml.parse(part.text, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        marks = (error.problem_mark, error.context_mark)
        offsets = [part.start + mark.index for mark in marks if mark]
        if "nesting depth" in (error.problem or ""):  # a limit of some versions of libyaml
            at = min(offsets[0], part.end)
            raise PolicyError(_TOO_DEEP, part.source.span(at, at)) from None
        raise _explain(part, offsets) from None
    return builder.root or ScalarNode(None, part.source.span(part.start, part.start))


_TOO_DEEP: Final = f"lists and mappings are nested more than {limits.NESTING} deep"

# What YAML allows in a file; the parsers tell this with different words and offsets.
_UNPRINTABLE: Final = re.compile(
    "[^\x09\x0a\x0d\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
_LEADING_TABS: Final = re.compile("^[ \t]*\t[ \t]*", re.MULTILINE)


@frozen
class _Range:
    """The part of a source that is read as YAML."""

    source: Source
    start: int
    end: int

    @classmethod
    def of(cls, source: Source, start: int, end: int | None) -> _Range:
        """Return the part from *start* to *end*, without a byte order mark."""
        end = len(source.text) if end is None else end
        return cls(source, start + source.text.startswith(BYTE_ORDER_MARK, start, end), end)

    @property
    def text(self) -> str:
        """The characters of the part."""
        return self.source.text[self.start : self.end]

    def check(self) -> None:
        """Raise `PolicyError` unless all characters may be in YAML, and there are not too many."""
        if self.end - self.start > limits.FILE_BYTES:
            raise PolicyError(
                f"the text has {self.end - self.start:,} characters; "
                f"at most {limits.FILE_BYTES:,} are read",
                self.source.span(self.start, self.start),
            )
        bad = _UNPRINTABLE.search(self.source.text, self.start, self.end)
        if bad:
            raise PolicyError(
                f"the character U+{ord(bad[0]):04X} is not allowed in YAML",
                self.source.span(bad.start(), bad.end()),
                help="remove it, or write it as an escape in a double-quoted string",
            )


class _ReadableRange(_Range):
    """A part whose characters that YAML does not allow are blanks."""

    @property
    def text(self) -> str:
        """The characters of the part, as many as there are."""
        blank = _LEADING_TABS.sub(lambda found: " " * len(found[0]), super().text)
        return _UNPRINTABLE.sub(" ", blank)


# --- nodes ------------------------------------------------------------------

# Mistakes in one text, after which it is not read further.
_MOST_MISTAKES: Final = 100


@define
class _Open:
    """A list or mapping whose end has not come yet."""

    start: int
    keyed: bool
    items: list[Node] = field(factory=list)
    entries: list[NodeEntry] = field(factory=list)
    names: dict[str, Span] = field(factory=dict)
    key: ScalarNode | None = None

    @property
    def end(self) -> int:
        """Where the last child ends."""
        if self.entries:
            return self.entries[-1].value.span.end
        return self.items[-1].span.end if self.items else self.start


class _Builder:
    """Makes nodes of events, and a list of what is wrong with them."""

    def __init__(self, part: _Range) -> None:
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
                self._refuse_properties(event)
                self._add(self._scalar(event))
            case yaml.AliasEvent():
                span = self._span(event)
                self._refuse(span, "an alias", "aliases", "write the value out", "*")
                self._add(ScalarNode(None, span))
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                self._refuse_properties(event)
                self._start(event)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._add(self._close(event))
            case yaml.DocumentStartEvent() if self.root is not None:
                raise PolicyError(
                    "a second document starts here",
                    self._span(event),
                    help="keep one document; nothing after the first is read",
                )

    def _report(self, message: str, span: Span, mend: str = "") -> None:
        self.errors.append(PolicyError(message, span, help=mend))
        if len(self.errors) == _MOST_MISTAKES:
            last = PolicyError(f"{_MOST_MISTAKES} mistakes; the text is not read further", span)
            raise PolicyErrors([*self.errors, last])

    def _span(self, event: yaml.Event) -> Span:
        # Marks are annotated as optional; the parsers set them on every event.
        start, end = (
            self.offset + (mark.index if mark else 0) for mark in (event.start_mark, event.end_mark)
        )
        return self.source.span(start, end)

    def _scalar(self, event: yaml.ScalarEvent) -> ScalarNode:
        span = self._span(event)
        if event.style in ("'", '"'):
            return ScalarNode(event.value, span, quoted=True)
        if event.style in ("|", ">"):
            end = span.start + len(span.text.rstrip())
            return ScalarNode(event.value, self.source.span(span.start, end))
        return ScalarNode(self._resolve(event.value, span), span)

    def _resolve(self, text: str, span: Span) -> Value:
        if text in _WORDS:
            return _WORDS[text]
        if not _NUMBER.fullmatch(text):
            return text
        if len(text) > _DIGITS:
            self._report(f"the number has more than {_DIGITS} digits", span)
            return None
        return _number(text)

    def _start(self, event: yaml.CollectionStartEvent) -> None:
        span = self._span(event)
        if len(self._open) == limits.NESTING:
            raise PolicyError(_TOO_DEEP, span)
        self._open.append(_Open(span.start, isinstance(event, yaml.MappingStartEvent)))

    def _close(self, event: yaml.CollectionEndEvent) -> Node:
        opened = self._open.pop()
        # The mark of a block's end is where the next thing starts, far below.
        in_brackets = self.source.text[opened.start] in "[{"
        end = self._span(event).end if in_brackets else opened.end
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
            self._report(*_not_a_key(node))
            return ScalarNode("", node.span)
        first = into.names.setdefault(node.value, node.span)
        if first is not node.span:
            message = f"the key {cite(node.value)} is there twice"
            self._report(message, node.span, f"it is first at {first.place}; keep one of them")
        return node

    def _refuse_properties(self, event: yaml.NodeEvent) -> None:
        span = self._span(event)
        if event.anchor:
            self._refuse(_property(span, "&"), "an anchor", "anchors", "write the value out", "&")
        if getattr(event, "tag", None):
            self._refuse(_property(span, "!"), "a tag", "tags", "remove it", "!")

    def _refuse(self, span: Span, what: str, kind: str, mend: str, sign: str) -> None:
        message = f"{cite(span.text)} is {what}, and {kind} are not read"
        self._report(message, span, f"{mend}; text that starts with `{sign}` needs quotes")


class _LooseBuilder(_Builder):
    """Takes what `_Builder` refuses, and resolves aliases within its limits."""

    def __init__(self, part: _Range) -> None:
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
                self._add(evolve(node, span=self._span(event)))
            case yaml.ScalarEvent():
                self._add_anchored(event.anchor, self._scalar(event), 1)
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                self._begun.append((event.anchor, self._count))
                self._start(event)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                anchor, before = self._begun.pop()
                node = _merged(self._close(event))
                self._add_anchored(anchor, node, self._count - before + 1)
            case _:
                super().take(event)

    def _add_anchored(self, anchor: str | None, node: Node, values: int) -> None:
        if anchor:
            self._anchored[anchor] = node, min(values, VALUES)
        self._add(node)

    def _report(self, message: str, span: Span, mend: str = "") -> None:
        """Leave a mistake to the strict reader."""


def _merged(node: Node) -> Node:
    """Return *node* with the entries of mappings that stand behind ``<<``."""
    if not isinstance(node, MappingNode):
        return node
    merged = [
        inner
        for entry in node.entries
        if entry.name == "<<" and isinstance(entry.value, MappingNode)
        for inner in entry.value.entries
    ]
    # What is written beside it counts, since of a repeated key the last one does.
    return evolve(node, entries=(*merged, *node.entries)) if merged else node


def _property(span: Span, sign: str) -> Span:
    """Return the tag or anchor among the properties that start at *span*."""
    found = re.compile(rf"(?:[&!]\S*\s+)?({sign}[^\s,\[\]{{}}]*)").match(
        span.source.text, span.start
    )
    return span.source.span(found.start(1), found.end(1)) if found else span


def _not_a_key(node: Node) -> tuple[str, Span, str]:
    """Return message, place and help for a key that is not text."""
    source, span = node.span.source, node.span
    if isinstance(node, MappingNode) and source.text[max(span.start - 1, 0) : span.start] == "{":
        closes = source.text[span.end : span.end + 1] == "}"
        span = source.span(span.start - 1, span.end + closes)
        message = f"{cite(span.text)} is the placeholder of a template, not a value"
        return message, span, _FILL_IN
    if isinstance(node, ScalarNode) and node.value is None and not node.raw:
        return "expected a key before `:`", span, ""
    mend = f'put it in quotes: `"{node.raw}"`' if isinstance(node, ScalarNode) else ""
    return f"expected a key that is text, found {describe(node)}", span, mend


_FILL_IN: Final = "fill the template in; a placeholder that is meant as text needs quotes"

# The core schema of YAML 1.2.
_WORDS: Final[dict[str, Value]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((s + w for s in ("", "+") for w in (".inf", ".Inf", ".INF")), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
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


# --- why a text is not YAML --------------------------------------------------


def _explain(part: _Range, offsets: Iterable[int]) -> PolicyError:
    """Return what is wrong with *part*, which cannot be read.

    The first of *offsets* is where a parser stopped; if there is a second, what
    it was reading starts there.
    """
    offsets = [min(max(offset, part.start), part.end) for offset in offsets] or [part.start]
    error = _conflict(part) or _unclosed(part, offsets[-1])
    lines = [_line_at(part, offset) for offset in offsets]
    for line in lines:
        for mistake in _MISTAKES:
            error = error or mistake(line)
    return error or _unexpected(lines[0])


@frozen
class _Line:
    """A line, and ``key: value`` where it is that.

    ``at`` is where the parser stopped on it; ``value`` starts at ``value_start``
    and ends with the line.
    """

    part: _Range
    at: int
    start: int
    text: str
    key: str = ""
    value: str = ""
    value_start: int = 0

    def error(self, message: str, start: int, end: int, mend: str) -> PolicyError:
        """Return the error for characters *start* to *end* of the value."""
        span = self.part.source.span(self.value_start + start, self.value_start + end)
        return PolicyError(message, span, help=mend)

    @property
    def indent(self) -> int:
        """How many blanks the line starts with."""
        return _indent(self.text)

    @property
    def in_quotes(self) -> str:
        """Help that shows the value in quotes, if it is short enough to show."""
        value = self.value.strip()
        name = f"{self.key}: " if self.key else "- "
        if len(name) + len(value) <= _SHOWN:
            if not re.search(r'["\\]', value):
                return f'put the value in quotes: `{name}"{value}"`'
            if "'" not in value:
                return f"put the value in quotes: `{name}'{value}'`"
        return f"put the value in quotes, or write `{name}>-` and the text below it, indented"


_SHOWN: Final = 70  # characters of an example in a help line

_ENTRY: Final = re.compile(
    r"(?:[ ]|-[ ])*+"
    r"(?P<key>\"[^\"]*+\"|'[^']*+'|[^\s:#\"'\[\]{},&*!|>%@`-][^:]*+)[ ]*:(?:[ \t]++|$)"
    r"(?P<value>.*)"
)
_ITEM: Final = re.compile(r"[ ]*+(?:-[ ]++)++(?P<value>.*)")
_STRING: Final = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^']|'')*+'", re.DOTALL)

# Within brackets: strings, comments and brackets.
_BRACKETED: Final = re.compile(_STRING.pattern + r"|(?<=[ \t])#[^\n]*|[\[\]{}]", re.DOTALL)


def _line_at(part: _Range, offset: int) -> _Line:
    text = part.source.text
    start = max(text.rfind("\n", part.start, offset) + 1, part.start)
    end = text.find("\n", offset, part.end)
    line = text[start : part.end if end < 0 else end].rstrip("\r")
    found = _ENTRY.match(line) or _ITEM.match(line)
    if not found:
        return _Line(part, offset, start, line)
    groups = found.groupdict()
    key, value = groups.get("key", ""), groups["value"].rstrip()
    return _Line(part, offset, start, line, key, value, start + found.start("value"))


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _closing(text: str, start: int, end: int) -> int | None:
    """Return the offset after the bracket that closes the one at *start*."""
    depth = 0
    for found in _BRACKETED.finditer(text, start, end):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return None


_CONFLICT: Final = re.compile(r"^(?:<{7} .*|={7}\r?$|>{7} .*)", re.MULTILINE)


def _conflict(part: _Range) -> PolicyError | None:
    found = _CONFLICT.search(part.source.text, part.start, part.end)
    if not found:
        return None
    span = part.source.span(found.start(), found.start() + len(found[0].rstrip()))
    return PolicyError("a merge conflict is left in the text", span, help="resolve it")


def _unclosed(part: _Range, offset: int) -> PolicyError | None:
    """Find the bracket or quote at *offset* that nothing closes."""
    text, sign = part.source.text, part.source.text[offset : min(offset + 1, part.end)]
    if sign in ("[", "{"):
        is_closed = _closing(text, offset, part.end) is not None
        line = text[offset : part.end].partition("\n")[0]
        mend = f"close it by `{']' if sign == '[' else '}'}`, or quote the value if it is text"
        if " #" in line:
            mend = "` #` starts a comment that runs to the end of its line; put the item in quotes"
    elif sign in ("'", '"'):
        is_closed = _STRING.match(text, offset, part.end) is not None
        mend = "close it at the end of the value"
    else:
        return None
    if is_closed:
        return None
    return PolicyError(
        f"the `{sign}` is not closed", part.source.span(offset, offset + 1), help=mend
    )


def _tab(line: _Line) -> PolicyError | None:
    found = re.match(r"[ ]*+(\t++)\s*+\S", line.text)
    if not found:
        return None
    span = line.part.source.span(line.start + found.start(1), line.start + found.end(1))
    return PolicyError("a tab indents this line", span, help="YAML is indented with spaces")


def _placeholder(line: _Line) -> PolicyError | None:
    found = re.match(r"[^:\"'{]*+(\{\{[^{}]*+\}\}|\{%[^%]*+%\})", line.text)
    if not found:
        return None
    span = line.part.source.span(line.start + found.start(1), line.start + found.end(1))
    message = f"{cite(found[1])} is the placeholder of a template, not YAML"
    return PolicyError(message, span, help=_FILL_IN)


# Characters no unquoted value may start with, and what they are.
_STARTERS: Final = {
    "*": "`*` starts an alias",
    "&": "`&` starts an anchor",
    "!": "`!` starts a tag",
    "%": "`%` starts a directive",
    "@": "`@` is reserved",
    "`": "a backtick is reserved",
}


def _starter(line: _Line) -> PolicyError | None:
    meaning = _STARTERS.get(line.value[:1])
    if meaning is None:
        return None
    return line.error(f"{meaning} at the start of a value", 0, 1, line.in_quotes)


def _block(line: _Line) -> PolicyError | None:
    """Find ``> text``, a block with text on its first line."""
    found = re.match(r"[|>][-+0-9]*+[ \t]*+(?!#)(\S.*)", line.value)
    if not found:
        return None
    sign = line.value[0]
    return line.error(
        f"expected a new line after `{sign}`, found {cite(found[1])}",
        *found.span(1),
        f"`{sign}` starts a block of text, which stands below it, indented; "
        f"text that itself starts with `{sign}` needs quotes",
    )


def _bracket(line: _Line) -> PolicyError | None:
    """Find ``[a] [b]``, which ends before its line does, and ``[a [b]]``."""
    sign = line.value[:1]
    close = _closing(line.value, 0, len(line.value)) if sign in ("[", "{") else None
    rest = re.compile(r"[ \t]*+(?!#)(\S.*)").match(line.value, close) if close else None
    if rest:
        mend = "there is a closing bracket too many"
        if rest[1].strip("]}"):
            kind = "list" if sign == "[" else "mapping"
            mend = f"`{sign}` at the start of a value starts a {kind}; {line.in_quotes}"
        message = f"expected the end of the line after {cite(line.value[:close])}"
        return line.error(f"{message}, found {cite(rest[1])}", *rest.span(1), mend)
    inner = re.match(r"\[[^\]\[{}\"']*[^\s,\[]([ \t]*)\[", line.value)
    if inner:
        end = inner.end()
        return line.error("expected `,` or `]`, found `[`", end - 1, end, line.in_quotes)
    return None


def _item(line: _Line) -> PolicyError | None:
    """Find the item of a list in brackets that no item may be."""
    if not line.value.startswith("["):
        return None
    at = max(line.at - line.value_start, 1)
    start = max(line.value.rfind(",", 0, at), 0) + 1
    ends = (line.value.find(sign, at) for sign in ",]")
    item = line.value[start : min((end for end in ends if end >= 0), default=at)]
    start += _indent(item)
    item = item.strip()
    if item[:1] in _STARTERS:
        message = f"{_STARTERS[item[0]]} at the start of an item"
    elif ": " in item and item[0] not in "[{\"'":
        message = "`: ` in an item without quotes"
    else:
        return None
    mend = "put the item in quotes" + ("" if '"' in item else f': `"{item}"`')
    return line.error(message, start, start + len(item), mend)


_ESCAPE: Final = re.compile(
    r"\\(?:[0abt\tnvfre \"/\\N_LP\n\r]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
)


def _quote(line: _Line) -> PolicyError | None:
    """Find ``"a" b``, which ends before its line does, and what no string may hold."""
    sign, text = line.value[:1], line.part.source.text
    if sign not in ("'", '"'):
        return None
    string = _STRING.match(text, line.value_start, line.part.end)
    if not string:
        return _unclosed(line.part, line.value_start)
    rest = re.compile(r"[ \t]*+([^\s#].*)").match(text, string.end(), line.part.end)
    if rest:
        start = rest.start(1) - line.value_start
        return line.error(
            f"expected the end of the line after the closing `{sign}`, found {cite(rest[1])}",
            start,
            start + len(rest[1].rstrip()),
            f"a `{sign}` at the start of a value must close at its end; quote the whole value",
        )
    for found in re.finditer(r"\\.", string[0], re.DOTALL) if sign == '"' else ():
        if not _ESCAPE.match(string[0], found.start()):
            return line.error(
                f"{cite(found[0])} is not an escape of YAML",
                *found.span(),
                f"write `\\{found[0]}`, or use single quotes, where `\\` is itself",
            )
    return None


def _dash(line: _Line) -> PolicyError | None:
    if not line.key or not re.match(r"-(?:[ \t]|$)", line.value):
        return None
    mend = "items of a list stand below their key, each on a line of its own"
    return line.error("`- ` on the line of its key", 0, 1, mend)


def _colon(line: _Line) -> PolicyError | None:
    """Find ``description: this: that``."""
    found = re.search(r":(?:[ \t]|$)", line.value)
    if not found or line.value[0] in "[{\"'|>":
        return None
    head, mend = line.value[: found.start()], line.in_quotes
    if head.count("(") > head.count(")"):
        rule = re.sub(r":[ \t]+", ":", line.value)
        mend = f"put the rule in quotes, or leave no blank after `:`: {cite(rule)}"
    at = found.start()
    return line.error("`: ` in a value without quotes", at, at + 1, mend)


_LONG_TEXT: Final = "a long text needs `>-` after its key, and every line of it indented"


def _continued(line: _Line) -> PolicyError | None:
    """Find ``second: line`` indented below ``key: first line``."""
    if not line.key:
        return None
    above = line.part.source.text[line.part.start : line.start].splitlines()
    outer = (text for text in reversed(above) if text.strip() and _indent(text) < line.indent)
    owner = _ENTRY.match(next(outer, ""))
    if owner is None or not owner["value"] or owner["value"][0] in "[{|>\"'":
        return None
    colon = line.part.source.text.rindex(":", line.start, line.value_start)
    return PolicyError(
        f"`: ` in a line that continues the value of {cite(owner['key'])}",
        line.part.source.span(colon, colon + 1),
        help=f"{_LONG_TEXT}; a key starts at the column of the keys above it",
    )


def _keyless(line: _Line) -> PolicyError | None:
    """Find text where a key must stand."""
    if line.key or not line.text.strip() or re.match(r"\s*(?:[-#\[{}\],\"']|\.\.\.)", line.text):
        return None
    start, end = line.start + line.indent, line.start + len(line.text.rstrip())
    message = f"expected `key: value`, found {cite(line.text)}"
    return PolicyError(message, line.part.source.span(start, end), help=_LONG_TEXT)


# What is checked, in this order.
_MISTAKES: Final[tuple[Callable[[_Line], PolicyError | None], ...]] = (
    _tab,
    _placeholder,
    _starter,
    _block,
    _bracket,
    _item,
    _quote,
    _dash,
    _colon,
    _continued,
    _keyless,
)


def _unexpected(line: _Line) -> PolicyError:
    source = line.part.source
    rest = source.text[line.at : line.part.end]
    if not rest.strip():
        return PolicyError("the text ends in the middle of a value", source.span(line.at, line.at))
    found = rest.partition("\n")[0].strip()
    what = cite(found) if found else "the end of the line"
    return PolicyError(
        f"expected the next `key: value` or list item, found {what}",
        source.span(line.at, line.at + max(len(found), 1)),
        help="keys of one mapping, and items of one list, start at the same column",
    )
