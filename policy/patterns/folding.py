"""Paths without regard to case: one letter for each that counts as the same.

As an expression of JavaScript reads them that ignores case, by which `.gitignore` globs are
matched: a letter is what its capital is, where that is one letter too, and not a plain one
of ASCII unless it is plain itself. So ``é`` is ``É``, and all three sigmas are one; but ``ß``
is not ``ss``, nor the long ``s`` of old prints an ``s``, nor the sign for kelvin a ``k``. No
text changes its length.

    >>> folded("/A/STRAßE/É")
    '/a/straße/é'
"""

from __future__ import annotations

__all__ = ["folded"]


def folded(text: str) -> str:
    """Return *text* with the one letter that stands for each that ignores its case."""
    return text.lower() if text.isascii() else "".join(map(_folded, text))


def _folded(letter: str) -> str:
    if letter.isascii():
        return letter.lower()
    capital = letter.upper()
    # Letters beyond the first plane are two units to JavaScript, neither of which has a case.
    if len(capital) != 1 or capital.isascii() or capital > "\uffff":
        return letter
    small = capital.lower()
    return small if len(small) == 1 and small.upper() == capital else capital
