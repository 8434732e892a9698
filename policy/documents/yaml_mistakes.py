"""Why a text is not YAML, in the words of the person who wrote it.

What a YAML parser says is about its own state, and the two parsers that may be
in use say it differently. Here only the place counts: the line is looked at
again for the mistakes people make, the commonest first, and whichever explains
it is reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from policy.documents.text import cite
from policy.documents.yaml_line import ENTRY, STRING, Line, Range, closing, line_at, quoted
from policy.errors import PolicyError

__all__ = ["explain"]


def explain(part: Range, offsets: Iterable[int]) -> PolicyError:
    """Return what is wrong with *part*, which cannot be read.

    The first of *offsets* is where a parser stopped; if there is a second, what
    it was reading starts there.
    """
    offsets = [min(max(offset, part.start), part.end) for offset in offsets] or [part.start]
    error = _conflict(part) or _unclosed(part, offsets[-1])
    if error is not None:
        return error
    lines = [line_at(part, offset) for offset in offsets]
    for line in lines:
        for mistake in _MISTAKES:
            error = mistake(line)
            if error is not None:
                return error
    return _unexpected(lines[0])


# --- mistakes of more than a line ------------------------------------------

_CONFLICT: Final = re.compile(r"^(?:<{7} .*|={7}\r?$|>{7} .*)", re.MULTILINE)


def _conflict(part: Range) -> PolicyError | None:
    found = _CONFLICT.search(part.source.text, part.start, part.end)
    if not found:
        return None
    span = part.span(found.start(), found.start() + len(found[0].rstrip()))
    return PolicyError("a merge conflict is left in the text", span, help="resolve it")


_CLOSERS: Final = {"[": "]", "{": "}", "'": "'", '"': '"'}


def _unclosed(part: Range, offset: int) -> PolicyError | None:
    """Find the bracket or quote at *offset* that nothing closes."""
    text, sign = part.source.text, part.source.text[offset : min(offset + 1, part.end)]
    if sign in ("[", "{"):
        closed = closing(text, offset, part.end) is not None
    elif sign in ("'", '"'):
        closed = STRING.match(text, offset, part.end) is not None
    else:
        return None
    if closed:
        return None
    line = text[offset : part.end].partition("\n")[0]
    if sign in ("[", "{") and " #" in line:
        mend = "` #` starts a comment that runs to the end of its line; put the item in quotes"
    elif sign in ("[", "{"):
        mend = f"close it by `{_CLOSERS[sign]}`, or quote the value if it is text"
    else:
        mend = "close it at the end of the value"
    return PolicyError(f"the `{sign}` is not closed", part.span(offset, offset + 1), help=mend)


# --- mistakes of a line -----------------------------------------------------


def _tab(line: Line) -> PolicyError | None:
    found = re.match(r"[ ]*+(\t++)\s*+\S", line.text)
    if not found:
        return None
    span = line.part.span(line.start + found.start(1), line.start + found.end(1))
    return PolicyError("a tab indents this line", span, help="YAML is indented with spaces")


def _placeholder(line: Line) -> PolicyError | None:
    found = re.match(r"[^:\"'{]*+(?P<it>\{\{[^{}]*+\}\}|\{%[^%]*+%\})", line.text)
    if not found:
        return None
    return PolicyError(
        f"{cite(found['it'])} is the placeholder of a template, not YAML",
        line.part.span(line.start + found.start("it"), line.start + found.end("it")),
        help="fill the template in; a placeholder that is meant as text needs quotes",
    )


# Characters no unquoted value may start with, and what is to be said of them.
_STARTERS: Final = {
    "*": "`*` starts an alias",
    "&": "`&` starts an anchor",
    "!": "`!` starts a tag",
    "%": "`%` starts a directive",
    "@": "`@` is reserved",
    "`": "a backtick is reserved",
}


def _starter(line: Line) -> PolicyError | None:
    meaning = _STARTERS.get(line.value[:1])
    if meaning is None:
        return None
    return PolicyError(f"{meaning} at the start of a value", line.span(0, 1), help=quoted(line))


def _block(line: Line) -> PolicyError | None:
    found = re.match(r"[|>][-+0-9]*+[ \t]*+(?!#)(\S.*)", line.value)
    if not found:
        return None
    sign = line.value[0]
    return PolicyError(
        f"expected a new line after `{sign}`, found {cite(found[1])}",
        line.span(found.start(1), found.end(1)),
        help=f"`{sign}` starts a block of text, which stands below it, indented; "
        f"text that itself starts with `{sign}` needs quotes",
    )


_BRACKETS: Final = {"[": "list", "{": "mapping"}


def _bracket(line: Line) -> PolicyError | None:
    """Find ``[a] [b]``, which ends before its line does."""
    sign = line.value[:1]
    close = closing(line.value, 0, len(line.value)) if sign in _BRACKETS else None
    rest = re.compile(r"[ \t]*+(?!#)(\S.*)").match(line.value, close) if close else None
    if not rest:
        return None
    if rest[1].strip("]}"):
        mend = f"`{sign}` at the start of a value starts a {_BRACKETS[sign]}; {quoted(line)}"
    else:
        mend = "there is a closing bracket too many"
    return PolicyError(
        f"expected the end of the line after {cite(line.value[:close])}, found {cite(rest[1])}",
        line.span(rest.start(1), rest.end(1)),
        help=mend,
    )


def _nested_bracket(line: Line) -> PolicyError | None:
    """Find ``[a [b]]``."""
    found = re.match(r"\[[^\]\[{}\"']*[^\s,\[]([ \t]*)\[", line.value)
    if not found:
        return None
    span = line.span(found.end() - 1, found.end())
    return PolicyError("expected `,` or `]`, found `[`", span, help=quoted(line))


def _item(line: Line) -> PolicyError | None:
    """Find the item of a list in brackets that no item may be."""
    if not line.value.startswith("["):
        return None
    at = max(line.at - line.value_start, 1)
    start = max(line.value.rfind(",", 0, at), 0) + 1
    ends = (line.value.find(sign, at) for sign in ",]")
    item = line.value[start : min((end for end in ends if end >= 0), default=at)]
    start += len(item) - len(item.lstrip())
    item = item.strip()
    if item[:1] in _STARTERS:
        message = f"{_STARTERS[item[0]]} at the start of an item"
    elif ": " in item and item[0] not in "[{\"'":
        message = "`: ` in an item without quotes"
    else:
        return None
    mend = "put the item in quotes" + ("" if '"' in item else f': `"{item}"`')
    return PolicyError(message, line.span(start, start + len(item)), help=mend)


def _quote(line: Line) -> PolicyError | None:
    """Find ``"a" b``, which ends before its line does, and what no string may hold."""
    sign, text = line.value[:1], line.part.source.text
    if sign not in ("'", '"'):
        return None
    string = STRING.match(text, line.value_start, line.part.end)
    if not string:
        return _unclosed(line.part, line.value_start)
    rest = re.compile(r"[ \t]*+([^\s#].*)").match(text, string.end(), line.part.end)
    if not rest:
        return _escape(line, string[0])
    return PolicyError(
        f"expected the end of the line after the closing `{sign}`, found {cite(rest[1])}",
        line.part.span(rest.start(1), rest.start(1) + len(rest[1].rstrip())),
        help=f"a `{sign}` at the start of a value must close at its end; quote the whole value",
    )


_ESCAPE: Final = re.compile(
    r"\\(?:[0abt\tnvfre \"/\\N_LP\n\r]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
)


def _escape(line: Line, string: str) -> PolicyError | None:
    for found in re.finditer(r"\\.", string, re.DOTALL):
        if string[0] == '"' and not _ESCAPE.match(string, found.start()):
            return PolicyError(
                f"{cite(found[0])} is not an escape of YAML",
                line.span(*found.span()),
                help=f"write `\\{found[0]}`, or use single quotes, where `\\` is itself",
            )
    return None


def _dash(line: Line) -> PolicyError | None:
    if not line.key or not re.match(r"-(?:[ \t]|$)", line.value):
        return None
    return PolicyError(
        "`- ` on the line of its key",
        line.span(0, 1),
        help="items of a list stand below their key, each on a line of its own",
    )


def _colon(line: Line) -> PolicyError | None:
    """Find ``description: this: that``."""
    found = re.search(r":(?:[ \t]|$)", line.value)
    if not found or line.value[0] in "[{\"'|>":
        return None
    head = line.value[: found.start()]
    if head.count("(") > head.count(")"):
        rule = re.sub(r":[ \t]+", ":", line.value)
        mend = f"put the rule in quotes, or leave no blank after `:`: {cite(rule)}"
    else:
        mend = quoted(line)
    span = line.span(found.start(), found.start() + 1)
    return PolicyError("`: ` in a value without quotes", span, help=mend)


def _continued(line: Line) -> PolicyError | None:
    """Find ``second: line`` indented below ``key: first line``."""
    if not line.key:
        return None
    above = line.part.source.text[line.part.start : line.start].splitlines()
    outer = (text for text in reversed(above) if text.strip() and _indent(text) < line.indent)
    owner = ENTRY.match(next(outer, ""))
    if owner is None or not owner["value"] or owner["value"][0] in "[{|>\"'":
        return None
    colon = line.part.source.text.rindex(":", line.start, line.value_start)
    return PolicyError(
        f"`: ` in a line that continues the value of {cite(owner['key'])}",
        line.part.span(colon, colon + 1),
        help="a long text needs `>-` after its key, and every line of it indented; "
        "a key starts at the column of the keys above it",
    )


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _keyless(line: Line) -> PolicyError | None:
    """Find text where a key must stand."""
    if line.key or not line.text.strip() or re.match(r"\s*(?:[-#\[{}\],\"']|\.\.\.)", line.text):
        return None
    return PolicyError(
        f"expected `key: value`, found {cite(line.text)}",
        line.whole(),
        help="a long text needs `>-` after its key, and every line of it indented",
    )


# Which mistakes are looked for, in this order.
_MISTAKES: Final[tuple[Callable[[Line], PolicyError | None], ...]] = (
    _tab,
    _placeholder,
    _starter,
    _block,
    _bracket,
    _nested_bracket,
    _item,
    _quote,
    _dash,
    _colon,
    _continued,
    _keyless,
)


def _unexpected(line: Line) -> PolicyError:
    rest = line.part.source.text[line.at : line.part.end]
    if not rest.strip():
        return PolicyError(
            "the text ends in the middle of a value", line.part.span(line.at, line.at)
        )
    found = rest.partition("\n")[0].strip()
    what = cite(found) if found else "the end of the line"
    return PolicyError(
        f"expected the next `key: value` or list item, found {what}",
        line.part.span(line.at, line.at + max(len(found), 1)),
        help="keys of one mapping, and items of one list, start at the same column",
    )
