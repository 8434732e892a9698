"""Rules taken out of the text of a file: their lists get shorter, everything else stays.

A *list* is what a reader shows as one: the matchers of a statement of our own
notation, a sequence of YAML, JSON or a header of TOML, or a string of names with
commas between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from typing import Final

import attrs

from policy.documents.frontmatter import Kind, split_front_matter
from policy.documents.json_nodes import read_json
from policy.documents.node import Node, Scalar, Sequence, walk
from policy.documents.toml_nodes import read_toml
from policy.documents.yaml_nodes import read_yaml
from policy.edits import Edit, edited
from policy.language.parse import parse_notation
from policy.language.printer import print_document
from policy.language.syntax import Agent, Comment, Comments, Delegate, Expect, Grant, Statement
from policy.source import Source, Span

__all__ = ["is_exemplified", "lists", "stating", "without"]

_NOTATION: Final = ".policy"


def lists(source: Source) -> tuple[tuple[Span, ...], ...]:
    """Return the items of every list in *source*, whose name says what it is written in.

    Raises:
        PolicyError: it cannot be read.

    """
    if source.name.endswith(_NOTATION):
        document = parse_notation(source)
        return tuple(
            tuple(matcher.span for matcher in node.matchers)
            for agent in document.body
            if isinstance(agent, Agent)
            for node in agent.body
            if isinstance(node, Grant | Delegate)
        )
    root = _read(source)
    return () if root is None else tuple(each.items for each in _written(root))


def stating(source: Source) -> tuple[tuple[Span, ...], ...]:
    """Return the items that stand for something else where none of them is left.

    An agent that states nothing it may hand on hands on what it may use.

    Raises:
        PolicyError: it cannot be read.

    """
    if not source.name.endswith(_NOTATION):
        return ()
    agents = [node for node in parse_notation(source).body if isinstance(node, Agent)]
    found = (
        tuple(m.span for node in agent.body if isinstance(node, Delegate) for m in node.matchers)
        for agent in agents
    )
    return tuple(filter(None, found))


def without(source: Source, spans: Collection[Span]) -> str | None:
    """Return the text of *source* without some items of its lists.

    None where one of them cannot be taken out without touching anything else.

    Raises:
        PolicyError: it cannot be read.

    """
    wanted = {(span.start, span.end) for span in spans}
    if source.name.endswith(_NOTATION):
        return _document(source, wanted)
    root = _read(source)
    edits: list[Edit] = []
    for each in () if root is None else _written(root):
        gone = [span for span in each.items if (span.start, span.end) in wanted]
        wanted -= {(span.start, span.end) for span in gone}
        if gone:
            found = each.without(gone)
            if found is None:
                return None
            edits += found
    return None if wanted else edited(source.text, edits)


def _read(source: Source) -> Node | None:
    """Return the document that *source* is, or that its header is; None for any other file."""
    name = source.name.lower()
    if name.endswith(".json"):
        return read_json(source)
    if name.endswith((".yaml", ".yml")):
        return read_yaml(source)
    if name.endswith(".md"):
        front = split_front_matter(source)
        if front is not None:
            read = read_toml if front.kind is Kind.TOML else read_yaml
            return read(source, front.header.start, front.header.end)
    return None


@attrs.frozen
class _List:
    """A list as it is written: with commas between, or an item a line."""

    node: Node
    items: tuple[Span, ...]

    def without(self, gone: Collection[Span]) -> list[Edit] | None:
        """Return what takes items out."""
        text, source = self.node.span.source.text, self.node.span.source
        kept = [span for span in self.items if span not in gone]
        if isinstance(self.node, Sequence) and text[self.node.span.start] != "[":
            return _lines(source, self.items, gone, kept)
        if not kept:
            is_list = isinstance(self.node, Sequence)
            return [Edit(self.node.span, "[]")] if is_list else None
        edits: list[Edit] = []
        for number, span in enumerate(self.items):
            later = self.items[number + 1 :]
            if span in gone and span.start > kept[-1].end:
                return [*edits, Edit(source.span(kept[-1].end, self.items[-1].end), "")]
            if span in gone:
                edits.append(Edit(source.span(span.start, later[0].start), ""))
        return edits


def _lines(
    source: Source, items: Iterable[Span], gone: Collection[Span], kept: Collection[Span]
) -> list[Edit] | None:
    """Return what takes out items of a list that has an item a line."""
    edits = []
    for span in items:
        if span not in gone:
            continue
        number = span.place.line
        start, line = source.offset(number, 1), source.line(number)
        dash = source.text[start : span.start]
        behind = line[span.end - start :].strip()
        if dash.strip() != "-" or (behind and not behind.startswith("#")):
            return None
        end = source.text.find("\n", span.end) + 1 or len(source.text)
        edits.append(Edit(source.span(start, end), ""))
    if kept:
        return edits
    before = source.text[: edits[0].span.start].rstrip()
    if not before.endswith(":"):
        return None
    return [Edit(source.span(len(before), edits[-1].span.end), " []\n")]


def _written(root: Node) -> Iterator[_List]:
    """Yield every list of texts."""
    within = set[int]()
    for node in walk(root):
        if isinstance(node, Sequence):
            items = [item for item in node.items if isinstance(item, Scalar)]
            within.update(id(item) for item in items)
            spans = tuple(item.span for item in items)
            # The reader of TOML has no place of its own for what is escaped.
            apart = all(one.end <= other.start for one, other in pairwise(spans))
            if items and len(items) == len(node.items) and apart and node.span not in spans:
                yield _List(node, spans)
        elif isinstance(node, Scalar) and id(node) not in within:
            parts = tuple(_parts(node))
            if len(parts) > 1:
                yield _List(node, parts)


def _parts(scalar: Scalar) -> Iterator[Span]:
    """Yield what stands between the commas of a text, those in parentheses aside."""
    content = scalar.content_span() if isinstance(scalar.value, str) else None
    if content is None or "\n" in content.text:
        return
    depth, start, text = 0, 0, content.text
    for position, character in enumerate(f"{text},"):
        depth = max(0, depth + (character == "(") - (character == ")"))
        if character == "," and not depth:
            part = text[start:position]
            begin = content.start + start + len(part) - len(part.lstrip())
            yield Span(content.source, begin, begin + len(part.strip()))
            start = position + 1


# --- our own notation -----------------------------------------------------------

_Ranges = set[tuple[int, int]]


def is_exemplified(source: Source, span: Span) -> bool:
    """Return whether an example below it would be left without any rule, were *span* taken out.

    Raises:
        PolicyError: it cannot be read.

    """
    if not source.name.endswith(_NOTATION):
        return False
    gone = {(span.start, span.end)}
    agents = (node for node in parse_notation(source).body if isinstance(node, Agent))
    return any(_exposes(agent.body, gone) for agent in agents)


def _document(source: Source, gone: _Ranges) -> str | None:
    document = parse_notation(source)
    if any(_exposes(node.body, gone) for node in document.body if isinstance(node, Agent)):
        return None
    body = tuple(
        attrs.evolve(node, body=tuple(_statements(node.body, gone)))
        if isinstance(node, Agent)
        else node
        for node in document.body
    )
    return print_document(attrs.evolve(document, body=body))


def _exposes(body: Iterable[Statement], gone: _Ranges) -> bool:
    """Return whether an example would be left without the rules that it is of."""
    empty = False
    for node in body:
        if isinstance(node, Grant):
            empty = all((m.span.start, m.span.end) in gone for m in node.matchers)
        elif isinstance(node, Expect) and empty:
            return True
    return False


def _statements(body: Iterable[Statement], gone: _Ranges) -> Iterator[Statement]:
    dropped = False
    for node in body:
        if isinstance(node, Comment) and node.trailing and dropped:
            continue  # it speaks of what is gone
        dropped = False
        if not isinstance(node, Grant | Delegate):
            yield node
            continue
        left = [(m.span.start, m.span.end) not in gone for m in node.matchers]
        dropped = not left[-1]
        if any(left):
            kept = tuple(m for m, stays in zip(node.matchers, left, strict=True) if stays)
            comments = tuple(_comments(node.comments, left))
            within = tuple((n, comment) for n, comment in comments if n < len(kept))
            yield attrs.evolve(node, matchers=kept, comments=within)
            yield from (comment for n, comment in comments if n >= len(kept))


def _comments(comments: Comments, left: list[bool]) -> Iterator[tuple[int, Comment]]:
    """Yield the comments of a list, each behind as many entries as are left before it."""
    for number, comment in comments:
        if comment.trailing and not left[number - 1]:
            continue  # it speaks of the entry that is gone
        # What stood above the first entry that is left stands below it.
        yield max(sum(left[:number]), 1), comment
