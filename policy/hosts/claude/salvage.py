"""Front matter that is not YAML, read key by key.

One bad value does not cost the host the whole header: 2.1.329 was observed to
start an agent with ``disallowedTools: *``, which no YAML reader takes. Each
key at the start of a line is read with what follows it, as YAML where that is
YAML and else as the text it is.
"""

from __future__ import annotations

import re
from typing import Final

from policy.documents.node import Entry, Mapping, Node, Scalar
from policy.documents.yaml_nodes import read_yaml
from policy.errors import PolicyError
from policy.source import Span

__all__ = ["salvage"]

_KEY: Final = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:(?=[ \t\r\n]|\Z)", re.MULTILINE)


def salvage(header: Span) -> Mapping:
    """Return the keys of *header*; where one is given twice, the first counts."""
    source, end = header.source, header.end
    keys = list(_KEY.finditer(source.text, header.start, end))
    entries: dict[str, Entry] = {}
    for match, following in zip(keys, [*keys[1:], None], strict=True):
        if match[1] in entries:
            continue
        key = Scalar(match[1], source.span(*match.span(1)))
        stop = following.start() if following else end
        entries[match[1]] = Entry(key, _value(source.span(match.start(), stop), match.end()))
    return Mapping(tuple(entries.values()), header)


def _value(part: Span, start: int) -> Node:
    source = part.source
    try:
        node = read_yaml(source, part.start, part.end)
    except PolicyError:
        node = None
    if isinstance(node, Mapping) and len(node.entries) == 1:
        return node.entries[0].value
    text = source.text[start : part.end]
    first = text.lstrip(" \t")
    begin = start + len(text) - len(first)
    line = first.split("\n", 1)[0].rstrip()
    return Scalar(line, source.span(begin, begin + len(line)))
