"""Lists of tools in the front matter of agents, in every spelling the host takes.

A string is cut at commas and spaces outside parentheses, and so is each entry of a
list. A tab or a line break cuts nothing, so that what it stands between is no tool; an
entry that is left empty is none, and so is one of a list that is no text (2.1.329, observed).
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.documents.node import Mapping, Node, Scalar, Sequence
from policy.documents.text import cite
from policy.errors import PolicyError
from policy.finding import Finding, Severity
from policy.language.parse import parse_matcher
from policy.language.syntax import Declared, Matcher, Presence
from policy.source import Span

__all__ = ["read_list"]


def read_list(node: Node | None, key: str) -> tuple[Declared, tuple[Finding, ...]]:
    """Return the list that the value of *key* is, and what is wrong with it."""
    match node:
        case None:
            return Declared(Presence.ABSENT), ()
        case Scalar(value=None):
            return Declared(Presence.NULL, span=node.span), ()
        case Scalar(value=str()):
            items = [node]
        case Sequence(items=()):
            return Declared(Presence.EMPTY, span=node.span), ()
        case Sequence() if any(map(_is_text, node.items)):
            items = [i for i in node.items if isinstance(i, Scalar) and isinstance(i.value, str)]
            others = [_ill_typed(item, key) for item in node.items if not _is_text(item)]
            return _listed(node, items, others)
        case Sequence() | Mapping() | Scalar():
            return Declared(Presence.ILL_TYPED, span=node.span), (_ill_typed(node, key),)
    return _listed(node, items, [])


def _listed(
    node: Node, items: list[Scalar], findings: list[Finding]
) -> tuple[Declared, tuple[Finding, ...]]:
    matchers: list[Matcher] = []
    for item in items:
        for start, end in _cut(str(item.value)):
            text, span = str(item.value)[start:end], item.part(start, end)
            try:
                matchers.append(parse_matcher(text, span))
            except PolicyError:
                findings.append(_nonsense(text, span))
    presence = (
        Presence.LISTED if any(str(item.value).strip(", ") for item in items) else Presence.EMPTY
    )
    return Declared(presence, tuple(matchers), span=node.span), tuple(findings)


def _is_text(node: Node) -> bool:
    return isinstance(node, Scalar) and (node.value is None or isinstance(node.value, str))


def _ill_typed(node: Node, key: str) -> Finding:
    return Finding(
        "wrong-type",
        f"expected names of tools for `{key}`",
        Severity.ERROR,
        node.span,
        help=f"write `{key}: Read, Grep` or a list",
    )


def _nonsense(text: str, span: Span) -> Finding:
    return Finding(
        "unknown-tool",
        f"{cite(text)} is no tool, so the host leaves it out",
        Severity.WARNING,
        span,
    )


def _cut(text: str) -> Iterator[tuple[int, int]]:
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
