"""JSON to nodes, keeping the place of every key and value.

One scanner for two readers. `read_json` takes JSON as RFC 8259 defines it;
`read_jsonc` also takes comments, commas before a closing bracket and a byte
order mark, which editors write and some hosts accept. A key that is there
twice is no mistake for any host, the last one counts: `node.repeated` lists
those.

The scanner takes one token at a time and keeps its own stack, so that it is
linear and depth is a number to compare. What is wrong where it stops is told
by `policy.documents.json_mistakes`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping as AbstractMapping
from collections.abc import Set as AbstractSet
from typing import Final, NoReturn

import attrs

from policy import limits
from policy.documents.json_mistakes import (
    State,
    bad_escape,
    explain,
    half_character,
    liberties,
)
from policy.documents.node import VALUES, Entry, Mapping, Node, Scalar, Sequence, Value
from policy.documents.text import BYTE_ORDER_MARK, has_byte_order_mark
from policy.errors import PolicyError, PolicyErrors
from policy.source import Source, Span

__all__ = ["read_json", "read_jsonc"]


def read_json(source: Source, *, byte_order_mark: bool = False) -> Node:
    """Return the value that *source* is as strict JSON.

    Args:
        source: the document.
        byte_order_mark: whether it may begin with one.

    Raises `PolicyError` for the first place where the text cannot be read on,
    and `PolicyErrors` when there are also things `read_jsonc` would take.
    """
    scanner = _Scanner(source, byte_order_mark=byte_order_mark)
    try:
        node = scanner.document()
    except PolicyError as error:
        raise _one_or_all([*scanner.liberties(), error]) from None
    taken = scanner.liberties()
    if taken:
        raise _one_or_all(taken)
    return node


def read_jsonc(source: Source) -> Node:
    """Return the value of *source*, with comments and trailing commas left out.

    Raises `PolicyError` where it cannot be read even so.
    """
    return _Scanner(source).document()


def _one_or_all(errors: list[PolicyError]) -> PolicyError:
    return errors[0] if len(errors) == 1 else PolicyErrors(errors)


# One token. The groups are numbered, and the number says what it is. Nothing
# here can be matched in two ways, and `*+` never gives back what it took.
_TOKEN: Final = re.compile(
    r"""[ \t\n\r]*+(?:
        "([^"\\\x00-\x1f]*+)"                                           # 1: as it is
      | "([^"\\\x00-\x1f]*+(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*+)*+)"      # 2: with escapes
      | ([,:\]}\[{])                                                    # 3
      | (-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?+[0-9]++)?+)(?![0-9A-Za-z_.+-])  # 4
      | (true|false|null)(?![0-9A-Za-z_])                               # 5
      | (//[^\n\r]*+|/\*(?:[^*]|\*(?!/))*+\*/)                          # 6: a comment
      | (\Z)                                                            # 7
    )""",
    re.VERBOSE,
)
_PLAIN, _ESCAPED, _MARK, _NUMBER, _WORD, _COMMENT, _END = range(1, 8)

_STRINGS: Final = frozenset({_PLAIN, _ESCAPED})
_MARKS: Final = frozenset({_MARK})
_KEYS: Final = _STRINGS | _MARKS
_VALUES: Final = _KEYS | {_NUMBER, _WORD}

_WORDS: Final[AbstractMapping[str, Value]] = {"true": True, "false": False, "null": None}


@attrs.define
class _Open:
    """A list or object whose end has not come yet."""

    start: int
    close: str
    items: list[Node] = attrs.Factory(list)
    entries: list[Entry] = attrs.Factory(list)
    key: Scalar | None = None
    comma: int | None = None  # the last one

    def add(self, node: Node) -> None:
        """Add the next item, or the value of the last key."""
        if self.key is None:
            self.items.append(node)
        else:
            self.entries.append(Entry(self.key, node))
            self.key = None


class _Scanner:
    """Reads one document; what only `read_jsonc` takes is set aside."""

    def __init__(self, source: Source, *, byte_order_mark: bool = False) -> None:
        self.source = source
        self.mark_taken = byte_order_mark
        self.text = source.text
        self.at = 1 if source.text.startswith(BYTE_ORDER_MARK) else 0  # after the last token
        self.start = 0  # of the last token
        self.open: list[_Open] = []
        self.comments: list[int] = []
        self.trailing: list[int] = []

    def liberties(self) -> list[PolicyError]:
        """Return what is not JSON in what was read so far."""
        mark = has_byte_order_mark(self.source) and not self.mark_taken
        return liberties(self.source, self.comments, self.trailing, mark=mark)

    def document(self) -> Node:
        """Return the only value of the text."""
        node = self.value()
        count = 0
        while self.open or node is None:
            if node is None:
                node = self.value()
                continue
            count += 1
            if count > VALUES:
                raise PolicyError(f"the text holds more than {VALUES:,} values", node.span)
            node = self.after(node)
        self.token(State.END, frozenset({_END}))
        return node

    def value(self) -> Node | None:
        """Return the next value, or None where a list or object starts.

        At the end of a list or object it is that list or object.
        """
        level = self.open[-1] if self.open else None
        if level is not None and level.close == "}":
            found = self.token(State.KEY, _KEYS, "}")
            if found.lastindex == _MARK:
                return self.close(level.comma)
            level.key = self.string(found)
            self.token(State.COLON, _MARKS, ":")
            found = self.token(State.VALUE, _VALUES, "[{")
        else:
            found = self.token(State.VALUE, _VALUES, "[{]" if level else "[{")
        if found.lastindex == _MARK and level is not None and found[_MARK] == "]":
            return self.close(level.comma)
        if found.lastindex == _MARK:
            self.begin("]" if found[_MARK] == "[" else "}")
            return None
        if found.lastindex in _STRINGS:
            return self.string(found)
        span = self.source.span(self.start, self.at)
        return Scalar(_WORDS[span.text] if found.lastindex == _WORD else _number(span), span)

    def after(self, node: Node) -> Node | None:
        """Add *node* where it belongs; return what its end closes, if anything."""
        level = self.open[-1]
        level.add(node)
        found = self.token(State.NEXT, _MARKS, "," + level.close)
        if found[_MARK] != ",":
            return self.close()
        level.comma = self.start
        return None

    def begin(self, close: str) -> None:
        """Open a list or object."""
        if len(self.open) == limits.NESTING:
            raise PolicyError(
                f"lists and objects are nested more than {limits.NESTING} deep",
                self.source.span(self.start, self.at),
            )
        self.open.append(_Open(self.start, close))

    def close(self, comma: int | None = None) -> Node:
        """Return the list or object that ends here, after *comma* if there is one."""
        level = self.open.pop()
        span = self.source.span(level.start, self.at)
        if comma is not None:
            self.trailing.append(comma)
        if level.close == "]":
            return Sequence(tuple(level.items), span)
        return Mapping(tuple(level.entries), span)

    def string(self, found: re.Match[str]) -> Scalar:
        """Return the string that was found."""
        span = self.source.span(self.start, self.at)
        if found.lastindex == _PLAIN:
            return Scalar(found[_PLAIN], span, quoted=True)
        return Scalar(_ESCAPE.sub(_Decoder(span), found[_ESCAPED]), span, quoted=True)

    def token(self, state: State, kinds: AbstractSet[int], marks: str = "") -> re.Match[str]:
        """Return the next token: one of *kinds*, and of *marks* if it is a mark."""
        while True:
            found = _TOKEN.match(self.text, self.at)
            if found is None:
                self.fail(state)
            kind = found.lastindex or _END
            if kind == _COMMENT:
                self.comments.append(found.start(kind))
                self.at = found.end()
                continue
            if kind not in kinds or (kind == _MARK and found[_MARK] not in marks):
                self.fail(state)
            self.at = found.end()
            self.start = found.start(kind) - (kind in _STRINGS)
            return found

    def fail(self, state: State) -> NoReturn:
        """Raise what is wrong with the next token, where *state* was expected."""
        level = self.open[-1] if self.open else None
        bracket = self.source.span(level.start, level.start + 1) if level else None
        raise explain(self.source, self.at, state, bracket)


# Beyond this Python itself refuses to make a number of text.
_DIGITS: Final = 4000


def _number(span: Span) -> int | float:
    text = span.text
    if len(text) > _DIGITS:
        raise PolicyError(f"the number has more than {_DIGITS} digits", span)
    return int(text) if text.lstrip("-").isdigit() else float(text)


_ESCAPE: Final = re.compile(
    r"""\\(?: (["\\/bfnrt])                                                           # 1
      | u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})                  # 2, 3
      | u([0-9a-fA-F]{4})                                                             # 4
      | . )""",
    re.VERBOSE,
)

_LETTERS: Final[AbstractMapping[str, str]] = {
    '"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"
}  # fmt: skip


@attrs.frozen
class _Decoder:
    """Replaces an escape by the character it stands for; knows where the string is."""

    string: Span

    def __call__(self, found: re.Match[str]) -> str:
        letter, high, low, code = found.groups()
        if letter:
            return _LETTERS[letter]
        if high:
            return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
        start = self.string.start + 1 + found.start()
        span = self.string.source.span(start, start + len(found[0]))
        if not code:
            raise bad_escape(span)
        if 0xD800 <= int(code, 16) <= 0xDFFF:
            raise half_character(span)
        return chr(int(code, 16))
