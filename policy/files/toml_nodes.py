"""Read TOML as nodes. The standard library reads the values, and this module finds their spans.

A value that the text spells differently, e.g. with escapes, gets the span of the text around it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping as Keyed
from typing import Final

from policy.core import expressions as re
from policy.core.errors import PolicyError
from policy.core.source import Source, Span
from policy.core.values import frozen
from policy.files.nodes import MappingNode, Node, NodeEntry, ScalarNode, SequenceNode


def read_toml(source: Source, start: int, end: int) -> Node:
    """Return the document in *source* from *start* up to *end*. Raises PolicyError for no TOML."""
    # The length stays, and so do spans.
    text = re.sub(r"\r(?!\n)", "\n", source.text[start:end])
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _mistake(str(error), source, start, end) from None
    except RecursionError:
        place = source.span(start, start)
        raise PolicyError("lists and tables are nested too deep", place) from None
    places = _places(text, source, start)
    whole = _Place(source.span(start, start), source.span(start, end))
    return _Nodes(places).mapping(values, (), whole)


_AT: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)\Z")


def _mistake(text: str, source: Source, start: int, end: int) -> PolicyError:
    match = _AT.search(text)
    message = text[: match.start()] if match else text
    offset = end
    if match and match[1]:
        line, _ = source.line_and_column(start)
        offset = source.offset(line + int(match[1]) - 1, int(match[2]))
    message = message[:1].lower() + message[1:]
    return PolicyError(message, source.span(min(offset, end), min(offset + 1, end)))


@frozen
class _Place:
    key: Span
    value: Span


_Path = tuple[str, ...]

_NAME: Final = r"""[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*'"""
_KEY: Final = rf"(?:{_NAME})(?:[ \t]*\.[ \t]*(?:{_NAME}))*"
_LINE: Final = re.compile(
    rf"^[ \t]*(?:\[\[?[ \t]*(?P<table>{_KEY})[ \t]*\]\]?|(?P<key>{_KEY})[ \t]*=[ \t]*)",
    re.MULTILINE,
)


def _places(text: str, source: Source, start: int) -> Keyed[_Path, _Place]:
    """Return the spans of keys and values that are on one line."""
    places: dict[_Path, _Place] = {}
    lines = list(_LINE.finditer(text))
    table: _Path = ()
    # List of tables -> the number of its current table.
    last: dict[_Path, _Path] = {}
    for number, line in enumerate(lines):
        end = lines[number + 1].start() if number + 1 < len(lines) else len(text)
        value = text[line.end() : end].rstrip()
        span = source.span(start + line.end(), start + line.end() + len(value))
        if line["table"] is not None:
            table = ()
            for name in _names(line["table"]):
                table = last.get((*table, name), (*table, name))
            key = source.span(start + line.start("table"), start + line.end("table"))
            if line[0].lstrip().startswith("[["):
                listed = table if table not in last.values() else table[:-1]
                places.setdefault(listed, _Place(key, key))
                count = int(table[-1].strip("[]")) + 1 if listed != table else 0
                last[listed] = table = (*listed, f"[{count}]")
            places.setdefault(table, _Place(key, key))
        else:
            key = source.span(start + line.start("key"), start + line.end("key"))
            places.setdefault((*table, *_names(line["key"])), _Place(key, span))
    return places


def _names(key: str) -> _Path:
    return tuple(name.strip("\"'") for name in re.findall(_NAME, key))


@frozen
class _Nodes:
    places: Keyed[_Path, _Place]

    def mapping(self, values: Keyed[str, object], path: _Path, around: _Place) -> MappingNode:
        entries = []
        for name, value in values.items():
            place = self.places.get((*path, name), around)
            key = ScalarNode(name, place.key)
            entries.append(NodeEntry(key, self.node(value, (*path, name), place)))
        return MappingNode(tuple(entries), around.value)

    def node(self, value: object, path: _Path, place: _Place) -> Node:
        if isinstance(value, dict):
            return self.mapping(value, path, place)
        if isinstance(value, list):
            items = self._items(value, path, place)
            return SequenceNode(items, _closed(place.value, items))
        if value is None or isinstance(value, str | int | float | bool):
            return ScalarNode(value, _exact(place.value, value), quoted=isinstance(value, str))
        msg = "expected text, a number, a truth value, a list or a table, found a date"
        raise PolicyError(msg, place.value)

    def _items(self, values: list[object], path: _Path, place: _Place) -> tuple[Node, ...]:
        items: list[Node] = []
        span = place.value
        at = span.start
        for index, value in enumerate(values):
            written = (span.source.text.find(f"{q}{value}{q}", at, span.end) for q in "\"'")
            start_of_value = min((start for start in written if start >= 0), default=-1)
            if isinstance(value, str) and start_of_value >= 0:
                at = start_of_value + len(value) + 2
                items.append(ScalarNode(value, span.source.span(start_of_value, at), quoted=True))
            else:
                below = (*path, f"[{index}]")
                items.append(self.node(value, below, self.places.get(below, place)))
        return tuple(items)


def _closed(span: Span, items: tuple[Node, ...]) -> Span:
    """Return the span of a list without a comment after it, or *span* if that is uncertain."""
    last = items[-1].span.end if items else span.start + 1
    match = _END.match(span.source.text, last, span.end)
    return span.source.span(span.start, match.end()) if match else span


_END: Final = re.compile(r"(?:[\s,]|#[^\n]*\n)*\]")


def _exact(span: Span, value: object) -> Span:
    """Return the span of *value* without a comment after it, or *span* if that is uncertain."""
    text = span.text
    match = _BARE.match(text)
    written = (f"{quote}{value}{quote}" for quote in "\"'")
    if isinstance(value, str):
        size = next((len(spelling) for spelling in written if text.startswith(spelling)), len(text))
    else:
        size = match.end() if match else len(text)
    return span.source.span(span.start, span.start + size)


_BARE: Final = re.compile(r"[\w.+-]+")
