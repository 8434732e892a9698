"""JSON to nodes with places, and why a text is not JSON."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from collections.abc import Mapping as AbstractMapping
from collections.abc import Set as AbstractSet
from typing import Final, NoReturn

import attrs

from policy.core import limits
from policy.core.errors import PolicyError, PolicyErrors
from policy.core.source import Source, Span
from policy.files.nodes import VALUES, MappingNode, Node, NodeEntry, ScalarNode, SequenceNode, Value
from policy.files.text import BYTE_ORDER_MARK, cite, has_byte_order_mark

__all__ = [
    "JsonState",
    "bad_escape",
    "explain",
    "half_character",
    "liberties",
    "read_json",
    "read_jsonc",
]


class JsonState(enum.Enum):
    """What may come next; the value is what a person calls it."""

    VALUE = "a value"
    KEY = "a key in double quotes"
    COLON = "`:`"
    NEXT = "`,`"
    END = "the end of the file"


# --- what only the lenient reader takes -------------------------------------


def liberties(
    source: Source, comments: list[int], commas: list[int], *, mark: bool
) -> list[PolicyError]:
    """Return one error for each kind of thing that is there and not JSON."""
    errors = []
    if mark:
        errors.append(
            PolicyError(
                "the file starts with a byte order mark, which is not JSON",
                source.span(0, 0),
                help="save the file as UTF-8 without a byte order mark",
            )
        )
    if comments:
        start = comments[0]
        errors.append(
            PolicyError(
                "comments are not JSON",
                source.span(start, start + 2),
                help=f"remove the comment{_others(comments)}",
            )
        )
    if commas:
        errors.append(
            PolicyError(
                "a comma before the closing bracket is not JSON",
                source.span(commas[0], commas[0] + 1),
                help=f"remove the comma{_others(commas)}",
            )
        )
    return errors


def _others(places: list[int]) -> str:
    return f", and {len(places) - 1} more" if len(places) > 1 else ""


# --- strings ----------------------------------------------------------------


def bad_escape(span: Span) -> PolicyError:
    r"""Return the error for an escape such as ``\(``."""
    return PolicyError(
        f"{cite(span.text)} is not an escape of JSON",
        span,
        help=f"a backslash that is meant is written twice: {cite(chr(92) + span.text)}",
    )


def half_character(span: Span) -> PolicyError:
    """Return the error for one half of a surrogate pair."""
    return PolicyError(
        f"{cite(span.text)} is half of a character",
        span,
        help="a character beyond U+FFFF is written as two such escapes, or as itself",
    )


# --- where the scanner stopped ----------------------------------------------


@attrs.frozen
class _Stop:
    """Where the scanner stopped: before ``found``, within ``bracket``."""

    source: Source
    start: int
    state: JsonState
    bracket: Span | None
    found: str

    def span(self, length: int | None = None) -> Span:
        """Return the span of what was found, or of its first characters."""
        end = self.start + (len(self.found) if length is None else length)
        return self.source.span(self.start, end)

    @property
    def expected(self) -> str:
        """What could have come, the closing bracket included."""
        if self.bracket is None:
            return "the end of the file" if self.state is JsonState.NEXT else self.state.value
        close = "]" if self.bracket.text == "[" else "}"
        return f"`,` or `{close}`" if self.state is JsonState.NEXT else self.state.value


def explain(source: Source, at: int, state: JsonState, bracket: Span | None) -> PolicyError:
    """Return what is wrong after *at*, where *state* was expected.

    *bracket* is the list or object that is open there.
    """
    found = _FOUND.match(source.text, at)
    start, end = found.span(1) if found else (at, at)
    stop = _Stop(source, start, state, bracket, source.text[start:end])
    for mistake in _MISTAKES:
        error = mistake(stop)
        if error is not None:
            return error
    return PolicyError(
        f"expected {stop.expected}, found {cite(stop.found)}", stop.span(), help=_mend(stop)
    )


# The next thing as a person sees it: a string on its line, a word, a character.
_FOUND: Final = re.compile(
    r"[ \t\n\r]*+(\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'|[^\s,:{}\[\]\"'/]++|(?s:.)?)"
)


def _mend(stop: _Stop) -> str:
    text = stop.source.text
    match stop.state:
        case JsonState.NEXT if stop.found == ":":
            return "a list has no keys; an object is written in `{` and `}`"
        case JsonState.NEXT if stop.found in {"]", "}"}:
            return _opened(stop)
        case JsonState.NEXT if text[stop.start - 1] == '"':
            return 'a `"` inside a string is written `\\"`'
        case JsonState.NEXT:
            return "separate it from what stands before by a comma"
        case JsonState.COLON:
            return "after a key comes `:` and its value"
        case JsonState.VALUE if stop.found == ",":
            return "remove the comma, or write the value that is missing"
        case JsonState.VALUE if stop.found == "}" and stop.bracket and stop.bracket.text == "{":
            return "after `:` comes the value of the key"
        case JsonState.KEY if stop.found == ",":
            return "remove the comma"
        case JsonState.VALUE | JsonState.KEY if stop.found in {"]", "}"}:
            return _opened(stop)
        case JsonState.END:
            return "a file holds one value; look for a bracket that closes too early"
        case _:
            return ""


def _opened(stop: _Stop) -> str:
    if stop.bracket is None:
        return ""
    return f"`{stop.bracket.text}` at {stop.bracket.place} is not closed yet"


def _end(stop: _Stop) -> PolicyError | None:
    if stop.found:
        return None
    if not stop.source.text.strip("\ufeff \t\r\n"):
        help_ = "write `{}` for nothing"
    else:
        help_ = _opened(stop)
    last = len(stop.source.text.rstrip())
    return PolicyError(
        f"expected {stop.expected}, found the end of the file",
        stop.source.span(last, last),
        help=help_,
    )


def _conflict(stop: _Stop) -> PolicyError | None:
    if not re.compile(r"<{7}|={7}|>{7}").match(stop.found):
        return None
    return PolicyError("a merge conflict is left in the text", stop.span(), help="resolve it")


def _comment(stop: _Stop) -> PolicyError | None:
    if stop.source.text.startswith("/*", stop.start):
        return PolicyError(
            "the comment is not closed", stop.span(2), help="close it by `*/`, or remove it"
        )
    if stop.found.startswith("#"):
        return PolicyError("comments are not JSON", stop.span(1), help="remove it")
    return None


def _open_string(stop: _Stop) -> PolicyError | None:
    if not stop.found.startswith('"'):
        return None
    control = re.compile(r"\"(?:[^\"\\\x00-\x1f]|\\[^\x00-\x1f])*+\\?(?:([\x00-\x1f])|\Z)").match(
        stop.source.text, stop.start
    )
    if control is None:
        return None
    if control[1] is None or control[1] in "\r\n":
        end = control.end() if control[1] is None else control.start(1)
        return PolicyError(
            "the string is not closed on its line",
            stop.source.span(stop.start, end),
            help='close it by `"`; a line break inside a string is written `\\n`',
        )
    escape = {"\t": "\\t", "\b": "\\b", "\f": "\\f"}.get(control[1], f"\\u{ord(control[1]):04x}")
    return PolicyError(
        f"the control character U+{ord(control[1]):04X} is not allowed in a string",
        stop.source.span(*control.span(1)),
        help=f"write it as `{escape}`",
    )


# Every quote but the one that counts, those of word processors included.
_QUOTES: Final = "'`\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb"


def _quotes(stop: _Stop) -> PolicyError | None:
    if stop.found[0] not in _QUOTES or stop.state in {
        JsonState.NEXT,
        JsonState.COLON,
        JsonState.END,
    }:
        return None
    length = len(stop.found) if stop.found[0] == "'" else 1
    return PolicyError(
        f"expected {stop.expected}, found {cite(stop.found[:length])}",
        stop.span(length),
        help='strings of JSON are in double quotes: `"`',
    )


# Words of other languages, and what is meant.
_WORDS: Final = {
    "True": "true",
    "TRUE": "true",
    "yes": "true",
    "False": "false",
    "FALSE": "false",
    "no": "false",
    "None": "null",
    "nil": "null",
    "NULL": "null",
    "Null": "null",
    "undefined": "null",
    "NaN": "null",
    "Infinity": "null",
    "-Infinity": "null",
    "+Infinity": "null",
    "-NaN": "null",
}


def _word(stop: _Stop) -> PolicyError | None:
    if stop.state is JsonState.VALUE and stop.found in _WORDS:
        mend = f"write `{_WORDS[stop.found]}`"
    elif stop.state in {JsonState.VALUE, JsonState.KEY} and re.fullmatch(
        r"[A-Za-z_$][^\s\"]*", stop.found
    ):
        mend = f'put it in double quotes: `"{stop.found}"`'
    else:
        return None
    what = "a key in double quotes" if stop.state is JsonState.KEY else "a value"
    return PolicyError(f"expected {what}, found {cite(stop.found)}", stop.span(), help=mend)


# Numbers of other languages, and what to write.
_NUMBERS: Final = (
    (re.compile(r"-?0[0-9]+"), "a number does not start with 0"),
    (re.compile(r"[-+]?\.[0-9].*"), "write a 0 before the point"),
    (re.compile(r"[-+]?[0-9]+\.(?:[eE].*)?"), "write a digit after the point"),
    (re.compile(r"\+.*"), "leave out the `+`"),
    (re.compile(r"-?0[xXoObB].*"), "write it in decimal"),
    (re.compile(r"-?[0-9].*"), "put text in double quotes"),
    (re.compile(r"-.*"), "put text in double quotes"),
)


def _number(stop: _Stop) -> PolicyError | None:
    if stop.state is not JsonState.VALUE:
        return None
    for shape, mend in _NUMBERS:
        if shape.fullmatch(stop.found):
            return PolicyError(
                f"{cite(stop.found)} is not a number of JSON", stop.span(), help=mend
            )
    return None


def _blank(stop: _Stop) -> PolicyError | None:
    if not (stop.found[0].isspace() or stop.found[0] in "\u200b\ufeff\u2060"):
        return None
    return PolicyError(
        f"the character U+{ord(stop.found[0]):04X} is not a blank of JSON",
        stop.span(1),
        help="replace it by a space",
    )


# Which mistakes are looked for, in this order.
_MISTAKES: Final[tuple[Callable[[_Stop], PolicyError | None], ...]] = (
    _end,
    _conflict,
    _comment,
    _blank,
    _open_string,
    _quotes,
    _word,
    _number,
)


# JSON to nodes, keeping the place of every key and value.
#
# One scanner for two readers. `read_json` takes JSON as RFC 8259 defines it;
# `read_jsonc` also takes comments, commas before a closing bracket and a byte
# order mark, which editors write and some hosts accept. A key that is there
# twice is no mistake for any host, the last one counts: `node.repeated` lists
# those.
#
# The scanner takes one token at a time and keeps its own stack, so that it is
# linear and depth is a number to compare. What is wrong where it stops is told
# by `policy.files.json_nodes`.


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

_WORDS_JSON_NODES: Final[AbstractMapping[str, Value]] = {"true": True, "false": False, "null": None}


@attrs.define
class _Open:
    """A list or object whose end has not come yet."""

    start: int
    close: str
    items: list[Node] = attrs.Factory(list)
    entries: list[NodeEntry] = attrs.Factory(list)
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
        self.token(JsonState.END, frozenset({_END}))
        return node

    def value(self) -> Node | None:
        """Return the next value, or None where a list or object starts.

        At the end of a list or object it is that list or object.
        """
        level = self.open[-1] if self.open else None
        if level is not None and level.close == "}":
            found = self.token(JsonState.KEY, _KEYS, "}")
            if found.lastindex == _MARK:
                return self.close(level.comma)
            level.key = self.string(found)
            self.token(JsonState.COLON, _MARKS, ":")
            found = self.token(JsonState.VALUE, _VALUES, "[{")
        else:
            found = self.token(JsonState.VALUE, _VALUES, "[{]" if level else "[{")
        if found.lastindex == _MARK and level is not None and found[_MARK] == "]":
            return self.close(level.comma)
        if found.lastindex == _MARK:
            self.begin("]" if found[_MARK] == "[" else "}")
            return None
        if found.lastindex in _STRINGS:
            return self.string(found)
        span = self.source.span(self.start, self.at)
        return ScalarNode(
            _WORDS_JSON_NODES[span.text]
            if found.lastindex == _WORD
            else _number_of_json_nodes(span),
            span,
        )

    def after(self, node: Node) -> Node | None:
        """Add *node* where it belongs; return what its end closes, if anything."""
        level = self.open[-1]
        level.add(node)
        found = self.token(JsonState.NEXT, _MARKS, "," + level.close)
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
        if found.lastindex == _PLAIN:
            return ScalarNode(found[_PLAIN], span, quoted=True)
        return ScalarNode(_ESCAPE.sub(_Decoder(span), found[_ESCAPED]), span, quoted=True)

    def token(self, state: JsonState, kinds: AbstractSet[int], marks: str = "") -> re.Match[str]:
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

    def fail(self, state: JsonState) -> NoReturn:
        """Raise what is wrong with the next token, where *state* was expected."""
        level = self.open[-1] if self.open else None
        bracket = self.source.span(level.start, level.start + 1) if level else None
        raise explain(self.source, self.at, state, bracket)


# Beyond this Python itself refuses to make a number of text.
_DIGITS: Final = 4000


def _number_of_json_nodes(span: Span) -> int | float:
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
