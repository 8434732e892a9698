"""What patterns are made of: literal text, four kinds of gap, sets, and runs."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from itertools import groupby

import attrs

__all__ = ["Gap", "OneOf", "Run", "Token", "canonical", "plainness"]


class Gap(enum.Enum):
    """Text that a pattern leaves open.

    A *part* is what stands between two separators: a segment of a path, a
    label of a domain. In plain text, which has no separator, it is all of it.
    """

    ANY = "any"  # any text, separators included
    PART = "part"  # any text without a separator
    DEEP = "deep"  # any number of parts, each behind a separator: (/part)*
    ONE = "one"  # one character that is no separator

    __hash__ = object.__hash__


@attrs.frozen
class OneOf:
    """One character of a set, ``[a-z]``; or, *negated*, one that is not in it."""

    characters: frozenset[str]
    negated: bool = False


@attrs.frozen
class Run:
    """Any text without some characters, where no one character separates parts."""

    excluded: frozenset[str]

    @property
    def characters(self) -> frozenset[str]:
        """The characters that it names."""
        return self.excluded


Token = str | Gap | OneOf | Run


def plainness(letter: str) -> tuple[bool, bool, str]:
    """Return a key that puts the letters people type first."""
    return letter.isupper(), letter.isspace(), letter


def canonical(tokens: Iterable[Token], separator: str) -> tuple[Token, ...]:
    """Return the one form of *tokens*: equal forms match equal texts.

    Neighbouring literals are one literal and neighbouring gaps are one gap.
    """
    result: list[Token] = []
    for token in _joined(tokens):
        last = result[-1] if result else None
        if (token is last and token in _IDEMPOTENT) or (isinstance(token, Run) and token == last):
            continue
        if token is Gap.ONE and (last is Gap.PART or (last is Gap.ANY and not separator)):
            # `*?` is `?*`, unless the star takes separators and the `?` does not.
            result.insert(len(result) - 1, token)
        elif {token, last} == {Gap.ANY, Gap.PART}:
            result[-1] = Gap.ANY
        else:
            result.append(token)
    return tuple(_joined(_deep_last(result, separator)))


_IDEMPOTENT = frozenset({Gap.ANY, Gap.PART, Gap.DEEP})


def _joined(tokens: Iterable[Token]) -> Iterator[Token]:
    for literal, group in groupby(tokens, key=lambda token: isinstance(token, str)):
        if not literal:
            yield from group
        elif text := "".join(map(str, group)):
            yield text


def _deep_last(tokens: list[Token], separator: str) -> Iterator[Token]:
    # `**/*/x` is `*/**/x`: let the open parts come first, then the open depth.
    position = 0
    while position < len(tokens):
        token = tokens[position]
        position += 1
        while token is Gap.DEEP and position < len(tokens):
            if _is_open_part(tokens, position, separator):
                yield from (separator, Gap.PART)
                position += 2
            elif tokens[position] is Gap.DEEP:
                position += 1
            else:
                break
        yield token


def _is_open_part(tokens: list[Token], position: int, separator: str) -> bool:
    """Whether a whole part stands at *position* that is nothing but a gap."""
    if tokens[position : position + 2] != [separator, Gap.PART]:
        return False
    after = tokens[position + 2] if position + 2 < len(tokens) else separator
    return after is Gap.DEEP or (isinstance(after, str) and after.startswith(separator))
