"""Lines that spell out what a shell acts on, and commands that hold it as part of a word.

What is in quotes, or behind a backslash, a shell does not act on; to rules that deny or ask it is
the same text all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policy.commands.compound import KEYWORDS
from policy.compare.overlap import ODD
from policy.compare.prefixes import start_of
from policy.patterns.pattern import Pattern

__all__ = ["escaped", "in_quotes", "is_joined", "is_odd", "quoted"]

# What means something to a shell within double quotes.
_IN_QUOTES: Final = frozenset('"$`\\')

# What a backslash takes the meaning from.
_ESCAPED: Final = str.maketrans({letter: f"\\{letter}" for letter in ";&|<>()`$\\{}\"'#"})

# What parts commands.
_OPERATORS: Final = frozenset(";&|\n")


def is_odd(pattern: Pattern) -> bool:
    """Whether a line with stars spells out what a shell acts on."""
    return not pattern.exact and any(
        isinstance(token, str) and not ODD.isdisjoint(token) for token in pattern.tokens
    )


def is_joined(pattern: Pattern) -> bool:
    """Whether a pattern begins with a command, and an operator that is in no quotes.

    No rule that allows knows a command by such a text: what is read is taken apart there.
    """
    start = start_of(pattern)
    program = start.partition(" ")[0]
    operator = next((letter for letter in start if letter in ODD), "")
    return operator in _OPERATORS and program not in KEYWORDS and program[:1] != "["


def in_quotes(text: str, quote: str = "'") -> str:
    """Return a command with the name of its program in quotes."""
    program, blank, rest = text.partition(" ")
    return f"{quote}{program}{quote}{blank}{rest}"


def quoted(text: str) -> Iterator[str]:
    """Yield a command with all that follows its program as one word, in quotes."""
    program, blank, rest = text.partition(" ")
    if rest and "'" not in rest:
        yield f"{program}{blank}'{rest}'"
    elif rest and _IN_QUOTES.isdisjoint(rest):
        yield f'{program}{blank}"{rest}"'


def escaped(text: str) -> str:
    """Return a command of plain words that rules which deny or ask know by *text*."""
    return text.translate(_ESCAPED)
