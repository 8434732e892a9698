"""Front matter as the host reads it, which is also where a strict reader of YAML stops.

What is YAML is read, whatever is in it. Of what is none the host writes each value
with a special character in quotes, where a key without digits begins the line, and
reads once more; what is no YAML then either says nothing (2.1.329, observed): an
agent is left out, and a skill or a command is a plain one.
"""

from __future__ import annotations

import re
from typing import Final

import attrs

from policy.documents.node import Entry, Mapping, Node, Scalar, Sequence
from policy.documents.yaml_loose import read_loosely
from policy.documents.yaml_nodes import read_yaml
from policy.errors import PolicyError
from policy.source import Source, Span

__all__ = ["READ_ANYWAY", "read_header"]

READ_ANYWAY: Final = "the host reads it anyway, with quotes around what needs them"


def read_header(header: Span) -> tuple[Node | None, PolicyError | None]:
    """Return what the host reads of *header*, None for nothing, and what is wrong with it."""
    error = None
    try:
        read_yaml(header.source, header.start, header.end)
    except PolicyError as mistake:
        error = mistake
    return _salvaged(header), error


def _salvaged(header: Span) -> Node | None:
    try:
        return read_loosely(header.source, header.start, header.end)
    except PolicyError:
        pass
    written = _Quoted.of(header)
    try:
        node = read_loosely(Source(header.source.name, written.text), 0, len(written.text))
    except PolicyError:
        return None
    return written.placed(node)


_ENTRY: Final = re.compile(r"([A-Za-z_-]+:[ \t]+)([^\n\r\u2028\u2029]+)")
_SPECIAL: Final = re.compile(r"[{}\[\]*&#!|>%@`]|: |^,")
_IN_QUOTES: Final = re.compile(r"\".*\"|'.*'")


# A list in brackets stays one, where it is a list.
_LIST: Final = re.compile(r"\[[^\[\]]*\][ \t]*")


def _needs_quotes(value: str) -> bool:
    if not _SPECIAL.search(value) or _IN_QUOTES.fullmatch(value):
        return False
    return not (_LIST.fullmatch(value) and isinstance(_loosely(value), Sequence))


def _loosely(text: str) -> Node | None:
    try:
        return read_loosely(Source("", text), 0, len(text))
    except PolicyError:
        return None


@attrs.frozen
class _Quoted:
    """A header with quotes around some values.

    Attributes:
        text: the header so.
        header: as it is written.
        places: where each character of the text, and its end, is in the source.
        begun: where in the text values stand that have quotes now.
    """

    text: str
    header: Span
    places: tuple[int, ...]
    begun: frozenset[int]

    @classmethod
    def of(cls, header: Span) -> _Quoted:
        text: list[str] = []
        places: list[int] = []
        begun: list[int] = []
        at = header.start
        for line in header.text.split("\n"):
            found = _ENTRY.fullmatch(line)
            value = found[2] if found else ""
            if _needs_quotes(value):
                start = at + len(line) - len(value)
                text += line[: len(line) - len(value)]
                places += range(at, start)
                begun.append(len(places))
                text.append('"')
                places.append(start)
                for offset, letter in enumerate(value):
                    text += ("\\", letter) if letter in '\\"' else (letter,)
                    places += [start + offset] * (1 + (letter in '\\"'))
                text.append('"')
                places.append(at + len(line))
            else:
                text += line
                places += range(at, at + len(line))
            text.append("\n")
            places.append(at + len(line))
            at += len(line) + 1
        return cls("".join(text), header, (*places, header.end), frozenset(begun))

    def placed(self, node: Node) -> Node:
        """Return *node* with the places of the source."""
        match node:
            case Scalar():
                return self._scalar(node)
            case Sequence():
                items = tuple(map(self.placed, node.items))
                return Sequence(items, self._span(node.span))
            case Mapping():
                entries = tuple(
                    Entry(self._scalar(entry.key), self.placed(entry.value))
                    for entry in node.entries
                )
                return Mapping(entries, self._span(node.span))

    def _scalar(self, node: Scalar) -> Scalar:
        quoted = node.quoted and node.span.start not in self.begun
        return Scalar(node.value, self._span(node.span), quoted=quoted)

    def _span(self, span: Span) -> Span:
        return self.header.source.span(self.places[span.start], self.places[span.end])
