"""What the files of a project say beside permissions: texts for people and models, and the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from policy.documents.frontmatter import Kind, split_front_matter
from policy.documents.json_nodes import read_jsonc
from policy.documents.node import Mapping as Document
from policy.documents.node import Node, Scalar
from policy.documents.yaml_nodes import read_yaml
from policy.errors import PolicyError
from policy.files.opening import Tree
from policy.portable import Dropped
from policy.project import Project
from policy.source import Source

__all__ = ["About", "about"]


@attrs.frozen
class About:
    """What is beside permissions.

    Attributes:
        texts: agent -> what it is for, and its prompt.
        dropped: the keys that no conversion carries over.

    """

    texts: Mapping[str, tuple[str, str]]
    dropped: tuple[Dropped, ...]


def about(tree: Tree, project: Project, carried: frozenset[str]) -> About:
    """Return what the files of *project* say beside what its tables hold.

    Args:
        tree: where they are.
        project: whose.
        carried: keys that tables, names and texts hold.

    """
    texts: dict[str, tuple[str, str]] = {}
    dropped: list[Dropped] = []
    for file in project.files:
        try:
            source = tree.source(file.path)
            node, body = _document(source)
        except PolicyError:
            continue  # a finding of the project, if it matters
        if not isinstance(node, Document):
            continue
        name, description = (_text(node.get(key)) for key in ("name", "description"))
        if name:
            prompt = body or _text(node.get("prompt"))
            texts.setdefault(name, (description, prompt))
        dropped += (Dropped(f"`{key}` of {file.path}", name) for key in _keys(node, carried))
    return About(texts, tuple(dropped))


def _document(source: Source) -> tuple[Node | None, str]:
    name = source.name.lower()
    if name.endswith(".json"):
        return read_jsonc(source), ""
    if name.endswith((".yaml", ".yml")):
        return read_yaml(source), ""
    if name.endswith(".md"):
        front = split_front_matter(source)
        if front is not None and front.kind is Kind.YAML:
            node = read_yaml(source, front.header.start, front.header.end)
            return node, front.body.text.strip()
    return None, ""


def _text(node: Node | None) -> str:
    return node.value if isinstance(node, Scalar) and isinstance(node.value, str) else ""


def _keys(node: Document, carried: frozenset[str]) -> Iterator[str]:
    """Yield the keys that nothing carries over; of a mapping that is carried, those within."""
    for entry in node.entries:
        if entry.name not in carried:
            yield entry.name
        elif isinstance(entry.value, Document):
            inner = (one.name for one in entry.value.entries)
            yield from (
                f"{entry.name}.{name}" for name in inner if f"{entry.name}.{name}" not in carried
            )
