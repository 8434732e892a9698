"""What to tell the author of a text that does not parse: the words that all sentences share.

A parser knows where it stopped and what it would have taken. From these and
the text, `policy.language.matcher_mistakes` and `policy.language.notation_mistakes` make the
sentence: what was expected, what was found, and how to mend it.
"""

from __future__ import annotations

import difflib
import itertools
import unicodedata
from collections.abc import Iterable
from typing import Final

import attrs

from policy.source import visible

__all__ = [
    "AGENT_WORDS",
    "FILE_WORDS",
    "NAME_CHARACTERS",
    "WORDS",
    "Mistake",
    "character",
    "closest",
    "quoted",
]

# Words that begin a statement of a file, and of an agent.
FILE_WORDS: Final = ("root", "agent", "test", "never")
AGENT_WORDS: Final = (
    "allow",
    "ask",
    "deny",
    "expect",
    "inherit",
    "delegate",
    "trust",
    "limit",
)
WORDS: Final = FILE_WORDS + AGENT_WORDS


@attrs.frozen
class Mistake:
    """The range that is wrong, what is wrong with it, and the mend."""

    start: int
    end: int
    message: str
    help: str = ""


# Comparing words costs their length squared, and a hostile file has long ones.
_LONG_WORD: Final = 64
_MANY_WORDS: Final = 1000


def closest(word: str, words: Iterable[str]) -> str:
    """Return ``did you mean `…`?``, or "" where nothing is near."""
    if len(word) > _LONG_WORD:
        return ""
    some = (other for other in itertools.islice(words, _MANY_WORDS) if len(other) <= _LONG_WORD)
    near = difflib.get_close_matches(word, some, n=1)
    return f"did you mean {quoted(near[0])}?" if near else ""


def quoted(text: str, most: int = 60) -> str:
    """Return *text* in backticks, cut to what a line can hold."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return f"`{visible(cut)}`"


def character(char: str) -> str:
    """Return what a person calls *char*; look-alikes get their full name."""
    if char in " \t\u00a0":
        return "a blank" if char != "\t" else "a tab"
    if char in "\r\n":
        return "a line break"
    if char == "`":
        return "a backtick"
    if char.isascii() and char.isprintable():
        return f"`{char}`"
    name = unicodedata.name(char, f"U+{ord(char):04X}")
    return f"`{visible(char)}` ({name})"


NAME_CHARACTERS: Final = "a tool's name holds letters, digits and `_`, `-`, `.`, `:`, `*`"
