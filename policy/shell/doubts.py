"""Text that readers of shell take for different things, so that nobody vouches for it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from policy.shell.words import Word

__all__ = ["ODD_BLANKS", "has_control", "hides", "is_doubtful", "is_evaluated"]

# What looks like a blank and is none to a shell.
ODD_BLANKS = frozenset(
    "\xa0\xad\u1680\u180e\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
    + "".join(map(chr, [*range(0x2000, 0x2010), *range(0x202A, 0x202F), *range(0x2061, 0x206A)]))
)

# Text that a host finds by eye, wherever it stands, and does not vouch for.
_DOUBTFUL = re.compile(
    r"\\[ \t]|[^ \t]\\\n|\\\n\s*\||\\\$\$\(|(?:^|[ \t;&|(])=[A-Za-z]|\\\{[^\n]*[,.]"
    r"|\|[ \t]*\\\n|[<>]&?[ \t]*[^\s;|&<>'\"]+[ \t]+#"
)


# No command has these; where one has, readers of shell differ.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def has_control(text: str) -> bool:
    """Whether *text* has a control character that is no blank."""
    return _CONTROL.search(text) is not None


def is_doubtful(text: str) -> bool:
    """Whether a host does not vouch for *text*, whatever is in it."""
    return (("\\" in text or "=" in text or "#" in text) and bool(_DOUBTFUL.search(text))) or (
        not text.isascii() and not ODD_BLANKS.isdisjoint(text)
    )


_HIDDEN = re.compile(r"\n[ \t]*#")


def hides(words: Sequence[Word]) -> bool:
    """Whether quoted text has a line that looks like a comment, behind which more may stand."""
    return any("\n" in word.raw and _HIDDEN.search(word.raw) for word in words)


# Builtins that run what stands in the subscript of a name: `printf -v 'a[$(ls)]'`.
_EVALUATING = frozenset(
    "printf test [ [[ read let declare typeset local export readonly unset mapfile wait".split()
)
_SUBSCRIPT = re.compile(r"\[.*(?:\$|`)", re.DOTALL)


def is_evaluated(program: Sequence[Word]) -> bool:
    """Whether a literal word may hold a command all the same."""
    return program[0].plain in _EVALUATING and any(
        _SUBSCRIPT.search(word.plain) for word in program[1:]
    )
