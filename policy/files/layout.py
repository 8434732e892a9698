"""Whole files in their canonical layout: JSON, YAML, and Markdown with a header.

JSON is laid out as its own writers do with an indent of two; of Markdown only the header is
touched. A byte order mark and the kind of line breaks are kept, since some hosts do not read a
file with others at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, assert_never

from policy.core import expressions as re
from policy.core.errors import PolicyError
from policy.core.source import Source
from policy.core.values import define, field, frozen
from policy.files.frontmatter import HeaderLanguage, split_front_matter
from policy.files.json_nodes import read_json
from policy.files.nodes import MappingNode, Node, ScalarNode, SequenceNode, walk
from policy.files.text import BYTE_ORDER_MARK, has_byte_order_mark

__all__ = ["layout_json_file", "layout_markdown_file", "layout_yaml_file"]


_WIDTH: Final = 100
_STEP: Final = 2
_COMMENT: Final = re.compile(r"#[^\r\n]*")
_DASH: Final = re.compile(r"(?<!\S)-(?!\S)")


def layout_yaml(source: Source, start: int = 0, end: int | None = None) -> str:
    r"""Return the document in *source* from *start* to *end* laid out; lines end in ``\n``.

    Raises:
        PolicyError: it cannot be read, or not laid out without loss.

    """
    from policy.files.yaml_nodes import read_yaml  # noqa: PLC0415  # where there is YAML alone

    end = len(source.text) if end is None else end
    node = read_yaml(source, start, end)
    comments = _comments(source, node, start, end)
    printed = _Printer(source).document(node, start, end)
    # A block of text at the very end may be one without a line break.
    for text in (printed, printed.removesuffix("\n")):
        if _says_the_same(text, node, comments):
            return text
    msg = "cannot be laid out without loss"
    raise PolicyError(msg, source.span(start, start), help="the text is left as it is")


@frozen
class _Leaf:
    """A key or a value that is printed as one: a scalar, or what stands in brackets.

    Attributes:
        node: what it is.
        depth: how many steps it is indented where it has a line of its own.
        is_value: whether it is the value of a key.

    """

    node: Node
    depth: int
    is_value: bool = False


def _leaves(node: Node, depth: int = 0, *, is_value: bool = False) -> Iterator[_Leaf]:
    """Yield the leaves of *node* that have a text, in the order of the text."""
    if isinstance(node, ScalarNode) or node.span.text[:1] in {"[", "{"}:
        if node.span.text:
            yield _Leaf(node, depth, is_value)
    elif isinstance(node, SequenceNode):
        for item in node.items:
            yield from _leaves(item, depth + 1)
    else:
        for entry in node.entries:
            yield _Leaf(entry.key, depth)
            yield from _leaves(entry.value, depth + 1, is_value=True)


def _says_the_same(printed: str, node: Node, comments: list[str]) -> bool:
    from policy.files.yaml_nodes import read_yaml  # noqa: PLC0415  # where there is YAML alone

    again = Source("", printed)
    try:
        read = read_yaml(again)
    except PolicyError:
        return False
    return read == node and _comments(again, read, 0, len(printed)) == comments


def _comments(source: Source, node: Node, start: int, end: int) -> list[str]:
    """Return every comment: all text outside keys and scalars that a `#` starts."""
    found, at = list[str](), start
    keys = (
        e.key.span for part in walk(node) if isinstance(part, MappingNode) for e in part.entries
    )
    scalars = (part.span for part in walk(node) if isinstance(part, ScalarNode))
    spans = sorted((*keys, *scalars), key=lambda span: span.start)
    for span in (*spans, source.span(end, end)):
        found += (each[0].rstrip() for each in _COMMENT.finditer(source.text, at, span.start))
        at = span.end
    return found


@define
class _Printer:
    """Prints one document, leaf by leaf.

    Attributes:
        source: where it is written.
        lines: what was printed.
        blocks: the blocks that the last leaf is in: the column of each as written, and as printed.

    """

    source: Source
    lines: list[str] = field(factory=list)
    blocks: list[tuple[int, int]] = field(factory=list)

    def document(self, node: Node, start: int, end: int) -> str:
        """Return the whole text."""
        at = start
        for leaf in _leaves(node):
            self._between("\n" * (at == start) + self.source.text[at : leaf.node.span.start], leaf)
            first, *rest = self._lines(leaf)
            self.lines[-1] += first
            self.lines += rest
            at = leaf.node.span.end
        self._between("\n" * (at == start) + self.source.text[at:end], None)
        text = "\n".join(line.rstrip() for line in self.lines).strip("\n")
        return f"{text}\n" if text else ""

    def _between(self, text: str, leaf: _Leaf | None) -> None:
        """Print what stands between the last leaf and the next: marks, comments, empty lines."""
        behind, *below = text.split("\n")
        mark, sign, comment = behind.partition("#")
        if self.lines:
            self.lines[-1] += ":" * (":" in mark) + (f"  #{comment}" if sign else "")
        if leaf and leaf.is_value and "#" not in text:
            self.lines[-1] += " "
            return
        if leaf and not below:
            return
        dashes = len(_DASH.findall(_COMMENT.sub("", text)))
        column, indent = -1, 0
        if leaf:
            indent = _STEP * (leaf.depth - dashes)
            column = leaf.node.span.place.column - 1 - len(below[-1].lstrip(" "))
        is_empty = False
        for line in below[: -1 if leaf else None]:
            if "#" in line:
                self._line(self._indent(line.index("#"), column, indent), is_empty=is_empty)
                self.lines[-1] += line[line.index("#") :]
            is_empty = not line.strip()
        if leaf:
            self._line(indent, is_empty=is_empty)
            self.lines[-1] += "- " * dashes
            self.blocks = [block for block in self.blocks if block[1] < indent]
            self.blocks += ((column + n * _STEP, indent + n * _STEP) for n in range(dashes + 1))

    def _line(self, indent: int, *, is_empty: bool) -> None:
        """Begin a line, below an empty one unless a block starts with it."""
        if is_empty and self.lines and not self.lines[-1].endswith(":"):
            self.lines.append("")
        self.lines.append(" " * indent)

    def _indent(self, written: int, column: int, indent: int) -> int:
        """Return how far a comment is indented: as what follows, or as a block it stands in."""
        inside = max((old for old, _ in self.blocks if column < old <= written), default=-1)
        if inside < 0:
            return indent
        is_alone = self.lines[-1].endswith(":") and written > inside
        return dict(reversed(self.blocks))[inside] + _STEP * is_alone

    def _lines(self, leaf: _Leaf) -> list[str]:
        """Return the text of a leaf, its further lines indented."""
        node, indent = leaf.node, _STEP * leaf.depth
        is_commented = bool(_comments(self.source, node, node.span.start, node.span.end))
        flow = None if is_commented else _flow(node)
        if flow is not None and indent + len(flow) <= _WIDTH:
            return [flow]
        first, *rest = node.span.text.replace("\r\n", "\n").split("\n")
        if first[:1] in {"|", ">"}:
            return [first, *_shifted(rest, first, indent)]
        return [first, *(" " * indent + line.strip() for line in rest)]


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
