"""Rules that break off within the name of a program: `Bash(npm*)`.

What completes the name is looked at by a host that looks into commands: it must be plain
letters of names, for otherwise the program that runs would be another than the rule's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from policy.shell.words import Word
from policy.shell.wrappers import basename, innermost

if TYPE_CHECKING:
    from policy.patterns.pattern import Pattern
    from policy.shells import Shell

__all__ = ["is_completed"]

_PLAIN: Final = re.compile(r"[\w.+\-:@%,~/]*")
_ODD: Final = re.compile(r"[$`\x1f]|(?:\A|[\\/])\.\\?[.?*\[]")
_QUOTES: Final = re.compile(r"['\"]")
# A file by its path, or quoted from its first letter on, is none that a name goes on to.
_SPELLED: Final = re.compile(r"['\"]|(?!\d+<)[\w.+\-:@%,~]*[</]")
_ASSIGNING: Final = frozenset({"env", "sudo"})


def is_completed(pattern: Pattern, text: str, shell: Shell) -> bool:
    """Return whether *pattern*, which allows and matches *text*, is completed plainly there."""
    literal = pattern.tokens[0] if len(pattern.tokens) > 1 else ""
    if not isinstance(literal, str) or literal[-1:] in ("", " ") or not text.startswith(literal):
        return True
    begun, rest = literal.rpartition(" ")[2], text[len(literal) :].partition(" ")[0]
    if "=" in begun:
        return True
    odd = _ODD.search(_QUOTES.sub("", begun.rpartition("/")[2] + rest)) is not None
    if not odd and _PLAIN.fullmatch(rest):
        return True
    words = [Word(piece, piece) for piece in literal.split()]
    assigning = [at for at, word in enumerate(words[:-1]) if basename(word.plain) in _ASSIGNING]
    if not odd and not assigning and _SPELLED.match(begun + rest):
        return True
    words = words[assigning[-1] if assigning else 0 :]
    return all(len(innermost(words, shell, wide=wide)) > 1 for wide in (False, True))
