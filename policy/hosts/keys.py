"""Keys of a document that are not applied, found with each host's data about its sections.

Most hosts ignore a key that they do not know, without a message. In a section about permissions
such a key is a rule that is not in force, so each front end reports it.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from policy.core import expressions as re
from policy.core.finding import Finding, Severity
from policy.core.source import Span
from policy.core.values import field, frozen
from policy.files.nodes import MappingNode as Object
from policy.files.nodes import Node, SequenceNode, plain

__all__ = ["Keys", "Unapplied", "unapplied_keys"]


@frozen
class Keys:
    """The keys of a section that a host knows.

    Attributes:
        known: keys that are applied, or that are not about permissions.
        skipped: keys that the host applies and this program does not, each with the value
            that has no effect; None where every value has one.
        is_open: whether the host has more keys than these. Then an unknown key is reported
            only if its name is about permissions, or close to one of `known`.

    """

    known: Collection[str]
    skipped: Mapping[str, object] = field(factory=dict)
    is_open: bool = False


@frozen
class Unapplied:
    """A key that is not applied.

    Attributes:
        name: the path of the key from the top of the document.
        span: where it is written.
        help: the key that may be meant, or "".
        is_skipped: whether the host applies it, and this program does not.

    """

    name: str
    span: Span
    help: str = ""
    is_skipped: bool = False

    @property
    def finding(self) -> Finding:
        """The finding that reports the key."""
        why = "decides calls in the host" if self.is_skipped else "is not a known key"
        message = f"`{self.name}` {why}, and is not applied"
        return Finding("key-not-applied", message, Severity.WARNING, self.span, help=self.help)


def unapplied_keys(node: Node, sections: Mapping[str, Keys]) -> Iterator[Unapplied]:
    """Yield the keys of *node* that are not applied.

    Args:
        node: the document.
        sections: by path. A path is names with dots between them; ``[]`` is each item of a
            list, ``*`` each value of an object. ``""`` is the document.

    """
    for path, keys in sections.items():
        start = f"{path}." if path else ""
        inner = [other.removeprefix(start) for other in sections if other.startswith(start)]
        known = {*keys.known, *(other.partition(".")[0] for other in inner)}
        for section, at in _sections(node, path.split(".") if path else [], ""):
            for entry in section.entries:
                name, key = at + entry.name, entry.name
                if not key[:1].isalpha():
                    continue  # such a key holds a comment
                if key in keys.skipped:
                    if not _has_no_effect(plain(entry.value), keys.skipped[key]):
                        yield Unapplied(name, entry.key.span, is_skipped=True)
                elif key not in known:
                    near = difflib.get_close_matches(key, [*known, *keys.skipped], 1, 0.8)
                    if near or not keys.is_open or _PERMISSIONS.search(key):
                        help_ = f"did you mean `{near[0]}`?" if near else ""
                        yield Unapplied(name, entry.key.span, help_)


def _has_no_effect(value: object, default: object) -> bool:
    """Return whether *value* is *default*, or an object with all that *default* has."""
    if isinstance(value, dict) and isinstance(default, dict):
        return all(value.get(key, known) == known for key, known in default.items())
    return value == default


# Parts of the names of keys that are about permissions.
_PERMISSIONS: Final = re.compile(
    "allow|deny|denied|permi|block|forbid|restrict|sandbox|trust|polic|approv|bypass|tools",
    re.IGNORECASE,
)


def _sections(node: Node, path: list[str], at: str) -> Iterator[tuple[Object, str]]:
    """Yield the objects at *path* below *node*, each with the path of its keys."""
    if not path:
        if isinstance(node, Object):
            yield node, at
        return
    name, rest = path[0], path[1:]
    if name == "[]" and isinstance(node, SequenceNode):
        for item in node.items:
            yield from _sections(item, rest, at)
    for entry in node.entries if isinstance(node, Object) else ():
        if name in ("*", entry.name):
            yield from _sections(entry.value, rest, f"{at}{entry.name}.")
