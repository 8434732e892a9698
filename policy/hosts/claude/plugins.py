"""Plugins: which files of a tree are theirs, by where they lie and by what a manifest names.

Agents and commands that a manifest names are all that there are, skills are more than those
in ``skills/``. One value of a manifest that is wrong, and nothing of the plugin is loaded
(2.1.329, observed).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

import attrs

from policy import limits
from policy.documents.json_nodes import read_json
from policy.documents.node import Mapping, Node, Scalar, Sequence, describe
from policy.errors import PolicyError
from policy.files.opening import Tree
from policy.source import Source

__all__ = ["PluginFile", "command_name", "plugin_files"]

_MANIFEST: Final = ".claude-plugin/plugin.json"


def command_name(segments: list[str]) -> str:
    """Return the name of the command whose file is at *segments*, e.g. ``web:deploy``."""
    return ":".join(segments).removesuffix(".md")


# A folder of skills, or the folder of one.
_SKILL_DEPTH: Final = 3
_KINDS: Final = ("agents", "commands", "skills")


@attrs.frozen
class PluginFile:
    """What one file of a plugin is: the root of the plugin, the kind, and its name.

    Of an agent the name is what stands before its own.
    """

    root: str
    kind: str
    name: str


@attrs.frozen
class _Manifest:
    """What a manifest says: the name, and by kind the places it lists; None where it is quiet."""

    name: str
    listed: dict[str, tuple[str, ...] | None]
    commands: dict[str, str]


def plugin_files(
    tree: Tree, paths: Collection[str]
) -> tuple[dict[str, PluginFile], dict[str, PolicyError]]:
    """Return each file of a plugin, and of those that the host does not load the root, and why."""
    files: dict[str, PluginFile] = {}
    refused: dict[str, PolicyError] = {}
    for path in sorted(each for each in paths if each.endswith(_MANIFEST)):
        root = path.removesuffix(_MANIFEST).rstrip("/")
        if path != f"{root}/{_MANIFEST}".lstrip("/"):
            continue
        try:
            manifest = _read(tree.source(path, limits.AGENT_BYTES))
        except PolicyError as error:
            refused[root] = error
            continue
        prefix = f"{root}/" if root else ""
        below = sorted(p[len(prefix) :] for p in paths if p.startswith(prefix))
        texts = [inner for inner in below if inner.endswith(".md")]
        for inner, kind, name in _files(manifest, texts):
            files[prefix + inner] = PluginFile(root, kind, name)
    return files, refused


def _files(manifest: _Manifest, texts: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the files of a plugin: what it lists of agents and commands is all it has of them."""
    listed = manifest.listed
    skills = (*(listed["skills"] or ()), "skills")
    for kind, places in (("skill", skills), ("command", listed["commands"] or ())):
        for place in places:
            for inner, short in _named_below(kind, place, texts):
                yield inner, kind, f"{manifest.name}:{short}"
    for inner, short in manifest.commands.items():
        if inner in texts:
            yield inner, "command", f"{manifest.name}:{short}"
    for inner in texts:
        folder, *rest = inner.split("/")
        if folder == "agents" and rest and listed["agents"] is None:
            yield inner, "agent", ":".join((manifest.name, *rest[:-1]))
        elif folder == "commands" and rest and listed["commands"] is None:
            yield inner, "command", f"{manifest.name}:{command_name(rest)}"
        elif inner in (listed["agents"] or ()):
            yield inner, "agent", manifest.name


def _named_below(kind: str, at: str, texts: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the skills or commands at a place that a manifest names, with their names."""
    for path in texts:
        inner = path.removeprefix(f"{at}/" if at else "")
        if path == at:
            inner = path.rpartition("/")[2] if kind == "command" else ""
        elif at and inner == path:
            continue
        segments = inner.split("/")
        if kind == "command" and segments[-1] == "SKILL.md" and len(segments) > 1:
            yield path, ":".join(segments[:-1])
        elif kind == "command":
            yield path, command_name(segments)
        elif segments[-1] == "SKILL.md" and len(segments) < _SKILL_DEPTH:
            yield path, path.split("/")[-2] if "/" in path else path


def _read(source: Source) -> _Manifest:
    """Return what a manifest says.

    Raises:
        PolicyError: it is such that the host loads nothing of the plugin.

    """
    node = read_json(source)
    if not isinstance(node, Mapping):
        msg = f"expected an object, found {describe(node)}"
        raise PolicyError(msg, node.span)
    name = node.get("name")
    if not isinstance(name, Scalar) or not _NAME.fullmatch(str(name.value)):
        msg = "expected a name without blanks and colons"
        raise PolicyError(msg, name.span if name is not None else node.span)
    version = node.get("version")
    if version is not None and not (isinstance(version, Scalar) and isinstance(version.value, str)):
        msg = f"expected a string, found {describe(version)}"
        raise PolicyError(msg, version.span)
    listed = {kind: _places(node.get(kind), kind) for kind in _KINDS}
    return _Manifest(str(name.value), listed, dict(_named_commands(node.get("commands"))))


_NAME: Final = re.compile(r"[^\s:]+")


def _places(node: Node | None, kind: str) -> tuple[str, ...] | None:
    if node is None:
        return None
    if kind == "commands" and isinstance(node, Mapping):
        return ()
    ending = ".md" if kind == "agents" else ""
    items = node.items if isinstance(node, Sequence) else (node,)
    return tuple(_place(item, ending) for item in items)


def _place(node: Node, ending: str = "") -> str:
    """Return a place below the plugin; what leads out of it begins with ``..``, as no file does."""
    text = node.value if isinstance(node, Scalar) else None
    if not isinstance(text, str) or not text.startswith("./") or not text.endswith(ending):
        wanted = "the file of an agent, `./….md`" if ending else "a path that begins with `./`"
        msg = f"expected {wanted}, found {node.span.text if text else describe(node)}"
        raise PolicyError(msg, node.span)
    segments: list[str] = []
    for segment in text.split("/"):
        if segment == ".." and segments and segments[-1] != "..":
            segments.pop()
        elif segment not in ("", "."):
            segments.append(segment)
    return "/".join(segments)


def _named_commands(node: Node | None) -> Iterator[tuple[str, str]]:
    for entry in node.entries if isinstance(node, Mapping) else ():
        source = entry.value.get("source") if isinstance(entry.value, Mapping) else None
        if source is not None:
            yield _place(source), entry.name
