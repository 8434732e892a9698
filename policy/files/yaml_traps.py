"""Rules that YAML reads, but not as they were meant.

``tools: [Read, Task(worker, researcher)]`` is valid YAML and a list of three.
These are found in the values that hold rules; nothing here fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, assert_never

from policy.core import expressions as re
from policy.files.nodes import MappingNode, Node, NodeEntry, ScalarNode, SequenceNode
from policy.files.text import DocumentTrap, Remark, cite

__all__ = ["find_traps"]


def find_traps(node: Node) -> tuple[Remark, ...]:
    """Return what is odd about *node*, the value of a key that lists rules or tools.

    The remarks come in the order of the text. Values of other keys, such as a
    description, must not be given: a parenthesis means nothing there.
    """
    return tuple(_traps(node))


def _traps(node: Node) -> Iterator[Remark]:
    match node:
        case ScalarNode():
            yield from _scalar(node)
        case SequenceNode(items=items):
            yield from _sequence(items)
        case MappingNode(entries=entries):
            for entry in entries:
                yield from _mapping(entry)
        case _:
            assert_never(node)


def _sequence(items: tuple[Node, ...]) -> Iterator[Remark]:
    at = 0
    while at < len(items):
        end = _split(items, at)
        if end is not None:
            yield _split_remark(items[at], items[end])
            at = end + 1
            continue
        yield from _traps(items[at])
        at += 1


def _split(items: tuple[Node, ...], at: int) -> int | None:
    """Return the item that closes the parenthesis item *at* leaves open."""
    depth = 0
    for index in range(at, len(items)):
        item = items[index]
        if not isinstance(item, ScalarNode) or not _is_plain(item) or _comment(item):
            return None
        depth += _open(str(item.value))
        if depth <= 0:
            return index if index > at else None
    return None


def _split_remark(first: Node, last: Node) -> Remark:
    span = first.span.source.span(first.span.start, last.span.end)
    return Remark(
        DocumentTrap.SPLIT,
        f"the list is split inside the parentheses of {cite(first.span.text)}",
        span,
        help=f'put the rule in quotes: `"{" ".join(span.text.split())}"`',
    )


def _scalar(node: ScalarNode) -> Iterator[Remark]:
    if not _is_plain(node):
        return
    text, raw = str(node.value), node.raw
    if isinstance(node.value, str) and text.lower() in _TRUTH_WORDS:
        yield Remark(
            DocumentTrap.WORD,
            f"`{raw}` is text for some readers of YAML and a truth value for others",
            node.span,
            help=f'put it in quotes if it is meant as text: `"{raw}"`',
        )
    comment = _comment(node)
    if comment is not None and _open(text) > 0:
        start = node.span.end + len(comment) - len(comment.lstrip())
        yield Remark(
            DocumentTrap.COMMENT,
            f"` #` starts a comment inside {cite(raw.rpartition(',')[2])}",
            node.span.source.span(start, node.span.end + len(comment.rstrip())),
            help="put the rule in quotes",
        )
    elif _open(text) != 0:
        yield Remark(
            DocumentTrap.UNBALANCED,
            f"the parentheses of {cite(raw)} do not match",
            node.span,
            help="put a rule with a lone parenthesis in quotes",
        )


def _mapping(entry: NodeEntry) -> Iterator[Remark]:
    if _open(entry.name) <= 0:
        yield from _traps(entry.value)
        return
    source = entry.key.span.source
    span = source.span(entry.key.span.start, max(entry.value.span.end, entry.key.span.end))
    mended = re.sub(r":[ ]+", ":", span.text)
    yield Remark(
        DocumentTrap.MAPPING,
        f"`: ` makes a mapping of the rule {cite(span.text)}",
        span,
        help=f"put the rule in quotes, or leave no blank after `:`: `{mended}`",
    )


# What YAML 1.1 takes for true or false and YAML 1.2 for text.
_TRUTH_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off"})


def _is_plain(node: ScalarNode) -> bool:
    """Return whether *node* is neither quoted nor a block of text."""
    return not node.quoted and not node.raw.startswith(("|", ">"))


def _comment(node: ScalarNode) -> str | None:
    """Return the blanks and comment that follow *node* on its line."""
    text, start = node.span.source.text, node.span.end
    found = re.compile(r"[ \t]+#[^\r\n]*").match(text, start)
    return found[0] if found else None


# A backslash takes the meaning from a parenthesis in rules of every host.
_PARENTHESES: Final = re.compile(r"\\.|[()]")


def _open(text: str) -> int:
    """Return how many parentheses *text* leaves open; negative if it closes more."""
    signs = {"(": 1, ")": -1}
    return sum(signs.get(found[0], 0) for found in _PARENTHESES.finditer(text))
