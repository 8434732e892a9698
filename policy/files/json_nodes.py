"""JSON to nodes with places.

`read_json` takes JSON as RFC 8259 defines it. `read_jsonc` also takes comments, commas before
a closing bracket and a byte order mark, which editors write and some hosts accept. A repeated
key is no mistake: the last one counts, and `policy.files.nodes.repeated` lists the others.

The scanner reads one token at a time and keeps its own stack, so that it is linear and depth
is a number to compare. Where it stops, `_explain` says what is wrong with the next word.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping as AbstractMapping
from collections.abc import Set as AbstractSet
from typing import Final, NoReturn

from policy.core import expressions as re
from policy.core import limits
from policy.core.errors import PolicyError, PolicyErrors
from policy.core.source import Source, Span
from policy.core.values import define, field, frozen
from policy.files.nodes import VALUES, MappingNode, Node, NodeEntry, ScalarNode, SequenceNode, Value
from policy.files.text import BYTE_ORDER_MARK, cite, has_byte_order_mark

__all__ = ["read_json", "read_jsonc"]


def read_json(source: Source, *, byte_order_mark: bool = False) -> Node:
    """Return the value that *source* is as strict JSON.

    Args:
        source: the document.
        byte_order_mark: whether it may begin with one.

    Raises:
        PolicyError: the text cannot be read on from some place.
        PolicyErrors: there are several mistakes, such as comments and trailing commas.

    """
    scanner = _Scanner(source)
    mark = has_byte_order_mark(source) and not byte_order_mark
    try:
        node = scanner.document()
    except PolicyError as error:
        raise _one_or_all([*scanner.extensions(mark=mark), error]) from None
    errors = scanner.extensions(mark=mark)
    if errors:
        raise _one_or_all(errors)
    return node


def read_jsonc(source: Source) -> Node:
    """Return the value of *source*, with comments and trailing commas left out.

    Raises:
        PolicyError: the text is no JSON even so.

    """
    return _Scanner(source).document()


def _one_or_all(errors: list[PolicyError]) -> PolicyError:
    return errors[0] if len(errors) == 1 else PolicyErrors(errors)


class _Expected(enum.Enum):
    """What may come next; the value is what a person calls it."""

    VALUE = "a value"
    KEY = "a key in double quotes"
    COLON = "`:`"
    NEXT = "`,`"
    END = "the end of the file"


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


@define
class _Open:
    """A list or object whose end has not come yet."""

    start: int
    close: str
    items: list[Node] = field(factory=list)
    entries: list[NodeEntry] = field(factory=list)
    key: ScalarNode | None = None
    comma: int | None = None  # the last one

    def add(self, node: Node) -> None:
        """Add the next item, or the value of the last key."""
        if self.key is None:
            self.items.append(node)
        else:
            self.entries.append(NodeEntry(self.key, node))
            self.key = None


class _Scanner:
    """Reads one document and collects the places of what only `read_jsonc` takes."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.at = 1 if source.text.startswith(BYTE_ORDER_MARK) else 0  # after the last token
        self.start = 0  # of the last token
        self.open: list[_Open] = []
        self.comments: list[int] = []
        self.trailing: list[int] = []

    def extensions(self, *, mark: bool) -> list[PolicyError]:
        """Return one error for each kind of thing read so far that is not JSON."""
        errors = []
        if mark:
            errors.append(
                PolicyError(
                    "the file starts with a byte order mark, which is not JSON",
                    self.source.span(0, 0),
                    help="save the file as UTF-8 without a byte order mark",
                )
            )
        for places, length, message, what in (
            (self.comments, 2, "comments are not JSON", "comment"),
            (self.trailing, 1, "a comma before the closing bracket is not JSON", "comma"),
        ):
            if places:
                span = self.source.span(places[0], places[0] + length)
                more = f", and {len(places) - 1} more" if len(places) > 1 else ""
                errors.append(PolicyError(message, span, help=f"remove the {what}{more}"))
        return errors

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
        self.token(_Expected.END, frozenset({_END}))
        return node

    def value(self) -> Node | None:
        """Return the next value, or None where a list or object starts.

        At the end of a list or object it is that list or object.
        """
        level = self.open[-1] if self.open else None
        if level is not None and level.close == "}":
            found = self.token(_Expected.KEY, _KEYS, "}")
            if found.lastindex == _MARK:
                return self.close(level.comma)
            level.key = self.string(found)
            self.token(_Expected.COLON, _MARKS, ":")
            found = self.token(_Expected.VALUE, _VALUES, "[{")
        else:
            found = self.token(_Expected.VALUE, _VALUES, "[{]" if level else "[{")
        if found.lastindex == _MARK and level is not None and found[_MARK] == "]":
            return self.close(level.comma)
        if found.lastindex == _MARK:
            self.begin("]" if found[_MARK] == "[" else "}")
            return None
        if found.lastindex in _STRINGS:
            return self.string(found)
        span = self.source.span(self.start, self.at)
        return ScalarNode(_WORDS[span.text] if found.lastindex == _WORD else _number(span), span)

    def after(self, node: Node) -> Node | None:
        """Add *node* where it belongs; return what its end closes, if anything."""
        level = self.open[-1]
        level.add(node)
        found = self.token(_Expected.NEXT, _MARKS, "," + level.close)
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
            return SequenceNode(tuple(level.items), span)
        return MappingNode(tuple(level.entries), span)

    def string(self, found: re.Match[str]) -> ScalarNode:
        """Return the string that was found."""
        span = self.source.span(self.start, self.at)
        value = found[_PLAIN] if found.lastindex == _PLAIN else _unescaped(found[_ESCAPED], span)
        return ScalarNode(value, span, quoted=True)

    def token(self, expected: _Expected, kinds: AbstractSet[int], marks: str = "") -> re.Match[str]:
        """Return the next token: one of *kinds*, and of *marks* if it is a mark."""
        while True:
            found = _TOKEN.match(self.text, self.at)
            if found is None:
                self.fail(expected)
            kind = found.lastindex or _END
            if kind == _COMMENT:
                self.comments.append(found.start(kind))
                self.at = found.end()
                continue
            if kind not in kinds or (kind == _MARK and found[_MARK] not in marks):
                self.fail(expected)
            self.at = found.end()
            self.start = found.start(kind) - (kind in _STRINGS)
            return found

    def fail(self, expected: _Expected) -> NoReturn:
        """Raise what is wrong with the next token, where *expected* should come."""
        level = self.open[-1] if self.open else None
        bracket = self.source.span(level.start, level.start + 1) if level else None
        found = _FOUND.match(self.text, self.at)
        start, end = found.span(1) if found else (self.at, self.at)
        raise _explain(_Stop(self.source, start, expected, bracket, self.text[start:end]))


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


def _unescaped(text: str, string: Span) -> str:
    """Return *text* with every escape replaced by its character; *string* is with its quotes."""

    def replacement(found: re.Match[str]) -> str:
        letter, high, low, code = found.groups()
        if letter:
            return _LETTERS[letter]
        if high:
            return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
        if code and not 0xD800 <= int(code, 16) <= 0xDFFF:
            return chr(int(code, 16))
        start = string.start + 1 + found.start()
        span = string.source.span(start, start + len(found[0]))
        if code:
            message = f"{cite(span.text)} is half of a character"
            mend = "a character beyond U+FFFF is written as two such escapes, or as itself"
        else:
            message = f"{cite(span.text)} is not an escape of JSON"
            mend = f"a backslash that is meant is written twice: {cite(chr(92) + span.text)}"
        raise PolicyError(message, span, help=mend)

    return _ESCAPE.sub(replacement, text)


# The next thing as a person sees it: a string on its line, a word, a character.
_FOUND: Final = re.compile(
    r"[ \t\n\r]*+(\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'|[^\s,:{}\[\]\"'/]++|(?s:.)?)"
)
_CONFLICT: Final = re.compile(r"<{7}|={7}|>{7}")
# Up to the end of the string, of the text, or the first control character.
_STRING: Final = re.compile(r"\"(?:[^\"\\\x00-\x1f]|\\[^\x00-\x1f])*+\\?(?:([\x00-\x1f])|\Z)")
_BARE_WORD: Final = re.compile(r"[A-Za-z_$][^\s\"]*")
_NUMBER_LIKE: Final = re.compile(r"[-+]?\.?[0-9].*|[-+].*")

# Every quote but the one that counts, those of word processors included.
_QUOTES: Final = "'`\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb"
_BLANKS: Final = "\u200b\ufeff\u2060"

# Words of other languages, and what is meant.
_MEANT: Final = {
    **dict.fromkeys(("True", "TRUE", "yes"), "true"),
    **dict.fromkeys(("False", "FALSE", "no"), "false"),
    **dict.fromkeys(("None", "nil", "NULL", "Null", "undefined"), "null"),
    **dict.fromkeys(("NaN", "-NaN", "Infinity", "-Infinity", "+Infinity"), "null"),
}


@frozen
class _Stop:
    """Where the scanner stopped: before `found`, within the list or object of `bracket`."""

    source: Source
    start: int
    state: _Expected
    bracket: Span | None
    found: str

    def error(self, message: str, mend: str, length: int | None = None) -> PolicyError:
        """Return the error for what was found, or for its first *length* characters."""
        end = self.start + (len(self.found) if length is None else length)
        return PolicyError(message, self.source.span(self.start, end), help=mend)

    def unexpected(self, mend: str, length: int | None = None) -> PolicyError:
        """Return the error that says what was expected, and what was found."""
        found = cite(self.found[:length])
        return self.error(f"expected {self.expected}, found {found}", mend, length)

    @property
    def expected(self) -> str:
        """What could have come, the closing bracket included."""
        if self.state is not _Expected.NEXT:
            return str(self.state.value)
        if self.bracket is None:
            return "the end of the file"
        return "`,` or `]`" if self.bracket.text == "[" else "`,` or `}`"

    @property
    def unclosed(self) -> str:
        """Which bracket is still open, or ""."""
        if self.bracket is None:
            return ""
        return f"`{self.bracket.text}` at {self.bracket.place} is not closed yet"


def _explain(stop: _Stop) -> PolicyError:
    """Return what is wrong where the scanner stopped."""
    text, found = stop.source.text, stop.found
    if not found:
        last = len(text.rstrip())
        is_empty = not text.strip(BYTE_ORDER_MARK + " \t\r\n")
        return PolicyError(
            f"expected {stop.expected}, found the end of the file",
            stop.source.span(last, last),
            help="write `{}` for nothing" if is_empty else stop.unclosed,
        )
    if _CONFLICT.match(found):
        return stop.error("a merge conflict is left in the text", "resolve it")
    if text.startswith("/*", stop.start):
        return stop.error("the comment is not closed", "close it by `*/`, or remove it", 2)
    if found[0] == "#":
        return stop.error("comments are not JSON", "remove it", 1)
    if found[0].isspace() or found[0] in _BLANKS:
        message = f"the character U+{ord(found[0]):04X} is not a blank of JSON"
        return stop.error(message, "replace it by a space", 1)
    if found[0] == '"' and (string := _STRING.match(text, stop.start)):
        return _open_string(stop.source, string)
    if stop.state in {_Expected.VALUE, _Expected.KEY}:
        if found[0] in _QUOTES:
            length = len(found) if found[0] == "'" else 1
            return stop.unexpected('strings of JSON are in double quotes: `"`', length)
        if stop.state is _Expected.VALUE and found in _MEANT:
            return stop.unexpected(f"write `{_MEANT[found]}`")
        if _BARE_WORD.fullmatch(found):
            return stop.unexpected(f'put it in double quotes: `"{found}"`')
        if stop.state is _Expected.VALUE and _NUMBER_LIKE.fullmatch(found):
            return stop.error(
                f"{cite(found)} is not a number of JSON",
                "numbers are written like `10`, `-0.5` or `2e3`; put text in double quotes",
            )
    return stop.unexpected(_mend(stop))


def _open_string(source: Source, string: re.Match[str]) -> PolicyError:
    """Return the error for a string that a line break, the end or a control character ends."""
    control = string[1]
    if control is None or control in "\r\n":
        end = string.end() if control is None else string.start(1)
        return PolicyError(
            "the string is not closed on its line",
            source.span(string.start(), end),
            help='close it by `"`; a line break inside a string is written `\\n`',
        )
    escape = {"\t": "\\t", "\b": "\\b", "\f": "\\f"}.get(control, f"\\u{ord(control):04x}")
    return PolicyError(
        f"the control character U+{ord(control):04X} is not allowed in a string",
        source.span(*string.span(1)),
        help=f"write it as `{escape}`",
    )


def _mend(stop: _Stop) -> str:
    """Return how to mend what is JSON elsewhere and cannot stand here."""
    match stop.state:
        case _Expected.END:
            return "a file holds one value; look for a bracket that closes too early"
        case _Expected.COLON:
            return "after a key comes `:` and its value"
        case _Expected.NEXT if stop.found == ":":
            return "a list has no keys; an object is written in `{` and `}`"
        case _Expected.VALUE if stop.found == "}" and stop.bracket and stop.bracket.text == "{":
            return "after `:` comes the value of the key"
        case _ if stop.found in {"]", "}"}:
            return stop.unclosed
        case _Expected.NEXT if stop.source.text[stop.start - 1] == '"':
            return 'a `"` inside a string is written `\\"`'
        case _Expected.NEXT:
            return "separate it from what stands before by a comma"
        case _ if stop.found == ",":
            return "remove the comma, or write the value that is missing"
        case _:
            return ""
