"""The values of a host file: what each key takes, and what is said where it is something else."""

from __future__ import annotations

import posixpath
import re
from typing import Final, NoReturn

from policy.core.source import Span
from policy.files.nodes import MappingNode, Node, ScalarNode, SequenceNode, describe
from policy.files.text import cite
from policy.hosts.pikuri.host import (
    AllowAll,
    Confirmer,
    Destination,
    Filesystem,
    Payload,
    PikuriError,
    PikuriErrorKind,
    PikuriErrors,
    PikuriProfile,
    TrifectaLegs,
    Untrusted,
    Workspace,
)

__all__ = [
    "confirmer",
    "fail",
    "keys_of",
    "legs",
    "name",
    "sandbox",
    "steps",
    "text",
    "texts",
    "truth",
    "version",
    "workspace",
]

_WORKSPACE_KEYS: Final = ("project_root", "readable", "writable", "links")
_LEGS_KEYS: Final = ("private", "untrusted", "egress", "review")
_NAME: Final = re.compile(r"[\w.-]+")
_SANDBOXES: Final = ("none", "bubblewrap")


def fail(message: str, span: Span | None, help: str = "") -> NoReturn:
    """Raise a mistake of the file."""
    raise PikuriError(PikuriErrorKind.HOST_FILE, message, span, help=help)


def keys_of(node: Node, known: tuple[str, ...], what: str) -> MappingNode:
    """Return *node*, a mapping with no other keys than *known*.

    Raises:
        PikuriErrors: every key that is not known, or that it is no mapping.

    """
    if not isinstance(node, MappingNode):
        fail(f"expected {what}, found {describe(node)}", node.span)
    listed = ", ".join(f"`{key}`" for key in known)
    errors = [
        PikuriError(
            PikuriErrorKind.HOST_FILE,
            f"unknown key {cite(entry.name)}",
            entry.key.span,
            help=f"known are {listed}",
        )
        for entry in node.entries
        if entry.name not in known
    ]
    if errors:
        raise PikuriErrors(errors)
    return node


def text(node: Node, what: str) -> str:
    """Return a text that is not empty."""
    if isinstance(node, ScalarNode) and isinstance(node.value, str) and node.value:
        return node.value
    fail(f"expected {what}, found {describe(node)}", node.span, _quotes(node))


def name(node: Node) -> str:
    """Return the name of the host, as chains can be written with."""
    said = text(node, "a name")
    if not _NAME.fullmatch(said):
        fail(f"expected a name, found {cite(said)}", node.span, "letters, digits, `-`, `_` and `.`")
    return said


def _quotes(node: Node) -> str:
    if isinstance(node, ScalarNode) and node.raw and not isinstance(node.value, str):
        return f'text needs quotes here: `"{node.raw}"`'
    return ""


def texts(node: Node | None, what: str) -> tuple[tuple[str, Span], ...]:
    """Return the texts of a list, each with where it is written; none where there is no list.

    Each is *what*, e.g. ``the name of a tool``.
    """
    if node is None:
        return ()
    if not isinstance(node, SequenceNode):
        fail(
            f"expected a list, each item {what}; found {describe(node)}",
            node.span,
            f"write `[{node.raw}]`" if isinstance(node, ScalarNode) and node.raw else "",
        )
    found = []
    for item in node.items:
        span = item.content_span() if isinstance(item, ScalarNode) else None
        found.append((text(item, what), span or item.span))
    return tuple(found)


def truth(node: Node | None) -> bool:
    """Return a truth value, by default False."""
    if node is None:
        return False
    if isinstance(node, ScalarNode) and isinstance(node.value, bool):
        return node.value
    fail(f"expected `true` or `false`, found {describe(node)}", node.span)


def steps(node: Node | None, default: int) -> int:
    """Return a budget of steps."""
    if node is None:
        return default
    if isinstance(node, ScalarNode) and type(node.value) is int and node.value > 0:
        return node.value
    found = f"`{node.raw}`" if isinstance(node, ScalarNode) and node.raw else describe(node)
    fail(f"expected a number of steps above 0, found {found}", node.span)


def version(node: Node) -> PikuriProfile:
    """Return the version of Pikuri."""
    written = node.raw.strip("\"'") if isinstance(node, ScalarNode) else ""
    try:
        return PikuriProfile.of(written)
    except ValueError as error:
        fail(str(error), node.span)


def sandbox(node: Node | None) -> str:
    """Return what commands run in, "" where that is not said."""
    return "" if node is None else _one_of(node, _SANDBOXES, "a sandbox")


def confirmer(node: Node | None) -> Confirmer:
    """Return who confirms, by default somebody at a terminal."""
    if node is None:
        return Confirmer.TERMINAL
    return Confirmer(_one_of(node, tuple(kind.value for kind in Confirmer), "a confirmer"))


def _one_of(node: Node, known: tuple[str, ...], what: str) -> str:
    said = text(node, what)
    if said not in known:
        listed = ", ".join(f"`{word}`" for word in known)
        fail(f"expected {what}, found {cite(said)}", node.span, f"one of {listed}")
    return said


def workspace(node: Node | None) -> Workspace | None:
    """Return the folders that files are opened in, None where that is not said."""
    if node is None:
        return None
    if isinstance(node, ScalarNode) and node.value == "allow_all":
        return AllowAll()
    keys = keys_of(node, _WORKSPACE_KEYS, "a workspace, or `allow_all`")
    root = keys.get("project_root")
    if root is None:
        fail("expected a workspace with a `project_root`", keys.span)
    links = keys.get("links")
    found: dict[str, str] = {}
    if links is not None:
        if not isinstance(links, MappingNode):
            fail(f"expected names and targets at `links`, found {describe(links)}", links.span)
        found = {
            _absolute(entry.name, entry.key.span): text(entry.value, "a path")
            for entry in links.entries
        }
    readable, writable = (
        tuple(_absolute(path, span) for path, span in texts(keys.get(key), "a folder"))
        for key in ("readable", "writable")
    )
    return Filesystem(_absolute(text(root, "a folder"), root.span), readable, writable, found)


def _absolute(path: str, span: Span) -> str:
    if not path.startswith("/") or "\0" in path:
        fail(f"expected an absolute path, found {cite(path)}", span)
    if ".." in path.split("/"):
        here = posixpath.normpath(path)
        fail(f"expected a path without `..`, found {cite(path)}", span, f"write {cite(here)}")
    return path


def legs(node: Node | None) -> TrifectaLegs | None:
    """Return what a tool says it brings together, None where it does not say."""
    if node is None:
        return None
    keys = keys_of(node, _LEGS_KEYS, "legs")
    grades = (("untrusted", Untrusted), ("egress", Destination), ("review", Payload))
    said = {
        key: _one_of(value, tuple(grade.value for grade in kind), "a grade")
        for key, kind in grades
        if (value := keys.get(key)) is not None
    }
    private = truth(keys.get("private"))
    try:
        return TrifectaLegs(
            private,
            Untrusted(said.get("untrusted", "none")),
            Destination(said.get("egress", "no_egress")),
            Payload(said.get("review", "no_egress")),
        )
    except PikuriError as error:
        missing = "review" if "egress" in said else "egress"
        help_ = f"say `{missing}` too" if missing not in said else ""
        raise PikuriError(error.kind, error.message, keys.span, help=help_) from None
