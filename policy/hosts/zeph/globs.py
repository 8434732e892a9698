"""Globs as the policies of a session have them: ``*``, ``?``, ``[a-z]``, ``**``.

A star stands for any text, slashes included. Two stars must be a whole part
between slashes; they stand for any number of parts. What breaks a rule of
these matches nothing, and whoever states it is told.
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.patterns.notations import Unusable
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import Gap, OneOf, Token

__all__ = ["Unusable", "cased", "glob"]


def glob(text: str, *, ignore_case: bool = False) -> tuple[Pattern, ...]:
    """Return what the glob *text* matches.

    Raises:
        Unusable: it is no glob.

    """
    branches: list[list[Token]] = [[]]
    for tokens in _tokens(text.lower() if ignore_case else text):
        branches = [[*branch, *option] for branch in branches for option in _options(tokens)]
        if len(branches) > _BRANCHES:
            msg = "it has too many `**`"
            raise Unusable(msg)
    if ignore_case:
        branches = [[piece for token in branch for piece in cased(token)] for branch in branches]
    return tuple(Pattern.of(Kind.TEXT, branch) for branch in branches)


# Ways in which the `**/` of one glob can be there or not.
_BRANCHES = 64


def cased(token: Token) -> Iterator[Token]:
    """Yield what matches the letters of *token* in either case."""
    if isinstance(token, OneOf):
        characters = {other for character in token.characters for other in _cases(character)}
        yield OneOf(frozenset(characters), token.negated)
        return
    if not isinstance(token, str):
        yield token
        return
    for character in token:
        cases = _cases(character)
        yield OneOf(frozenset(cases)) if len(cases) > 1 else character


# Signs whose small letter is one of plain text.
_SIGNS = {"k": "\u212a", "\xe5": "\u212b", "\u03c9": "\u2126"}


def _cases(character: str) -> set[str]:
    lower = character.lower()
    found = {character, lower, character.upper(), _SIGNS.get(lower, lower)}
    return {one for one in found if len(one) == 1 and one.lower() == lower}


# What stands for the parts that `**/` may be: none, or any text up to a slash.
_PARTS: tuple[list[Token], ...] = ([], [Gap.ANY, "/"])


def _options(tokens: list[Token]) -> tuple[list[Token], ...]:
    return _PARTS if tokens == [Gap.DEEP] else (tokens,)


def _tokens(text: str) -> Iterator[list[Token]]:
    position = 0
    while position < len(text):
        character = text[position]
        if character == "*":
            stars = len(text) - position - len(text[position:].lstrip("*"))
            position += stars
            if stars == 1:
                yield [Gap.ANY]
                continue
            _check_stars(text, position - stars, stars)
            yield [Gap.DEEP] if position < len(text) else [Gap.ANY]
            position += 1
        elif character == "?":
            yield [Gap.ONE]
            position += 1
        elif character == "[":
            group, position = _set(text, position + 1)
            yield [group]
        else:
            yield [character]
            position += 1


def _check_stars(text: str, start: int, stars: int) -> None:
    if stars > 2:
        msg = "a wildcard is `*` or `**`"
        raise Unusable(msg)
    before, after = text[:start], text[start + 2 :]
    if (before and not before.endswith("/")) or (after and not after.startswith("/")):
        msg = "`**` must be a whole part of a path"
        raise Unusable(msg)


def _set(text: str, position: int) -> tuple[OneOf, int]:
    """Return the set that starts behind the ``[`` and the position behind its ``]``."""
    negated = text[position : position + 1] == "!"
    position += negated
    end = text.find("]", position + 1)
    if end < 0:
        msg = "`[` is never closed"
        raise Unusable(msg)
    body, characters, index = text[position:end], set[str](), 0
    while index < len(body):
        if body[index + 1 : index + 2] == "-" and index + 2 < len(body):
            low, high = ord(body[index]), ord(body[index + 2])
            if high - low >= 256:
                msg = f"`{body[index : index + 3]}` stands for too many characters"
                raise Unusable(msg)
            characters.update(map(chr, range(low, high + 1)))
            index += 3
        else:
            characters.add(body[index])
            index += 1
    return OneOf(frozenset(characters), negated), end + 1
