"""Commands that a host looks at in words of its own: with quotes around few of its arguments.

Where a command goes on behind a line break or names a variable, such a host does not look
at what was written. It puts the words together anew: what was quoted and need not be is not
quoted then, so that a star in it is one that a shell expands, and a rule with quotes in it
speaks of another text. In the place of a variable stands what no rule says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import attrs

from policy.shell.words import Word

__all__ = ["exposed", "is_reworded", "reworded"]

_REWORDED: Final = re.compile(r"\n|\$[A-Za-z_]")
_QUOTED: Final = re.compile(r"""\A\Z|["'\\ \t\n$`;|&<>(){}#]""")
_EXPANDED: Final = re.compile(r"[*?]|\[.*\]")
_SUBSTITUTED: Final = re.compile(r"\$\(|`|[<>]\(")
_VARIABLE: Final = re.compile(r"\$\w+")
_FOLDER: Final = re.compile(r"\A[~.](?=/|\Z)")
_SOME_VALUE: Final = "\x1f"


def is_reworded(text: str) -> bool:
    """Return whether a simple command that is written so is put together anew."""
    return _REWORDED.search(text) is not None


def reworded(words: Sequence[Word], name: int) -> list[Word]:
    """Return the words of such a command, from the one behind its *name* on as they are put."""
    return [*words[: name + 1], *map(_reworded, words[name + 1 :])]


def _reworded(word: Word) -> Word:
    text = word.plain
    if not word.literal:
        if not word.vetted:
            return word  # which no rule grants
        if _SUBSTITUTED.search(word.raw):
            text = _SOME_VALUE
        else:
            text = _FOLDER.sub(_SOME_VALUE, _VARIABLE.sub(_SOME_VALUE, text))
    return attrs.evolve(word, raw=_put(text))


def _put(text: str) -> str:
    if not _QUOTED.search(text):
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def exposed(words: Sequence[Word]) -> list[Word]:
    """Return the words of such a command, with the stars that are quoted no more."""
    return [
        attrs.evolve(word, glob=True)
        if _EXPANDED.search(word.plain) and not _QUOTED.search(word.plain)
        else word
        for word in words
    ]
