"""What settings of an administrator come to where a restriction cannot be read as it is meant.

The host reads such a value as if it restricted, and holds back what the same file allows
where nothing is left of what it denies or asks for (2.1.329, observed).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from policy.documents.node import Mapping, Node, Scalar, Sequence
from policy.hosts.claude.data.versions import Behaviour

__all__ = ["is_ambiguous", "is_set", "lost_lists", "may_be_rule"]


def is_set(node: Node | None) -> bool:
    """Return whether a switch is on: whatever is neither false nor null is on."""
    return not (
        node is None
        or (isinstance(node, Scalar) and any(node.value is off for off in (False, None)))
    )


def lost_lists(permissions: Mapping, behaves: Behaviour) -> Iterator[tuple[str, Node]]:
    """Yield the lists of what is denied or asked for that have entries and no rule among them."""
    for name in ("deny", "ask"):
        listed = permissions.get(name)
        if listed is None or (isinstance(listed, Scalar) and listed.value is None):
            continue
        entries = listed.items if isinstance(listed, Sequence) else (listed,)
        if entries and not any(_is_rule(entry, behaves) for entry in entries):
            yield name, listed


def _is_rule(node: Node, behaves: Behaviour) -> bool:
    text = node.value if isinstance(node, Scalar) else None
    return isinstance(text, str) and may_be_rule(text, behaves)


_TEXT_BEHIND: Final = re.compile(r"[^()]*\(.*\)[^)]+", re.DOTALL)
_SERVER: Final = re.compile(r"mcp__.*\(", re.DOTALL)
_HOSTS: Final = re.compile(r"domain:(?!.*://)|\*\Z", re.DOTALL)
# Rules about files are no prefixes.
_OF_FILES: Final = frozenset("Cd Edit Glob NotebookEdit NotebookRead Read Write".split())


def may_be_rule(text: str, behaves: Behaviour) -> bool:
    """Return whether the host takes an entry for a rule where it reads the file.

    Such a rule need not match anything, nor its tool exist.
    """
    if not behaves.text_behind_refused and _TEXT_BEHIND.fullmatch(text):
        text = text[: text.rindex(")") + 1]
    name, opened, rest = text.partition("(")
    if not name.strip() and not opened:
        return False
    if name[:1] != name[:1].upper() and "_" not in name:
        return False
    if not opened:
        return ")" not in name
    if _SERVER.match(text) or not _closes(rest):
        return False
    content = rest[:-1]
    if not content or is_ambiguous(content):
        return False
    if name == "WebFetch":
        return bool(_HOSTS.match(content))
    if name in _OF_FILES:
        return ":*" not in content
    return (name, content) != ("Bash", ":*")


def _closes(text: str) -> bool:
    """Return whether *text* ends in a parenthesis that no backslash stands before."""
    before = text[:-1]
    return text.endswith(")") and (len(before) - len(before.rstrip("\\"))) % 2 == 0


_ESCAPED: Final = re.compile(r"(?:^|[^\\])\\[()]")
_BARE: Final = {each: re.compile(rf"(?<!\\)(?:\\\\)*\{each}") for each in "()"}


def is_ambiguous(content: str) -> bool:
    """Return whether nobody knows which parentheses are meant: of a file it is no rule."""
    if not _ESCAPED.search(content):
        return False
    opened, closed = (len(bare.findall(content)) for bare in _BARE.values())
    return opened != closed
