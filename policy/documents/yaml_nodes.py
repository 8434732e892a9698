"""YAML to nodes, keeping places and refusing what makes text mean something else.

Anchors, tags, repeated keys, keys that are not text and second documents are
mistakes here: each lets a file say one thing to a reader and another to a
program. Plain words are resolved by the core schema of YAML 1.2, as the hosts'
own readers do, so that ``yes`` and ``on`` stay text.

Nodes are built from parser events, one at a time, never from composed nodes:
composing recurses in C and a deep document ends the process.
"""

from __future__ import annotations

import re
from typing import Final, Protocol, assert_never

import attrs
import yaml

from policy import limits
from policy.documents.node import VALUES, Entry, Mapping, Node, Scalar, Sequence, Value, describe
from policy.documents.text import BYTE_ORDER_MARK, cite
from policy.documents.yaml_line import Range
from policy.documents.yaml_mistakes import explain
from policy.errors import PolicyError, PolicyErrors
from policy.source import Source, Span

__all__ = ["UNPRINTABLE", "Builder", "build", "read_yaml"]

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
    return builder.root or Scalar(None, part.span(part.start, part.start))


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
_MISTAKES: Final = 100


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
    entries: list[Entry] = attrs.Factory(list)
    names: dict[str, Span] = attrs.Factory(dict)
    key: Scalar | None = None

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
                self._add(Scalar(None, self._span(event)))
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
        if len(self.errors) == _MISTAKES:
            last = PolicyError(f"{_MISTAKES} mistakes; the text is not read further", error.span)
            raise PolicyErrors([*self.errors, last])

    def _span(self, event: yaml.Event) -> Span:
        return self.source.span(self._at(event.start_mark), self._at(event.end_mark))

    def _at(self, mark: _Mark | None) -> int:
        # Annotated as optional; the parsers set it on every event.
        return self.offset + (mark.index if mark else 0)

    def _scalar(self, event: yaml.ScalarEvent) -> Scalar:
        span = self._span(event)
        if event.style in ("'", '"'):
            return Scalar(event.value, span, quoted=True)
        if event.style in ("|", ">"):
            return Scalar(
                event.value, span.source.span(span.start, span.start + len(span.text.rstrip()))
            )
        return Scalar(self._resolve(event.value, span), span)

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
            return Mapping(tuple(opened.entries), span)
        return Sequence(tuple(opened.items), span)

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
            into.entries.append(Entry(into.key, node))
            into.key = None

    def _key(self, node: Node, into: _Open) -> Scalar:
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            self._note(_no_key(node))
            return Scalar("", node.span)
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
    if isinstance(node, Mapping) and before == "{":
        after = node.span.source.text[node.span.end : node.span.end + 1]
        span = node.span.source.span(node.span.start - 1, node.span.end + (after == "}"))
        return PolicyError(
            f"{cite(span.text)} is the placeholder of a template, not a value",
            span,
            help="fill the template in; a placeholder that is meant as text needs quotes",
        )
    match node:
        case Scalar(value=None) if not node.raw:
            return PolicyError("expected a key before `:`", node.span)
        case Scalar():
            return PolicyError(
                f"expected a key that is text, found {describe(node)}",
                node.span,
                help=f'put it in quotes: `"{node.raw}"`',
            )
        case Sequence() | Mapping():
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
