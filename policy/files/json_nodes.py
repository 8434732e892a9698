"""Reads JSON (RFC 8259) as nodes with spans. Of a repeated key the last one counts.

The scanner has an explicit stack, so it takes linear time and `limits.NESTING` bounds its depth.
`json_mistakes.toml` has the messages for mistakes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping as AbstractMapping
from pathlib import Path
from typing import Final, NoReturn

from policy.core import expressions as re
from policy.core import limits
from policy.core.errors import PolicyError
from policy.core.source import Source, Span
from policy.files.nodes import DIGITS, VALUES, Node, OpenNode, ScalarNode, Value
from policy.files.text import BYTE_ORDER_MARK, cite, has_byte_order_mark


def read_json(source: Source, *, byte_order_mark: bool = False) -> Node:
    """Return the value in *source*; raise PolicyError unless it is strict JSON."""
    if has_byte_order_mark(source) and not byte_order_mark:
        raise PolicyError(
            "the file starts with a byte order mark, which is not JSON",
            source.span(0, 0),
            help="save the file as UTF-8 without a byte order mark",
        )
    return _Scanner(source).document()


# One token; the number of the group is its kind. No text matches in two ways, and `*+` does not
# backtrack.
_TOKEN: Final = re.compile(
    r"""[ \t\n\r]*+(?:
        "([^"\\\x00-\x1f]*+)"                                           # 1: as it is
      | "([^"\\\x00-\x1f]*+(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*+)*+)"      # 2: with escapes
      | ([,:\]}\[{])                                                    # 3
      | (-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?+[0-9]++)?+)(?![0-9A-Za-z_.+-])  # 4
      | (true|false|null)(?![0-9A-Za-z_])                               # 5
      | (\Z)                                                            # 6
    )""",
    re.VERBOSE,
)
_PLAIN, _ESCAPED, _MARK, _NUMBER, _WORD, _END = range(1, 7)

_STRINGS: Final = frozenset({_PLAIN, _ESCAPED})

# Position in the grammar -> its name in messages, and the tokens that may be there.
_EXPECTED: Final = {
    "value": ("a value", _STRINGS | {_MARK, _NUMBER, _WORD}),
    "key": ("a key in double quotes", _STRINGS | {_MARK}),
    "colon": ("`:`", frozenset({_MARK})),
    "next": ("`,`", frozenset({_MARK})),
    "end": ("the end of the file", frozenset({_END})),
}

_WORDS: Final[AbstractMapping[str, Value]] = {"true": True, "false": False, "null": None}


class _Scanner:
    """Reads one document."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.at = 1 if source.text.startswith(BYTE_ORDER_MARK) else 0  # after the last token
        self.start = 0  # of the last token
        self.open: list[OpenNode] = []

    def document(self) -> Node:
        """Return the value of the document."""
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
        self.token("end")
        return node

    def value(self) -> Node | None:
        """Return the next value; None where a list or object starts, which `close` returns."""
        level = self.open[-1] if self.open else None
        if level is not None and level.keyed:
            token = self.token("key", "}")
            if token.lastindex == _MARK:
                return self.close()
            level.key = self.string(token)
            self.token("colon", ":")
            token = self.token("value", "[{")
        else:
            token = self.token("value", "[{]" if level else "[{")
        if token.lastindex == _MARK and level is not None and token[_MARK] == "]":
            return self.close()
        if token.lastindex == _MARK:
            if len(self.open) == limits.NESTING:
                raise PolicyError(
                    f"lists and objects are nested more than {limits.NESTING} deep",
                    self.source.span(self.start, self.at),
                )
            self.open.append(OpenNode(self.start, token[_MARK] == "{"))
            return None
        if token.lastindex in _STRINGS:
            return self.string(token)
        span = self.source.span(self.start, self.at)
        return ScalarNode(_WORDS[span.text] if token.lastindex == _WORD else _number(span), span)

    def after(self, node: Node) -> Node | None:
        """Add *node* to the open list or object. Return that if it ends here, else None."""
        level = self.open[-1]
        level.add(node)
        token = self.token("next", ",}" if level.keyed else ",]")
        return None if token[_MARK] == "," else self.close()

    def close(self) -> Node:
        """Return the list or object that ends here."""
        level = self.open.pop()
        return level.closed(self.source.span(level.start, self.at))

    def string(self, token: re.Match[str]) -> ScalarNode:
        """Return the string token *found* as a node."""
        span = self.source.span(self.start, self.at)
        value = token[_PLAIN] if token.lastindex == _PLAIN else _unescaped(span)
        return ScalarNode(value, span, quoted=True)

    def token(self, expected: str, marks: str = "") -> re.Match[str]:
        """Return the next token, one *expected* here; if it is a mark, one of *marks*."""
        token = _TOKEN.match(self.text, self.at)
        kind = token.lastindex or _END if token else _END
        if (
            token is None
            or kind not in _EXPECTED[expected][1]
            or (kind == _MARK and token[_MARK] not in marks)
        ):
            self.fail(expected)
        if kind == _MARK and token[_MARK] in "]}" and self.text[self.start] == ",":
            message = "a comma before the closing bracket is not JSON"
            raise PolicyError(message, self.source.span(self.start, self.start + 1), help=_COMMA)
        self.at = token.end()
        self.start = token.start(kind) - (kind in _STRINGS)
        return token

    def fail(self, expected: str) -> NoReturn:
        """Raise PolicyError: the next token is not what is *expected*."""
        level = self.open[-1] if self.open else None
        unclosed, wanted = "", _EXPECTED[expected][0]
        where = {expected, "text"} if expected in ("value", "key") else {expected}
        if level is not None:
            bracket = self.source.span(level.start, level.start + 1)
            unclosed = f"`{bracket.text}` at {bracket.place} is not closed yet"
            where |= {"in_object"} if level.keyed else set()
            closing = " or `}`" if level.keyed else " or `]`"
            wanted += closing if expected == "next" else ""
        start = len(self.text) - len(self.text[self.at :].lstrip(_BLANKS))
        if start == len(self.text):
            last = len(self.text.rstrip())
            is_empty = not self.text.strip(BYTE_ORDER_MARK + _BLANKS)
            raise PolicyError(
                f"expected {wanted}, found the end of the file",
                self.source.span(last, last),
                help="write `{}` for nothing" if is_empty else unclosed,
            )
        from policy.language import mistakes  # noqa: PLC0415  # only for mistakes

        values = {"expected": wanted, "unclosed": unclosed}
        mistake = mistakes.explained(
            _MISTAKES, self.text, start, len(self.text), where=where, filling=values
        )
        assert mistake is not None  # noqa: S101  # the last form matches any text
        span = self.source.span(mistake.start, mistake.end)
        raise PolicyError(mistake.message, span, help=mistake.help)


_MISTAKES: Final = Path(__file__).with_name("json_mistakes.toml")
_BLANKS: Final = " \t\n\r"
_COMMA: Final = "remove the comma"


def _number(span: Span) -> int | float:
    text = span.text
    if len(text) > DIGITS:
        raise PolicyError(f"the number has more than {DIGITS} digits", span)
    return int(text) if text.lstrip("-").isdigit() else float(text)


# Matches valid escapes, without unpaired surrogates.
_ESCAPED_TEXT: Final = re.compile(
    r"""(?:[^\\] | \\(?: ["\\/bfnrt]
      | u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}
      | u(?![dD][89a-fA-F])[0-9a-fA-F]{4} ))*+""",
    re.VERBOSE,
)
_CODE: Final = re.compile(r"\\u[0-9a-fA-F]{4}")


def _unescaped(string: Span) -> str:
    """Return the value of a *string* with escapes."""
    text = string.text
    match = _ESCAPED_TEXT.match(text)
    at = match.end() if match else 0
    if at == len(text):
        value: str = json.loads(text)
        return value
    code = _CODE.match(text, at)
    length = len(code[0]) if code else 2
    span = string.source.span(string.start + at, string.start + at + length)
    if code:
        message = f"{cite(span.text)} is half of a character"
        mend = "a character beyond U+FFFF is written as two such escapes, or as itself"
    else:
        message = f"{cite(span.text)} is not an escape of JSON"
        mend = f"a backslash that is meant is written twice: {cite(chr(92) + span.text)}"
    raise PolicyError(message, span, help=mend)
