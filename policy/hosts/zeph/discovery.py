"""Where definitions of Zeph are in a tree of files, and what is read of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import attrs

from policy.errors import PolicyError
from policy.files.opening import Tree
from policy.finding import Finding, Severity
from policy.hosts.zeph.config_file import Configured
from policy.hosts.zeph.errors import Kind, ZephError
from policy.hosts.zeph.loader import Loader, parse_file
from policy.hosts.zeph.loading import PROJECT, USER
from policy.hosts.zeph.options import Options
from policy.hosts.zeph.parsing import DEFINITION_BYTES, TOO_LARGE
from policy.project import ReadFile

__all__ = ["Found", "discover", "is_definition", "read"]

# The scopes of the folders, the first counting most.
_SCOPES: Final = {PROJECT: "project", USER: "user"}
_FOLDERS: Final = re.compile(rf"(?:(.*)/)?({'|'.join(map(re.escape, _SCOPES))})/(.+)")


@attrs.frozen
class Found:
    """A folder in which Zeph would be started.

    Attributes:
        root: relative to the tree.
        files: by folder of definitions, the names in it.

    """

    root: str
    files: dict[str, list[str]] = attrs.field(factory=dict)


def discover(tree: Tree) -> tuple[Found, ...]:
    """Return every folder below *tree* that has definitions."""
    found: dict[str, Found] = {}
    for path in tree.paths():
        parts = _FOLDERS.fullmatch(path)
        if parts:
            root = parts[1] or ""
            files = found.setdefault(root, Found(root)).files
            files.setdefault(parts[2], []).append(parts[3])
    return tuple(each for each in found.values() if any(map(_definitions, each.files.values())))


def is_definition(path: str) -> bool:
    """Return whether the file at *path* is read as a definition."""
    parts = _FOLDERS.fullmatch(path)
    return parts is not None and bool(_definitions([parts[3]]))


def _definitions(names: list[str]) -> list[str]:
    return [name for name in names if name.endswith(".md") and name != ".md" and "/" not in name]


def read(
    tree: Tree, found: Found, options: Options, configured: Configured | None = None
) -> tuple[Loader, tuple[ReadFile, ...]]:
    """Return what the definitions of one folder come to, and the files that were read."""
    loader = Loader(options.profile)
    files: list[ReadFile] = []
    for folder, scope in _folders(configured).items():
        prefix = f"{found.root}/{folder}" if found.root else folder
        names = found.files.get(folder)
        if names is None:
            names = [
                p.removeprefix(f"{prefix}/") for p in tree.paths() if p.startswith(f"{prefix}/")
            ]
        loader.findings += _passed_over(prefix, names)
        for name in loader.cut(prefix, sorted(_definitions(names))):
            path = f"{prefix}/{name}"
            files.append(ReadFile(path, "agent"))
            try:
                definition = parse_file(path, _bytes(tree, path), options.profile)
            except ZephError as error:
                loader.skip(error)
            else:
                loader.take(attrs.evolve(definition, source=f"{scope}/{name}"), scope)
    return loader, tuple(files)


def _folders(configured: Configured | None) -> dict[str, str]:
    """Return the folders of definitions and their scopes, the first counting most."""
    if configured is None:
        return dict(_SCOPES)
    user = USER if configured.user_dir is None else configured.user_dir
    named = [(PROJECT, "project"), (user, "user"), *((f, "extra") for f in configured.extra_dirs)]
    # One that is there twice counts where it is first.
    found: dict[str, str] = {}
    for folder, scope in named:
        if folder:
            found.setdefault(folder, scope)
    return found


def _bytes(tree: Tree, path: str) -> bytes:
    try:
        return tree.read(path, DEFINITION_BYTES)
    except PolicyError as error:
        message = TOO_LARGE if "bytes" in error.message else error.message
        raise ZephError(Kind.PARSE, message, file=path) from None


def _passed_over(prefix: str, names: list[str]) -> Iterator[Finding]:
    for name in names:
        if name.endswith(".md") and "/" in name:
            why = "it is in a folder below"
        elif name.lower().endswith((".md", ".markdown")) and not name.endswith(".md"):
            why = "its name does not end in `.md`"
        else:
            continue
        yield Finding(
            "definition-not-read", f"Zeph does not read the file: {why}", Severity.WARNING,
            file=f"{prefix}/{name}", help=f"move it to `{prefix}`, as `.md`",
        )  # fmt: skip
