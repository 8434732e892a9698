"""Why a text is not JSON, in the words of the person who wrote it.

The scanner stops at a token that cannot stand there. Here the text from that
place on is compared with what people write instead, the commonest first.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from typing import Final

import attrs

from policy.documents.text import cite
from policy.errors import PolicyError
from policy.source import Source, Span

__all__ = ["State", "bad_escape", "explain", "half_character", "liberties"]


class State(enum.Enum):
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
    state: State
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
            return "the end of the file" if self.state is State.NEXT else self.state.value
        close = "]" if self.bracket.text == "[" else "}"
        return f"`,` or `{close}`" if self.state is State.NEXT else self.state.value


def explain(source: Source, at: int, state: State, bracket: Span | None) -> PolicyError:
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
        case State.NEXT if stop.found == ":":
            return "a list has no keys; an object is written in `{` and `}`"
        case State.NEXT if stop.found in {"]", "}"}:
            return _opened(stop)
        case State.NEXT if text[stop.start - 1] == '"':
            return 'a `"` inside a string is written `\\"`'
        case State.NEXT:
            return "separate it from what stands before by a comma"
        case State.COLON:
            return "after a key comes `:` and its value"
        case State.VALUE if stop.found == ",":
            return "remove the comma, or write the value that is missing"
        case State.VALUE if stop.found == "}" and stop.bracket and stop.bracket.text == "{":
            return "after `:` comes the value of the key"
        case State.KEY if stop.found == ",":
            return "remove the comma"
        case State.VALUE | State.KEY if stop.found in {"]", "}"}:
            return _opened(stop)
        case State.END:
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
    if stop.found[0] not in _QUOTES or stop.state in {State.NEXT, State.COLON, State.END}:
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
    if stop.state is State.VALUE and stop.found in _WORDS:
        mend = f"write `{_WORDS[stop.found]}`"
    elif stop.state in {State.VALUE, State.KEY} and re.fullmatch(r"[A-Za-z_$][^\s\"]*", stop.found):
        mend = f'put it in double quotes: `"{stop.found}"`'
    else:
        return None
    what = "a key in double quotes" if stop.state is State.KEY else "a value"
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
    if stop.state is not State.VALUE:
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
