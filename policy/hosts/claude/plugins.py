"""Plugins: which files of a tree are theirs, by where they lie and by what a manifest names."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from policy import limits
from policy.documents.json_nodes import read_json
from policy.documents.node import Mapping, Node, Scalar, Sequence
from policy.errors import PolicyError
from policy.files.opening import Tree
from policy.source import Source

__all__ = ["command_name", "plugin_files"]

_MANIFEST: Final = ".claude-plugin/plugin.json"


def command_name(segments: list[str]) -> str:
    """Return the name of the command whose file is at *segments*, e.g. ``web:deploy``."""
    return ":".join(segments).removesuffix(".md")


def _named_below(kind: str, at: str, paths: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the skills or commands that a manifest names by their place, with their names."""
    for path in paths:
        inner = path.removeprefix(f"{at}/" if at else "")
        if path == at:
            inner = path.rpartition("/")[2]
        elif at and inner == path:
            continue
        segments = inner.split("/")
        if kind == "command":
            yield path, command_name(segments)
        elif segments[-1] == "SKILL.md" and len(segments) < _SKILL_DEPTH:
            yield path, path.split("/")[-2] if "/" in path else path


# A folder of skills, or the folder of one.
_SKILL_DEPTH: Final = 3


def _texts(node: Node | None) -> Iterator[str]:
    for item in node.items if isinstance(node, Sequence) else (node,):
        if isinstance(item, Scalar) and isinstance(item.value, str):
            yield item.value


def plugin_files(tree: Tree, paths: Collection[str]) -> dict[str, tuple[str, str, str]]:
    """Return each file of a plugin, with the root, what it is, and its name or the plugin's."""
    return dict(_plugins(tree, paths))


def _plugins(tree: Tree, paths: Collection[str]) -> Iterator[tuple[str, tuple[str, str, str]]]:
    for manifest in sorted(path for path in paths if path.endswith(_MANIFEST)):
        root = manifest.removesuffix(_MANIFEST).rstrip("/")
        if manifest != f"{root}/{_MANIFEST}".lstrip("/"):
            continue
        name, listed = _manifest(tree, manifest)
        name = name or root.rpartition("/")[2]
        prefix = f"{root}/" if root else ""
        below = sorted(p for p in paths if p.startswith(prefix) and p.endswith(".md"))
        # What lies where the host looks by itself is that: it comes later, and counts.
        for kind in ("command", "skill"):
            for place in listed[kind + "s"]:
                at = prefix + place.removeprefix("./").strip("/")
                for path, short in _named_below(kind, at.rstrip("/"), below):
                    yield path, (root, kind, f"{name}:{short}")
        for place in ("agents", *listed["agents"]):
            at = prefix + place.removeprefix("./").strip("/")
            for path in below:
                if path == at or path.startswith(at + "/"):
                    yield path, (root, "agent", name)
        for path in below:
            rest = path.removeprefix(prefix).split("/")
            if len(rest) == 3 and rest[0] == "skills" and rest[2] == "SKILL.md":
                yield path, (root, "skill", f"{name}:{rest[1]}")
            elif len(rest) > 1 and rest[0] == "commands":
                yield path, (root, "command", f"{name}:{command_name(rest[1:])}")


def _manifest(tree: Tree, path: str) -> tuple[str, dict[str, list[str]]]:
    """Return the name of a plugin, and where its manifest says that files of a kind are."""
    try:
        node = read_json(tree.source(path, limits.AGENT_BYTES))
    except PolicyError:
        node = None
    if not isinstance(node, Mapping):
        node = Mapping((), Source(path, "").span(0, 0))
    name = node.get("name")
    listed = {key: list(_texts(node.get(key))) for key in ("agents", "commands", "skills")}
    return str(name.value) if isinstance(name, Scalar) else "", listed
