"""Whole files in their canonical layout: JSON, YAML, and Markdown with a header.

JSON is laid out as its own writers do with an indent of two; of Markdown only
the header is touched. A byte order mark and the kind of line breaks are kept,
since some hosts read a file with others not at all.
"""

from __future__ import annotations

from typing import assert_never

from policy.documents.frontmatter import Kind, split_front_matter
from policy.documents.json_nodes import read_json
from policy.documents.node import Mapping, Node, Scalar, Sequence
from policy.documents.text import BYTE_ORDER_MARK, has_byte_order_mark
from policy.documents.yaml_layout import layout_yaml
from policy.source import Source

__all__ = ["layout_json_file", "layout_markdown_file", "layout_yaml_file"]


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
    if front is None or front.kind is not Kind.YAML:
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
        case Scalar():
            return node.raw
        case Sequence(items=items):
            parts, brackets = [_json(item, inner) for item in items], "[]"
        case Mapping(entries=entries):
            parts = [f"{entry.key.raw}: {_json(entry.value, inner)}" for entry in entries]
            brackets = "{}"
        case _:
            assert_never(node)
    if not parts:
        return brackets
    lines = f",\n{inner}".join(parts)
    return f"{brackets[0]}\n{inner}{lines}\n{indent}{brackets[1]}"
