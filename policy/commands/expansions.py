"""Where `${...}` ends to Claude Code, and whether it takes that for sure.

It reads shell by a parser of its own (2.1.329, as its text has it), and asks for every command
with an expansion that a shell may end elsewhere: what is substituted in a pattern, braces that
stand for themselves, something behind what looks like a list.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from policy.core import limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

__all__ = ["has_stray", "is_ended_oddly", "is_inner"]

_HEAD: Final = re.compile(
    r"\$\{\s*(?:#!(?=\})|!##? ?(?=\})"
    r"|#?(?:[!=~](?=\w))?[ \t]*(?:[A-Za-z_]\w*|[0-9]+|[?$@*#!-])?(?:\[[^\]]*\])?)\s*"
)
_OPERATOR: Final = re.compile(r":?[-=?+]|##?|%%?|//?|\^\^?|,,?")
_TRANSFORMED: Final = re.compile(r"@[A-Za-z_]\w*|[*@](?=\})|:(?=\})")
_LIST: Final = re.compile(r"\((?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\\'\"`{})$]|\$(?!\())*\)?")
# What makes it doubtful wherever it stands.
_ODD: Final = re.compile(r"\\\n|\$\[|\$\{[ \t\n|]")

# Up to the next letter that counts, in each kind of text.
_PLAIN: Final = re.compile(r"(?:\\.|[^\\}{'\"`$<>])+", re.DOTALL)
_PATTERN: Final = re.compile(r"(?:\\.|[^\\}{'\"`$/])+", re.DOTALL)
_STRING: Final = re.compile(r"(?:\\.|[^\\\"`$])*", re.DOTALL)
_SINGLE: Final = re.compile(r"'[^']*'")
_BACKQUOTED: Final = re.compile(r"`(?:\\.|[^\\`])*`", re.DOTALL)
_WITHIN: Final = re.compile(r"(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\\'\"()])+", re.DOTALL)


class _OddError(Exception):
    """An expansion of which nobody knows where it ends."""


def is_ended_oddly(text: str, start: int = 0) -> bool:
    """Return whether nobody knows where the expansion ends that begins at *start* of *text*."""
    try:
        _expansion(text, start, 0)
    except _OddError:
        return True
    return False


def _expansion(text: str, start: int, depth: int) -> int:
    """Return where an expansion ends that is read by its operator, or raise `_OddError`."""
    head = _HEAD.match(text, start)
    if head is None or depth > limits.NESTING:
        raise _OddError
    at = head.end()
    if found := _TRANSFORMED.match(text, at):
        at = found.end()
    elif text[at : at + 1] == ":" and text[at + 1 : at + 2] not in tuple("-=?+"):
        return _behind(text, at, "}")  # numbers, of which nobody asks more
    elif operator := _OPERATOR.match(text, at):
        at = _operand(text, operator.end(), operator[0], depth)
    if text[at : at + 1] != "}" or _ODD.search(text, start + 2, at):
        raise _OddError
    return at + 1


def _operand(text: str, at: int, operator: str, depth: int) -> int:
    if operator[-1] not in "/#%^,":
        listed = _LIST.match(text, at) if text[at : at + 1] == "(" else None
        return listed.end() if listed else _word(text, at, depth)
    ends = "/}" if operator[0] == "/" else "}"
    at = _pattern(text, at, ends, depth)
    return _word(text, at + 1, depth) if text[at : at + 1] == "/" and "/" in ends else at


def _pattern(text: str, at: int, ends: str, depth: int) -> int:
    """Return where a pattern ends, into which nothing may be put but variables."""
    while at < len(text):
        one = text[at]
        if one in ends:
            return at
        if one in "{`" or text.startswith("$(", at):
            break
        if text.startswith("${", at):
            at = _expansion(text, at, depth + 1)
        elif one in "'\"":
            at = _quoted(text, at, depth)
        else:
            found = _PATTERN.match(text, at)
            at = found.end() if found else at + 1
    raise _OddError


def _word(text: str, at: int, depth: int) -> int:
    """Return where a word ends that a variable may come to."""
    while at < len(text):
        one = text[at]
        if one == "}":
            return at
        if one == "{" or (one in "<>" and text[at + 1 : at + 2] == "("):
            break
        if one in "'\"":
            at = _quoted(text, at, depth)
        elif one in "$`":
            at = _put_in(text, at, depth)
        else:
            found = _PLAIN.match(text, at)
            at = found.end() if found else at + 1
    raise _OddError


def _quoted(text: str, at: int, depth: int) -> int:
    if text[at] == "'":
        found = _SINGLE.match(text, at)
        if found is None:
            raise _OddError
        return found.end()
    at += 1
    while at < len(text):
        found = _STRING.match(text, at)
        at = found.end() if found else at
        if text[at : at + 1] == '"':
            return at + 1
        if at < len(text):
            at = _put_in(text, at, depth)
    raise _OddError


def _put_in(text: str, at: int, depth: int) -> int:
    """Return where something ends that begins with a dollar or a backquote."""
    if text[at] == "`":
        found = _BACKQUOTED.match(text, at)
        if found is None:
            raise _OddError
        return found.end()
    if text.startswith("${", at):
        return _expansion(text, at, depth + 1)
    return _behind(text, at + 2, ")") if text.startswith("$(", at) else at + 1


def _behind(text: str, at: int, closing: str) -> int:
    """Return where what *closing* closes was closed that was opened before *at*."""
    opened = 0
    while at < len(text):
        one = text[at]
        if one == closing and not opened:
            return at + 1
        if one in "()":
            opened += 1 if one == "(" else -1
        found = _WITHIN.match(text, at) if closing == ")" else None
        at = found.end() if found else at + 1
    raise _OddError


def is_inner(node: Node) -> bool:
    """Whether an expansion stands in another, as a part of its operand."""
    above = node.parent
    while above is not None and above.type in _OF_WORDS:
        above = above.parent
    return above is not None and above.type == "expansion"


_OF_WORDS: Final = frozenset({"concatenation", "string"})


def has_stray(node: Node) -> bool:
    """Whether an expansion has a brace, or a sum a quote, by which some shell ends it elsewhere."""
    if node.type == "expansion":
        texts = list(_spelled(node))[1:]
        return any("{" in text.replace("\\{", "") and text[0] != "'" for text in texts)
    return node.type == "arithmetic_expansion" and any(
        text[:1] in ("'", "`") for text in _spelled(node) if text
    )


_NESTED: Final = frozenset(
    "expansion command_substitution process_substitution string arithmetic_expansion".split()
)


def _spelled(node: Node) -> Iterator[str]:
    """Yield the texts below *node* that are part of nothing else in it."""
    for child in node.children:
        if child.type in _NESTED:
            yield "`" if child.children and child.children[0].type == "`" else ""
        elif child.children:
            yield from _spelled(child)
        else:
            yield (child.text or b"").decode("utf-8")
