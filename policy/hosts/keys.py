"""Keys of a document that nobody applies, by what a host states of each section, as data.

A host reads most documents leniently: a key that it does not know means nothing, and nobody
is told. Where a section may say something about permissions, such a key is a rule that is not
in force, so each front end reports it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

import attrs

from policy.core.finding import Finding, Severity
from policy.core.source import Span
from policy.files.nodes import MappingNode as Object
from policy.files.nodes import Node, SequenceNode, plain

__all__ = ["Keys", "Unapplied", "unapplied_keys"]


@attrs.frozen
class Keys:
    """What is known of the keys of a section.

    Attributes:
        known: keys that are applied, or that say nothing about permissions.
        skipped: keys that the host applies and this program does not, each with the value
            that restricts and grants nothing; None where every value does something.
        is_open: whether the host has more keys than these. Then an unknown key is reported
            where its name speaks of permissions, or nearly is one of `known`.

    """

    known: Collection[str]
    skipped: Mapping[str, object] = attrs.field(factory=dict)
    is_open: bool = False


@attrs.frozen
class Unapplied:
    """A key that is not applied.

    Attributes:
        name: of the key, from the top of the document.
        span: where it is written.
        help: what may be meant, or "".
        is_skipped: whether the host applies it, and this program does not.

    """

    name: str
    span: Span
    help: str = ""
    is_skipped: bool = False

    @property
    def finding(self) -> Finding:
        """What a report says of the key."""
        why = "decides calls in the host" if self.is_skipped else "is no key that is known here"
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
                    continue  # people write comments as such keys
                if key in keys.skipped:
                    if not _says_nothing(plain(entry.value), keys.skipped[key]):
                        yield Unapplied(name, entry.key.span, is_skipped=True)
                elif key not in known:
                    near = difflib.get_close_matches(key, [*known, *keys.skipped], 1, 0.8)
                    if near or not keys.is_open or _SPEAKS.search(key):
                        help_ = f"did you mean `{near[0]}`?" if near else ""
                        yield Unapplied(name, entry.key.span, help_)


def _says_nothing(value: object, default: object) -> bool:
    """Return whether a value is the default, or an object that has what the default has."""
    if isinstance(value, dict) and isinstance(default, dict):
        return all(value.get(key, said) == said for key, said in default.items())
    return value == default


# Parts of the names of keys that are about permissions.
_SPEAKS: Final = re.compile(
    "allow|deny|denied|permi|block|forbid|restrict|sandbox|trust|polic|approv|bypass|tools",
    re.IGNORECASE,
)


def _sections(node: Node, path: list[str], at: str) -> Iterator[tuple[Object, str]]:
    """Yield the objects at *path* below *node*, each with what its keys are called after."""
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
