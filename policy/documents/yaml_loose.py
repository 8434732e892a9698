"""YAML as a program reads it that refuses none: anchors, tags, repeated keys, merged mappings.

For hosts that read on where `policy.documents.yaml_nodes` stops. What people write so
is reported by the strict reader; this one says what comes of it.
"""

from __future__ import annotations

import re
from typing import Final

import attrs
import yaml

from policy.documents.node import VALUES, Mapping, Node, Scalar
from policy.documents.text import BYTE_ORDER_MARK
from policy.documents.yaml_line import Range
from policy.documents.yaml_nodes import UNPRINTABLE, Builder, build
from policy.errors import PolicyError
from policy.source import Source

__all__ = ["read_loosely"]


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
                nothing = Scalar(None, self._span(event)), 1
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
    if not isinstance(node, Mapping):
        return node
    merged = [
        inner
        for entry in node.entries
        if entry.name == "<<" and isinstance(entry.value, Mapping)
        for inner in entry.value.entries
    ]
    # What is written beside it counts, since of a key twice the last one does.
    return attrs.evolve(node, entries=(*merged, *node.entries)) if merged else node
