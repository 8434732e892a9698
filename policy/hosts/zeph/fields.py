"""Values of a header, by type: what is there, as what it must be, or a mistake with its place.

Types are taken as Zeph takes them. A plain word of YAML is text wherever text
is wanted, also ``5`` or ``null``; TOML says itself what is text. A key of YAML
with nothing behind it is an empty list or an empty mapping where one is
wanted; ``null`` is neither.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from typing import Final, TypeVar

import attrs

from policy.documents.node import Entry, Mapping, Node, Scalar, Sequence, describe
from policy.hosts.zeph.errors import Kind, ZephError
from policy.source import Span

__all__ = ["U32", "U64", "Fields"]

U32 = 2**32 - 1
U64 = 2**64 - 1

_E = TypeVar("_E", bound=enum.Enum)


@attrs.define
class Fields:
    """The keys of one mapping, taken out one after the other.

    Attributes:
        node: the mapping; None where there is none.
        path: what its keys are called from the top, with a dot at its end.
        typed: whether plain words have types, as in TOML.
        errors: every mistake that was met.
        spans: where each value that was taken is written.

    """

    node: Mapping | None
    path: str
    typed: bool
    errors: list[ZephError]
    spans: dict[str, Span]

    def entry(self, name: str) -> Entry | None:
        """Return the key and value of *name*, or None."""
        return None if self.node is None else self.node.entry(name)

    def known(self, *names: str) -> None:
        """Note every key that is none of *names*."""
        for entry in self.node.entries if self.node else ():
            if entry.name not in names:
                listed = ", ".join(f"`{name}`" for name in names)
                message = f"unknown field `{entry.name}`, expected one of {listed}"
                help_ = _SPELT.get(entry.name, "")
                self.errors.append(ZephError(Kind.PARSE, message, entry.key.span, help=help_))

    def unknown(self, *names: str) -> list[tuple[str, Span]]:
        """Return every key that is none of *names*, where those are passed over."""
        entries = self.node.entries if self.node else ()
        return [
            (self.path + entry.name, entry.key.span) for entry in entries if entry.name not in names
        ]

    def below(self, name: str) -> Fields:
        """Return the keys of the mapping at *name*; none where it is not there."""
        entry = self.entry(name)
        node: Mapping | None = None
        if entry is not None:
            self.spans[self.path + name] = entry.key.span
            if isinstance(entry.value, Mapping):
                node = entry.value
            elif not self._empty(entry.value):
                self.wrong(entry.value, "keys and values")
        return Fields(node, f"{self.path}{name}.", self.typed, self.errors, self.spans)

    def item(self, node: Node, name: str) -> Fields:
        """Return the keys of *node*, which is called *name* here and must be a mapping."""
        path = f"{self.path}{name}"
        self.spans[path] = node.span
        keys = node if isinstance(node, Mapping) else None
        if keys is None:
            self.wrong(node, "keys and values")
        return Fields(keys, f"{path}.", self.typed, self.errors, self.spans)

    def text(self, name: str, default: str | None = None) -> str:
        """Return the text at *name*. Without a default it must be there."""
        entry = self.entry(name)
        if entry is None:
            if default is None:
                self.missing(name)
            return default or ""
        return self._text(entry.value, self.path + name)

    def optional(self, name: str) -> str | None:
        """Return the text at *name*, or None where it is null or not there."""
        entry = self.entry(name)
        if entry is None or (isinstance(entry.value, Scalar) and entry.value.value is None):
            return None
        return self._text(entry.value, self.path + name)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the list of texts at *name*; none where it is not there."""
        entry = self.entry(name)
        return () if entry is None else self._texts(entry.value, self.path + name)

    def optional_texts(self, name: str) -> tuple[str, ...] | None:
        """Return the list of texts at *name*, or None where it is null or not there."""
        entry = self.entry(name)
        if entry is None or (isinstance(entry.value, Scalar) and entry.value.value is None):
            return None
        return self._texts(entry.value, self.path + name)

    def number(self, name: str, default: int, most: int) -> int:
        """Return the number at *name*, from 0 to *most*."""
        value = self._scalar(name)
        if value is None:
            return default
        number = value.value if self.typed else _whole(value)
        if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= most:
            return number
        self.wrong(value, f"a whole number from 0 to {most}")
        return default

    def truth(self, name: str, *, default: bool) -> bool:
        """Return the truth value at *name*."""
        value = self._scalar(name)
        if value is None:
            return default
        if isinstance(value.value, bool):
            return value.value
        self.wrong(value, "`true` or `false`")
        return default

    def choice(self, name: str, default: _E, among: Iterable[_E] | None = None) -> _E:
        """Return the member that the text at *name* is, of the kind of *default* or of *among*."""
        entry = self.entry(name)
        found = None if entry is None else self._member(entry, among or type(default))
        return default if found is None else found

    def optional_choice(self, name: str, kind: type[_E]) -> _E | None:
        """Return the member of *kind* at *name*, or None where it is null or not there."""
        entry = self.entry(name)
        if entry is None or (isinstance(entry.value, Scalar) and entry.value.value is None):
            return None
        return self._member(entry, kind)

    def _member(self, entry: Entry, members: Iterable[_E]) -> _E | None:
        known = {member.value: member for member in members}
        text = self._text(entry.value, self.path + entry.name)
        if text not in known and isinstance(entry.value, Scalar):
            listed = ", ".join(f"`{value}`" for value in known)
            message = f"unknown variant `{text}`, expected one of {listed}"
            self.errors.append(ZephError(Kind.PARSE, message, entry.value.span))
        return known.get(text)

    def sequence(self, name: str) -> tuple[Node, ...]:
        """Return the items of the list at *name*; none where it is not there."""
        entry = self.entry(name)
        if entry is None:
            return ()
        if isinstance(entry.value, Sequence):
            return entry.value.items
        if not self._empty(entry.value):
            self.wrong(entry.value, "a list")
        return ()

    def missing(self, name: str) -> None:
        """Note that *name* must be there."""
        span = self.node.span if self.node else None
        if span is not None:
            span = span.source.span(span.start, min(span.end, span.start + 1))
        self.errors.append(ZephError(Kind.PARSE, f"missing field `{self.path}{name}`", span))

    def wrong(self, node: Node, expected: str) -> None:
        """Note that *node* is not what is expected."""
        message = f"invalid type: found {describe(node)}, expected {expected}"
        self.errors.append(ZephError(Kind.PARSE, message, node.span))

    def _empty(self, node: Node) -> bool:
        return not self.typed and isinstance(node, Scalar) and not node.raw

    def _scalar(self, name: str) -> Scalar | None:
        entry = self.entry(name)
        if entry is None:
            return None
        self.spans[self.path + name] = entry.value.span
        if isinstance(entry.value, Scalar):
            return entry.value
        self.wrong(entry.value, "a single value")
        return None

    def _text(self, node: Node, path: str) -> str:
        self.spans[path] = node.span
        if isinstance(node, Scalar):
            if isinstance(node.value, str):
                return node.value
            if not self.typed:
                return node.raw
        self.wrong(node, "text")
        return ""

    def _texts(self, node: Node, path: str) -> tuple[str, ...]:
        self.spans[path] = node.span
        if not isinstance(node, Sequence):
            if not self._empty(node):
                self.wrong(node, "a list of names")
            return ()
        return tuple(self._text(item, f"{path}[{i}]") for i, item in enumerate(node.items))


# Digits behind a nought are no number, and a number may be of another base.
_WHOLE: Final = re.compile(r"\+?(?:0x[0-9a-fA-F]+|0o[0-7]+|0b[01]+|0|[1-9][0-9]*)")


def _whole(scalar: Scalar) -> int | None:
    plain = not scalar.quoted and _WHOLE.fullmatch(scalar.raw)
    return int(scalar.raw, 0) if plain and len(scalar.raw) <= _DIGITS else None


# More than the largest number of any key has, in any base.
_DIGITS: Final = 80

_ELSEWHERE = "it belongs below `permissions`"
_SPELT = {
    "disallowed_tools": "write these names below `tools`, as `except`",
    "disallowedTools": "write these names below `tools`, as `except`",
    "max_turns": _ELSEWHERE,
    "permission_mode": _ELSEWHERE,
    "permissionMode": "write `permission_mode`, below `permissions`",
    "background": _ELSEWHERE,
    "worktree": _ELSEWHERE,
    "secrets": _ELSEWHERE,
    "allowed_spawns": "this Zeph has no such key, so an agent with it is not loaded at all",
}
