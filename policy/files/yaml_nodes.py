"""Read YAML as nodes with spans, and refuse features that change what text means.

Anchors, tags, repeated keys, keys that are not text and second documents are mistakes here. Plain
words follow the core schema of YAML 1.2, as in the hosts' readers, so ``yes`` and ``on`` stay text.

Nodes are built from events, since the composer of PyYAML recurses in C, and a deep document ends
the process. `yaml_mistakes.toml` has the messages; an error of the parser gives only the offset.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import yaml

from policy.core import expressions as re
from policy.core import limits
from policy.core.errors import PolicyError, PolicyErrors
from policy.core.source import Source, Span
from policy.core.values import evolve
from policy.files import nodes
from policy.files.nodes import MappingNode, Node, OpenNode, ScalarNode, Value
from policy.files.text import BYTE_ORDER_MARK, cite

_LOADER: Final[type] = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


def read_yaml(source: Source, start: int = 0, end: int | None = None) -> Node:
    """Return the document in *source* from *start* up to *end*; an empty one is null.

    Raises PolicyError if the text is not YAML, else PolicyErrors with all other mistakes.
    """
    part = _part(source, start, len(source.text) if end is None else end)
    _check(part)
    builder = _Builder(part, is_loose=False)
    root = _built(builder, part, part.text)
    if builder.errors:
        raise PolicyErrors(builder.errors)
    return root


def read_loosely(
    source: Source, start: int, end: int, as_text: Mapping[int, int] = MappingProxyType({})
) -> Node:
    """Return the document as read by a host that accepts anchors, tags and repeated keys.

    Of a repeated key the last counts. Characters that YAML does not allow, and tabs at the start of
    a line, count as blanks. *as_text* is the start -> end of each value to read as text.
    Raises PolicyError if the text is not YAML.
    """
    part = _part(source, start, end)
    letters = [*part.text]
    for first, last in as_text.items():
        letters[first - part.start : last - part.start] = "x" * (last - first)
    blank = _LEADING_TABS.sub(lambda match: " " * len(match[0]), "".join(letters))
    builder = _Builder(part, is_loose=True, as_text=as_text)
    return _built(builder, part, _UNPRINTABLE.sub(" ", blank))


def _part(source: Source, start: int, end: int) -> Span:
    """Return the span to read, without a byte order mark."""
    return source.span(start + source.text.startswith(BYTE_ORDER_MARK, start, end), end)


def _built(builder: _Builder, part: Span, text: str) -> Node:
    """Return the nodes of *text*, whose span is *part*."""
    try:
        for event in yaml.parse(text, Loader=_LOADER):
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

# Characters that YAML allows. Parsers report others with different words and offsets.
_UNPRINTABLE: Final = re.compile(
    "[^\x09\x0a\x0d\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
_LEADING_TABS: Final = re.compile("^[ \t]*\t[ \t]*", re.MULTILINE)


def _check(part: Span) -> None:
    """Raise `PolicyError` for characters that YAML forbids, or too many."""
    source, size = part.source, part.end - part.start
    if size > limits.FILE_BYTES:
        raise PolicyError(
            f"the text has {size:,} characters; at most {limits.FILE_BYTES:,} are read",
            source.span(part.start, part.start),
        )
    bad = _UNPRINTABLE.search(source.text, part.start, part.end)
    if bad:
        raise PolicyError(
            f"the character U+{ord(bad[0]):04X} is not allowed in YAML",
            source.span(bad.start(), bad.end()),
            help="remove it, or write it as an escape in a double-quoted string",
        )


# The most mistakes that are collected from one text.
_MOST_MISTAKES: Final = 100


class _Builder:
    """Makes nodes from events of the parser, and collects mistakes unless *is_loose*."""

    def __init__(self, part: Span, *, is_loose: bool, as_text: Container[int] = ()) -> None:
        self.source = part.source
        self.is_loose = is_loose
        self.as_text = as_text
        self.offset = part.start
        self.root: Node | None = None
        self.errors: list[PolicyError] = []
        self._open: list[OpenNode] = []
        self._begun: list[
            tuple[str | None, int]
        ] = []  # the anchor of each, and the values before it
        self._anchored: dict[str, tuple[Node, int]] = {}  # node, and the number of its values
        self._first: dict[tuple[int, str], Span] = {}  # mapping and key -> its first span
        self._count = 0

    def take(self, event: yaml.Event) -> None:
        """Add the node of *event*, or its start or end."""
        match event:
            case yaml.ScalarEvent():
                self._refuse_properties(event)
                self._add_anchored(event.anchor, self._scalar(event), 1)
            case yaml.AliasEvent():
                span = self._span(event)
                self._refuse("*", event)
                nothing = ScalarNode(None, span), 1
                node, values = self._anchored.get(event.anchor or "", nothing)
                self._count += values - 1
                self._add(evolve(node, span=span))
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                self._refuse_properties(event)
                span = self._span(event)
                if len(self._open) == limits.NESTING:
                    raise PolicyError(_TOO_DEEP, span)
                self._begun.append((event.anchor, self._count))
                self._open.append(OpenNode(span.start, isinstance(event, yaml.MappingStartEvent)))
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                anchor, before = self._begun.pop()
                node = self._close(event)
                self._add_anchored(anchor, node, self._count - before + 1)
            case yaml.DocumentStartEvent() if self.root is not None:
                raise PolicyError(
                    "a second document starts here",
                    self._span(event),
                    help="keep one document; nothing after the first is read",
                )

    def _report(self, message: str, span: Span, mend: str = "") -> None:
        if self.is_loose:
            return
        self.errors.append(PolicyError(message, span, help=mend))
        if len(self.errors) == _MOST_MISTAKES:
            last = PolicyError(f"{_MOST_MISTAKES} mistakes; the text is not read further", span)
            raise PolicyErrors([*self.errors, last])

    def _span(self, event: yaml.Event) -> Span:
        # The types of marks are optional, but the parsers set them on every event.
        start, end = (
            self.offset + (mark.index if mark else 0) for mark in (event.start_mark, event.end_mark)
        )
        return self.source.span(start, end)

    def _scalar(self, event: yaml.ScalarEvent) -> ScalarNode:
        span = self._span(event)
        if span.start in self.as_text:
            return ScalarNode(span.text, span)
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
        if len(text) > nodes.DIGITS:
            self._report(f"the number has more than {nodes.DIGITS} digits", span)
            return None
        if text.startswith(("0o", "0x")):
            return int(text, 0)
        return int(text) if re.fullmatch(r"[-+]?[0-9]+", text) else float(text)

    def _close(self, event: yaml.CollectionEndEvent) -> Node:
        opened = self._open.pop()
        # The end mark of a block is at the next token, maybe far below.
        in_brackets = self.source.text[opened.start] in "[{"
        end = self._span(event).end if in_brackets else opened.end
        node = opened.closed(self.source.span(opened.start, end))
        return _merged(node) if self.is_loose else node

    def _add_anchored(self, anchor: str | None, node: Node, values: int) -> None:
        if anchor:
            self._anchored[anchor] = node, min(values, nodes.VALUES)
        self._add(node)

    def _add(self, node: Node) -> None:
        self._count += 1
        if self._count > nodes.VALUES:
            raise PolicyError(f"the text holds more than {nodes.VALUES:,} values", node.span)
        if not self._open:
            self.root = node
            return
        into = self._open[-1]
        if into.keyed and into.key is None:
            into.key = self._key(node, into)
        else:
            into.add(node)

    def _key(self, node: Node, into: OpenNode) -> ScalarNode:
        if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
            self._report(*_not_a_key(node))
            return ScalarNode("", node.span)
        first = self._first.setdefault((into.start, node.value), node.span)
        if first is not node.span:
            message = f"the key {cite(node.value)} is there twice"
            self._report(message, node.span, f"it is first at {first.place}; keep one of them")
        return node

    def _refuse_properties(self, event: yaml.NodeEvent) -> None:
        if event.anchor:
            self._refuse("&", event)
        if getattr(event, "tag", None):
            self._refuse("!", event)

    def _refuse(self, sign: str, event: yaml.NodeEvent) -> None:
        """Report the anchor or tag with *sign* at the start of *event*."""
        span, (what, kinds, mend) = self._span(event), _REFUSED[sign]
        form = re.compile(rf"(?:[&!]\S*\s+)?(\{sign}[^\s,\[\]{{}}]*)")
        if match := form.match(span.source.text, span.start):
            span = span.source.span(*match.span(1))
        message = f"{cite(span.text)} is {what}, and {kinds} are not read"
        self._report(message, span, f"{mend}; text that starts with `{sign}` needs quotes")


_REFUSED: Final = {
    "*": ("an alias", "aliases", "write the value out"),
    "&": ("an anchor", "anchors", "write the value out"),
    "!": ("a tag", "tags", "remove it"),
}


def _merged(node: Node) -> Node:
    """Return *node* with the entries of mappings after ``<<`` merged."""
    if not isinstance(node, MappingNode):
        return node
    merged = [
        inner
        for entry in node.entries
        if entry.name == "<<" and isinstance(entry.value, MappingNode)
        for inner in entry.value.entries
    ]
    # Merged entries come first, since the last of a repeated key counts.
    return evolve(node, entries=(*merged, *node.entries)) if merged else node


def _not_a_key(node: Node) -> tuple[str, Span, str]:
    """Return the message, the span and the help for a key that is not text."""
    source, span = node.span.source, node.span
    if isinstance(node, MappingNode) and source.text[max(span.start - 1, 0) : span.start] == "{":
        closes = source.text[span.end : span.end + 1] == "}"
        span = source.span(span.start - 1, span.end + closes)
        message = f"{cite(span.text)} is the placeholder of a template, not a value"
        mend = "fill the template in; a placeholder that is meant as text needs quotes"
        return message, span, mend
    if isinstance(node, ScalarNode) and node.value is None and not node.raw:
        return "expected a key before `:`", span, ""
    mend = f'put it in quotes: `"{node.raw}"`' if isinstance(node, ScalarNode) else ""
    return f"expected a key that is text, found {nodes.describe(node)}", span, mend


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


def _explain(part: Span, offsets: Iterable[int]) -> PolicyError:
    """Return the syntax error in *part*; the parser stopped at the first of *offsets*."""
    from policy.language import mistakes  # noqa: PLC0415  # only for mistakes

    offsets = [min(max(offset, part.start), part.end) for offset in offsets] or [part.start]
    error = _conflict(part) or _unclosed(part, offsets[-1])
    if error is not None:
        return error
    source = part.source
    for offset in offsets:
        start = max(source.text.rfind("\n", part.start, offset) + 1, part.start)
        line = source.text[start : part.end].partition("\n")[0].rstrip()
        owner = _continued(part, start, line)
        found = mistakes.explained(
            _MISTAKES,
            source.text,
            start,
            part.end,
            where={"continued"} if owner else set(),
            filling={"in_quotes": _in_quotes(line), "owner": owner, **_STARTERS},
        )
        if found is not None:
            return PolicyError(found.message, source.span(found.start, found.end), help=found.help)
    return _unexpected(part, offsets[0])


_MISTAKES: Final = Path(__file__).with_name("yaml_mistakes.toml")
_CONFLICT: Final = re.compile(r"^(?:<{7} .*|={7}\r?$|>{7} .*)", re.MULTILINE)


def _conflict(part: Span) -> PolicyError | None:
    match = _CONFLICT.search(part.source.text, part.start, part.end)
    if not match:
        return None
    span = part.source.span(match.start(), match.start() + len(match[0].rstrip()))
    return PolicyError("a merge conflict is left in the text", span, help="resolve it")


# Within brackets: strings, comments and brackets.
_BRACKETED: Final = re.compile(
    r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^']|'')*+'|(?<=[ \t])#[^\n]*|[\[\]{}]", re.DOTALL
)


def _unclosed(part: Span, offset: int) -> PolicyError | None:
    """Return the error for an unclosed bracket or quote at *offset*, or None."""
    text, sign = part.source.text, part.source.text[offset : min(offset + 1, part.end)]
    if sign in ("[", "{"):
        depth = 0
        for match in _BRACKETED.finditer(text, offset, part.end):
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
            if depth == 0:
                return None
        mend = f"close it by `{']' if sign == '[' else '}'}`, or quote the value if it is text"
        if " #" in text[offset : part.end].partition("\n")[0]:
            mend = "` #` starts a comment that runs to the end of its line; put the item in quotes"
    elif sign in ("'", '"') and not _BRACKETED.match(text, offset, part.end):
        mend = "close it at the end of the value"
    else:
        return None
    span = part.source.span(offset, offset + 1)
    return PolicyError(f"the `{sign}` is not closed", span, help=mend)


# A line with a key, or with an item of a list.
_LINE: Final = re.compile(
    r"(?:[ ]|-[ ])*+"
    r"(?P<key>\"[^\"]*+\"|'[^']+'|[^\s:#\"'\[\]{},&*!|>%@`-][^:]*+)[ ]*:(?:[ \t]++|$)"
    r"(?P<value>.*)|[ ]*+(?:-[ ]++)++(?P<item>.*)"
)
_SHOWN: Final = 70  # the most characters of an example in help


def _in_quotes(line: str) -> str:
    """Return the help that shows a short line with its value in quotes, or ""."""
    match = _LINE.match(line)
    key, value, item = match.groups() if match else (None, None, "")
    name, text = (f"{key}: ", value or "") if key else ("- ", item or "")
    if len(name) + len(text) <= _SHOWN:
        if not re.search(r'["\\]', text):
            return f'put the value in quotes: `{name}"{text}"`'
        if "'" not in text:
            return f"put the value in quotes: `{name}'{text}'`"
    return f"put the value in quotes, or write `{name}>-` and the text below it, indented"


# Character that may not start an unquoted value -> its meaning.
_STARTERS: Final = {
    "*": "`*` starts an alias",
    "&": "`&` starts an anchor",
    "!": "`!` starts a tag",
    "%": "`%` starts a directive",
    "@": "`@` is reserved",
    "`": "a backtick is reserved",
}


def _continued(part: Span, start: int, line: str) -> str:
    """Return the key above whose value a line ``second: line`` continues, or ""."""
    if not (match := _LINE.match(line)) or match["key"] is None:
        return ""
    above = part.source.text[part.start : start].splitlines()
    outer = (text for text in reversed(above) if text.strip() and _indent(text) < _indent(line))
    owner = _LINE.match(next(outer, ""))
    is_text = owner is not None and owner["value"] and owner["value"][0] not in "[{|>\"'"
    return cite(owner["key"]) if owner and is_text else ""


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _unexpected(part: Span, at: int) -> PolicyError:
    rest = part.source.text[at : part.end]
    if not rest.strip():
        return PolicyError("the text ends in the middle of a value", part.source.span(at, at))
    text = rest.partition("\n")[0].strip()
    what = cite(text) if text else "the end of the line"
    return PolicyError(
        f"expected the next `key: value` or list item, found {what}",
        part.source.span(at, at + max(len(text), 1)),
        help="keys of one mapping, and items of one list, start at the same column",
    )
