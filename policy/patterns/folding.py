"""Paths without regard to case: one letter for each that counts as the same.

As an expression of JavaScript reads them that ignores case, by which `.gitignore` globs are
matched: a letter is what its capital is, where that is one letter too, and not a plain one
of ASCII unless it is plain itself. So ``é`` is ``É``, and all three sigmas are one; but ``ß``
is not ``ss``, nor the long ``s`` of old prints an ``s``, nor the sign for kelvin a ``k``. No
text changes its length.

    >>> folded("/A/STRAßE/É")
    '/a/straße/é'

Who guards a name asks for the other letters of its kind as well: `with_others`. Where texts
keep their case, a pattern may take each letter in any: `in_any_case`.
"""

from __future__ import annotations

from policy.patterns.tokens import Either, OneOf

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from policy.patterns.tokens import Token

__all__ = ["folded", "in_any_case", "with_others"]

# The letters whose capital is one of ASCII, or whose small letter is, though they are not: an
# `i` without its dot, the long `s` and the sign for kelvin.
_OTHERS = {each[0]: OneOf(frozenset(each)) for each in ("i\u0131", "s\u017f", "k\u212a")}


def folded(text: str) -> str:
    """Return *text* with the one letter that stands for each that ignores its case."""
    return text.lower() if text.isascii() else "".join(map(_folded, text))


def with_others(text: str) -> Iterator[Token]:
    """Yield *text*, folded, with a set for each letter that others are taken for too.

    Who turns a name into capitals and back, or compares it by all of Unicode, takes them for
    the letter; `folded` keeps them apart.
    """
    for letter in folded(text):
        yield _OTHERS.get(letter, letter)


def in_any_case(tokens: Iterable[Token], folders: Iterable[str] = ()) -> Iterator[Token]:
    """Yield *tokens* of a pattern that match what they match, whatever the case of letters is.

    A path that begins with one of *folders* keeps the letters of that.
    """
    first, *rest = tokens or [""]
    for folder in folders:
        if isinstance(first, str) and f"{first}/".startswith(f"{folder}/"):
            yield folder
            first = first[len(folder) :]
            break
    for token in (first, *rest):
        if isinstance(token, str):
            yield from (_any_case(letter) for letter in token)
        elif isinstance(token, OneOf):
            alike = (_alike(letter) for letter in token.characters)
            yield OneOf(frozenset().union(*alike), token.negated)
        elif isinstance(token, Either):
            yield Either(*(tuple(in_any_case(each)) for each in token.alternatives))
        else:
            yield token


def _any_case(letter: str) -> Token:
    alike = _alike(letter)
    return OneOf(alike) if len(alike) > 1 else letter


# The letters beyond ASCII that count as the same; a hook needs none, and imports no cache.
_ALIKE: dict[str, list[str]] = {}


def _alike(letter: str) -> frozenset[str]:
    if letter.isascii():
        return frozenset((letter.lower(), letter.upper()))
    if not _ALIKE:
        for other in map(chr, range(0x80, 0x10000)):
            _ALIKE.setdefault(folded(other), []).append(other)
    return frozenset(_ALIKE.get(folded(letter), [letter]))


def _folded(letter: str) -> str:
    if letter.isascii():
        return letter.lower()
    capital = letter.upper()
    # Letters beyond the first plane are two units to JavaScript, neither of which has a case.
    if len(capital) != 1 or capital.isascii() or capital > "\uffff":
        return letter
    small = capital.lower()
    return small if len(small) == 1 and small.upper() == capital else capital
