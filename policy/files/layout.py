"""Whole files in their canonical layout: JSON, YAML, and Markdown with a header.

JSON is laid out as its own writers do with an indent of two; of Markdown only the header is
touched. A byte order mark and the kind of line breaks are kept, since some hosts do not read a
file with others at all.
"""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Iterator
from typing import Final, assert_never

from policy.core import expressions as re
from policy.core.errors import PolicyError
from policy.core.source import Source, Span
from policy.core.values import define, frozen
from policy.files.frontmatter import HeaderLanguage, split_front_matter
from policy.files.json_nodes import read_json
from policy.files.nodes import MappingNode, Node, NodeEntry, ScalarNode, SequenceNode, walk
from policy.files.text import BYTE_ORDER_MARK, has_byte_order_mark

__all__ = ["layout_json_file", "layout_markdown_file", "layout_yaml_file"]


_WIDTH: Final = 100
_STEP: Final = 2
_COMMENT: Final = re.compile(r"#[^\r\n]*")


def layout_yaml(source: Source, start: int = 0, end: int | None = None) -> str:
    r"""Return the document in *source* from *start* to *end* laid out; lines end in ``\n``.

    Raises:
        PolicyError: it cannot be read, or not laid out without loss.

    """
    from policy.files.yaml_nodes import read_yaml  # noqa: PLC0415  # where there is YAML alone

    end = len(source.text) if end is None else end
    node = read_yaml(source, start, end)
    comments = _comments(source, node, start, end)
    starts = [leaf.start for leaf in _leaves(node) if leaf.text]
    printed = _Printer(source, deque(comments), starts).document(node)
    # A block of text at the very end may be one without a line break.
    for text in (printed, printed.removesuffix("\n")):
        if _says_the_same(text, node, comments):
            return text
    msg = "cannot be laid out without loss"
    raise PolicyError(msg, source.span(start, start), help="the text is left as it is")


@frozen
class _Comment:
    """A comment; *alone* where nothing stands before it on its line."""

    text: str
    start: int
    column: int
    alone: bool
    after_blank: bool


def _comments(source: Source, node: Node, start: int, end: int) -> list[_Comment]:
    """Return every comment: all text outside keys and scalars that a `#` starts."""
    found = []
    at = start
    for leaf in (*_leaves(node), source.span(end, end)):
        for match in _COMMENT.finditer(source.text, at, max(leaf.start, at)):
            line = source.text.rfind("\n", 0, match.start()) + 1
            before = source.text[max(line, start) : match.start()]
            found.append(
                _Comment(
                    match[0].rstrip(),
                    match.start(),
                    len(before),
                    not before.strip(),
                    _after_blank(source, match.start(), start),
                )
            )
        at = max(at, leaf.end)
    return found


def _leaves(node: Node) -> list[Span]:
    """Return the spans of keys and scalars, in the order of the text."""
    return sorted(_parts(node), key=lambda span: span.start)


def _parts(node: Node) -> Iterator[Span]:
    for part in walk(node):
        if isinstance(part, ScalarNode):
            yield part.span
        elif isinstance(part, MappingNode):
            yield from (entry.key.span for entry in part.entries)


def _after_blank(source: Source, at: int, start: int) -> bool:
    """Return whether an empty line is above the line of *at*."""
    text = source.text
    line = text.rfind("\n", start, at) + 1
    if line <= start or text[line:at].strip(" \t-?"):
        return False
    above = max(text.rfind("\n", start, line - 1) + 1, start)
    return not text[above:line].strip()


def _says_the_same(printed: str, node: Node, comments: list[_Comment]) -> bool:
    from policy.files.yaml_nodes import read_yaml  # noqa: PLC0415  # where there is YAML alone

    again = Source("", printed)
    try:
        read = read_yaml(again)
    except PolicyError:
        return False
    texts = [comment.text for comment in _comments(again, read, 0, len(printed))]
    return read == node and texts == [comment.text for comment in comments]


@define
class _Printer:
    """Prints one document.

    Attributes:
        source: where it is written.
        comments: those not printed yet.
        starts: where keys and scalars start that have any text.
        above: up to where comments and empty lines are printed already.

    """

    source: Source
    comments: deque[_Comment]
    starts: list[int]
    above: int = -1

    def document(self, node: Node) -> str:
        """Return the whole text."""
        lines: list[str] = []
        if not isinstance(node, ScalarNode):
            lines += self._value(node, 0)
        elif node.raw:
            lines += [*self._gap(node.span.start, 0), *self._value(node, 0)]
        lines += self._gap(len(self.source.text), 0)
        text = "\n".join(lines).strip("\n")
        return f"{text}\n" if text else ""

    def _gap(self, stop: int, indent: int, *, first: bool = False) -> Iterator[str]:
        """Yield the comments up to *stop*, and one empty line where there are any.

        Nothing is empty above the *first* line of a list or mapping.
        """
        if stop == self.above:  # the first key of an item starts where the item does
            return
        self.above = stop
        lines: list[str] = []
        while self.comments and self.comments[0].start < stop:
            lines += self._comment(indent)
        if _after_blank(self.source, stop, 0) and (lines or not first):
            lines.append("")
        yield from lines[1:] if first and lines[:1] == [""] else lines

    def _inside(self, end: int, column: int, indent: int) -> Iterator[str]:
        """Yield the comments behind *end* that stand no further out than *column*."""
        while self.comments:
            comment = self.comments[0]
            following = bisect.bisect_left(self.starts, end)
            if not comment.alone or comment.column < column:
                return
            if following < len(self.starts) and self.starts[following] < comment.start:
                return
            yield from self._comment(indent)

    def _comment(self, indent: int) -> Iterator[str]:
        comment = self.comments.popleft()
        if comment.after_blank:
            yield ""
        yield " " * indent + comment.text

    def _beside(self, end: int, stop: int | None = None) -> str:
        """Return the comment on the line that ends at *end*, if it is before *stop*."""
        if not self.comments:
            return ""
        comment = self.comments[0]
        between = self.source.text[end : comment.start]
        if comment.alone or "\n" in between or (stop is not None and comment.start >= stop):
            return ""
        self.comments.popleft()
        return f"  {comment.text}"

    def _value(self, node: Node, indent: int, least: int = 0) -> list[str]:
        """Return the lines of *node* at *indent*, with comments behind it from column *least*."""
        match node:
            case ScalarNode():
                return self._scalar(node, indent, " " * indent)
            case MappingNode() | SequenceNode() if (
                line := self._bracketed(node, indent)
            ) is not None:
                return [f"{' ' * indent}{line}{self._beside(node.span.end)}"]
            case MappingNode(entries=entries):
                lines = [
                    line
                    for entry in entries
                    for line in self._entry(entry, indent, first=entry is entries[0])
                ]
            case SequenceNode(items=items):
                lines = [
                    line
                    for number, item in enumerate(items)
                    for line in self._item(item, indent, first=not number)
                ]
            case _:
                assert_never(node)
        column = max(_column(node.span), least)
        return [*lines, *self._inside(node.span.end, column, indent)]

    def _entry(self, entry: NodeEntry, indent: int, *, first: bool) -> Iterator[str]:
        key, value = entry.key, entry.value
        yield from self._gap(key.span.start, indent, first=first)
        start = f"{' ' * indent}{key.raw}:"
        if isinstance(value, ScalarNode):
            yield from self._scalar(value, indent, f"{start} " if value.raw else start, key.span)
            if not value.raw:
                yield from self._inside(key.span.end, _column(key.span) + 1, indent + _STEP)
            return
        beside = self._beside(key.span.end, value.span.start)
        line = None if beside else self._bracketed(value, len(start) + 1)
        if line is not None:
            yield f"{start} {line}{self._beside(value.span.end)}"
            return
        yield f"{start}{beside}"
        yield from self._value(value, indent + _STEP, _column(key.span) + 1)

    def _item(self, item: Node, indent: int, *, first: bool) -> Iterator[str]:
        yield from self._gap(item.span.start, indent, first=first)
        if isinstance(item, ScalarNode):
            yield from self._scalar(item, indent, f"{' ' * indent}- ")
            return
        start, *rest = self._value(item, indent + _STEP)
        yield f"{' ' * indent}- {start.lstrip()}"
        yield from rest

    def _scalar(
        self, node: ScalarNode, indent: int, start: str, key: Span | None = None
    ) -> list[str]:
        beside = self._beside(key.end, node.span.start) if key and node.raw else ""
        if beside:
            # A comment between a key and its value keeps them on two lines.
            return [start.rstrip() + beside, *self._scalar(node, indent, " " * (indent + _STEP))]
        first, *rest = node.raw.replace("\r\n", "\n").split("\n")
        lines = [start + first.rstrip()]
        if node.raw[:1] in {"|", ">"} and not node.quoted:
            lines += _shifted(rest, first, indent + _STEP)
        else:
            inner = " " * (indent + _STEP)
            lines += [inner + line.strip() if line.strip() else "" for line in rest]
        lines[-1] += self._beside(node.span.end)
        return lines

    def _bracketed(self, node: MappingNode | SequenceNode, indent: int) -> str | None:
        """Return a list or mapping in brackets as one line, or None where it takes lines."""
        if node.span.text[:1] not in {"[", "{"}:
            return None
        if self.comments and self.comments[0].start < node.span.end:
            return None
        line = _flow(node)
        return line if line is not None and indent + len(line) <= _WIDTH else None


def _column(span: Span) -> int:
    return span.place.column - 1


def _flow(node: Node) -> str | None:
    """Return *node* on one line, or None where some of its text runs over several."""
    match node:
        case ScalarNode():
            return None if "\n" in node.raw else node.raw
        case SequenceNode(items=items):
            parts = [_flow(item) for item in items]
            return None if None in parts else f"[{', '.join(map(str, parts))}]"
        case MappingNode(entries=entries):
            pairs = [(_flow(entry.key), _flow(entry.value)) for entry in entries]
            if any(None in pair for pair in pairs):
                return None
            return "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        case _:
            assert_never(node)


def _shifted(lines: list[str], header: str, indent: int) -> list[str]:
    """Return the lines of a block of text, moved to *indent*."""
    if any(character.isdigit() for character in header):
        return lines  # says itself how far it is indented
    first = next((line for line in lines if line.strip()), "")
    old = len(first) - len(first.lstrip(" "))
    return [" " * indent + line[old:] if line[old:] else "" for line in lines]


def layout_json_file(source: Source) -> str:
    """Return a file of strict JSON laid out: every key, the order and each number as written.

    Raises:
        PolicyError: it is no strict JSON; one with comments is none.

    """
    return _finished(source, f"{_json(read_json(source), '')}\n")


def layout_yaml_file(source: Source) -> str:
    """Return a file of YAML laid out.

    Raises:
        PolicyError: it cannot be read, or not laid out without loss.

    """
    return _finished(source, layout_yaml(source))


def layout_markdown_file(source: Source) -> str:
    """Return a Markdown file with its header laid out, all below the header as it is.

    A file without a header, or with one of TOML, is returned as it is.

    Raises:
        PolicyError: the header cannot be read, or not laid out without loss.

    """
    front = split_front_matter(source)
    if front is None or front.kind is not HeaderLanguage.YAML:
        return _marked(source, source.text)
    header = layout_yaml(source, front.header.start, front.header.end)
    fence = front.opening.text.rstrip()
    closing = source.text[front.closing.end : front.body.start]
    head = _broken_as(source, f"{fence}\n{header}{fence}")
    return _marked(source, head + closing + front.body.text)


def _finished(source: Source, text: str) -> str:
    return _marked(source, _broken_as(source, text))


def _broken_as(source: Source, text: str) -> str:
    """Return *text* with the line breaks of *source*."""
    return text.replace("\n", "\r\n") if source.text.partition("\n")[0][-1:] == "\r" else text


def _marked(source: Source, text: str) -> str:
    bare = text.removeprefix(BYTE_ORDER_MARK)
    return BYTE_ORDER_MARK + bare if has_byte_order_mark(source) else bare


def _json(node: Node, indent: str) -> str:
    inner = f"{indent}  "
    match node:
        case ScalarNode():
            return node.raw
        case SequenceNode(items=items):
            parts, brackets = [_json(item, inner) for item in items], "[]"
        case MappingNode(entries=entries):
            parts = [f"{entry.key.raw}: {_json(entry.value, inner)}" for entry in entries]
            brackets = "{}"
        case _:
            assert_never(node)
    if not parts:
        return brackets
    lines = f",\n{inner}".join(parts)
    return f"{brackets[0]}\n{inner}{lines}\n{indent}{brackets[1]}"
