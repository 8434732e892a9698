"""Hooks that guard calls, in the front matter of an agent, and cannot be loaded.

Nothing of what such a hook sits in is applied: the host leaves the agent out rather than
run it without its guard (2.1.329, observed).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from policy.documents.node import Mapping, Node, Scalar, Sequence
from policy.documents.shapes import Mistake
from policy.hosts.claude.data import hooks as known
from policy.hosts.claude.hooks import read_hooks

__all__ = ["unloadable"]

# How far below a value the host looks for hooks in places that are none of theirs.
_DEPTH: Final = 3
_GROUPS: Final = "an object of events, each a list of matchers,"


def unloadable(front: Mapping) -> Iterator[Mistake]:
    """Yield why the host loads nothing of the agent with this front matter."""
    given = front.get("hooks")
    for entry in front.entries:
        lost = entry.name in known.GUARDS and _says(entry.value)
        if entry.name != "hooks" and (lost or _elsewhere(entry.name, entry.value)):
            yield Mistake("it below `hooks`", f"`{entry.name}`", entry.value)
    if given is None or (isinstance(given, Scalar) and not given.value):
        return
    if not isinstance(given, Mapping) or _is_matcher(given):
        yield Mistake(_GROUPS, "`hooks`", given)
        return
    for entry in given.entries:
        if entry.name not in known.EVENTS and _holds(
            entry.value, _DEPTH, matchers=not isinstance(entry.value, Sequence)
        ):
            yield Mistake("an event", "what guards calls", entry.value)
    yield from read_hooks(given)[1]


def _elsewhere(name: str, node: Node) -> bool:
    matchers = name not in known.EVENTS
    return name not in known.UNSCANNED and _holds(
        node, _DEPTH, matchers=matchers, but=known.UNSCANNED
    )


def _holds(
    node: Node,
    depth: int,
    *,
    matchers: bool,
    but: Collection[str] = (),
    listed: bool = False,
) -> bool:
    """Return whether hooks that guard calls are somewhere in *node*.

    Args:
        node: where.
        depth: how many levels below it are looked at.
        matchers: whether a group of hooks without its event counts.
        but: the keys that are passed over.
        listed: whether *node* is in the list ``hooks`` of a group.

    """
    if (matchers and _is_matcher(node)) or _is_guard(node):
        return True
    if not depth:
        return False
    if isinstance(node, Sequence):
        return any(
            _holds(item, depth - 1, matchers=matchers, but=but, listed=listed)
            for item in node.items
        )
    if not isinstance(node, Mapping) or (listed and _is_text(node.get("type"))):
        return False
    return any(
        _holds(
            entry.value,
            depth - 1,
            matchers=matchers and entry.name not in known.EVENTS,
            but=but,
            listed=entry.name == "hooks" and isinstance(entry.value, Sequence),
        )
        for entry in node.entries
        if entry.name not in but
    )


def _is_guard(node: Node) -> bool:
    """Return whether *node* says events that guard calls, and hooks for them."""
    return isinstance(node, Mapping) and any(
        entry.name in known.GUARDS and _says(entry.value) for entry in node.entries
    )


def _is_matcher(node: Node) -> bool:
    """Return whether *node* is a group of hooks, as they are below an event."""
    if not isinstance(node, Mapping):
        return False
    keys = {entry.name for entry in node.entries}
    if "matcher" not in keys and not keys.isdisjoint(known.EVENTS):
        return False
    hooks = node.get("hooks")
    if isinstance(hooks, Sequence):
        return bool(hooks.items)
    return isinstance(hooks, Mapping) and ("matcher" in keys or _is_text(hooks.get("type")))


def _says(node: Node) -> bool:
    if isinstance(node, Sequence):
        return bool(node.items)
    return not isinstance(node, Scalar) or node.value is not None


def _is_text(node: Node | None) -> bool:
    return isinstance(node, Scalar) and isinstance(node.value, str)
